//! The unnormalized density whose integral is asked for: a model at parameter values, or any function of a batch.

use rayon::prelude::*;

use crate::run::CancelToken;
use crate::{Error, Model, Quantity, Result, View, tails};

/// Points evaluated at a time by one thread.
pub(super) const BLOCK: usize = 4096;

/// A log-density up to a constant that is not known: that constant is what `evidence` finds.
///
/// Functions of a batch of points and of the slice to write to are densities too.
///
/// ```
/// use noisewright::View;
/// use noisewright::normalizer::Density;
/// let bell = |points: View<'_>, out: &mut [f64]| {
///     out.iter_mut().zip(points.column(0)).for_each(|(o, x)| *o = -0.5 * x * x);
///     Ok(())
/// };
/// let mut out = [0.0];
/// bell.log_density(View::new(1, 1, &[2.0]), &mut out)?;
/// assert_eq!(out, [-2.0]);
/// # Ok::<(), noisewright::Error>(())
/// ```
pub trait Density: Sync {
    /// Writes the log-density of every point, −∞ where there is none. It is called from several threads.
    ///
    /// # Errors
    /// When it cannot be evaluated.
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()>;

    /// Refuses a density that is known to have no integral, given draws of it; by default none is.
    ///
    /// # Errors
    /// [`Error::NotIntegrable`], and [`Error::Cancelled`] when the token was cancelled meanwhile.
    fn check_integrable(&self, draws: View<'_>, cancel: &CancelToken) -> Result<()> {
        let _ = draws;
        cancel.check()
    }
}

impl<F: Fn(View<'_>, &mut [f64]) -> Result<()> + Sync> Density for F {
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        self(points, out)
    }
}

/// A model at parameter values.
#[derive(Clone, Copy, Debug)]
pub struct ModelDensity<'a> {
    /// The model.
    pub model: &'a Model,
    /// The values of its parameters, in order; none for a model without parameters.
    pub parameters: &'a [f64],
}

impl Density for ModelDensity<'_> {
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        self.model.evaluate(self.parameters, points, out, None)
    }

    fn check_integrable(&self, draws: View<'_>, cancel: &CancelToken) -> Result<()> {
        match tails::endless(&self.model.with_cancel(cancel), self.parameters, draws, tails::NEAR) {
            Some(endless) => Err(endless.error()),
            None => cancel.check(),
        }
    }
}

/// The log-density of all draws, which must have one.
pub(super) fn evaluate_draws(
    density: &dyn Density,
    draws: View<'_>,
    cancel: &CancelToken,
) -> Result<Vec<f64>> {
    let mut out = vec![0.0; draws.rows()];
    out.par_chunks_mut(BLOCK).enumerate().try_for_each(|(block, out)| {
        cancel.check()?;
        let start = block * BLOCK;
        density.log_density(draws.slice(start..start + out.len()), out)
    })?;
    match out.iter().position(|value| !value.is_finite()) {
        None => Ok(out),
        Some(row) if out[row] == f64::NEG_INFINITY => Err(Error::NoDensity { row: row + 1 }),
        Some(row) => Err(not_a_number(row, out[row])),
    }
}

fn not_a_number(row: usize, value: f64) -> Error {
    Error::NotANumber { of: Quantity::Value, point: format!("row {} of the draws (it is {value})", row + 1) }
}
