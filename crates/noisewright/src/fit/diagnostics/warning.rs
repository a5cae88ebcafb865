//! What a user should know about a fit, as data: what was found, with its numbers, and what to do about it.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::finding::{Against, Finding};
use super::remedy::{Remedy, Setting, joined};

/// What is wrong or doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningKind {
    /// Parameters run to infinity: data and noise can be told apart along a direction.
    Separation,
    /// A parameter has no finite estimate: the loss does not rise however large it becomes.
    Runaway,
    /// The fitted density does not integrate on its domain.
    NotNormalizable,
    /// Data and noise have almost nothing in common.
    NoOverlap,
    /// Little overlap: the errors are large.
    LittleOverlap,
    /// The noise's tails are lighter than the data's.
    LightTails,
    /// The loss gives a few data points in the tails all the weight.
    HeavyWeights,
    /// The fitted density has most of its mass where neither data nor noise are.
    UnseenMass,
    /// The likelihood has no maximum, or none that was found.
    NoMaximum,
    /// The search for the minimum stopped before it was reached.
    NotConverged,
    /// Several minima, of which the lowest was taken.
    SeveralOptima,
    /// A parameter at one of its bounds, where its standard error means nothing.
    AtBound,
    /// The data want a parameter beyond the end of the model's family.
    BeyondFamily,
    /// The model does not fit the data.
    Misspecified,
    /// The estimates change with the amount of noise.
    RatioMatters,
    /// Most of the error comes from the noise, and more noise removes it.
    NoiseError,
    /// The rows of Markov chains are worth too few independent ones.
    FewEffectiveRows,
    /// All rows are one cluster, which leaves no standard error.
    FewClusters,
    /// The noise could not be fitted again to its draws.
    NotRefitted,
    /// Quiet noise has another number of points than was asked for.
    RoundedNoise,
    /// The optimal noise could not be designed.
    NotOptimal,
    /// There are no standard errors, or they leave something out.
    ErrorsAfterPenalty,
}

impl WarningKind {
    /// The name under which programs find it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Separation => "separation",
            Self::Runaway => "runaway",
            Self::NotNormalizable => "not-normalizable",
            Self::NoOverlap => "no-overlap",
            Self::LittleOverlap => "little-overlap",
            Self::LightTails => "light-tails",
            Self::HeavyWeights => "heavy-weights",
            Self::UnseenMass => "unseen-mass",
            Self::NoMaximum => "no-maximum",
            Self::NotConverged => "not-converged",
            Self::SeveralOptima => "several-optima",
            Self::AtBound => "at-bound",
            Self::BeyondFamily => "beyond-family",
            Self::Misspecified => "misspecified",
            Self::RatioMatters => "ratio-matters",
            Self::NoiseError => "noise-error",
            Self::FewEffectiveRows => "few-effective-rows",
            Self::FewClusters => "few-clusters",
            Self::NotRefitted => "not-refitted",
            Self::RoundedNoise => "rounded-noise",
            Self::NotOptimal => "not-optimal",
            Self::ErrorsAfterPenalty => "errors-after-penalty",
        }
    }

    /// Whether the estimates are no answer at all.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        matches!(
            self,
            Self::Separation
                | Self::Runaway
                | Self::NotNormalizable
                | Self::NoOverlap
                | Self::NoMaximum
                | Self::BeyondFamily
                | Self::FewEffectiveRows
        )
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something to know about a fit.
///
/// It is shown as one sentence and what to do about it; [`suggestion_in`](Self::suggestion_in) writes settings in the
/// words of whoever shows it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// What was found.
    pub finding: Finding,
    /// What to do about it, any of these.
    pub remedies: Vec<Remedy>,
}

impl Warning {
    /// A warning of what was found.
    pub(crate) fn new(finding: Finding, remedies: impl Into<Vec<Remedy>>) -> Self {
        Self { kind: finding.kind(), finding, remedies: remedies.into() }
    }

    /// The fitted density is elsewhere than data and noise.
    pub(crate) fn unseen_mass(estimate: f64, log_z: f64) -> Self {
        Self::new(Finding::UnseenMass { estimate, log_z }, [Remedy::FallingTails, Remedy::Exact])
    }

    /// The weights of the loss have no finite variance at the fitted model.
    pub(crate) fn without_variance(loss: &crate::Loss) -> Self {
        Self::new(
            Finding::InfiniteVariance { loss: loss.to_string() },
            [Remedy::BoundedLoss, Remedy::OtherNoise],
        )
    }

    /// Whether nearer or more noise is what is lacking, which in many variables may be more than can be had.
    pub(super) fn is_short_of_noise(&self) -> bool {
        match &self.finding {
            Finding::NoOverlap { against, .. }
            | Finding::LittleOverlap { against, .. }
            | Finding::FewRowsInOverlap { against, .. } => *against == Against::Noise,
            Finding::NoiseError { .. } => true,
            _ => false,
        }
    }

    /// The name under which programs find what was found; of some kinds there are several.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.finding.code()
    }

    /// What was found, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.finding.to_string()
    }

    /// What to do about it, with settings as a Rust program writes them.
    #[must_use]
    pub fn suggestion(&self) -> String {
        self.suggestion_in(&|setting| setting.to_string())
    }

    /// What to do about it, with settings in the caller's own words: `--nu 20`, `nu=20`.
    #[must_use]
    pub fn suggestion_in(&self, spelled: &dyn Fn(Setting) -> String) -> String {
        joined(&self.remedies, spelled)
    }

    /// The sentence and the suggestion, with settings in the caller's own words.
    #[must_use]
    pub fn in_words(&self, spelled: &dyn Fn(Setting) -> String) -> String {
        format!("{}; {}", self.finding, self.suggestion_in(spelled))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(&|setting| setting.to_string()))
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Warning", 6)?;
        out.serialize_field("kind", &self.kind)?;
        out.serialize_field("code", self.code())?;
        out.serialize_field("sentence", &self.sentence())?;
        out.serialize_field("suggestion", &self.suggestion())?;
        out.serialize_field("found", &self.finding)?;
        out.serialize_field("remedies", &self.remedies)?;
        out.end()
    }
}
