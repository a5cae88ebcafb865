//! A model at parameter values as a density.

use super::Density;
use crate::population::modes_of;
use crate::run::CancelToken;
use crate::{Domain, Error, Model, Population, Precision, Result, Space, View, integrability};

/// Variables up to which integrals are examined by quadrature before any chain is run.
const EXAMINED: usize = 3;

/// A model at parameter values: `exp u(x; θ)` on the model's space.
///
/// ```
/// use noisewright::{Density, Model, View};
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
/// let mut out = [0.0];
/// model.density(&[3.0])?.log_density(View::new(1, 1, &[5.0]), &mut out)?;
/// assert_eq!(out, [-2.0]);
/// assert!(model.density(&[3.0, 1.0]).is_err());
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ModelDensity<'a> {
    model: &'a Model,
    parameters: &'a [f64],
}

impl<'a> ModelDensity<'a> {
    /// A model at the values of its parameters, in order.
    ///
    /// # Errors
    /// When there are not as many values as parameters, or one is outside its bounds.
    pub fn new(model: &'a Model, parameters: &'a [f64]) -> Result<Self> {
        model.refuse_covariates()?;
        model.check(parameters)?;
        Ok(Self { model, parameters })
    }

    fn check_tails(&self, places: View<'_>, reach: integrability::Reach) -> Result<()> {
        match integrability::of_model(self.model, self.parameters, places, reach) {
            Some(endless) => Err(endless.error()),
            None => Ok(()),
        }
    }
}

impl Density for ModelDensity<'_> {
    fn space(&self) -> &Space {
        self.model.space()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        self.model.evaluate(self.parameters, points, out, None)
    }

    fn gradient(&self, point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let inside = |(x, domain): (&f64, &Domain)| domain.contains(*x);
        if !point.iter().zip(self.space().domains()).all(inside) {
            gradient.fill(0.0);
            return Ok(Some(f64::NEG_INFINITY));
        }
        let value = self.model.energy().point_gradient(self.parameters, point, gradient)?;
        if value.is_some_and(f64::is_nan) {
            // The model says at which point.
            self.log_density(View::new(point.len(), 1, point), &mut [0.0])?;
        }
        Ok(value)
    }

    fn modes(&self) -> Result<Vec<Vec<f64>>> {
        match modes_of(self.model, self.parameters) {
            // Climbs look much farther out than any chain goes, where formulas overflow.
            Err(Error::NotANumber { .. }) => Ok(Vec::new()),
            modes => modes,
        }
    }

    /// Near the draws where there are any, otherwise over the whole space.
    fn check_integrable(&self, draws: Option<View<'_>>, cancel: &CancelToken) -> Result<()> {
        let model = &self.model.with_cancel(cancel);
        let density = ModelDensity { model, ..*self };
        if let Some(draws) = draws {
            density.check_tails(draws, integrability::NEAR)?;
            return cancel.check();
        }
        if self.space().dimension() > EXAMINED {
            if let Some(endless) = integrability::anywhere(model, self.parameters) {
                return Err(endless.error());
            }
            return cancel.check();
        }
        // What else may be wrong is for the chains to find.
        let precision = Precision { relative: 1e-3, ..Precision::default() };
        match Population::check_integrable(model, self.parameters, &precision) {
            Err(error @ Error::NotIntegrable { .. }) => Err(error),
            _ => cancel.check(),
        }
    }
}
