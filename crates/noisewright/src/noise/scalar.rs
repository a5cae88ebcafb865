//! Distributions of one variable: the trait with the distribution function, from which `Noise` follows.

use noisewright_numerics::chart::wrapped;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{ln_add_exp, ln_sub_exp};
use rand::RngExt;

use super::quiet::inside;
use super::quiet::line::GAUSS_12;
use crate::{Landmarks, Noise, Refit, SavedNoise, View};

/// A distribution of one variable whose distribution function is known.
///
/// Whatever implements it is a [`Noise`] of one variable, and can be truncated.
pub trait Scalar: Noise {
    /// Writes the log-density of every value (−∞ outside the support).
    fn log_density_of(&self, x: &[f64], out: &mut [f64]);

    /// `d ln p(x)/dx`; `None` where that is not available.
    fn slope_at(&self, x: f64) -> Option<f64> {
        let _ = x;
        None
    }

    /// One draw.
    fn draw_one(&self, stream: &mut Stream) -> f64;

    /// `P(X ≤ x)`.
    fn cdf(&self, x: f64) -> f64;

    /// `P(X > x)`, to full relative accuracy in the upper tail.
    fn survival(&self, x: f64) -> f64;

    /// `ln P(X ≤ x)`.
    fn ln_cdf(&self, x: f64) -> f64 {
        self.cdf(x).ln()
    }

    /// `ln P(X > x)`.
    fn ln_survival(&self, x: f64) -> f64 {
        self.survival(x).ln()
    }

    /// `ln P(lo ≤ X ≤ hi)`: the difference of two tails, taken on the side where it loses least.
    fn ln_mass(&self, lo: f64, hi: f64) -> f64 {
        interval_mass(self, lo, hi)
    }

    /// The smallest x with `P(X ≤ x) ≥ u`, for u between 0 and 1.
    fn quantile(&self, u: f64) -> f64 {
        quantile(self, u)
    }

    /// The smallest closed interval that holds all the mass.
    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// Location and scale of each component; most mass lies within three scales.
    fn centers(&self) -> Vec<(f64, f64)>;

    /// Points where the log-density is not smooth: the finite ends of the support unless said otherwise.
    fn breaks(&self) -> Vec<f64> {
        let (lo, hi) = self.support();
        [lo, hi].into_iter().filter(|end| end.is_finite()).collect()
    }

    /// Whether the base measure counts points rather than measuring length.
    fn is_discrete(&self) -> bool {
        false
    }

    /// Whether values are angles modulo 2π.
    fn is_circular(&self) -> bool {
        false
    }

    /// The distribution in the syntax in which it can be asked for.
    fn words(&self) -> String;

    /// As [`Noise::parts`].
    fn parts_in_words(&self) -> Vec<(f64, String)> {
        vec![(1.0, self.words())]
    }

    /// As [`Noise::refittable`]; none by default.
    fn family(&self) -> Option<&dyn Refit> {
        None
    }
}

impl<T: Scalar> Noise for T {
    fn dimension(&self) -> usize {
        1
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        debug_assert_eq!(points.columns(), 1, "a noise of one variable at points of one variable");
        debug_assert_eq!(points.rows(), out.len(), "one log-density for each point");
        self.log_density_of(points.column(0), out);
    }

    fn slope(&self, point: &[f64], gradient: &mut [f64]) -> bool {
        match self.slope_at(point[0]) {
            Some(slope) => {
                gradient[0] = slope;
                true
            }
            None => false,
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        for value in &mut out[..rows] {
            *value = self.draw_one(stream);
        }
    }

    fn uniforms(&self) -> Option<usize> {
        Some(1)
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        for (value, u) in out.iter_mut().zip(cube.column(0)) {
            *value = self.quantile(*u);
        }
    }

    /// The distribution function; of a value that has a probability a number between those below and at it.
    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        let x = if self.is_circular() { wrapped(point[0]) } else { point[0] };
        let upper = self.cdf(x);
        cube[0] = inside(if self.is_discrete() {
            let below = self.cdf(x.next_down());
            below + stream.random::<f64>() * (upper - below)
        } else if upper > 0.5 {
            1.0 - self.survival(x)
        } else {
            upper
        });
        true
    }

    fn landmarks(&self, _axis: usize) -> Landmarks {
        Landmarks { breaks: self.breaks(), centers: self.centers() }
    }

    fn describe(&self) -> String {
        self.words()
    }

    fn parts(&self) -> Vec<(f64, String)> {
        self.parts_in_words()
    }

    fn saved(&self) -> Option<SavedNoise> {
        Some(SavedNoise::Words(self.words()))
    }

    fn refittable(&self) -> Option<&dyn Refit> {
        self.family()
    }
}

impl std::fmt::Debug for dyn Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words())
    }
}

/// Number of points that the vectorised log-densities handle between two passes of a kernel.
const WIDTH: usize = 512;

/// Runs `step` over blocks of `x` and `out` with a scratch block of the same length.
pub(super) fn in_blocks(x: &[f64], out: &mut [f64], mut step: impl FnMut(&[f64], &mut [f64], &mut [f64])) {
    let mut scratch = [0.0; WIDTH];
    for (x, out) in x.chunks(WIDTH).zip(out.chunks_mut(WIDTH)) {
        step(x, &mut scratch[..x.len()], out);
    }
}

/// `ln P(lo ≤ X ≤ hi)` from the tails, or from the density where the tails would cancel.
fn interval_mass<S: Scalar + ?Sized>(noise: &S, lo: f64, hi: f64) -> f64 {
    if lo > hi {
        return f64::NEG_INFINITY;
    }
    // For a discrete distribution the lower end belongs to the interval.
    let below = if noise.is_discrete() { lo.next_down() } else { lo };
    let (large, small) = if noise.ln_cdf(below) > -std::f64::consts::LN_2 {
        (noise.ln_survival(below), noise.ln_survival(hi))
    } else {
        (noise.ln_cdf(hi), noise.ln_cdf(below))
    };
    let cancels = small - large > -0.05;
    if cancels && !noise.is_discrete() && large > f64::NEG_INFINITY && is_smooth_between(noise, lo, hi) {
        return narrow_mass(noise, lo, hi);
    }
    ln_sub_exp(large, small)
}

/// Whether `[lo, hi]` is a finite interval without a kink. Where the tails cancel it is short too, against the
/// scale over which they fall.
fn is_smooth_between<S: Scalar + ?Sized>(noise: &S, lo: f64, hi: f64) -> bool {
    hi > lo && (hi - lo).is_finite() && !noise.breaks().iter().any(|b| *b >= lo && *b <= hi)
}

/// `ln ∫ p` over a short interval on which p is smooth.
fn narrow_mass<S: Scalar + ?Sized>(noise: &S, lo: f64, hi: f64) -> f64 {
    let (middle, half) = (f64::midpoint(lo, hi), 0.5 * (hi - lo));
    let nodes: Vec<f64> = GAUSS_12.iter().flat_map(|(t, _)| [middle - half * t, middle + half * t]).collect();
    let mut log_density = vec![0.0; nodes.len()];
    noise.log_density_of(&nodes, &mut log_density);
    let peak = log_density.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 =
        log_density.iter().zip(0..).map(|(l, i): (_, usize)| GAUSS_12[i / 2].1 * (l - peak).exp()).sum();
    peak + (sum * half).ln()
}

/// The inverse of the distribution function, found on the side of the smaller tail.
fn quantile<S: Scalar + ?Sized>(noise: &S, u: f64) -> f64 {
    let upper = u > 0.5;
    at_tails(noise, upper, if upper { (1.0 - u).ln() } else { u.ln() })
}

/// The value beyond which, on the upper or on the lower side, the mass with this logarithm lies.
pub(super) fn at_tails<S: Scalar + ?Sized>(noise: &S, upper: bool, ln_tail: f64) -> f64 {
    let (lo, hi) = noise.support();
    let x = if upper {
        crossing(noise, lo, hi, |x| ln_tail - noise.ln_survival(x), |x| noise.ln_survival(x))
    } else {
        crossing(noise, lo, hi, |x| noise.ln_cdf(x) - ln_tail, |x| noise.ln_cdf(x))
    };
    if noise.is_discrete() { x } else { between(lo, hi, x) }
}

/// Inside an interval with finite ends: mass closer to an end than numbers can say is not drawn at it, where densities and scores
/// are infinite (quiet draws of beta(0.28, 0.27) at 1 left a fit without a curvature).
fn between(lo: f64, hi: f64, x: f64) -> f64 {
    let least = if lo == 0.0 { f64::MIN_POSITIVE } else { lo.next_up() };
    let x = if lo.is_finite() { x.max(least) } else { x };
    if hi.is_finite() { x.min(hi.next_down()) } else { x }
}

/// The value at the fraction `u` of the mass between `lo` and `hi` (which is `exp(ln_mass)`), on the tail that is
/// the smaller one: right as far out as the logarithm of the tail can be told.
pub(super) fn inverse<S: Scalar + ?Sized>(noise: &S, lo: f64, hi: f64, ln_mass: f64, u: f64) -> f64 {
    let upper = noise.ln_cdf(lo) > -std::f64::consts::LN_2;
    // Positive once x is far enough to the right.
    if upper {
        let target = ln_add_exp(noise.ln_survival(hi), u.ln() + ln_mass);
        crossing(noise, lo, hi, |x| target - noise.ln_survival(x), |x| noise.ln_survival(x))
    } else {
        let target = ln_sub_exp(noise.ln_cdf(hi), u.ln() + ln_mass);
        crossing(noise, lo, hi, |x| noise.ln_cdf(x) - target, |x| noise.ln_cdf(x))
    }
}

/// The first x with `excess(x) ≥ 0`, by Newton's method (the slope is `p(x)/tail(x)`) inside a bracket that
/// bisection shrinks; bisection alone for steps.
fn crossing<S: Scalar + ?Sized>(
    noise: &S,
    lo: f64,
    hi: f64,
    excess: impl Fn(f64) -> f64,
    ln_tail: impl Fn(f64) -> f64,
) -> f64 {
    let (mut left, mut right) = bracket(noise, lo, hi, &|x| excess(x) >= 0.0);
    if excess(left) >= 0.0 {
        return left;
    }
    let (mut x, mut steps) = (f64::midpoint(left, right), 0);
    while x > left && x < right {
        let gap = excess(x);
        if gap >= 0.0 {
            right = x;
        } else {
            left = x;
        }
        let step = newton_step(noise, x, gap, ln_tail(x));
        if step.abs() <= 2.0 * f64::EPSILON * x.abs() {
            return x;
        }
        // Newton's method needs a handful of steps; where it does not settle, bisection does.
        steps += 1;
        let next = x - step;
        x = if steps < 50 && next > left && next < right { next } else { f64::midpoint(left, right) };
    }
    right
}

/// `gap / (p(x)/tail(x))`; NaN, which asks for bisection, where the density does not say how the tail falls.
fn newton_step<S: Scalar + ?Sized>(noise: &S, x: f64, gap: f64, ln_tail: f64) -> f64 {
    if noise.is_discrete() {
        return f64::NAN;
    }
    let mut log_density = [0.0];
    noise.log_density_of(&[x], &mut log_density);
    gap * (ln_tail - log_density[0]).exp()
}

/// Finite ends around the point where `reached` turns true.
fn bracket<S: Scalar + ?Sized>(noise: &S, lo: f64, hi: f64, reached: &impl Fn(f64) -> bool) -> (f64, f64) {
    let (center, scale) = noise.centers().first().copied().unwrap_or((0.0, 1.0));
    let start = center.clamp(lo, hi);
    let (mut left, mut right, mut step) = (lo, hi, scale);
    while left == f64::NEG_INFINITY || right == f64::INFINITY {
        if left == f64::NEG_INFINITY && !reached(start - step) {
            left = start - step;
        }
        if right == f64::INFINITY && reached(start + step) {
            right = start + step;
        }
        if !step.is_finite() {
            return (left.max(f64::MIN), right.min(f64::MAX));
        }
        step *= 2.0;
    }
    (left, right)
}
