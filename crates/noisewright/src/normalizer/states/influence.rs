//! The joint error of several weighted means: what every draw adds to each of them.
//!
//! A quantity `A = Σ_n a_n(c)` whose terms depend on the log-normalizers c through the mixture in their denominators has
//! `∂A/∂c_l = Σ_n d_n p_nl = N_l g_l`, with `d_n` the deviation that draw n adds directly (`Σ_n d_n = 0`), `g_l = Σ_n d_n W_nl` and
//! `p_nl = N_l W_nl`. To first order draw n adds `ψ_n = d_n + gᵀ N R (W_n − 1/N)` with `R = (I − G̃N)⁻¹` of
//! [`covariance`](super::covariance): A is one more unknown beside the log-normalizers. For independent draws the covariance of two such
//! quantities is `Σ_n d_n d'_n + gᵀ N R g'`; for chains it is the sum of the long-run covariances of ψ over the states.

use std::ops::Range;

use nalgebra::DMatrix;
use noisewright_numerics::parallel::map;
use noisewright_numerics::summation::dot;

use super::super::Dependence;
use super::super::interval::student_deviation;
use super::chains::{Chain, LongRun, Series, of_series, positive_part};
use super::problem::{Problem, Scratch, cut};
use super::reweighting::Reweighting;
use crate::Result;

/// Quantities of chains at most for which every difference has an error from its own autocorrelation; there are as many series as
/// pairs.
const OWN_DIFFERENCES: usize = 16;

/// The covariance of several quantities with the degrees of freedom of each variance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Joint {
    pub(super) covariance: DMatrix<f64>,
    pub(super) freedom: Vec<f64>,
    /// The errors of differences by the autocorrelation of the differences themselves, which is not that of either quantity where
    /// both share slow motions; NaN where the covariance is all that is known.
    pub(super) differences: DMatrix<f64>,
}

impl Joint {
    /// Nothing is known.
    pub(super) fn unknown(count: usize) -> Self {
        Self {
            covariance: DMatrix::from_element(count, count, f64::INFINITY),
            freedom: vec![f64::INFINITY; count],
            differences: DMatrix::from_element(count, count, f64::NAN),
        }
    }

    /// The standard error, widened for what is uncertain about the variance of chains.
    pub(super) fn se(&self, i: usize) -> f64 {
        widened(self.covariance[(i, i)], self.freedom[i])
    }

    /// That of the difference of two.
    pub(super) fn difference_se(&self, i: usize, j: usize) -> f64 {
        let c = &self.covariance;
        let own = self.differences[(i, j)];
        if !own.is_nan() && c[(i, i)].is_finite() && c[(j, j)].is_finite() {
            return own;
        }
        let variance = c[(i, i)] - 2.0 * c[(i, j)] + c[(j, j)];
        widened(variance, self.freedom[i].min(self.freedom[j]))
    }
}

fn widened(variance: f64, freedom: f64) -> f64 {
    if variance.is_nan() {
        return f64::INFINITY;
    }
    if variance > 0.0 { student_deviation(freedom) * variance.sqrt() } else { 0.0 }
}

/// The joint error of the sums of `columns` over all draws, which rest on the states with draws at the places `group`; without
/// the correlations between them where these are not asked for.
pub(super) fn joint(
    reweighting: &Reweighting<'_>,
    group: &[usize],
    columns: &[&[f64]],
    correlated: bool,
) -> Result<Joint> {
    let problem = reweighting.problem();
    let count = columns.len();
    let Some(response) = reweighting.gram.response(group) else { return Ok(Joint::unknown(count)) };
    let slopes = slopes(&problem, &reweighting.c, group, columns)?;
    // N R g: what the log-normalizers' own deviations add.
    let indirect =
        DMatrix::from_fn(group.len(), group.len(), |i, j| problem.counts[group[i]] * response[(i, j)])
            * &slopes;
    if reweighting.options.dependence == Dependence::Independent {
        let direct = DMatrix::from_fn(count, count, |i, j| dot(columns[i], columns[j]));
        let sum = direct + slopes.transpose() * indirect;
        return Ok(Joint { covariance: (&sum + sum.transpose()) * 0.5, ..Joint::unknown(count) });
    }
    let per_draw = per_draw(&problem, &reweighting.c, group, columns, &indirect)?;
    Ok(of_chains(&reweighting.chains, group, &per_draw, correlated))
}

/// `g_l = Σ_n d_n W_nl` of every column, one row per state.
fn slopes(problem: &Problem<'_>, c: &[f64], group: &[usize], columns: &[&[f64]]) -> Result<DMatrix<f64>> {
    let leaf = |range: Range<usize>| {
        let mut scratch = Scratch::new(problem.states());
        let mut sums = DMatrix::zeros(group.len(), columns.len());
        for block in cut(range) {
            let rows = block.len();
            problem.responsibilities(c, block.clone(), &mut scratch);
            for (i, state) in group.iter().enumerate() {
                let p = &*scratch.column(*state, rows);
                for (j, column) in columns.iter().enumerate() {
                    sums[(i, j)] += dot(&column[block.clone()], p);
                }
            }
        }
        sums
    };
    let sums = problem.over_leaves(leaf, |a, b| a + b)?;
    let mut sums = sums.unwrap_or_else(|| DMatrix::zeros(group.len(), columns.len()));
    for (mut row, state) in sums.row_iter_mut().zip(group) {
        row /= problem.counts[*state];
    }
    Ok(sums)
}

/// `ψ_n` of every column.
fn per_draw(
    problem: &Problem<'_>,
    c: &[f64],
    group: &[usize],
    columns: &[&[f64]],
    indirect: &DMatrix<f64>,
) -> Result<Vec<Vec<f64>>> {
    let leaf = |range: Range<usize>| {
        let mut scratch = Scratch::new(problem.states());
        let mut out: Vec<Vec<f64>> = columns.iter().map(|column| column[range.clone()].to_vec()).collect();
        let start = range.start;
        for block in cut(range) {
            let rows = block.len();
            problem.responsibilities(c, block.clone(), &mut scratch);
            for (i, state) in group.iter().enumerate() {
                let p = &*scratch.column(*state, rows);
                for (j, column) in out.iter_mut().enumerate() {
                    let factor = indirect[(i, j)] / problem.counts[*state];
                    let part = &mut column[block.start - start..block.end - start];
                    part.iter_mut().zip(p).for_each(|(o, p)| *o += factor * p);
                }
            }
        }
        out
    };
    let join =
        |a: Vec<Vec<f64>>, b: Vec<Vec<f64>>| a.into_iter().zip(b).map(|(a, b)| [a, b].concat()).collect();
    Ok(problem.over_leaves(leaf, join)?.unwrap_or_default())
}

/// The long-run covariance of the sums of all columns: the variance of each from its own autocorrelation, and the
/// correlations between them from all together.
fn of_chains(chains: &[Chain], group: &[usize], columns: &[Vec<f64>], correlated: bool) -> Joint {
    let alone: Vec<(f64, f64)> = map(columns, |column| variance(chains, group, column));
    let deviations: Vec<f64> = alone.iter().map(|(variance, _)| variance.sqrt()).collect();
    let correlation = if correlated && columns.len() > 1 {
        correlation(chains, group, columns)
    } else {
        DMatrix::identity(columns.len(), columns.len())
    };
    Joint {
        covariance: DMatrix::from_fn(columns.len(), columns.len(), |i, j| {
            correlation[(i, j)] * deviations[i] * deviations[j]
        }),
        freedom: alone.into_iter().map(|(_, freedom)| freedom).collect(),
        differences: differences(chains, group, columns, correlated),
    }
}

/// The errors of all differences, each by its own autocorrelation.
fn differences(chains: &[Chain], group: &[usize], columns: &[Vec<f64>], asked: bool) -> DMatrix<f64> {
    let count = columns.len();
    let mut errors = DMatrix::from_element(count, count, f64::NAN);
    if !asked || count > OWN_DIFFERENCES {
        return errors;
    }
    errors.fill_diagonal(0.0);
    let pairs: Vec<(usize, usize)> = (0..count).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let error = |(i, j): &(usize, usize)| {
        let series: Vec<f64> = columns[*i].iter().zip(&columns[*j]).map(|(a, b)| a - b).collect();
        let (variance, freedom) = variance(chains, group, &series);
        widened(variance, freedom)
    };
    let found: Vec<f64> = map(&pairs, error);
    for ((i, j), error) in pairs.into_iter().zip(found) {
        errors[(i, j)] = error;
        errors[(j, i)] = error;
    }
    errors
}

/// The long-run covariances of all states of a group.
fn by_state<'a>(
    chains: &'a [Chain],
    group: &'a [usize],
    columns: &'a [&'a [f64]],
) -> impl Iterator<Item = LongRun> + 'a {
    group.iter().map(move |state| {
        let own = chains.iter().filter(|chain| chain.state == *state);
        of_series(own.map(|chain| Series::of_columns(columns, chain)).collect(), columns.len())
    })
}

/// The long-run variance of one sum and its degrees of freedom (Welch and Satterthwaite).
fn variance(chains: &[Chain], group: &[usize], column: &[f64]) -> (f64, f64) {
    let (mut total, mut spread) = (0.0, 0.0);
    for run in by_state(chains, group, &[column]) {
        let own = run.covariance[(0, 0)].max(0.0);
        total += own;
        spread += own * own / run.freedom;
    }
    (total, if spread > 0.0 { total * total / spread } else { f64::INFINITY })
}

fn correlation(chains: &[Chain], group: &[usize], columns: &[Vec<f64>]) -> DMatrix<f64> {
    // In units of their own size, so that observables of any scale are treated alike.
    let scaled: Vec<Vec<f64>> = columns
        .iter()
        .map(|column| {
            let size = dot(column, column).sqrt();
            column.iter().map(|v| if size > 0.0 { v / size } else { 0.0 }).collect()
        })
        .collect();
    let slices: Vec<&[f64]> = scaled.iter().map(Vec::as_slice).collect();
    let mut sum = DMatrix::zeros(columns.len(), columns.len());
    for run in by_state(chains, group, &slices) {
        sum += run.covariance;
    }
    let sum = positive_part(sum);
    DMatrix::from_fn(columns.len(), columns.len(), |i, j| {
        let size = (sum[(i, i)] * sum[(j, j)]).sqrt();
        if i == j {
            1.0
        } else if size > 0.0 {
            sum[(i, j)] / size
        } else {
            0.0
        }
    })
}
