//! The pooled draws as a classification problem: which state a draw came from, block by block.
//!
//! With `p_nk = N_k f_k(x_n) e^(−c_k) / Σ_l N_l f_l(x_n) e^(−c_l)`, the chance that draw n is of state k, the log-normalizers
//! c are where every state gets as much as it gave: `Σ_n p_nk = N_k`. That is the minimum of the convex
//! `L(c) = −Σ_n ln p_n,own(n)`, a logistic regression on intercepts alone, with gradient `N_k − Σ_n p_nk` and curvature
//! `diag(Σ_n p_n) − Σ_n p_n p_nᵀ`.

use std::ops::Range;

use noisewright_numerics::gram::{Columns, add_triangle, mirror};
use noisewright_numerics::kernels::{self, Alternative};
use noisewright_numerics::summation::{sum, try_blocked};

use crate::Result;
use crate::run::CancelToken;

/// Draws whose responsibilities are held at a time: for a hundred states they stay in the second-level cache.
const ROWS: usize = 512;
/// Draws per leaf of the fixed tree of sums.
const LEAF: usize = 8 * ROWS;

/// States with draws: one column of log-densities per state, and where every draw comes from.
pub(super) struct Problem<'a> {
    /// Log-densities, one column per state.
    pub(super) columns: Vec<&'a [f64]>,
    /// Number of draws of each state.
    pub(super) counts: Vec<f64>,
    /// Taken off each column first, so that what is solved for is small whatever the scale of the log-densities.
    pub(super) offsets: Vec<f64>,
    /// State of each draw.
    pub(super) origin: &'a [u32],
    /// Cancels every pass over the draws.
    pub(super) cancel: &'a CancelToken,
}

/// Sums over all draws at one place.
pub(super) struct Sums {
    /// `−Σ_n ln p_n,own(n)`.
    pub(super) loss: f64,
    /// `Σ_n p̃_nk` with `p̃_nk = p_nk − N_k/N`: minus the gradient.
    pub(super) excess: Vec<f64>,
    /// `Σ_n p̃_n p̃_nᵀ`; centring keeps near-identical states exact.
    pub(super) gram: Vec<f64>,
}

impl Sums {
    fn join(mut self, other: &Self) -> Self {
        self.loss += other.loss;
        self.excess.iter_mut().zip(&other.excess).for_each(|(a, b)| *a += b);
        self.gram.iter_mut().zip(&other.gram).for_each(|(a, b)| *a += b);
        self
    }
}

/// What one block of draws needs, allocated once per leaf.
pub(super) struct Scratch {
    /// Column-major, [`ROWS`] apart.
    pub(super) p: Vec<f64>,
    /// `ln Σ_l N_l f_l e^(−c_l)` per draw.
    pub(super) log_mixture: Vec<f64>,
    largest: Vec<f64>,
    total: Vec<f64>,
    ones: Vec<f64>,
}

impl Scratch {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            p: vec![0.0; columns * ROWS],
            log_mixture: vec![0.0; ROWS],
            largest: vec![0.0; ROWS],
            total: vec![0.0; ROWS],
            ones: vec![1.0; ROWS],
        }
    }

    /// Column `k` of the block.
    pub(super) fn column(&mut self, k: usize, rows: usize) -> &mut [f64] {
        &mut self.p[k * ROWS..k * ROWS + rows]
    }

    /// Column `k` of the block, with the log-densities of the mixture beside it.
    pub(super) fn column_and_mixture(&mut self, k: usize, rows: usize) -> (&mut [f64], &[f64]) {
        (&mut self.p[k * ROWS..k * ROWS + rows], &self.log_mixture[..rows])
    }

    /// Adds one triangle of the Gram matrix of the first `columns` columns.
    pub(super) fn add_gram(&self, columns: usize, rows: usize, out: &mut [f64]) {
        add_triangle(Columns::new(&self.p, rows, columns, ROWS), &self.ones[..rows], out);
    }
}

/// The blocks of at most [`ROWS`] draws that a range is cut into.
pub(super) fn cut(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(ROWS).map(move |start| start..(start + ROWS).min(end))
}

impl Problem<'_> {
    pub(super) fn states(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn draws(&self) -> usize {
        self.origin.len()
    }

    /// `N_k / N`.
    pub(super) fn share(&self, k: usize) -> f64 {
        self.counts[k] / self.draws() as f64
    }

    /// Fills the scratch with `p̃_nk` for the draws of one block and returns their part of the loss.
    pub(super) fn responsibilities(&self, c: &[f64], block: Range<usize>, scratch: &mut Scratch) -> f64 {
        let rows = block.len();
        // The score is `ln(N_k f_k e^(−c_k))`.
        let shifts: Vec<f64> = c.iter().zip(&self.counts).map(|(c, count)| c - count.ln()).collect();
        let alternatives: Vec<Alternative<'_>> = (0..self.states())
            .map(|k| Alternative {
                values: &self.columns[k][block.clone()],
                offset: self.offsets[k],
                shift: shifts[k],
                share: self.share(k),
            })
            .collect();
        let Scratch { p, log_mixture, largest, total, .. } = scratch;
        let (log_mixture, largest, total) =
            (&mut log_mixture[..rows], &mut largest[..rows], &mut total[..rows]);
        kernels::softmax(&alternatives, ROWS, p, largest, total);
        let mut loss = 0.0;
        for ((n, &own), largest) in self.origin[block].iter().enumerate().zip(largest.iter()) {
            // ln Σ e^(a − max) − (a_own − max); the sum is added below.
            let own = &alternatives[own as usize];
            loss -= ((own.values[n] - own.offset) - own.shift) - largest;
        }
        kernels::ln(total, log_mixture);
        loss += sum(log_mixture);
        log_mixture.iter_mut().zip(largest.iter()).for_each(|(l, m)| *l += m);
        loss
    }

    /// The sums at `c`, over all draws.
    pub(super) fn sums(&self, c: &[f64]) -> Result<Sums> {
        let states = self.states();
        let leaf = |range: Range<usize>| {
            let mut scratch = Scratch::new(states);
            let mut sums = Sums { loss: 0.0, excess: vec![0.0; states], gram: vec![0.0; states * states] };
            for block in cut(range) {
                let rows = block.len();
                sums.loss += self.responsibilities(c, block, &mut scratch);
                for (k, excess) in sums.excess.iter_mut().enumerate() {
                    *excess += sum(scratch.column(k, rows));
                }
                scratch.add_gram(states, rows, &mut sums.gram);
            }
            sums
        };
        let total = self.over_leaves(leaf, |a, b| a.join(&b))?;
        let nothing = || Sums { loss: 0.0, excess: vec![0.0; states], gram: vec![0.0; states * states] };
        let mut total = total.unwrap_or_else(nothing);
        mirror(states, &mut total.gram);
        Ok(total)
    }

    /// Runs over all draws in the fixed order of blocks: `map` makes a leaf's value, `join` adds two neighbours'.
    pub(super) fn over_leaves<T: Send>(
        &self,
        map: impl Fn(Range<usize>) -> T + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<Option<T>> {
        let leaf = |range| {
            self.cancel.check()?;
            Ok(map(range))
        };
        try_blocked(self.draws(), LEAF, leaf, join)
    }
}
