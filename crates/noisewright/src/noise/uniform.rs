//! The uniform distribution on an interval.

use noisewright_numerics::random::Stream;
use rand::RngExt;

use super::check::{finite, require};
use super::fitting::Sample;
use super::spelling::call;
use crate::{Result, Scalar, View};

/// `uniform(lo, hi)`: density `1/(hi − lo)` on the closed interval.
///
/// ```
/// use noisewright::{Scalar, Uniform};
/// assert_eq!(Uniform::new(-1.0, 3.0)?.cdf(0.0), 0.25);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Uniform {
    lo: f64,
    hi: f64,
}

impl Uniform {
    /// A uniform distribution on `[lo, hi]`.
    ///
    /// ```
    /// use noisewright::{Scalar, Uniform};
    /// assert_eq!(Uniform::new(2.0, 6.0)?.cdf(3.0), 0.25);
    /// assert!(Uniform::new(6.0, 2.0).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the ends are not finite or `lo` is not below `hi`.
    pub fn new(lo: f64, hi: f64) -> Result<Self> {
        finite("the lower end of uniform", lo)?;
        finite("the upper end of uniform", hi)?;
        require(lo < hi, "the upper end of uniform", hi, "it must be above the lower end")?;
        finite("the width of uniform", hi - lo)?;
        Ok(Self { lo, hi })
    }

    /// Maximum likelihood: from the smallest to the largest value.
    ///
    /// ```
    /// use noisewright::{Scalar, Uniform, View};
    /// assert_eq!(Uniform::fit(View::new(1, 3, &[1.0, 4.0, 2.0]), None)?.support(), (1.0, 4.0));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data or they do not vary.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let sample = Sample::scalar("uniform", points, weights)?;
        sample.moments()?;
        let (lo, hi) = sample.range();
        Self::new(lo, hi)
    }

    fn width(&self) -> f64 {
        self.hi - self.lo
    }
}

impl Scalar for Uniform {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let inside = -self.width().ln();
        for (o, &x) in out.iter_mut().zip(x) {
            *o = if x >= self.lo && x <= self.hi { inside } else { f64::NEG_INFINITY };
        }
    }

    fn slope_at(&self, x: f64) -> Option<f64> {
        let _ = x;
        Some(0.0)
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        // Rounding may carry the sum past the upper end.
        (self.lo + self.width() * stream.random::<f64>()).min(self.hi)
    }

    fn quantile(&self, u: f64) -> f64 {
        (self.lo + self.width() * u).min(self.hi)
    }

    fn cdf(&self, x: f64) -> f64 {
        ((x - self.lo) / self.width()).clamp(0.0, 1.0)
    }

    fn survival(&self, x: f64) -> f64 {
        ((self.hi - x) / self.width()).clamp(0.0, 1.0)
    }

    fn ln_mass(&self, lo: f64, hi: f64) -> f64 {
        ((hi.min(self.hi) - lo.max(self.lo)).max(0.0) / self.width()).ln()
    }

    fn support(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(f64::midpoint(self.lo, self.hi), 0.5 * self.width())]
    }

    fn words(&self) -> String {
        call("uniform", &[self.lo, self.hi])
    }
}
