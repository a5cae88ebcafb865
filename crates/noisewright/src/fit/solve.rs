//! From a prepared loss to its minimum: which starts, which method, and whether there is more than one minimum.

use nalgebra::DVector;
use noisewright_numerics::optimize::{BoxMinimum, DescentOptions, Problem, Stop, minimize_in_box};

use super::evaluate::{ChunkView, ParameterPoint};
use super::kinks;
use super::multistart;
use super::no_start;
use super::objective::{Objective, Order};
use super::options::FitOptions;
use super::part::Part;
use super::parts::{Begun, begin_with_parts};
use super::result::Optimum;
use super::sample_blocks::SampleBlocks;
use super::start_values::{self, FEW};
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

/// Minimises the loss; `start` are unknowns to begin with instead of the model's own start.
///
/// Of many rows a part is searched first, and all of them are then passed over a few times only, whether they are kept,
/// computed anew or read again ([`begin_with_parts`]).
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
    match begin_with_parts(objective, start, options)? {
        Begun::Done(solution) => Ok(*solution),
        Begun::Near(places) => search(objective, start, Some(&places), options),
        Begun::Nowhere => search(objective, start, None, options),
    }
}

/// Minimises the loss over all its rows; `near` are unknowns near minima, which the search then begins with.
pub(super) fn search(
    objective: &Objective<'_>,
    start: Option<&[f64]>,
    near: Option<&[Vec<f64>]>,
    options: &FitOptions,
) -> Result<Solution> {
    if !objective.linear {
        let begin = |theta: &[f64]| with_constant(objective, theta);
        let places = match near {
            Some(near) => near.to_vec(),
            None => places(objective, start, options)?,
        };
        let found = multistart::solve(objective, objective.model, &begin, &places, options)?;
        let found = found.ok_or_else(|| no_start::explain(objective))?;
        return settled(objective, found);
    }
    let start = near.and_then(<[_]>::first).map(Vec::as_slice).or(start);
    if objective.model.is_normalized() {
        return linear_normalized(objective, start, options);
    }
    if matches!(objective.loss, Loss::Brier) {
        let begins = around(objective, start, options);
        return best_of(objective, &begins.iter().map(|begin| Some(&begin[..])).collect::<Vec<_>>(), options);
    }
    let limits = limits(objective.model, &objective.scaling.scale);
    let solution = in_box(objective, &limits, &linear_start(objective, start)?, options)?;
    Ok(with_optimum(objective, solution))
}

/// The given unknowns and places around them, from which a loss with several minima is searched.
fn around(objective: &Objective<'_>, start: Option<&[f64]>, options: &FitOptions) -> Vec<Vec<f64>> {
    let model = objective.model;
    let first = multistart::first(model, start);
    let unit: Vec<f64> = match objective.linear {
        true => objective.scaling.scale.iter().map(|s| 1.0 / s).collect(),
        false => objective.unit.clone(),
    };
    let mut places = multistart::nearby(model, &unit, &first, options);
    if let Some(start) = start {
        places[0] = start.to_vec();
    }
    places
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
        && let Some(few) = Part::of(objective, FEW)
        && let Ok(part) = few.alone(objective)
    {
        return start_values::places(&part, &first, options);
    }
    if matches!(objective.loss, Loss::Brier) {
        return Ok(around(objective, start, options));
    }
    // All unknowns are known from a fit of fewer rows or of another loss: the search there has been made.
    if let Some(known) = start.filter(|start| start.len() == objective.size()) {
        let constant = &known[first.len()..];
        return Ok(vec![[&first[..], constant].concat()]);
    }
    Ok(multistart::nearby(objective.model, &objective.unit, &first, options))
}

/// Whether the loss of a linear model has one minimum: both of its terms are convex in g.
pub(super) fn is_convex(loss: &Loss) -> bool {
    match loss {
        Loss::Js | Loss::JsRatio { .. } | Loss::Kl | Loss::ReverseKl | Loss::Hellinger => true,
        Loss::Power(a) => (0.0..=1.0).contains(a),
        Loss::Pearson | Loss::Brier | Loss::Own(_) => false,
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
pub(super) fn with_optimum(objective: &Objective<'_>, mut solution: Solution) -> Solution {
    let at = objective.scaling.outer(solution.at.as_slice());
    solution.optima = vec![Optimum { at, loss: f64::NAN, starts: 1 }];
    solution
}

/// A linear model whose constant is tied to its parameters: the loss need not be convex, so the given start and the
/// model's own are both tried.
fn linear_normalized(
    objective: &Objective<'_>,
    start: Option<&[f64]>,
    options: &FitOptions,
) -> Result<Solution> {
    best_of(objective, &[start, None], options)
}

/// The lowest of the minima that a linear model's searches from several places end in.
fn best_of(objective: &Objective<'_>, begins: &[Option<&[f64]>], options: &FitOptions) -> Result<Solution> {
    let limits = limits(objective.model, &objective.scaling.scale);
    let mut found: Vec<(f64, Solution)> = Vec::new();
    for begin in begins {
        let solution = in_box(objective, &limits, &linear_start(objective, *begin)?, options)?;
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

/// Where a linear model starts: the given unknowns, or none of its features (for a normalized one its start values),
/// with a constant that puts data and noise on both sides of zero.
pub(super) fn linear_start(objective: &Objective<'_>, start: Option<&[f64]>) -> Result<DVector<f64>> {
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
pub(super) fn mean_log_ratio<'a>(
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
    let join = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
    let (sum, count) = objective.fold_rows(side, place, false, || (0.0, 0.0), add, join)?;
    Ok((count > 0.0).then_some(sum / count))
}
