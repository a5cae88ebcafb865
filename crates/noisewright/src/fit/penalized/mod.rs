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
mod report;
mod target;

pub(crate) use folds::fold_numbers;
pub(crate) use penalty::wrong_factor;
pub use penalty::{Penalty, PenaltyKind, Strength};
pub use report::{PathPoint, PenaltyReport, StrengthRule};

use std::sync::Arc;

use super::data_rows::DataRows;
use super::estimate::FitTask;
use super::options::FitOptions;
use super::result::Fit;
use super::{RowMeans, fit_rows};
use crate::{Error, Model, Result};
use folds::Folds;
use path::Search;
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
    let factors = penalty.factors_of(model)?;
    let mut target = Target::new(task, options)?;
    let folds = match penalty.strength {
        Strength::Given(_) => None,
        _ => Some(Folds::new(rows.rows(), rows.dependence(), target.noise_rows(), &options.context())?),
    };
    if let Some(folds) = &folds {
        target.divide(folds)?;
    }
    let chosen = Search { target: &target, penalty, factors: &factors, options }.run(folds.as_ref())?;
    if penalty.refit_selected {
        return refitted(model, rows, chosen.report, options);
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

/// The fit without a penalty of the parameters that were selected, the others held at zero.
fn refitted(
    model: &Model,
    rows: DataRows<'_>,
    mut report: PenaltyReport,
    options: &FitOptions,
) -> Result<Fit> {
    let left_out = model.parameters().iter().filter(|p| !report.selected.contains(&p.name));
    let zeros: Vec<(&str, f64)> = left_out.map(|p| (p.name.as_str(), 0.0)).collect();
    if zeros.len() == model.parameters().len() {
        let reason = "selected no parameter, so that there is nothing to refit: choose a smaller strength";
        return Err(Error::option("penalty", reason));
    }
    let part = model.clone().with_fixed(&zeros)?;
    let mut fit = fit_rows(&part, rows, &FitOptions { penalty: None, ..options.clone() })?;
    report.refitted = true;
    fit.diagnostics.warn(assembled::after_selection(&report));
    fit.penalty = Some(report);
    Ok(fit)
}
