//! Why an estimate of log Z is refused, and why one estimator is recommended: as data, with a code and a sentence.

use super::Side;

use crate::tolerance::{FEWEST_CROSSINGS, FEWEST_EFFECTIVE_WEIGHTS, HEAVY_TAIL, NO_VARIANCE};

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
        "the weights of the {} draws have too heavy a tail (Pareto k = {pareto_k:.2}, above {HEAVY_TAIL})",
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
        "the {} draws are worth only {effective:.1} equally weighted ones, and below {FEWEST_EFFECTIVE_WEIGHTS} their average is \
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
    /// Weights whose variance may be infinite.
    #[error(
        "the weights of the {} draws may have an infinite variance: the Pareto k of their tail is {pareto_k:.2}, and may be \
         {upper:.2}, where {NO_VARIANCE} is the limit",
        side.word()
    )]
    InfiniteVariance {
        /// The side.
        side: Side,
        /// The tail's Pareto shape.
        pareto_k: f64,
        /// What it may still be.
        upper: f64,
    },
    /// Weights whose variance may be infinite as far as the other side's draws tell.
    #[error(
        "by the other side's draws, the weights of the {} draws may have an infinite variance: the Pareto k of what it averages \
         over them is {pareto_k:.2}, and may be {upper:.2}, where 1 is the limit",
        side.word()
    )]
    InfiniteByOtherSide {
        /// The side.
        side: Side,
        /// Pareto shape of the terms of the variance over the other side's draws.
        pareto_k: f64,
        /// What it may still be.
        upper: f64,
    },
    /// A chain so short that neither its autocorrelation nor its error can be known.
    #[error(
        "the {} draws are a chain worth only {effective:.1} independent ones, and below {fewest} neither its autocorrelation \
         nor its error can be known: run it longer",
        side.word()
    )]
    ShortChain {
        /// The side.
        side: Side,
        /// Independent draws that its draws are worth.
        effective: f64,
        /// How many it needs.
        fewest: f64,
    },
    /// A chain that never moved.
    #[error("all {} draws have the same log-densities: the chain does not move", side.word())]
    StandsStill {
        /// The side.
        side: Side,
    },
    /// The two samples cannot be draws of the two densities.
    #[error(
        "the two sides contradict each other by {standard_errors:.0} standard errors: the draws do not look like draws of \
         these densities; check signs, Jacobians, that the draws are of this density and that they are not rounded"
    )]
    Contradiction {
        /// How far apart they are.
        standard_errors: f64,
    },
    /// An interval without an end.
    #[error("so few draws look like those of the other side that any log Z beyond one end agrees with them")]
    OpenInterval,
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
            Self::InfiniteVariance { .. } => "infinite-variance",
            Self::InfiniteByOtherSide { .. } => "infinite-by-other-side",
            Self::ShortChain { .. } => "short-chain",
            Self::StandsStill { .. } => "stands-still",
            Self::Contradiction { .. } => "contradiction",
            Self::OpenInterval => "open-interval",
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
            Self::AllRefused { .. } => "all-refused",
        }
    }
}
