//! From a prepared loss to its minimum: which starts, which method, and whether there is more than one minimum.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{
    BoxMinimum, DescentOptions, Problem, Stop, bfgs, minimize_in_box, newton,
};

use super::evaluate::{ChunkView, ParameterPoint};
use super::kinks;
use super::multistart;
use super::no_start;
use super::objective::{Objective, Order};
use super::options::FitOptions;
use super::result::Optimum;
use super::sample_blocks::SampleBlocks;
use super::start_values::{self, Few};
use crate::run::Stage;
use crate::{Error, Loss, Model, Result};

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
const PART: (usize, usize) = (1 << 12, 60);
/// The larger part is one row in so many.
const LARGER_PART: usize = 6;

/// Minimises the loss; `start` are unknowns to begin with instead of the model's own start.
///
/// # Errors
/// When no start has a finite loss, or the fit is cancelled.
pub(crate) fn solve(
    objective: &mut Objective<'_>,
    start: Option<&[f64]>,
    options: &FitOptions,
) -> Result<Solution> {
    let convex = objective.linear && is_convex(&objective.loss);
    if !convex && !objective.loss.is_js() && start.is_none() {
        let near = by_js(objective, options)?;
        return solve(objective, Some(&near), options);
    }
    if !objective.linear {
        let begin = |theta: &[f64]| with_constant(objective, theta);
        let places = places(objective, start, options)?;
        let found = multistart::solve(objective, objective.model, &begin, &places, options)?;
        let found = found.ok_or_else(|| no_start::explain(objective))?;
        return settled(objective, found);
    }
    if objective.model.is_normalized() {
        return linear_normalized(objective, start, options);
    }
    let rows = objective.data.rows.min(objective.noise.rows);
    let wanted = PART.0.max(PART.1 * objective.size());
    let begin = if objective.data.kept.is_some() && rows >= LARGE.max(8 * wanted) {
        match large(objective, start, rows / wanted, options)? {
            Begun::Done(solution) => return Ok(*solution),
            Begun::Near(at) => at,
        }
    } else {
        linear_start(objective, start)?
    };
    let limits = limits(objective.model, &objective.scaling.scale);
    let solution = in_box(objective, &limits, &begin, options)?;
    Ok(with_optimum(objective, solution))
}

/// A search that found no way down has converged where that is a minimum at a kink.
fn settled(objective: &Objective<'_>, found: Solution) -> Result<Solution> {
    if found.stop.converged() && found.optima.len() == 1 {
        return Ok(found);
    }
    match objective.full(found.at.as_slice(), Order::Hessian)?.information {
        Some(information) => kinks::settle(objective, found, &information),
        None => Ok(found),
    }
}

impl FitOptions {
    /// Runs a numerical method with the tolerance, the step limit and the progress of these options.
    pub(crate) fn descent<T>(
        &self,
        stage: Stage,
        run: impl FnOnce(&DescentOptions<'_, Error>) -> Result<T>,
    ) -> Result<T> {
        let watch = |iteration: usize, value: f64| self.report(stage, iteration, value);
        let (tolerance, max_iterations) = (self.tolerance, self.max_iterations);
        run(&DescentOptions { tolerance, max_iterations, watch: &watch })
    }
}

/// The bounds in the solver's coordinates, which are the model's but for a positive factor.
pub(crate) fn limits(model: &Model, scale: &[f64]) -> Vec<(f64, f64)> {
    let scaled = model.parameters().iter().zip(scale);
    scaled.map(|(p, s)| (p.lower * s, p.upper * s)).collect()
}

/// The minimum inside the bounds of a linear model.
pub(crate) fn in_box(
    problem: &dyn Problem<Error = Error>,
    limits: &[(f64, f64)],
    begin: &DVector<f64>,
    options: &FitOptions,
) -> Result<Solution> {
    let found = options.descent(Stage::Descent, |o| minimize_in_box(problem, limits, begin, o))?;
    let BoxMinimum { at, iterations, stop, bound } = found;
    Ok(Solution { at, iterations, stop, bound, optima: Vec::new() })
}

/// Starts for a model that is not linear: the given one or the model's own, and those that a look at a few rows finds best.
fn places(objective: &Objective<'_>, start: Option<&[f64]>, options: &FitOptions) -> Result<Vec<Vec<f64>>> {
    let first = multistart::first(objective.model, start);
    if start.is_none()
        && options.starts > 1
        && let Some(few) = Few::of(objective)
        && let Ok(part) = few.objective(objective)
    {
        return start_values::places(&part, &first, options);
    }
    // All unknowns are known from a fit of fewer rows or of another loss: the search there has been made.
    if let Some(known) = start.filter(|start| start.len() == objective.size()) {
        let constant = &known[first.len()..];
        return Ok(vec![[&first[..], constant].concat()]);
    }
    Ok(multistart::nearby(objective.model, &objective.unit, &first, options))
}

/// Whether the loss of a linear model has one minimum: both of its terms are convex in g.
fn is_convex(loss: &Loss) -> bool {
    match loss {
        Loss::Js | Loss::JsRatio { .. } | Loss::Kl | Loss::ReverseKl | Loss::Hellinger => true,
        Loss::Power(a) => (0.0..=1.0).contains(a),
        Loss::Pearson | Loss::Own(_) => false,
    }
}

/// The minimum of the JS loss over the same samples, as a start for a loss that has flat or falling parts far away.
fn by_js(objective: &mut Objective<'_>, options: &FitOptions) -> Result<Vec<f64>> {
    let own = std::mem::replace(&mut objective.loss, Loss::Js);
    let found = solve(objective, None, options);
    objective.loss = own;
    Ok(objective.scaling.outer(found?.at.as_slice()))
}

/// Notes the only minimum of a convex loss; [`estimated`](super::fit_against_noise::estimated) knows its value.
fn with_optimum(objective: &Objective<'_>, mut solution: Solution) -> Solution {
    let at = objective.scaling.outer(solution.at.as_slice());
    solution.optima = vec![Optimum { at, loss: f64::NAN, starts: 1 }];
    solution
}

/// How far the fit of many rows has come.
enum Begun {
    /// To the minimum.
    Done(Box<Solution>),
    /// Near it.
    Near(DVector<f64>),
}

/// Many rows: a small part, then a larger one from its minimum, then all from that with the larger part's curvature,
/// corrected as it goes. One Newton step on a part costs a gradient's pass over all.
fn large(
    objective: &mut Objective<'_>,
    start: Option<&[f64]>,
    thin: usize,
    options: &FitOptions,
) -> Result<Begun> {
    objective.thin = thin;
    let begin = linear_start(objective, start);
    objective.thin = 1;
    let first = pilot(objective, thin, &begin?, options)?;
    let Some((near, _)) = first else { return Ok(Begun::Near(linear_start(objective, start)?)) };
    let Some((at, hessian)) = pilot(objective, LARGER_PART.min(thin), &near, options)? else {
        return Ok(Begun::Near(near));
    };
    all(objective, &at, &hessian, options)
}

/// All rows, from a place near the minimum with about the curvature there.
fn all(
    objective: &Objective<'_>,
    at: &DVector<f64>,
    hessian: &DMatrix<f64>,
    options: &FitOptions,
) -> Result<Begun> {
    let found = options.descent(Stage::Descent, |o| bfgs(objective, at, hessian, o))?;
    let Some(found) = found else { return Ok(Begun::Near(at.clone())) };
    let limits = limits(objective.model, &objective.scaling.scale);
    if limits.iter().zip(found.at.iter()).any(|((lower, upper), x)| x < lower || x > upper) {
        return Ok(Begun::Near(found.at));
    }
    let bound = vec![false; at.len()];
    let solution =
        Solution { at: found.at, iterations: found.iterations, stop: found.stop, bound, optima: Vec::new() };
    Ok(Begun::Done(Box::new(with_optimum(objective, solution))))
}

/// A linear model whose constant is tied to its parameters: the loss need not be convex, so the given start and the
/// model's own are both tried.
fn linear_normalized(
    objective: &Objective<'_>,
    start: Option<&[f64]>,
    options: &FitOptions,
) -> Result<Solution> {
    let limits = limits(objective.model, &objective.scaling.scale);
    let mut found: Vec<(f64, Solution)> = Vec::new();
    for begin in [start, None] {
        let solution = in_box(objective, &limits, &linear_start(objective, begin)?, options)?;
        let loss = objective.evaluate(&solution.at, false)?.value;
        if loss.is_finite() {
            found.push((loss, solution));
        }
    }
    let any = found.iter().any(|(_, s)| s.stop.converged());
    found.retain(|(_, s)| s.stop.converged() || !any);
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut optima: Vec<Optimum> = Vec::new();
    for (loss, solution) in &found {
        match optima.iter_mut().find(|o| (o.loss - loss).abs() <= 1e-9 * loss.abs().max(1e-9)) {
            Some(known) => known.starts += 1,
            None => {
                let at = objective.scaling.outer(solution.at.as_slice());
                optima.push(Optimum { at, loss: *loss, starts: 1 });
            }
        }
    }
    let best = found.into_iter().next().map(|(_, solution)| Solution { optima, ..solution });
    best.ok_or_else(|| no_start::explain(objective))
}

/// Minimises the loss from unknowns near its minimum in as few passes over the rows as possible.
///
/// # Errors
/// As for [`solve`].
pub(crate) fn refine(objective: &mut Objective<'_>, start: &[f64], options: &FitOptions) -> Result<Solution> {
    if objective.linear && !objective.model.is_normalized() {
        let begin = with_constant(objective, start)?;
        if let Some(hessian) = objective.evaluate(&begin, true)?.hessian
            && let Begun::Done(solution) = all(objective, &begin, &hessian, options)?
        {
            return Ok(*solution);
        }
    }
    solve(objective, Some(start), &FitOptions { starts: 1, ..options.clone() })
}

/// The minimum over a part of the rows, with the curvature there; `None` where it has none.
fn pilot(
    objective: &mut Objective<'_>,
    thin: usize,
    begin: &DVector<f64>,
    options: &FitOptions,
) -> Result<Option<(DVector<f64>, DMatrix<f64>)>> {
    objective.thin = thin.max(1);
    // The part's own minimum is wanted no nearer than it is to that of all rows.
    let rough = FitOptions { tolerance: options.tolerance.max(0.3), ..options.clone() };
    let found = rough.descent(Stage::Pilot, |o| newton(&*objective, begin, o));
    let curvature = found.and_then(|found| Ok((objective.evaluate(&found.at, true)?, found)));
    objective.thin = 1;
    let (there, found) = curvature?;
    Ok(there.hessian.filter(|_| found.stop.converged()).map(|hessian| (found.at, hessian)))
}

/// Where a linear model starts: the given unknowns, or none of its features (for a normalized one its start values),
/// with a constant that puts data and noise on both sides of zero.
fn linear_start(objective: &Objective<'_>, start: Option<&[f64]>) -> Result<DVector<f64>> {
    let model = objective.model;
    match start {
        Some(start) => with_constant(objective, start),
        None if model.is_normalized() => with_constant(objective, &model.start()),
        None => {
            let flat: Vec<f64> = model.parameters().iter().map(|p| 0f64.clamp(p.lower, p.upper)).collect();
            with_constant(objective, &flat)
        }
    }
}

/// The solver's coordinates of all unknowns, or of the parameters alone with a constant between the mean log ratios of
/// data and noise.
pub(crate) fn with_constant(objective: &Objective<'_>, theta: &[f64]) -> Result<DVector<f64>> {
    let mut outer = theta.to_vec();
    if theta.len() == objective.size() {
        return Ok(DVector::from_vec(objective.scaling.inner(&outer)));
    }
    outer.push(0.0);
    let inner = objective.scaling.inner(&outer);
    if let Some(place) = ParameterPoint::new(objective, &inner) {
        let mean = |side| mean_log_ratio(objective, side, &place);
        if let (Ok(Some(data)), Ok(Some(noise))) = (mean(&objective.data), mean(&objective.noise)) {
            outer[theta.len()] += f64::midpoint(data, noise);
        }
    }
    Ok(DVector::from_vec(objective.scaling.inner(&outer)))
}

/// The mean of the finite log ratios of a sample.
fn mean_log_ratio<'a>(
    objective: &Objective<'a>,
    side: &SampleBlocks<'a>,
    place: &ParameterPoint,
) -> Result<Option<f64>> {
    let add = |total: &mut (f64, f64), seen: &ChunkView<'_>| {
        for g in seen.log_ratio.iter().filter(|g| g.is_finite()) {
            *total = (total.0 + g, total.1 + 1.0);
        }
        Ok(())
    };
    let (sum, count) = objective.fold(side, place, || (0.0, 0.0), add, |a, b| (a.0 + b.0, a.1 + b.1))?;
    Ok((count > 0.0).then_some(sum / count))
}
