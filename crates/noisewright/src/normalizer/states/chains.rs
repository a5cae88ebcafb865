//! Draws that are Markov chains: the long-run covariance of the estimating functions, state by state.
//!
//! What a dependent sample adds to the variance of `Σ_n W_n` is not the number of draws times a covariance but the sum
//! of the autocovariances at all lags. They are summed, matrix by matrix, up to the lag where Geyer's initial positive
//! sequence ends for the last of the components; before that, neighbours are added up in pairs until few lags suffice,
//! which leaves the sum over all lags as it is.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::DMatrix;
use noisewright_numerics::parallel::{map, try_map};
use noisewright_numerics::summation::dot;

use super::super::autocorrelation::{Neighbours, STRETCH};
use super::problem::{Scratch, cut};
use super::unsampled::Weights;
use crate::Result;
use crate::run::Stage;
use crate::tolerance::FEWEST_EFFECTIVE_ROWS;

/// Lags to be summed at most.
const LAGS: usize = 16;
/// Rows below which neighbours are no longer added up.
const FEWEST_ROWS: usize = 8 * LAGS;
/// Components that vary less than this share of the one that varies most do not decide on the lags.
const NEGLIGIBLE: f64 = 1e-3;

/// The draws of one chain, in order: pieces of the rows of the pool.
pub(super) struct Chain {
    pub(super) state: usize,
    pub(super) label: usize,
    pub(super) pieces: Vec<Range<usize>>,
}

/// The draws of one state as the classifier sees them.
pub(super) struct LongRun {
    /// Covariance of `Σ_n W_n` over the draws of the state.
    pub(super) covariance: DMatrix<f64>,
    /// Draws that are worth one independent draw.
    pub(super) inefficiency: f64,
    /// Whether the chains are long enough for that to be known.
    pub(super) reliable: bool,
    /// Degrees of freedom of the covariance: one where the chains are too short for it to be known (MATH §15).
    pub(super) freedom: f64,
    /// Whether all draws have the same log-densities, which says nothing about how far a draw may go.
    pub(super) stands_still: bool,
}

/// The long-run covariances of all states with draws, in order.
pub(super) fn long_run(weights: &Weights<'_>, chains: &[Chain]) -> Result<Vec<LongRun>> {
    let (states, done) = (weights.problem.states(), AtomicUsize::new(0));
    try_map(0..states, |state| {
        weights.problem.context.report(Stage::Errors, done.fetch_add(1, Ordering::Relaxed), Some(states))?;
        let own: Vec<&Chain> = chains.iter().filter(|chain| chain.state == state).collect();
        Ok(of_state(weights, &own))
    })
}

/// What every step of chains that go side by side adds to the error of every log-normalizer: the draws of one label at one
/// step, of all states, are one draw of a chain of them all. `None` where they are not side by side.
///
/// Their errors are no longer independent from state to state, but the sum over the states is one series: with
/// `R = (I − G̃N)⁻¹` the step adds `R Σ_k (W(x_k) − mean of state k)`.
pub(super) fn side_by_side(
    weights: &Weights<'_>,
    chains: &[Chain],
    response: &DMatrix<f64>,
) -> Option<Vec<Series>> {
    let states = weights.states();
    let mut sums: Vec<Series> = Vec::new();
    for state in 0..weights.problem.states() {
        let own: Vec<&Chain> = chains.iter().filter(|chain| chain.state == state).collect();
        let mut series: Vec<Series> = own.iter().map(|chain| Series::read(weights, chain)).collect();
        centre(&mut series, states);
        if sums.is_empty() {
            sums = series;
            continue;
        }
        let alike = own.len() == sums.len()
            && own.iter().zip(chains).all(|(chain, first)| chain.label == first.label)
            && series.iter().zip(&sums).all(|(a, b)| a.rows == b.rows);
        if !alike {
            return None;
        }
        sums.iter_mut().zip(&series).for_each(|(sum, more)| sum.add(more));
    }
    let scale: Vec<f64> = (0..states).map(|k| weights.scale(k)).collect();
    Some(sums.iter().map(|sum| sum.answered(response, &scale)).collect())
}

/// The covariance of the sums of all steps.
pub(super) fn joint_covariance(series: &[Series]) -> DMatrix<f64> {
    let mut series = series.to_vec();
    let components = series.first().map_or(0, |s| s.columns.len());
    let (lags, _) = window(&mut series, components);
    positive_part(sum_of_lags(&series, components, lags))
}

/// A symmetric matrix without what rounding and chance made negative.
pub(super) fn positive_part(matrix: DMatrix<f64>) -> DMatrix<f64> {
    let eigen = matrix.symmetric_eigen();
    let kept = DMatrix::from_diagonal(&eigen.eigenvalues.map(|v| v.max(0.0)));
    &eigen.eigenvectors * kept * eigen.eigenvectors.transpose()
}

/// The lags to be summed, once neighbours were added up until few suffice, and whether they do.
fn window(series: &mut [Series], components: usize) -> (usize, bool) {
    loop {
        match last_lag(series, components) {
            Some(lags) => return (lags, true),
            None if rows(series) < 2 * FEWEST_ROWS => return (LAGS, false),
            None => series.iter_mut().for_each(Series::coarsen),
        }
    }
}

fn of_state(weights: &Weights<'_>, chains: &[&Chain]) -> LongRun {
    let states = weights.states();
    let series = chains.iter().map(|chain| Series::read(weights, chain)).collect();
    let run = of_series(series, states);
    let scaled = weights.in_units_of_weights(run.covariance.as_slice());
    let covariance = DMatrix::from_vec(states, states, scaled);
    LongRun { covariance, stands_still: stand_still(weights, chains), ..run }
}

/// Whether chains of a state that are long enough to be judged never move. States that are the same but for their constants have
/// constant weights as well, while the log-densities of their draws differ.
fn stand_still(weights: &Weights<'_>, chains: &[&Chain]) -> bool {
    let pieces = || chains.iter().flat_map(|chain| chain.pieces.iter().cloned());
    let draws: usize = pieces().map(|piece| piece.len()).sum();
    let alike = |column: &&[f64]| {
        let mut own = pieces().flat_map(|piece| &column[piece]);
        let first = own.next();
        own.all(|value| Some(value) == first)
    };
    draws as f64 >= FEWEST_EFFECTIVE_ROWS && weights.columns().all(|column| alike(&column))
}

/// The long-run covariance of the sums of all components over the chains of one state, in the units of the series.
pub(super) fn of_series(mut series: Vec<Series>, components: usize) -> LongRun {
    centre(&mut series, components);
    let plain: Vec<f64> = (0..components).map(|j| autocovariance(&series, j, 0)).collect();
    let (trace, count) = (plain.iter().sum::<f64>(), rows(&series) as f64);
    let neighbours = Neighbours::from_squares(mean_square_difference(&series), trace / count, count, 1.0);
    let (lags, found) = window(&mut series, components);
    let sum = sum_of_lags(&series, components, lags);
    let summed = if trace > 0.0 && sum.trace() > 0.0 { sum.trace() / trace } else { 1.0 };
    let dependent = trace > 0.0 && neighbours.is_visible();
    let inefficiency = if dependent { summed.max(neighbours.least_time(1.0)) } else { summed };
    let effective = count / inefficiency;
    let reliable = found && !(dependent && effective < FEWEST_EFFECTIVE_ROWS);
    let windows = rows(&series) as f64 / (2 * lags + 1) as f64;
    LongRun {
        covariance: sum * (inefficiency / summed),
        inefficiency,
        reliable,
        freedom: if reliable { windows.min(effective / STRETCH).max(1.0) } else { 1.0 },
        stands_still: false,
    }
}

/// The mean square of the differences of neighbouring rows, over all components.
fn mean_square_difference(series: &[Series]) -> f64 {
    let pairs: usize = series.iter().map(|s| s.rows.saturating_sub(1)).sum();
    let of = |column: &Vec<f64>| column.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<f64>();
    series.iter().flat_map(|s| s.columns.iter().map(of)).sum::<f64>() / pairs.max(1) as f64
}

/// Degrees of freedom of the error of every log-normalizer less that of the first of a group, by Welch and Satterthwaite from
/// what the chains of each state add to its variance.
pub(super) fn freedoms(
    chains: &[LongRun],
    group: &[usize],
    response: &DMatrix<f64>,
    base: usize,
) -> Vec<f64> {
    let size = group.len();
    let rows = DMatrix::from_fn(size, size, |i, j| response[(i, j)] - response[(base, j)]);
    let of_state = |chain: &LongRun| -> Vec<(f64, f64)> {
        let own = DMatrix::from_fn(size, size, |i, j| chain.covariance[(group[i], group[j])]);
        let product = &rows * own;
        let variance = |k: usize| product.row(k).dot(&rows.row(k)).max(0.0);
        (0..size).map(|k| (variance(k), variance(k).powi(2) / chain.freedom)).collect()
    };
    let states: Vec<&LongRun> = group.iter().filter_map(|k| chains.get(*k)).collect();
    let parts: Vec<Vec<(f64, f64)>> = map(states, of_state);
    let total = |k: usize| parts.iter().fold((0.0, 0.0), |(v, s), part| (v + part[k].0, s + part[k].1));
    let freedom = |(variance, spread): (f64, f64)| {
        if spread > 0.0 { variance * variance / spread } else { f64::INFINITY }
    };
    (0..size).map(|k| freedom(total(k))).collect()
}

/// The weights along one chain, one column per state.
#[derive(Clone)]
pub(super) struct Series {
    rows: usize,
    pub(super) columns: Vec<Vec<f64>>,
}

impl Series {
    /// The rows of one chain of columns that have a value for every draw of the pool.
    pub(super) fn of_columns(columns: &[&[f64]], chain: &Chain) -> Self {
        let pick =
            |column: &&[f64]| chain.pieces.iter().flat_map(|piece| &column[piece.clone()]).copied().collect();
        let columns: Vec<Vec<f64>> = columns.iter().map(pick).collect();
        Self { rows: chain.pieces.iter().map(ExactSizeIterator::len).sum(), columns }
    }

    fn read(weights: &Weights<'_>, chain: &Chain) -> Self {
        let rows = chain.pieces.iter().map(ExactSizeIterator::len).sum();
        let mut columns = vec![Vec::with_capacity(rows); weights.states()];
        let mut scratch = Scratch::new(weights.states());
        for block in chain.pieces.iter().flat_map(|piece| cut(piece.clone())) {
            let count = block.len();
            weights.fill(block, &mut scratch);
            for (k, column) in columns.iter_mut().enumerate() {
                column.extend_from_slice(scratch.column(k, count));
            }
        }
        Self { rows, columns }
    }

    fn add(&mut self, other: &Self) {
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            column.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        }
    }

    /// The response to each row, whose columns are `scale` times W.
    fn answered(&self, response: &DMatrix<f64>, scale: &[f64]) -> Self {
        let weights = DMatrix::from_fn(scale.len(), self.rows, |k, row| self.columns[k][row] / scale[k]);
        let answer = response * weights;
        let columns = answer.row_iter().map(|row| row.iter().copied().collect()).collect();
        Self { rows: self.rows, columns }
    }

    /// Adds up neighbours in pairs; an odd one at the end stays alone.
    fn coarsen(&mut self) {
        self.rows = self.rows.div_ceil(2);
        for column in &mut self.columns {
            for i in 0..self.rows {
                column[i] = column[2 * i] + column.get(2 * i + 1).copied().unwrap_or(0.0);
            }
            column.truncate(self.rows);
        }
    }
}

fn rows(series: &[Series]) -> usize {
    series.iter().map(|s| s.rows).sum()
}

/// Takes off each component its mean over all chains of the state.
fn centre(series: &mut [Series], components: usize) {
    let count = rows(series) as f64;
    for j in 0..components {
        let mean = series.iter().map(|s| s.columns[j].iter().sum::<f64>()).sum::<f64>() / count;
        series.iter_mut().flat_map(|s| &mut s.columns[j]).for_each(|v| *v -= mean);
    }
}

/// `Σ_i x_i x_{i+lag}` of one component over all chains.
fn autocovariance(series: &[Series], component: usize, lag: usize) -> f64 {
    let of = |x: &[f64]| if lag < x.len() { dot(&x[..x.len() - lag], &x[lag..]) } else { 0.0 };
    series.iter().map(|s| of(&s.columns[component])).sum()
}

/// The last lag of the longest initial positive sequence among the components; `None` beyond [`LAGS`].
fn last_lag(series: &[Series], components: usize) -> Option<usize> {
    let variances: Vec<f64> = (0..components).map(|j| autocovariance(series, j, 0)).collect();
    let largest = variances.iter().copied().fold(0.0, f64::max);
    let mut last = 0;
    for j in (0..components).filter(|j| variances[*j] > NEGLIGIBLE * largest) {
        last = last.max(positive_until(series, j, variances[j])?);
    }
    Some(last)
}

/// The last lag before a pair of neighbouring autocovariances has a sum that is not positive.
fn positive_until(series: &[Series], component: usize, variance: f64) -> Option<usize> {
    let mut first = variance;
    for lag in (1..=LAGS + 1).step_by(2) {
        if first + autocovariance(series, component, lag) <= 0.0 {
            return Some(lag.saturating_sub(2));
        }
        first = autocovariance(series, component, lag + 1);
    }
    None
}

/// `Γ_0 + Σ_t (Γ_t + Γ_tᵀ)`, mended for what taking off the sample mean takes off each lag.
///
/// It is `M + Mᵀ` with `M = Σ_i x_i (½ x_i + x_{i+1} + … + x_{i+lags})ᵀ`: one product, however many lags.
fn sum_of_lags(series: &[Series], components: usize, lags: usize) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(components, components);
    for chain in series {
        let x = DMatrix::from_fn(chain.rows, components, |i, j| chain.columns[j][i]);
        let mut ahead = DMatrix::zeros(chain.rows, components);
        for (j, column) in chain.columns.iter().enumerate() {
            write_ahead(column, lags, ahead.column_mut(j).as_mut_slice());
        }
        let product = x.transpose() * ahead;
        sum += &product + product.transpose();
    }
    let lost = (2 * lags + 1) as f64 / rows(series) as f64;
    sum / (1.0 - lost.min(0.5))
}

/// `½ x_i + x_{i+1} + … + x_{i+lags}`, as far as there are any, for every i.
fn write_ahead(x: &[f64], lags: usize, out: &mut [f64]) {
    // From the end, so that the window only moves by one.
    let mut window = 0.0;
    for i in (0..x.len()).rev() {
        out[i] = 0.5 * x[i] + window;
        window += x[i];
        if let Some(last) = x.get(i + lags) {
            window -= last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_product_is_the_sum_over_all_lags() {
        let columns = vec![vec![1.0, -2.0, 0.5, 3.0, -1.0, 0.25], vec![0.5, 1.5, -1.0, 2.0, 0.0, -3.0]];
        let series = Series { rows: 6, columns };
        for lags in [0, 1, 3, 9] {
            let sum = sum_of_lags(std::slice::from_ref(&series), 2, lags);
            let mended = 1.0 - ((2 * lags + 1) as f64 / 6.0).min(0.5);
            for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (x, y) = (&series.columns[a], &series.columns[b]);
                let near = |i: usize, j: usize| i.abs_diff(j) <= lags;
                let pairs = (0..6).flat_map(|i| (0..6).map(move |j| (i, j))).filter(|(i, j)| near(*i, *j));
                let plain: f64 = pairs.map(|(i, j)| x[i] * y[j]).sum();
                assert!((sum[(a, b)] * mended - plain).abs() < 1e-12, "{lags} {a} {b}");
            }
        }
    }
}
