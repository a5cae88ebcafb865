//! By which method parameters are estimated: against noise, by maximum likelihood, or by a comparator that needs neither.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::effects::NoiseKind;
use super::options::{CovarianceKind, FitOptions, NoiseChoice};
use crate::{Error, Loss, Result};

/// How parameters are estimated (MATH §13).
///
/// ```
/// use noisewright::fit::FitMethod;
/// use noisewright::prelude::*;
/// // Score matching of a normal distribution is the method of moments: p = 1/variance.
/// let model = Model::from_formula("-p*x^2/2", Space::real(&["x"])?, vec![Parameter::new("p", 1.0)], false)?;
/// let data = Points::from_rows(&["x"], &[[-2.0], [0.0], [0.0], [2.0]])?;
/// let fit = model.fit(&data).method(FitMethod::ScoreMatching).run()?;
/// assert!((fit.get("p")?.estimate - 0.5).abs() < 1e-12);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FitMethod {
    /// Noise-contrastive estimation, with the noise and the loss of the options; where [`NoiseChoice::Auto`] needs no noise,
    /// maximum likelihood.
    #[default]
    Nce,
    /// Maximum likelihood, as [`NoiseChoice::Exact`].
    Exact,
    /// Hyvärinen's score matching, for densities with two derivatives in their variables: no noise, no constant.
    ScoreMatching,
    /// Besag's pseudo-likelihood, for variables with finitely many states: no noise, no constant.
    PseudoLikelihood,
    /// Geyer's Monte-Carlo maximum likelihood: the KL loss, whose constant at every θ is the importance-sampling estimate.
    McMle,
}

impl FitMethod {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Nce, "nce"),
        (Self::Exact, "exact"),
        (Self::ScoreMatching, "score-matching"),
        (Self::PseudoLikelihood, "pseudo-likelihood"),
        (Self::McMle, "mc-mle"),
    ];

    /// Its name: `nce`, `exact`, `score-matching`, `pseudo-likelihood`, `mc-mle`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(method, _)| *method == self).map_or("", |(_, name)| name)
    }

    /// Whether the method says nothing of the constant: score matching and pseudo-likelihood.
    #[must_use]
    pub fn is_without_constant(self) -> bool {
        matches!(self, Self::ScoreMatching | Self::PseudoLikelihood)
    }

    /// What noise the settings of a fit stand beside, where the method says so.
    #[must_use]
    pub fn noise_kind(self) -> Option<NoiseKind> {
        match self {
            Self::Exact => Some(NoiseKind::Exact),
            Self::ScoreMatching | Self::PseudoLikelihood => Some(NoiseKind::Unneeded),
            Self::Nce | Self::McMle => None,
        }
    }
}

impl fmt::Display for FitMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FitMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::NAMES.iter().find(|(_, name)| *name == text).map(|(method, _)| *method).ok_or_else(|| {
            let names = Self::NAMES.map(|(_, name)| name).join(", ");
            Error::option("method", format!("is one of {names}, not {text}"))
        })
    }
}

impl FitOptions {
    /// Refuses a noise or a loss that the method does not have.
    pub(super) fn check_method(&self) -> Result<()> {
        let method = self.method;
        let silent = matches!(self.noise, NoiseChoice::Auto);
        let (noise, loss) = match method {
            FitMethod::Nce => (true, true),
            FitMethod::Exact => (silent || matches!(self.noise, NoiseChoice::Exact), true),
            FitMethod::ScoreMatching | FitMethod::PseudoLikelihood => (silent, matches!(self.loss, Loss::Js)),
            FitMethod::McMle => {
                (!matches!(self.noise, NoiseChoice::Exact), matches!(self.loss, Loss::Js | Loss::Kl))
            }
        };
        let wrong = |option: &'static str| {
            Error::option(option, format!("has no meaning beside the method {method}: leave one of them out"))
        };
        match (noise, loss) {
            (false, _) => Err(wrong("noise")),
            (_, false) => Err(wrong("loss")),
            _ if method.is_without_constant() && self.errors == CovarianceKind::ModelBased => {
                let reason = format!(
                    "cannot trust the model beside the method {method}, whose errors are the sandwich"
                );
                Err(Error::option("errors", reason))
            }
            _ if method.is_without_constant() => self.refuse_extras(&format!("the method {method}")),
            _ => Ok(()),
        }
    }

    /// The options with the noise and the loss that the method stands for.
    pub(super) fn for_method(mut self) -> Self {
        match self.method {
            FitMethod::Exact => self.noise = NoiseChoice::Exact,
            FitMethod::McMle => self.loss = Loss::Kl,
            FitMethod::Nce | FitMethod::ScoreMatching | FitMethod::PseudoLikelihood => {}
        }
        self
    }
}
