//! Evidence from draws of a density alone, call by call.

use super::chain_lengths;
use super::settings::{run_settings, setters};
use super::threads::on_threads;
use crate::fit::Data;
use crate::normalizer::{Dependence, Evidence, EvidenceOptions, NoiseFitter, NoiseKind, estimate_evidence};
use crate::{Density, Noise, Result, View};

/// The logarithm of the integral of a density known up to nothing but that: `log ∫ f(x) dx`, from draws of `f`.
///
/// Every chain is cut at its middle. A noise is fitted to the first halves, after all variables are mapped to the
/// real line; its draws are contrasted with the second halves, of which it is independent; then the halves change
/// places, and the two estimates are averaged. The standard error allows for the autocorrelation of the chains and for
/// what the two estimates have in common.
///
/// ```
/// use noisewright::prelude::*;
/// let draws = sample(&Normal::with_variance(3.0, 4.0)?, 4000, 1);
/// let f = density(Space::real(&["x"])?, |x: &[f64]| -(x[0] - 3.0).powi(2) / 8.0);
/// let result = evidence(&f, &draws).seed(1).run()?;
/// let truth = 0.5 * (4.0 * std::f64::consts::TAU).ln();
/// assert!((result.log_evidence - truth).abs() < 4.0 * result.se && result.se < 0.01);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[doc(alias = "marginal likelihood")]
#[doc(alias = "bridge")]
pub fn evidence<'a>(density: &'a dyn Density, draws: impl Into<Data<'a>>) -> EvidenceBuilder<'a> {
    EvidenceBuilder { density, draws: draws.into(), options: EvidenceOptions::default(), threads: None }
}

/// Evidence that is being asked for: see [`evidence`].
#[derive(Debug)]
#[must_use = "nothing is done before `run`"]
pub struct EvidenceBuilder<'a> {
    density: &'a dyn Density,
    draws: Data<'a>,
    options: EvidenceOptions,
    threads: Option<usize>,
}

impl<'a> EvidenceBuilder<'a> {
    setters! {
        /// The kind of noise that is fitted (default [`NoiseKind::Auto`]).
        noise(noise: NoiseKind) => options.noise = noise;
        /// Number of noise draws in all (default: as many as draws).
        noise_draws(draws: usize) => options.noise_draws = Some(draws);
        /// About how often the density may be evaluated, at draws and noise draws together (default: at all of them). The noise is
        /// still fitted to all draws.
        evaluations(most: usize) => options.evaluations = Some(most);
    }

    /// Contrasts the draws with a noise that a function of your own fits to points of real vectors, one column for each variable.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let draws = sample(&Normal::with_variance(3.0, 4.0)?, 4000, 1);
    /// let f = density(Space::real(&["x"])?, |x: &[f64]| -(x[0] - 3.0).powi(2) / 8.0);
    /// let result = evidence(&f, &draws).noise_fitter(|points| MultivariateNormal::fit(points, None)).run()?;
    /// assert!((result.log_evidence - 0.5 * (4.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * result.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn noise_fitter<N: Noise + 'static>(
        mut self,
        fit: impl Fn(View<'_>) -> Result<N> + Send + Sync + 'static,
    ) -> Self {
        self.options.noise_fitter = Some(NoiseFitter::new(fit));
        self
    }

    /// The draws are Markov chains of these lengths, one after the other (default: one chain).
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let draws = sample(&Normal::with_variance(3.0, 4.0)?, 4000, 1);
    /// let f = density(Space::real(&["x"])?, |x: &[f64]| -(x[0] - 3.0).powi(2) / 8.0);
    /// let result = evidence(&f, &draws).chains(&[2000, 2000]).run()?;
    /// assert!((result.log_evidence - 0.5 * (4.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * result.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn chains(mut self, lengths: &'a [usize]) -> Self {
        self.draws = self.draws.with_dependence(crate::fit::Dependence::Chains(lengths));
        self
    }

    /// Every draw is independent of all others.
    pub fn independent(mut self) -> Self {
        self.options.log_z.dependence = Dependence::Independent;
        self
    }

    setters! {
        /// Whether the density is averaged with its mirror image in the centre of the noise (Warp-III; default no).
        symmetrize(symmetrize: bool) => options.symmetrize = symmetrize;
        /// Probability that the intervals are to cover the truth (default 0.95).
        confidence(confidence: f64) => options.log_z.confidence = confidence;
    }

    run_settings! {
        seed in options.log_z, "the noise";
        threads, cancel in options.log_z;
        progress in options.log_z;
        options: EvidenceOptions;
    }

    /// Estimates the evidence.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let draws = sample(&Normal::with_std(0.0, 1.0)?, 2000, 1);
    /// let f = density(Space::real(&["x"])?, |x: &[f64]| -0.5 * x[0] * x[0]);
    /// let result = evidence(&f, &draws).independent().seed(1).run()?;
    /// assert!((result.log_evidence - 0.5 * std::f64::consts::TAU.ln()).abs() < 5.0 * result.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the draws are too few for a fit, one lies outside its domain or has no density, the density is not a number
    /// somewhere, a look far out shows that the density has no integral, or an option cannot be. Too little overlap, and
    /// halves that contradict each other, are results with an infinite standard error.
    pub fn run(mut self) -> Result<Evidence> {
        if let Some(lengths) = chain_lengths(self.draws)? {
            self.options.log_z.dependence.check_chains(true)?;
            self.options.chains = Some(lengths.to_vec());
        }
        let job = || {
            self.draws.in_order_of(self.density.space(), |draws| {
                estimate_evidence(self.density, draws.points, &self.options)
            })
        };
        on_threads(self.threads, job)
    }
}
