//! Penalised estimates as a fit: without standard errors after a selection, with those that leave out the bias after shrinkage.

use nalgebra::{DMatrix, DVector};

use super::path::Chosen;
use super::penalty::PenaltyKind;
use super::ranked::Alternatives;
use super::report::PenaltyReport;
use super::target::Target;
use crate::fit::covariance::{self, Covariance, invert_free};
use crate::fit::data_rows::DataRows;
use crate::fit::diagnostics::{Diagnostics, Finding, Remedy, Warning};
use crate::fit::estimate::{Compared, Contrasted, Found};
use crate::fit::objective::{Objective, Order};
use crate::fit::options::FitOptions;
use crate::fit::result::Fit;
use crate::{Error, Result};

/// The fit.
pub(super) fn fit(
    target: Target<'_>,
    rows: DataRows<'_>,
    chosen: Chosen,
    options: &FitOptions,
) -> Result<Fit> {
    let mut said = Diagnostics::default();
    let mut fit = match target {
        Target::Contrast(objective, compared, _) => {
            against_noise(*objective, compared, rows, &chosen, options, &mut said)?
        }
        Target::Likelihood(enumerated, _) => {
            let theta: Vec<f64> =
                chosen.minimum.at.iter().zip(&enumerated.scale).map(|(x, s)| x / s).collect();
            let bend = DMatrix::from_diagonal(&DVector::from_fn(theta.len(), |j, _| {
                chosen.penalty.ridge[j] * enumerated.scale[j].powi(2)
            }));
            let held = held(&chosen);
            let shrunk = chosen.report.kind == PenaltyKind::Ridge;
            let found = enumerated.likelihood.found(&theta, &held, shrunk.then_some(&bend), options)?;
            let found = found.after(chosen.minimum.iterations, chosen.minimum.stop);
            let words = enumerated.likelihood.words();
            let with = Compared::undrawn(f64::INFINITY, 0, words, "likelihood".into());
            found.fit(enumerated.likelihood.model(), rows, with, options.confidence)
        }
        Target::Ranked(_) => return Err(Error::internal("alternatives among rows that have none")),
    };
    said.warn(about_errors(&chosen.report));
    fit.diagnostics = said;
    fit.penalty = Some(chosen.report);
    Ok(fit)
}

/// The fit of rows among their alternatives, of which only the penalty's part is said.
pub(super) fn among_alternatives(
    alternatives: &Alternatives<'_>,
    chosen: Chosen,
    options: &FitOptions,
) -> Result<Fit> {
    let scales = &alternatives.scale;
    let theta = DVector::from_fn(scales.len(), |j, _| chosen.minimum.at[j] / scales[j]);
    let (held, size) = (held(&chosen), theta.len());
    let (covariance, hessian) = match chosen.report.kind {
        PenaltyKind::Lasso => (Covariance::unknown(size), unknown(size)),
        PenaltyKind::Ridge => {
            let there = alternatives.logit.weighted(&theta, true, None, None)?;
            let hessian = there.hessian.ok_or(Error::NoMass)?;
            let bend = DVector::from_fn(size, |j, _| chosen.penalty.ridge[j] * scales[j].powi(2));
            let free: Vec<usize> = (0..size).filter(|j| !held[*j]).collect();
            let bread = invert_free(&(&hessian + DMatrix::from_diagonal(&bend)), &free)
                .map_err(|_| Error::internal("a penalised loss without curvature"))?;
            (alternatives.covariance(theta.as_slice(), &bread, options)?, hessian)
        }
    };
    let found = of_minimum(&chosen, theta.as_slice().to_vec(), held, covariance, hessian);
    let mut fit = alternatives.fit(found, options);
    fit.diagnostics.warn(about_errors(&chosen.report));
    fit.penalty = Some(chosen.report);
    Ok(fit)
}

/// What the chosen strength's descent found, in the model's coordinates.
fn of_minimum(
    chosen: &Chosen,
    values: Vec<f64>,
    held: Vec<bool>,
    covariance: Covariance,
    hessian: DMatrix<f64>,
) -> Found {
    let minimum = &chosen.minimum;
    Found::minimum(values, held, minimum.value, covariance, hessian).after(minimum.iterations, minimum.stop)
}

/// What a penalty does to the standard errors.
fn about_errors(report: &PenaltyReport) -> Warning {
    match report.kind {
        PenaltyKind::Lasso => no_errors(report),
        PenaltyKind::Ridge => {
            Warning::new(Finding::BiasLeftOut { strength: report.strength }, [Remedy::NoPenalty])
        }
    }
}

/// Which unknowns are at a bound that keeps them from where they would go.
fn held(chosen: &Chosen) -> Vec<bool> {
    let at = chosen.minimum.at.iter().zip(&chosen.penalty.limits);
    at.map(|(x, (lower, upper))| *x != 0.0 && (x == lower || x == upper)).collect()
}

/// The estimates of a loss against noise.
fn against_noise(
    objective: Objective<'_>,
    compared: Compared,
    rows: DataRows<'_>,
    chosen: &Chosen,
    options: &FitOptions,
    said: &mut Diagnostics,
) -> Result<Fit> {
    let (at, held) = (chosen.minimum.at.clone(), held(chosen));
    let values = objective.scaling.outer(at.as_slice());
    let (covariance, hessian) = match chosen.report.kind {
        PenaltyKind::Lasso => (Covariance::unknown(values.len()), unknown(values.len())),
        PenaltyKind::Ridge => ridge_covariance(&objective, rows, chosen, &held, options)?,
    };
    let found = of_minimum(chosen, values, held.clone(), covariance, hessian);
    let fit = found.fit(objective.model, rows, compared, options.confidence);
    said.read_penalized(objective.model, &fit);
    let basis = Contrasted { objective, at, held, hessian: DMatrix::zeros(0, 0), separation: None };
    basis.existence(&fit, said)?;
    Ok(fit)
}

/// A matrix of which nothing is known.
fn unknown(size: usize) -> DMatrix<f64> {
    DMatrix::from_element(size, size, f64::NAN)
}

/// `(H + λF)⁻¹ V (H + λF)⁻¹`: the spread of the shrunken estimates around what they tend to, which is not the truth.
fn ridge_covariance(
    objective: &Objective<'_>,
    rows: DataRows<'_>,
    chosen: &Chosen,
    held: &[bool],
    options: &FitOptions,
) -> Result<(Covariance, DMatrix<f64>)> {
    let at = chosen.minimum.at.as_slice();
    let full = objective.full(at, Order::Meat)?;
    let hessian = full.evaluation.hessian.clone().ok_or(Error::NoMass)?;
    let free: Vec<usize> = (0..objective.size()).filter(|j| !held[*j]).collect();
    let bend = DMatrix::from_diagonal(&DVector::from_column_slice(&chosen.penalty.ridge));
    let bread = invert_free(&(&hessian + bend), &free)
        .map_err(|_| Error::internal("a penalised loss without curvature"))?;
    let covariance = covariance::parts(objective, &full, &bread, at, rows, options)?;
    Ok((covariance, objective.scaling.outer_hessian(&hessian)))
}

/// That there are no standard errors after a selection.
fn no_errors(report: &PenaltyReport) -> Warning {
    let selected = report.selected.len();
    Warning::new(Finding::SelectedByLasso { selected, strength: report.strength }, [Remedy::RefitSelected])
}

/// That the standard errors of a refit do not know of the selection.
pub(super) fn after_selection(report: &PenaltyReport) -> Warning {
    Warning::new(Finding::AfterSelection { selected: report.selected.len() }, [Remedy::OtherRows])
}
