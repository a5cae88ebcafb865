//! Covariances from few rows: every row's term weighed up by its leverage, and the degrees of freedom of the result.
//!
//! The sum of squares `M = Σ (g − ḡ)(g − ḡ)ᵀ` of the terms `g = wψ` of a sample is too small, because ḡ and the estimate
//! have been fitted to the very rows: a row with the leverage `t = 1/n + (g − ḡ)ᵀM⁻¹(g − ḡ)` pulls the estimate towards
//! itself. Dividing its square by `1 − t` is the correction HC2 (MacKinnon and White 1985; MATH §15), with the leverage
//! taken in the metric of the terms themselves, so that it lies between 0 and 1 whatever the model. Where a few rows carry
//! everything, as in the overlap of two samples, theirs is near one.
//!
//! A variance that is itself estimated from n squares `a²` has about `2 (Σa²)² / (Σa⁴ − (Σa²)²/n)` degrees of freedom
//! (Satterthwaite 1946): n for normal terms, far fewer where some are much larger than the others. Over 1,000 samples of
//! 10 rows of gamma(0.4, 2) intervals of ± 1.96 standard errors without the correction cover 0.85 and 0.79, with both 0.97.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram};

use super::distributed::partial_fields;
use crate::tolerance::RANK;

/// Rows beyond which leverages are too small to be worth a pass over the rows: the correction is of the order p/n.
pub(crate) const MOST_ROWS: usize = 1 << 17;

/// Products that leverages may cost, rows by squared unknowns, where they are small.
const MOST_PRODUCTS: usize = 1 << 31;
/// Rows per unknown from which on they are small: on the average a row's leverage is one over that number.
const MANY_ROWS_PER_UNKNOWN: usize = 16;

/// Whether every row's leverage is worth its cost; without it the mean leverage corrects the variance, n/(n − k).
pub(crate) fn is_worth(rows: usize, size: usize) -> bool {
    rows <= MOST_ROWS
        && (rows.saturating_mul(size * size) <= MOST_PRODUCTS || rows < MANY_ROWS_PER_UNKNOWN * size)
}

/// The part of a covariance that comes from one sample.
#[derive(Clone, Debug)]
pub(crate) struct SampleVariance {
    /// Covariance of the mean of the terms.
    pub(crate) meat: DMatrix<f64>,
    /// Degrees of freedom of the variance of every unknown.
    pub(crate) freedom: Vec<f64>,
}

/// What is known of a sample before its rows are looked at one by one.
pub(crate) struct Leverages {
    center: DVector<f64>,
    /// A root of the inverse of M: the leverage is `1/n` and the squared length of `rootᵀ (g − ḡ)`.
    root: DMatrix<f64>,
    /// Carries a term to the unknowns.
    influence: DMatrix<f64>,
    total: f64,
}

/// Sums over rows.
#[derive(Clone, Debug)]
pub(crate) struct LeverageSums {
    meat: DMatrix<f64>,
    second: DVector<f64>,
    fourth: DVector<f64>,
}

partial_fields!(LeverageSums { meat, second, fourth });

impl LeverageSums {
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.meat += other.meat;
        self.second += other.second;
        self.fourth += other.fourth;
        self
    }
}

impl Leverages {
    /// `squares` are `Σ g gᵀ` and `sums` `Σ g` over rows that weigh `total` together; `influence` (unknowns × terms)
    /// carries a term to the unknowns.
    pub(crate) fn new(
        squares: &DMatrix<f64>,
        sums: &DVector<f64>,
        total: f64,
        influence: DMatrix<f64>,
    ) -> Self {
        let center = sums / total;
        let centred = squares - &center * sums.transpose();
        Self { root: inverse_root(&centred), center, influence, total }
    }

    /// No rows yet.
    pub(crate) fn sums(&self) -> LeverageSums {
        let (terms, unknowns) = (self.center.len(), self.influence.nrows());
        LeverageSums {
            meat: DMatrix::zeros(terms, terms),
            second: DVector::zeros(unknowns),
            fourth: DVector::zeros(unknowns),
        }
    }

    /// Adds some rows: their terms column by column, and how many times each counts.
    pub(crate) fn add(&self, sums: &mut LeverageSums, mut terms: DMatrix<f64>, weights: Option<&[f64]>) {
        for (mut column, center) in terms.column_iter_mut().zip(self.center.iter()) {
            column.add_scalar_mut(-center);
        }
        let rows = terms.nrows();
        let whitened = &terms * &self.root;
        let influences = &terms * self.influence.transpose();
        // No row can count for more than all rows together.
        let least = 1.0 / self.total.max(1.0);
        let mut factors = vec![0.0; rows];
        for (row, factor) in factors.iter_mut().enumerate() {
            let weight = weights.map_or(1.0, |w| w[row]);
            let leverage = 1.0 / self.total + whitened.row(row).norm_squared();
            *factor = weight / (1.0 - leverage).max(least);
            for (j, a) in influences.row(row).iter().enumerate() {
                sums.second[j] += weight * a * a;
                sums.fourth[j] += weight * (a * a) * (a * a);
            }
        }
        let columns = Columns::new(terms.as_slice(), rows, terms.ncols(), rows);
        weighted_gram(columns, &factors, sums.meat.as_mut_slice());
    }

    /// The covariance of the mean of the terms, and its degrees of freedom.
    pub(crate) fn finish(&self, sums: &LeverageSums) -> SampleVariance {
        let most = (self.total - self.center.len() as f64).max(1.0);
        let freedom = |(second, fourth): (&f64, &f64)| satterthwaite(*second, *fourth, self.total).min(most);
        SampleVariance {
            meat: &sums.meat / (self.total * self.total),
            freedom: sums.second.iter().zip(sums.fourth.iter()).map(freedom).collect(),
        }
    }
}

/// Degrees of freedom of a sum of so many squares, from it and the sum of their squares; infinite where nothing varies.
pub(crate) fn satterthwaite(second: f64, fourth: f64, total: f64) -> f64 {
    let spread = fourth - second * second / total;
    if spread > 0.0 { 2.0 * second * second / spread } else { f64::INFINITY }
}

/// A matrix R with `R Rᵀ` the generalised inverse of a covariance.
fn inverse_root(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let size = matrix.nrows();
    let unit = |j: usize| if matrix[(j, j)] > 0.0 { 1.0 / matrix[(j, j)].sqrt() } else { 0.0 };
    let scale = DVector::from_fn(size, |j, _| unit(j));
    let correlation = DMatrix::from_fn(size, size, |i, j| matrix[(i, j)] * scale[i] * scale[j]);
    if !correlation.iter().all(|x| x.is_finite()) {
        return DMatrix::zeros(size, size);
    }
    let eigen = correlation.symmetric_eigen();
    let mut root = eigen.eigenvectors;
    for (mut column, value) in root.column_iter_mut().zip(eigen.eigenvalues.iter()) {
        column *= if *value > RANK { 1.0 / value.sqrt() } else { 0.0 };
        column.component_mul_assign(&scale);
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms in columns with their sums.
    fn leverages(terms: &DMatrix<f64>) -> Leverages {
        let sums = terms.row_sum().transpose();
        let identity = DMatrix::identity(terms.ncols(), terms.ncols());
        Leverages::new(&(terms.transpose() * terms), &sums, terms.nrows() as f64, identity)
    }

    #[test]
    fn of_two_values_the_variance_is_the_textbook_one() {
        // k ones among n zeros and ones, centred: every leverage is known in closed form, 1/k for a one and 1/(n − k) for
        // a zero, so that the corrected sum of squares is Σ over both kinds of count · residual² / (1 − 1/count).
        let (n, k) = (20.0_f64, 5.0_f64);
        let terms = DMatrix::from_fn(20, 1, |i, _| if i < 5 { 1.0 } else { 0.0 });
        let leverages = leverages(&terms);
        let mut sums = leverages.sums();
        leverages.add(&mut sums, terms, None);
        let found = leverages.finish(&sums);
        let share = k / n;
        let ones = k * (1.0 - share).powi(2) / (1.0 - 1.0 / k);
        let zeros = (n - k) * share * share / (1.0 - 1.0 / (n - k));
        let expected = (ones + zeros) / (n * n);
        assert!((found.meat[(0, 0)] / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn repeated_rows_are_rows_with_weights() {
        let once = DMatrix::from_fn(12, 2, |i, j| ((i * (j + 2)) as f64).sin());
        let twice = DMatrix::from_fn(24, 2, |i, j| ((i / 2 * (j + 2)) as f64).sin());
        let whole = leverages(&twice);
        let (mut repeated, mut weighted) = (whole.sums(), whole.sums());
        whole.add(&mut repeated, twice, None);
        whole.add(&mut weighted, once, Some(&[2.0; 12]));
        let (a, b) = (whole.finish(&repeated), whole.finish(&weighted));
        assert!((a.meat - b.meat).amax() < 1e-15);
        assert!(a.freedom.iter().zip(&b.freedom).all(|(a, b)| (a / b - 1.0).abs() < 1e-12));
    }

    #[test]
    fn one_row_that_carries_everything_has_no_more_than_a_few_degrees_of_freedom() {
        let mut terms = DMatrix::from_fn(100, 1, |i, _| 1e-3 * (i as f64).sin());
        terms[(0, 0)] = 1.0;
        let leverages = leverages(&terms);
        let mut sums = leverages.sums();
        leverages.add(&mut sums, terms, None);
        let found = leverages.finish(&sums);
        assert!(found.freedom[0] < 2.1 && found.meat[(0, 0)] > 10.0 / 1e4, "{found:?}");
    }
}
