//! Newton's method for a convex function: whole steps where they serve, and a search along the step where they do not.
//!
//! Far from its minimum a log-normalizer is like an exponential: a Newton step is then far too short on one side and far
//! too long on the other, and beyond an edge there is no value at all. A search along the step by the slope, which is
//! monotone, costs a few evaluations and saves hundreds of steps (Boyd and Vandenberghe 2004, §9.5, with the strong Wolfe
//! condition on the slope, Nocedal and Wright 2006, §3.1).

use nalgebra::DVector;

use super::newton::{FIRST_DAMPING, NO_DAMPING, damped_step, is_near, least_step, undamped_gain};
use super::{Descent, DescentOptions, Evaluation, Problem, Stop};

/// Share of the slope that may be left where a search along a step ends.
const LEFT: f64 = 0.5;
/// Evaluations of one search.
const MOST_LOOKS: usize = 14;
/// A step cut down below this share is taken in another direction instead.
const LEAST_SHARE: f64 = 0.05;
/// A step of at least this share needs less damping.
const FAIR_SHARE: f64 = 0.3;
/// Damping beyond which no direction is tried.
const MOST_DAMPING: f64 = 1e12;
/// So many steps without progress end the descent.
const PATIENCE: usize = 3;

/// Descends from `start`, where the value must be finite.
///
/// Where the edge of what has a value is near, Newton's direction may lead straight across it; with damping it turns towards
/// that of the steepest descent, which does not.
pub(super) fn descend<P: Problem + ?Sized>(
    problem: &P,
    start: &DVector<f64>,
    options: &DescentOptions<'_, P::Error>,
) -> Result<Descent, P::Error> {
    let mut at = start.clone();
    let mut here = problem.evaluate(&at, true)?;
    let (mut damping, mut idle) = (0.0, 0);
    let end = |at, last: Evaluation, iterations, stop| {
        Ok(Descent { at, value: last.value, iterations, stop, last })
    };
    if !here.value.is_finite() {
        return end(at, here, 0, Stop::NoDescent);
    }
    for iteration in 1..=options.max_iterations {
        (options.watch)(iteration, here.value)?;
        if undamped_gain(&here) * problem.rows() <= options.tolerance.powi(2) {
            let step = direction(problem, &here, &mut 0.0);
            return end(at + step, here, iteration, Stop::Converged);
        }
        let found = step(problem, &at, &here, &mut damping)?;
        let ended = found.is_none();
        if let Some((place, next)) = found {
            let gained = here.value - next.value > problem.rounding() * here.value.abs();
            idle = if gained || undamped_gain(&next) < 0.5 * undamped_gain(&here) { 0 } else { idle + 1 };
            (at, here) = (place, next);
        }
        if ended || idle >= PATIENCE {
            let near = is_near(problem, &here, options.tolerance);
            return end(at, here, iteration, if near { Stop::Converged } else { Stop::NoDescent });
        }
    }
    end(at, here, options.max_iterations, Stop::StepLimit)
}

/// A step with as much damping as it takes to get anywhere; `None` where none does.
fn step<P: Problem + ?Sized>(
    problem: &P,
    at: &DVector<f64>,
    here: &Evaluation,
    damping: &mut f64,
) -> Result<Option<(DVector<f64>, Evaluation)>, P::Error> {
    while *damping <= MOST_DAMPING {
        let step = direction(problem, here, damping);
        let search = Search { problem, at, here, step: &step };
        if let Some((share, next)) = search.run()? {
            if share >= FAIR_SHARE {
                *damping = if *damping < NO_DAMPING { 0.0 } else { 0.1 * *damping };
            }
            let place = at + &step * share;
            let next = if next.hessian.is_some() { next } else { problem.evaluate(&place, true)? };
            return Ok(Some((place, next)));
        }
        *damping = (10.0 * *damping).max(FIRST_DAMPING);
    }
    Ok(None)
}

/// The damped step; without damping, where the function may be flat, that of least length.
fn direction<P: Problem + ?Sized>(problem: &P, here: &Evaluation, damping: &mut f64) -> DVector<f64> {
    let flat = if problem.may_be_flat() && *damping == 0.0 { least_step(here) } else { None };
    flat.unwrap_or_else(|| damped_step(here, damping))
}

/// A search along one step.
struct Search<'s, P: ?Sized> {
    problem: &'s P,
    at: &'s DVector<f64>,
    here: &'s Evaluation,
    step: &'s DVector<f64>,
}

impl<P: Problem + ?Sized> Search<'_, P> {
    /// The share of the step after which the slope along it has fallen by half or more, or the most that goes down; `None`
    /// where that is next to nothing.
    fn run(&self) -> Result<Option<(f64, Evaluation)>, P::Error> {
        let slope = self.here.gradient.dot(self.step);
        let (mut low, mut high): (Option<(f64, Evaluation)>, f64) = (None, f64::INFINITY);
        let mut share: f64 = 1.0;
        for look in 0..MOST_LOOKS {
            let next = self.problem.evaluate(&(self.at + self.step * share), look == 0)?;
            let there = next.gradient.dot(self.step);
            let worse = next.value > self.here.value + self.problem.rounding() * self.here.value.abs();
            if !next.value.is_finite() || worse || there > LEFT * slope.abs() {
                high = share;
            } else if there < -LEFT * slope.abs() {
                low = Some((share, next));
            } else {
                return Ok(Some((share, next)));
            }
            share = match &low {
                None if high < LEAST_SHARE => return Ok(None),
                None => 0.3 * high,
                Some((low, _)) if high < 2.0 * low => break,
                Some(_) if high.is_infinite() => 3.0 * share,
                Some((low, _)) => (low * high).sqrt(),
            };
        }
        Ok(low)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    /// `e^x − a x`, least at `x = ln a`.
    struct Exponential(f64);

    impl Problem for Exponential {
        type Error = String;

        fn rows(&self) -> f64 {
            100.0
        }

        fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation, String> {
            let e = at[0].exp();
            let hessian = hessian.then(|| DMatrix::from_element(1, 1, e));
            Ok(Evaluation {
                value: e - self.0 * at[0],
                gradient: DVector::from_element(1, e - self.0),
                hessian,
            })
        }
    }

    #[test]
    fn an_exponential_is_descended_in_few_steps_from_either_side() {
        for start in [20.0, 3.0, -5.0] {
            let options = DescentOptions { tolerance: 1e-6, max_iterations: 200, watch: &|_, _| Ok(()) };
            let found = descend(&Exponential(2.0), &DVector::from_element(1, start), &options).unwrap();
            assert!(found.stop.converged() && found.iterations < 30, "{start}: {found:?}");
            assert!((found.at[0] - 2f64.ln()).abs() < 1e-9, "{start}: {found:?}");
        }
    }

    #[test]
    fn the_watch_ends_the_search_with_its_own_error() {
        let watch = |iteration: usize, _: f64| if iteration < 3 { Ok(()) } else { Err("enough".into()) };
        let options = DescentOptions { tolerance: 1e-6, max_iterations: 200, watch: &watch };
        let found = descend(&Exponential(2.0), &DVector::from_element(1, 300.0), &options);
        assert_eq!(found.unwrap_err(), "enough");
    }
}
