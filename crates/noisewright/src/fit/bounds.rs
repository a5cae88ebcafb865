//! Bounds of a linear model: the minimum without them, and where it lies outside, the minimum on them.

use nalgebra::{DMatrix, DVector};

use super::newton::{Evaluation, Problem, Stop, newton};
use super::options::FitOptions;
use super::solve::Solution;
use crate::run::Stage;
use crate::{Model, Result};

/// How near to a bound is at it.
const AT_BOUND: f64 = 1e-9;

/// Minimises over the box of the bounds by holding those parameters at a bound that the descent would carry across it.
pub(crate) fn solve(
    problem: &dyn Problem,
    limits: &[(f64, f64)],
    begin: &DVector<f64>,
    options: &FitOptions,
) -> Result<Solution> {
    let mut held: Vec<Option<f64>> = vec![None; begin.len()];
    let mut at = begin.clone();
    let mut iterations = 0;
    let mut stop = Stop::StepLimit;
    // Every round holds or frees at least one parameter.
    for _ in 0..=3 * begin.len() {
        let part = HeldPoints { problem, held: &held };
        let found = newton(&part, &part.project(&at), options, Stage::Descent)?;
        at = part.expand(&found.at);
        iterations += found.iterations;
        stop = found.stop;
        let crossed = hold_crossed(&at, limits, &mut held)
            || !stop.converged() && hold_pressed(problem, &at, limits, &mut held)?;
        if !crossed && !free_one(problem, &at, limits, &mut held)? {
            break;
        }
    }
    for (j, value) in held.iter().enumerate() {
        at[j] = value.unwrap_or(at[j]);
    }
    let bound = held.iter().map(Option::is_some).collect();
    Ok(Solution { at, iterations, stop, bound, optima: Vec::new() })
}

/// The bounds in the solver's coordinates, which are the model's but for a positive factor.
pub(crate) fn limits(model: &Model, scale: &[f64]) -> Vec<(f64, f64)> {
    let scaled = model.parameters().iter().zip(scale);
    scaled.map(|(p, s)| (p.lower * s, p.upper * s)).collect()
}

/// Holds every parameter beyond a bound at that bound.
fn hold_crossed(at: &DVector<f64>, limits: &[(f64, f64)], held: &mut [Option<f64>]) -> bool {
    let mut any = false;
    for (j, (lower, upper)) in limits.iter().enumerate().filter(|(j, _)| at[*j].is_finite()) {
        if held[j].is_none() && (at[j] < *lower || at[j] > *upper) {
            held[j] = Some(at[j].clamp(*lower, *upper));
            any = true;
        }
    }
    any
}

/// Holds every parameter that is at a bound with the loss falling beyond it: where there is no value beyond, a descent ends
/// there without crossing.
fn hold_pressed(
    problem: &dyn Problem,
    at: &DVector<f64>,
    limits: &[(f64, f64)],
    held: &mut [Option<f64>],
) -> Result<bool> {
    let here = problem.evaluate(at, false)?;
    let mut any = false;
    for (j, (lower, upper)) in limits.iter().enumerate() {
        let near = |bound: f64| (at[j] - bound).abs() <= AT_BOUND * (1.0 + at[j].abs());
        let pressed = if here.gradient[j] > 0.0 { *lower } else { *upper };
        if held[j].is_none() && here.value.is_finite() && pressed.is_finite() && near(pressed) {
            held[j] = Some(pressed);
            any = true;
        }
    }
    Ok(any)
}

/// Frees the parameter whose loss falls fastest away from its bound, if there is one.
fn free_one(
    problem: &dyn Problem,
    at: &DVector<f64>,
    limits: &[(f64, f64)],
    held: &mut [Option<f64>],
) -> Result<bool> {
    if held.iter().all(Option::is_none) {
        return Ok(false);
    }
    let gradient = problem.evaluate(at, false)?.gradient;
    let inward = |j: usize, value: f64| if value <= limits[j].0 { -gradient[j] } else { gradient[j] };
    let gains = held.iter().enumerate().filter_map(|(j, h)| h.map(|value| (j, inward(j, value))));
    let best = gains.max_by(|a, b| a.1.total_cmp(&b.1));
    match best {
        // Two bounds that are one leave nowhere to go.
        Some((j, gain)) if gain > 1e-10 && limits[j].0 < limits[j].1 => {
            held[j] = None;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// A problem with some of its unknowns held.
pub(crate) struct HeldPoints<'p> {
    pub(crate) problem: &'p dyn Problem,
    pub(crate) held: &'p [Option<f64>],
}

impl HeldPoints<'_> {
    fn free(&self) -> Vec<usize> {
        (0..self.held.len()).filter(|j| self.held[*j].is_none()).collect()
    }

    /// The unknowns that are not held.
    pub(crate) fn project(&self, at: &DVector<f64>) -> DVector<f64> {
        let free = self.free();
        DVector::from_iterator(free.len(), free.iter().map(|j| at[*j]))
    }

    /// All unknowns.
    pub(crate) fn expand(&self, free: &DVector<f64>) -> DVector<f64> {
        let mut values = free.iter();
        let next = |held: &Option<f64>| held.unwrap_or_else(|| values.next().copied().unwrap_or(f64::NAN));
        DVector::from_iterator(self.held.len(), self.held.iter().map(next))
    }
}

impl Problem for HeldPoints<'_> {
    fn rows(&self) -> f64 {
        self.problem.rows()
    }

    fn rounding(&self) -> f64 {
        self.problem.rounding()
    }

    fn has_curvature(&self) -> bool {
        self.problem.has_curvature()
    }

    fn is_convex(&self) -> bool {
        self.problem.is_convex()
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let all = self.problem.evaluate(&self.expand(at), hessian)?;
        if self.held.iter().all(Option::is_none) {
            return Ok(all);
        }
        let free = self.free();
        let gradient = self.project(&all.gradient);
        let hessian =
            all.hessian.map(|h| DMatrix::from_fn(free.len(), free.len(), |i, j| h[(free[i], free[j])]));
        Ok(Evaluation { value: all.value, gradient, hessian })
    }
}
