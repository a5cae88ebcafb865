//! Unnormalized densities: what chains sample, and whose integral paths, bridges and evidence find.

mod function;
mod of_model;

pub use function::{BatchDensity, FunctionDensity, batch_density, density};
pub use of_model::ModelDensity;

use std::sync::Arc;

use crate::run::CancelToken;
use crate::{Error, Quantity, Result, Space, View};

/// A log-density up to a constant on a space, with its gradient where there is one.
///
/// A closure with a space is one ([`density`], [`batch_density`]), and so is a model at parameter values
/// ([`Model::density`](crate::Model::density)). It is called from several threads at once.
///
/// ```
/// use noisewright::{Density, Result, Space, View};
///
/// /// A Gaussian funnel: the width of `x` is `exp(s/2)`.
/// struct Funnel(Space);
///
/// impl Density for Funnel {
///     fn space(&self) -> &Space {
///         &self.0
///     }
///     fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
///         for (o, (s, x)) in out.iter_mut().zip(points.column(0).iter().zip(points.column(1))) {
///             *o = -s * s / 18.0 - 0.5 * s - 0.5 * x * x * (-s).exp();
///         }
///         Ok(())
///     }
/// }
///
/// let mut out = [0.0];
/// Funnel(Space::real(&["s", "x"])?).log_density(View::new(2, 1, &[0.0, 2.0]), &mut out)?;
/// assert_eq!(out, [-2.0]);
/// # Ok::<(), noisewright::Error>(())
/// ```
pub trait Density: Send + Sync {
    /// The space of the points.
    fn space(&self) -> &Space;

    /// Writes the log-density of every point; −∞ where the density is zero. The buffer comes filled with `NaN`.
    ///
    /// # Errors
    /// When it cannot be evaluated: [`Error::external`] keeps an error of another type as its source.
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()>;

    /// Writes the gradient at one point and returns the log-density there; `None` where there is no gradient, as by
    /// default. It is never made up from differences.
    ///
    /// # Errors
    /// As for [`log_density`](Self::log_density).
    fn gradient(&self, point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let _ = (point, gradient);
        Ok(None)
    }

    /// Points at which it is known to have modes, to start chains at; none by default.
    ///
    /// # Errors
    /// As for [`log_density`](Self::log_density).
    fn modes(&self) -> Result<Vec<Vec<f64>>> {
        Ok(Vec::new())
    }

    /// Refuses a density that is known to have no integral, given draws of it where there are any; by default none is.
    ///
    /// # Errors
    /// [`Error::NotIntegrable`], and [`Error::Cancelled`] when the token was cancelled meanwhile.
    fn check_integrable(&self, draws: Option<View<'_>>, cancel: &CancelToken) -> Result<()> {
        let _ = draws;
        cancel.check()
    }
}

impl std::fmt::Debug for dyn Density + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Density").field("space", self.space()).finish_non_exhaustive()
    }
}

macro_rules! forward_density {
    ($($pointer:ty),*) => {$(
        impl<D: Density + ?Sized> Density for $pointer {
            fn space(&self) -> &Space {
                (**self).space()
            }

            fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
                (**self).log_density(points, out)
            }

            fn gradient(&self, point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
                (**self).gradient(point, gradient)
            }

            fn modes(&self) -> Result<Vec<Vec<f64>>> {
                (**self).modes()
            }

            fn check_integrable(&self, draws: Option<View<'_>>, cancel: &CancelToken) -> Result<()> {
                (**self).check_integrable(draws, cancel)
            }
        }
    )*};
}

forward_density!(&D, Box<D>, Arc<D>);

/// The log-density of a batch of points, in a buffer of its own; a value that is not written or not a number is an error.
pub(crate) fn log_densities(density: &dyn Density, points: View<'_>, out: &mut [f64]) -> Result<()> {
    out.fill(f64::NAN);
    density.log_density(points, out)?;
    match out.iter().position(|value| value.is_nan() || *value == f64::INFINITY) {
        None => Ok(()),
        Some(row) => {
            Err(Error::NotANumber { of: Quantity::Value, point: place(density.space(), points, row) })
        }
    }
}

/// `x = 1, y = 2`: one of the points, by name.
fn place(space: &Space, points: View<'_>, row: usize) -> String {
    let values = space.names().iter().enumerate().map(|(j, name)| format!("{name} = {}", points.get(row, j)));
    values.collect::<Vec<_>>().join(", ")
}
