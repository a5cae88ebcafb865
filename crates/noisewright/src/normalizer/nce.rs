//! The optimal bridge as an estimate: its error, its interval, and when it is refused.

use noisewright_numerics::special::{ln_sigmoid, sigmoid};

use super::bridge::{self, Level, Root};
use super::estimate::{Parts, rounding};
use super::interval::reaches;
use super::moment::Moment;
use super::power::Weights;
use super::sample::{Sample, Sums};
use super::{LogZOptions, Method, NormalizerEstimate, Refusal, Side};

/// Expected crossings below which nothing can be said.
pub(super) const FEWEST_CROSSINGS: f64 = 5.0;
/// Overlap from which few crossings do no harm: there are few draws, but they look alike.
const AMPLE_OVERLAP: f64 = 0.5;
/// Draws of a side below which its variance is taken from the other side by the model, not from its own sample.
const FEW: f64 = 20.0;
/// Rounding of an overlap of one.
const ALIKE: f64 = 1e-12;
/// Crossings from which the root is as good as normal.
const NORMAL_CROSSINGS: f64 = 200.0;

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
        let start = first.root;
        Self::at_ratio(samples, weights, start, (effective(1) / effective(0)).ln(), options)
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
        let overlap = (data.0.log_mean.exp() / share).min(1.0);
        let sure_overlap = overlap.min(information);
        few_draws(&mut moments, [&data.1, &noise.1], sure_overlap);
        let levels = [data.0, noise.0];
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
        if estimate.se.is_finite() && self.effective_crossings() < NORMAL_CROSSINGS && !options.weight_by_ess
        {
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
            score([level(0), level(1)], counts, times)
        };
        let step = quantile * estimate.se / widening;
        if step > rounding(estimate.log_z) {
            estimate.lower = estimate.lower.min(reaches(-quantile, estimate.log_z, -step, score));
            estimate.upper = estimate.upper.max(reaches(quantile, estimate.log_z, step, score));
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

/// Takes the variance of a side with few draws from both sides by the model: a draw of the mixture at x is data with
/// probability σ, so `n_d E_d[σ̄²] = E[Σ σ σ̄²]` over all draws, with σ̄ = 1 − σ.
///
/// Where all draws are alike there is no variance to be known, even from a single one.
fn few_draws(moments: &mut [Moment; 2], sums: [&Sums<4>; 2], overlap: f64) {
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
        // On its own side σσ̄² = (σσ̄ − σσ̄(1−2·own))/2 with own the side's own sum; on the other the sign turns.
        let own = 0.5 * (sums[k].totals[2] - sums[k].totals[3]);
        let other = 0.5 * (sums[1 - k].totals[2] + sums[1 - k].totals[3]);
        let count = moments[k].count;
        let mean = moments[k].log_mean.exp();
        let variance = ((own + other) / count - mean * mean).max(0.0);
        moments[k].spread = variance / (mean * mean);
        moments[k].relative_variance = moments[k].spread * moments[k].time / count;
        moments[k].freedom = f64::INFINITY;
    }
}

/// The equation over its standard deviation, each side's variance taken by the model from both sides' sums:
/// `n_d E_d[σ̄²] = E[Σ_d σ̄²] = E[Σ_n σσ̄]`, where σ̄ is the data's term and σ = 1 − σ̄ the noise's.
fn score(levels: [Level; 2], counts: [f64; 2], times: [f64; 2]) -> f64 {
    let sums = [0, 1].map(|k| counts[k] * levels[k].log_mean.exp());
    let slopes = [0, 1].map(|k| sums[k] * levels[k].slope);
    let mean = 0.5 * (sums[0] + sums[1]);
    let variance = |k: usize| {
        let squares = 0.5 * (sums[k] - slopes[k] + slopes[1 - k]);
        times[k] * (squares - mean * mean / counts[k]).max(0.0)
    };
    (sums[0] - sums[1]) / (variance(0) + variance(1)).sqrt()
}
