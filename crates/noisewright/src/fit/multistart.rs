//! Models that are not linear in their parameters: bounds by transformation, and several starts.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::chart::Chart;
use noisewright_numerics::optimize::{
    Descent, Held, LbfgsOptions, Problem, Stop, Transformed, newton, try_lbfgs,
};
use rand_distr::{Distribution, StandardNormal};

use super::objective::Objective;
use super::options::FitOptions;
use super::result::Optimum;
use super::solve::{Solution, with_constant};
use super::start_values::around;
use crate::run::{Purpose, Stage};
use crate::{Error, Model, Parameter, Result};

/// A Newton step of so much along the line of a chart, where the loss is as low as can be told, means that it falls on
/// towards the end of that line: next to an end the loss is `L + c e^(−|y|)`, and the step is one, however small c is; next
/// to a minimum it is the tolerance.
const PRESSED: f64 = 0.1;
/// A logit beyond which a parameter between two bounds is next to one of them: within e⁻⁵ of their distance.
const NEXT_TO_END: f64 = 5.0;
/// Share of a loss by which two are the same to rounding.
const SAME: f64 = 1e-10;
/// Slope and curvature along the line of a chart, of a log-likelihood, that are none: a parameter that changes it by a millionth
/// where it becomes e times as large, or as near to a bound, is known no better than its bounds.
const FLAT: f64 = 1e-6;

/// The best of the minima that descents from several starts end in; `None` if no start has a finite value.
///
/// `begin` makes a start of the problem from parameters, `places` are the starts ([`first`] and others).
pub(crate) fn solve(
    problem: &dyn Problem<Error = Error>,
    model: &Model,
    begin: &dyn Fn(&[f64]) -> Result<DVector<f64>>,
    places: &[Vec<f64>],
    options: &FitOptions,
) -> Result<Option<Solution>> {
    let search = Bounded { problem, parameters: model.parameters() };
    let mut found: Vec<Descent> = Vec::new();
    for place in places {
        let mut descent = search.descend(&begin(place)?, options)?;
        if descent.value.is_finite() {
            model.energy().canonical(&mut descent.at.as_mut_slice()[..model.parameters().len()]);
            found.push(descent);
        }
    }
    // A descent that did not converge counts only if none did.
    let any = found.iter().any(|d| d.stop.converged());
    found.retain(|d| d.stop.converged() || !any);
    prefer_earlier(&mut found);
    let Some(best) = found.first() else { return Ok(None) };
    let optima = distinct(problem, &found)?;
    let iterations = found.iter().map(|d| d.iterations).sum();
    let bound = search.on_bounds(&best.at);
    Ok(Some(Solution { at: best.at.clone(), iterations, stop: best.stop, bound, optima }))
}

/// The lowest first; of equal ones, such as mirror images, the one from the earlier start.
fn prefer_earlier(found: &mut [Descent]) {
    let least = found.iter().map(|d| d.value).fold(f64::INFINITY, f64::min);
    let excess = |d: &Descent| (d.value - least > SAME * least.abs().max(1e-10)).then_some(d.value);
    // Stable: those without an excess keep the order of their starts.
    found.sort_by(|a, b| match (excess(a), excess(b)) {
        (None, None) => std::cmp::Ordering::Equal,
        (None, Some(_)) => std::cmp::Ordering::Less,
        (Some(_), None) => std::cmp::Ordering::Greater,
        (Some(a), Some(b)) => a.total_cmp(&b),
    });
}

/// A problem whose first unknowns are parameters with bounds.
struct Bounded<'p> {
    problem: &'p dyn Problem<Error = Error>,
    parameters: &'p [Parameter],
}

impl Bounded<'_> {
    /// A descent inside the bounds and, where the loss falls all the way to one of them, on it. A bound at which the loss has
    /// no value, as of a scale at zero, is open: a descent towards it runs off.
    fn descend(&self, begin: &DVector<f64>, options: &FitOptions) -> Result<Descent> {
        let fixed = |j: usize| self.parameters.get(j).filter(|p| p.lower == p.upper).map(|p| p.lower);
        let mut held: Vec<Option<f64>> = (0..begin.len()).map(fixed).collect();
        let mut end = self.inside(begin, &held, options)?;
        while let Some((j, edge)) = self.pressed(&end, &held) {
            let there = self.on_edge(&end, &mut held, (j, edge), options)?;
            let no_higher = end.value + SAME * end.value.abs();
            if there.value > no_higher {
                return Ok(Descent { stop: Stop::RunsOff, ..end });
            }
            end = there;
        }
        while let Some(there) = self.on_flat_edge(&end, &mut held, options)? {
            end = there;
        }
        Ok(end)
    }

    /// A descent with a parameter held at an end of its range, from where another ended.
    fn on_edge(
        &self,
        end: &Descent,
        held: &mut [Option<f64>],
        (j, edge): (usize, f64),
        options: &FitOptions,
    ) -> Result<Descent> {
        let mut start = end.at.clone();
        (held[j], start[j]) = (Some(edge), edge);
        let there = self.inside(&start, held, options)?;
        Ok(Descent { iterations: end.iterations + there.iterations, ..there })
    }

    /// The same for a parameter between two bounds along which the loss is flat where the descent ended, on the bound at which it is
    /// no higher: a search towards a bound far away ends where its slope is lost in rounding, and its second derivative there is
    /// noise, which makes a standard error of any size.
    fn on_flat_edge(
        &self,
        end: &Descent,
        held: &mut Vec<Option<f64>>,
        options: &FitOptions,
    ) -> Result<Option<Descent>> {
        let Some((j, edges)) = self.flat(end, held) else { return Ok(None) };
        let allowed = (FLAT / self.problem.rows()).max(SAME * end.value.abs());
        for edge in edges {
            let mut there = held.clone();
            let found = self.on_edge(end, &mut there, (j, edge), options)?;
            if found.stop.converged() && found.value <= end.value + allowed {
                *held = there;
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A parameter between two bounds that the loss does not depend on where a descent ended, and these bounds, the one towards which it
    /// was on its way first.
    fn flat(&self, end: &Descent, held: &[Option<f64>]) -> Option<(usize, [f64; 2])> {
        let hessian = end.last.hessian.as_ref()?;
        let least = FLAT / self.problem.rows();
        let is_flat = |k: usize| end.last.gradient[k].abs() < least && hessian[(k, k)].abs() < least;
        let mut between =
            self.free(held).enumerate().filter(|(_, (_, chart))| matches!(chart, Chart::Logit { .. }));
        let (_, (j, _)) = between.find(|(k, _)| is_flat(*k))?;
        let Parameter { lower, upper, .. } = self.parameters[j];
        // From its start the search has come this way.
        let rising = end.at[j] > self.parameters[j].start;
        Some((j, if rising { [upper, lower] } else { [lower, upper] }))
    }

    /// A descent in which no bound is reached, of the unknowns that are not held.
    fn inside(&self, begin: &DVector<f64>, held: &[Option<f64>], options: &FitOptions) -> Result<Descent> {
        let free = Held { problem: self.problem, held };
        let charts: Vec<Chart> = self.free(held).map(|(_, chart)| chart).collect();
        let inner = Transformed { problem: &free, charts: &charts };
        let end = descend(&inner, &inner.inner(&free.project(begin)), options)?;
        Ok(Descent { at: free.expand(&inner.outer(&end.at)), ..end })
    }

    /// The parameters that are not held, with the charts of their bounds.
    fn free<'s>(&'s self, held: &'s [Option<f64>]) -> impl Iterator<Item = (usize, Chart)> + 's {
        let free = self.parameters.iter().enumerate().filter(|(j, _)| held[*j].is_none());
        free.map(|(j, p)| (j, Chart::between(p.lower, p.upper)))
    }

    /// A parameter that is on its way to an end of its range, or as near to it as numbers are, and that end.
    fn pressed(&self, end: &Descent, held: &[Option<f64>]) -> Option<(usize, f64)> {
        let hessian = end.last.hessian.as_ref()?;
        let towards = |(k, (j, chart)): (usize, (usize, Chart))| {
            let (slope, bend) = (end.last.gradient[k], hessian[(k, k)].abs());
            let (lower, upper) = (self.parameters[j].lower, self.parameters[j].upper);
            let moving = slope != 0.0 && slope.abs() > PRESSED * bend;
            let y = chart.to_real(end.at[j]);
            match chart {
                Chart::Identity => None,
                // So near to an end the slope may be rounding, or nothing.
                Chart::Logit { .. } if y.abs() > NEXT_TO_END && (moving || slope == 0.0) => {
                    Some((j, if y > 0.0 { upper } else { lower }))
                }
                _ => moving.then_some((j, if slope < 0.0 { upper } else { lower })),
            }
        };
        // What goes to infinity is for the profile of the loss to tell, after the fit.
        self.free(held).enumerate().filter_map(towards).find(|(_, end)| end.is_finite())
    }

    fn on_bounds(&self, at: &DVector<f64>) -> Vec<bool> {
        let on = |j: usize| self.parameters.get(j).is_some_and(|p| at[j] == p.lower || at[j] == p.upper);
        (0..at.len()).map(on).collect()
    }
}

/// A descent by Newton's method or, where second derivatives are dear, by gradients first.
fn descend(
    problem: &impl Problem<Error = Error>,
    begin: &DVector<f64>,
    options: &FitOptions,
) -> Result<Descent> {
    let finish = |begin: &DVector<f64>| options.descent(Stage::Descent, |o| newton(problem, begin, o));
    if problem.has_curvature() {
        return finish(begin);
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
    finish(&DVector::from_vec(least.at))
}

/// A short descent over the rows of an objective from parameters: the loss and the parameters where it ended.
pub(crate) fn follow(
    problem: &Objective<'_>,
    model: &Model,
    place: &[f64],
    options: &FitOptions,
) -> Result<Option<(f64, Vec<f64>)>> {
    let search = Bounded { problem, parameters: model.parameters() };
    let held = vec![None; problem.size()];
    let end = search.inside(&with_constant(problem, place)?, &held, options)?;
    let at = end.at.as_slice()[..model.parameters().len()].to_vec();
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

/// A start that is not on a bound; one that is between them is left alone, however near, because only the data's units can tell
/// near from far.
pub(crate) fn inside(parameter: &Parameter, x: f64) -> f64 {
    let (lower, upper) = (parameter.lower, parameter.upper);
    if lower == upper || (x > lower && x < upper) {
        return x;
    }
    let width = if lower.is_finite() && upper.is_finite() { upper - lower } else { x.abs().max(1.0) };
    let margin = 1e-3 * width;
    x.max(lower + margin).min(upper - margin)
}

/// The minima that are not the same, the best first: two are the same when a step between them is no longer than a
/// small part of a standard error.
fn distinct(problem: &dyn Problem<Error = Error>, found: &[Descent]) -> Result<Vec<Optimum>> {
    let mut optima: Vec<(DMatrix<f64>, Optimum)> = Vec::new();
    for descent in found {
        let near = |(hessian, optimum): &(DMatrix<f64>, Optimum)| {
            let apart = &descent.at - DVector::from_column_slice(&optimum.at);
            let length = apart.dot(&(hessian * &apart)) * problem.rows();
            length.abs() < 1e-4 && (descent.value - optimum.loss).abs() <= 1e-9 * optimum.loss.abs().max(1e-9)
        };
        if let Some(known) = optima.iter_mut().find(|known| near(known)) {
            known.1.starts += 1;
            continue;
        }
        let hessian = problem
            .evaluate(&descent.at, true)?
            .hessian
            .ok_or_else(|| Error::internal("a Hessian that was asked for is missing"))?;
        let optimum = Optimum { at: descent.at.as_slice().to_vec(), loss: descent.value, starts: 1 };
        optima.push((hessian, optimum));
    }
    Ok(optima.into_iter().map(|o| o.1).collect())
}
