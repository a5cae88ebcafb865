//! The logistic distribution.

use noisewright_numerics::kernels;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{ln_sigmoid, sigmoid};
use rand::distr::Open01;
use rand_distr::Distribution;

use super::check::{finite, positive};
use super::fitting::Sample;
use super::scalar::in_blocks;
use super::spelling::call;
use crate::{Result, Scalar, View};

/// `logistic(location, scale)`: `ln p = −|z| − 2 ln(1 + e^{−|z|}) − ln s` with `z = (x−l)/s`.
///
/// ```
/// use noisewright::{Logistic, Scalar};
/// assert_eq!(Logistic::new(0.0, 1.0)?.cdf(0.0), 0.5);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    location: f64,
    scale: f64,
}

impl Logistic {
    /// A logistic distribution.
    ///
    /// ```
    /// use noisewright::{Logistic, Scalar};
    /// // The log-odds of the distribution function are the variable in units of the scale.
    /// assert!((Logistic::new(1.0, 2.0)?.cdf(1.0 + 2.0 * 3f64.ln()) - 0.75).abs() < 1e-14);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the location is not finite or the scale not positive.
    pub fn new(location: f64, scale: f64) -> Result<Self> {
        finite("the location of logistic", location)?;
        positive("the scale of logistic", scale)?;
        Ok(Self { location, scale })
    }

    /// By moments: the mean, and the scale that gives the data's variance, `s²π²/3`.
    ///
    /// # Errors
    /// When there are no data or they do not vary.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let (mean, variance) = Sample::scalar("logistic", points, weights)?.moments()?;
        Self::new(mean, (3.0 * variance).sqrt() / std::f64::consts::PI)
    }

    fn standardized(&self, x: f64) -> f64 {
        (x - self.location) / self.scale
    }
}

impl Scalar for Logistic {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let constant = -self.scale.ln();
        in_blocks(x, out, |x, scratch, out| {
            for (s, &x) in scratch.iter_mut().zip(x) {
                *s = -self.standardized(x).abs();
            }
            kernels::exp(scratch, out);
            for (s, o) in scratch.iter_mut().zip(out.iter()) {
                *s = 1.0 + o;
            }
            kernels::ln(scratch, out);
            for (o, &x) in out.iter_mut().zip(x) {
                *o = constant - self.standardized(x).abs() - 2.0 * *o;
            }
        });
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        let u: f64 = Open01.sample(stream);
        self.location + self.scale * (u.ln() - (-u).ln_1p())
    }

    fn cdf(&self, x: f64) -> f64 {
        sigmoid(self.standardized(x))
    }

    fn survival(&self, x: f64) -> f64 {
        sigmoid(-self.standardized(x))
    }

    fn ln_cdf(&self, x: f64) -> f64 {
        ln_sigmoid(self.standardized(x))
    }

    fn ln_survival(&self, x: f64) -> f64 {
        ln_sigmoid(-self.standardized(x))
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(self.location, 1.5 * self.scale)]
    }

    fn words(&self) -> String {
        call("logistic", &[self.location, self.scale])
    }
}
