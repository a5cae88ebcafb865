//! What is asked for: which penalty, how strong, and of which parameters.

use std::fmt;
use std::str::FromStr;

use crate::text::digits;
use crate::{Error, Model, Result};

/// A penalty on the sizes of the parameters, each in units of `1/s_j`, the standard deviation of its feature in the data.
///
/// ```
/// use noisewright::fit::Penalty;
/// use noisewright::parts::{PenaltyKind, Strength};
/// let penalty: Penalty = "lasso:0.1".parse()?;
/// assert_eq!(penalty, Penalty::lasso(0.1));
/// assert_eq!("auto".parse::<Penalty>()?.strength, Strength::Auto);
/// assert!("ridge:-1".parse::<Penalty>().is_err());
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Penalty {
    /// Which.
    pub kind: PenaltyKind,
    /// λ.
    pub strength: Strength,
    /// By how much the penalty of a parameter is multiplied, by name (default 1; 0 for none at all); they come before those
    /// of the model.
    pub factors: Vec<(String, f64)>,
    /// Whether the parameters that the lasso selects are fitted again without a penalty, the others held at zero.
    pub refit_selected: bool,
}

/// Which penalty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PenaltyKind {
    /// `λ Σ f_j s_j|θ_j|`, which sets parameters to zero (Tibshirani 1996).
    Lasso,
    /// `λ/2 Σ f_j (s_jθ_j)²`, which shrinks all of them (Hoerl and Kennard 1970).
    Ridge,
}

/// How strong a penalty is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Strength {
    /// This λ.
    Given(f64),
    /// By ten-fold cross-validation: for the lasso the largest λ whose selected parameters, fitted again without a penalty, have a
    /// held-out loss within one standard error of the smallest; for ridge the λ of the smallest held-out loss.
    Auto,
    /// By ten-fold cross-validation: the λ with the smallest held-out loss of the penalised estimates themselves.
    Minimum,
}

impl Penalty {
    /// The lasso with this strength.
    #[must_use]
    pub fn lasso(strength: f64) -> Self {
        Self::new(PenaltyKind::Lasso, Strength::Given(strength))
    }

    /// Ridge with this strength.
    #[must_use]
    pub fn ridge(strength: f64) -> Self {
        Self::new(PenaltyKind::Ridge, Strength::Given(strength))
    }

    /// A penalty of a kind and strength, with all factors one and no refit.
    #[must_use]
    pub fn new(kind: PenaltyKind, strength: Strength) -> Self {
        Self { kind, strength, factors: Vec::new(), refit_selected: false }
    }

    /// The same with a refit of the selected parameters.
    #[must_use]
    pub fn refit_selected(self) -> Self {
        Self { refit_selected: true, ..self }
    }

    /// The same with the penalties of some parameters multiplied.
    #[must_use]
    pub fn with_factors<S: AsRef<str>>(self, factors: &[(S, f64)]) -> Self {
        Self { factors: factors.iter().map(|(name, f)| (name.as_ref().to_owned(), *f)).collect(), ..self }
    }

    /// Checks what can be wrong whatever the model.
    pub(crate) fn check(&self) -> Result<()> {
        if let Strength::Given(strength) = self.strength
            && !(strength > 0.0 && strength.is_finite())
        {
            let reason = format!("has the strength {}, which must be a positive number", digits(strength));
            return Err(Error::option("penalty", reason));
        }
        if let Some((name, factor)) = self.factors.iter().find(|(_, f)| !(*f >= 0.0 && f.is_finite())) {
            return Err(wrong_factor(name, *factor));
        }
        if self.refit_selected && self.kind != PenaltyKind::Lasso {
            let reason = "has no meaning with a ridge penalty, which selects nothing: leave it out";
            return Err(Error::option("refit_selected", reason));
        }
        Ok(())
    }

    /// The factor of every parameter of a model.
    ///
    /// # Errors
    /// For a name that is no parameter, and where no parameter is penalised.
    pub(super) fn factors_of(&self, model: &Model) -> Result<Vec<f64>> {
        let mut factors = vec![1.0; model.parameters().len()];
        for (name, factor) in model.penalty_factors().iter().chain(&self.factors) {
            model.whole().index_of(name)?;
            // A parameter that is held fixed or tied to another is none of the free ones.
            if let Ok(index) = model.index_of(name) {
                factors[index] = *factor;
            }
        }
        if factors.iter().all(|factor| *factor == 0.0) {
            let reason = "penalises no parameter: all its factors are zero";
            return Err(Error::option("penalty", reason));
        }
        Ok(factors)
    }
}

/// A factor that is none.
pub(crate) fn wrong_factor(name: &str, factor: f64) -> Error {
    let reason = format!("has {} for `{name}`, where a factor is zero or a positive number", digits(factor));
    Error::option("penalty_factors", reason)
}

impl FromStr for Penalty {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let reason =
                format!("is lasso:λ, ridge:λ, lasso:auto, lasso:min, ridge:auto or auto, not {text}");
            Error::option("penalty", reason)
        };
        let (kind, strength) = match text.trim() {
            "auto" => ("lasso", "auto"),
            other => other.split_once(':').ok_or_else(wrong)?,
        };
        let kind = match kind.trim() {
            "lasso" => PenaltyKind::Lasso,
            "ridge" => PenaltyKind::Ridge,
            _ => return Err(wrong()),
        };
        let strength = match strength.trim() {
            "auto" => Strength::Auto,
            "min" => Strength::Minimum,
            number => Strength::Given(number.parse().map_err(|_| wrong())?),
        };
        let penalty = Self::new(kind, strength);
        penalty.check()?;
        Ok(penalty)
    }
}

impl fmt::Display for PenaltyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lasso => "lasso",
            Self::Ridge => "ridge",
        })
    }
}
