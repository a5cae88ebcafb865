//! Many rows: a search over a part of them, and then as few passes over all as can be.
//!
//! The minimum over a part is `√(k n / n_part)` standard errors from that over all n rows, and its curvature differs from
//! theirs by a share of about `√(k / n_part)`. BFGS with that curvature comes nearer by this share in every pass, so that
//! some five gradients over all rows, whatever their number, do what Newton's method does with five Hessians; the curvature
//! at the end, which the standard errors need anyway, makes the last step.

use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{Descent, Problem, bfgs, newton};

use super::distributed::{once_by, partial_fields};
use super::objective::Objective;
use super::options::FitOptions;
use super::part::Part;
use super::result::Optimum;
use super::solve::{Solution, limits, search, with_optimum};
use crate::Result;
use crate::run::{Progress, Stage, if_possible};

/// Rows of both samples together from which on a part of them is searched first.
const LARGE: usize = 1 << 16;
/// How many times the rows of that part there must be.
const TIMES: usize = 8;
/// Rows of that part, of each sample, at least.
const PART_ROWS: usize = 1 << 12;
/// And so many per unknown.
const PART_ROWS_PER_UNKNOWN: usize = 8;
/// The second part, whose curvature a linear model takes, is one row in so many.
const LARGER_PART: usize = 6;
/// Values of features of the second part, at most: more would cost memory and gain no pass.
const LARGER_VALUES: usize = 1 << 24;
/// Accuracy of the minimum over a part of a linear model, in its standard errors: all rows have theirs elsewhere.
const ROUGH: f64 = 0.3;
/// Squared distance in standard errors below which two ends of searches over all rows are one.
const SAME: f64 = 1e-2;

/// How far a search over many rows has come.
pub(super) enum Begun {
    /// To the minimum.
    Done(Box<Solution>),
    /// Near it: to these unknowns, in the model's coordinates.
    Near(Vec<Vec<f64>>),
    /// There are too few rows for a part, or a part does not tell.
    Nowhere,
}

/// A minimum over a part of the rows with the curvature there.
struct Pilot {
    at: DVector<f64>,
    hessian: DMatrix<f64>,
}

partial_fields!(Pilot { at, hessian });

/// Searches a part of the rows and, from the minima there, all of them.
///
/// # Errors
/// When the loss cannot be evaluated, or the fit is cancelled.
pub(super) fn begin_with_parts(
    objective: &Objective<'_>,
    start: Option<&[f64]>,
    options: &FitOptions,
) -> Result<Begun> {
    let (data, noise) = (objective.data.rows, objective.noise.rows);
    let wanted = PART_ROWS.max(PART_ROWS_PER_UNKNOWN * objective.size());
    let small = (data.min(wanted), noise.min(wanted));
    if data + noise < LARGE.max(TIMES * (small.0 + small.1)) {
        return Ok(Begun::Nowhere);
    }
    let most = (LARGER_VALUES / (2 * objective.size())).max(2 * wanted);
    let larger = |rows: usize| rows.min((rows / LARGER_PART).clamp(wanted, most));
    if objective.linear && !objective.model.is_normalized() {
        return linear(objective, start, (small, (larger(data), larger(noise))), options);
    }
    // The replicas of a distributed fit take the minima from its log.
    let minima = once_by(objective.data.host(), || first_minima(objective, start, small, options))?;
    let Some((minima, places)) = minima else { return Ok(Begun::Nowhere) };
    let mut ends = Vec::new();
    for pilot in minima {
        match all(objective, &pilot, options)? {
            Some(end) => ends.push((end, pilot.hessian)),
            None => return Ok(Begun::Near(places)),
        }
    }
    Ok(distinct(objective, ends).map_or(Begun::Near(places), |found| Begun::Done(Box::new(found))))
}

/// Minima over a part, and their places in the model's coordinates.
type Minima = (Vec<Pilot>, Vec<Vec<f64>>);

/// The minima over a part and, in the model's coordinates, their places; no minima where the curvature at one is unknown, or
/// a bound holds.
fn first_minima(
    objective: &Objective<'_>,
    start: Option<&[f64]>,
    rows: (usize, usize),
    options: &FitOptions,
) -> Result<Option<Minima>> {
    let Some(part) = Part::of(objective, rows) else { return Ok(None) };
    let part = part.objective(objective)?;
    let steps = AtomicUsize::new(0);
    let pilot = options
        .telling(move || Progress::of_stage(Stage::Pilot, steps.fetch_add(1, Ordering::Relaxed), None));
    let Some(found) = if_possible(search(&part, start, None, &pilot))?.filter(|f| f.stop.converged()) else {
        return Ok(None);
    };
    let places: Vec<Vec<f64>> = found.optima.iter().map(|optimum| optimum.at.clone()).collect();
    let mut minima = Vec::new();
    for place in places.iter().filter(|_| !found.bound.contains(&true)) {
        let at = DVector::from_vec(objective.scaling.inner(place));
        let there = part.evaluate(&at, true)?;
        match there.hessian.filter(|_| there.value.is_finite()) {
            Some(hessian) => minima.push(Pilot { at, hessian }),
            None => return Ok(Some((Vec::new(), places))),
        }
    }
    Ok(Some((minima, places)))
}

/// A linear model with a free constant: Newton's method on a small part, then a larger one for its curvature, then all.
fn linear(
    objective: &Objective<'_>,
    start: Option<&[f64]>,
    (small, larger): ((usize, usize), (usize, usize)),
    options: &FitOptions,
) -> Result<Begun> {
    let pilot = once_by(objective.data.host(), || linear_pilot(objective, start, (small, larger), options))?;
    let Some(pilot) = pilot else { return Ok(Begun::Nowhere) };
    let near = || Begun::Near(vec![objective.scaling.outer(pilot.at.as_slice())]);
    let Some(found) = all(objective, &pilot, options)? else { return Ok(near()) };
    let bound = vec![false; found.at.len()];
    let Descent { at, iterations, stop, .. } = found;
    let solution = Solution { at, iterations, stop, bound, optima: Vec::new() };
    Ok(Begun::Done(Box::new(with_optimum(objective, solution))))
}

/// The minimum over the larger of two parts, with its curvature.
fn linear_pilot(
    objective: &Objective<'_>,
    start: Option<&[f64]>,
    (small, larger): ((usize, usize), (usize, usize)),
    options: &FitOptions,
) -> Result<Option<Pilot>> {
    let rough = FitOptions { tolerance: options.tolerance.max(ROUGH), ..options.clone() };
    let first = match Part::of(objective, small) {
        Some(part) => newton_on(&part.objective(objective)?, None, start, &rough)?,
        None => return Ok(None),
    };
    let Some(part) = Part::of(objective, larger) else { return Ok(first) };
    let part = part.objective(objective)?;
    match first {
        Some(near) => refined(&part, near, &rough),
        None => newton_on(&part, None, start, &rough),
    }
}

/// The minimum over a part by Newton's method.
fn newton_on(
    part: &Objective<'_>,
    near: Option<DVector<f64>>,
    start: Option<&[f64]>,
    options: &FitOptions,
) -> Result<Option<Pilot>> {
    let begin = match near {
        Some(near) => near,
        None => super::solve::linear_start(part, start)?,
    };
    let found = options.descent(Stage::Pilot, |o| newton(part, &begin, o))?;
    let Descent { at, stop, last, .. } = found;
    Ok(last.hessian.filter(|_| stop.converged()).map(|hessian| Pilot { at, hessian }))
}

/// The minimum over a larger part from that over a smaller one: by gradients, and one curvature at the end.
fn refined(part: &Objective<'_>, near: Pilot, options: &FitOptions) -> Result<Option<Pilot>> {
    let found = options.descent(Stage::Pilot, |o| bfgs(part, &near.at, &near.hessian, o))?;
    let Some(found) = found else { return newton_on(part, Some(near.at), None, options) };
    let there = part.evaluate(&found.at, true)?;
    Ok(there.hessian.map(|hessian| Pilot { at: found.at, hessian }))
}

/// All rows, from near the minimum with about the curvature there; `None` where that fails or leads across a bound.
fn all(objective: &Objective<'_>, pilot: &Pilot, options: &FitOptions) -> Result<Option<Descent>> {
    let found = options.descent(Stage::Descent, |o| bfgs(objective, &pilot.at, &pilot.hessian, o))?;
    let limits = limits(objective.model, &objective.scaling.scale);
    let inside =
        |at: &DVector<f64>| limits.iter().zip(at.iter()).all(|((lower, upper), x)| lower <= x && x <= upper);
    Ok(found.filter(|found| inside(&found.at)))
}

/// The minimum of a model that is not linear over all rows, from near it with about the curvature there; `None` where that fails.
///
/// # Errors
/// When the loss cannot be evaluated, or the fit is cancelled.
pub(super) fn from_near(
    objective: &Objective<'_>,
    at: &DVector<f64>,
    hessian: &DMatrix<f64>,
    options: &FitOptions,
) -> Result<Option<Solution>> {
    let pilot = Pilot { at: at.clone(), hessian: hessian.clone() };
    let end = all(objective, &pilot, options)?;
    Ok(end.and_then(|end| distinct(objective, vec![(end, pilot.hessian)])))
}

/// The best end of the searches over all rows, with the minima that are not the same.
fn distinct(objective: &Objective<'_>, mut ends: Vec<(Descent, DMatrix<f64>)>) -> Option<Solution> {
    ends.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
    let mut kept: Vec<(Descent, usize)> = Vec::new();
    for (mut end, hessian) in ends {
        let count = objective.model.parameters().len();
        objective.model.energy().canonical(&mut end.at.as_mut_slice()[..count]);
        let near = |known: &Descent| {
            let apart = &known.at - &end.at;
            apart.dot(&(&hessian * &apart)).abs() * objective.data.total < SAME
        };
        match kept.iter_mut().find(|(known, _)| near(known)) {
            Some((_, starts)) => *starts += 1,
            None => kept.push((end, 1)),
        }
    }
    let optimum = |(end, starts): &(Descent, usize)| Optimum {
        at: objective.scaling.outer(end.at.as_slice()),
        loss: end.value,
        starts: *starts,
    };
    let optima = kept.iter().map(optimum).collect();
    let iterations = kept.iter().map(|(end, _)| end.iterations).sum();
    let best = kept.into_iter().next()?.0;
    let bound = vec![false; best.at.len()];
    Some(Solution { at: best.at, iterations, stop: best.stop, bound, optima })
}
