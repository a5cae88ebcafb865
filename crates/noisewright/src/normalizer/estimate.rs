//! From the sums to the estimates: standard errors by the delta method, refusals, and which one to trust.

use noisewright_numerics::special::ln_sigmoid;

use super::bridge::{self, Level, Root};
use super::interval::{joint_freedom, two_sided};
use super::moment::Moment;
use super::power::{self, Weights};
use super::sample::{Sample, Sums};
use super::{LogZ, Method, NormalizerEstimate, Options, SampleSummary, Warning};

/// Expected crossings below which nothing can be said.
const FEWEST_CROSSINGS: f64 = 5.0;
/// Overlap from which few crossings do no harm: there are few draws, but they look alike.
const AMPLE_OVERLAP: f64 = 0.5;
/// Shape of the tail above which the mean of the weights cannot be trusted (Vehtari et al. 2024).
const HEAVY: f64 = 0.7;
/// Draws of a side below which its variance is taken from the model, not from the sample.
const FEW: f64 = 20.0;

/// All estimates from two checked samples.
pub(super) fn all(data: &Sample<'_>, noise: &Sample<'_>, options: &Options) -> LogZ {
    let log_nu = (noise.len() as f64 / data.len() as f64).ln();
    let thinned = [data.thinned(bridge::THINNED), noise.thinned(bridge::THINNED)];
    let start = bridge::thinned_root(&thinned[0], &thinned[1], log_nu);
    let weights = [
        power::weights(data, &thinned[0], start.at, options.dependence),
        power::weights(noise, &thinned[1], start.at, options.dependence),
    ];
    let bridge = Bridge::new([data, noise], &weights, start, log_nu, options);
    let mut estimates = vec![
        importance(&weights, options),
        reverse(&weights, options),
        product(&weights, options),
        bridge.estimate(&weights, options),
    ];
    estimates.extend(options.powers.iter().map(|&a| power_estimate([data, noise], a, options)));
    conclude(estimates, &bridge, [data, noise], &weights, options)
}

/// An estimator's two means, before it is judged.
struct Parts {
    method: Method,
    log_z: f64,
    variances: [f64; 2],
    freedoms: [f64; 2],
    sizes: [Option<f64>; 2],
    shapes: [Option<f64>; 2],
}

impl Parts {
    /// `log Z = log mean over the noise − log mean over the data`.
    fn ratio(method: Method, data: &Moment, noise: &Moment) -> Self {
        Self {
            method,
            log_z: noise.log_mean - data.log_mean,
            variances: [data.relative_variance, noise.relative_variance],
            freedoms: [data.freedom, noise.freedom],
            sizes: [data, noise].map(|m| m.count.is_finite().then(|| m.effective_size())),
            shapes: [None, None],
        }
    }

    fn judged(self, converged: bool, refused: Option<String>, options: &Options) -> NormalizerEstimate {
        let se =
            if refused.is_some() { f64::INFINITY } else { (self.variances[0] + self.variances[1]).sqrt() };
        let reach = two_sided(options.confidence, joint_freedom(self.variances, self.freedoms)) * se;
        let worst = |a: Option<f64>, b: Option<f64>, better: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(better(a, b)),
            (a, b) => a.or(b),
        };
        NormalizerEstimate {
            method: self.method,
            log_z: self.log_z,
            se,
            se_data: self.variances[0].sqrt(),
            se_noise: self.variances[1].sqrt(),
            lower: if se.is_finite() { self.log_z - reach } else { f64::NEG_INFINITY },
            upper: if se.is_finite() { self.log_z + reach } else { f64::INFINITY },
            ess: worst(self.sizes[0], self.sizes[1], f64::min).unwrap_or(0.0),
            ess_data: self.sizes[0],
            ess_noise: self.sizes[1],
            pareto_k: worst(self.shapes[0], self.shapes[1], f64::max),
            converged: converged && self.log_z.is_finite(),
            refused,
            bootstrap_se: None,
        }
    }

    /// Judged by the tails of its weights.
    fn weighted(self, options: &Options) -> NormalizerEstimate {
        let refused = self.refusal();
        self.judged(true, refused, options)
    }

    fn refusal(&self) -> Option<String> {
        if !self.log_z.is_finite() {
            return Some("no draw of one side lies in the support of the other".into());
        }
        for (side, (size, shape)) in ["data", "noise"].into_iter().zip(self.sizes.iter().zip(self.shapes)) {
            let Some(size) = *size else { continue };
            if let Some(k) = shape.filter(|k| *k > HEAVY) {
                return Some(format!(
                    "the weights of the {side} draws have too heavy a tail (Pareto k = {k:.2}, above {HEAVY})"
                ));
            }
            if shape.is_none() && size < FEWEST_CROSSINGS && !(self.variances[0] + self.variances[1] < 0.05) {
                return Some(format!("only {size:.1} of the {side} draws carry weight"));
            }
        }
        let variance = self.variances[0] + self.variances[1];
        (!variance.is_finite()).then(|| "a single draw does not show how much its weight varies".into())
    }
}

fn importance(weights: &[Weights; 2], options: &Options) -> NormalizerEstimate {
    let mut parts = Parts::ratio(Method::Is, &weights[0].inside, &weights[1].full);
    parts.shapes[1] = weights[1].tail.as_ref().map(|t| t.shape(|u| u));
    parts.weighted(options)
}

fn reverse(weights: &[Weights; 2], options: &Options) -> NormalizerEstimate {
    let mut parts = Parts::ratio(Method::Revis, &weights[0].full, &weights[1].inside);
    parts.shapes[0] = weights[0].tail.as_ref().map(|t| t.shape(|u| u));
    parts.weighted(options)
}

fn product(weights: &[Weights; 2], options: &Options) -> NormalizerEstimate {
    let (data, noise) = (&weights[0].half, &weights[1].half);
    let mut parts = Parts::ratio(Method::IsRevis, data, noise);
    // E_n[e^(ℓ−c)] = 1, so the weights' spread follows from the overlap ∫√(p_d p_n) alone.
    let spread = (-data.log_mean - noise.log_mean).exp_m1().max(0.0);
    for (k, side) in [data, noise].into_iter().enumerate() {
        if side.count < FEW {
            parts.variances[k] = spread / side.count;
            parts.freedoms[k] = f64::INFINITY;
        }
        parts.shapes[k] = weights[k].tail.as_ref().map(|t| t.shape(|u| 0.5 * u));
    }
    parts.weighted(options)
}

fn power_estimate(samples: [&Sample<'_>; 2], a: f64, options: &Options) -> NormalizerEstimate {
    let (data, shape_data) = power::power(samples[0], a, options.dependence);
    let (noise, shape_noise) = power::power(samples[1], 1.0 - a, options.dependence);
    let mut parts = Parts::ratio(Method::Power(a), &data, &noise);
    parts.shapes = [shape_data, shape_noise];
    parts.weighted(options)
}

/// The optimal bridge with the sums at its root.
struct Bridge {
    root: Root,
    log_nu: f64,
    levels: [Level; 2],
    moments: [Moment; 2],
    crossings: f64,
    overlap: f64,
}

impl Bridge {
    fn new(
        samples: [&Sample<'_>; 2],
        weights: &[Weights; 2],
        start: Root,
        log_nu: f64,
        options: &Options,
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
        options: &Options,
    ) -> Self {
        let largest = [weights[0].largest, weights[1].largest];
        let begin = if start.at.is_finite() { start.at } else { 0.0 };
        let (root, [data, noise]) = bridge::full_root(samples[0], samples[1], largest, begin, log_nu);
        let moment = |k: usize, sums: &Sums<4>| {
            let center = bridge::center(samples[k].side, log_nu);
            let batches = sums.batches.iter().map(|b| b[0]);
            let sums = [sums.totals[0], sums.totals[1]];
            Moment::new(samples[k], sums, center, 0.0, batches, options.dependence)
        };
        let mut moments = [moment(0, &data.1), moment(1, &noise.1)];
        let counts = samples.map(|s| s.len() as f64);
        let crossings = (data.0.log_mean.exp() * counts[0]).min(noise.0.log_mean.exp() * counts[1]);
        few_draws(&mut moments, [&data.1, &noise.1]);
        let share = noisewright_numerics::special::sigmoid(log_nu);
        let overlap = (data.0.log_mean.exp() / share).min(1.0);
        Self { root, log_nu, levels: [data.0, noise.0], moments, crossings, overlap }
    }

    fn estimate(&self, weights: &[Weights; 2], options: &Options) -> NormalizerEstimate {
        let slope = self.levels[0].slope + self.levels[1].slope;
        let mut parts = Parts::ratio(Method::Nce, &self.moments[0], &self.moments[1]);
        parts.log_z = self.root.at;
        parts.variances = parts.variances.map(|v| v / (slope * slope));
        for (k, side) in [super::Side::Data, super::Side::Noise].into_iter().enumerate() {
            let shift = bridge::shift(side, self.root.at, self.log_nu);
            parts.shapes[k] = weights[k].tail.as_ref().map(|t| t.shape(|u| ln_sigmoid(u - shift)));
        }
        let refused = self.refusal();
        parts.judged(self.root.converged, refused, options)
    }

    /// Crossings that are independent of each other, on the side that has fewer.
    fn effective_crossings(&self) -> f64 {
        self.crossings / self.moments[0].time.max(self.moments[1].time).max(1.0)
    }

    fn refusal(&self) -> Option<String> {
        if !self.root.at.is_finite() {
            return Some("no draw of one side lies in the support of the other".into());
        }
        let crossings = self.effective_crossings();
        (crossings < FEWEST_CROSSINGS && self.overlap < AMPLE_OVERLAP).then(|| {
            format!(
                "only {crossings:.2} independent draws of either side look like the other, and below {FEWEST_CROSSINGS} nothing can be said"
            )
        })
    }
}

/// Takes the variance of a side with few draws from both sides by the model: a draw of the mixture at x is data with
/// probability σ, so `n_d E_d[σ̄²] = E[Σ σ σ̄²]` over all draws, with σ̄ = 1 − σ.
fn few_draws(moments: &mut [Moment; 2], sums: [&Sums<4>; 2]) {
    for k in 0..2 {
        if moments[k].count >= FEW {
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

fn conclude(
    estimates: Vec<NormalizerEstimate>,
    bridge: &Bridge,
    samples: [&Sample<'_>; 2],
    weights: &[Weights; 2],
    options: &Options,
) -> LogZ {
    let (recommended, reason) = choose(&estimates);
    let summary = |k: usize| SampleSummary {
        draws: samples[k].len(),
        chains: samples[k].chains.len(),
        autocorrelation_time: bridge.moments[k].time,
        ess: samples[k].len() as f64 / bridge.moments[k].time,
        outside: weights[k].outside,
    };
    let mut warnings = Vec::new();
    if bridge.refusal().is_some() {
        warnings.push(Warning::LittleOverlap { crossings: bridge.effective_crossings() });
    }
    if !bridge.root.converged {
        warnings.push(Warning::NotConverged);
    }
    LogZ {
        recommended,
        reason,
        overlap: bridge.overlap,
        expected_crossings: bridge.crossings,
        confidence: options.confidence,
        data: summary(0),
        noise: summary(1),
        warnings,
        converged: estimates.iter().all(|e| e.converged),
        estimates,
    }
}

/// The bridge, unless an average over one side is clearly better, as it is when the other side's chain is slow.
pub(super) fn choose(estimates: &[NormalizerEstimate]) -> (Method, String) {
    let nce = &estimates[3];
    let sound = |e: &&NormalizerEstimate| e.refused.is_none() && e.pareto_k.is_none_or(|k| k < 0.5);
    let rival = estimates[..3].iter().filter(sound).min_by(|a, b| a.se.total_cmp(&b.se));
    match (rival, &nce.refused) {
        (Some(rival), Some(why)) => {
            (rival.method, format!("{} is the best that remains, as nce is refused: {why}.", rival.method))
        }
        (None, Some(why)) => (Method::Nce, format!("No estimate can be trusted: {why}.")),
        (Some(rival), None) if rival.se < 0.8 * nce.se => (
            rival.method,
            format!(
                "{} has the smaller standard error, {:.2} times that of nce, and its weights have a light tail.",
                rival.method,
                rival.se / nce.se
            ),
        ),
        _ => (
            Method::Nce,
            "nce is the optimal bridge: no other weighting of the same draws has a smaller error.".into(),
        ),
    }
}
