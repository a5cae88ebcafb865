//! Minima in a box by an active set: the minimum without the bounds, and where it lies outside, the minimum on them
//! (Nocedal and Wright 2006, §16.5).

use nalgebra::DVector;

use super::{DescentOptions, Evaluation, Problem, Stop, newton};

/// How near to a bound is at it.
const AT_BOUND: f64 = 1e-9;

/// A minimum in a box.
#[derive(Clone, Debug)]
pub struct BoxMinimum {
    /// The place.
    pub at: DVector<f64>,
    /// Steps of all descents together.
    pub iterations: usize,
    /// Why the last descent ended.
    pub stop: Stop,
    /// Which coordinates are held at a bound.
    pub bound: Vec<bool>,
}

/// Minimises over a box by holding those coordinates at a bound that the descent would carry across it.
///
/// # Errors
/// Those of an evaluation or of the watch.
pub fn minimize_in_box<P: Problem + ?Sized>(
    problem: &P,
    limits: &[(f64, f64)],
    begin: &DVector<f64>,
    options: &DescentOptions<'_, P::Error>,
) -> Result<BoxMinimum, P::Error> {
    let mut held: Vec<Option<f64>> = vec![None; begin.len()];
    let mut at = begin.clone();
    let mut iterations = 0;
    let mut stop = Stop::StepLimit;
    // Every round holds or frees at least one coordinate.
    for _ in 0..=3 * begin.len() {
        let part = Held { problem, held: &held };
        let found = newton(&part, &part.project(&at), options)?;
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
    Ok(BoxMinimum { at, iterations, stop, bound })
}

/// Holds every coordinate beyond a bound at that bound.
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

/// Holds every coordinate that is at a bound with the value falling beyond it: where there is no value beyond, a descent ends
/// there without crossing.
fn hold_pressed<P: Problem + ?Sized>(
    problem: &P,
    at: &DVector<f64>,
    limits: &[(f64, f64)],
    held: &mut [Option<f64>],
) -> Result<bool, P::Error> {
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

/// Frees the coordinate whose value falls fastest away from its bound, if there is one.
fn free_one<P: Problem + ?Sized>(
    problem: &P,
    at: &DVector<f64>,
    limits: &[(f64, f64)],
    held: &mut [Option<f64>],
) -> Result<bool, P::Error> {
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

/// A problem with some of its coordinates held.
pub struct Held<'p, P: ?Sized> {
    /// The problem.
    pub problem: &'p P,
    /// The values of those that are held, one entry per coordinate.
    pub held: &'p [Option<f64>],
}

impl<P: ?Sized> Held<'_, P> {
    fn free(&self) -> Vec<usize> {
        (0..self.held.len()).filter(|j| self.held[*j].is_none()).collect()
    }

    /// The coordinates that are not held.
    #[must_use]
    pub fn project(&self, at: &DVector<f64>) -> DVector<f64> {
        let free = self.free();
        DVector::from_iterator(free.len(), free.iter().map(|j| at[*j]))
    }

    /// All coordinates, of those that are not held.
    #[must_use]
    pub fn expand(&self, free: &DVector<f64>) -> DVector<f64> {
        let mut all = DVector::from_iterator(self.held.len(), self.held.iter().map(|h| h.unwrap_or(0.0)));
        self.free().iter().zip(free.iter()).for_each(|(j, x)| all[*j] = *x);
        all
    }
}

impl<P: Problem + ?Sized> Problem for Held<'_, P> {
    type Error = P::Error;

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

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation, P::Error> {
        let all = self.problem.evaluate(&self.expand(at), hessian)?;
        let free = self.free();
        Ok(if free.len() == self.held.len() { all } else { all.part(&free) })
    }
}
