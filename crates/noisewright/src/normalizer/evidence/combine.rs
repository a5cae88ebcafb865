//! The two halves' estimates joined: their mean, and a standard error that knows what the halves have in common.

use noisewright_numerics::kernels;
use noisewright_numerics::summation::{mean_and_variance, sum};

use super::super::autocorrelation::{LongRun, long_run};
use super::super::{Dependence, LogZ, NormalizerEstimate, Refusal, Side};
use super::half_ratios::TwoLogDensities;
use super::halves::Half;
use super::{EvidenceOptions, NoiseKind};
use crate::tolerance::{FEWEST_EFFECTIVE_ROWS, FREEDOM_PER_EFFECTIVE_ROW};
use crate::{Space, View};

/// Draws whose autocorrelation is looked at one by one; more are joined to batches first.
const BATCHES: usize = 16_384;
/// Independent draws that each half must be worth beyond the numbers of a normal noise that are fitted to it: with about as many the
/// noise follows the draws. In one variable these are [`FEWEST_EFFECTIVE_ROWS`] in both halves together.
const BEYOND_FITTED: f64 = 8.0;
/// Relative difference that rounding makes in means of the same numbers.
const ROUNDING: f64 = 1e-12;

/// How far the errors that the two halves' draws cause go together, between 0 and 1.
///
/// Given the noise that was fitted to half A, the error of the estimate on half B is a mean over B of terms
/// `φ(x; q_A)`. A noise of the right family differs from the density only by the error of its fit, which is a mean
/// over A; then the errors of both estimates are the same product of the two means, and averaging them gains nothing.
/// A noise of another family leaves terms that do not depend on the fit, and the errors are independent. What the fit
/// does to the terms is seen by exchanging the noise: with `D = φ(x; q_A) − φ(x; q_B)` at all draws, the fit's share in
/// the variance of `φ` is at most `Var D / Var φ`, in long-run variances.
pub(super) fn correlation(
    log_densities: &[TwoLogDensities; 2],
    halves: &[Half; 2],
    shifts: [f64; 2],
    dependence: Dependence,
) -> f64 {
    let weights = [0, 1].map(|k| bridge_weights(&log_densities[k], shifts[k]));
    let own = |k: usize| {
        let other = &halves[1 - k];
        long_run_variance(&other.gather(&weights[k]), &other.chains(), dependence)
    };
    let difference: Vec<f64> = weights[0].iter().zip(&weights[1]).map(|(a, b)| a - b).collect();
    let common: f64 = halves
        .iter()
        .map(|half| 0.5 * long_run_variance(&half.gather(&difference), &half.chains(), dependence))
        .sum();
    let scale = (own(0) * own(1)).sqrt();
    if scale > 0.0 { (common / scale).clamp(0.0, 1.0) } else { 1.0 }
}

/// The terms of the bridge at the draws, `σ(c + log ν − ℓ)` over their mean.
fn bridge_weights(densities: &TwoLogDensities, shift: f64) -> Vec<f64> {
    let argument: Vec<f64> =
        densities.log_noise.iter().zip(&densities.log_f).map(|(noise, f)| noise - f + shift).collect();
    let mut weights = vec![0.0; argument.len()];
    kernels::sigmoid(&argument, &mut weights);
    let mean = sum(&weights) / weights.len() as f64;
    weights.iter_mut().for_each(|w| *w /= mean);
    weights
}

/// The variance of a mean times the number of its terms.
fn long_run_variance(values: &[f64], chains: &[usize], dependence: Dependence) -> f64 {
    let run = run_of(values, chains, dependence);
    run.variance_of_sum / values.len() as f64
}

/// What the slowest of the variables and the log-density says about the chains.
pub(super) struct Slowest {
    /// Why they are too short, if they are.
    pub(super) refusal: Option<Refusal>,
    /// Degrees of freedom of the variance of their means; infinite for independent draws. Of autoregressions worth 26 independent
    /// draws normal intervals covered 87 to 95 % of the answers (six cells of 400 runs, `bench/validation`, program
    /// `constants`).
    pub(super) freedom: f64,
}

/// Looks at all of them.
pub(super) fn slowest(draws: View<'_>, space: &Space, log_f: &[f64], options: &EvidenceOptions) -> Slowest {
    let rows = draws.rows();
    let chains = options.chains.clone().unwrap_or_else(|| vec![rows]);
    let numbers: Vec<usize> =
        (0..draws.columns()).filter(|axis| !space.domains()[*axis].is_discrete()).collect();
    let kind = if options.noise_fitter.is_some() { NoiseKind::Own } else { options.noise };
    let fewest = fewest_effective(numbers.len(), kind);
    let columns = numbers.iter().map(|axis| draws.column(*axis)).chain([log_f]);
    let runs = columns.map(|column| run_of(column, &chains, options.log_z.dependence));
    let effective =
        runs.filter(LongRun::is_dependent).map(|run| run.effective()).fold(f64::INFINITY, f64::min);
    let refusal = Refusal::ShortChain { side: Side::Data, effective, fewest };
    Slowest {
        refusal: (effective < fewest).then_some(refusal),
        freedom: (FREEDOM_PER_EFFECTIVE_ROW * effective).max(1.0),
    }
}

/// Independent draws that both halves of a chain in so many continuous variables must be worth together.
fn fewest_effective(variables: usize, noise: NoiseKind) -> f64 {
    let d = variables as f64;
    let fitted = match noise {
        NoiseKind::Own => 0.0,
        NoiseKind::Product => 2.0 * d,
        _ => d + 0.5 * d * (d + 1.0),
    };
    FEWEST_EFFECTIVE_ROWS.max(2.0 * (fitted + BEYOND_FITTED))
}

/// What dependence does to the variance of the sum of a series.
fn run_of(values: &[f64], chains: &[usize], dependence: Dependence) -> LongRun {
    let count = values.len() as f64;
    let (mean, variance) = mean_and_variance(values);
    let independent = LongRun::independent(variance * (count - 1.0), count);
    if dependence == Dependence::Independent {
        return independent;
    }
    let batch = values.len().div_ceil(BATCHES);
    let (mut sums, mut sizes, mut lengths, mut start) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for &length in chains {
        let chain = &values[start..start + length];
        start += length;
        lengths.push(length.div_ceil(batch));
        for part in chain.chunks(batch) {
            sums.push(part.iter().map(|v| v - mean).sum::<f64>());
            sizes.push(part.len() as f64);
        }
    }
    long_run(&sums, &sizes, &lengths, independent)
}

/// The mean of the two halves' estimates by one method, whose interval reaches so many standard errors at least.
pub(super) fn joined(halves: [&NormalizerEstimate; 2], correlation: f64, least: f64) -> NormalizerEstimate {
    let [a, b] = halves;
    let data = a.se_data.powi(2) + b.se_data.powi(2) + 2.0 * correlation * a.se_data * b.se_data;
    let noise = a.se_noise.powi(2) + b.se_noise.powi(2);
    let refused = a.refused.clone().or_else(|| b.refused.clone());
    let log_z = 0.5 * (a.log_z + b.log_z);
    let se = if refused.is_some() { f64::INFINITY } else { 0.5 * (data + noise).sqrt() };
    let reach = quantile(a).max(quantile(b)).max(least) * se;
    let total = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    NormalizerEstimate {
        log_z,
        se,
        se_data: 0.5 * data.sqrt(),
        se_noise: 0.5 * noise.sqrt(),
        lower: if se.is_finite() { log_z - reach } else { f64::NEG_INFINITY },
        upper: if se.is_finite() { log_z + reach } else { f64::INFINITY },
        ess: a.ess + b.ess,
        ess_data: total(a.ess_data, b.ess_data),
        ess_noise: total(a.ess_noise, b.ess_noise),
        pareto_k: a.pareto_k.zip(b.pareto_k).map(|(a, b)| a.max(b)),
        converged: a.converged && b.converged,
        refused,
        bootstrap_se: total(a.bootstrap_se, b.bootstrap_se).map(|s| 0.5 * s),
        ..a.clone()
    }
}

/// Standard errors from the middle to an end of the interval: infinitely many where the interval has no end, none where
/// neither interval nor error are larger than rounding.
fn quantile(estimate: &NormalizerEstimate) -> f64 {
    let reach = (estimate.upper - estimate.lower) / (2.0 * estimate.se);
    if reach.is_nan() { 0.0 } else { reach }
}

/// The difference of the two halves' estimates and how many standard errors that is.
pub(super) fn disagreement(halves: [&NormalizerEstimate; 2], correlation: f64) -> (f64, f64) {
    let [a, b] = halves;
    let data = a.se_data.powi(2) + b.se_data.powi(2) - 2.0 * correlation * a.se_data * b.se_data;
    in_standard_errors([a.log_z, b.log_z], data.max(0.0) + a.se_noise.powi(2) + b.se_noise.powi(2))
}

/// The difference of the mean of a series in the two halves and how many standard errors that is (Geweke 1992).
pub(super) fn drift(series: &[f64], halves: &[Half; 2], dependence: Dependence) -> (f64, f64) {
    let [first, second] = [0, 1].map(|k| {
        let values = halves[k].gather(series);
        let variance = long_run_variance(&values, &halves[k].chains(), dependence) / values.len() as f64;
        (sum(&values) / values.len() as f64, variance)
    });
    in_standard_errors([first.0, second.0], first.1 + second.1)
}

/// Two numbers that only rounding keeps apart are the same, however small their variance.
fn in_standard_errors([a, b]: [f64; 2], variance: f64) -> (f64, f64) {
    let apart = (a - b).abs();
    let same = apart <= ROUNDING * (1.0 + a.abs().max(b.abs()));
    (apart, if same { 0.0 } else { apart / variance.sqrt() })
}

/// The estimates of both halves by every method.
pub(super) fn all_joined(halves: &[LogZ; 2], correlation: f64, least: f64) -> Vec<NormalizerEstimate> {
    let pairs = halves[0].estimates.iter().zip(&halves[1].estimates);
    pairs.map(|(a, b)| joined([a, b], correlation, least)).collect()
}
