//! Scalar noises restricted to an interval.

use std::sync::Arc;

use noisewright_numerics::random::Stream;
use rand::distr::Open01;
use rand_distr::Distribution;

use super::check::require;
use super::scalar::inverse;
use crate::text::literal;
use crate::{Error, Result, Scalar};

/// A scalar noise given that it falls in `[lo, hi]` (either end may be infinite).
///
/// ```
/// use noisewright::{Normal, Scalar, Truncated};
/// let half = Truncated::new(Normal::with_variance(0.0, 1.0)?, 0.0, f64::INFINITY)?;
/// let mut out = [0.0];
/// half.log_density_of(&[0.0], &mut out);
/// assert!((out[0] - 0.5 * (2.0 / std::f64::consts::PI).ln()).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Truncated {
    inner: Arc<dyn Scalar>,
    lo: f64,
    hi: f64,
    ln_mass: f64,
}

/// How the reason begins why a noise cannot be restricted to where it is not.
const NO_MASS: &str = "it has no mass between";

/// Whether a noise could not be restricted because it has no mass there.
pub(crate) fn has_no_mass(error: &Error) -> bool {
    matches!(error, Error::Noise { reason, .. } if reason.starts_with(NO_MASS))
}

impl Truncated {
    /// Below this share of the mass inside, draws are made by inversion rather than by rejection.
    const REJECTION_FLOOR: f64 = 0.1;

    /// `inner` restricted to `[lo, hi]`.
    ///
    /// ```
    /// use noisewright::{Truncated, Uniform};
    /// let part = Truncated::new(Uniform::new(0.0, 4.0)?, 1.0, 2.0)?;
    /// assert!((part.ln_mass_kept() - 0.25f64.ln()).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `lo` is not below `hi`, or `inner` has no mass between them that numbers can tell.
    pub fn new(inner: impl Scalar + 'static, lo: f64, hi: f64) -> Result<Self> {
        Self::of_shared(Arc::new(inner), lo, hi)
    }

    /// The same for a noise that is shared.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of_shared(inner: Arc<dyn Scalar>, lo: f64, hi: f64) -> Result<Self> {
        let ordered = lo < hi || (lo == hi && inner.is_discrete());
        require(ordered, "the upper end of a truncation", hi, "it must be above the lower end")?;
        let ln_mass = inner.ln_mass(lo, hi);
        if !ln_mass.is_finite() {
            let reason = format!("{NO_MASS} {lo} and {hi}");
            return Err(Error::Noise { noise: inner.words(), reason });
        }
        Ok(Self { inner, lo, hi, ln_mass: ln_mass.min(0.0) })
    }

    /// `ln` of the mass that `inner` has in the interval.
    #[must_use]
    pub fn ln_mass_kept(&self) -> f64 {
        self.ln_mass
    }

    fn contains(&self, x: f64) -> bool {
        x >= self.lo && x <= self.hi
    }
}

impl Scalar for Truncated {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        self.inner.log_density_of(x, out);
        for (o, &x) in out.iter_mut().zip(x) {
            *o = if self.contains(x) || x.is_nan() { *o - self.ln_mass } else { f64::NEG_INFINITY };
        }
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        if self.ln_mass.exp() < Self::REJECTION_FLOOR {
            let u: f64 = Open01.sample(stream);
            return inverse(self.inner.as_ref(), self.lo, self.hi, self.ln_mass, u).clamp(self.lo, self.hi);
        }
        loop {
            let x = self.inner.draw_one(stream);
            if self.contains(x) {
                return x;
            }
        }
    }

    fn quantile(&self, u: f64) -> f64 {
        inverse(self.inner.as_ref(), self.lo, self.hi, self.ln_mass, 1.0 - u).clamp(self.lo, self.hi)
    }

    fn cdf(&self, x: f64) -> f64 {
        self.ln_cdf(x).exp()
    }

    fn survival(&self, x: f64) -> f64 {
        self.ln_survival(x).exp()
    }

    fn ln_cdf(&self, x: f64) -> f64 {
        if x >= self.hi {
            return 0.0;
        }
        (self.inner.ln_mass(self.lo, x) - self.ln_mass).min(0.0)
    }

    fn ln_survival(&self, x: f64) -> f64 {
        if x < self.lo {
            return 0.0;
        }
        // `ln_mass` counts both ends in; the survival function leaves x out.
        let above = if self.inner.is_discrete() { x.next_up() } else { x };
        (self.inner.ln_mass(above, self.hi) - self.ln_mass).min(0.0)
    }

    fn ln_mass(&self, lo: f64, hi: f64) -> f64 {
        let (lo, hi) = (lo.max(self.lo), hi.min(self.hi));
        if lo > hi {
            return f64::NEG_INFINITY;
        }
        (self.inner.ln_mass(lo, hi) - self.ln_mass).min(0.0)
    }

    fn support(&self) -> (f64, f64) {
        let (lo, hi) = self.inner.support();
        (lo.max(self.lo), hi.min(self.hi))
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        let (lo, hi) = self.support();
        self.inner.centers().into_iter().map(|center| restricted(center, lo, hi)).collect()
    }

    fn breaks(&self) -> Vec<f64> {
        let (lo, hi) = self.support();
        let mut breaks = self.inner.breaks();
        breaks.extend([lo, hi]);
        breaks.retain(|b| b.is_finite() && *b >= lo && *b <= hi);
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        breaks
    }

    fn is_discrete(&self) -> bool {
        self.inner.is_discrete()
    }

    fn is_circular(&self) -> bool {
        false
    }

    fn words(&self) -> String {
        format!("truncate({}, {}, {})", self.inner.words(), literal(self.lo), literal(self.hi))
    }
}

/// A center moved into `[lo, hi]`; one that lay outside is followed by a tail as if normal, which falls over
/// the scale `s²/distance`.
fn restricted((location, scale): (f64, f64), lo: f64, hi: f64) -> (f64, f64) {
    let moved = location.clamp(lo, hi);
    let distance = (location - moved).abs();
    let tail = if distance > scale { scale * (scale / distance) } else { scale };
    (moved, tail.min(hi - lo).max(f64::MIN_POSITIVE))
}
