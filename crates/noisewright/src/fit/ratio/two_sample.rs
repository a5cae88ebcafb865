//! Whether two samples are of the same density: the score test of a ratio of one, asymptotic and by permutations.
//!
//! Where the ratio is one the score of the logistic regression is the difference of the two samples' mean features. In features that
//! are orthonormal over the pooled rows its squared length, `n₁n₂/n ‖mean₁ − mean₂‖²`, is asymptotically χ² with as many degrees of
//! freedom as features (Hotelling's T²). The features do not depend on which sample a row is of, so that permutations of the
//! labels give the exact level.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::DMatrix;
use noisewright_numerics::parallel::try_map;
use noisewright_numerics::special::gamma_q;
use rand::seq::SliceRandom;

use super::contrast::{pooled, some_rows};
use super::waymarks::Samples;
use crate::energy::basis::{Basis, BasisShape};
use crate::energy::{Energy, Statistics};
use crate::run::{Context, Purpose, Stage};
use crate::{Error, Result, Space};

/// Inner knots of the splines, the most functions, and the fewest rows of the smaller sample for each.
const KNOTS: usize = 3;
const MOST_FUNCTIONS: usize = 100;
const ROWS_PER_FUNCTION: usize = 10;
/// Rows over which functions are made orthonormal.
const SCALED_ROWS: usize = 1 << 12;
/// Permutations where nothing is said.
pub(super) const PERMUTATIONS: usize = 499;
/// Rows of either sample that are tested: more of them would find differences that nobody cares about, and cost memory.
const TESTED_ROWS: usize = 1 << 14;
/// Share of the largest variance of a combination of functions below which it does not vary.
const RANK: f64 = 1e-9;

/// A test that two samples are of the same density.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct TwoSampleTest {
    /// `n₁n₂/n ‖mean₁ − mean₂‖²` over orthonormal features.
    pub statistic: f64,
    /// Its degrees of freedom: the number of features.
    pub degrees: usize,
    /// The probability of so large a statistic under the asymptotic χ².
    pub p_value: f64,
    /// The share of permutations of the labels with a statistic as large, the samples' own among them.
    pub p_value_permutation: Option<f64>,
    /// Number of permutations.
    pub permutations: usize,
}

/// Tests that both samples, or as many of their rows as are tested, are of one density, on a basis that does not depend
/// on which row is of which sample.
///
/// # Errors
/// When no variable varies, or it is cancelled.
pub(super) fn test(
    space: &Space,
    samples: Samples<'_>,
    permutations: usize,
    context: &Context,
) -> Result<TwoSampleTest> {
    let [first, second] = [samples.first, samples.second].map(|view| some_rows(view, TESTED_ROWS));
    let samples = Samples { first: first.view(), second: second.view(), ..samples };
    // One column per row, so that the sum over a permutation reads whole columns.
    let white = whitened(space, samples)?.transpose();
    let (degrees, rows) = white.shape();
    let first = samples.first.rows();
    let factor = rows as f64 / (first as f64 * (rows - first) as f64);
    // Orthonormal columns have mean zero: the difference of means follows from the sum over one sample.
    let statistic = |members: &mut dyn Iterator<Item = usize>| {
        let mut sums = vec![0.0; degrees];
        for row in members {
            sums.iter_mut().zip(white.column(row).iter()).for_each(|(s, x)| *s += x);
        }
        factor * sums.iter().map(|s| s * s).sum::<f64>()
    };
    let own = statistic(&mut (0..first));
    let done = AtomicUsize::new(0);
    let exceeds = |block: u64| -> Result<bool> {
        context.report(Stage::Bootstrap, done.fetch_add(1, Ordering::Relaxed), Some(permutations))?;
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let (chosen, _) = order.partial_shuffle(&mut context.stream(Purpose::Permutation, block), first);
        let there = statistic(&mut chosen.iter().map(|row| *row as usize));
        Ok(there >= own)
    };
    let larger = try_map(0..permutations as u64, exceeds)?.into_iter().filter(|exceeds| *exceeds).count();
    Ok(TwoSampleTest {
        statistic: own,
        degrees,
        p_value: gamma_q(0.5 * degrees as f64, 0.5 * own),
        p_value_permutation: (permutations > 0).then(|| (larger + 1) as f64 / (permutations + 1) as f64),
        permutations,
    })
}

/// The features of all rows, those of the first sample first, made orthonormal over them.
fn whitened(space: &Space, samples: Samples<'_>) -> Result<DMatrix<f64>> {
    let most = (samples.units() / ROWS_PER_FUNCTION).min(MOST_FUNCTIONS);
    let shape = [(KNOTS, 1), (0, 1), (KNOTS, 0), (0, 0)]
        .map(|(knots, products)| BasisShape { knots, products, ..BasisShape::QUADRATIC })
        .into_iter()
        .find(|shape| shape.size(space.dimension()) <= most);
    let shape = shape.unwrap_or(BasisShape { products: 0, ..BasisShape::QUADRATIC });
    let basis =
        Arc::new(Basis::new(shape, space.names(), &pooled(samples.first, samples.second, SCALED_ROWS)));
    let count = basis.names().len();
    let (n1, n2) = (samples.first.rows(), samples.second.rows());
    let mut all = DMatrix::zeros(n1 + n2, count);
    for (view, start) in [(samples.first, 0), (samples.second, n1)] {
        let (mut value, mut score) = (vec![0.0; view.rows()], vec![0.0; view.rows() * count]);
        basis.evaluate(&vec![0.0; count], view, &mut value, Some(&mut score))?;
        for (j, column) in score.chunks_exact(view.rows()).enumerate() {
            all.view_mut((start, j), (view.rows(), 1)).copy_from_slice(column);
        }
    }
    orthonormal(all)
}

/// Columns of mean zero and unit covariance that span the same functions.
fn orthonormal(mut columns: DMatrix<f64>) -> Result<DMatrix<f64>> {
    let rows = columns.nrows() as f64;
    for mut column in columns.column_iter_mut() {
        let mean = column.mean();
        column.add_scalar_mut(-mean);
    }
    let eigen = (columns.tr_mul(&columns) / (rows - 1.0)).symmetric_eigen();
    let largest = eigen.eigenvalues.max();
    let kept: Vec<usize> = (0..columns.ncols()).filter(|j| eigen.eigenvalues[*j] > RANK * largest).collect();
    if kept.is_empty() || !largest.is_finite() {
        return Err(Error::NoMass);
    }
    let axes = DMatrix::from_fn(columns.ncols(), kept.len(), |i, j| {
        eigen.eigenvectors[(i, kept[j])] / eigen.eigenvalues[kept[j]].sqrt()
    });
    Ok(columns * axes)
}
