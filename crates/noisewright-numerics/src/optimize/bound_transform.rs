//! Bounds by transformation: a problem whose bounded coordinates are mapped onto the whole line.

use nalgebra::{DMatrix, DVector};

use super::{Evaluation, Problem};
use crate::chart::Chart;

/// A problem in coordinates without bounds; those beyond the charts stay as they are.
pub struct Transformed<'p, P: ?Sized> {
    /// The problem.
    pub problem: &'p P,
    /// The chart of each of its first coordinates.
    pub charts: &'p [Chart],
}

impl<P: ?Sized> Transformed<'_, P> {
    fn each(&self, at: &DVector<f64>, f: impl Fn(Chart, f64) -> f64) -> DVector<f64> {
        let chart = |j: usize| self.charts.get(j).copied().unwrap_or(Chart::Identity);
        DVector::from_fn(at.len(), |j, _| f(chart(j), at[j]))
    }

    /// The problem's own coordinates of a place on the line.
    #[must_use]
    pub fn outer(&self, real: &DVector<f64>) -> DVector<f64> {
        self.each(real, |chart, y| chart.from_real(y))
    }

    /// The place on the line of the problem's own coordinates.
    #[must_use]
    pub fn inner(&self, at: &DVector<f64>) -> DVector<f64> {
        self.each(at, |chart, x| chart.to_real(x))
    }
}

impl<P: Problem + ?Sized> Problem for Transformed<'_, P> {
    type Error = P::Error;

    fn rows(&self) -> f64 {
        self.problem.rows()
    }

    fn rounding(&self) -> f64 {
        self.problem.rounding()
    }

    fn has_curvature(&self) -> bool {
        self.problem.has_curvature()
    }

    fn evaluate(&self, real: &DVector<f64>, hessian: bool) -> Result<Evaluation, P::Error> {
        let slope = self.each(real, |chart, y| chart.log_jacobian(y).exp());
        if real.iter().chain(slope.iter()).any(|x| !x.is_finite()) {
            return Ok(Evaluation::wall(real.len()));
        }
        let there = self.problem.evaluate(&self.outer(real), hessian)?;
        let bend = self.each(real, |chart, y| chart.log_jacobian_slope(y)).component_mul(&slope);
        let gradient = there.gradient.component_mul(&slope);
        let hessian = there.hessian.map(|h| {
            let mut out = DMatrix::from_fn(real.len(), real.len(), |i, j| h[(i, j)] * slope[i] * slope[j]);
            for j in 0..real.len() {
                out[(j, j)] += there.gradient[j] * bend[j];
            }
            out
        });
        Ok(Evaluation { value: there.value, gradient, hessian })
    }
}
