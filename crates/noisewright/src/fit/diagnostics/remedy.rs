//! What to do about a warning, as data: each door writes the settings in its own words.

use std::fmt;

use crate::fit::FitMethod;
use crate::text::digits;

/// A setting that a remedy asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Setting {
    /// So many noise points per data point.
    Ratio(f64),
    /// So many noise points of every row of a conditional model.
    Choices(usize),
    /// A noise by its name in words.
    Noise(&'static str),
    /// A loss by its name.
    Loss(&'static str),
    /// As many bridges between two samples as they are far apart.
    Bridges,
    /// Another method of estimation.
    Method(FitMethod),
}

impl Setting {
    /// The name and the value: `nu` and `20`, for doors that write settings as such.
    #[must_use]
    pub fn parts(self) -> (&'static str, String) {
        match self {
            Self::Ratio(nu) => ("nu", digits(nu)),
            Self::Choices(choices) => ("choices", choices.to_string()),
            Self::Noise(name) => ("noise", name.into()),
            Self::Loss(name) => ("loss", name.into()),
            Self::Bridges => ("bridges", "auto".into()),
            Self::Method(method) => ("method", method.name().into()),
        }
    }
}

impl fmt::Display for Setting {
    /// As a Rust program writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(nu) => {
                let text = digits(*nu);
                let point = if text.contains(['.', 'e']) { "" } else { ".0" };
                write!(f, ".ratio({text}{point})")
            }
            Self::Choices(choices) => write!(f, ".choices({choices})"),
            Self::Noise("auto") => f.write_str("NoiseChoice::Auto"),
            Self::Noise("exact") => f.write_str("NoiseChoice::Exact"),
            Self::Noise(name) => write!(f, "noise {name}"),
            Self::Loss("js") => f.write_str("Loss::Js"),
            Self::Bridges => f.write_str(".bridges(Bridges::Auto)"),
            Self::Loss(name) => write!(f, "loss {name}"),
            Self::Method(method) => write!(f, ".method(FitMethod::{method:?})"),
        }
    }
}

/// What to do about a warning.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "code")]
#[non_exhaustive]
pub enum Remedy {
    /// More noise points per data point.
    MoreNoise {
        /// How many, where that can be told.
        nu: Option<f64>,
    },
    /// More noise points for every row of a conditional model.
    MoreChoices {
        /// How many.
        choices: usize,
    },
    /// Much more noise, whose limit is maximum likelihood.
    MuchMoreNoise,
    /// A noise that looks more like the data.
    NearerNoise,
    /// A noise with heavier tails.
    HeavierNoise,
    /// A noise with lighter tails.
    LighterNoise,
    /// Another noise.
    OtherNoise,
    /// A method that needs no noise and no constant.
    WithoutNoise {
        /// Which: score matching for continuous variables, pseudo-likelihood for finitely many states.
        method: FitMethod,
    },
    /// A noise that has parameters.
    ParametricNoise,
    /// A number of quiet points of which each scramble has a power of two.
    PowerOfTwo,
    /// A number of noise points of a row that make a net with it.
    NetOfChoices,
    /// The noise `auto`, which was used instead.
    AutoInstead,
    /// Fit against noise rather than exactly.
    AgainstNoise,
    /// Fit without noise.
    Exact,
    /// The loss whose weights are bounded.
    BoundedLoss,
    /// Bound the parameter that runs away.
    BoundParameter,
    /// Fix the parameter that runs away.
    FixParameter,
    /// The model that is the limit of this one.
    LimitingModel,
    /// Longer Markov chains.
    LongerChains,
    /// Markov chains that mix better.
    BetterMixing,
    /// Data of more clusters.
    MoreClusters,
    /// Rows taken as independent.
    NoClusters,
    /// Leave the parameter, or its feature, out.
    LeaveOut,
    /// Data that vary in the parameter.
    VaryingData,
    /// More of both samples.
    MoreOfBoth,
    /// Samples that have more in common.
    NearerSamples,
    /// Bridges between the two samples.
    Bridges,
    /// For the constant alone, a path of densities from the noise to the model.
    PathForConstant,
    /// The two samples the other way round.
    ExchangeSamples,
    /// Bound the parameter that makes the density fall.
    BoundFall {
        /// Whether both signs are meant: `lower = 0 or upper = 0`.
        at_zero: bool,
    },
    /// A smaller domain.
    RestrictDomain,
    /// Another model.
    OtherModel,
    /// A model whose tails fall off.
    FallingTails,
    /// A model whose tails are as heavy as the data's.
    HeavierModel,
    /// Start values nearer to the answer.
    NearerStart,
    /// Bounds for the parameters.
    Bounds,
    /// The bound as the estimate.
    TakeBound,
    /// A wider bound.
    WidenBound,
    /// The bound written in the model, so that the estimate on it counts.
    AcceptBound,
    /// Weights that sum to the number of observations.
    ScaleWeights,
    /// A model that reaches further.
    FurtherModel,
    /// The other minima.
    LookAtOthers,
    /// What the model lacks.
    ExtendModel,
    /// A fit of the selected parameters without a penalty.
    RefitSelected,
    /// A fit without a penalty.
    NoPenalty,
    /// A refit on rows that had no part in the selection.
    OtherRows,
}

/// The clause of [`Remedy::MuchMoreNoise`].
const MUCH_MORE_NOISE: &str = "use much more noise, whose limit is the best approximation in the sense of maximum \
                               likelihood, and doubt the model";
/// The clause of [`Remedy::ExtendModel`].
const EXTEND_MODEL: &str = "compare data and fitted density in the report, and add what is missing to the model; the robust \
                            errors hold for its best approximation";

impl Remedy {
    /// The setting that it asks for, where it asks for one.
    #[must_use]
    pub fn setting(&self) -> Option<Setting> {
        Some(match self {
            Self::MoreNoise { nu } => Setting::Ratio((*nu)?),
            Self::MoreChoices { choices } => Setting::Choices(*choices),
            Self::AgainstNoise => Setting::Noise("auto"),
            Self::ParametricNoise => Setting::Noise("normal"),
            Self::Exact => Setting::Noise("exact"),
            Self::BoundedLoss => Setting::Loss("js"),
            Self::Bridges => Setting::Bridges,
            Self::WithoutNoise { method } => Setting::Method(*method),
            _ => return None,
        })
    }

    /// What to do, as a clause without its setting.
    fn clause(&self) -> &'static str {
        match self {
            Self::MoreNoise { .. } | Self::MoreChoices { .. } => "give more noise",
            Self::MuchMoreNoise => MUCH_MORE_NOISE,
            Self::NearerNoise => "use a noise nearer to the data",
            Self::HeavierNoise => "use a noise with heavier tails, such as a student",
            Self::LighterNoise => "use a noise with lighter tails",
            Self::OtherNoise => "use another noise",
            Self::WithoutNoise { .. } => "use a method without noise",
            Self::ParametricNoise => "use a noise with parameters",
            Self::PowerOfTwo => "ask for 16 times a power of two",
            Self::NetOfChoices => "ask for one less than a power of two",
            Self::AutoInstead => "the noise auto was used instead",
            Self::AgainstNoise => "fit against noise",
            Self::Exact => "fit without noise",
            Self::BoundedLoss => "use a loss with bounded weights",
            Self::BoundParameter => "bound that parameter",
            Self::FixParameter => "fix that parameter",
            Self::LimitingModel => "use the model that is its limit",
            Self::LongerChains => "run the chains longer",
            Self::BetterMixing => "make them mix better",
            Self::MoreClusters => "give data of more clusters, better thirty",
            Self::NoClusters => "leave the clusters out if the rows are independent",
            Self::LeaveOut => "leave it out",
            Self::RefitSelected => "fit the selected parameters again without a penalty",
            Self::NoPenalty => "fit without a penalty for errors that hold",
            Self::OtherRows => "fit the selected parameters to rows that had no part in the selection",
            Self::VaryingData => "collect data that vary in it",
            Self::MoreOfBoth => "give more of both samples",
            Self::NearerSamples => "compare samples that have more in common",
            Self::Bridges => "put bridges between the two samples",
            Self::PathForConstant => {
                "find the constant at known parameters by a path of densities from the noise to the model"
            }
            Self::ExchangeSamples => "exchange the two samples",
            Self::BoundFall { at_zero: true } => {
                "bound the parameter that makes it fall (lower = 0 or upper = 0)"
            }
            Self::BoundFall { at_zero: false } => "bound the parameter that makes its density fall",
            Self::RestrictDomain => "restrict the domain",
            Self::OtherModel => "use another model",
            Self::FallingTails => "use a model whose tails fall off",
            Self::HeavierModel => "use a model whose tails are as heavy as the data's",
            Self::NearerStart => "give start values nearer to the answer",
            Self::Bounds => "give bounds for the parameters",
            Self::TakeBound => "take the bound as the estimate",
            Self::WidenBound => "widen it if the model allows",
            Self::AcceptBound => "accept the bound by writing it for that parameter in the model",
            Self::ScaleWeights => {
                "multiply the weights by a factor, so that they sum to the number of observations, if they do not count them"
            }
            Self::FurtherModel => "use a model that reaches further",
            Self::LookAtOthers => {
                "look at the others before you trust it: start values decide which one a single search finds"
            }
            Self::ExtendModel => EXTEND_MODEL,
        }
    }
}

/// Remedies as one clause: `a (setting), b, or c`.
pub(super) fn joined(remedies: &[Remedy], spelled: &dyn Fn(Setting) -> String) -> String {
    let clause = |remedy: &Remedy| match remedy.setting() {
        Some(setting) => format!("{} ({})", remedy.clause(), spelled(setting)),
        None => remedy.clause().to_owned(),
    };
    let clauses: Vec<String> = remedies.iter().map(clause).collect();
    match clauses.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{}, or {last}", rest.join(", ")),
        _ => clauses.concat(),
    }
}
