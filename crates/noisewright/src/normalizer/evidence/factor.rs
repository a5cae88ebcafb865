//! Bayes factors: the ratio of two models' evidence.

use super::super::interval::two_sided;
use super::Evidence;

/// The logarithm of a Bayes factor with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BayesFactor {
    /// `log Z₁ − log Z₂`: positive where the first model is favoured.
    pub log_factor: f64,
    /// Its standard error, infinite if either model's evidence is refused.
    pub se: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Probability of the first model if both were as probable before.
    pub probability: f64,
}

/// The Bayes factor of the first model over the second, whose draws are independent of each other; the interval has the
/// first one's confidence.
///
/// ```
/// use noisewright::normalizer::bayes_factor;
/// use noisewright::prelude::*;
/// let draws = sample(&Normal::with_variance(0.0, 1.0)?, 2000, 1);
/// let once = density(Space::real(&["x"])?, |x: &[f64]| -0.5 * x[0] * x[0]);
/// let thrice = density(Space::real(&["x"])?, |x: &[f64]| 3f64.ln() - 0.5 * x[0] * x[0]);
/// let (first, second) = (evidence(&thrice, &draws).run()?, evidence(&once, &draws).run()?);
/// let factor = bayes_factor(&first, &second);
/// assert!((factor.log_factor - 3f64.ln()).abs() < 1e-9 && (factor.probability - 0.75).abs() < 1e-9);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[must_use]
pub fn bayes_factor(first: &Evidence, second: &Evidence) -> BayesFactor {
    let log_factor = first.log_evidence - second.log_evidence;
    let se = first.se.hypot(second.se);
    // The larger of the two intervals' quantiles, which few degrees of freedom make longer than the normal one.
    let reach = [first, second]
        .map(|e| (e.upper - e.lower) / (2.0 * e.se))
        .into_iter()
        .filter(|reach| reach.is_finite())
        .fold(two_sided(first.confidence, f64::INFINITY), f64::max);
    let finite = se.is_finite();
    BayesFactor {
        log_factor,
        se,
        lower: if finite { log_factor - reach * se } else { f64::NEG_INFINITY },
        upper: if finite { log_factor + reach * se } else { f64::INFINITY },
        probability: noisewright_numerics::special::sigmoid(log_factor),
    }
}
