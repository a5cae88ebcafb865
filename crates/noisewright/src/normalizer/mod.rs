//! Normalizing constants from two samples: importance sampling, its reverse, their product and the optimal bridge.
//!
//! A density is known up to a constant, `p_d = f/Z`, and there are draws from it ("data") and draws from a density
//! `p_n` that is known ("noise"). At every draw both logarithms, `log f` and `log p_n`, are given; [`log_z_of_draws`] returns
//! `log Z` by the estimators of MATH §4 with standard errors, intervals and what shows whether to trust them. If `p_n`
//! is itself known only up to a constant, the same numbers are the logarithm of the ratio of the two constants.
//!
//! ```
//! use noisewright::normalizer::{Draws, Method, LogZOptions, log_z_of_draws};
//! // f = 3 p_n, so log Z = log 3 whatever the draws.
//! let log_noise = [-0.3, -1.2, -0.7, -2.5];
//! let log_f = log_noise.map(|l| l + 3_f64.ln());
//! let draws = Draws::new(&log_f, &log_noise);
//! let result = log_z_of_draws(draws, draws, &LogZOptions::default())?;
//! let best = result.best();
//! assert_eq!(best.method, Method::Nce);
//! assert!((best.log_z - 3_f64.ln()).abs() < 1e-15 && best.se < 1e-15);
//! # Ok::<(), noisewright::Error>(())
//! ```

pub(crate) mod allocation;
pub(crate) mod alpha;
mod autocorrelation;
mod bootstrap;
mod bridge;
mod consistency;
mod cross_side_ess;
mod estimate;
pub(crate) mod evidence;
mod interval;
mod moment;
mod nce;
pub(crate) mod path;
mod power;
pub(crate) mod refusal;
pub(crate) mod result;
mod sample;
mod serial;
pub mod states;
mod tail;

pub use allocation::Prices;
pub(crate) use allocation::{Allocation, EstimatedDivergences};
pub(crate) use alpha::LogAlpha;
pub(crate) use evidence::EvidenceOptions;
pub(crate) use evidence::TracePoint;
pub(crate) use evidence::estimate_evidence;
pub use evidence::{Evidence, NoiseFitter, NoiseKind, bayes_factor};
use nce::most_quiet_ratio;
pub use path::PathEstimate;
pub(crate) use refusal::{Reason, Refusal};
pub use result::{Dependence, Draws, LogZ, LogZOptions, Method};
pub(crate) use result::{LogZWarning, NormalizerEstimate, SampleSummary, Side};

pub(crate) use interval::{joint_freedom_for, two_sided};

use crate::memory::check_count;
use crate::run::Context;
use crate::{Error, Result};

/// `log Z` of an unnormalized density from the log-densities at draws of it and at draws of a noise;
/// [`log_z`](crate::log_z) evaluates them too.
///
/// `data` holds the two log-densities at draws from `f/Z`, `noise` those at draws from the noise. A log-density of −∞
/// is legitimate where the draw came from the other density: such points lie outside the support and are counted as
/// what they are. Draws are taken as Markov chains in the order given, one chain unless their lengths are given, and
/// the standard errors allow for their autocorrelation; [`Dependence::Independent`] says that there is none.
///
/// Too little overlap is a result, not an error: the estimate then has an infinite standard error and says why in
/// [`NormalizerEstimate::refused`].
///
/// ```
/// use noisewright::normalizer::{Draws, LogZOptions, log_z_of_draws};
/// let log_noise: Vec<f64> = (0..50).map(|i| -0.1 * f64::from(i)).collect();
/// let log_f: Vec<f64> = log_noise.iter().map(|l| l + 2.0).collect(); // f is e² times the noise
/// let draws = Draws::new(&log_f, &log_noise);
/// let result = log_z_of_draws(draws, draws, &LogZOptions::default())?;
/// assert!((result.best().log_z - 2.0).abs() < 1e-12);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When a side has no draws, a log-density is `NaN` or +∞, a draw has zero density under what it was drawn from
/// (the error names side, column and row), or an option cannot be.
#[doc(alias = "bar")]
#[doc(alias = "bridge")]
#[doc(alias = "importance sampling")]
pub fn log_z_of_draws(data: Draws<'_>, noise: Draws<'_>, options: &LogZOptions) -> Result<LogZ> {
    estimates(data, noise, None, options)
}

/// `log Z` as by [`log_z_of_draws`], and also by Meng and Wong's bridge `Z = E_n[f α] / E_d[p_n α]` with an α of the caller's, as
/// [`Method::Alpha`].
///
/// ```
/// use noisewright::normalizer::{Draws, Method, LogZOptions, log_z_with_alpha};
/// let log_noise: Vec<f64> = (0..50).map(|i| -0.1 * f64::from(i)).collect();
/// let log_f: Vec<f64> = log_noise.iter().map(|l| l + 2.0).collect();
/// let draws = Draws::new(&log_f, &log_noise);
/// // α = 1/√(f p_n): the product of importance sampling and its reverse.
/// let product = |log_f: &[f64], log_noise: &[f64], log_alpha: &mut [f64]| {
///     for i in 0..log_alpha.len() {
///         log_alpha[i] = -0.5 * (log_f[i] + log_noise[i]);
///     }
/// };
/// let result = log_z_with_alpha(draws, draws, &product, &LogZOptions::default())?;
/// assert!((result.get(Method::Alpha).unwrap().log_z - 2.0).abs() < 1e-14);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As [`log_z_of_draws`], and when log α is `NaN` or +∞.
pub fn log_z_with_alpha(
    data: Draws<'_>,
    noise: Draws<'_>,
    log_alpha: &LogAlpha<'_>,
    options: &LogZOptions,
) -> Result<LogZ> {
    estimates(data, noise, Some(log_alpha), options)
}

/// `log Z` as by [`log_z_of_draws`], from one half of the data draws against a noise fitted to the other half; `replicated` says
/// that the chains of the noise are independent replicates of quiet draws.
fn log_z_of_half(data: Draws<'_>, noise: Draws<'_>, replicated: bool, options: &LogZOptions) -> Result<LogZ> {
    let data = sample::Sample::new(Side::Data, data)?.into_half();
    let noise = sample::Sample::new(Side::Noise, noise)?;
    let noise = if replicated { noise.into_replicates() } else { noise };
    of_samples(&data, &noise, None, options)
}

fn estimates(
    data: Draws<'_>,
    noise: Draws<'_>,
    log_alpha: Option<&LogAlpha<'_>>,
    options: &LogZOptions,
) -> Result<LogZ> {
    let data = sample::Sample::new(Side::Data, data)?;
    of_samples(&data, &sample::Sample::new(Side::Noise, noise)?, log_alpha, options)
}

fn of_samples(
    data: &sample::Sample<'_>,
    noise: &sample::Sample<'_>,
    log_alpha: Option<&LogAlpha<'_>>,
    options: &LogZOptions,
) -> Result<LogZ> {
    options.check()?;
    data.check()?;
    noise.check()?;
    let context = Context::new(options.seed, &options.cancel, options.progress.as_ref());
    context.check()?;
    let further = log_alpha.map(|alpha| alpha::estimate([data, noise], alpha, options)).transpose()?;
    context.conclude(estimate::all(data, noise, further, options, &context))
}

impl LogZOptions {
    /// Refuses settings that have no effect beside the others; `chains` says whether lengths of chains are given.
    ///
    /// # Errors
    /// [`Error::Option`] with the setting's name.
    pub fn check_effects(&self, chains: bool) -> Result<()> {
        self.dependence.check_chains(chains)?;
        if self.weight_by_ess && self.dependence == Dependence::Independent {
            let reason =
                "has no meaning with independent draws, each of which counts as one: leave one of them out";
            return Err(Error::option("weight_by_ess", reason));
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let expected = "a number between 0 and 1";
            return Err(Error::range("confidence", expected, self.confidence));
        }
        if let Some(prices) = &self.prices {
            prices.check()?;
        }
        if let Some(count) = self.bootstrap.filter(|count| *count < 2) {
            return Err(Error::range("bootstrap", "at least 2", count as f64));
        }
        check_count("bootstrap", self.bootstrap.unwrap_or(0), 4 + self.powers.len())?;
        if let Some(&value) = self.powers.iter().find(|a| !a.is_finite()) {
            return Err(Error::range("powers", "finite numbers", value));
        }
        Ok(())
    }
}
