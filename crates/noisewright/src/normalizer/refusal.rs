//! Why an estimate of log Z is refused, and why one estimator is recommended: as data, with a code and a sentence.

use super::estimate::{FEWEST_EFFECTIVE, HEAVY};
use super::nce::FEWEST_CROSSINGS;
use super::{Method, Side};

/// Why nothing can be said about the error of an estimate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The supports have no draw in common.
    #[error("no draw of one side lies in the support of the other")]
    NoSupport,
    /// One draw has no spread.
    #[error("a single draw does not show how much its weight varies")]
    SingleDraw,
    /// All weights are too small or too large for numbers.
    #[error("the two densities are too far apart to be computed with")]
    TooFarApart,
    /// Too few draws of either side look like the other's.
    #[error(
        "only {crossings:.2} independent draws of either side look like the other, and below {FEWEST_CROSSINGS} nothing \
         can be said"
    )]
    FewCrossings {
        /// Their expected number.
        crossings: f64,
    },
    /// Too few draws for an error of the error.
    #[error(
        "the draws are too few to know its error ({freedom:.1} degrees of freedom, where a standard error needs more \
         than 2): give more draws"
    )]
    FewDraws {
        /// Degrees of freedom of the error.
        freedom: f64,
    },
    /// Weights with a heavy tail.
    #[error(
        "the weights of the {} draws have too heavy a tail (Pareto k = {pareto_k:.2}, above {HEAVY})",
        side.word()
    )]
    HeavyTail {
        /// The side.
        side: Side,
        /// The tail's Pareto shape.
        pareto_k: f64,
    },
    /// Weights that are carried by few draws.
    #[error(
        "the {} draws are worth only {effective:.1} equally weighted ones, and below {FEWEST_EFFECTIVE} their average is \
         too skewed",
        side.word()
    )]
    FewEffective {
        /// The side.
        side: Side,
        /// What its draws are worth.
        effective: f64,
    },
    /// The other side knows that the weights vary more than they show.
    #[error(
        "by the other side's draws, the {} draws are worth only {effective:.1} equally weighted ones",
        side.word()
    )]
    FewByOtherSide {
        /// The side.
        side: Side,
        /// What its draws are worth.
        effective: f64,
    },
    /// The bridge says otherwise.
    #[error("it differs from nce by {standard_errors:.1} standard errors, so its error is not what it seems")]
    DiffersFromBridge {
        /// By how much.
        standard_errors: f64,
    },
    /// The two halves of the draws are of different densities.
    #[error(
        "the two halves of the draws contradict each other in their {what}, so at least one of them is no sample of the \
         density; run the chains until they have settled"
    )]
    HalvesContradict {
        /// In what.
        what: &'static str,
    },
}

impl Refusal {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSupport => "no-support",
            Self::SingleDraw => "single-draw",
            Self::TooFarApart => "too-far-apart",
            Self::FewCrossings { .. } => "few-crossings",
            Self::FewDraws { .. } => "few-draws",
            Self::HeavyTail { .. } => "heavy-tail",
            Self::FewEffective { .. } => "few-effective",
            Self::FewByOtherSide { .. } => "few-by-other-side",
            Self::DiffersFromBridge { .. } => "differs-from-bridge",
            Self::HalvesContradict { .. } => "halves-contradict",
        }
    }
}

/// Why an estimator is recommended, or why none can be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The bridge is optimal.
    #[error("nce is the optimal bridge: no other weighting of the same draws has a smaller error.")]
    OptimalBridge,
    /// The bridge is optimal, and uses the draws of the density as well as those of the noise.
    #[error(
        "nce, the optimal bridge, uses draws and noise together, so it also notices what the noise misses."
    )]
    BothSides,
    /// An average over one side is clearly better.
    #[error(
        "{method} has the smaller standard error, {ratio:.2} times that of nce, and its weights have a light tail."
    )]
    SmallerError {
        /// The estimator.
        method: Method,
        /// Its standard error over that of the bridge.
        ratio: f64,
    },
    /// The bridge is refused, another estimator is not.
    #[error("{method} is the best that remains, as nce is refused: {refusal}.")]
    BestRemaining {
        /// The estimator.
        method: Method,
        /// Why the bridge is refused.
        refusal: Refusal,
    },
    /// All are refused.
    #[error("No estimate can be trusted: {refusal}.")]
    AllRefused {
        /// Why the bridge is refused.
        refusal: Refusal,
    },
}

impl Reason {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::OptimalBridge => "optimal-bridge",
            Self::BothSides => "both-sides",
            Self::SmallerError { .. } => "smaller-error",
            Self::BestRemaining { .. } => "best-remaining",
            Self::AllRefused { .. } => "all-refused",
        }
    }
}
