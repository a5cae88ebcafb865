//! The log-normal distribution.

use noisewright_numerics::kernels;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{LN_SQRT_2PI, ln_normal_cdf, normal_cdf, normal_quantile};
use rand_distr::{Distribution, StandardNormal};

use super::check::{finite, positive};
use super::fitting::Sample;
use super::scalar::in_blocks;
use super::spelling::call;
use crate::{Refit, Result, Scalar, View};

/// `lognormal(mu, sigma)`: the logarithm is normal with mean `mu` and standard deviation `sigma`.
///
/// ```
/// use noisewright::{LogNormal, Scalar};
/// assert!((LogNormal::new(2.0, 0.5)?.cdf(2.0f64.exp()) - 0.5).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogNormal {
    mu: f64,
    sigma: f64,
}

impl LogNormal {
    /// A log-normal distribution.
    ///
    /// ```
    /// use noisewright::{LogNormal, Scalar};
    /// let noise = LogNormal::new(2.0, 0.5)?;
    /// assert!((noise.cdf(2f64.exp()) - 0.5).abs() < 1e-14); // e^μ is the median
    /// assert_eq!(noise.of_logarithm(), (2.0, 0.5));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `mu` is not finite or `sigma` not positive.
    pub fn new(mu: f64, sigma: f64) -> Result<Self> {
        finite("mu of lognormal", mu)?;
        positive("sigma of lognormal", sigma)?;
        Ok(Self { mu, sigma })
    }

    /// Maximum likelihood: mean and standard deviation of the logarithms.
    ///
    /// ```
    /// use noisewright::{LogNormal, View};
    /// let (mean, deviation) = LogNormal::fit(View::new(1, 2, &[1.0, 2f64.exp()]), None)?.of_logarithm();
    /// assert!((mean - 1.0).abs() < 1e-14 && (deviation - 1.0).abs() < 1e-14);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data, they do not vary, or one is not positive.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let sample = Sample::scalar("lognormal", points, weights)?;
        sample.require(|x| x > 0.0, "positive")?;
        sample.moments()?;
        let mu = sample.mean_of(f64::ln);
        Self::new(mu, sample.mean_of(|x| (x.ln() - mu) * (x.ln() - mu)).sqrt())
    }

    /// Mean and standard deviation of the logarithm.
    #[must_use]
    pub fn of_logarithm(&self) -> (f64, f64) {
        (self.mu, self.sigma)
    }

    fn standardized(&self, x: f64) -> f64 {
        (x.max(0.0).ln() - self.mu) / self.sigma
    }
}

impl Scalar for LogNormal {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let constant = -LN_SQRT_2PI - self.sigma.ln();
        in_blocks(x, out, |x, scratch, out| {
            for (s, &x) in scratch.iter_mut().zip(x) {
                *s = x.max(0.0);
            }
            kernels::ln(scratch, out);
            for (o, &x) in out.iter_mut().zip(x) {
                let z = (*o - self.mu) / self.sigma;
                *o = if x > 0.0 && x < f64::INFINITY {
                    constant - 0.5 * z * z - *o
                } else {
                    f64::NEG_INFINITY
                };
            }
        });
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        let z: f64 = StandardNormal.sample(stream);
        (self.mu + self.sigma * z).exp().clamp(f64::MIN_POSITIVE, f64::MAX)
    }

    fn quantile(&self, u: f64) -> f64 {
        (self.mu + self.sigma * normal_quantile(u)).exp().clamp(f64::MIN_POSITIVE, f64::MAX)
    }

    fn cdf(&self, x: f64) -> f64 {
        normal_cdf(self.standardized(x))
    }

    fn survival(&self, x: f64) -> f64 {
        normal_cdf(-self.standardized(x))
    }

    fn ln_cdf(&self, x: f64) -> f64 {
        ln_normal_cdf(self.standardized(x))
    }

    fn ln_survival(&self, x: f64) -> f64 {
        ln_normal_cdf(-self.standardized(x))
    }

    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        let at = |deviations: f64| (self.mu + deviations * self.sigma).exp();
        let around = |deviations: f64| (at(deviations), at(deviations) * self.sigma.min(1.0));
        // A wide one spans orders of magnitude, and no single scale holds its mass.
        let wide = [0.0, -2.0, -1.0, 1.0, 2.0];
        let kept = if self.sigma <= 1.0 { &wide[..1] } else { &wide[..] };
        kept.iter().map(|deviations| around(*deviations)).collect()
    }

    fn words(&self) -> String {
        call("lognormal", &[self.mu, self.sigma])
    }

    fn family(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}
