//! Fits: an unnormalized model from data, against noise, with standard errors that hold.
//!
//! [`fit`] takes a [`Model`] and [`Data`] and gives a [`Fit`]: every parameter and the log-normalizer with its standard
//! error, split into what the data leave open and what the noise adds. The noise is chosen and dosed unless
//! [`FitOptions`] say how.

mod bootstrap;
mod choices;
mod conditional;
mod constant;
mod covariance;
mod curvature;
mod data;
mod data_rows;
mod density_checks;
mod dependence;
#[doc(hidden)]
pub mod diagnostics;
mod differences;
pub(crate) mod distributed;
mod effects;
mod estimate;
mod evaluate;
mod exact;
mod fit_against_noise;
mod held_out;
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
mod options;
mod part;
mod parts;
mod penalized;
mod prepare;
mod profile;
mod quiet;
mod ratio;
mod recentred;
mod result;
mod sample_blocks;
mod scaling;
mod score_cache;
mod serial;
mod solve;
mod start_values;
mod stream;
mod two_step;

#[doc(hidden)]
pub use bootstrap::{Bootstrap, BootstrapEstimate, ReplicateAnswer, ReplicateHook, Resampled};
pub use choices::{ChoiceSets, fit_choices};
#[doc(hidden)]
pub use curvature::Curvature;
pub(crate) use data::check_chains;
pub use data::{Data, Dependence, Source, Visit};
pub use diagnostics::WarningKind;
#[doc(hidden)]
pub use diagnostics::{Diagnostics, Warning};
#[doc(hidden)]
pub use diagnostics::{Finding, Remedy, Setting};
pub use distributed::{PassRequest, Replica, Workers, fit_distributed, ratio_distributed};
#[doc(hidden)]
pub use effects::{FitSetting, NoiseKind, check_effects};
#[doc(hidden)]
pub use held_out::HeldOut;
pub use method::FitMethod;
#[doc(hidden)]
pub use noisewright_numerics::optimize::Stop;
#[doc(hidden)]
pub use optimal::OptimalReport;
#[doc(hidden)]
pub use options::Draws;
pub use options::{Amount, CovarianceKind, DrawKind, FitOptions, IntervalKind, NoiseChoice};
#[doc(hidden)]
pub use options::{NoiseFiles, NoiseInWords};
pub use penalized::Penalty;
pub(crate) use penalized::wrong_factor;
#[doc(hidden)]
pub use penalized::{PathPoint, PenaltyKind, PenaltyReport, Strength, StrengthRule};
pub(crate) use quiet::USUAL_RATIO;
pub(crate) use quiet::replicates::ReplicateSums;
#[doc(hidden)]
pub use ratio::RatioOptions;
#[doc(hidden)]
pub use ratio::{
    BasisCandidate, BridgeReport, ImportanceWeights, InformationTrial, LogRatio, RatioDivergences, RatioFit,
    TwoSampleTest, density_ratio, mutual_information, ratio,
};
pub use ratio::{Bridges, DensityRatio, MutualInformation, RatioBasis, ratio_stream};
pub(crate) use result::Variances;
#[doc(hidden)]
pub use result::{Estimate, Fit, Optimum};
pub use stream::fit_stream;
#[doc(hidden)]
pub use two_step::TwoStepReport;

use std::sync::Arc;

use crate::after::RowMeans;
use crate::{Error, Loss, Model, Result};
pub(crate) use data_rows::DataRows;
use estimate::FitTask;
use judge::judge;
use recentred::Recentred;

/// Fits a model to data.
///
/// ```
/// use noisewright::fit::{Amount, Data, NoiseChoice, FitOptions, fit};
/// use noisewright::{Model, Normal, Points, Space, sample};
/// use std::sync::Arc;
///
/// // log p = m x − x²/2 − c: the mean of a Gaussian, its constant taken as unknown.
/// let model = Model::from_toml("variables = ['x']\nlog_density = 'm*x - x^2/2'\n[parameters]\nm = 0")?;
/// let points = sample(&Normal::with_variance(0.5, 1.0)?, 4000, 1);
/// let fitted = fit(&model, Data::from(&points), &FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() })?;
/// let mean = &fitted.parameters[0];
/// assert!((mean.estimate - 0.5).abs() < 4.0 * mean.se);
/// // log Z = m²/2 + ½ log 2π.
/// let constant = fitted.log_normalizer.unwrap();
/// assert!((constant.estimate - 0.125 - 0.5 * std::f64::consts::TAU.ln()).abs() < 4.0 * constant.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// One sentence: a row outside the domain or without density, too few rows, unknowns that cannot be told apart, an
/// option that cannot be, or [`Error::Cancelled`].
#[doc(hidden)]
pub fn fit<'a>(model: &Model, data: impl Into<Data<'a>>, options: &FitOptions) -> Result<Fit> {
    data.into().in_order_of(model.space(), |data| fit_in_order(model, data, options))
}

/// The same for columns in the order of the model's variables.
fn fit_in_order(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
    options.check()?;
    let options = &options.for_run();
    let model = &model.with_cancel(&options.cancel);
    let fitted = if model.is_conditional() {
        options.refuse_method("covariates").and_then(|()| conditional::fit(model, data, options))
    } else if options.choices.is_some() {
        let reason = "needs a model with covariates, whose rows have noise points of their own: leave it out";
        Err(Error::option("choices", reason))
    } else {
        DataRows::memory(model, data).and_then(|rows| fit_rows(model, rows, options))
    };
    options.context().conclude(fitted)
}

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
