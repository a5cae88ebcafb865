//! The beta distribution on an interval.

use noisewright_numerics::kernels;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{beta_inc, ln_beta};
use rand_distr::Distribution;

use super::Uniform;
use super::check::{exponent_at_zero, require};
use super::fitting::Sample;
use super::scalar::in_blocks;
use super::spelling::call;
use crate::{Error, Result, Scalar, View};

/// `beta(a, b)` on (0, 1), or scaled to an interval: `ln p = (a−1) ln t + (b−1) ln(1−t) − ln B(a, b) − ln(hi−lo)`
/// with `t = (x−lo)/(hi−lo)`; at the ends, its limit.
///
/// ```
/// use noisewright::{Beta, Scalar};
/// // B(2, 1) has the density 2t.
/// assert!((Beta::new(2.0, 1.0)?.on(0.0, 4.0)?.cdf(2.0) - 0.25).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Beta {
    a: f64,
    b: f64,
    lo: f64,
    hi: f64,
    sampler: rand_distr::Beta<f64>,
}

impl Beta {
    /// A beta distribution on (0, 1).
    ///
    /// ```
    /// use noisewright::{Beta, Scalar};
    /// // The larger of two uniform numbers: F = t².
    /// assert!((Beta::new(2.0, 1.0)?.cdf(0.5) - 0.25).abs() < 1e-14);
    /// assert_eq!(Beta::new(2.0, 1.0)?.shape(), (2.0, 1.0));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `a` or `b` is not positive.
    pub fn new(a: f64, b: f64) -> Result<Self> {
        exponent_at_zero("the parameter a of beta", a)?;
        exponent_at_zero("the parameter b of beta", b)?;
        let sampler = rand_distr::Beta::new(a, b).map_err(|e| Error::Parameter {
            parameter: "the parameter a of beta".into(),
            value: a,
            reason: e.to_string(),
        })?;
        Ok(Self { a, b, lo: 0.0, hi: 1.0, sampler })
    }

    /// The same shape on the interval from `lo` to `hi`.
    ///
    /// # Errors
    /// When the ends are not finite or `lo` is not below `hi`.
    pub fn on(mut self, lo: f64, hi: f64) -> Result<Self> {
        Uniform::new(lo, hi)?;
        (self.lo, self.hi) = (lo, hi);
        Ok(self)
    }

    /// By moments on (0, 1).
    ///
    /// # Errors
    /// As for [`fit_on`](Self::fit_on).
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        Self::fit_on(0.0, 1.0, points, weights)
    }

    /// By moments on the interval from `lo` to `hi`: with m and v the mean and variance of t,
    /// `a + b = m(1−m)/v − 1`, `a = m(a+b)`.
    ///
    /// # Errors
    /// When there are no data, they do not vary, or one lies outside the interval.
    pub fn fit_on(lo: f64, hi: f64, points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        Uniform::new(lo, hi)?;
        let sample = Sample::scalar("beta", points, weights)?;
        sample.require(|x| x >= lo && x <= hi, &format!("between {lo} and {hi}"))?;
        let (mean, variance) = sample.moments()?;
        let (m, v) = ((mean - lo) / (hi - lo), variance / ((hi - lo) * (hi - lo)));
        let total = m * (1.0 - m) / v - 1.0;
        require(total > 0.0, "a + b of beta", total, "the data sit at the two ends of the interval only")?;
        Self::new(m * total, (1.0 - m) * total)?.on(lo, hi)
    }

    /// The two shape parameters.
    #[must_use]
    pub fn shape(&self) -> (f64, f64) {
        (self.a, self.b)
    }

    fn width(&self) -> f64 {
        self.hi - self.lo
    }

    /// `(t, 1−t)`, each to full relative accuracy at its end.
    fn fractions(&self, x: f64) -> (f64, f64) {
        (((x - self.lo) / self.width()).clamp(0.0, 1.0), ((self.hi - x) / self.width()).clamp(0.0, 1.0))
    }
}

/// `power · ln t` with `0 · ln 0 = 0`.
fn log_power(power: f64, ln_t: f64) -> f64 {
    if power == 0.0 { 0.0 } else { power * ln_t }
}

impl Scalar for Beta {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let constant = -ln_beta(self.a, self.b) - self.width().ln();
        let mut upper = Vec::new();
        in_blocks(x, out, |x, scratch, out| {
            upper.resize(x.len(), 0.0);
            for (s, &x) in scratch.iter_mut().zip(x) {
                *s = self.fractions(x).1;
            }
            kernels::ln(scratch, &mut upper);
            for (s, &x) in scratch.iter_mut().zip(x) {
                *s = self.fractions(x).0;
            }
            kernels::ln(scratch, out);
            for ((o, &ln_upper), &x) in out.iter_mut().zip(&upper).zip(x) {
                *o = if x < self.lo || x > self.hi {
                    f64::NEG_INFINITY
                } else {
                    constant + log_power(self.a - 1.0, *o) + log_power(self.b - 1.0, ln_upper)
                };
            }
        });
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        // Small parameters put mass closer to the ends than numbers can say; the ends themselves are not drawn.
        let t = self.sampler.sample(stream).clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON);
        (self.lo + self.width() * t).clamp(self.lo.next_up(), self.hi.next_down())
    }

    fn cdf(&self, x: f64) -> f64 {
        let (t, upper) = self.fractions(x);
        if t <= 0.5 { beta_inc(self.a, self.b, t) } else { 1.0 - beta_inc(self.b, self.a, upper) }
    }

    fn survival(&self, x: f64) -> f64 {
        let (t, upper) = self.fractions(x);
        if upper <= 0.5 { beta_inc(self.b, self.a, upper) } else { 1.0 - beta_inc(self.a, self.b, t) }
    }

    fn support(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        let total = self.a + self.b;
        let (m, v) = (self.a / total, self.a * self.b / (total * total * (total + 1.0)));
        vec![(self.lo + self.width() * m, self.width() * v.sqrt())]
    }

    fn words(&self) -> String {
        if (self.lo, self.hi) == (0.0, 1.0) {
            return call("beta", &[self.a, self.b]);
        }
        call("beta", &[self.a, self.b, self.lo, self.hi])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A small b puts mass nearer to 1 than numbers can say: it is not drawn at the end, where the density is infinite.
    #[test]
    fn the_ends_are_no_quantiles() {
        let noise = Beta::new(0.05, 0.05).unwrap();
        // Within 1e-16 of an end is the mass 1e-16^0.05 / (0.05·B(0.05, 0.05)) = 0.08.
        for u in [1e-9, 0.004, 0.5, 0.996, 1.0 - 1e-9] {
            let x = noise.quantile(u);
            assert!(x > 0.0 && x < 1.0, "{u}: {x}");
        }
        let shifted = Beta::new(0.05, 0.05).unwrap().on(-3.0, 2.0).unwrap();
        assert!(shifted.quantile(1e-9) > -3.0 && shifted.quantile(1.0 - 1e-9) < 2.0);
    }
}
