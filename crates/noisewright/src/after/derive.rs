//! Functions of the unknowns, read from text, with errors by the delta method.

use nalgebra::DVector;
use noisewright_formula::Order;

use super::joint::JointEstimate;
use crate::fit::Variances;
use crate::{Error, Estimate, Parameter, Result, quoted};

/// The value of a function of the unknowns at the estimate, and its slope there.
pub(crate) struct Linearized {
    pub(crate) value: f64,
    pub(crate) slope: DVector<f64>,
}

impl JointEstimate {
    /// A function of the unknowns, `formula` or `name = formula`, with its standard error by the delta method.
    ///
    /// Names that are no identifiers, such as those of features, stand between backquotes.
    ///
    /// # Errors
    /// As for [`Fit::derive`](crate::Fit::derive).
    pub fn derive(&self, formula: &str) -> Result<Estimate> {
        let (name, text) = match formula.split_once('=') {
            Some((name, text)) if !name.trim().is_empty() => (name.trim(), text),
            Some(_) => return Err(Error::option("derive", "must have a name before `=`, such as r = b/a")),
            None => (formula.trim(), formula),
        };
        let Linearized { value, slope } = self.linearized("derive", text)?;
        self.refuse_bound("derive", |j| slope[j] != 0.0)?;
        let [data, noise] = self.variances(&slope);
        let variances = Variances { data, noise, freedom: self.freedom(|j| slope[j] != 0.0) };
        Ok(Estimate::new(&Parameter::new(name, value), value, variances, self.confidence, false))
    }

    /// The value and slope of a formula in the unknowns.
    pub(super) fn linearized(&self, field: &'static str, text: &str) -> Result<Linearized> {
        linearized(&self.coordinates, &self.values, field, text)
    }
}

/// The value and slope of a formula in unknowns of these names, at these values.
///
/// # Errors
/// When the formula cannot be read, or has no finite value and slope there.
pub(crate) fn linearized(
    coordinates: &[String],
    values: &[f64],
    field: &'static str,
    text: &str,
) -> Result<Linearized> {
    let refusal = |field, reason| Error::option(field, reason);
    let tape = quoted::formula(coordinates, field, text, refusal)?.compile(Order::First);
    let mut out = vec![0.0; tape.outputs()];
    tape.evaluate(values, &[], &mut out.chunks_exact_mut(1).collect::<Vec<_>>());
    if out.iter().any(|x| !x.is_finite()) {
        let reason = format!("has no finite value and slope at the estimates: `{}`", text.trim());
        return Err(Error::option(field, reason));
    }
    Ok(Linearized { value: out[0], slope: DVector::from_column_slice(&out[1..]) })
}
