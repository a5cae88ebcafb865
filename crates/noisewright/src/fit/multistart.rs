//! Models that are not linear in their parameters: bounds by transformation, and several starts.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{LbfgsOptions, try_lbfgs};
use rand_distr::{Distribution, StandardNormal};

use super::newton::{Descent, Evaluation, Problem, newton};
use super::objective::Objective;
use super::options::FitOptions;
use super::result::Optimum;
use super::solve::{Solution, with_constant};
use super::start_values::around;
use crate::run::{Purpose, Stage};
use crate::{Model, Parameter, Result};

/// The best of the minima that descents from several starts end in; `None` if no start has a finite value.
///
/// `unit` are natural sizes of a step in the parameters, `begin` makes a start of the problem from parameters, `places` are
/// the starts ([`first`] and others).
pub(crate) fn solve(
    problem: &dyn Problem,
    model: &Model,
    unit: &[f64],
    begin: &dyn Fn(&[f64]) -> Result<DVector<f64>>,
    places: &[Vec<f64>],
    options: &FitOptions,
) -> Result<Option<Solution>> {
    let maps: Vec<Map> = model.parameters().iter().map(Map::of).collect();
    let problem = Transformed { problem, maps: &maps };
    let mut found: Vec<Descent> = Vec::new();
    for place in places {
        let mut descent = descend(&problem, &problem.inner(&begin(place)?), options)?;
        if descent.value.is_finite() {
            let mut at = problem.outer(&descent.at);
            model.energy().canonical(&mut at.as_mut_slice()[..maps.len()]);
            descent.at = problem.inner(&at);
            found.push(descent);
        }
    }
    // A descent that did not converge counts only if none did.
    let any = found.iter().any(|d| d.stop.converged());
    found.retain(|d| d.stop.converged() || !any);
    prefer_earlier(&mut found);
    let Some(best) = found.first() else { return Ok(None) };
    let optima = distinct(&problem, &found)?;
    let iterations = found.iter().map(|d| d.iterations).sum();
    let (at, bound) = settle(unit, &maps, problem.outer(&best.at));
    Ok(Some(Solution { at, iterations, stop: best.stop, bound, optima }))
}

/// The lowest first; of equal ones, such as mirror images, the one from the earlier start.
fn prefer_earlier(found: &mut [Descent]) {
    let least = found.iter().map(|d| d.value).fold(f64::INFINITY, f64::min);
    let excess = |d: &Descent| (d.value - least > 1e-10 * least.abs().max(1e-10)).then_some(d.value);
    // Stable: those without an excess keep the order of their starts.
    found.sort_by(|a, b| match (excess(a), excess(b)) {
        (None, None) => std::cmp::Ordering::Equal,
        (None, Some(_)) => std::cmp::Ordering::Less,
        (Some(_), None) => std::cmp::Ordering::Greater,
        (Some(a), Some(b)) => a.total_cmp(&b),
    });
}

/// A descent by Newton's method or, where second derivatives are dear, by gradients first.
fn descend(problem: &dyn Problem, begin: &DVector<f64>, options: &FitOptions) -> Result<Descent> {
    if problem.has_curvature() {
        return newton(problem, begin, options, Stage::Descent);
    }
    let mut steps = 0;
    let search =
        LbfgsOptions { max_steps: options.max_iterations.saturating_mul(10), ..LbfgsOptions::default() };
    let least = try_lbfgs(begin.as_slice(), &search, |at, gradient| {
        steps += 1;
        let there = problem.evaluate(&DVector::from_column_slice(at), false)?;
        options.report(Stage::Descent, steps, there.value)?;
        gradient.copy_from_slice(there.gradient.as_slice());
        Ok(there.value)
    })?;
    // Newton's method, with differences for second derivatives, ends what gradients have begun.
    newton(problem, &DVector::from_vec(least.at), options, Stage::Descent)
}

/// A short descent over the rows of an objective from parameters: the loss and the parameters where it ended.
pub(crate) fn follow(
    problem: &Objective<'_>,
    model: &Model,
    place: &[f64],
    options: &FitOptions,
) -> Result<Option<(f64, Vec<f64>)>> {
    let maps: Vec<Map> = model.parameters().iter().map(Map::of).collect();
    let transformed = Transformed { problem, maps: &maps };
    let begin = with_constant(problem, place)?;
    let end = descend(&transformed, &transformed.inner(&begin), options)?;
    let at = transformed.outer(&end.at).as_slice()[..maps.len()].to_vec();
    let sound = end.value.is_finite() && at.iter().all(|x| x.is_finite());
    Ok(sound.then_some((end.value, at)))
}

/// The given start or the model's own, within its bounds.
pub(crate) fn first(model: &Model, start: Option<&[f64]>) -> Vec<f64> {
    // A start may have the constant with it, which is found anew.
    let first = start.map_or_else(|| model.start(), |s| s[..model.parameters().len()].to_vec());
    model.parameters().iter().zip(first).map(|(p, x)| inside(p, x)).collect()
}

/// A start and others around it: so many natural units away, or a few times as far from a bound.
pub(crate) fn nearby(model: &Model, unit: &[f64], first: &[f64], options: &FitOptions) -> Vec<Vec<f64>> {
    let mut all = vec![first.to_vec()];
    let mut rng = Purpose::FitStarts.stream(options.seed, 0);
    for number in 1..options.starts {
        // Some near, some far: the basin of the best minimum may be next to the start or a long way off.
        let reach = [0.5, 1.0, 0.25][number % 3];
        let place = |(j, p): (usize, &Parameter)| {
            let z: f64 = reach * Distribution::<f64>::sample(&StandardNormal, &mut rng);
            around(p, first[j], unit[j], z)
        };
        all.push(model.parameters().iter().enumerate().map(place).collect());
    }
    all
}

/// A start that is not on a bound.
pub(crate) fn inside(parameter: &Parameter, x: f64) -> f64 {
    let (lower, upper) = (parameter.lower, parameter.upper);
    let width = if lower.is_finite() && upper.is_finite() { upper - lower } else { x.abs().max(1.0) };
    let margin = 1e-3 * width;
    if lower == upper { x } else { x.max(lower + margin).min(upper - margin) }
}

/// The minima that are not the same, the best first: two are the same when a step between them is no longer than a
/// small part of a standard error.
fn distinct(problem: &Transformed<'_>, found: &[Descent]) -> Result<Vec<Optimum>> {
    let mut optima: Vec<(DVector<f64>, DMatrix<f64>, Optimum)> = Vec::new();
    for descent in found {
        let near = |(at, hessian, optimum): &(DVector<f64>, DMatrix<f64>, Optimum)| {
            let apart = &descent.at - at;
            let length = apart.dot(&(hessian * &apart)) * problem.rows();
            length.abs() < 1e-4 && (descent.value - optimum.loss).abs() <= 1e-9 * optimum.loss.abs().max(1e-9)
        };
        if let Some(known) = optima.iter_mut().find(|known| near(known)) {
            known.2.starts += 1;
            continue;
        }
        let hessian = problem.evaluate(&descent.at, true)?.hessian;
        let at = problem.outer(&descent.at).as_slice().to_vec();
        let size = descent.at.len();
        let hessian = hessian.unwrap_or_else(|| DMatrix::identity(size, size));
        optima.push((descent.at.clone(), hessian, Optimum { at, loss: descent.value, starts: 1 }));
    }
    Ok(optima.into_iter().map(|o| o.2).collect())
}

/// Puts parameters that came as near to a bound as their transformation lets them on it.
fn settle(unit: &[f64], maps: &[Map], mut at: DVector<f64>) -> (DVector<f64>, Vec<bool>) {
    let mut bound = vec![false; at.len()];
    for (j, map) in maps.iter().enumerate() {
        let reach = 1e-7 * unit[j];
        let edge = match map {
            Map::Free => None,
            Map::Above(lower) => Some(*lower).filter(|l| at[j] - l < reach),
            Map::Below(upper) => Some(*upper).filter(|u| u - at[j] < reach),
            Map::Between(lower, upper) => {
                Some(*lower).filter(|l| at[j] - l < reach).or(Some(*upper).filter(|u| u - at[j] < reach))
            }
        };
        if let Some(edge) = edge {
            at[j] = edge;
            bound[j] = true;
        }
    }
    (at, bound)
}

/// The map from the whole line to what the bounds of a parameter allow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Map {
    Free,
    /// `lower + e^η`.
    Above(f64),
    /// `upper − e^η`.
    Below(f64),
    /// `lower + (upper − lower) σ(η)`.
    Between(f64, f64),
}

impl Map {
    pub(crate) fn of(parameter: &Parameter) -> Self {
        match (parameter.lower.is_finite(), parameter.upper.is_finite()) {
            (false, false) => Self::Free,
            (true, false) => Self::Above(parameter.lower),
            (false, true) => Self::Below(parameter.upper),
            (true, true) => Self::Between(parameter.lower, parameter.upper),
        }
    }

    pub(crate) fn outer(self, eta: f64) -> f64 {
        match self {
            Self::Free => eta,
            Self::Above(lower) => lower + eta.exp(),
            Self::Below(upper) => upper - eta.exp(),
            Self::Between(lower, upper) => lower + (upper - lower) / (1.0 + (-eta).exp()),
        }
    }

    pub(crate) fn inner(self, x: f64) -> f64 {
        match self {
            Self::Free => x,
            Self::Above(lower) => (x - lower).ln(),
            Self::Below(upper) => (upper - x).ln(),
            Self::Between(lower, upper) => ((x - lower) / (upper - x)).ln(),
        }
    }

    /// First and second derivative of the map.
    fn slopes(self, eta: f64) -> (f64, f64) {
        match self {
            Self::Free => (1.0, 0.0),
            Self::Above(_) => (eta.exp(), eta.exp()),
            Self::Below(_) => (-eta.exp(), -eta.exp()),
            Self::Between(lower, upper) => {
                let p = 1.0 / (1.0 + (-eta).exp());
                let slope = (upper - lower) * p * (1.0 - p);
                (slope, slope * (1.0 - 2.0 * p))
            }
        }
    }
}

/// A problem in coordinates without bounds; those beyond the maps stay as they are.
struct Transformed<'p> {
    problem: &'p dyn Problem,
    maps: &'p [Map],
}

impl Transformed<'_> {
    fn each(&self, at: &DVector<f64>, f: impl Fn(Map, f64) -> f64) -> DVector<f64> {
        let map = |j: usize| self.maps.get(j).copied().unwrap_or(Map::Free);
        DVector::from_fn(at.len(), |j, _| f(map(j), at[j]))
    }

    fn outer(&self, eta: &DVector<f64>) -> DVector<f64> {
        self.each(eta, Map::outer)
    }

    fn inner(&self, at: &DVector<f64>) -> DVector<f64> {
        self.each(at, Map::inner)
    }
}

impl Problem for Transformed<'_> {
    fn rows(&self) -> f64 {
        self.problem.rows()
    }

    fn rounding(&self) -> f64 {
        self.problem.rounding()
    }

    fn has_curvature(&self) -> bool {
        self.problem.has_curvature()
    }

    fn evaluate(&self, eta: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let outer = self.outer(eta);
        if outer.iter().any(|x| !x.is_finite()) {
            return Ok(Evaluation::wall(eta.len()));
        }
        let there = self.problem.evaluate(&outer, hessian)?;
        let slope = self.each(eta, |map, x| map.slopes(x).0);
        let bend = self.each(eta, |map, x| map.slopes(x).1);
        let gradient = there.gradient.component_mul(&slope);
        let hessian = there.hessian.map(|h| {
            let mut out = DMatrix::from_fn(eta.len(), eta.len(), |i, j| h[(i, j)] * slope[i] * slope[j]);
            for j in 0..eta.len() {
                out[(j, j)] += there.gradient[j] * bend[j];
            }
            out
        });
        Ok(Evaluation { value: there.value, gradient, hessian })
    }
}
