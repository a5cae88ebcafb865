//! Minima of smooth functions of many variables: limited-memory BFGS with a line search that works down to rounding.

use std::collections::VecDeque;
use std::convert::Infallible;

use super::{Minimum, Stop};

/// When L-BFGS stops, and how much it remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LbfgsOptions {
    /// Number of past steps that make up the approximate inverse Hessian (default 10).
    pub memory: usize,
    /// Most steps (default 500).
    pub max_steps: usize,
    /// The search ends when what the last step gained and what the next one promises are below this share of the
    /// value (default 1e-14).
    pub relative_tolerance: f64,
}

impl Default for LbfgsOptions {
    fn default() -> Self {
        Self { memory: 10, max_steps: 500, relative_tolerance: 1e-14 }
    }
}

/// A local minimum by L-BFGS (Liu and Nocedal 1989) from `start`; `f` returns the value and writes the gradient.
///
/// The steps satisfy the Wolfe conditions in the approximate form of Hager and Zhang (2005), which can still be told
/// where differences of values drown in rounding. A value that is not finite is a wall.
///
/// ```
/// use noisewright_numerics::optimize::{LbfgsOptions, lbfgs};
/// let least = lbfgs(&[3.0, -1.0], &LbfgsOptions::default(), |x, gradient| {
///     gradient[0] = 2.0 * (x[0] - 1.0);
///     gradient[1] = 200.0 * (x[1] - 2.0);
///     (x[0] - 1.0).powi(2) + 100.0 * (x[1] - 2.0).powi(2)
/// });
/// assert!(least.stop.converged() && (least.at[0] - 1.0).abs() + (least.at[1] - 2.0).abs() < 1e-7);
/// ```
pub fn lbfgs(start: &[f64], options: &LbfgsOptions, mut f: impl FnMut(&[f64], &mut [f64]) -> f64) -> Minimum {
    let always = |x: &[f64], gradient: &mut [f64]| Ok::<f64, Infallible>(f(x, gradient));
    let Ok(minimum) = try_lbfgs(start, options, always);
    minimum
}

/// The same for a function that may fail: its first error ends the search at once.
///
/// # Errors
/// Those of `f`.
pub fn try_lbfgs<E>(
    start: &[f64],
    options: &LbfgsOptions,
    f: impl FnMut(&[f64], &mut [f64]) -> Result<f64, E>,
) -> Result<Minimum, E> {
    let mut counted = Counted { f, evaluations: 0 };
    let mut here = counted.look(start.to_vec())?;
    let first = here.value;
    let mut gain = f64::INFINITY;
    let mut memory = Memory::new(options.memory.max(1));
    let mut stop = if first.is_finite() { Stop::StepLimit } else { Stop::NoDescent };
    for _ in 0..options.max_steps {
        if stop == Stop::NoDescent || here.gradient.iter().all(|g| *g == 0.0) {
            stop = if first.is_finite() { Stop::Converged } else { stop };
            break;
        }
        let direction = memory.direction(&here.gradient);
        let slope = dot(&here.gradient, &direction);
        // A minimum of zero has no relative accuracy: there, what has been gained so far sets the scale.
        let scale = here.value.abs().max(1e-14 * (first - here.value));
        let promise = -0.5 * slope;
        if !memory.is_empty() && promise.max(gain) <= options.relative_tolerance * scale {
            stop = Stop::Converged;
            break;
        }
        let stride = if memory.is_empty() { first_stride(&here) } else { 1.0 };
        match wolfe_step(&mut counted, &here, &direction, slope, stride)? {
            Some(next) => {
                memory.learn(&here, &next);
                gain = here.value - next.value;
                here = next;
            }
            // The curvature learnt so far may mislead: begin anew from the gradient.
            None if !memory.is_empty() => {
                if promise <= ROUNDING * scale {
                    stop = Stop::Converged;
                    break;
                }
                memory.forget();
            }
            None => {
                stop = Stop::NoDescent;
                break;
            }
        }
    }
    Ok(Minimum { at: here.at, value: here.value, evaluations: counted.evaluations, stop })
}

/// A promised gain below this share of the value, when no step attains it, is rounding.
const ROUNDING: f64 = 1e-11;

/// A point with its value and gradient.
struct Place {
    at: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

struct Counted<F> {
    f: F,
    evaluations: usize,
}

impl<E, F: FnMut(&[f64], &mut [f64]) -> Result<f64, E>> Counted<F> {
    fn look(&mut self, at: Vec<f64>) -> Result<Place, E> {
        self.evaluations += 1;
        let mut gradient = vec![0.0; at.len()];
        let value = (self.f)(&at, &mut gradient)?;
        let sound = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        Ok(Place { at, value: if sound { value } else { f64::INFINITY }, gradient })
    }
}

/// Without curvature, a step that is small beside the point itself.
fn first_stride(here: &Place) -> f64 {
    let size = dot(&here.at, &here.at).sqrt();
    let steepness = dot(&here.gradient, &here.gradient).sqrt();
    if size > 0.0 { 0.1 * size / steepness } else { 1.0 / steepness }
}

/// The last steps `s` and changes of gradient `y`, with `1/(sᵀy)`.
struct Memory {
    limit: usize,
    pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
}

impl Memory {
    fn new(limit: usize) -> Self {
        Self { limit, pairs: VecDeque::with_capacity(limit) }
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    fn forget(&mut self) {
        self.pairs.clear();
    }

    fn learn(&mut self, from: &Place, to: &Place) {
        let step = difference(&to.at, &from.at);
        let change = difference(&to.gradient, &from.gradient);
        let curvature = dot(&step, &change);
        // Below this the pair is rounding and would blow up the inverse Hessian.
        let rounding = f64::EPSILON * (dot(&step, &step) * dot(&change, &change)).sqrt();
        if curvature.is_nan() || curvature <= rounding {
            return;
        }
        if self.pairs.len() == self.limit {
            self.pairs.pop_front();
        }
        self.pairs.push_back((step, change, 1.0 / curvature));
    }

    /// `−H g` by the two-loop recursion (Nocedal 1980).
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut d: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.pairs.len());
        for (step, change, inverse) in self.pairs.iter().rev() {
            let share = inverse * dot(step, &d);
            add(&mut d, -share, change);
            shares.push(share);
        }
        if let Some((_, change, inverse)) = self.pairs.back() {
            let scale = 1.0 / (inverse * dot(change, change));
            d.iter_mut().for_each(|x| *x *= scale);
        }
        for ((step, change, inverse), share) in self.pairs.iter().zip(shares.iter().rev()) {
            let correction = share - inverse * dot(change, &d);
            add(&mut d, correction, step);
        }
        d
    }
}

/// One end of the bracket of a line search: the step, the value and the slope there.
#[derive(Clone, Copy)]
struct End {
    step: f64,
    value: f64,
    /// Unknown beyond a wall.
    slope: Option<f64>,
}

/// A step along a direction of descent that satisfies the (approximate) Wolfe conditions.
fn wolfe_step<E, F: FnMut(&[f64], &mut [f64]) -> Result<f64, E>>(
    counted: &mut Counted<F>,
    from: &Place,
    direction: &[f64],
    slope: f64,
    stride: f64,
) -> Result<Option<Place>, E> {
    const DECREASE: f64 = 0.1;
    const CURVATURE: f64 = 0.9;
    if slope.is_nan() || slope >= 0.0 {
        return Ok(None);
    }
    let rounding = 1e-15 * from.value.abs();
    let mut low = End { step: 0.0, value: from.value, slope: Some(slope) };
    let mut high: Option<End> = None;
    let mut fallback: Option<Place> = None;
    let mut step = stride;
    for _ in 0..60 {
        let next = counted.look(along(&from.at, step, direction))?;
        let there = dot(&next.gradient, direction);
        let low_enough = next.value <= from.value + rounding;
        let wolfe = next.value - from.value <= DECREASE * step * slope;
        let approximate = low_enough && there <= (2.0 * DECREASE - 1.0) * slope;
        let flat_enough = there >= CURVATURE * slope;
        if next.value.is_finite() && flat_enough && (wolfe || approximate) {
            return Ok(Some(next));
        }
        if low_enough && there < 0.0 {
            low = End { step, value: next.value, slope: Some(there) };
        } else {
            high = Some(End { step, value: next.value, slope: low_enough.then_some(there) });
        }
        if next.value < fallback.as_ref().map_or(from.value, |f| f.value) {
            fallback = Some(next);
        }
        step = next_step(low, high);
        if !step.is_finite() || high.is_some_and(|h| h.step - low.step <= 1e-15 * h.step) {
            break;
        }
    }
    Ok(fallback)
}

/// Further out while nothing stops us; else inside the bracket, by secant or parabola where they keep off the ends.
fn next_step(low: End, high: Option<End>) -> f64 {
    let Some(high) = high else { return 4.0 * low.step };
    let width = high.step - low.step;
    let slope = low.slope.unwrap_or(0.0);
    let share = match high.slope {
        Some(there) => slope / (slope - there),
        None if high.value.is_finite() => {
            // The parabola through the low end's value and slope and the high end's value.
            let bend = high.value - low.value - slope * width;
            -0.5 * slope * width / bend
        }
        None => 0.1,
    };
    let share = if share.is_finite() { share.clamp(0.05, 0.95) } else { 0.5 };
    low.step + share * width
}

fn along(from: &[f64], step: f64, direction: &[f64]) -> Vec<f64> {
    from.iter().zip(direction).map(|(x, d)| x + step * d).collect()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

fn add(to: &mut [f64], factor: f64, x: &[f64]) {
    to.iter_mut().zip(x).for_each(|(t, x)| *t += factor * x);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut sum = 0.0;
        for i in 0..x.len() - 1 {
            let (along, across) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
            sum += along * along + 100.0 * across * across;
            gradient[i] += -2.0 * along - 400.0 * x[i] * across;
            gradient[i + 1] += 200.0 * across;
        }
        sum
    }

    #[test]
    fn the_banana_valley_in_2_and_20_dimensions() {
        for size in [2usize, 20] {
            let start: Vec<f64> = (0..size).map(|i| if i % 2 == 0 { -1.2 } else { 1.0 }).collect();
            let least = lbfgs(&start, &LbfgsOptions::default(), rosenbrock);
            assert!(least.stop.converged(), "{least:?}");
            assert!(least.at.iter().all(|x| (x - 1.0).abs() < 1e-5), "{least:?}");
            assert!(least.evaluations < 40 + 10 * size, "{} evaluations", least.evaluations);
        }
    }

    #[test]
    fn a_quadratic_whose_curvatures_span_five_decades() {
        let curvature = |i: usize| 10f64.powf(5.0 * i as f64 / 29.0);
        let bowl = |x: &[f64], gradient: &mut [f64]| {
            let mut sum = 1.0;
            for (i, x) in x.iter().enumerate() {
                let off = x - i as f64;
                gradient[i] = curvature(i) * off;
                sum += 0.5 * curvature(i) * off * off;
            }
            sum
        };
        let options = LbfgsOptions { memory: 30, max_steps: 2000, ..LbfgsOptions::default() };
        let least = lbfgs(&[0.0; 30], &options, bowl);
        assert!(least.stop.converged() && least.value - 1.0 < 1e-11, "{least:?}");
        assert!(least.evaluations < 800, "{} evaluations", least.evaluations);
    }

    #[test]
    fn log_sum_exp_has_its_minimum_where_the_softmax_is_balanced() {
        // ln Σ e^{x_i} − Σ p_i x_i + ½(Σ x_i)²: the minimum is the entropy of p, at x_i = ln p_i less their mean.
        let p = [0.7, 0.2, 0.09, 0.0099, 0.0001];
        let f = |x: &[f64], gradient: &mut [f64]| {
            let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mass: f64 = x.iter().map(|v| (v - top).exp()).sum();
            let total: f64 = x.iter().sum();
            for i in 0..x.len() {
                gradient[i] = (x[i] - top).exp() / mass - p[i] + total;
            }
            top + mass.ln() - dot(x, &p) + 0.5 * total * total
        };
        let least = lbfgs(&[0.0; 5], &LbfgsOptions::default(), f);
        let entropy: f64 = p.iter().map(|q| -q * q.ln()).sum();
        let mean = p.iter().map(|q| q.ln()).sum::<f64>() / 5.0;
        assert!(least.stop.converged() && (least.value - entropy).abs() < 1e-13, "{least:?}");
        assert!(least.at.iter().zip(p).all(|(x, q)| (x - q.ln() + mean).abs() < 1e-3), "{least:?}");
    }

    #[test]
    fn a_wall_is_never_crossed() {
        // x − ln x on x > 0, started close to the wall so that the first steps overshoot.
        let f = |x: &[f64], gradient: &mut [f64]| {
            gradient[0] = 1.0 - 1.0 / x[0];
            if x[0] > 0.0 { x[0] - x[0].ln() } else { f64::NAN }
        };
        for start in [1e-8, 50.0] {
            let least = lbfgs(&[start], &LbfgsOptions::default(), f);
            assert!(least.stop.converged() && (least.at[0] - 1.0).abs() < 1e-6, "{least:?}");
        }
    }

    #[test]
    fn the_first_error_ends_the_search() {
        for last in 1..6 {
            let mut calls = 0;
            let outcome = try_lbfgs(&[-1.2, 1.0], &LbfgsOptions::default(), |x, gradient| {
                calls += 1;
                if calls == last { Err(calls) } else { Ok(rosenbrock(x, gradient)) }
            });
            assert_eq!((outcome, calls), (Err(last), last));
        }
    }

    #[test]
    fn no_finite_start_is_said_and_a_stationary_start_stays() {
        let nowhere = lbfgs(&[1.0], &LbfgsOptions::default(), |_, _| f64::NAN);
        assert_eq!(nowhere.stop, Stop::NoDescent);
        let still = lbfgs(&[0.0], &LbfgsOptions::default(), |x, gradient| {
            gradient[0] = 2.0 * x[0];
            x[0] * x[0]
        });
        assert!(still.stop.converged() && still.evaluations == 1);
        let uphill = lbfgs(&[1.0], &LbfgsOptions::default(), |x, gradient| {
            gradient[0] = -1.0; // a gradient with the wrong sign leads nowhere
            x[0]
        });
        assert_eq!(uphill.stop, Stop::NoDescent);
    }
}
