//! A model some of whose parameters are held fixed or tied to others: one energy of the free ones.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use super::forward;
use crate::{Energy, Result, View};

/// An energy whose parameters are an affine function of fewer free ones, `θ = Aφ + b`.
pub(crate) struct ConstrainedEnergy {
    pub(crate) inner: Arc<dyn Energy>,
    /// Names of the free parameters φ.
    pub(crate) names: Vec<String>,
    /// A.
    pub(crate) map: DMatrix<f64>,
    /// b.
    pub(crate) offset: DVector<f64>,
}

impl ConstrainedEnergy {
    /// θ at φ.
    fn all(&self, free: &[f64]) -> Vec<f64> {
        (&self.map * DVector::from_column_slice(free) + &self.offset).as_slice().to_vec()
    }

    /// `Aᵀ` times a column for each parameter, as a column for each free one.
    fn pull_back(&self, columns: &[f64], rows: usize, out: &mut [f64]) {
        out.fill(0.0);
        for (free, out) in out.chunks_exact_mut(rows.max(1)).enumerate() {
            let factors = self.map.column(free);
            for (column, factor) in columns.chunks_exact(rows.max(1)).zip(factors.iter()) {
                if *factor != 0.0 {
                    out.iter_mut().zip(column).for_each(|(o, s)| *o += factor * s);
                }
            }
        }
    }
}

impl Energy for ConstrainedEnergy {
    forward!(self => self.inner; dimension is_linear prefers_batches);

    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let (all, rows) = (self.all(parameters), points.rows());
        let Some(score) = score else { return self.inner.evaluate(&all, points, value, None) };
        let mut whole = vec![f64::NAN; all.len() * rows];
        self.inner.evaluate(&all, points, value, Some(&mut whole))?;
        self.pull_back(&whole, rows, score);
        Ok(())
    }

    fn point_gradient(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        self.inner.point_gradient(&self.all(parameters), point, gradient)
    }

    fn constants(&self) -> Vec<f64> {
        let fixed = (0..self.offset.len()).filter(|j| self.map.row(*j).iter().all(|a| *a == 0.0));
        self.inner.constants().into_iter().chain(fixed.map(|j| self.offset[j])).collect()
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let all = self.all(parameters);
        let mut whole = vec![0.0; all.len()];
        let log_z = self.inner.log_normalizer(&all, &mut whole)?;
        self.pull_back(&whole, 1, gradient);
        Some(log_z)
    }

    fn add_weighted_score(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let all = self.all(parameters);
        let mut whole = vec![0.0; all.len()];
        if !self.inner.add_weighted_score(&all, points, weights, &mut whole)? {
            return Ok(false);
        }
        let free = self.map.transpose() * DVector::from_vec(whole);
        out.iter_mut().zip(free.iter()).for_each(|(o, s)| *o += s);
        Ok(true)
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let all = self.all(parameters);
        let mut whole = DMatrix::zeros(all.len(), all.len());
        if !self.inner.add_curvature(&all, points, weights, whole.as_mut_slice())? {
            return Ok(false);
        }
        let free = self.map.transpose() * whole * &self.map;
        out.iter_mut().zip(free.as_slice()).for_each(|(o, c)| *o += c);
        Ok(true)
    }
}
