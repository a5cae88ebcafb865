//! The geometric bridge from a noise to a density.

use crate::{Density, Noise, Result, Space, View};

/// The geometric bridge `(1 − t) log p_n + t log f` between a noise at t = 0 and a density at t = 1.
#[derive(Debug)]
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
