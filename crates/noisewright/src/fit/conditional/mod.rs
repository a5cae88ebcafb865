//! Conditional models p(y | z) ∝ exp u(y, z; θ), one constant per z: ranking every row among noise points of its own, or maximum
//! likelihood with an integral per z (MATH §11).

mod covariance;
mod draws;
mod ranking;
mod row_leverage;

use std::sync::Arc;

use super::choices::ConditionalLogit;
use super::data::Data;
use super::data_rows::{DataRows, SOME_ROWS};
use super::diagnostics::{Diagnostics, ErrorBudget, SMALL_SHARE};
use super::exact::{estimate_given, is_exact_given};
use super::fit_against_noise::needs_memory;
use super::options::{Amount, FitOptions, NoiseChoice};
use super::result::Fit;
use super::{penalized, repeated};
use crate::after::{RowMeans, mean_log_likelihood};
use crate::integrability::{NotNormalizable, PLACES, of_fitted};
use crate::noise::language::NoiseContext;
use crate::run::Stage;
use crate::{ConditionalNoise, Error, Loss, Model, Points, Result, Target, View, fit_auto_given};
pub(super) use covariance::{RowTerms, by_row, of_dependent};
pub(super) use ranking::{covariance as ranking_covariance, pilot};
pub(super) use row_leverage::RowLeverage;

/// Rows at whose covariates it is looked whether the fitted density integrates, beside the extreme ones.
const FIRST_LOOKED: usize = 4;

/// Fits a conditional model to rows in the order of its variables.
pub(super) fn fit(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
    refuse_idle(options)?;
    let rows = DataRows::memory(model, data)?;
    model.check_score_once(&model.start(), data.points)?;
    options.report(Stage::Prepare, 0, f64::NAN)?;
    if let Some(penalty) = &options.penalty {
        let (logit, choices) = undosed(model, data, rows, options)?;
        let again = |part: &Model, options: &FitOptions| fit(part, data, options);
        let found = penalized::fit_ranked(logit, choices, data, penalty, options, again)?;
        return if found.penalty.as_ref().is_some_and(|report| report.refitted) {
            Ok(found)
        } else {
            finished(model, rows, found, options)
        };
    }
    let found = estimate(model, rows, options)?;
    repeated(model, rows, finished(model, rows, found, options)?, options)
}

/// An estimate of which nothing is said yet.
///
/// # Errors
/// As for any fit.
pub(super) fn estimate(model: &Model, rows: DataRows<'_>, options: &FitOptions) -> Result<Fit> {
    let data = rows.whole().ok_or_else(|| needs_memory("covariates"))?;
    if is_exact_given(model, data, options) {
        return estimate_given(model, data, options);
    }
    ranking::dosed(model, data, noise(model, rows, options)?.as_ref(), options)
}

/// The rows among their alternatives: all states where there is no noise, otherwise noise points, and how many of those.
fn undosed<'m>(
    model: &'m Model,
    data: Data<'_>,
    rows: DataRows<'_>,
    options: &FitOptions,
) -> Result<(ConditionalLogit<'m>, Ranked)> {
    if is_exact_given(model, data, options) {
        let words = format!("none (all states of {} rows)", data.points.rows());
        return Ok((draws::all_states(model, data)?, Ranked { choices: None, words }));
    }
    let noise = noise(model, rows, options)?;
    let (logit, choices) = ranking::undosed(model, data, &noise, options)?;
    Ok((logit, Ranked { choices: Some(choices), words: noise.describe() }))
}

/// What rows are ranked among.
pub(super) struct Ranked {
    /// Noise points of every row; none where its alternatives are all states.
    pub(super) choices: Option<usize>,
    /// The noise in words.
    pub(super) words: String,
}

/// What is said of a fit, and what is kept of its rows.
fn finished(model: &Model, rows: DataRows<'_>, mut fit: Fit, options: &FitOptions) -> Result<Fit> {
    let mut said = std::mem::take(&mut fit.diagnostics);
    if fit.converged
        && let Some(found) = endless(model, &fit.theta(), rows)?
    {
        said.endless(found);
    }
    match fit.penalty {
        Some(_) => said.read_penalized(model, &fit),
        None => read(&mut said, model, &fit),
    }
    fit.diagnostics = said;
    let constraint = model.constraint();
    if fit.diagnostics.no_answer().is_none() {
        let theta = constraint.map_or_else(|| fit.theta(), |constraint| constraint.all(&fit.theta()));
        let known = if fit.nu.is_finite() {
            mean_log_likelihood(model, &fit.theta(), rows, &options.cancel)?
        } else {
            Some(-fit.loss)
        };
        fit.log_likelihood = known.map(|mean| mean * fit.total_weight);
        fit.at_rows = Some(Arc::new(RowMeans::of_conditional(model, &fit, rows, known, theta.len())?));
    }
    Ok(match constraint {
        Some(constraint) => constraint.expand(fit),
        None => fit,
    })
}

/// What is said of estimates with errors, and of the part that the noise has in them.
fn read(said: &mut Diagnostics, model: &Model, fit: &Fit) {
    said.read(model, fit);
    let budget = |e: &super::Estimate| ErrorBudget::of_parts(&e.name, e.se_data.powi(2), e.se_noise.powi(2));
    said.error_budget = fit.parameters.iter().map(budget).collect();
    if let Some((unknown, share)) = said.most_noise() {
        // The noise's part of the variance falls like 1/K.
        let small = SMALL_SHARE;
        let wanted = fit.nu * share / (1.0 - share) * (1.0 - small) / small;
        said.noisy_choices(unknown, share, wanted.ceil() as usize);
    }
}

/// Where the fitted density has no integral, if so at the covariates of some rows: the first ones, and those where a covariate
/// is least or largest.
fn endless(model: &Model, theta: &[f64], rows: DataRows<'_>) -> Result<Option<NotNormalizable>> {
    let some = rows.spread(SOME_ROWS);
    let view = some.view();
    let own = model.response_dimension();
    let mut looked: Vec<usize> = (0..view.rows().min(FIRST_LOOKED)).collect();
    for j in own..view.columns() {
        let by_value = |a: &usize, b: &usize| view.get(*a, j).total_cmp(&view.get(*b, j));
        looked.extend((0..view.rows()).min_by(by_value).into_iter().chain((0..view.rows()).max_by(by_value)));
    }
    let kept = view.rows().min(PLACES);
    let values: Vec<f64> = (0..own).flat_map(|j| view.column(j)[..kept].iter().copied()).collect();
    for row in looked {
        let there = model.given(&model.covariates_in(view, row))?;
        if let Some(found) = of_fitted(&there, theta, View::new(own, kept, &values)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Refuses settings that have no effect beside covariates.
fn refuse_idle(options: &FitOptions) -> Result<()> {
    let amount =
        "cannot stand beside covariates, where every row has noise points of its own: give choices instead";
    let idle = [
        ("nu", matches!(options.amount, Amount::Ratio(_)), amount),
        ("noise_points", matches!(options.amount, Amount::Points(_)), amount),
        (
            "loss",
            !matches!(options.loss, Loss::Js),
            "cannot be chosen beside covariates, whose rows are ranked among their noise points: leave it out",
        ),
        ("loss_ratio", options.loss_ratio.is_some(), "cannot stand beside covariates: leave it out"),
        ("refit_noise", options.refit_noise, "cannot stand beside covariates: leave it out"),
        ("check_ratio", options.check_ratio, "cannot stand beside covariates: leave it out"),
        ("target", options.target != Target::Mse, "cannot stand beside covariates: leave it out"),
    ];
    match idle.into_iter().find(|(_, given, _)| *given) {
        Some((option, _, reason)) => Err(Error::option(option, reason)),
        None => Ok(()),
    }
}

/// The noise that the options ask for.
fn noise(model: &Model, rows: DataRows<'_>, options: &FitOptions) -> Result<Arc<ConditionalNoise>> {
    let (space, covariates) = (model.response_space()?, model.covariates());
    let unfit = |what: &str| {
        let reason = format!(
            "cannot be {what} beside covariates: use auto, exact, or words such as normal(2*{}, 4)",
            covariates.first().map_or("z", String::as_str)
        );
        Err(Error::option("noise", reason))
    };
    Ok(match &options.noise {
        NoiseChoice::Conditional(noise) if noise.covariates() != covariates => {
            let reason =
                format!("is given {}, and not the model's covariates", noise.covariates().join(", "));
            return Err(Error::option("noise", reason));
        }
        NoiseChoice::Conditional(noise) => Arc::clone(noise),
        NoiseChoice::Auto | NoiseChoice::Exact => auto(model, rows)?,
        NoiseChoice::Given(noise) => {
            Arc::new(ConditionalNoise::same_shared(Arc::clone(noise), &space, covariates)?)
        }
        NoiseChoice::Words(worded) if worded.words.mentions("auto") => return unfit("a mixture with auto"),
        NoiseChoice::Words(worded) if worded.words.is_fitted() && worded.words.formulas().is_empty() => {
            let some = rows.spread(SOME_ROWS);
            let view = some.view();
            let own = space.dimension();
            let values = (0..own).flat_map(|j| view.column(j).iter().copied()).collect();
            let responses = Points::unnamed(own, view.rows(), values);
            let context =
                NoiseContext::new(&space).with_data(responses.view()).with_weights(some.data().weights);
            Arc::new(ConditionalNoise::same_shared(worded.words.build(&context)?, &space, covariates)?)
        }
        NoiseChoice::Words(worded) => {
            Arc::new(ConditionalNoise::from_words(&worded.words, &space, covariates)?)
        }
        NoiseChoice::Optimal => return unfit("optimal"),
        NoiseChoice::Draws(_) => return unfit("drawn elsewhere"),
    })
}

/// A regression on the covariates, fitted to rows spread over the data.
pub(super) fn auto(model: &Model, rows: DataRows<'_>) -> Result<Arc<ConditionalNoise>> {
    let some = rows.spread(SOME_ROWS);
    let fitted =
        fit_auto_given(&model.response_space()?, model.covariates(), some.view(), some.data().weights)?;
    Ok(Arc::new(fitted))
}
