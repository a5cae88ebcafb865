//! A fit and a ratio as they are serialized.

use serde::{Serialize, Serializer};

use super::bootstrap::Bootstrap;
use super::curvature::Curvature;
use super::diagnostics::Diagnostics;
use super::held_out::HeldOut;
use super::method::FitMethod;
use super::options::{DrawKind, IntervalKind};
use super::penalized::PenaltyReport;
use super::ratio::RatioFit;
use super::result::{Estimate, Fit, Optimum};
use crate::serial::{Fields, Rows};
use noisewright_numerics::optimize::Stop;

/// The fields of a fit.
#[derive(Serialize)]
struct FitFields<'a> {
    method: FitMethod,
    parameters: Fields<&'a str, &'a Estimate>,
    log_normalizer: Option<&'a Estimate>,
    coordinates: Vec<&'a str>,
    covariance: Rows<'a>,
    covariance_data: Rows<'a>,
    covariance_noise: Rows<'a>,
    loss: f64,
    loss_name: &'a str,
    iterations: usize,
    converged: bool,
    stop: Stop,
    nu: f64,
    noise: &'a str,
    noise_points: usize,
    choices: Option<usize>,
    draws: Option<DrawKind>,
    replicates: Option<usize>,
    loss_ratio: Option<f64>,
    noise_gain: Option<f64>,
    noise_share: f64,
    budget_spent: bool,
    rows: usize,
    total_weight: f64,
    rows_per_unknown: f64,
    effective_rows: Option<f64>,
    log_likelihood: Option<f64>,
    curvature: Curvature,
    confidence: f64,
    efficiency: Option<Fields<&'a str, Option<f64>>>,
    optima: &'a [Optimum],
    interval: IntervalKind,
    bootstrap: Option<&'a Bootstrap>,
    held_out: Option<&'a HeldOut>,
    penalty: Option<&'a PenaltyReport>,
    clean_share: Option<&'a Estimate>,
    diagnostics: &'a Diagnostics,
}

/// Estimates by the names of what they estimate.
fn by_name<'a>(estimates: impl IntoIterator<Item = &'a Estimate>) -> Fields<&'a str, &'a Estimate> {
    Fields(estimates.into_iter().map(|estimate| (estimate.name.as_str(), estimate)).collect())
}

impl Serialize for Fit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = || self.estimates().into_iter().map(|estimate| estimate.name.as_str());
        let budget = self.diagnostics.error_budget.iter().map(|entry| entry.efficiency);
        FitFields {
            method: self.method,
            parameters: by_name(&self.parameters),
            log_normalizer: self.log_normalizer.as_ref(),
            coordinates: names().collect(),
            covariance: Rows(&self.covariance),
            covariance_data: Rows(&self.covariance_data),
            covariance_noise: Rows(&self.covariance_noise),
            loss: self.loss,
            loss_name: &self.loss_name,
            iterations: self.iterations,
            converged: self.converged,
            stop: self.stop,
            nu: self.nu,
            noise: &self.noise_description,
            noise_points: self.noise_points,
            choices: self.choices,
            draws: self.draws,
            replicates: self.replicates,
            loss_ratio: self.loss_ratio,
            noise_gain: self.noise_gain,
            noise_share: self.noise_share(),
            budget_spent: self.budget_spent,
            rows: self.rows,
            total_weight: self.total_weight,
            rows_per_unknown: self.rows_per_unknown(),
            effective_rows: self.effective_rows,
            log_likelihood: self.log_likelihood,
            curvature: self.curvature,
            confidence: self.confidence,
            efficiency: self.nu.is_finite().then(|| Fields(names().zip(budget).collect())),
            optima: &self.optima,
            interval: self.interval,
            bootstrap: self.bootstrap.as_ref(),
            held_out: self.held_out.as_ref(),
            penalty: self.penalty.as_ref(),
            clean_share: self.clean_share.as_ref(),
            diagnostics: &self.diagnostics,
        }
        .serialize(serializer)
    }
}

/// The fields of a ratio.
#[derive(Serialize)]
struct RatioFields<'a> {
    parameters: Fields<&'a str, &'a Estimate>,
    constant: &'a Estimate,
    covariance: Rows<'a>,
    loss: f64,
    loss_name: &'a str,
    iterations: usize,
    converged: bool,
    rows: [usize; 2],
    confidence: f64,
    diagnostics: &'a Diagnostics,
}

impl Serialize for RatioFit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RatioFields {
            parameters: by_name(&self.parameters),
            constant: &self.constant,
            covariance: Rows(&self.covariance),
            loss: self.fit.loss,
            loss_name: &self.fit.loss_name,
            iterations: self.fit.iterations,
            converged: self.fit.converged,
            rows: [self.fit.rows, self.fit.noise_points],
            confidence: self.fit.confidence,
            diagnostics: &self.fit.diagnostics,
        }
        .serialize(serializer)
    }
}
