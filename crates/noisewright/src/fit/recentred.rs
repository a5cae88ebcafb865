//! Data far from zero, in units of their spread: powers of them are all but the same function. The fit is made around their mean, and
//! carried back.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::summation::mean_and_variance;

use super::data_rows::DataRows;
use super::diagnostics;
use super::fit_against_noise::SCALE_ROWS;
use super::result::{Estimate, Fit, Optimum, Variances, coordinates};
use crate::{Error, Model, Result};

/// Distances of the mean from zero, in deviations, between which it pays: below, powers differ; above, a density in the original
/// parameters has no digits left.
const FAR: std::ops::Range<f64> = 10.0..3000.0;

/// A model around the mean of the data, and the way back.
pub(crate) struct Recentred {
    pub(crate) model: Model,
    /// Carries its unknowns to those of the model that was asked for.
    map: DMatrix<f64>,
}

impl Recentred {
    /// Where the data are far from zero and the model allows; bounds are of parameters that are not fitted then.
    pub(crate) fn of(model: &Model, rows: DataRows<'_>) -> Option<Self> {
        let free =
            model.parameters().iter().all(|p| p.lower == f64::NEG_INFINITY && p.upper == f64::INFINITY);
        if !free || model.is_normalized() || model.space().dimension() != 1 {
            return None;
        }
        let some = rows.spread(SCALE_ROWS);
        let (mean, variance) = mean_and_variance(some.view().column(0));
        if !FAR.contains(&(mean.abs() / variance.sqrt())) {
            return None;
        }
        let (energy, map) = model.energy().recentred(mean, variance.sqrt())?;
        Some(Self { model: model.with_energy(energy), map })
    }

    /// The fit in the parameters of the model that was asked for.
    ///
    /// # Errors
    /// When the way back has no inverse.
    pub(crate) fn back(&self, mut fit: Fit, model: &Model) -> Result<Fit> {
        let singular = || Error::internal("a change of center has no inverse");
        let inverse = self.map.clone().try_inverse().ok_or_else(singular)?;
        let carried = |matrix: &DMatrix<f64>| &self.map * matrix * self.map.transpose();
        fit.covariance_data = carried(&fit.covariance_data);
        fit.covariance_noise = carried(&fit.covariance_noise);
        fit.covariance = &fit.covariance_data + &fit.covariance_noise;
        // An exact fit's is that of the parameters alone, which do not depend on the constant.
        let size = fit.hessian.nrows();
        let inverse = inverse.view((0, 0), (size, size));
        fit.hessian = inverse.transpose() * &fit.hessian * inverse;
        let values = &self.map * DVector::from_vec(fit.unknowns());
        // A combination of estimates has no more degrees of freedom than the one with the fewest.
        let freedom = fit.estimates().iter().map(|e| e.degrees_of_freedom).fold(f64::INFINITY, f64::min);
        let estimate = |(j, parameter)| {
            let (data, noise) = (fit.covariance_data[(j, j)], fit.covariance_noise[(j, j)]);
            Estimate::new(&parameter, values[j], Variances { data, noise, freedom }, fit.confidence, false)
        };
        let mut estimates: Vec<Estimate> = coordinates(model).into_iter().enumerate().map(estimate).collect();
        fit.log_normalizer = estimates.pop();
        fit.parameters = estimates;
        for Optimum { at, .. } in fit.optima.iter_mut().filter(|optimum| optimum.at.len() == values.len()) {
            *at = (&self.map * DVector::from_column_slice(at)).as_slice().to_vec();
        }
        let least = fit.diagnostics.error_budget.iter().filter_map(|b| b.efficiency).reduce(f64::min);
        let parts = (&fit.covariance_data, &fit.covariance_noise);
        fit.diagnostics.error_budget = diagnostics::error_budget(&model.coordinates(), parts, None, None);
        fit.diagnostics.error_budget.iter_mut().for_each(|entry| entry.efficiency = least);
        Ok(fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Data, FitOptions, fit};
    use crate::{Parameter, Space};

    #[test]
    fn a_way_back_without_an_inverse_is_an_error() {
        let parameters = vec![Parameter::new("m", 0.0)];
        let model =
            Model::from_formula("m*x - x^2/2", Space::real(&["x"]).unwrap(), parameters, false).unwrap();
        let data = [0.3, -1.2, 0.8, 2.1, -0.4, 0.9];
        let options = FitOptions { noise: crate::fit::NoiseChoice::Exact, ..FitOptions::default() };
        let fitted = fit(&model, Data::from(&data[..]), &options).unwrap();
        let way = |map| Recentred { model: model.clone(), map };
        assert!(way(DMatrix::identity(2, 2)).back(fitted.clone(), &model).is_ok());
        let back = way(DMatrix::from_element(2, 2, 1.0)).back(fitted, &model);
        assert!(matches!(back, Err(Error::Internal { .. })), "{back:?}");
    }
}
