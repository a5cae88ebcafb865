//! Densities from closures: of one point at a time, or of a batch.

use std::fmt;
use std::sync::Arc;

use super::Density;
use crate::{Domain, Result, Space, View};

/// A log-density, up to a constant, as a function of one point; points outside the space have density zero.
///
/// ```
/// use noisewright::prelude::*;
/// // A Gaussian of variance 2 about 1: log Z = ½ ln 4π.
/// let f = density(Space::real(&["x"])?, |x: &[f64]| -0.25 * (x[0] - 1.0).powi(2));
/// let draws = sample(&Normal::with_variance(1.0, 2.0)?, 4000, 1);
/// let z = evidence(&f, &draws).seed(1).run()?;
/// assert!((z.log_evidence - 0.5 * (2.0 * std::f64::consts::TAU).ln()).abs() < 4.0 * z.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
pub fn density<'f>(
    space: Space,
    log_density: impl Fn(&[f64]) -> f64 + Send + Sync + 'f,
) -> FunctionDensity<'f> {
    FunctionDensity { space, log_density: Arc::new(log_density) }
}

/// A log-density, up to a constant, as a function of a batch of points and of the slice to write to.
///
/// ```
/// use noisewright::{Density, Space, View, batch_density};
/// let bell = batch_density(Space::real(&["x"])?, |points: View<'_>, out: &mut [f64]| {
///     out.iter_mut().zip(points.column(0)).for_each(|(o, x)| *o = -0.5 * x * x);
///     Ok(())
/// });
/// let mut out = [0.0];
/// bell.log_density(View::new(1, 1, &[2.0]), &mut out)?;
/// assert_eq!(out, [-2.0]);
/// # Ok::<(), noisewright::Error>(())
/// ```
pub fn batch_density<'f>(
    space: Space,
    log_density: impl Fn(View<'_>, &mut [f64]) -> Result<()> + Send + Sync + 'f,
) -> BatchDensity<'f> {
    BatchDensity { space, log_density: Arc::new(log_density) }
}

/// A log-density of one point.
type PointFunction<'f> = dyn Fn(&[f64]) -> f64 + Send + Sync + 'f;

/// A closure of one point with the space it lives on: see [`density`].
#[derive(Clone)]
pub struct FunctionDensity<'f> {
    space: Space,
    log_density: Arc<PointFunction<'f>>,
}

/// A closure of a batch with the space it lives on: see [`batch_density`].
#[derive(Clone)]
pub struct BatchDensity<'f> {
    space: Space,
    log_density: Arc<BatchFunction<'f>>,
}

type BatchFunction<'f> = dyn Fn(View<'_>, &mut [f64]) -> Result<()> + Send + Sync + 'f;

impl fmt::Debug for FunctionDensity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionDensity").field("space", &self.space).finish_non_exhaustive()
    }
}

impl fmt::Debug for BatchDensity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchDensity").field("space", &self.space).finish_non_exhaustive()
    }
}

impl Density for FunctionDensity<'_> {
    fn space(&self) -> &Space {
        &self.space
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        let mut x = vec![0.0; points.columns()];
        for (row, o) in out.iter_mut().enumerate() {
            points.copy_row(row, &mut x);
            *o = if inside(&self.space, &x) { (self.log_density)(&x) } else { f64::NEG_INFINITY };
        }
        Ok(())
    }
}

impl Density for BatchDensity<'_> {
    fn space(&self) -> &Space {
        &self.space
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        (self.log_density)(points, out)
    }
}

/// Whether a point belongs to the space; on a sphere points are taken to be unit vectors.
fn inside(space: &Space, x: &[f64]) -> bool {
    let within = |(x, domain): (&f64, &Domain)| domain.contains(*x);
    space.is_sphere() || x.iter().zip(space.domains()).all(within)
}
