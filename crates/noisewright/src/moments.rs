//! The moments of MATH §3: weighted sums of the score, from quadrature nodes, states, draws or rows of data alike, and the
//! covariances that they make.

use std::ops::{Add, Range};

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram, weighted_sum};
use noisewright_numerics::summation::blocked;

use crate::fit::distributed::partial_fields;
use crate::run::CancelToken;

/// Rows that are summed together.
const BLOCK: usize = 4096;

/// `Σ w ψ` and `Σ w ψψᵀ` over scored points.
///
/// With the weight w of a loss these are `m_w` and `I_w`, with `v = w²(1 + r)` the second is `I_v`, and with the points' own
/// weights it is the information I.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    pub(crate) mean: DVector<f64>,
    pub(crate) information: DMatrix<f64>,
}

partial_fields!(Moments { mean, information });

impl Moments {
    /// Those of no points.
    pub(crate) fn zeros(size: usize) -> Self {
        Self { mean: DVector::zeros(size), information: DMatrix::zeros(size, size) }
    }

    /// Those of all rows of column-major scores, in fixed blocks: the same for any number of threads. Nonsense once the
    /// computation is cancelled.
    pub(crate) fn of(score: &[f64], size: usize, weights: &[f64], cancel: &CancelToken) -> Self {
        let rows = weights.len();
        let block = |range: Range<usize>| {
            let mut sums = Self::zeros(size);
            if !cancel.is_cancelled() {
                let columns = Columns::new(&score[range.start..], range.len(), size, rows);
                sums.add_rows(columns, &weights[range]);
            }
            sums
        };
        blocked(rows, BLOCK, block, |sum, part| sum + part).unwrap_or_else(|| Self::zeros(size))
    }

    /// Adds some rows.
    pub(crate) fn add_rows(&mut self, score: Columns<'_>, weights: &[f64]) {
        weighted_sum(score, weights, self.mean.as_mut_slice());
        weighted_gram(score, weights, self.information.as_mut_slice());
    }

    /// Both times a number.
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        self.mean *= factor;
        self.information *= factor;
        self
    }

    /// The covariance of the mean over so many rows, each of weight one, that these are sums of.
    pub(crate) fn covariance_of_mean(&self, rows: f64) -> DMatrix<f64> {
        let mean = &self.mean / rows;
        (&self.information / rows - &mean * mean.transpose()) / rows
    }
}

impl Add for Moments {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.mean += other.mean;
        self.information += other.information;
        self
    }
}

/// `Σ_i w_i a_i a_iᵀ` of column-major rows `a_i`.
pub(crate) fn weighted_outer(columns: &[f64], size: usize, weights: &[f64]) -> DMatrix<f64> {
    Moments::of(columns, size, weights, &CancelToken::new()).information
}

/// `Σ = I_w⁻¹ (I_v − κ m_w m_wᵀ) I_w⁻¹` with `κ = 1 + 1/ν`, from the inverse of `I_w`.
pub(crate) fn asymptotic_covariance(
    inverse: &DMatrix<f64>,
    variance: &DMatrix<f64>,
    mean: &DVector<f64>,
    kappa: f64,
) -> DMatrix<f64> {
    let direction = inverse * mean;
    inverse * variance * inverse - &direction * direction.transpose() * kappa
}

/// `B V B`, symmetric to the bit, with no variance below zero: one of nothing but rounding, as of a constant with p_n = p_d,
/// may come out so.
pub(crate) fn sandwich(bread: &DMatrix<f64>, meat: &DMatrix<f64>) -> DMatrix<f64> {
    let product = bread * meat * bread;
    let mut out = (&product + product.transpose()) * 0.5;
    for j in 0..out.nrows() {
        out[(j, j)] = out[(j, j)].max(0.0);
    }
    out
}
