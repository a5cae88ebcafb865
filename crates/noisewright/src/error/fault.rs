//! What is wrong with an option, a chain or a design, and what was not a number.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::text::number;

/// What is wrong with an option. Its sentence has the option as its subject.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionFault {
    /// A number out of its range.
    #[error("must be {expected}, not {}", number(*value))]
    Range {
        /// What it may be.
        expected: &'static str,
        /// The value given.
        value: f64,
    },
    /// More than fits in memory.
    #[error("must be at most {most} here, not {count}: more do not fit in memory")]
    TooMany {
        /// The largest count.
        most: usize,
        /// The count given.
        count: usize,
    },
    /// So many that the computation would not end.
    #[error("must be at most {most} here, not {count}: more would never end")]
    TooLong {
        /// The largest count.
        most: usize,
        /// The count given.
        count: usize,
    },
    /// A word that is none of those it takes.
    #[error("must be {}, not `{found}`", alternatives(allowed))]
    Unknown {
        /// The words it takes.
        allowed: Vec<&'static str>,
        /// The word given.
        found: String,
    },
    /// It does not go with the model, the data or another option.
    #[error("{reason}")]
    Unfit {
        /// Why, with the option as the subject of the sentence.
        reason: Cow<'static, str>,
    },
}

impl OptionFault {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Range { .. } => "option-range",
            Self::TooMany { .. } => "option-too-many",
            Self::TooLong { .. } => "option-too-long",
            Self::Unknown { .. } => "option-unknown-word",
            Self::Unfit { .. } => "option-unfit",
        }
    }
}

/// `a, b or c`.
fn alternatives(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Why chains cannot be run, or a path cannot be gone.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainFault {
    /// No chain, no draw or no step was asked for.
    #[error("ask for at least one chain, one draw and one step per draw")]
    NothingAsked,
    /// A random walk on variables that are not continuous.
    #[error("a random walk needs continuous variables; ask for single-site moves")]
    WalkNeedsContinuous,
    /// Hamiltonian moves without a gradient.
    #[error("Hamiltonian moves need continuous variables and a gradient; ask for a random walk")]
    HamiltonianNeedsGradient,
    /// Single-site moves of directions.
    #[error("single-site moves cannot stay on a sphere; ask for a random walk")]
    SingleSiteOnSphere,
    /// Every chain is one draw.
    #[error("every chain is a single draw, which has no halves: give longer chains, or all draws as one")]
    SingleDraws,
    /// A path that takes too many states.
    #[error(
        "the path from the noise to the model has no end after {bridges} bridges (t = {t:.3e}): choose a noise nearer to \
         the model"
    )]
    EndlessPath {
        /// States so far.
        bridges: usize,
        /// How far it came, of 1.
        t: f64,
    },
    /// Log-densities between which there is no path.
    #[error(
        "the log-densities of model and noise differ too wildly for any path between them: choose a noise nearer to the \
         model"
    )]
    NoPath,
}

impl ChainFault {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NothingAsked => "chain-nothing-asked",
            Self::WalkNeedsContinuous => "walk-needs-continuous",
            Self::HamiltonianNeedsGradient => "hamiltonian-needs-gradient",
            Self::SingleSiteOnSphere => "single-site-on-sphere",
            Self::SingleDraws => "chain-single-draws",
            Self::EndlessPath { .. } => "endless-path",
            Self::NoPath => "no-path",
        }
    }

    /// Whether something else should have been asked for, rather than there being no answer.
    pub(super) fn is_input(&self) -> bool {
        !matches!(self, Self::EndlessPath { .. } | Self::NoPath)
    }
}

/// Why a design cannot be made or read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignFault {
    /// The constant is all that is estimated.
    #[error(
        "a model without parameters has itself as its best noise, which gives the constant without error at any ν; ask \
         for the best of a family, such as normal(?, ?)"
    )]
    ConstantAlone,
    /// An optimum without draws.
    #[error("the exact optimum cannot be drawn from here")]
    NoDraws,
    /// A noise that does not integrate to one.
    #[error("the designed noise integrates to {integral}")]
    Mass {
        /// Its integral.
        integral: f64,
    },
    /// A histogram for variables that have none.
    #[error("this histogram is for a model of {}", if *variables == 1 { "one continuous variable" } else { "two continuous variables" })]
    HistogramSpace {
        /// The number of continuous variables that it is for.
        variables: usize,
    },
    /// A mixture of nothing.
    #[error("a mixture needs at least one component")]
    NoComponents,
    /// A saved design of another version.
    #[error("its format is `{found}`, and this version reads `{expected}`")]
    Format {
        /// The format found.
        found: String,
        /// The format that can be read.
        expected: &'static str,
    },
    /// An efficiency that no amount of noise reaches.
    #[error("an efficiency of {efficiency} is not reached with a billion noise points per data point")]
    EfficiencyOutOfReach {
        /// The efficiency asked for.
        efficiency: f64,
    },
    /// The limit of all data, where it is not known.
    #[error("the all-data limit is known for one parameter of a normalized model in one variable")]
    AllDataLimit,
    /// A noise that has shrunk to fewer places than there are points to see it with.
    #[error("the best noise at ν = {nu:e} is too concentrated to be computed; ask for a larger ν")]
    TooConcentrated {
        /// The ratio.
        nu: f64,
    },
    /// A saved noise that was made from a model, without the model.
    #[error("the saved noise was made from a model, which is not given")]
    ModelMissing,
    /// A saved noise that was made from another model.
    #[error("the saved noise belongs to another model")]
    OtherModel,
    /// A number of a saved design that is not positive.
    #[error("{what} must be positive, not {}", number(*value))]
    NotPositive {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
    },
}

impl DesignFault {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ConstantAlone => "constant-alone",
            Self::NoDraws => "design-no-draws",
            Self::Mass { .. } => "design-mass",
            Self::HistogramSpace { .. } => "histogram-space",
            Self::NoComponents => "no-components",
            Self::Format { .. } => "design-format",
            Self::EfficiencyOutOfReach { .. } => "efficiency-out-of-reach",
            Self::AllDataLimit => "all-data-limit",
            Self::ModelMissing => "saved-noise-without-model",
            Self::OtherModel => "saved-noise-of-other-model",
            Self::TooConcentrated { .. } => "too-concentrated",
            Self::NotPositive { .. } => "design-not-positive",
        }
    }
}

/// What of a model, a noise or a loss was not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quantity {
    /// The model's log-density.
    Value,
    /// The gradient of the model's log-density in its parameters.
    Score,
    /// The noise's log-density.
    NoiseDensity,
    /// A draw of the noise itself.
    NoiseDraw,
    /// A term of the loss, or its weight.
    Loss,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "the model's log-density is not a number",
            Self::Score => "the model's score is not a finite number",
            Self::NoiseDensity => "the noise's log-density is not a number",
            Self::NoiseDraw => "a draw of the noise is not a finite number",
            Self::Loss => "the loss is not a finite number",
        })
    }
}

/// An error of the caller's own code, shared so that errors can be copied.
#[derive(Clone)]
pub struct ExternalError(pub(super) Arc<dyn std::error::Error + Send + Sync>);

impl Deref for ExternalError {
    type Target = dyn std::error::Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

impl fmt::Debug for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PartialEq for ExternalError {
    /// The same error, or one that says the same.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.to_string() == other.0.to_string()
    }
}
