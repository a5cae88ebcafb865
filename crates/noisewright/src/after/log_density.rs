//! The fitted log-density at points, with its error.

use nalgebra::DVector;

use super::joint::JointEstimate;
use crate::normalizer::two_sided;
use crate::{Error, Model, Result, View};

/// A fitted log-density, or log ratio, at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogDensity {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end of its interval.
    pub upper: f64,
}

impl JointEstimate {
    /// `u(x; θ̂) − ĉ` at points, or `u(x; θ̂) − log Z(θ̂)` for a model whose constant is known; the error by the delta method
    /// with the slope `(∇u, −1)`, or `∇u − ∇log Z`. Of a conditional model the points have the covariates with them, and the constant
    /// is log Z(z). Where the model has no density it is −∞, without error.
    ///
    /// # Errors
    /// When the points do not have the model's variables, the estimates are not of this model, or a score is not a number.
    pub fn log_density(&self, model: &Model, points: View<'_>) -> Result<Vec<LogDensity>> {
        self.log_density_by(model, points, None)
    }

    /// The same; `noise` are the words of the noise of the fit, for constants that cannot be computed.
    pub(super) fn log_density_by(
        &self,
        model: &Model,
        points: View<'_>,
        noise: Option<&str>,
    ) -> Result<Vec<LogDensity>> {
        self.check_model(model)?;
        let (expected, found) = (model.space().dimension(), points.columns());
        if expected != found {
            return Err(Error::Shape { what: "columns of points", expected, found });
        }
        if model.is_conditional() {
            return self.log_density_given(model, points, noise);
        }
        let (rows, count) = (points.rows(), model.parameters().len());
        let theta = &self.values[..count];
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * count]);
        model.evaluate(theta, points, &mut value, Some(&mut score))?;
        let mut slope_of_constant = vec![0.0; count];
        let constant = match self.values.get(count) {
            Some(constant) => *constant,
            None => model.log_normalizer(theta, &mut slope_of_constant).ok_or_else(unknown_constant)?,
        };
        let reach = two_sided(self.confidence, self.freedom(|_| true));
        let at = |row: usize| {
            let value = value[row] - constant;
            let slope = DVector::from_fn(self.values.len(), |j, _| match j {
                j if j == count => -1.0,
                j => score[j * rows + row] - slope_of_constant[j],
            });
            let [data, noise] = self.variances(&slope);
            let se = if value == f64::NEG_INFINITY { 0.0 } else { (data + noise).sqrt() };
            LogDensity { value, se, lower: value - reach * se, upper: value + reach * se }
        };
        Ok((0..rows).map(at).collect())
    }
}

/// Of a fit by a method that gives no constant, where it could not be computed either.
fn unknown_constant() -> Error {
    let reason = "it has no constant, without which there is no density: fit it by nce".into();
    Error::SavedFit { reason }
}
