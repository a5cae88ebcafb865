//! Estimates of log Z and evidences as they are serialized.

use serde::{Serialize, Serializer};

use super::{
    Allocation, EstimatedDivergences, Evidence, LogZ, LogZWarning, Method, NormalizerEstimate, SampleSummary,
    TracePoint,
};
use crate::serial::Fields;

/// Words of a noise that are written in full; longer ones are named by their kind.
const MOST_WORDS: usize = 400;

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The fields of one estimate.
#[derive(Serialize)]
struct EstimateFields {
    log_z: f64,
    se: f64,
    se_data: f64,
    se_noise: f64,
    lower: f64,
    upper: f64,
    ess: f64,
    ess_data: Option<f64>,
    ess_noise: Option<f64>,
    pareto_k: Option<f64>,
    converged: bool,
    refused: Option<String>,
    refused_code: Option<&'static str>,
    bootstrap_se: Option<f64>,
}

impl Serialize for NormalizerEstimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EstimateFields {
            log_z: self.log_z,
            se: self.se,
            se_data: self.se_data,
            se_noise: self.se_noise,
            lower: self.lower,
            upper: self.upper,
            ess: self.ess,
            ess_data: self.ess_data,
            ess_noise: self.ess_noise,
            pareto_k: self.pareto_k,
            converged: self.converged,
            refused: self.refused.as_ref().map(ToString::to_string),
            refused_code: self.refused.as_ref().map(|refusal| refusal.code()),
            bootstrap_se: self.bootstrap_se,
        }
        .serialize(serializer)
    }
}

/// Estimates by their estimator.
fn by_method(estimates: &[NormalizerEstimate]) -> Fields<Method, &NormalizerEstimate> {
    Fields(estimates.iter().map(|estimate| (estimate.method, estimate)).collect())
}

/// Warnings as sentences and as codes.
fn told(warnings: &[LogZWarning]) -> (Vec<String>, Vec<&'static str>) {
    warnings.iter().map(|warning| (warning.to_string(), warning.code())).unzip()
}

/// What a budget should buy.
#[derive(Serialize)]
struct AllocationFields {
    data_draws: f64,
    noise_draws: f64,
    nu: f64,
    predicted_se: f64,
}

impl Serialize for Allocation {
    /// In whole draws.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AllocationFields {
            data_draws: self.data_draws.floor(),
            noise_draws: self.noise_draws.floor(),
            nu: self.nu,
            predicted_se: self.predicted_se,
        }
        .serialize(serializer)
    }
}

/// The fields of log Z by several estimators.
#[derive(Serialize)]
struct LogZFields<'a> {
    estimates: Fields<Method, &'a NormalizerEstimate>,
    recommended: Method,
    reason: String,
    reason_code: &'static str,
    log_z: f64,
    se: f64,
    lower: f64,
    upper: f64,
    refused: Option<String>,
    refused_code: Option<&'static str>,
    converged: bool,
    warnings: Vec<String>,
    warning_codes: Vec<&'static str>,
    overlap: f64,
    expected_crossings: f64,
    confidence: f64,
    data: &'a SampleSummary,
    noise: &'a SampleSummary,
    divergences: &'a EstimatedDivergences,
    allocation: Option<Fields<Method, &'a Allocation>>,
}

impl Serialize for LogZ {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let best = self.best();
        let (warnings, warning_codes) = told(&self.warnings);
        let allocation = || Fields(self.allocations.iter().map(|a| (a.method, a)).collect());
        LogZFields {
            estimates: by_method(&self.estimates),
            recommended: self.recommended,
            reason: self.reason.to_string(),
            reason_code: self.reason.code(),
            log_z: best.log_z,
            se: best.se,
            lower: best.lower,
            upper: best.upper,
            refused: best.refused.as_ref().map(ToString::to_string),
            refused_code: best.refused.as_ref().map(|refusal| refusal.code()),
            converged: self.converged,
            warnings,
            warning_codes,
            overlap: self.overlap,
            expected_crossings: self.expected_crossings,
            confidence: self.confidence,
            data: &self.data,
            noise: &self.noise,
            divergences: &self.divergences,
            allocation: (!self.allocations.is_empty()).then(allocation),
        }
        .serialize(serializer)
    }
}

/// The fields of an evidence.
#[derive(Serialize)]
struct EvidenceFields<'a> {
    log_evidence: f64,
    se: f64,
    lower: f64,
    upper: f64,
    confidence: f64,
    recommended: Method,
    reason: String,
    reason_code: &'static str,
    refused: Option<String>,
    refused_code: Option<&'static str>,
    estimates: Fields<Method, &'a NormalizerEstimate>,
    overlap: f64,
    expected_crossings: f64,
    chain_ess: f64,
    correlation: f64,
    noise: String,
    noises: Vec<String>,
    draws: usize,
    noise_draws: usize,
    replicates: Option<usize>,
    noise_gain: Option<f64>,
    halves: Vec<f64>,
    trace: &'a [TracePoint],
    converged: bool,
    warnings: Vec<String>,
    warning_codes: Vec<&'static str>,
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let best = self.best();
        let (warnings, warning_codes) = told(&self.warnings);
        let half = |half: &LogZ| half.get(self.recommended).map_or(f64::NAN, |estimate| estimate.log_z);
        EvidenceFields {
            log_evidence: self.log_evidence,
            se: self.se,
            lower: self.lower,
            upper: self.upper,
            confidence: self.confidence,
            recommended: self.recommended,
            reason: self.reason.to_string(),
            reason_code: self.reason.code(),
            refused: best.refused.as_ref().map(ToString::to_string),
            refused_code: best.refused.as_ref().map(|refusal| refusal.code()),
            estimates: by_method(&self.estimates),
            overlap: self.overlap,
            expected_crossings: self.expected_crossings,
            chain_ess: self.chain_ess,
            correlation: self.correlation,
            noise: self.noise.to_string(),
            noises: self.noises_in_words(),
            draws: self.draws,
            noise_draws: self.noise_draws,
            replicates: self.replicates,
            noise_gain: self.noise_gain,
            halves: self.halves.iter().map(half).collect(),
            trace: &self.trace,
            converged: self.converged,
            warnings,
            warning_codes,
        }
        .serialize(serializer)
    }
}

impl Evidence {
    /// The two noises in words, where these are few enough to read; otherwise their kind.
    fn noises_in_words(&self) -> Vec<String> {
        let words = self.noises.iter().map(|noise| noise.describe());
        words.map(|words| if words.len() > MOST_WORDS { self.noise.to_string() } else { words }).collect()
    }
}
