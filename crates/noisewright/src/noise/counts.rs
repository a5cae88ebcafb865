//! Distributions over the counts 0, 1, 2, …: Poisson and negative binomial.

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{beta_inc, gamma_p, gamma_q, ln_beta, ln_poisson};
use rand_distr::Distribution;

use super::check::{positive, require};
use super::fitting::Sample;
use super::spelling::call;
use crate::{Error, Refit, Result, Scalar, View};

/// `poisson(mean)`: `ln p = k ln m − m − ln k!`.
///
/// ```
/// use noisewright::{Poisson, Scalar};
/// assert!((Poisson::new(2.0)?.cdf(1.0) - 3.0 * (-2.0f64).exp()).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Poisson {
    mean: f64,
    sampler: rand_distr::Poisson<f64>,
}

impl Poisson {
    /// A Poisson distribution.
    ///
    /// ```
    /// use noisewright::{Poisson, Scalar};
    /// assert!((Poisson::new(2.0)?.cdf(0.0) - (-2f64).exp()).abs() < 1e-14); // none
    /// assert!(Poisson::new(-1.0).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the mean is not positive, or beyond 10¹⁸.
    pub fn new(mean: f64) -> Result<Self> {
        positive("the mean of poisson", mean)?;
        let sampler = rand_distr::Poisson::new(mean).map_err(|e| Error::Parameter {
            parameter: "the mean of poisson".into(),
            value: mean,
            reason: e.to_string(),
        })?;
        Ok(Self { mean, sampler })
    }

    /// Maximum likelihood: the (weighted) mean.
    ///
    /// ```
    /// use noisewright::{Poisson, View};
    /// let poisson = Poisson::fit(View::new(1, 3, &[1.0, 2.0, 6.0]), None)?;
    /// assert!((poisson.mean() - 3.0).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data, all are zero, or one is not a count.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let sample = Sample::scalar("poisson", points, weights)?;
        sample.require(is_count, "a count 0, 1, 2, …")?;
        Self::new(sample.mean_of(|x| x))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

/// Whether `x` is one of 0, 1, 2, ….
fn is_count(x: f64) -> bool {
    x >= 0.0 && x.fract() == 0.0 && x.is_finite()
}

/// `P(X ≤ x)` where every count is above or below x.
fn outside_counts(x: f64) -> Option<f64> {
    if x < 0.0 {
        Some(0.0)
    } else if x == f64::INFINITY {
        Some(1.0)
    } else {
        None
    }
}

impl Scalar for Poisson {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        for (o, &k) in out.iter_mut().zip(x) {
            *o = if is_count(k) { ln_poisson(k, self.mean) } else { f64::NEG_INFINITY };
        }
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        self.sampler.sample(stream)
    }

    fn cdf(&self, x: f64) -> f64 {
        outside_counts(x).unwrap_or_else(|| gamma_q(x.floor() + 1.0, self.mean))
    }

    fn survival(&self, x: f64) -> f64 {
        outside_counts(x).map_or_else(|| gamma_p(x.floor() + 1.0, self.mean), |below| 1.0 - below)
    }

    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(self.mean, self.mean.sqrt().max(1.0))]
    }

    fn breaks(&self) -> Vec<f64> {
        Vec::new()
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn words(&self) -> String {
        call("poisson", &[self.mean])
    }

    fn family(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}

/// `negative-binomial(mean, size)`: counts with variance `mean + mean²/size`,
/// `p(k) = Γ(k+r)/(k! Γ(r)) (r/(r+m))^r (m/(r+m))^k`.
///
/// ```
/// use noisewright::{NegativeBinomial, Scalar};
/// // Size one is the geometric distribution: P(0) = 1/(1+m).
/// assert!((NegativeBinomial::new(3.0, 1.0)?.cdf(0.0) - 0.25).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NegativeBinomial {
    mean: f64,
    size: f64,
    rates: rand_distr::Gamma<f64>,
}

impl NegativeBinomial {
    /// A negative binomial distribution; a larger size is closer to Poisson.
    ///
    /// ```
    /// use noisewright::{NegativeBinomial, Scalar};
    /// // None: (size/(size + mean))^size.
    /// assert!((NegativeBinomial::new(2.0, 2.0)?.cdf(0.0) - 0.25).abs() < 1e-12);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the mean or the size is not positive.
    pub fn new(mean: f64, size: f64) -> Result<Self> {
        positive("the mean of negative-binomial", mean)?;
        positive("the size of negative-binomial", size)?;
        let rates = rand_distr::Gamma::new(size, mean / size).map_err(|e| Error::Parameter {
            parameter: "the size of negative-binomial".into(),
            value: size,
            reason: e.to_string(),
        })?;
        Ok(Self { mean, size, rates })
    }

    /// By moments: the mean, and `size = mean²/(variance − mean)`.
    ///
    /// # Errors
    /// When there are no data, one is not a count, or they vary no more than Poisson counts.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let sample = Sample::scalar("negative-binomial", points, weights)?;
        sample.require(is_count, "a count 0, 1, 2, …")?;
        let (mean, variance) = sample.moments()?;
        let excess = variance - mean;
        let advice = "it must be positive; use poisson for counts that vary no more than their mean";
        require(excess > 0.0, "the variance minus the mean for negative-binomial", excess, advice)?;
        Self::new(mean, mean * mean / excess)
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The size.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.size
    }
}

impl Scalar for NegativeBinomial {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let (mean, size) = (self.mean, self.size);
        let constant = -size * (mean / size).ln_1p();
        let ln_odds = -(size / mean).ln_1p();
        for (o, &k) in out.iter_mut().zip(x) {
            *o = if !is_count(k) {
                f64::NEG_INFINITY
            } else if k == 0.0 {
                constant
            } else {
                // Γ(k+r)/(k! Γ(r)) = 1/(k B(r, k))
                constant + k * ln_odds - ln_beta(size, k) - k.ln()
            };
        }
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        let rate = self.rates.sample(stream);
        // A rate that underflows draws 0 as surely as numbers can tell.
        rand_distr::Poisson::new(rate).map_or(0.0, |poisson| poisson.sample(stream))
    }

    fn cdf(&self, x: f64) -> f64 {
        let (mean, size) = (self.mean, self.size);
        outside_counts(x).unwrap_or_else(|| beta_inc(size, x.floor() + 1.0, size / (size + mean)))
    }

    fn survival(&self, x: f64) -> f64 {
        let (mean, size) = (self.mean, self.size);
        let inside = || beta_inc(x.floor() + 1.0, size, mean / (size + mean));
        outside_counts(x).map_or_else(inside, |below| 1.0 - below)
    }

    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(self.mean, (self.mean + self.mean * self.mean / self.size).sqrt().max(1.0))]
    }

    fn breaks(&self) -> Vec<f64> {
        Vec::new()
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn words(&self) -> String {
        call("negative-binomial", &[self.mean, self.size])
    }
}
