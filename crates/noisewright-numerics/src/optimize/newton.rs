//! Newton's method with damping in the metric of the curvature: it leaves saddles and works down to rounding.
//!
//! The step is that of Levenberg and Marquardt with the scaling of Moré (1978), `−(H + λD)⁻¹g` with D the diagonal of
//! `|H|`; λ follows the ratio of the gain to what the second-order model promised, as in trust-region methods (Conn, Gould
//! and Toint 2000, ch. 6). Where differences of values drown in rounding, the slope at the far end judges the step, as in
//! the approximate Wolfe condition of Hager and Zhang (2005).

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::{Descent, DescentOptions, Evaluation, Problem, Stop};

/// Damping below this share of the curvature is none.
pub(super) const NO_DAMPING: f64 = 1e-8;
/// The first damping that is tried when a plain step fails.
pub(super) const FIRST_DAMPING: f64 = 1e-3;
/// Steps without length that end a descent which is not near a minimum.
const PATIENCE: usize = 4;
/// Damping beyond which nothing is left of the step.
const MOST_DAMPING: f64 = 1e16;

/// A local minimum by Newton's method from `start`, where the value must be finite; with a line search for a function that
/// says it is convex.
///
/// # Errors
/// Those of an evaluation or of the watch.
pub fn newton<P: Problem + ?Sized>(
    problem: &P,
    start: &DVector<f64>,
    options: &DescentOptions<'_, P::Error>,
) -> Result<Descent, P::Error> {
    if problem.is_convex() {
        return super::newton_line_search::descend(problem, start, options);
    }
    let mut at = start.clone();
    let mut here = problem.evaluate(&at, true)?;
    let (mut damping, mut idle) = (0.0, 0);
    let end = |at: DVector<f64>, last: Evaluation, iterations: usize, stop: Stop| {
        Ok(Descent { at, value: last.value, iterations, stop, last })
    };
    if !here.value.is_finite() {
        return end(at, here, 0, Stop::NoDescent);
    }
    for iteration in 1..=options.max_iterations {
        (options.watch)(iteration, here.value)?;
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
                    return end(at + step, here, iteration, Stop::Converged);
                }
                None if idle >= PATIENCE => return end(at, here, iteration, Stop::NoDescent),
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
            return end(at, here, iteration, if near { Stop::Converged } else { Stop::NoDescent });
        }
    }
    end(at, here, options.max_iterations, Stop::StepLimit)
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
pub(super) fn damped_step(here: &Evaluation, damping: &mut f64) -> DVector<f64> {
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

/// Curvature, as a share of the largest, that is rounding.
const NO_CURVATURE: f64 = 1e-13;

/// `−H⁺g`, the shortest step to the minimum of the second-order model in the metric of the curvature, with nothing along
/// directions without any.
pub(super) fn least_step(here: &Evaluation) -> Option<DVector<f64>> {
    let hessian = here.hessian.as_ref()?;
    let metric = metric(hessian);
    if let Some(factor) = factor(hessian, &metric, 0.0) {
        return Some(-factor.solve(&here.gradient));
    }
    let scale = metric.map(|m| 1.0 / m.sqrt());
    let eigen = scaled(hessian, &scale).symmetric_eigen();
    let along = eigen.eigenvectors.tr_mul(&here.gradient.component_mul(&scale));
    let divided =
        along.zip_map(&eigen.eigenvalues, |g, bend| if bend > NO_CURVATURE { -g / bend } else { 0.0 });
    Some((eigen.eigenvectors * divided).component_mul(&scale))
}

/// `SHS` with S diagonal.
fn scaled(hessian: &DMatrix<f64>, scale: &DVector<f64>) -> DMatrix<f64> {
    hessian.map_with_location(|i, j, h| h * scale[i] * scale[j])
}

/// Curvature, as a share of the largest, below which a direction counts as flat.
const FLAT: f64 = 1e-10;

/// Whether the minimum is within the tolerance, or so near that a step could gain no more than rounding.
pub(super) fn is_near<P: Problem + ?Sized>(problem: &P, here: &Evaluation, tolerance: f64) -> bool {
    let gain = undamped_gain(here);
    gain * problem.rows() <= tolerance * tolerance || gain <= problem.rounding() * here.value.abs()
}

/// `gᵀH⁻¹g`, twice what a step without damping would gain: times the rows, the square of its length in standard errors.
#[must_use]
pub fn undamped_gain(here: &Evaluation) -> f64 {
    let Some(hessian) = here.hessian.as_ref().filter(|h| h.iter().all(|x| x.is_finite())) else {
        return f64::INFINITY;
    };
    let scale = metric(hessian).map(|m| 1.0 / m.sqrt());
    let scaled = scaled(hessian, &scale);
    if let Some(factor) = scaled.clone().cholesky().filter(|f| f.l_dirty().diagonal().min().powi(2) > FLAT) {
        let slope = here.gradient.component_mul(&scale);
        return slope.dot(&factor.solve(&slope));
    }
    let eigen = scaled.symmetric_eigen();
    let along = eigen.eigenvectors.tr_mul(&here.gradient.component_mul(&scale));
    along.iter().zip(eigen.eigenvalues.iter()).map(|(g, bend)| g * g / bend.abs().max(FLAT)).sum()
}

/// The size of the curvature along each coordinate, never zero.
pub(super) fn metric(hessian: &DMatrix<f64>) -> DVector<f64> {
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
fn leave_saddle<P: Problem + ?Sized>(
    problem: &P,
    at: &DVector<f64>,
    here: &Evaluation,
    damping: f64,
) -> Result<Option<(DVector<f64>, Evaluation)>, P::Error> {
    let Some(hessian) = here.hessian.as_ref().filter(|_| damping > 0.0) else { return Ok(None) };
    let scale = metric(hessian).map(|m| 1.0 / m.sqrt());
    let scaled = scaled(hessian, &scale);
    // No eigenvalue is below −1e-8 where the matrix with that much more of the identity is definite.
    if (&scaled + DMatrix::identity(scale.len(), scale.len()) * 1e-8).cholesky().is_some() {
        return Ok(None);
    }
    let eigen = scaled.symmetric_eigen();
    let lowest = eigen.eigenvalues.imin();
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
