//! From the sums to the estimates: standard errors by the delta method, refusals, and which one to trust.

use super::allocation::allocations;
use super::bootstrap::bootstrap;
use super::bridge;
use super::consistency::contradiction;
use super::cross_side_ess::Cross;
use super::interval::{joint_freedom, student_deviation, two_sided};
use super::moment::Moment;
use super::nce::Bridge;
use super::power::{self, Weights};
use super::sample::{Sample, stands_still};
use super::{
    Dependence, EstimatedDivergences, LogZ, LogZOptions, LogZWarning, Method, NormalizerEstimate, Reason,
    Refusal, SampleSummary, Side,
};
use crate::Result;
use crate::pareto::Shape;
use crate::run::Context;
use crate::tolerance::{DISAGREE, EVEN_WEIGHTS, FEWEST_EFFECTIVE_WEIGHTS, HEAVY_TAIL, NO_VARIANCE};

/// Variance of weights, relative to their mean, that is rounding.
const HARDLY_VARIES: f64 = 1e-24;
/// Independent draws' worth of a chain below which its autocorrelation is hardly known.
const ENOUGH_TO_KNOW_TIME: f64 = 50.0;

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
        importance(&weights, options),
        reverse(&weights, options),
        product(&weights, options),
        bridge.estimate(samples, &weights, options),
    ];
    for &a in &options.powers {
        context.check()?;
        estimates.push(power_estimate(samples, a, options));
    }
    estimates.extend(further);
    context.check()?;
    judge(&mut estimates, &bridge, &cross, samples);
    if let Some(side) = stands_still(samples).filter(|_| options.dependence == Dependence::Chains) {
        estimates.iter_mut().for_each(|e| e.refuse(&Refusal::StandsStill { side }));
    }
    let counts = samples.map(|s| s.len() as f64);
    let contradiction = contradiction(&thinned, &bridge, counts).filter(|_| bridge.refusal().is_none());
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
fn judge(estimates: &mut [NormalizerEstimate], bridge: &Bridge, cross: &Cross, samples: [&Sample<'_>; 2]) {
    // Weights that were hardly drawn from do not show how heavy their tail is.
    if let Some(why) = bridge.too_few(bridge.crossings) {
        estimates.iter_mut().for_each(|e| e.refuse(&why));
    }
    if let Some(why @ Refusal::ShortChain { side, .. }) = estimates[NCE].refused.clone() {
        estimates.iter_mut().filter(|e| e.method.averages(side)).for_each(|e| e.refuse(&why));
    }
    cross.judge(estimates, samples.map(Sample::len));
    disagreeing(estimates);
}

impl Method {
    /// Whether it averages weights of this side's draws: a chain that is too short for the bridge is too short for these, even
    /// where it has stayed at a place at which they hardly vary and so looks faster than it is.
    fn averages(self, side: Side) -> bool {
        match self {
            Self::Is => side == Side::Noise,
            Self::Revis => side == Side::Data,
            _ => true,
        }
    }
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
            even: [data, noise].map(|m| 1.0 >= EVEN_WEIGHTS * (1.0 + m.spread)),
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
            if let Some(why) = self.shapes[k].and_then(|shape| heavy(shape, self.even[k], side)) {
                return Some(why);
            }
            if size < FEWEST_EFFECTIVE_WEIGHTS && (variance.is_nan() || variance >= HARDLY_VARIES) {
                return Some(Refusal::FewEffective { side, effective: size });
            }
        }
        (!variance.is_finite()).then_some(Refusal::SingleDraw)
    }
}

/// Why weights with such a tail have a mean without a standard error, if so: their variance may well be infinite.
fn heavy(shape: Shape, even: bool, side: Side) -> Option<Refusal> {
    let Shape { k: pareto_k, upper } = shape;
    if pareto_k > HEAVY_TAIL {
        return Some(Refusal::HeavyTail { side, pareto_k });
    }
    (!even && upper >= NO_VARIANCE).then_some(Refusal::InfiniteVariance { side, pareto_k, upper })
}

fn importance(weights: &[Weights; 2], options: &LogZOptions) -> NormalizerEstimate {
    let mut parts = Parts::ratio(Method::Is, &weights[0].inside, &weights[1].full);
    parts.shapes[1] = weights[1].tail.as_ref().map(|t| t.shape(|u| u));
    parts.weighted(options)
}

fn reverse(weights: &[Weights; 2], options: &LogZOptions) -> NormalizerEstimate {
    let mut parts = Parts::ratio(Method::Revis, &weights[0].full, &weights[1].inside);
    parts.shapes[0] = weights[0].tail.as_ref().map(|t| t.shape(|u| u));
    parts.weighted(options)
}

fn product(weights: &[Weights; 2], options: &LogZOptions) -> NormalizerEstimate {
    let (data, noise) = (&weights[0].half, &weights[1].half);
    let mut parts = Parts::ratio(Method::IsRevis, data, noise);
    for k in 0..2 {
        parts.shapes[k] = weights[k].tail.as_ref().map(|t| t.shape(|u| 0.5 * u));
    }
    parts.weighted(options)
}

fn power_estimate(samples: [&Sample<'_>; 2], a: f64, options: &LogZOptions) -> NormalizerEstimate {
    let (data, shape_data) = power::power(samples[0], a, options.dependence);
    let (noise, shape_noise) = power::power(samples[1], 1.0 - a, options.dependence);
    let mut parts = Parts::ratio(Method::Power(a), &data, &noise);
    parts.shapes = [shape_data, shape_noise];
    parts.weighted(options)
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

/// The bridge, whatever the others seem to promise: which of them looks best on these draws is a matter of luck (MATH §15),
/// and where the bridge is refused nothing else can be trusted.
fn choose(estimates: &[NormalizerEstimate]) -> (Method, Reason) {
    let refused = estimates[NCE].refused.clone();
    (Method::Nce, refused.map_or(Reason::OptimalBridge, |refusal| Reason::AllRefused { refusal }))
}
