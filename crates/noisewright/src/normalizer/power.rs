//! Weights that are powers of the density ratio: importance sampling, its reverse, and all between (MATH §4).

use noisewright_numerics::kernels;
use noisewright_numerics::summation::log_mean_exp;

use super::moment::Moment;
use super::sample::{Sample, Sums};
use super::tail::Tail;
use super::{Dependence, Side};
use crate::pareto::Shape;

/// Spread of the log-ratios below which sums are taken about one, to keep the digits of a small variance.
const NARROW: f64 = 1.0;
/// Log-ratios whose squared weights are safe from overflow, and do not all underflow.
const SAFE: f64 = 300.0;

/// What one side's weights say.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// Mean of e^u over the draws.
    pub(super) full: Moment,
    /// Mean of e^(u/2).
    pub(super) half: Moment,
    /// Share of draws inside the other's support.
    pub(super) inside: Moment,
    /// Number of draws outside it.
    pub(super) outside: usize,
    /// Whether all log-ratios are near each other and near the root.
    pub(super) narrow: bool,
    /// The largest log-ratio.
    pub(super) largest: f64,
    /// The largest log-ratios.
    pub(super) tail: Option<Tail>,
}

/// The weights of one side about a trial c, in one pass.
pub(super) fn weights(sample: &Sample<'_>, thinned: &[f64], c: f64, dependence: Dependence) -> Weights {
    let threshold = Tail::threshold(thinned, sample.len());
    let near = match sample.side {
        Side::Noise => c,
        Side::Data => -c,
    };
    let thinned_top = kernels::max(thinned);
    let shift = if (thinned_top - near).abs() < SAFE { near } else { finite_or_zero(thinned_top) };
    let low = thinned.iter().copied().fold(f64::INFINITY, f64::min);
    let center = if thinned_top - low < NARROW && shift == near { 1.0 } else { 0.0 };
    let (sums, largest) = pass(sample, shift, center, threshold);
    if !(largest - shift < SAFE && largest - shift > -SAFE) && shift != finite_or_zero(largest) {
        let shift = finite_or_zero(largest);
        let (sums, largest) = pass(sample, shift, 0.0, threshold);
        return assemble(sample, sums, largest, shift, 0.0, dependence);
    }
    assemble(sample, sums, largest, shift, center, dependence)
}

fn finite_or_zero(x: f64) -> f64 {
    if x.is_finite() { x } else { 0.0 }
}

fn pass(sample: &Sample<'_>, shift: f64, center: f64, threshold: f64) -> (Sums<5>, f64) {
    let sums = sample.sums(|u, kept| {
        let [a, b, c, d] = kernels::sum_exp_moments(u, shift, 0.5, center);
        if kernels::max(u) >= threshold {
            kept.extend(u.iter().copied().filter(|u| *u >= threshold));
        }
        let outside = u.iter().filter(|u| **u == f64::NEG_INFINITY).count();
        [a, b, c, d, outside as f64]
    });
    let largest = if sums.kept.is_empty() { sample.largest_ratio() } else { kernels::max(&sums.kept) };
    (sums, largest)
}

fn assemble(
    sample: &Sample<'_>,
    sums: Sums<5>,
    largest: f64,
    shift: f64,
    center: f64,
    dependence: Dependence,
) -> Weights {
    let [half, half_squares, full, full_squares, outside] = sums.totals;
    let batches = |k: usize| sums.batches.iter().map(move |b| b[k]);
    let moment = |sums, k, log_scale| Moment::new(sample, sums, center, log_scale, batches(k), dependence);
    let inside = if outside == 0.0 {
        Moment::EXACT
    } else {
        // The indicator about one: minus one outside.
        Moment::new(sample, [-outside, outside], 1.0, 0.0, batches(4).map(|b| -b), dependence)
    };
    Weights {
        full: moment([full, full_squares], 2, shift),
        half: moment([half, half_squares], 0, 0.5 * shift),
        inside,
        outside: outside as usize,
        narrow: center == 1.0,
        largest,
        tail: Tail::new(sample, outside as usize, sums.kept),
    }
}

/// The mean of e^(exponent·u) over the draws inside the other's support, and the shape of its tail.
pub(super) fn power(sample: &Sample<'_>, exponent: f64, dependence: Dependence) -> (Moment, Option<Shape>) {
    let log_weights = log_powers(&sample.thinned(usize::MAX), exponent);
    let zeros = vec![0.0; log_weights.len()];
    log_weighted(&sample.with_ratios(&log_weights, &zeros), &log_weights, dependence)
}

/// The mean of weights given by their logarithms, and the shape of their tail.
pub(super) fn log_weighted(
    sample: &Sample<'_>,
    log_weights: &[f64],
    dependence: Dependence,
) -> (Moment, Option<Shape>) {
    let top = finite_or_zero(kernels::max(log_weights));
    let sums = sample.sums(|w, _| {
        let [sum, squares, _, _] = kernels::sum_exp_moments(w, top, 1.0, 0.0);
        [sum, squares]
    });
    let batches = sums.batches.iter().map(|b| b[0]);
    let moment = Moment::new(sample, sums.totals, 0.0, top, batches, dependence);
    (moment, Shape::of(log_weights))
}

/// `log mean e^(exponent·u)` over the draws inside the other's support.
pub(super) fn log_mean_power(ratios: &[f64], exponent: f64) -> f64 {
    log_mean_exp(&log_powers(ratios, exponent))
}

/// `exponent·u`, but −∞ outside the other's support whatever the exponent.
pub(super) fn log_powers(ratios: &[f64], exponent: f64) -> Vec<f64> {
    ratios.iter().map(|&u| if u == f64::NEG_INFINITY { u } else { exponent * u }).collect()
}
