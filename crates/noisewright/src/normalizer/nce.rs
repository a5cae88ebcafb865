//! The optimal bridge as an estimate: its error, its interval, and when it is refused.

use noisewright_numerics::special::{ln_sigmoid, sigmoid};

use super::bridge::{self, Level, Root};
use super::estimate::{Parts, rounding};
use super::interval::reaches;
use super::moment::Moment;
use super::power::Weights;
use super::sample::{Sample, Sums};
use super::{LogZOptions, Method, NormalizerEstimate, Refusal, Side};

use crate::tolerance::{AMPLE_OVERLAP, FEWEST_CROSSINGS};

/// Draws of a side below which its variance is taken from the other side by the model, not from its own sample.
const FEW: f64 = 20.0;
/// Rounding of an overlap of one.
const ALIKE: f64 = 1e-12;
/// Largest ratio inside the bridge with quiet noise (MATH §8): its weights f/p_n are bounded by about so much, and with more
/// the error hardly falls.
const MOST_QUIET_RATIO: f64 = 30.0;
/// Crossings from which the root is as good as normal.
const NORMAL_CROSSINGS: f64 = 200.0;

/// The logarithm of the largest ratio inside the bridge for quiet noise of a ratio given by its logarithm.
pub(super) fn most_quiet_ratio(log_nu: f64) -> f64 {
    log_nu.max(MOST_QUIET_RATIO.ln())
}

/// The optimal bridge with the sums at its root.
pub(super) struct Bridge {
    pub(super) root: Root,
    pub(super) log_nu: f64,
    pub(super) levels: [Level; 2],
    pub(super) moments: [Moment; 2],
    pub(super) crossings: f64,
    /// The same for each side: they differ where the bridge is balanced by effective numbers of draws.
    by_side: [f64; 2],
    pub(super) overlap: f64,
    /// The smaller of two estimates of it.
    sure_overlap: f64,
}

impl Bridge {
    pub(super) fn new(
        samples: [&Sample<'_>; 2],
        weights: &[Weights; 2],
        start: Root,
        log_nu: f64,
        options: &LogZOptions,
    ) -> Self {
        let first = Self::at_ratio(samples, weights, start, log_nu, options);
        if !options.weight_by_ess || !first.root.converged {
            return first;
        }
        let effective = |k: usize| samples[k].len() as f64 / first.moments[k].time;
        let most = if samples[1].replicated { most_quiet_ratio(log_nu) } else { f64::INFINITY };
        let start = first.root;
        let balanced =
            Self::at_ratio(samples, weights, start, (effective(1) / effective(0)).ln().min(most), options);
        if !samples[1].replicated {
            return balanced;
        }
        // What the densities have in common is a matter of the draws that there are, not of what quiet ones are worth.
        let Self { crossings, by_side, overlap, sure_overlap, .. } = first;
        Self { crossings, by_side, overlap, sure_overlap, ..balanced }
    }

    fn at_ratio(
        samples: [&Sample<'_>; 2],
        weights: &[Weights; 2],
        start: Root,
        log_nu: f64,
        options: &LogZOptions,
    ) -> Self {
        let largest = [weights[0].largest, weights[1].largest];
        let narrow = weights[0].narrow && weights[1].narrow;
        let begin = if start.at.is_finite() { start.at } else { 0.0 };
        let (root, [data, noise]) = bridge::full_root(samples[0], samples[1], largest, begin, log_nu, narrow);
        let moment = |k: usize, sums: &Sums<4>| {
            let center = bridge::center(samples[k].side, log_nu, narrow);
            let batches = sums.batches.iter().map(|b| b[0]);
            let sums = [sums.totals[0], sums.totals[1]];
            Moment::new(samples[k], sums, center, 0.0, batches, options.dependence)
        };
        let mut moments = [moment(0, &data.1), moment(1, &noise.1)];
        let counts = samples.map(|s| s.len() as f64);
        let by_side = [data.0.log_mean.exp() * counts[0], noise.0.log_mean.exp() * counts[1]];
        let crossings = by_side[0].min(by_side[1]);
        let share = sigmoid(log_nu);
        // Both the crossings and the information estimate the overlap; few draws may mislead either.
        let information = (data.1.totals[2] + noise.1.totals[2]) * (1.0 / counts[0] + 1.0 / counts[1]);
        // The crossings of both sides are the same at the root. There is none where no draw of one side lies in the other's support,
        // and then nothing in common, whatever the other side's draws look like.
        let overlap = if root.at.is_finite() { (data.0.log_mean.exp() / share).min(1.0) } else { 0.0 };
        let sure_overlap = overlap.min(information);
        let levels = [data.0, noise.0];
        let spreads = model_spreads(levels, log_nu);
        few_draws(&mut moments, spreads, sure_overlap);
        // What the chain of one side has not come to, the draws of the other may have.
        moments.iter_mut().zip(spreads).for_each(|(moment, spread)| moment.inflate(spread / moment.spread));
        Self { root, log_nu, levels, moments, crossings, by_side, overlap, sure_overlap }
    }

    pub(super) fn estimate(
        &self,
        samples: [&Sample<'_>; 2],
        weights: &[Weights; 2],
        options: &LogZOptions,
    ) -> NormalizerEstimate {
        let slope = self.levels[0].slope + self.levels[1].slope;
        let mut parts = Parts::ratio(Method::Nce, &self.moments[0], &self.moments[1]);
        parts.log_z = self.root.at;
        parts.variances = parts.variances.map(|v| v / (slope * slope));
        for (k, side) in [Side::Data, Side::Noise].into_iter().enumerate() {
            let shift = bridge::shift(side, self.root.at, self.log_nu);
            parts.shapes[k] = weights[k].tail.as_ref().map(|t| t.shape(|u| ln_sigmoid(u - shift)));
        }
        let (quantile, widening) = (parts.quantile(options.confidence), parts.widening());
        let mut estimate = parts.judged(self.root.converged, self.refusal(), options);
        if estimate.se.is_finite() && self.effective_crossings() < NORMAL_CROSSINGS {
            self.score_interval(&mut estimate, samples, weights, quantile, widening);
        }
        estimate
    }

    /// Widens the interval to all c at which the equation misses zero by at most `quantile` of its standard deviation
    /// there.
    ///
    /// With few crossings the equation is nearer to normal than its root, and its variance at another c is that of
    /// other counts; both matter as a Poisson count of five matters.
    fn score_interval(
        &self,
        estimate: &mut NormalizerEstimate,
        samples: [&Sample<'_>; 2],
        weights: &[Weights; 2],
        quantile: f64,
        widening: f64,
    ) {
        let times = [self.moments[0].time, self.moments[1].time];
        let counts = samples.map(|s| s.len() as f64);
        let score = |c: f64| {
            let level = |k: usize| bridge::level(samples[k], weights[k].largest, c, self.log_nu, false).0;
            score([level(0), level(1)], counts, times, self.log_nu)
        };
        let step = quantile * estimate.se / widening;
        if step > rounding(estimate.log_z) {
            estimate.lower = estimate.lower.min(reaches(-quantile, estimate.log_z, -step, score));
            estimate.upper = estimate.upper.max(reaches(quantile, estimate.log_z, step, score));
        }
        if estimate.upper - estimate.lower == f64::INFINITY {
            estimate.refuse(&Refusal::OpenInterval);
        }
    }

    /// Crossings that are independent of each other, on the side that has fewer.
    pub(super) fn effective_crossings(&self) -> f64 {
        let independent = |side: usize| self.by_side[side] / self.moments[side].time.max(1.0);
        independent(0).min(independent(1))
    }

    pub(super) fn refusal(&self) -> Option<Refusal> {
        if !self.root.at.is_finite() {
            return Some(Refusal::NoSupport);
        }
        let unknown = |m: &&Moment| m.relative_variance.is_nan();
        if self.moments.iter().filter(unknown).any(|m| m.count < 2.0) {
            return Some(Refusal::SingleDraw);
        }
        // Weights that are all too small for numbers have no variance either.
        let beyond =
            self.moments.iter().any(|m| m.relative_variance.is_nan()).then_some(Refusal::TooFarApart);
        self.too_few(self.effective_crossings()).or(beyond)
    }

    pub(super) fn too_few(&self, crossings: f64) -> Option<Refusal> {
        let few = crossings < FEWEST_CROSSINGS && self.sure_overlap < AMPLE_OVERLAP;
        few.then_some(Refusal::FewCrossings { crossings })
    }
}

/// Takes the variance of a side with few draws from both sides by the model.
///
/// Where all draws are alike there is no variance to be known, even from a single one.
fn few_draws(moments: &mut [Moment; 2], spreads: [f64; 2], overlap: f64) {
    if overlap > 1.0 - ALIKE {
        for moment in moments.iter_mut().filter(|m| m.relative_variance.is_nan()) {
            (moment.relative_variance, moment.freedom) = (0.0, f64::INFINITY);
        }
        return;
    }
    for k in 0..2 {
        // A single draw leaves the estimate as uncertain as its one log-ratio, whatever the model says of the mean.
        if moments[k].count >= FEW || moments[k].count < 2.0 || moments[1 - k].count < FEW {
            continue;
        }
        moments[k].spread = spreads[k];
        moments[k].relative_variance = spreads[k] * moments[k].time / moments[k].count;
        moments[k].freedom = f64::INFINITY;
    }
}

/// The variance of each side's term over the square of its mean, by the model from both sides' draws.
fn model_spreads(levels: [Level; 2], log_nu: f64) -> [f64; 2] {
    let variances = model_variances(levels, log_nu);
    [0, 1].map(|k| variances[k] / (2.0 * levels[k].log_mean).exp())
}

/// The variance of each side's term by the model from both sides' draws.
///
/// A draw of the mixture at x is data with probability σ, so `E_d[h] = Σ w σ h / Σ w σ` over all draws, where w makes the
/// draws of each side worth their share of the mixture. All sums are over the same points with the same weights, so the
/// square of the mean that is taken off is that of the same sample.
fn model_variances(levels: [Level; 2], log_nu: f64) -> [f64; 2] {
    // Means of σ̄ over data and of σ over noise, with the weights 1 and ν.
    let weights = [1.0, log_nu.exp()];
    let sums = [0, 1].map(|k| weights[k] * levels[k].log_mean.exp());
    let slopes = [0, 1].map(|k| sums[k] * levels[k].slope);
    let bends = [0, 1].map(|k| sums[k] * levels[k].bend);
    let product = slopes[0] + slopes[1];
    [0, 1].map(|k| {
        // Σ σ is 1 − s over the side's own draws and s over the other's; σσ̄ sums to the slopes; and σσ̄² is half of
        // s(1 − s) less, or more, s(1 − s)(1 − 2s).
        let weight = weights[k] - sums[k] + sums[1 - k];
        let squares = 0.5 * (slopes[k] - bends[k] + slopes[1 - k] + bends[1 - k]);
        let mean = product / weight;
        (squares / weight - mean * mean).max(0.0)
    })
}

/// The equation over its standard deviation, each side's variance taken by the model from both sides' draws.
fn score(levels: [Level; 2], counts: [f64; 2], times: [f64; 2], log_nu: f64) -> f64 {
    let nu = log_nu.exp();
    let variances = model_variances(levels, log_nu);
    let difference = levels[0].log_mean.exp() - nu * levels[1].log_mean.exp();
    let variance = times[0] * variances[0] / counts[0] + nu * nu * times[1] * variances[1] / counts[1];
    difference / variance.sqrt()
}
