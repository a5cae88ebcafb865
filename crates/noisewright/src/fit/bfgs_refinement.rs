//! The last steps over many rows by gradients alone: the curvature of a part of the rows, corrected as it goes (BFGS).

use nalgebra::{DMatrix, DVector};

use super::newton::{Descent, Problem, Stop};
use super::options::FitOptions;
use crate::Result;
use crate::run::Stage;

/// Gradient passes after which the full curvature is cheaper.
const MOST_PASSES: usize = 12;
/// How near the minimum a step must be, in standard errors, for the Newton step that follows to finish it.
const NEAR: f64 = 3e-3;

/// Descends from `at`, near the minimum, with an approximate curvature; `None` when that fails.
pub(crate) fn polish(
    problem: &dyn Problem,
    at: &DVector<f64>,
    hessian: &DMatrix<f64>,
    options: &FitOptions,
) -> Result<Option<Descent>> {
    let Some(mut inverse) = hessian.clone().cholesky().map(|c| c.inverse()) else { return Ok(None) };
    let mut at = at.clone();
    let mut here = problem.evaluate(&at, false)?;
    for pass in 1..=MOST_PASSES {
        options.report(Stage::Descent, pass, here.value)?;
        let step = -(&inverse * &here.gradient);
        let length = (-here.gradient.dot(&step) * problem.rows()).max(0.0).sqrt();
        if length.is_nan() {
            return Ok(None);
        }
        if length <= options.tolerance.max(NEAR) {
            return Ok(Some(Descent {
                at: at + step,
                value: here.value,
                iterations: pass,
                stop: Stop::Converged,
            }));
        }
        let place = &at + &step;
        let next = problem.evaluate(&place, false)?;
        if next.value > here.value + 1e-12 * here.value.abs() || !next.value.is_finite() {
            return Ok(None);
        }
        learn(&mut inverse, &step, &(&next.gradient - &here.gradient));
        (at, here) = (place, next);
    }
    Ok(None)
}

/// The BFGS update of an inverse curvature.
fn learn(inverse: &mut DMatrix<f64>, step: &DVector<f64>, change: &DVector<f64>) {
    let along = step.dot(change);
    if along.is_nan() || along <= 1e-12 * step.norm() * change.norm() {
        return;
    }
    let bent = &*inverse * change;
    let factor = (1.0 + change.dot(&bent) / along) / along;
    *inverse += step * step.transpose() * factor;
    *inverse -= (&bent * step.transpose() + step * bent.transpose()) / along;
}
