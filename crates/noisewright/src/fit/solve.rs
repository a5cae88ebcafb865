//! From a prepared loss to its minimum: which starts, which method, and whether there is more than one minimum.

use nalgebra::{DMatrix, DVector};

use super::bounds;
use super::chunk::{Place, Seen};
use super::newton::{Problem, Stop, newton};
use super::objective::Objective;
use super::options::{Options, Stage};
use super::polish::polish;
use super::result::Optimum;
use super::side::Side;
use super::starts;
use crate::Result;

/// A minimum in the solver's coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) at: DVector<f64>,
    pub(crate) iterations: usize,
    pub(crate) stop: Stop,
    /// Which unknowns are held at a bound.
    pub(crate) bound: Vec<bool>,
    pub(crate) optima: Vec<Optimum>,
}

/// Rows from which on a linear model is first fitted to a part of them.
const LARGE: usize = 1 << 15;
/// Rows of that part, per sample: this many at least, and so many per unknown.
const PART: (usize, usize) = (1 << 12, 100);

/// Minimises the loss; `start` are parameters of the model to begin with instead of its own.
///
/// # Errors
/// When no start has a finite loss, or the fit is cancelled.
pub(crate) fn solve(
    objective: &mut Objective<'_>,
    start: Option<&[f64]>,
    options: &Options,
) -> Result<Solution> {
    if !objective.linear {
        return starts::solve(objective, start, options);
    }
    let begin = linear_start(objective, start)?;
    let rows = objective.data.rows.min(objective.noise.rows);
    let wanted = PART.0.max(PART.1 * objective.size());
    let free = bounds::unbounded(objective.model);
    let mut solution =
        if objective.data.kept.is_some() && rows >= LARGE.max(4 * wanted) && free && start.is_none() {
            let pilot = pilot(objective, rows / wanted, &begin, options)?;
            match pilot {
                Some((at, hessian)) => large(objective, &at, &hessian, options)?,
                None => bounds::solve(objective, &begin, options)?,
            }
        } else {
            bounds::solve(objective, &begin, options)?
        };
    let loss = objective.evaluate(&solution.at, false)?.value;
    let at = objective.scaling.outer(solution.at.as_slice());
    solution.optima = vec![Optimum { at, loss, starts: 1 }];
    Ok(solution)
}

/// The minimum over a part of the rows, with the curvature there; `None` where it has none.
fn pilot(
    objective: &mut Objective<'_>,
    thin: usize,
    begin: &DVector<f64>,
    options: &Options,
) -> Result<Option<(DVector<f64>, DMatrix<f64>)>> {
    objective.thin = thin.max(1);
    // The part's own minimum is wanted no nearer than it is to that of all rows.
    let rough = Options { tolerance: options.tolerance.max(0.3), ..options.clone() };
    let found = newton(objective, begin, &rough, Stage::Pilot);
    let curvature = found.and_then(|found| Ok((objective.evaluate(&found.at, true)?, found)));
    objective.thin = 1;
    let (there, found) = curvature?;
    Ok(there.hessian.filter(|_| found.stop.converged()).map(|hessian| (found.at, hessian)))
}

/// All rows, from the pilot's minimum and curvature; the full curvature is computed only if that does not do.
fn large(
    objective: &Objective<'_>,
    at: &DVector<f64>,
    hessian: &DMatrix<f64>,
    options: &Options,
) -> Result<Solution> {
    if let Some(found) = polish(objective, at, hessian, options)? {
        let bound = vec![false; at.len()];
        let iterations = found.iterations;
        return Ok(Solution { at: found.at, iterations, stop: found.stop, bound, optima: Vec::new() });
    }
    bounds::solve(objective, at, options)
}

/// Where a linear model starts: the given parameters, or none of its features (for a normalized one its start values),
/// with a constant that puts data and noise on both sides of zero.
fn linear_start(objective: &Objective<'_>, start: Option<&[f64]>) -> Result<DVector<f64>> {
    let model = objective.model;
    let theta = match start {
        Some(theta) => theta.to_vec(),
        None if model.is_normalized() => model.start(),
        None => model.parameters().iter().map(|p| 0f64.clamp(p.lower, p.upper)).collect(),
    };
    with_constant(objective, &theta)
}

/// The solver's coordinates of some parameters, with a constant between the mean log ratios of data and noise.
pub(crate) fn with_constant(objective: &Objective<'_>, theta: &[f64]) -> Result<DVector<f64>> {
    let mut outer = theta.to_vec();
    if objective.model.is_normalized() {
        return Ok(DVector::from_vec(objective.scaling.inner(&outer)));
    }
    outer.push(0.0);
    let inner = objective.scaling.inner(&outer);
    if let Some(place) = Place::new(objective, &inner) {
        let means = [
            mean_log_ratio(objective, &objective.data, &place),
            mean_log_ratio(objective, &objective.noise, &place),
        ];
        if let [Ok(Some(data)), Ok(Some(noise))] = means {
            outer[theta.len()] += f64::midpoint(data, noise);
        }
    }
    Ok(DVector::from_vec(objective.scaling.inner(&outer)))
}

/// The mean of the finite log ratios of a sample.
fn mean_log_ratio<'a>(objective: &Objective<'a>, side: &Side<'a>, place: &Place) -> Result<Option<f64>> {
    let add = |total: &mut (f64, f64), seen: &Seen<'_>| {
        for g in seen.log_ratio.iter().filter(|g| g.is_finite()) {
            *total = (total.0 + g, total.1 + 1.0);
        }
        Ok(())
    };
    let (sum, count) = objective.fold(side, place, || (0.0, 0.0), add, |a, b| (a.0 + b.0, a.1 + b.1))?;
    Ok((count > 0.0).then_some(sum / count))
}
