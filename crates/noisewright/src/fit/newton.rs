//! Newton's method with damping in the metric of the curvature, and the reason why it stopped.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::options::FitOptions;
use crate::Result;
use crate::run::Stage;

/// A function to be minimised.
pub(crate) trait Problem {
    /// How many rows its average is over: with them, a step is measured in standard errors.
    fn rows(&self) -> f64;

    /// Share of its value that is rounding.
    fn rounding(&self) -> f64 {
        1e-12
    }

    /// Whether the Hessian costs about as much as a gradient, rather than many of them.
    fn has_curvature(&self) -> bool {
        true
    }

    /// Whether it is convex.
    fn is_convex(&self) -> bool {
        false
    }

    /// Value, gradient and, where asked for, Hessian; an infinite value is a wall.
    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation>;
}

/// A function's value and derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Evaluation {
    pub(crate) value: f64,
    pub(crate) gradient: DVector<f64>,
    pub(crate) hessian: Option<DMatrix<f64>>,
}

impl Evaluation {
    /// What is outside of the parameters that are allowed.
    pub(crate) fn wall(size: usize) -> Self {
        let hessian = Some(DMatrix::zeros(size, size));
        Self { value: f64::INFINITY, gradient: DVector::zeros(size), hessian }
    }
}

/// Why a descent stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The last step was shorter than the tolerance.
    Converged,
    /// The allowed number of steps was used up.
    StepLimit,
    /// No step from here makes the loss smaller, though the gradient says that one should.
    NoDescent,
    /// The loss falls for ever along some direction.
    RunsOff,
}

impl Stop {
    /// Whether the answer can be relied on.
    #[must_use]
    pub fn converged(self) -> bool {
        self == Self::Converged
    }
}

impl serde::Serialize for Stop {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::StepLimit => "stopped at the step limit",
            Self::NoDescent => "found no step that goes down",
            Self::RunsOff => "the parameters run off to infinity",
        })
    }
}

/// Where a descent ended.
#[derive(Clone, Debug)]
pub(crate) struct Descent {
    pub(crate) at: DVector<f64>,
    pub(crate) value: f64,
    pub(crate) iterations: usize,
    pub(crate) stop: Stop,
}

/// Damping below this share of the curvature is none.
pub(crate) const NO_DAMPING: f64 = 1e-8;
/// The first damping that is tried when a plain step fails.
pub(crate) const FIRST_DAMPING: f64 = 1e-3;
/// Steps without length that end a descent which is not near a minimum.
const PATIENCE: usize = 4;
/// Damping beyond which nothing is left of the step.
const MOST_DAMPING: f64 = 1e16;

/// Descends from `start`.
pub(crate) fn newton(
    problem: &dyn Problem,
    start: &DVector<f64>,
    options: &FitOptions,
    stage: Stage,
) -> Result<Descent> {
    if problem.is_convex() {
        return super::newton_line_search::descend(problem, start, options, stage);
    }
    let mut at = start.clone();
    let mut here = problem.evaluate(&at, true)?;
    let (mut damping, mut idle) = (0.0, 0);
    let end = |at: DVector<f64>, value: f64, iterations: usize, stop: Stop| {
        Ok(Descent { at, value, iterations, stop })
    };
    if !here.value.is_finite() {
        return end(at, here.value, 0, Stop::NoDescent);
    }
    for iteration in 1..=options.max_iterations {
        options.report(stage, iteration, here.value)?;
        let step = damped_step(&here, &mut damping);
        let length = (-here.gradient.dot(&step) * problem.rows()).max(0.0).sqrt();
        if length <= options.tolerance {
            match leave_saddle(problem, &at, &here, damping)? {
                Some((place, next)) => {
                    (at, here, damping) = (place, next, 0.0);
                    continue;
                }
                // A damped step is short wherever it is taken.
                None if damping == 0.0 || is_near(problem, &here, options.tolerance) => {
                    return end(at + step, here.value, iteration, Stop::Converged);
                }
                None if idle >= PATIENCE => return end(at, here.value, iteration, Stop::NoDescent),
                None => idle += 1,
            }
        }
        let place = &at + &step;
        let next = problem.evaluate(&place, true)?;
        match judge(&here, &next, &step, problem.rounding()) {
            Verdict::Good => {
                damping = if damping * 0.1 < NO_DAMPING { 0.0 } else { damping * 0.1 };
                (at, here) = (place, next);
            }
            Verdict::Fair => (at, here) = (place, next),
            Verdict::Bad => damping = (10.0 * damping).max(FIRST_DAMPING),
        }
        if damping > MOST_DAMPING {
            let near = is_near(problem, &here, options.tolerance);
            return end(at, here.value, iteration, if near { Stop::Converged } else { Stop::NoDescent });
        }
    }
    end(at, here.value, options.max_iterations, Stop::StepLimit)
}

enum Verdict {
    Good,
    Fair,
    Bad,
}

/// Compares what a step gained with what the second-order model promised.
fn judge(here: &Evaluation, next: &Evaluation, step: &DVector<f64>, rounding: f64) -> Verdict {
    if !next.value.is_finite() {
        return Verdict::Bad;
    }
    let slope = here.gradient.dot(step);
    let bend = here.hessian.as_ref().map_or(0.0, |h| step.dot(&(h * step)));
    let promised = -slope - 0.5 * bend;
    let gained = here.value - next.value;
    // Where the gain drowns in rounding, the slope at the far end still tells.
    if promised <= rounding * here.value.abs() {
        let there = next.gradient.dot(step);
        return if there.abs() <= 0.9 * slope.abs() { Verdict::Good } else { Verdict::Bad };
    }
    match gained / promised {
        ratio if ratio > 0.5 => Verdict::Good,
        ratio if ratio > 0.05 => Verdict::Fair,
        _ => Verdict::Bad,
    }
}

/// `−(H + damping·D)⁻¹ g` with D the diagonal of the curvature; the damping grows until the matrix is definite.
pub(crate) fn damped_step(here: &Evaluation, damping: &mut f64) -> DVector<f64> {
    let Some(hessian) = &here.hessian else { return -&here.gradient };
    let metric = metric(hessian);
    loop {
        if let Some(factor) = factor(hessian, &metric, *damping) {
            return -factor.solve(&here.gradient);
        }
        *damping = (10.0 * *damping).max(FIRST_DAMPING);
        if *damping > MOST_DAMPING {
            return -here.gradient.component_div(&metric) / *damping;
        }
    }
}

/// Curvature, as a share of the largest, below which a direction counts as flat.
const FLAT: f64 = 1e-10;

/// Whether the minimum is within the tolerance, or so near that a step could gain no more than rounding.
pub(crate) fn is_near(problem: &dyn Problem, here: &Evaluation, tolerance: f64) -> bool {
    let gain = undamped_gain(here);
    gain * problem.rows() <= tolerance * tolerance || gain <= problem.rounding() * here.value.abs()
}

/// `gᵀH⁻¹g`, twice what a step without damping would gain: times the rows, the square of its length in standard errors.
pub(crate) fn undamped_gain(here: &Evaluation) -> f64 {
    let Some(hessian) = here.hessian.as_ref().filter(|h| h.iter().all(|x| x.is_finite())) else {
        return f64::INFINITY;
    };
    let scale = metric(hessian).map(|m| 1.0 / m.sqrt());
    let scaled = DMatrix::from_fn(scale.len(), scale.len(), |i, j| hessian[(i, j)] * scale[i] * scale[j]);
    let eigen = scaled.symmetric_eigen();
    let along = eigen.eigenvectors.tr_mul(&here.gradient.component_mul(&scale));
    along.iter().zip(eigen.eigenvalues.iter()).map(|(g, bend)| g * g / bend.abs().max(FLAT)).sum()
}

/// The size of the curvature along each coordinate, never zero.
pub(crate) fn metric(hessian: &DMatrix<f64>) -> DVector<f64> {
    let diagonal = hessian.diagonal().abs();
    let floor = diagonal.max().max(f64::MIN_POSITIVE) * 1e-14;
    diagonal.map(|d| d.max(floor))
}

/// The factor of `H + damping·D`, if it is definite beyond rounding.
fn factor(hessian: &DMatrix<f64>, metric: &DVector<f64>, damping: f64) -> Option<Cholesky<f64, Dyn>> {
    let mut matrix = hessian.clone();
    for j in 0..metric.len() {
        matrix[(j, j)] += damping * metric[j];
    }
    let factor = matrix.cholesky()?;
    let pivots = factor.l_dirty().diagonal();
    let sound = pivots.iter().zip(metric.iter()).all(|(l, m)| l * l > 1e-14 * m);
    sound.then_some(factor)
}

/// From a place that is flat but bends downwards, a step along the most negative curvature.
fn leave_saddle(
    problem: &dyn Problem,
    at: &DVector<f64>,
    here: &Evaluation,
    damping: f64,
) -> Result<Option<(DVector<f64>, Evaluation)>> {
    let Some(hessian) = here.hessian.as_ref().filter(|_| damping > 0.0) else { return Ok(None) };
    let scale = metric(hessian).map(|m| 1.0 / m.sqrt());
    let scaled = DMatrix::from_fn(scale.len(), scale.len(), |i, j| hessian[(i, j)] * scale[i] * scale[j]);
    let eigen = scaled.symmetric_eigen();
    let lowest = eigen.eigenvalues.imin();
    if eigen.eigenvalues[lowest] > -1e-8 {
        return Ok(None);
    }
    let direction = eigen.eigenvectors.column(lowest).component_mul(&scale);
    for length in [1.0, -1.0, 0.1, -0.1, 0.01, -0.01] {
        let place = at + &direction * length;
        let next = problem.evaluate(&place, true)?;
        if next.value < here.value {
            return Ok(Some((place, next)));
        }
    }
    Ok(None)
}
