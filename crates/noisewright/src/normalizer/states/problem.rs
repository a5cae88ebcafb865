//! The pooled draws as a classification problem: which state a draw came from, block by block.
//!
//! With `p_nk = N_k f_k(x_n) e^(−c_k) / Σ_l N_l f_l(x_n) e^(−c_l)`, the chance that draw n is of state k, the log-normalizers
//! c are where every state gets as much as it gave: `Σ_n p_nk = N_k`. That is the minimum of the convex
//! `L(c) = −Σ_n ln p_n,own(n)`, a logistic regression on intercepts alone, with gradient `N_k − Σ_n p_nk` and curvature
//! `diag(Σ_n p_n) − Σ_n p_n p_nᵀ`.

use std::ops::Range;

use noisewright_numerics::gram::{Columns, add_triangle, mirror};
use noisewright_numerics::kernels;
use noisewright_numerics::summation::{sum, try_blocked};

use crate::Result;
use crate::run::Context;

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
    /// Cancels every pass over the draws, and hears of the steps.
    pub(super) context: &'a Context,
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
        self.scores(c, block.clone(), scratch);
        let mut loss = 0.0;
        for (n, &own) in self.origin[block].iter().enumerate() {
            // ln Σ e^(a − max) − (a_own − max); the sum is added below.
            loss -= scratch.p[own as usize * ROWS + n];
        }
        scratch.total[..rows].fill(0.0);
        for k in 0..self.states() {
            let column = &mut scratch.p[k * ROWS..k * ROWS + rows];
            kernels::exp_in_place(column);
            scratch.total[..rows].iter_mut().zip(column.iter()).for_each(|(t, e)| *t += e);
        }
        kernels::ln(&scratch.total[..rows], &mut scratch.log_mixture[..rows]);
        loss += sum(&scratch.log_mixture[..rows]);
        scratch.total[..rows].iter_mut().for_each(|t| *t = 1.0 / *t);
        for k in 0..self.states() {
            let share = self.share(k);
            let column = &mut scratch.p[k * ROWS..k * ROWS + rows];
            column.iter_mut().zip(&scratch.total[..rows]).for_each(|(p, t)| *p = *p * t - share);
        }
        let largest = &scratch.largest[..rows];
        scratch.log_mixture[..rows].iter_mut().zip(largest).for_each(|(l, m)| *l += m);
        loss
    }

    /// `ln(N_k f_k e^(−c_k))` less the largest of them, draw by draw.
    fn scores(&self, c: &[f64], block: Range<usize>, scratch: &mut Scratch) {
        let rows = block.len();
        scratch.largest[..rows].fill(f64::NEG_INFINITY);
        for (k, column) in self.columns.iter().enumerate() {
            let (offset, shift) = (self.offsets[k], c[k] - self.counts[k].ln());
            let scores = &mut scratch.p[k * ROWS..k * ROWS + rows];
            let values = scores.iter_mut().zip(&column[block.clone()]);
            for ((score, value), largest) in values.zip(&mut scratch.largest[..rows]) {
                *score = (value - offset) - shift;
                *largest = if *score > *largest { *score } else { *largest };
            }
        }
        for k in 0..self.states() {
            let scores = &mut scratch.p[k * ROWS..k * ROWS + rows];
            scores.iter_mut().zip(&scratch.largest[..rows]).for_each(|(s, m)| *s -= m);
        }
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
            self.context.check()?;
            Ok(map(range))
        };
        try_blocked(self.draws(), LEAF, leaf, join)
    }
}
