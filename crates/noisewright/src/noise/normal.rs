//! The normal distribution of one variable.

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{LN_SQRT_2PI, ln_normal_cdf, normal_cdf, normal_quantile};
use rand_distr::{Distribution, StandardNormal};

use super::check::{finite, positive};
use super::fitting::Sample;
use super::spelling::call;
use crate::{Refit, Result, Scalar, View};

/// `normal(mean, variance)`: `ln p = −(x−m)²/(2v) − ½ ln(2πv)`.
///
/// ```
/// use noisewright::{Noise, Normal, View};
/// let mut out = [0.0];
/// Normal::with_variance(1.0, 4.0)?.log_density(View::new(1, 1, &[3.0]), &mut out);
/// assert!((out[0] - (-0.5 - 0.5 * (8.0 * std::f64::consts::PI).ln())).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Normal {
    mean: f64,
    variance: f64,
    deviation: f64,
}

impl Normal {
    /// A normal distribution by its mean and variance, as in the noise language (`normal(mean, variance)`).
    ///
    /// ```
    /// use noisewright::Normal;
    /// assert_eq!(Normal::with_variance(1.0, 4.0)?, Normal::with_std(1.0, 2.0)?);
    /// assert!(Normal::with_variance(1.0, -4.0).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the mean is not finite or the variance not positive.
    pub fn with_variance(mean: f64, variance: f64) -> Result<Self> {
        finite("the mean of normal", mean)?;
        positive("the variance of normal", variance)?;
        Ok(Self { mean, variance, deviation: variance.sqrt() })
    }

    /// A normal distribution by its mean and standard deviation, as in `rand_distr` and `statrs`.
    ///
    /// ```
    /// use noisewright::{Normal, Scalar};
    /// let normal = Normal::with_std(1.0, 2.0)?;
    /// assert!((normal.variance() - 4.0).abs() < 1e-15 && (normal.cdf(1.0) - 0.5).abs() < 1e-15);
    /// assert!(Normal::with_std(1.0, -2.0).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the mean is not finite or the standard deviation not positive.
    pub fn with_std(mean: f64, deviation: f64) -> Result<Self> {
        finite("the mean of normal", mean)?;
        positive("the standard deviation of normal", deviation)?;
        Ok(Self { mean, variance: deviation * deviation, deviation })
    }

    /// Maximum likelihood: the (weighted) mean and the variance divided by the total weight.
    ///
    /// ```
    /// use noisewright::{Normal, View};
    /// let normal = Normal::fit(View::new(1, 3, &[1.0, 2.0, 6.0]), None)?;
    /// assert!((normal.mean() - 3.0).abs() < 1e-15 && (normal.variance() - 14.0 / 3.0).abs() < 1e-14);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data or they do not vary.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let (mean, variance) = Sample::scalar("normal", points, weights)?.moments()?;
        Self::with_variance(mean, variance)
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The variance.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    fn standardized(&self, x: f64) -> f64 {
        (x - self.mean) / self.deviation
    }
}

impl Scalar for Normal {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let constant = -LN_SQRT_2PI - self.deviation.ln();
        for (o, &x) in out.iter_mut().zip(x) {
            let z = self.standardized(x);
            *o = constant - 0.5 * z * z;
        }
    }

    fn slope_at(&self, x: f64) -> Option<f64> {
        Some(-self.standardized(x) / self.deviation)
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        let z: f64 = StandardNormal.sample(stream);
        self.mean + self.deviation * z
    }

    fn quantile(&self, u: f64) -> f64 {
        self.mean + self.deviation * normal_quantile(u)
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

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(self.mean, self.deviation)]
    }

    fn words(&self) -> String {
        call("normal", &[self.mean, self.variance])
    }

    fn family(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}
