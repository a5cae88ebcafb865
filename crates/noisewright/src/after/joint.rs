//! All unknowns of a fit at once: estimates with their joint covariance, as plain data.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Deserializer, Serialize};

use crate::fit::Fit;
use crate::{Error, Model, Result};

/// Estimates of several unknowns with the two parts of their covariance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JointEstimate {
    /// Names of the unknowns, the constant last where it is free.
    pub coordinates: Vec<String>,
    /// Their estimates.
    pub values: Vec<f64>,
    /// Which of them lie on a bound, where they have no standard error.
    pub at_bound: Vec<bool>,
    /// Degrees of freedom of their standard errors; `None` for endless ones.
    pub degrees_of_freedom: Vec<Option<f64>>,
    /// The part of the covariance that no amount of noise removes.
    #[serde(serialize_with = "crate::serial::rows", deserialize_with = "matrix")]
    pub covariance_data: DMatrix<f64>,
    /// The part that more noise removes.
    #[serde(serialize_with = "crate::serial::rows", deserialize_with = "matrix")]
    pub covariance_noise: DMatrix<f64>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Whether a selection leaves no standard errors; the covariances are empty then.
    #[serde(default)]
    pub without_errors: bool,
}

/// A matrix from a list of its rows.
fn matrix<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<DMatrix<f64>, D::Error> {
    let rows = Vec::<Vec<f64>>::deserialize(deserializer)?;
    let columns = rows.first().map_or(0, Vec::len);
    if rows.iter().any(|row| row.len() != columns) {
        return Err(serde::de::Error::custom("the rows of a matrix differ in length"));
    }
    Ok(DMatrix::from_row_iterator(rows.len(), columns, rows.into_iter().flatten()))
}

impl JointEstimate {
    pub(super) fn of(fit: &Fit) -> Self {
        let estimates = fit.estimates();
        let without_errors = fit.is_selection();
        let kept = |matrix: &DMatrix<f64>| {
            if without_errors { DMatrix::zeros(0, 0) } else { matrix.clone() }
        };
        Self {
            coordinates: estimates.iter().map(|e| e.name.clone()).collect(),
            values: estimates.iter().map(|e| e.estimate).collect(),
            at_bound: estimates.iter().map(|e| e.at_bound).collect(),
            degrees_of_freedom: estimates
                .iter()
                .map(|e| e.degrees_of_freedom)
                .map(|freedom| freedom.is_finite().then_some(freedom))
                .collect(),
            covariance_data: kept(&fit.covariance_data),
            covariance_noise: kept(&fit.covariance_noise),
            confidence: fit.confidence,
            without_errors,
        }
    }

    /// The variance that the noise gives to `ĉ − log Z(θ̂)`, whose slope is `(−mean ∇u, 1)`.
    pub(crate) fn noise_of_constant(fit: &Fit, mean_score: impl Fn(usize) -> f64) -> f64 {
        let size = fit.covariance_noise.nrows();
        let slope = DVector::from_fn(size, |j, _| if j + 1 == size { 1.0 } else { -mean_score(j) });
        slope.dot(&(&fit.covariance_noise * &slope)).max(0.0)
    }

    /// Refuses parts that do not belong together.
    ///
    /// # Errors
    /// [`Error::Shape`], or [`Error::SavedFit`] for a number that is not finite.
    pub fn check(&self) -> Result<()> {
        let size = self.coordinates.len();
        let lengths = [self.values.len(), self.at_bound.len(), self.degrees_of_freedom.len()];
        let matrices = [&self.covariance_data, &self.covariance_noise];
        let wide = if self.without_errors { 0 } else { size };
        let sizes = matrices.iter().flat_map(|m| [m.nrows(), m.ncols()]).map(|found| found + size - wide);
        if let Some(found) = lengths.into_iter().chain(sizes).find(|found| *found != size) {
            return Err(Error::Shape { what: "numbers of unknowns in the saved fit", expected: size, found });
        }
        let numbers = self.values.iter().chain(matrices.iter().flat_map(|m| m.iter()));
        if numbers.into_iter().any(|x| !x.is_finite()) {
            return Err(Error::SavedFit {
                reason: "an estimate or a covariance is not a finite number".into(),
            });
        }
        Ok(())
    }

    /// Refuses another model than that which the unknowns are of; some methods leave the constant out.
    pub(super) fn check_model(&self, model: &Model) -> Result<()> {
        let (expected, found) = (model.coordinates().len(), self.values.len());
        let right = [expected, model.parameters().len()].contains(&found);
        if right { Ok(()) } else { Err(Error::Shape { what: "estimates", expected, found }) }
    }

    /// The two parts of the variance of `slope · β`.
    pub(super) fn variances(&self, slope: &DVector<f64>) -> [f64; 2] {
        if self.without_errors {
            return [f64::NAN; 2];
        }
        let quadratic = |matrix: &DMatrix<f64>| slope.dot(&(matrix * slope)).max(0.0);
        [quadratic(&self.covariance_data), quadratic(&self.covariance_noise)]
    }

    /// Degrees of freedom of a combination: it is known no worse than the unknown in it with the fewest.
    pub(super) fn freedom(&self, involved: impl Fn(usize) -> bool) -> f64 {
        let known = self.degrees_of_freedom.iter().enumerate().filter(|(j, _)| involved(*j));
        known.filter_map(|(_, freedom)| *freedom).fold(f64::INFINITY, f64::min)
    }

    /// A parameter on its bound, for which there is no standard error, that a combination depends on.
    pub(super) fn refuse_bound(&self, option: &'static str, involved: impl Fn(usize) -> bool) -> Result<()> {
        match (0..self.values.len()).find(|j| self.at_bound[*j] && involved(*j)) {
            None => Ok(()),
            Some(j) => {
                let name = &self.coordinates[j];
                let reason =
                    format!("depends on `{name}`, which lies on its bound and has no standard error there");
                Err(Error::option(option, reason))
            }
        }
    }
}
