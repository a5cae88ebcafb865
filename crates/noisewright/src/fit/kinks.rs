//! Searches that end at a kink: whether the place is a minimum though the gradient does not vanish there.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{Problem, SampledMinimum, Stop, gradient_sampling};
use rand_distr::{Distribution, StandardNormal};

use super::curvature::Seen;
use super::result::Optimum;
use super::solve::Solution;
use crate::run::Purpose;
use crate::{Error, Result};

/// Most unknowns for which gradients are sampled, two for each in every step.
const MOST_UNKNOWNS: usize = 24;
/// Length of the shortest subgradient at a minimum, in standard errors of the step that it asks for.
const NEAR: f64 = 1e-2;
/// Standard errors that a minimum may be from where a search ended.
const MOVED: f64 = 0.1;
/// Steps of a descent of the averaged loss.
const SMOOTHED_STEPS: usize = 12;
/// Pairs of places that it is averaged over.
const SMOOTHED_PAIRS: usize = 12;
/// How far these are in every unknown, in standard errors.
const AROUND: f64 = 0.2;
/// Minima of a loss with kinks are one when they are within this many standard errors of one another.
const SAME: f64 = 0.5;
/// And their losses within this much of a log-likelihood.
const SAME_LOSS: f64 = 1e-2;

/// Ends a search that found no way down, where that is because it is at a kink: goes down by gradient sampling, and says
/// that it has converged where zero is among the subgradients, or next to it where kinks are many. `information` is
/// `E[wψψᵀ]` where the search ended.
///
/// # Errors
/// When the loss cannot be evaluated.
pub(crate) fn settle(
    problem: &dyn Problem<Error = Error>,
    mut solution: Solution,
    information: &DMatrix<f64>,
) -> Result<Solution> {
    let Some(unit) = standard_errors(problem, information) else { return Ok(solution) };
    if solution.bound.contains(&true) {
        return Ok(solution);
    }
    // A search of a smooth loss that was cut short has not converged, even where it is within a part of a standard error of a minimum.
    let cut = solution.stop == Stop::StepLimit && !has_kinks(problem, &solution.at, information)?;
    if matches!(solution.stop, Stop::NoDescent | Stop::StepLimit) && !cut {
        let sampled = match unit.len() {
            0..=MOST_UNKNOWNS => Some(descend(problem, &solution.at, &unit)?),
            _ => None,
        };
        let end = match sampled.filter(|found| found.stop.converged()) {
            Some(found) => Some(&solution.at + found.at.component_mul(&unit)),
            None => smoothed(problem, &solution.at, information)?,
        };
        if let Some(end) = end {
            (solution.at, solution.stop) = (end, Stop::Converged);
        }
    }
    if solution.stop.converged() && solution.optima.len() > 1 {
        merge(problem, &mut solution, &unit)?;
    }
    Ok(solution)
}

/// Whether the second derivatives at a place are not those of the loss over the width of a standard error.
fn has_kinks(
    problem: &dyn Problem<Error = Error>,
    at: &DVector<f64>,
    information: &DMatrix<f64>,
) -> Result<bool> {
    let Some(observed) = problem.evaluate(at, true)?.hessian else { return Ok(false) };
    let free: Vec<usize> = (0..at.len()).collect();
    let seen = Seen { observed: &observed, expected: information, at, free: &free, rows: problem.rows() };
    seen.has_kinks(&|at| {
        let there = problem.evaluate(at, false)?;
        Ok(there.value.is_finite().then_some(there.gradient))
    })
}

/// Whether a place where the gradient does not vanish is a minimum at a kink, from which gradient sampling does not move
/// by a tenth of a standard error.
///
/// # Errors
/// When the loss cannot be evaluated.
pub(crate) fn is_minimum(
    problem: &dyn Problem<Error = Error>,
    at: &DVector<f64>,
    information: Option<&DMatrix<f64>>,
) -> Result<bool> {
    let Some(information) = information else { return Ok(false) };
    let Some(unit) = standard_errors(problem, information) else { return Ok(false) };
    if unit.len() <= MOST_UNKNOWNS {
        let found = descend(problem, at, &unit)?;
        if found.stop.converged() && found.at.amax() < MOVED {
            return Ok(true);
        }
    }
    let end = smoothed(problem, at, information)?;
    Ok(end.is_some_and(|end| (end - at).component_div(&unit).amax() < MOVED))
}

/// Descends a loss with kinks, one at every row and each as small as a row's share: averaged over places a fifth of a standard error
/// around, it is smooth, with the information as its curvature. The minimum, where Newton's steps of the average end within a
/// tenth of a standard error of it in every unknown.
fn smoothed(
    problem: &dyn Problem<Error = Error>,
    start: &DVector<f64>,
    information: &DMatrix<f64>,
) -> Result<Option<DVector<f64>>> {
    let Some(factor) = information.clone().cholesky() else { return Ok(None) };
    let reach = AROUND / problem.rows().sqrt();
    let mut random = Purpose::FitStarts.stream(0, 1);
    let mut at = start.clone();
    for _ in 0..SMOOTHED_STEPS {
        let mut gradient = DVector::zeros(start.len());
        for _ in 0..SMOOTHED_PAIRS {
            let z = DVector::from_fn(start.len(), |_, _| StandardNormal.sample(&mut random));
            let Some(off) = factor.l().tr_solve_lower_triangular(&z) else { return Ok(None) };
            for sign in [-1.0, 1.0] {
                gradient += problem.evaluate(&(&at + &off * (sign * reach)), false)?.gradient;
            }
        }
        gradient /= 2.0 * SMOOTHED_PAIRS as f64;
        let step = factor.solve(&gradient);
        let far = (problem.rows() * gradient.dot(&step)).sqrt();
        if far < MOVED * (start.len() as f64).sqrt() {
            return Ok(Some(at));
        }
        if !far.is_finite() {
            return Ok(None);
        }
        at -= step;
    }
    Ok(None)
}

/// A step of one standard error in every unknown, the others held; `None` where there is none.
fn standard_errors(problem: &dyn Problem<Error = Error>, information: &DMatrix<f64>) -> Option<DVector<f64>> {
    let size = information.nrows();
    let sound = (0..size).all(|j| information[(j, j)] > 0.0 && information[(j, j)].is_finite());
    let unit = |j: usize| 1.0 / (problem.rows() * information[(j, j)]).sqrt();
    sound.then(|| DVector::from_fn(size, |j, _| unit(j)))
}

/// Gradient sampling in units of standard errors: there the loss, summed over the rows, bends by about one.
fn descend(
    problem: &dyn Problem<Error = Error>,
    start: &DVector<f64>,
    unit: &DVector<f64>,
) -> Result<SampledMinimum> {
    let rows = problem.rows();
    gradient_sampling(start.len(), NEAR, |step| {
        let there = problem.evaluate(&(start + step.component_mul(unit)), false)?;
        let gradient = there.gradient.component_mul(unit) * rows;
        Ok(there.value.is_finite().then_some((there.value * rows, gradient)))
    })
}

/// Ends of searches within half a standard error of the best, and no better or worse by a hundredth of a log-likelihood, are
/// that minimum: searches end beside a kink rather than at it, and between two rows a loss may be flat.
fn merge(problem: &dyn Problem<Error = Error>, solution: &mut Solution, unit: &DVector<f64>) -> Result<()> {
    let loss = problem.evaluate(&solution.at, false)?.value;
    let near = |optimum: &Optimum| {
        let apart = optimum.at.iter().zip(solution.at.iter()).zip(unit.iter());
        let far = apart.map(|((a, b), unit)| ((a - b) / unit).abs()).fold(0.0, f64::max);
        far < SAME && (optimum.loss - loss).abs() * problem.rows() < SAME_LOSS
    };
    let (same, mut others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut solution.optima).into_iter().partition(near);
    let starts = same.iter().map(|optimum| optimum.starts).sum::<usize>().max(1);
    others.insert(0, Optimum { at: solution.at.as_slice().to_vec(), loss, starts });
    solution.optima = others;
    Ok(())
}
