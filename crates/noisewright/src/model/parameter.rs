//! Parameters: a name, where a search starts, and between which bounds it stays.

use crate::{Error, Result};

/// A parameter with its start value and bounds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Name, as in the energy.
    pub name: String,
    /// Where fits start, and what designs take where no value is given.
    pub start: f64,
    /// Lower bound, −∞ where there is none.
    pub lower: f64,
    /// Upper bound, ∞ where there is none.
    pub upper: f64,
}

impl Parameter {
    /// A parameter without bounds.
    #[must_use]
    pub fn new(name: impl Into<String>, start: f64) -> Self {
        Self { name: name.into(), start, lower: f64::NEG_INFINITY, upper: f64::INFINITY }
    }

    /// The same parameter between two bounds, either of which may be infinite.
    ///
    /// ```
    /// use noisewright::Parameter;
    /// let scale = Parameter::new("scale", 1.0).bounded(0.0, f64::INFINITY);
    /// assert!(scale.check(2.0).is_ok() && scale.check(-2.0).is_err());
    /// ```
    #[must_use]
    pub fn bounded(self, lower: f64, upper: f64) -> Self {
        Self { lower, upper, ..self }
    }

    pub(super) fn check_bounds(&self) -> Result<()> {
        let (lower, upper) = (self.lower, self.upper);
        if lower <= upper {
            return Ok(());
        }
        let reason = format!("has the bounds {lower} and {upper}, but the lower must not exceed the upper");
        Err(Error::field(&self.name, reason))
    }

    /// Checks a value against the bounds.
    ///
    /// # Errors
    /// [`Error::Parameter`] when it is not finite or outside the bounds.
    pub fn check(&self, value: f64) -> Result<()> {
        let (lower, upper) = (self.lower, self.upper);
        let reason = if !value.is_finite() {
            "it must be a finite number".into()
        } else if value >= lower && value <= upper {
            return Ok(());
        } else if upper == f64::INFINITY {
            format!("it must be at least {lower}")
        } else if lower == f64::NEG_INFINITY {
            format!("it must be at most {upper}")
        } else {
            format!("it must lie between {lower} and {upper}")
        };
        Err(Error::Parameter { parameter: self.name.clone(), value, reason })
    }
}
