//! Meng and Wong's bridge with an α of the caller's: `Z = E_n[f α] / E_d[p_n α]` (MATH §4).

use noisewright_formula::{Formula, FormulaError, Order, Symbols};

use super::estimate::{WeightMean, of_weights};
use super::power::log_weighted;
use super::sample::Sample;
use super::{LogZOptions, Method, NormalizerEstimate, Side};
use crate::{Error, Result};

/// `log α` of a batch of draws, from their log f and log p_n, into the third slice.
///
/// α may be scaled by any constant; where it is zero its logarithm is −∞, and those draws do not count.
pub type LogAlpha<'a> = dyn Fn(&[f64], &[f64], &mut [f64]) + Sync + 'a;

/// `log α` as a formula in `log_f` and `log_noise`, such as `-(log_f + log_noise)/2`.
///
/// ```
/// use noisewright::internal::normalizer::alpha_formula;
/// let alpha = alpha_formula("-(log_f + log_noise)/2")?;
/// let mut out = [0.0];
/// alpha(&[1.0], &[3.0], &mut out);
/// assert_eq!(out, [-2.0]);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the text is not a formula in the two.
pub fn alpha_formula(text: &str) -> Result<Box<LogAlpha<'static>>> {
    let wrong = |source: FormulaError| Error::Formula {
        field: "alpha".into(),
        text: text.into(),
        source: Box::new(source),
    };
    let symbols = Symbols::new(&["log_f", "log_noise"], &[] as &[&str]).map_err(wrong)?;
    let tape = Formula::parse(text, &symbols).map_err(wrong)?.compile(Order::Value);
    Ok(Box::new(move |log_f: &[f64], log_noise: &[f64], out: &mut [f64]| {
        tape.evaluate(&[], &[log_f, log_noise], &mut [out]);
    }))
}

/// The estimate with the caller's α.
pub(super) fn estimate(
    samples: [&Sample<'_>; 2],
    log_alpha: &LogAlpha<'_>,
    options: &LogZOptions,
) -> Result<NormalizerEstimate> {
    let weights = [log_weights(samples[0], log_alpha)?, log_weights(samples[1], log_alpha)?];
    let moment = |k: usize| {
        let zeros = vec![0.0; weights[k].len()];
        log_weighted(&samples[k].with_ratios(&weights[k], &zeros), &weights[k], options.dependence)
    };
    let made = [moment(0), moment(1)];
    let means = [0, 1].map(|k| WeightMean {
        moment: &made[k].0,
        shape: made[k].1,
        has_variance: false,
        log_terms: Some(log_terms(samples[1 - k], &weights[1 - k])),
    });
    Ok(of_weights(Method::Alpha, &means, options))
}

/// `log (f p_n α²)` at the draws of one side, whose weights are given by their logarithms: the terms of the other side's
/// variance.
fn log_terms(sample: &Sample<'_>, log_weights: &[f64]) -> Vec<f64> {
    let ratios = sample.thinned(usize::MAX);
    let term = |(w, u): (&f64, f64)| if *w == f64::NEG_INFINITY { *w } else { 2.0 * w - u };
    log_weights.iter().zip(ratios).map(term).collect()
}

/// `log (p_n α)` at data draws, `log (f α)` at noise draws.
fn log_weights(sample: &Sample<'_>, log_alpha: &LogAlpha<'_>) -> Result<Vec<f64>> {
    let (log_f, log_noise) = sample.log_densities();
    let mut weights = vec![0.0; sample.len()];
    log_alpha(log_f, log_noise, &mut weights);
    let other = if sample.side == Side::Data { log_noise } else { log_f };
    for (row, (weight, &other)) in weights.iter_mut().zip(other).enumerate() {
        // Outside the support the weight is zero whatever α does there.
        if other == f64::NEG_INFINITY {
            *weight = other;
            continue;
        }
        if weight.is_nan() || *weight == f64::INFINITY {
            return Err(Error::LogDensity {
                side: sample.side.word(),
                column: "log α",
                row: row + 1,
                value: *weight,
                reason: "it must be a number below infinity, or minus infinity where α is zero",
            });
        }
        *weight += other;
    }
    Ok(weights)
}
