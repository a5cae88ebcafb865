//! States without draws: their log-normalizers by importance sampling from the mixture of all draws.

use std::ops::Range;

use noisewright_numerics::gram::mirror;
use noisewright_numerics::kernels;
use noisewright_numerics::parallel::map;

use super::problem::{Problem, Scratch, cut};
use crate::Result;
use crate::pareto::Shape;

/// `ln Σ e^x` so far, as a largest term and the sum relative to it.
#[derive(Clone, Copy)]
struct LogSum {
    largest: f64,
    sum: f64,
}

impl LogSum {
    const ZERO: Self = Self { largest: f64::NEG_INFINITY, sum: 0.0 };

    fn of(x: &[f64]) -> Self {
        let largest = kernels::max(x);
        if largest == f64::NEG_INFINITY {
            return Self::ZERO;
        }
        Self { largest, sum: kernels::sum_exp(x, largest) }
    }

    fn join(self, other: Self) -> Self {
        let largest = self.largest.max(other.largest);
        if largest == f64::NEG_INFINITY {
            return Self::ZERO;
        }
        let sum = self.sum * (self.largest - largest).exp() + other.sum * (other.largest - largest).exp();
        Self { largest, sum }
    }

    fn ln(self) -> f64 {
        self.largest + self.sum.ln()
    }
}

/// `c_i = ln Σ_n f_i(x_n) / Σ_l N_l f_l(x_n) e^(−c_l)` for every column; −∞ where the density is zero at all draws.
pub(super) fn log_normalizers(problem: &Problem<'_>, c: &[f64], columns: &[&[f64]]) -> Result<Vec<f64>> {
    let leaf = |range: Range<usize>| {
        let mut scratch = Scratch::new(problem.states());
        let mut terms = Vec::new();
        let mut sums = vec![LogSum::ZERO; columns.len()];
        for block in cut(range) {
            problem.responsibilities(c, block.clone(), &mut scratch);
            for (column, sum) in columns.iter().zip(&mut sums) {
                terms.clear();
                let pairs = column[block.clone()].iter().zip(&scratch.log_mixture);
                terms.extend(pairs.map(|(value, mixture)| value - mixture));
                *sum = sum.join(LogSum::of(&terms));
            }
        }
        sums
    };
    let join = |a: Vec<LogSum>, b: Vec<LogSum>| a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect();
    let sums = problem.over_leaves(leaf, join)?.unwrap_or_default();
    Ok(sums.into_iter().map(LogSum::ln).collect())
}

/// The largest weights of a state without draws, about which nothing but these weights is known.
pub(super) struct Tail {
    pub(super) shape: Shape,
    /// The share of the largest weight in the sum of all.
    pub(super) largest: f64,
}

impl Tail {
    fn new(log_weights: &[f64]) -> Option<Self> {
        let shape = Shape::of(log_weights)?;
        let largest = (kernels::max(log_weights) - LogSum::of(log_weights).ln()).exp();
        Some(Self { shape, largest })
    }
}

/// `ln Σ_l N_l f_l(x_n) e^(−c_l)` of every draw.
pub(super) fn log_mixture(problem: &Problem<'_>, c: &[f64]) -> Result<Vec<f64>> {
    let leaf = |range: Range<usize>| {
        let mut scratch = Scratch::new(problem.states());
        let mut log_mixture = Vec::with_capacity(range.len());
        for block in cut(range) {
            let rows = block.len();
            problem.responsibilities(c, block, &mut scratch);
            log_mixture.extend_from_slice(&scratch.log_mixture[..rows]);
        }
        log_mixture
    };
    Ok(problem.over_leaves(leaf, |a, b| [a, b].concat())?.unwrap_or_default())
}

/// The tails of the weights `f_i / Σ_l N_l f_l e^(−c_l)` of every column; `None` for fewer than 25 positive weights.
pub(super) fn tails(problem: &Problem<'_>, c: &[f64], columns: &[&[f64]]) -> Result<Vec<Option<Tail>>> {
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let log_mixture = log_mixture(problem, c)?;
    let log_weights = |column: &[f64]| -> Vec<f64> {
        column.iter().zip(&log_mixture).map(|(value, mixture)| value - mixture).collect()
    };
    Ok(map(columns, |column| Tail::new(&log_weights(column))))
}

/// Weights of the draws under all states, those without draws last: `N (W_nk − 1/N)` with `Σ_n W_nk = 1`, or for a state
/// with draws `p_nk − N_k/N = N_k (W_nk − 1/N)`.
pub(super) struct Weights<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) c: &'a [f64],
    pub(super) unsampled: &'a [&'a [f64]],
    pub(super) unsampled_c: &'a [f64],
}

impl Weights<'_> {
    pub(super) fn states(&self) -> usize {
        self.problem.states() + self.unsampled.len()
    }

    /// The log-densities of all states, those without draws last.
    pub(super) fn columns(&self) -> impl Iterator<Item = &[f64]> {
        self.problem.columns.iter().chain(self.unsampled).copied()
    }

    /// Whether the state's density is zero at all draws.
    pub(super) fn is_empty(&self, k: usize) -> bool {
        k >= self.problem.states() && self.unsampled_c[k - self.problem.states()] == f64::NEG_INFINITY
    }

    /// What one unit of a column of [`fill`](Self::fill) is worth in W: N_k, or N without draws.
    pub(super) fn scale(&self, k: usize) -> f64 {
        self.problem.counts.get(k).copied().unwrap_or(self.problem.draws() as f64)
    }

    /// Fills the scratch, which must have a column for every state.
    pub(super) fn fill(&self, block: Range<usize>, scratch: &mut Scratch) {
        let (sampled, rows) = (self.problem.states(), block.len());
        self.problem.responsibilities(self.c, block.clone(), scratch);
        let log_draws = (self.problem.draws() as f64).ln();
        for (i, column) in self.unsampled.iter().enumerate() {
            let (out, mixture) = scratch.column_and_mixture(sampled + i, rows);
            if self.is_empty(sampled + i) {
                out.fill(0.0);
                continue;
            }
            let shift = self.unsampled_c[i] - log_draws;
            for ((o, value), mixture) in out.iter_mut().zip(&column[block.clone()]).zip(mixture) {
                *o = (value - mixture) - shift;
            }
            kernels::exp_in_place(out);
            out.iter_mut().for_each(|o| *o -= 1.0);
        }
    }

    /// `Σ_n (W_n − 1/N)(W_n − 1/N)ᵀ` over all states, row-major.
    pub(super) fn gram(&self) -> Result<Vec<f64>> {
        let states = self.states();
        let leaf = |range: Range<usize>| {
            let mut scratch = Scratch::new(states);
            let mut gram = vec![0.0; states * states];
            for block in cut(range) {
                self.fill(block.clone(), &mut scratch);
                scratch.add_gram(states, block.len(), &mut gram);
            }
            gram
        };
        let add = |mut a: Vec<f64>, b: Vec<f64>| {
            a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
            a
        };
        let mut gram = self.problem.over_leaves(leaf, add)?.unwrap_or(vec![0.0; states * states]);
        mirror(states, &mut gram);
        Ok(self.in_units_of_weights(&gram))
    }

    /// A Gram matrix of the columns of [`fill`](Self::fill) as one of W.
    pub(super) fn in_units_of_weights(&self, gram: &[f64]) -> Vec<f64> {
        let states = self.states();
        let scale: Vec<f64> = (0..states).map(|k| self.scale(k)).collect();
        (0..states * states).map(|ij| gram[ij] / (scale[ij / states] * scale[ij % states])).collect()
    }
}
