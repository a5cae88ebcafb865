//! BFGS: steps by gradients alone with an inverse Hessian that is corrected as it goes (Nocedal and Wright 2006, §6.1).

use nalgebra::{DMatrix, DVector};

use super::{Descent, DescentOptions, Problem, Stop};
use crate::linalg::inverse;

/// Gradient passes after which the exact Hessian is cheaper: it costs some ten of them for ten unknowns, and more for more.
const MOST_PASSES: usize = 12;
/// One more pass for so many unknowns.
const UNKNOWNS_PER_PASS: usize = 32;
/// Most halvings of a step.
const HALVINGS: usize = 4;
/// How near the minimum a step must be, in standard errors, for one Newton step after it to finish it: the error of that
/// step is of the second order, 1e-5 of a standard error.
const NEAR: f64 = 3e-3;
/// Share of `|s||y|` below which `sᵀy` is rounding and would blow up the inverse.
const CURVATURE: f64 = 1e-12;

/// Descends from `at`, near the minimum, where the Hessian is about `hessian`; `None` when that fails.
///
/// # Errors
/// Those of an evaluation or of the watch.
pub fn bfgs<P: Problem + ?Sized>(
    problem: &P,
    at: &DVector<f64>,
    hessian: &DMatrix<f64>,
    options: &DescentOptions<'_, P::Error>,
) -> Result<Option<Descent>, P::Error> {
    let Some(mut inverse) = hessian.clone().cholesky().map(|factor| inverse(&factor)) else {
        return Ok(None);
    };
    let mut at = at.clone();
    let mut here = problem.evaluate(&at, false)?;
    let most = MOST_PASSES + at.len() / UNKNOWNS_PER_PASS;
    let mut halvings = 0;
    let mut step = -(&inverse * &here.gradient);
    for iterations in 1..=most {
        (options.watch)(iterations, here.value)?;
        let length = (-here.gradient.dot(&step) * problem.rows()).max(0.0).sqrt();
        if length.is_nan() {
            return Ok(None);
        }
        if halvings == 0 && length <= options.tolerance.max(NEAR) {
            let (at, value) = (at + step, here.value);
            return Ok(Some(Descent { at, value, iterations, stop: Stop::Converged, last: here }));
        }
        let place = &at + &step;
        let next = problem.evaluate(&place, false)?;
        if next.value > here.value + problem.rounding() * here.value.abs() || !next.value.is_finite() {
            if halvings == HALVINGS {
                return Ok(None);
            }
            halvings += 1;
            step *= 0.5;
            continue;
        }
        update_inverse(&mut inverse, &step, &(&next.gradient - &here.gradient));
        (at, here, halvings) = (place, next, 0);
        step = -(&inverse * &here.gradient);
    }
    Ok(None)
}

/// The BFGS update of an inverse Hessian after a step and the change of the gradient along it; none where the curvature
/// along the step is not positive beyond rounding.
///
/// ```
/// use nalgebra::{DMatrix, dvector};
/// use noisewright_numerics::optimize::update_inverse;
/// let mut inverse = DMatrix::identity(2, 2);
/// let (step, change) = (dvector![1.0, 0.0], dvector![4.0, 1.0]);
/// update_inverse(&mut inverse, &step, &change);
/// assert!((inverse * change - step).norm() < 1e-14); // the secant equation
/// ```
pub fn update_inverse(inverse: &mut DMatrix<f64>, step: &DVector<f64>, change: &DVector<f64>) {
    let along = step.dot(change);
    if along.is_nan() || along <= CURVATURE * step.norm() * change.norm() {
        return;
    }
    let bent = &*inverse * change;
    let factor = (1.0 + change.dot(&bent) / along) / along;
    *inverse += step * step.transpose() * factor;
    *inverse -= (&bent * step.transpose() + step * bent.transpose()) / along;
}
