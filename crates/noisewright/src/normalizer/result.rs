//! What is asked of the estimators of log Z, and what they answer.

use std::fmt;

use super::{Allocation, EstimatedDivergences, Prices, Reason, Refusal};
use crate::run::{CancelToken, ProgressHook};
use crate::{Error, Result};

/// One side's draws: the two log-densities at each, and how they fall into chains.
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    /// Log of the unnormalized density at each draw.
    pub log_f: &'a [f64],
    /// Log of the noise density at each draw.
    pub log_noise: &'a [f64],
    /// Lengths of the Markov chains that the draws are, one after the other; one chain if not given.
    pub chains: Option<&'a [usize]>,
}

impl<'a> Draws<'a> {
    /// Draws in one chain, or independent ones.
    #[must_use]
    pub fn new(log_f: &'a [f64], log_noise: &'a [f64]) -> Self {
        Self { log_f, log_noise, chains: None }
    }

    /// The same draws as several chains of these lengths.
    #[must_use]
    pub fn with_chains(self, lengths: &'a [usize]) -> Self {
        Self { chains: Some(lengths), ..self }
    }
}

/// Where a draw came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Side {
    /// The unnormalized density.
    Data,
    /// The noise.
    Noise,
}

impl Side {
    /// The side's name in a sentence.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Side::Data => "data",
            Side::Noise => "noise",
        }
    }
}

/// Whether neighbouring draws may depend on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dependence {
    /// Every draw is independent of all others.
    Independent,
    /// The draws are Markov chains in their order; standard errors come from their long-run variance.
    #[default]
    Chains,
}

impl Dependence {
    /// Refuses chains that are named beside draws that are called independent.
    ///
    /// ```
    /// use noisewright::normalizer::Dependence;
    /// assert!(Dependence::Chains.check_chains(true).is_ok());
    /// assert!(Dependence::Independent.check_chains(true).is_err());
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`].
    pub fn check_chains(self, named: bool) -> Result<()> {
        if named && self == Self::Independent {
            return Err(Error::option(
                "chains",
                "has no meaning with independent draws: leave one of them out",
            ));
        }
        Ok(())
    }
}

/// How log Z is estimated.
#[derive(Clone, Debug)]
pub struct LogZOptions {
    /// Probability that the intervals are to cover log Z; 0.95 by default.
    pub confidence: f64,
    /// Whether neighbouring draws may depend on each other; [`Dependence::Chains`] by default.
    pub dependence: Dependence,
    /// Balance the bridge by effective sample sizes instead of numbers of draws; off by default.
    pub weight_by_ess: bool,
    /// Resamples of a block bootstrap, as a second opinion on the standard errors; none by default.
    pub bootstrap: Option<usize>,
    /// Exponents of further members of the power family, beside 0 (IS), ½ (IS-RevIS) and 1 (RevIS); none by default.
    pub powers: Vec<f64>,
    /// What draws cost, to have a budget divided between the two sides; not by default.
    pub prices: Option<Prices>,
    /// Seed of the bootstrap; 0 by default.
    pub seed: u64,
    /// Cancels the estimation from another thread.
    pub cancel: CancelToken,
    /// Told of the resamples of the bootstrap.
    pub progress: Option<ProgressHook>,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for LogZOptions {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            dependence: Dependence::default(),
            weight_by_ess: false,
            bootstrap: None,
            powers: Vec::new(),
            prices: None,
            seed: 0,
            cancel: CancelToken::new(),
            progress: None,
            more: crate::More,
        }
    }
}

/// An estimator of log Z (MATH §4).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Importance sampling: the mean of f/p_n over the noise.
    Is,
    /// Reverse importance sampling: one over the mean of p_n/f over the data.
    Revis,
    /// The product of the two on square roots.
    IsRevis,
    /// Noise-contrastive estimation: the optimal bridge, Bennett's acceptance ratio.
    Nce,
    /// The member of the power family with this exponent.
    Power(f64),
    /// Meng and Wong's bridge with an α of the caller's.
    Alpha,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Is => f.write_str("is"),
            Method::Revis => f.write_str("revis"),
            Method::IsRevis => f.write_str("is-revis"),
            Method::Nce => f.write_str("nce"),
            Method::Power(a) => write!(f, "power:{a}"),
            Method::Alpha => f.write_str("alpha"),
        }
    }
}

/// One estimate of log Z.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NormalizerEstimate {
    /// The estimator.
    pub method: Method,
    /// The estimate.
    pub log_z: f64,
    /// Its standard error, with what is uncertain about that itself; infinite if the estimate is refused.
    pub se: f64,
    /// The part of the standard error that comes from the data draws.
    pub se_data: f64,
    /// The part that comes from the noise draws.
    pub se_noise: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Effective number of draws: of the side that has fewer, among those the estimator averages over.
    pub ess: f64,
    /// Effective number of data draws, where the estimator averages over them.
    pub ess_data: Option<f64>,
    /// Effective number of noise draws, where the estimator averages over them.
    pub ess_noise: Option<f64>,
    /// Shape of the weights' tail, the worse of the two sides: above 0.7 the mean of the weights cannot be trusted.
    /// Not given for fewer than 25 draws.
    pub pareto_k: Option<f64>,
    /// Whether the numbers are those of the equation's root.
    pub converged: bool,
    /// Why nothing can be said, if nothing can.
    pub refused: Option<Refusal>,
    /// Standard error by block bootstrap, where one was asked for.
    pub bootstrap_se: Option<f64>,
}

impl NormalizerEstimate {
    /// Withdraws the claim to know the error, for a reason unless there is one already.
    pub(super) fn refuse(&mut self, why: &Refusal) {
        self.refused.get_or_insert_with(|| why.clone());
        self.se = f64::INFINITY;
        (self.lower, self.upper) = (f64::NEG_INFINITY, f64::INFINITY);
    }
}

/// What is known of one side's draws.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct SampleSummary {
    /// Number of draws.
    pub draws: usize,
    /// Number of chains.
    pub chains: usize,
    /// Integrated autocorrelation time of the bridge's terms; 1 for independent draws.
    pub autocorrelation_time: f64,
    /// Number of independent draws that would say as much: draws over the autocorrelation time.
    pub ess: f64,
    /// Number of draws that lie outside the other density's support.
    pub outside: usize,
}

/// Something to know about a result that is not an error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LogZWarning {
    /// Data and noise hardly overlap.
    #[error(
        "data and noise hardly overlap: about {crossings:.2} draws of either side look like the other, and below 5 \
         nothing can be said; choose a noise nearer to the data, or a path of densities between them"
    )]
    LittleOverlap {
        /// Expected number of draws that the classifier gives to the other side.
        crossings: f64,
    },
    /// The two samples cannot be draws of the two densities.
    #[error(
        "the two sides contradict each other by {standard_errors:.0} standard errors: the draws do not look like draws of \
         these densities, so do not trust log Z; check signs, Jacobians, and that the draws are of this density"
    )]
    Contradiction {
        /// How far apart they are.
        standard_errors: f64,
    },
    /// A chain so short that its autocorrelation is a guess.
    #[error(
        "the {side} draws are worth only {ess:.0} independent ones, too few to know their autocorrelation well: run \
         the chain longer", side = side.word()
    )]
    ShortChain {
        /// The side.
        side: Side,
        /// Number of independent draws that would say as much.
        ess: f64,
    },
    /// So few draws that the interval may cover less often than it says.
    #[error(
        "{draws} draws of the {side} are too few to know how much their weights vary, or whether they depend on each other: the \
         interval covers less often than it says; give more draws", side = side.word()
    )]
    FewDraws {
        /// The side.
        side: Side,
        /// Its draws.
        draws: usize,
    },
    /// Draws that are said to be independent, and are not.
    #[error(
        "the {side} draws are said to be independent, but neighbours among them have a correlation of {correlation:.2}: the \
         errors are too small; give them as chains", side = side.word()
    )]
    NotIndependent {
        /// The side.
        side: Side,
        /// The correlation of neighbours.
        correlation: f64,
    },
    /// Draws that are there more than once.
    #[error(
        "a stretch of the {side} draws is there more than once, to the last digit: copies say nothing new, so the errors are \
         too small; leave them out", side = side.word()
    )]
    RepeatedDraws {
        /// The side.
        side: Side,
    },
    /// The two halves of the draws give different answers.
    #[error(
        "the first and the second half of the draws disagree in their {what} by {difference:.3}, {standard_errors:.1} \
         standard errors: the chains have not settled, so run them longer or drop more of their beginning"
    )]
    HalvesDisagree {
        /// In what they disagree.
        what: &'static str,
        /// Difference of the two.
        difference: f64,
        /// The same in standard errors.
        standard_errors: f64,
    },
    /// The equation was not solved.
    #[error("the equation of the bridge was not solved to rounding: its last estimate is given")]
    NotConverged,
}

impl LogZWarning {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::LittleOverlap { .. } => "little-overlap",
            Self::Contradiction { .. } => "contradiction",
            Self::ShortChain { .. } => "short-chain",
            Self::FewDraws { .. } => "few-draws",
            Self::NotIndependent { .. } => "not-independent",
            Self::RepeatedDraws { .. } => "repeated-draws",
            Self::HalvesDisagree { .. } => "halves-disagree",
            Self::NotConverged => "not-converged",
        }
    }
}

/// `log Z` by several estimators, and what shows which to trust.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogZ {
    /// One estimate per estimator: is, revis, is-revis, nce, then the powers asked for.
    pub estimates: Vec<NormalizerEstimate>,
    /// The estimator to trust, or the least bad one if all are refused.
    pub recommended: Method,
    /// Why that one, or why none.
    pub reason: Reason,
    /// Share of the densities that overlaps, `1 − D_HM` between 0 and 1 (MATH §4).
    pub overlap: f64,
    /// Expected number of draws of either side that the classifier gives to the other.
    pub expected_crossings: f64,
    /// Probability that the intervals are to cover.
    pub confidence: f64,
    /// What is known of the data draws.
    pub data: SampleSummary,
    /// What is known of the noise draws.
    pub noise: SampleSummary,
    /// How far apart the two densities are.
    pub divergences: EstimatedDivergences,
    /// What a budget should buy for each of the four estimators, where prices were given.
    pub allocations: Vec<Allocation>,
    /// What else to know.
    pub warnings: Vec<LogZWarning>,
    /// Whether every equation was solved.
    pub converged: bool,
}

impl LogZ {
    /// The estimate of the recommended estimator.
    ///
    /// # Panics
    /// If the estimates were emptied by hand.
    #[must_use]
    pub fn best(&self) -> &NormalizerEstimate {
        self.get(self.recommended).unwrap_or(&self.estimates[0])
    }

    /// The estimate of one estimator.
    #[must_use]
    pub fn get(&self, method: Method) -> Option<&NormalizerEstimate> {
        self.estimates.iter().find(|e| e.method == method)
    }
}
