//! Newton on the convex loss, with steps that cannot go astray.

use nalgebra::{DMatrix, DVector};

use super::problem::{Problem, Sums};
use super::start::start;
use crate::Result;

/// Above so many draws the start comes from a subsample.
const SUBSAMPLE_ABOVE: usize = 60_000;
/// Draws in it.
const SUBSAMPLE: usize = 15_000;
/// Steps of Newton, backtracked ones included, before giving up.
const STEPS: usize = 100;
/// A step this small squares to below rounding: it is taken without another look.
const LAST_STEP: f64 = 1e-7;
/// Share of the draws by which a state may get more or less than it gave through rounding alone.
const ROUNDING: f64 = 2e-15;
/// Directions of relative curvature below this are rounding: nothing ties the states along them together.
const FLAT: f64 = 1e-13;

/// The log-normalizers and the sums next to them.
pub(super) struct Solution {
    /// Beside the offsets of the problem, which hold the start.
    pub(super) c: Vec<f64>,
    pub(super) sums: Sums,
    pub(super) converged: bool,
    pub(super) evaluations: usize,
}

/// Solves for the log-normalizers, moving the start into the problem's offsets.
pub(super) fn solve(problem: &mut Problem<'_>) -> Result<Solution> {
    let start = if problem.draws() > SUBSAMPLE_ABOVE { from_subsample(problem)? } else { start(problem)? };
    problem.offsets.iter_mut().zip(start).for_each(|(offset, c)| *offset += c);
    newton(problem)
}

/// The solution of a smaller problem, with some draws of every state.
fn from_subsample(problem: &Problem<'_>) -> Result<Vec<f64>> {
    let share = SUBSAMPLE as f64 / problem.draws() as f64;
    let (rows, origin) = thin(problem, share);
    let mut counts = vec![0.0; problem.states()];
    origin.iter().for_each(|k| counts[*k as usize] += 1.0);
    let columns: Vec<Vec<f64>> =
        problem.columns.iter().map(|column| rows.iter().map(|row| column[*row]).collect()).collect();
    let mut small = Problem {
        columns: columns.iter().map(Vec::as_slice).collect(),
        counts,
        offsets: problem.offsets.clone(),
        origin: &origin,
        cancel: problem.cancel,
    };
    let solution = solve(&mut small)?;
    let moved = small.offsets.iter().zip(&problem.offsets).map(|(new, old)| new - old);
    Ok(moved.zip(&solution.c).map(|(start, c)| start + c).collect())
}

/// Evenly spaced draws of every state, at least a hundred of each where there are.
fn thin(problem: &Problem<'_>, share: f64) -> (Vec<usize>, Vec<u32>) {
    let shares: Vec<f64> = problem.counts.iter().map(|n| share.max(100.0 / n).min(1.0)).collect();
    let mut due: Vec<f64> = vec![1.0; problem.states()];
    let (mut rows, mut origin) = (Vec::new(), Vec::new());
    for (row, &state) in problem.origin.iter().enumerate() {
        let k = state as usize;
        due[k] += shares[k];
        if due[k] >= 1.0 {
            due[k] -= 1.0;
            rows.push(row);
            origin.push(state);
        }
    }
    (rows, origin)
}

fn newton(problem: &Problem<'_>) -> Result<Solution> {
    let mut c = vec![0.0; problem.states()];
    let mut sums = problem.sums(&c)?;
    let (mut evaluations, mut converged) = (1, false);
    while evaluations < STEPS {
        let step = newton_step(problem, &sums);
        let length = step.amax();
        if length < LAST_STEP {
            c.iter_mut().zip(step.iter()).for_each(|(c, d)| *c += d);
            converged = true;
            break;
        }
        // Between states that hardly overlap the equations are solved long before the step is small.
        if sums.excess.iter().all(|excess| excess.abs() <= ROUNDING * problem.draws() as f64) {
            converged = true;
            break;
        }
        let Some((next, at_next)) = search(problem, &c, &sums, &step, &mut evaluations)? else { break };
        c = next;
        sums = at_next;
    }
    Ok(Solution { c, sums, converged, evaluations })
}

/// A place along Newton's direction where the loss is lower: far off, where the curvature misleads, shorter steps do.
/// `None` when there are no evaluations left.
fn search(
    problem: &Problem<'_>,
    c: &[f64],
    sums: &Sums,
    step: &DVector<f64>,
    evaluations: &mut usize,
) -> Result<Option<(Vec<f64>, Sums)>> {
    let descent: f64 = -step.iter().zip(&sums.excess).map(|(d, e)| d * e).sum::<f64>();
    let slack = 1e-13 * sums.loss.abs();
    let mut factor = (20.0 / step.amax()).min(1.0);
    while *evaluations < STEPS {
        let shortest = factor < 1e-3;
        let next: Vec<f64> = if shortest {
            self_consistent(problem, c, sums)
        } else {
            c.iter().zip(step.iter()).map(|(c, d)| c + factor * d).collect()
        };
        let at_next = problem.sums(&next)?;
        *evaluations += 1;
        if shortest || at_next.loss <= sums.loss + 1e-4 * factor * descent + slack {
            return Ok(Some((next, at_next)));
        }
        factor *= 0.3;
    }
    Ok(None)
}

/// `c_k + ln(Σ_n p_nk / N_k)`: never raises the loss, since it minimises a bound that touches it.
fn self_consistent(problem: &Problem<'_>, c: &[f64], sums: &Sums) -> Vec<f64> {
    let terms = c.iter().zip(&sums.excess).zip(&problem.counts);
    terms.map(|((c, excess), count)| c + (excess / count).ln_1p()).collect()
}

/// `−H⁻¹∇L` in the gauge `Σ N_k c_k = 0`, without the directions in which the loss is flat.
fn newton_step(problem: &Problem<'_>, sums: &Sums) -> DVector<f64> {
    let states = problem.states();
    let root: Vec<f64> = problem.counts.iter().map(|n| n.sqrt()).collect();
    let curvature = curvature(problem, sums);
    // Scaled by the counts the diagonal is at most one; the gauge direction √N gets the eigenvalue one.
    let scaled = DMatrix::from_fn(states, states, |i, j| {
        curvature[(i, j)] / (root[i] * root[j]) + root[i] * root[j] / problem.draws() as f64
    });
    let pull = DVector::from_fn(states, |i, _| sums.excess[i] / root[i]);
    let eigen = scaled.symmetric_eigen();
    let mut along = eigen.eigenvectors.transpose() * pull;
    for (a, value) in along.iter_mut().zip(eigen.eigenvalues.iter()) {
        *a = if *value > FLAT { *a / value } else { 0.0 };
    }
    let step = eigen.eigenvectors * along;
    DVector::from_fn(states, |i, _| step[i] / root[i])
}

/// `diag(Σ p) − Σ p pᵀ`, from the centred sums.
fn curvature(problem: &Problem<'_>, sums: &Sums) -> DMatrix<f64> {
    let states = problem.states();
    let (q, draws) = (|k: usize| problem.share(k), problem.draws() as f64);
    DMatrix::from_fn(states, states, |i, j| {
        let products =
            sums.gram[i * states + j] + q(i) * sums.excess[j] + q(j) * sums.excess[i] + draws * q(i) * q(j);
        let diagonal = if i == j { problem.counts[i] + sums.excess[i] } else { 0.0 };
        diagonal - products
    })
}
