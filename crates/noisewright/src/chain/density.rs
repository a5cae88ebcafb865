//! What a chain can sample: a model at its parameters, or a bridge from a noise to it.

use super::coordinates::Coordinates;
use crate::run::{CancelToken, Purpose};
use crate::{Error, Model, Noise, Population, Precision, Result, Space, View, tails};

/// Variables up to which integrals are examined by quadrature before any chain is run.
const EXAMINED: usize = 3;

/// A log-density up to a constant, with its gradient where there is one.
pub trait Density: Sync {
    /// The space of the points.
    fn space(&self) -> &Space;

    /// Writes the log-density of every point; −∞ where the density is zero.
    ///
    /// # Errors
    /// When the log-density is not a number somewhere.
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()>;

    /// Writes the gradient at one point and returns the log-density there; `None` where there is no gradient. It is
    /// never made up from differences.
    ///
    /// # Errors
    /// As for [`log_density`](Self::log_density).
    fn gradient(&self, point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>>;

    /// Refuses a density that is known to have no integral, on which chains would run off for ever; by default none is.
    ///
    /// # Errors
    /// [`Error::NotIntegrable`], and [`Error::Cancelled`] when the token was cancelled meanwhile.
    fn check_integrable(&self, cancel: &CancelToken) -> Result<()> {
        cancel.check()
    }
}

/// A model at its parameters.
#[derive(Clone, Copy, Debug)]
pub struct ModelDensity<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its parameters.
    pub parameters: &'a [f64],
}

impl Density for ModelDensity<'_> {
    fn space(&self) -> &Space {
        self.model.space()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        self.model.evaluate(self.parameters, points, out, None)
    }

    fn gradient(&self, point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let inside = |(x, domain): (&f64, &crate::Domain)| domain.contains(*x);
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

    fn check_integrable(&self, cancel: &CancelToken) -> Result<()> {
        let model = &self.model.with_cancel(cancel);
        if self.space().dimension() > EXAMINED {
            ModelDensity { model, ..*self }.check_far_out()?;
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

/// Places that are guessed for a density of which nothing is known.
const GUESSES: usize = 24;

impl ModelDensity<'_> {
    /// Many variables are looked at along lines and rays.
    fn check_far_out(&self) -> Result<()> {
        let (space, coordinates) = (self.space(), Coordinates::new(self.space()));
        let dimension = space.dimension();
        let mut random = Purpose::IntegrabilityProbe { kind: 4 }.fixed_stream();
        let mut values = vec![0.0; GUESSES * dimension];
        let mut x = vec![0.0; dimension];
        for row in 0..GUESSES {
            coordinates.variables(&coordinates.somewhere(&mut random), &mut x);
            x.iter().enumerate().for_each(|(axis, x)| values[axis * GUESSES + row] = *x);
        }
        let places = View::new(dimension, GUESSES, &values);
        match tails::endless(self.model, self.parameters, places, tails::BEYOND) {
            Some(endless) => Err(endless.error()),
            None => Ok(()),
        }
    }
}

/// The geometric bridge `(1 − t) log p_n + t log f` between a noise at t = 0 and a density at t = 1.
pub struct Bridge<'a> {
    /// The noise.
    pub noise: &'a dyn Noise,
    /// The density.
    pub density: &'a dyn Density,
    /// Where on the way, from 0 to 1.
    pub t: f64,
}

impl Bridge<'_> {
    /// The log-density of the bridge at `t` from those of its ends.
    ///
    /// Where one end has density zero all bridges have, but at the other end itself it does not count.
    #[must_use]
    pub fn value(t: f64, log_noise: f64, log_density: f64) -> f64 {
        if t == 0.0 {
            log_noise
        } else if t == 1.0 {
            log_density
        } else if log_noise == f64::NEG_INFINITY || log_density == f64::NEG_INFINITY {
            f64::NEG_INFINITY
        } else {
            (1.0 - t) * log_noise + t * log_density
        }
    }
}

impl Density for Bridge<'_> {
    fn space(&self) -> &Space {
        self.density.space()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        if self.t == 1.0 {
            return self.density.log_density(points, out);
        }
        let mut log_noise = vec![0.0; out.len()];
        self.noise.log_density(points, &mut log_noise);
        self.density.log_density(points, out)?;
        out.iter_mut().zip(&log_noise).for_each(|(o, n)| *o = Self::value(self.t, *n, *o));
        Ok(())
    }

    fn gradient(&self, point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let Some(log_density) = self.density.gradient(point, gradient)? else { return Ok(None) };
        if self.t == 1.0 {
            return Ok(Some(log_density));
        }
        let mut slope = vec![0.0; point.len()];
        if !self.noise.slope(point, &mut slope) {
            return Ok(None);
        }
        let mut log_noise = [0.0];
        self.noise.log_density(View::new(point.len(), 1, point), &mut log_noise);
        for (g, s) in gradient.iter_mut().zip(&slope) {
            *g = (1.0 - self.t) * s + self.t * *g;
        }
        Ok(Some(Self::value(self.t, log_noise[0], log_density)))
    }
}
