//! The log-normalizers of all states by Newton's method on the convex loss.

use std::cell::{Cell, RefCell};

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{self, DescentOptions, Evaluation};

use super::problem::{Problem, Sums};
use super::start::start;
use crate::run::Stage;
use crate::{Error, Result};

/// Above so many draws the start comes from a subsample.
const SUBSAMPLE_ABOVE: usize = 60_000;
/// Draws in it.
const SUBSAMPLE: usize = 15_000;
/// Most steps of Newton's method.
const STEPS: usize = 100;
/// A step of fewer standard errors is the last: the error after it, of the second order, is below 1e-10 of one.
const TOLERANCE: f64 = 1e-5;
/// A step this small squares to below rounding, and leaves the covariance what it is to nine digits.
const LAST_STEP: f64 = 1e-7;
/// Share of the draws by which a state may get more or less than it gave through rounding alone.
const ROUNDING: f64 = 2e-15;

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
        context: problem.context,
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

/// Newton's method with a line search, from zero; again from where it ended if its last step was too long for the sums before
/// it to serve as those of the solution.
fn newton(problem: &Problem<'_>) -> Result<Solution> {
    let gauged = Gauged { problem, evaluations: Cell::new(0), last: RefCell::new(None) };
    let watch = |iteration: usize, _: f64| problem.context.report(Stage::Descent, iteration, Some(STEPS));
    let options = DescentOptions { tolerance: TOLERANCE, max_iterations: STEPS, watch: &watch };
    let mut start = DVector::zeros(problem.states());
    loop {
        let found = optimize::newton(&gauged, &start, &options)?;
        let (place, sums) = match gauged.last.take() {
            Some(last) if last.gradient == found.last.gradient => (last.place, last.sums),
            _ => (found.at.clone(), problem.sums(found.at.as_slice())?),
        };
        let evaluations = gauged.evaluations.get();
        if found.stop.converged() && (&found.at - place).amax() > LAST_STEP && evaluations < STEPS {
            start = found.at;
            continue;
        }
        // Between states that hardly overlap the equations are solved long before the step is small.
        let solved = sums.excess.iter().all(|excess| excess.abs() <= ROUNDING * problem.draws() as f64);
        let converged = found.stop.converged() || solved;
        return Ok(Solution { c: found.at.as_slice().to_vec(), sums, converged, evaluations });
    }
}

/// The loss in the gauge `Σ N_k c_k = 0`: with the square of that sum, which leaves the minimum where it is and gives the one
/// direction in which nothing is determined the curvature of the others.
struct Gauged<'a, 'p> {
    problem: &'a Problem<'p>,
    evaluations: Cell<usize>,
    last: RefCell<Option<Last>>,
}

/// Where the Hessian was last asked for.
struct Last {
    place: DVector<f64>,
    gradient: DVector<f64>,
    sums: Sums,
}

impl optimize::Problem for Gauged<'_, '_> {
    type Error = Error;

    fn rounding(&self) -> f64 {
        1e-13
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn may_be_flat(&self) -> bool {
        true
    }

    fn evaluate(&self, c: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let (counts, draws) = (&self.problem.counts, self.problem.draws() as f64);
        let sums = self.problem.sums(c.as_slice())?;
        self.evaluations.set(self.evaluations.get() + 1);
        let drift: f64 = counts.iter().zip(c.iter()).map(|(n, c)| n * c).sum();
        let value = sums.loss + 0.5 * drift * drift / draws;
        let gradient = DVector::from_fn(c.len(), |k, _| counts[k] * drift / draws - sums.excess[k]);
        let gauge = |i: usize, j: usize| counts[i] * counts[j] / draws;
        let hessian =
            hessian.then(|| curvature(self.problem, &sums).map_with_location(|i, j, h| h + gauge(i, j)));
        if hessian.is_some() {
            self.last.replace(Some(Last { place: c.clone(), gradient: gradient.clone(), sums }));
        }
        Ok(Evaluation { value, gradient, hessian })
    }
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
