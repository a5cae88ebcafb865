//! From the sums to the estimates: standard errors by the delta method, refusals, and which one to trust.

use super::allocation::allocations;
use super::bootstrap::bootstrap;
use super::bridge;
use super::consistency::{LOOKED_AT, contradiction, is_repeated, neighbours_correlation};
use super::cross_side_ess::{ALWAYS_VARIANCE, Cross, OtherSide, is_even};
use super::interval::{joint_freedom, student_deviation, two_sided};
use super::moment::Moment;
use super::nce::Bridge;
use super::power::{self, Weights, log_powers};
use super::sample::{Sample, stands_still};
use super::{
    Dependence, EstimatedDivergences, LogZ, LogZOptions, LogZWarning, Method, NormalizerEstimate, Reason,
    Refusal, SampleSummary, Side,
};
use crate::Result;
use crate::pareto::Shape;
use crate::run::Context;
use crate::tolerance::{DISAGREE, FEWEST_EFFECTIVE_WEIGHTS, HEAVY_TAIL, NO_VARIANCE};

/// Variance of weights, relative to their mean, that is rounding.
const HARDLY_VARIES: f64 = 1e-24;
/// Independent draws' worth of a chain below which its autocorrelation is hardly known.
const ENOUGH_TO_KNOW_TIME: f64 = 50.0;
/// Draws of a side below which intervals cover less often than they say: 88 % of 445 from 3 to 10 draws of a normal density
/// against as many of one of another width, and 95 % from 20.
const ENOUGH_TO_COVER: usize = 20;

/// Pareto shape from which on an average has no mean.
const NO_MEAN: f64 = 1.0;

/// Place of the bridge among the estimates.
const NCE: usize = 3;

/// All estimates from two checked samples, and one that was made already.
pub(super) fn all(
    data: &Sample<'_>,
    noise: &Sample<'_>,
    further: Option<NormalizerEstimate>,
    options: &LogZOptions,
    context: &Context,
) -> Result<LogZ> {
    let samples = [data, noise];
    let log_nu = (noise.len() as f64 / data.len() as f64).ln();
    let thinned = samples.map(|s| s.thinned(bridge::THINNED));
    let start = bridge::thinned_root(&thinned[0], &thinned[1], log_nu);
    let weights = [0, 1].map(|k| power::weights(samples[k], &thinned[k], start.at, options.dependence));
    context.check()?;
    let bridge = Bridge::new(samples, &weights, start, log_nu, options);
    context.check()?;
    let cross = Cross::new(&thinned, bridge.root.at);
    let mut estimates = vec![
        importance(&weights, &thinned, options),
        reverse(&weights, &thinned, options),
        product(&weights, &thinned, options),
        bridge.estimate(samples, &weights, options),
    ];
    for &a in &options.powers {
        context.check()?;
        estimates.push(power_estimate(samples, a, &thinned, options));
    }
    estimates.extend(further);
    context.check()?;
    judge(&mut estimates, &bridge);
    if let Some(side) = stands_still(samples).filter(|_| options.dependence == Dependence::Chains) {
        estimates.iter_mut().for_each(|e| e.refuse(&Refusal::StandsStill { side }));
    }
    let counts = samples.map(|s| s.len() as f64);
    let contradiction =
        contradiction(&thinned, &weights, &bridge, counts).filter(|_| bridge.refusal().is_none());
    if let Some(standard_errors) = contradiction {
        estimates.iter_mut().for_each(|e| e.refuse(&Refusal::Contradiction { standard_errors }));
    }
    if let Some(resamples) = options.bootstrap {
        bootstrap(&mut estimates, samples, &bridge, resamples, context)?;
    }
    let mut result = conclude(estimates, &bridge, &cross, samples, &weights, options);
    result
        .warnings
        .extend(contradiction.map(|standard_errors| LogZWarning::Contradiction { standard_errors }));
    if let Some(prices) = &options.prices {
        result.allocations = allocations(prices, &result.divergences, &thinned, &bridge, counts);
    }
    Ok(result)
}

/// Refuses what the two sides together know to be worthless.
fn judge(estimates: &mut [NormalizerEstimate], bridge: &Bridge) {
    // Weights that were hardly drawn from do not show how heavy their tail is.
    if let Some(why) = bridge.too_few(bridge.crossings) {
        estimates.iter_mut().for_each(|e| e.refuse(&why));
    }
    // A chain too short for the bridge is too short for what averages over it, even where it has stayed at a place at which the
    // weights hardly vary and so looks faster than it is; and it says nothing of the other side's weights: averages without
    // a variance had an interval in 217 of 800 runs beside a chain that is worth one draw.
    if let Some(why @ Refusal::ShortChain { .. }) = estimates[NCE].refused.clone() {
        estimates.iter_mut().for_each(|e| e.refuse(&why));
    }
    disagreeing(estimates);
}

/// Refuses averages of weights that the bridge contradicts: their tails were not drawn.
fn disagreeing(estimates: &mut [NormalizerEstimate]) {
    let (nce, nce_se) = (estimates[NCE].log_z, estimates[NCE].se);
    if !nce_se.is_finite() {
        return;
    }
    for e in estimates.iter_mut().filter(|e| e.se.is_finite() && e.method != Method::Nce) {
        let apart = (e.log_z - nce).abs() / e.se.hypot(nce_se);
        if apart > DISAGREE && (e.log_z - nce).abs() > rounding(nce) {
            e.refuse(&Refusal::DiffersFromBridge { standard_errors: apart });
        }
    }
}

/// What rounding may do to an estimate.
pub(super) fn rounding(log_z: f64) -> f64 {
    16.0 * f64::EPSILON * log_z.abs().max(1.0)
}

/// What is known of one side's weights beside themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Whether they have a variance: whatever the densities are, or as the other side knows without a tail.
    has_variance: bool,
    /// Number of draws.
    count: f64,
    seen: Option<OtherSide>,
}

impl Beside {
    /// Why the other side knows their mean not to have a standard error, if so.
    fn refusal(&self, side: Side) -> Option<Refusal> {
        let seen = self.seen.filter(|seen| !seen.is_even())?;
        let effective = self.count / (1.0 + seen.spread);
        let infinite = seen.shape.filter(|shape| shape.upper >= NO_MEAN && !self.has_variance);
        infinite
            .map(|Shape { k: pareto_k, upper }| Refusal::InfiniteByOtherSide { side, pareto_k, upper })
            .or((effective < FEWEST_EFFECTIVE_WEIGHTS).then_some(Refusal::FewByOtherSide { side, effective }))
    }
}

/// An estimator's two means, before it is judged.
pub(super) struct Parts {
    pub(super) method: Method,
    pub(super) log_z: f64,
    pub(super) variances: [f64; 2],
    pub(super) freedoms: [f64; 2],
    pub(super) sizes: [Option<f64>; 2],
    pub(super) shapes: [Option<Shape>; 2],
    /// Whether the weights of each side hardly vary.
    pub(super) even: [bool; 2],
    /// What else is known of each side's weights.
    pub(super) beside: [Beside; 2],
    /// Why a chain is too short for its part of the error to be known, if one is.
    pub(super) short: Option<Refusal>,
}

impl Parts {
    /// `log Z = log mean over the noise − log mean over the data`.
    pub(super) fn ratio(method: Method, data: &Moment, noise: &Moment) -> Self {
        Self {
            method,
            log_z: noise.log_mean - data.log_mean,
            variances: [data.relative_variance, noise.relative_variance],
            freedoms: [data.freedom, noise.freedom],
            sizes: [data, noise].map(|m| m.count.is_finite().then(|| m.effective_size())),
            shapes: [None, None],
            even: [data, noise].map(|m| is_even(m.spread)),
            beside: [Beside::default(); 2],
            short: data.too_short(Side::Data).or_else(|| noise.too_short(Side::Noise)),
        }
    }

    pub(super) fn judged(
        self,
        converged: bool,
        refused: Option<Refusal>,
        options: &LogZOptions,
    ) -> NormalizerEstimate {
        let plain = (self.variances[0] + self.variances[1]).sqrt();
        let reach = self.quantile(options.confidence) * plain + rounding(self.log_z);
        let widening = self.widening();
        let refused = refused.or_else(|| self.short.clone()).or_else(|| self.unknown_error());
        let se = if refused.is_some() { f64::INFINITY } else { widening * plain };
        let part = |variance: f64| if widening.is_finite() { widening * variance.sqrt() } else { f64::NAN };
        let worst = |a: Option<f64>, b: Option<f64>, better: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(better(a, b)),
            (a, b) => a.or(b),
        };
        NormalizerEstimate {
            method: self.method,
            log_z: self.log_z,
            se,
            se_data: part(self.variances[0]),
            se_noise: part(self.variances[1]),
            lower: if se.is_finite() { self.log_z - reach } else { f64::NEG_INFINITY },
            upper: if se.is_finite() { self.log_z + reach } else { f64::INFINITY },
            ess: worst(self.sizes[0], self.sizes[1], f64::min).unwrap_or(0.0),
            ess_data: self.sizes[0],
            ess_noise: self.sizes[1],
            pareto_k: worst(self.shapes[0].map(|s| s.k), self.shapes[1].map(|s| s.k), f64::max),
            converged: converged && self.log_z.is_finite(),
            refused,
            bootstrap_se: None,
        }
    }

    /// Judged by the tails of its weights.
    pub(super) fn weighted(self, options: &LogZOptions) -> NormalizerEstimate {
        let refused = self.refusal();
        self.judged(true, refused, options)
    }

    /// What an error that is itself estimated adds to a z-score, as it matters for short chains.
    pub(super) fn widening(&self) -> f64 {
        student_deviation(self.freedom())
    }

    /// Degrees of freedom of the error; what is left of rounding alone is known as well as it needs to be.
    fn freedom(&self) -> f64 {
        if self.variances[0] + self.variances[1] < HARDLY_VARIES {
            return f64::INFINITY;
        }
        joint_freedom(self.variances, self.freedoms)
    }

    /// Why there is no error: an estimated one has a variance itself only beyond two degrees of freedom, so below
    /// that no multiple of it is a standard error.
    fn unknown_error(&self) -> Option<Refusal> {
        self.widening().is_infinite().then(|| Refusal::FewDraws { freedom: self.freedom() })
    }

    /// How many standard errors make up an interval.
    pub(super) fn quantile(&self, confidence: f64) -> f64 {
        two_sided(confidence, self.freedom())
    }

    fn refusal(&self) -> Option<Refusal> {
        if !self.log_z.is_finite() {
            return Some(Refusal::NoSupport);
        }
        let variance = self.variances[0] + self.variances[1];
        for (k, side) in [Side::Data, Side::Noise].into_iter().enumerate() {
            let Some(size) = self.sizes[k] else { continue };
            let tail_is_light = self.even[k] || self.beside[k].has_variance;
            if let Some(why) = self.shapes[k].and_then(|shape| heavy(shape, tail_is_light, side)) {
                return Some(why);
            }
            if size < FEWEST_EFFECTIVE_WEIGHTS && (variance.is_nan() || variance >= HARDLY_VARIES) {
                return Some(Refusal::FewEffective { side, effective: size });
            }
            if let Some(why) = self.beside[k].refusal(side) {
                return Some(why);
            }
        }
        (!variance.is_finite()).then_some(Refusal::SingleDraw)
    }
}

/// Why weights with such a tail have a mean without a standard error, if so: their variance may well be infinite, unless it is
/// known not to be.
fn heavy(shape: Shape, has_variance: bool, side: Side) -> Option<Refusal> {
    let Shape { k: pareto_k, upper } = shape;
    if pareto_k > HEAVY_TAIL {
        return Some(Refusal::HeavyTail { side, pareto_k });
    }
    (!has_variance && upper >= NO_VARIANCE).then_some(Refusal::InfiniteVariance { side, pareto_k, upper })
}

/// The mean of weights over one side's draws.
pub(super) struct WeightMean<'a> {
    pub(super) moment: &'a Moment,
    pub(super) shape: Option<Shape>,
    /// Whether they have a variance whatever the densities are.
    pub(super) has_variance: bool,
    /// The logarithms of w²/R at the other side's draws; `None` for a share of draws.
    pub(super) log_terms: Option<Vec<f64>>,
}

/// log Z from means of weights over the data and over the noise, with what each side says of the other's weights.
pub(super) fn of_weights(
    method: Method,
    means: &[WeightMean<'_>; 2],
    options: &LogZOptions,
) -> NormalizerEstimate {
    let log_z = means[1].moment.log_mean - means[0].moment.log_mean;
    let seen = [(0, Side::Data), (1, Side::Noise)].map(|(k, side): (usize, Side)| {
        let log_terms = means[k].log_terms.as_ref()?;
        OtherSide::new(side, log_terms, log_z, means[k].moment.log_mean)
    });
    let [data, noise] =
        [0, 1].map(|k| seen[k].map_or(*means[k].moment, |seen| seen.corrected(means[k].moment)));
    let mut parts = Parts::ratio(method, &data, &noise);
    parts.shapes = [means[0].shape, means[1].shape];
    let counts = [data.count, noise.count];
    parts.beside = [0, 1].map(|k| Beside {
        has_variance: means[k].has_variance || seen[k].is_some_and(|seen| seen.without_tail),
        count: counts[k],
        seen: seen[k],
    });
    parts.weighted(options)
}

/// The share of a side's draws inside the other's support.
fn inside(weights: &Weights) -> WeightMean<'_> {
    WeightMean { moment: &weights.inside, shape: None, has_variance: true, log_terms: None }
}

/// The mean of a power of the density ratio, from the thinned log-ratios of the other side.
fn of_power<'a>(exponent: f64, moment: &'a Moment, shape: Option<Shape>, other: &[f64]) -> WeightMean<'a> {
    WeightMean {
        moment,
        shape,
        has_variance: (0.0..=ALWAYS_VARIANCE).contains(&exponent),
        log_terms: Some(log_powers(other, 1.0 - 2.0 * exponent)),
    }
}

/// The mean of the density ratio itself.
fn full<'a>(weights: &'a Weights, other: &[f64]) -> WeightMean<'a> {
    of_power(1.0, &weights.full, weights.tail.as_ref().map(|t| t.shape(|u| u)), other)
}

/// The mean of its square root.
fn half<'a>(weights: &'a Weights, other: &[f64]) -> WeightMean<'a> {
    of_power(0.5, &weights.half, weights.tail.as_ref().map(|t| t.shape(|u| 0.5 * u)), other)
}

fn importance(weights: &[Weights; 2], thinned: &[Vec<f64>; 2], options: &LogZOptions) -> NormalizerEstimate {
    of_weights(Method::Is, &[inside(&weights[0]), full(&weights[1], &thinned[0])], options)
}

fn reverse(weights: &[Weights; 2], thinned: &[Vec<f64>; 2], options: &LogZOptions) -> NormalizerEstimate {
    of_weights(Method::Revis, &[full(&weights[0], &thinned[1]), inside(&weights[1])], options)
}

fn product(weights: &[Weights; 2], thinned: &[Vec<f64>; 2], options: &LogZOptions) -> NormalizerEstimate {
    of_weights(Method::IsRevis, &[half(&weights[0], &thinned[1]), half(&weights[1], &thinned[0])], options)
}

fn power_estimate(
    samples: [&Sample<'_>; 2],
    a: f64,
    thinned: &[Vec<f64>; 2],
    options: &LogZOptions,
) -> NormalizerEstimate {
    let exponents = [a, 1.0 - a];
    let made = [0, 1].map(|k| power::power(samples[k], exponents[k], options.dependence));
    let means = [0, 1].map(|k| of_power(exponents[k], &made[k].0, made[k].1, &thinned[1 - k]));
    of_weights(Method::Power(a), &means, options)
}

fn conclude(
    estimates: Vec<NormalizerEstimate>,
    bridge: &Bridge,
    cross: &Cross,
    samples: [&Sample<'_>; 2],
    weights: &[Weights; 2],
    options: &LogZOptions,
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
        warnings.push(LogZWarning::LittleOverlap { crossings: bridge.effective_crossings() });
    }
    for (k, side) in [Side::Data, Side::Noise].into_iter().enumerate() {
        let ess = summary(k).ess;
        if bridge.moments[k].time > 2.0 && ess < ENOUGH_TO_KNOW_TIME {
            warnings.push(LogZWarning::ShortChain { side, ess });
        }
    }
    warnings
        .extend(samples.into_iter().flat_map(|sample| doubts(sample, bridge.root.at, options.dependence)));
    if !bridge.root.converged {
        warnings.push(LogZWarning::NotConverged);
    }
    LogZ {
        recommended,
        reason,
        overlap: bridge.overlap,
        expected_crossings: bridge.crossings,
        confidence: options.confidence,
        data: summary(0),
        noise: summary(1),
        divergences: EstimatedDivergences::new(cross, weights, bridge),
        allocations: Vec::new(),
        warnings,
        converged: estimates.iter().all(|e| e.converged),
        estimates,
    }
}

/// What a side's draws show of themselves that makes the errors too small.
fn doubts(sample: &Sample<'_>, c: f64, dependence: Dependence) -> Vec<LogZWarning> {
    // Points of a net are no draws.
    if sample.replicated {
        return Vec::new();
    }
    let side = sample.side;
    let (log_f, log_noise) = sample.log_densities();
    let beginnings = sample.chain_ranges().into_iter().map(|(start, _)| start);
    let mut doubts = Vec::new();
    if sample.len() < ENOUGH_TO_COVER {
        doubts.push(LogZWarning::FewDraws { side, draws: sample.len() });
    }
    if is_repeated(&[log_f, log_noise], beginnings) {
        doubts.push(LogZWarning::RepeatedDraws { side });
    }
    if dependence == Dependence::Independent {
        let both = log_f.iter().zip(log_noise).take(LOOKED_AT);
        let ratios: Vec<f64> = both.map(|(f, noise)| f - noise - c).collect();
        let seen = neighbours_correlation(&ratios);
        doubts.extend(seen.map(|correlation| LogZWarning::NotIndependent { side, correlation }));
    }
    doubts
}

/// The bridge, whatever the others seem to promise: which of them looks best on these draws is a matter of luck (MATH §15),
/// and where the bridge is refused nothing else can be trusted.
fn choose(estimates: &[NormalizerEstimate]) -> (Method, Reason) {
    let refused = estimates[NCE].refused.clone();
    (Method::Nce, refused.map_or(Reason::OptimalBridge, |refusal| Reason::AllRefused { refusal }))
}
