//! Penalised fits of models that are linear in their parameters: ridge, and the lasso with its selection.
//!
//! Minimised is `L(β) + λ Σ f_j s_j|θ_j|` or `L(β) + λ/2 Σ f_j (s_jθ_j)²`: L the loss of the fit, s_j the standard deviation of the
//! j-th feature in the data, f_j its penalty factor. The constant is not penalised.

mod assembled;
mod contrast;
mod folds;
mod likelihood;
mod path;
mod penalty;
mod ranked;
mod report;
mod target;

pub(crate) use folds::fold_numbers;
pub(crate) use penalty::wrong_factor;
pub use penalty::{Penalty, PenaltyKind, Strength};
pub use report::{PathPoint, PenaltyReport, StrengthRule};

use std::sync::Arc;

use super::choices::ConditionalLogit;
use super::conditional::Ranked;
use super::data::Data;
use super::data_rows::DataRows;
use super::estimate::FitTask;
use super::options::FitOptions;
use super::result::Fit;
use super::{RowMeans, fit_rows};
use crate::{Error, Model, Result};
use folds::Folds;
use path::{Chosen, Search};
use ranked::{Alternatives, Origin};
use target::Target;

/// Fits a model with a penalty.
///
/// # Errors
/// When the model is not linear in its parameters or its loss not convex, an option cannot stand beside a penalty, and as for
/// any fit.
pub(super) fn fit_penalized(
    model: &Model,
    rows: DataRows<'_>,
    penalty: &Penalty,
    options: &FitOptions,
) -> Result<Fit> {
    let task = FitTask { model, rows, loss: &options.loss };
    let mut target = Target::new(task, options)?;
    let chosen = chosen(&mut target, penalty, options)?;
    if penalty.refit_selected {
        return refitted(model, chosen.report, options, |part, options| fit_rows(part, rows, options));
    }
    let mut fit = assembled::fit(target, rows, chosen, options)?;
    let constraint = model.constraint();
    if fit.diagnostics.no_answer().is_none() {
        let theta = constraint.map_or_else(|| fit.theta(), |constraint| constraint.all(&fit.theta()));
        fit.at_rows = RowMeans::new(model.whole(), &theta, &fit, rows)?.map(Arc::new);
    }
    Ok(match constraint {
        Some(constraint) => constraint.expand(fit),
        None => fit,
    })
}

/// The estimates at the strength that was given, or that cross-validation chooses.
fn chosen(target: &mut Target<'_>, penalty: &Penalty, options: &FitOptions) -> Result<Chosen> {
    let factors = penalty.factors_of(target.model())?;
    let folds = match penalty.strength {
        Strength::Given(_) => None,
        _ => {
            let (units, dependence) = target.units();
            Some(Folds::new(units, dependence, target.noise_rows(), &options.context())?)
        }
    };
    if let Some(folds) = &folds {
        target.divide(folds)?;
    }
    Search { target, penalty, factors: &factors, options }.run(folds.as_ref())
}

/// Fits choices whose alternatives are rows with a penalty; `again` fits a part of the parameters without one.
///
/// # Errors
/// As for [`fit_penalized`], and where a feature never varies within a stratum.
pub(super) fn fit_strata<'a>(
    logit: ConditionalLogit<'a>,
    rows: DataRows<'a>,
    penalty: &Penalty,
    options: &FitOptions,
    again: impl FnOnce(&Model, &FitOptions) -> Result<Fit>,
) -> Result<Fit> {
    match fit_alternatives(Alternatives::new(logit, Origin::Rows(rows))?, penalty, options, again)? {
        (fit, Some(alternatives)) => alternatives.logit.finished(fit),
        (fit, None) => Ok(fit),
    }
}

/// Fits a conditional model by ranking with a penalty, and leaves what is said of the rows to others; `again` fits a part of the
/// parameters without one.
///
/// # Errors
/// As for [`fit_strata`].
pub(super) fn fit_ranked<'a>(
    logit: ConditionalLogit<'a>,
    ranked: Ranked,
    data: Data<'a>,
    penalty: &Penalty,
    options: &FitOptions,
    again: impl FnOnce(&Model, &FitOptions) -> Result<Fit>,
) -> Result<Fit> {
    let alternatives = Alternatives::new(logit, Origin::Noise(data, ranked))?;
    Ok(fit_alternatives(alternatives, penalty, options, again)?.0)
}

/// The penalised fit with its alternatives, or the refit of what was selected.
fn fit_alternatives<'a>(
    alternatives: Alternatives<'a>,
    penalty: &Penalty,
    options: &FitOptions,
    again: impl FnOnce(&Model, &FitOptions) -> Result<Fit>,
) -> Result<(Fit, Option<Box<Alternatives<'a>>>)> {
    let mut target = Target::ranked(alternatives, options)?;
    let chosen = chosen(&mut target, penalty, options)?;
    if penalty.refit_selected {
        return Ok((refitted(target.model(), chosen.report, options, again)?, None));
    }
    let Target::Ranked(alternatives) = target else {
        return Err(Error::internal("alternatives that became something else"));
    };
    Ok((assembled::among_alternatives(&alternatives, chosen, options)?, Some(alternatives)))
}

/// The fit without a penalty of the parameters that were selected, the others held at zero.
fn refitted(
    model: &Model,
    mut report: PenaltyReport,
    options: &FitOptions,
    again: impl FnOnce(&Model, &FitOptions) -> Result<Fit>,
) -> Result<Fit> {
    let left_out = model.parameters().iter().filter(|p| !report.selected.contains(&p.name));
    let zeros: Vec<(&str, f64)> = left_out.map(|p| (p.name.as_str(), 0.0)).collect();
    if zeros.len() == model.parameters().len() {
        let reason = "selected no parameter, so that there is nothing to refit: choose a smaller strength";
        return Err(Error::option("penalty", reason));
    }
    let part = model.clone().with_fixed(&zeros)?;
    let mut fit = again(&part, &FitOptions { penalty: None, ..options.clone() })?;
    report.refitted = true;
    fit.diagnostics.warn(assembled::after_selection(&report));
    fit.penalty = Some(report);
    Ok(fit)
}
