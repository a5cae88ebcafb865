//! The gamma distribution.

use noisewright_numerics::kernels;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{digamma, gamma_p, gamma_q, ln_gamma, ln_poisson, trigamma};
use rand_distr::Distribution;

use super::check::{exponent_at_zero, positive, require};
use super::fitting::Sample;
use super::scalar::in_blocks;
use super::spelling::call;
use crate::{Error, Refit, Result, Scalar, View};

/// `gamma(shape, rate)`: `ln p = a ln r − ln Γ(a) + (a−1) ln x − r x` for x > 0 (at 0, its limit).
///
/// ```
/// use noisewright::{Gamma, Scalar};
/// // Shape one is the exponential distribution.
/// assert!((Gamma::new(1.0, 2.0)?.survival(1.5) - (-3.0f64).exp()).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gamma {
    shape: f64,
    rate: f64,
    sampler: rand_distr::Gamma<f64>,
}

impl Gamma {
    /// A gamma distribution with mean `shape/rate`.
    ///
    /// ```
    /// use noisewright::{Gamma, Scalar};
    /// // Of the second of two events, one after the other: (1 + t) e^(−t).
    /// assert!((Gamma::new(2.0, 1.0)?.survival(1.0) - 2.0 * (-1f64).exp()).abs() < 1e-14);
    /// assert!(Gamma::new(2.0, 0.0).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the rate is not positive, or the shape is below 0.01.
    pub fn new(shape: f64, rate: f64) -> Result<Self> {
        exponent_at_zero("the shape of gamma", shape)?;
        positive("the rate of gamma", rate)?;
        require(shape <= 1e100, "the shape of gamma", shape, "it must be at most 1e100")?;
        let mean = shape / rate;
        let name = "the mean shape/rate of gamma";
        require(mean > 1e-300 && mean < 1e300, name, mean, "it must lie between 1e-300 and 1e300")?;
        let sampler = rand_distr::Gamma::new(shape, 1.0 / rate).map_err(|e| Error::Parameter {
            parameter: "the rate of gamma".into(),
            value: rate,
            reason: e.to_string(),
        })?;
        Ok(Self { shape, rate, sampler })
    }

    /// Maximum likelihood: Newton's method on `ln a − ψ(a) = ln mean(x) − mean(ln x)`.
    ///
    /// ```
    /// use noisewright::{Gamma, View};
    /// let gamma = Gamma::fit(View::new(1, 3, &[1.0, 2.0, 6.0]), None)?;
    /// assert!((gamma.shape() / gamma.rate() - 3.0).abs() < 1e-10); // the mean
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data, they do not vary, or one is not positive.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let sample = Sample::scalar("gamma", points, weights)?;
        sample.require(|x| x > 0.0, "positive")?;
        let (mean, _) = sample.moments()?;
        let shape = shape_of_gap(mean.ln() - sample.mean_of(f64::ln));
        Self::new(shape, shape / mean)
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

/// Shape above which the parts of the log-density, of its size each, cancel by four digits or more.
const LARGE_SHAPE: f64 = 1e4;

/// The root of `ln a − ψ(a) = gap`; the update in 1/a (Minka) converges from anywhere.
fn shape_of_gap(gap: f64) -> f64 {
    let mut shape = (3.0 - gap + ((gap - 3.0) * (gap - 3.0) + 24.0 * gap).sqrt()) / (12.0 * gap);
    for _ in 0..100 {
        let step = (shape.ln() - digamma(shape) - gap) / (shape * shape * (1.0 / shape - trigamma(shape)));
        let next = 1.0 / (1.0 / shape + step);
        let done = (next - shape).abs() <= 1e-15 * shape;
        shape = next;
        if done {
            break;
        }
    }
    shape
}

impl Scalar for Gamma {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        if self.shape > LARGE_SHAPE {
            // `(a/x) · (bx)^a e^(−bx) / Γ(a+1)`, whose last factor does not cancel.
            for (o, &x) in out.iter_mut().zip(x) {
                let inside = x > 0.0 && x < f64::INFINITY;
                let log = || (self.shape / x).ln() + ln_poisson(self.shape, self.rate * x);
                *o = if inside { log() } else { f64::NEG_INFINITY };
            }
            return;
        }
        let constant = self.shape * self.rate.ln() - ln_gamma(self.shape);
        let power = self.shape - 1.0;
        in_blocks(x, out, |x, scratch, out| {
            for (s, &x) in scratch.iter_mut().zip(x) {
                *s = x.max(0.0);
            }
            kernels::ln(scratch, out);
            for (o, &x) in out.iter_mut().zip(x) {
                // 0·ln 0 is 0 at the end of an exponential distribution.
                let log_power = if power == 0.0 { 0.0 } else { power * *o };
                *o = if x < 0.0 || x == f64::INFINITY {
                    f64::NEG_INFINITY
                } else {
                    constant + log_power - self.rate * x
                };
            }
        });
    }

    fn slope_at(&self, x: f64) -> Option<f64> {
        Some((self.shape - 1.0) / x - self.rate)
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        // A small shape puts mass below the smallest number, which must not come out as 0.
        self.sampler.sample(stream).max(f64::MIN_POSITIVE)
    }

    fn cdf(&self, x: f64) -> f64 {
        if x > 0.0 { gamma_p(self.shape, self.rate * x) } else { 0.0 }
    }

    fn survival(&self, x: f64) -> f64 {
        if x > 0.0 { gamma_q(self.shape, self.rate * x) } else { 1.0 }
    }

    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(self.shape / self.rate, self.shape.sqrt() / self.rate)]
    }

    fn words(&self) -> String {
        call("gamma", &[self.shape, self.rate])
    }

    fn family(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}
