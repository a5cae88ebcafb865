//! What a user should know about a fit, in plain words, with what to do about it.

/// What is wrong or doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningKind {
    /// Parameters run to infinity: data and noise can be told apart along a direction.
    Separation,
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
    /// The model does not fit the data.
    Misspecified,
    /// The estimates change with the amount of noise.
    RatioMatters,
    /// Most of the error comes from the noise, and more noise removes it.
    NoiseError,
    /// The noise could not be fitted again to its draws.
    NotRefitted,
    /// The optimal noise could not be designed.
    NotOptimal,
}

impl WarningKind {
    /// The name under which programs find it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Separation => "separation",
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
            Self::Misspecified => "misspecified",
            Self::RatioMatters => "ratio-matters",
            Self::NoiseError => "noise-error",
            Self::NotRefitted => "not-refitted",
            Self::NotOptimal => "not-optimal",
        }
    }

    /// Whether the estimates are no answer at all.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Separation | Self::NotNormalizable | Self::NoOverlap | Self::NoMaximum)
    }
}

impl std::fmt::Display for WarningKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Something to know about a fit.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// What was found, in one sentence.
    pub sentence: String,
    /// What to do about it.
    pub suggestion: String,
}

impl Warning {
    /// A warning.
    /// The fitted density is elsewhere than data and noise.
    pub(crate) fn unseen_mass(estimate: f64, log_z: f64) -> Self {
        let sentence = format!(
            "by integration log Z of the fitted model is {log_z:.4}, not {estimate:.4}: most of its mass lies where there \
             are neither data nor noise, so that it describes the data only where they are"
        );
        Self::new(WarningKind::UnseenMass, sentence, "use a model whose tails fall off, or --noise exact")
    }

    /// The weights of the loss have no finite variance at the fitted model.
    pub(crate) fn without_variance(loss: &crate::Loss) -> Self {
        let sentence = format!(
            "against this noise the loss {loss} has no finite variance at the fitted model: rare rows decide, and the \
             standard errors are too small"
        );
        Self::new(
            WarningKind::HeavyWeights,
            sentence,
            "use --loss js, whose weights are bounded, or another noise",
        )
    }

    pub(crate) fn new(kind: WarningKind, sentence: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into(), suggestion: suggestion.into() }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.sentence, self.suggestion)
    }
}
