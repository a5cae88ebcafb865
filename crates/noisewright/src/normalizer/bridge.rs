//! The optimal bridge: the root of the increasing equation of noise-contrastive estimation (MATH §4).

use noisewright_numerics::kernels;
use noisewright_numerics::special::sigmoid;
use noisewright_numerics::summation::log_mean_exp;

use super::Side;
use super::sample::{Sample, Sums};

/// Draws of each side on which the root is first looked for.
pub(super) const THINNED: usize = 32_768;
/// Below this log-ratio a sigmoid is an exponential to all digits, and its sum may soon underflow.
const FAR: f64 = -600.0;
/// A third-order step of this size leaves an error far below rounding.
const LAST_STEP: f64 = 1e-6;
/// Steps to the root, of which a handful is taken: bisection alone would need no more.
const STEPS: usize = 200;

/// One side of the equation at some c: `log mean σ(u − shift)` and how it changes as the shift falls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) log_mean: f64,
    /// First derivative over the mean, between 0 and 1.
    pub(super) slope: f64,
    /// Second derivative over the mean.
    pub(super) bend: f64,
}

impl Level {
    fn new([above, _, slope, bend]: [f64; 4], count: f64, center: f64) -> Self {
        let mean = center + above / count;
        Self { log_mean: mean.ln(), slope: slope / (count * mean), bend: bend / (count * mean) }
    }

    /// All sigmoids are exponentials.
    fn far(log_mean: f64) -> Self {
        Self { log_mean, slope: 1.0, bend: 1.0 }
    }
}

/// What is subtracted from u at a trial c: `c + log ν` on the noise side, its negative on the data side.
pub(super) fn shift(side: Side, c: f64, log_nu: f64) -> f64 {
    match side {
        Side::Noise => c + log_nu,
        Side::Data => -(c + log_nu),
    }
}

/// What the sums of sigmoids are taken about: the sigmoid where both densities are equal if all log-ratios are near it,
/// to keep the digits of a small variance; else zero, to keep those of a small mean.
pub(super) fn center(side: Side, log_nu: f64, narrow: bool) -> f64 {
    match side {
        _ if !narrow => 0.0,
        Side::Noise => sigmoid(-log_nu),
        Side::Data => sigmoid(log_nu),
    }
}

/// The level of log-ratios in memory.
fn level_of(side: Side, ratios: &[f64], largest: f64, c: f64, log_nu: f64) -> Level {
    let shift = shift(side, c, log_nu);
    if largest - shift < FAR {
        let shifted: Vec<f64> = ratios.iter().map(|u| u - shift).collect();
        return Level::far(log_mean_exp(&shifted));
    }
    Level::new(kernels::sum_sigmoid_moments(ratios, shift, 0.0), ratios.len() as f64, 0.0)
}

/// The level of a whole sample, with the sums it was made from.
pub(super) fn level(
    sample: &Sample<'_>,
    largest: f64,
    c: f64,
    log_nu: f64,
    narrow: bool,
) -> (Level, Sums<4>) {
    let shift = shift(sample.side, c, log_nu);
    let center = center(sample.side, log_nu, narrow);
    let sums = sample.sums(|u, _| kernels::sum_sigmoid_moments(u, shift, center));
    let count = sample.len() as f64;
    if largest - shift < FAR {
        let exp = sample.sums(|u, _| [kernels::sum_exp(u, largest.max(f64::MIN))]);
        return (Level::far(largest - shift + (exp.totals[0] / count).ln()), sums);
    }
    (Level::new(sums.totals, count, center), sums)
}

/// `F(c) = log mean_d σ − log mean_n σ − log ν`, which increases with c, and its first two derivatives.
pub(super) fn equation(data: Level, noise: Level, log_nu: f64) -> [f64; 3] {
    [
        data.log_mean - noise.log_mean - log_nu,
        data.slope + noise.slope,
        (data.bend - data.slope * data.slope) - (noise.bend - noise.slope * noise.slope),
    ]
}

/// A root and how it was reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    pub(super) at: f64,
    pub(super) converged: bool,
}

/// The root of an increasing function with slope at most 2, by Halley's steps inside a bracket.
///
/// Stops without a further evaluation when a step is at most `last_step`, and does not take a step below rounding.
pub(super) fn root(start: f64, last_step: f64, mut f: impl FnMut(f64) -> [f64; 3]) -> Root {
    let (mut at, mut lower, mut upper) = (start, f64::NEG_INFINITY, f64::INFINITY);
    let mut reach = 1.0;
    for _ in 0..STEPS {
        let [value, slope, bend] = f(at);
        if value.is_nan() || value.is_infinite() {
            // No draw of one side, or of both, lies in the other's support.
            let at = if value.is_nan() { f64::NAN } else { -value };
            return Root { at, converged: false };
        }
        if value < 0.0 {
            lower = at
        } else {
            upper = at
        }
        let rounding = 2.0 * f64::EPSILON * at.abs().max(1.0);
        let step = halley(value, slope, bend);
        if value == 0.0 || step.abs() <= rounding || upper - lower <= rounding {
            return Root { at, converged: true };
        }
        let limit = reach + value.abs();
        reach *= 2.0;
        let next = at + if step.abs() <= limit { step } else { limit.copysign(-value) };
        let inside = next > lower && next < upper;
        if inside && step.abs() <= last_step {
            return Root { at: next, converged: true };
        }
        at = if inside { next } else { 0.5 * (lower + upper) };
    }
    Root { at, converged: false }
}

fn halley(value: f64, slope: f64, bend: f64) -> f64 {
    let newton = -value / slope;
    let factor = 1.0 + 0.5 * newton * bend / slope;
    if factor > 0.5 && factor < 2.0 { newton / factor } else { newton }
}

/// The root on thinned samples, from the product of importance sampling and its reverse.
pub(super) fn thinned_root(data: &[f64], noise: &[f64], log_nu: f64) -> Root {
    let half = |u: &[f64]| log_mean_exp(&u.iter().map(|u| 0.5 * u).collect::<Vec<_>>());
    let start = half(noise) - half(data);
    in_memory_root(data, noise, if start.is_finite() { start } else { 0.0 }, log_nu)
}

/// The root on log-ratios in memory.
pub(super) fn in_memory_root(data: &[f64], noise: &[f64], start: f64, log_nu: f64) -> Root {
    let (top_data, top_noise) = (kernels::max(data), kernels::max(noise));
    root(start, 0.0, |c| {
        let data = level_of(Side::Data, data, top_data, c, log_nu);
        let noise = level_of(Side::Noise, noise, top_noise, c, log_nu);
        equation(data, noise, log_nu)
    })
}

/// The root on the whole samples with the sums of the last evaluation.
pub(super) fn full_root(
    data: &Sample<'_>,
    noise: &Sample<'_>,
    largest: [f64; 2],
    start: f64,
    log_nu: f64,
    narrow: bool,
) -> (Root, [(Level, Sums<4>); 2]) {
    let evaluate =
        |c: f64| [level(data, largest[0], c, log_nu, narrow), level(noise, largest[1], c, log_nu, narrow)];
    let mut last = None;
    let root = root(start, LAST_STEP, |c| {
        let sides = evaluate(c);
        let value = equation(sides[0].0, sides[1].0, log_nu);
        last = Some(sides);
        value
    });
    let sides = last.unwrap_or_else(|| evaluate(start));
    (root, sides)
}
