//! Fits: an unnormalized model from data, against noise, with standard errors that hold.
//!
//! [`Model::fit`] takes [`Data`] and gives a [`Fit`]: every parameter and the log-normalizer with its standard error,
//! split into what the data leave open and what the noise adds. The noise is chosen and dosed unless [`FitOptions`] say how.

pub(crate) mod bootstrap;
mod choices;
mod cluster_sums;
mod conditional;
mod constant;
mod covariance;
pub(crate) mod curvature;
mod data;
mod data_rows;
mod density_checks;
mod dependence;
pub(crate) mod diagnostics;
mod differences;
pub(crate) mod distributed;
pub(crate) mod effects;
mod estimate;
mod evaluate;
mod exact;
mod fit_against_noise;
pub(crate) mod held_out;
pub(crate) mod in_memory;
mod judge;
mod kinks;
mod leverage;
mod loss_terms;
mod m_estimation;
mod method;
mod multistart;
mod no_start;
mod noise_choice;
mod noise_influence;
mod objective;
pub(crate) mod optimal;
mod optimism;
pub(crate) mod options;
mod part;
mod parts;
pub(crate) mod penalized;
mod prepare;
mod profile;
mod quiet;
pub(crate) mod ratio;
mod recentred;
pub(crate) mod result;
mod sample_blocks;
mod scaling;
mod score_cache;
mod serial;
mod solve;
mod start_values;
mod stream;
pub(crate) mod two_step;

pub use choices::{ChoiceSets, fit_choices};
pub(crate) use data::check_chains;
pub use data::{Data, Dependence, Source, Visit};
pub(crate) use diagnostics::Setting;
pub use diagnostics::WarningKind;
pub use distributed::{PassRequest, Replica, Workers, fit_distributed, ratio_distributed};
pub(crate) use held_out::HeldOut;
pub(crate) use in_memory::fit;
pub use method::FitMethod;
pub use options::{Amount, CovarianceKind, DrawKind, FitOptions, IntervalKind, NoiseChoice};
pub use penalized::Penalty;
pub(crate) use penalized::wrong_factor;
pub(crate) use penalized::{PenaltyKind, StrengthRule};
pub(crate) use quiet::USUAL_RATIO;
pub(crate) use quiet::replicates::ReplicateSums;
pub(crate) use ratio::RatioOptions;
pub(crate) use ratio::{BasisCandidate, BridgeReport, RatioFit, density_ratio, mutual_information};
pub use ratio::{Bridges, DensityRatio, MutualInformation, RatioBasis, ratio_stream};
pub(crate) use result::Variances;
pub(crate) use result::{Estimate, Fit, Optimum};
pub use stream::fit_stream;

use std::sync::Arc;

use crate::after::RowMeans;
use crate::{Loss, Model, Result};
pub(crate) use data_rows::DataRows;
use estimate::FitTask;
use judge::judge;
use recentred::Recentred;

/// Fits a model to rows that have been checked, wherever they are: an estimate, and then the judgement of it.
fn fit_rows(model: &Model, rows: DataRows<'_>, options: &FitOptions) -> Result<Fit> {
    options.context().check()?;
    if matches!(options.noise, NoiseChoice::Optimal) {
        options.target.check(&model.coordinates())?;
    }
    if let Some(penalty) = &options.penalty {
        return penalized::fit_penalized(model, rows, penalty, options);
    }
    // A profile is that of a parameter itself, which around another center is a combination of several.
    let recentred = Recentred::of(model, rows).filter(|_| options.interval == IntervalKind::Wald);
    let mut fit = match recentred {
        _ if options.method.is_without_constant() => m_estimation::fit(model, rows, options)?,
        Some(recentred) => recentred.back(fit_task(&recentred.model, rows, options)?, model)?,
        None => fit_task(model, rows, options)?,
    };
    if options.method == FitMethod::McMle {
        fit.method = options.method;
    }
    // Without noise the loss is the likelihood.
    let likelihood = !fit.nu.is_finite() && !fit.method.is_without_constant();
    fit.log_likelihood = likelihood.then(|| -fit.loss * fit.total_weight);
    if matches!(options.loss, Loss::Brier) && fit.diagnostics.no_answer().is_none() {
        fit.clean_share = constant::clean_share(model, &fit, &options.cancel)?;
    }
    let constraint = model.constraint();
    if fit.diagnostics.no_answer().is_none() {
        let theta = constraint.map_or_else(|| fit.theta(), |constraint| constraint.all(&fit.theta()));
        let means = RowMeans::new(model.whole(), &theta, &fit, rows)?;
        if let (None, Some(means), FitMethod::ScoreMatching | FitMethod::PseudoLikelihood) =
            (fit.log_likelihood, &means, fit.method)
        {
            let constant = fit.log_normalizer.as_ref().map(|c| c.estimate).or(means.known_log_normalizer);
            fit.log_likelihood = constant.map(|log_z| (means.energy - log_z) * fit.total_weight);
        }
        fit.at_rows = means.map(Arc::new);
    }
    let fit = match constraint {
        Some(constraint) => constraint.expand(fit),
        None => fit,
    };
    repeated(model, rows, fit, options)
}

/// The fit with what fits of other rows say of it, where that is asked for.
fn repeated(model: &Model, rows: DataRows<'_>, mut fit: Fit, options: &FitOptions) -> Result<Fit> {
    if let Some(replicates) = options.bootstrap.filter(|_| fit.diagnostics.no_answer().is_none()) {
        fit.bootstrap = Some(bootstrap::bootstrap(model, rows, &fit, replicates, options)?);
    }
    if let Some(folds) = options.cross_validate.filter(|_| fit.diagnostics.no_answer().is_none()) {
        fit.held_out = Some(held_out::cross_validate(model, rows, &fit, folds, options)?);
    }
    Ok(fit)
}

/// An estimate, and then the judgement of it.
fn fit_task(model: &Model, rows: DataRows<'_>, options: &FitOptions) -> Result<Fit> {
    let task = FitTask { model, rows, loss: &options.loss };
    let estimate = || {
        let mut estimated = noise_choice::estimate(task, options)?;
        if options.interval == IntervalKind::Profile {
            profile::replace_intervals(task, &mut estimated, options)?;
        }
        judge(task, estimated, options)
    };
    estimate().map_err(|error| density_checks::with_values(model, rows, error))
}
