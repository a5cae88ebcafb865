//! A conditional energy at given values of its covariates, which are its last variables.

use std::sync::Arc;

use super::forward;
use crate::{Energy, Result, View};

/// `u(y, z; θ)` as a function of y alone.
pub(crate) struct GivenEnergy {
    inner: Arc<dyn Energy>,
    covariates: Vec<f64>,
}

impl GivenEnergy {
    pub(crate) fn new(inner: Arc<dyn Energy>, covariates: Vec<f64>) -> Self {
        Self { inner, covariates }
    }

    /// The points with a column for every covariate, column-major.
    fn filled(&self, points: View<'_>) -> Vec<f64> {
        let rows = points.rows();
        let mut values = Vec::with_capacity(rows * self.inner.dimension());
        (0..points.columns()).for_each(|j| values.extend_from_slice(points.column(j)));
        self.covariates.iter().for_each(|z| values.extend(std::iter::repeat_n(*z, rows)));
        values
    }

    fn with<T>(&self, points: View<'_>, run: impl FnOnce(&dyn Energy, View<'_>) -> T) -> T {
        let values = self.filled(points);
        run(self.inner.as_ref(), View::new(points.columns() + self.covariates.len(), points.rows(), &values))
    }
}

impl Energy for GivenEnergy {
    forward!(self => self.inner; parameters canonical is_linear prefers_batches log_normalizer);

    fn dimension(&self) -> usize {
        self.inner.dimension() - self.covariates.len()
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.with(points, |energy, points| energy.evaluate(parameters, points, value, score))
    }

    fn point_gradient(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let whole = [point, &self.covariates].concat();
        let mut slope = vec![0.0; whole.len()];
        let value = self.inner.point_gradient(parameters, &whole, &mut slope)?;
        if value.is_some() {
            gradient.copy_from_slice(&slope[..gradient.len()]);
        }
        Ok(value)
    }

    // A covariate may be where the density is: in −(y − z)² it is.
    fn constants(&self) -> Vec<f64> {
        self.inner.constants().into_iter().chain(self.covariates.iter().copied()).collect()
    }

    fn add_weighted_score(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.with(points, |energy, points| energy.add_weighted_score(parameters, points, weights, out))
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        self.with(points, |energy, points| energy.add_curvature(parameters, points, weights, out))
    }
}
