//! What rows add to an estimate by a conditional likelihood, corrected for the leverage of every row: HC2 of MATH §15.
//!
//! At the estimate a row's slope is smaller than at the truth, since the estimate has followed the row: `g_i(θ̂)` is about
//! `(I − L_i) g_i(θ)` with `L_i = F_i H⁻¹/T_d`, where F_i is the information of the row itself, the covariance of its score given its
//! covariates. Multiplying by `(I − L_i)^{-1/2}` makes up for it in the mean (Kauermann and Carroll 2001); in least squares that
//! divides a residual by the root of one less its hat value.
//!
//! The leverages of [`crate::fit::leverage`] are taken in the metric of the terms. They contain the row's own residual and are largest
//! where its square is, so that they add the share κ/T_d to a variance, with κ the kurtosis of the influences. Terms of contrasts with
//! noise are bounded. Those of a likelihood are not: κ is 15 for the precision of a Gaussian. There 95 % intervals of 10,000 sets of
//! 200 rows hold the truth in 96.0 %, with the information of the rows in 95.1; of a precision from 30 rows in 98.2 and 95.6.

use nalgebra::{DMatrix, DVector};

use crate::fit::data::{Data, Dependence};
use crate::fit::leverage::MOST_ROWS;
use crate::fit::options::CovarianceKind;

/// Products that leverages may cost, rows by cubed parameters: beyond, there are many rows for every parameter, and the mean
/// leverage corrects the variance, n/(n − k).
const MOST_PRODUCTS: usize = 1 << 28;

/// How much the estimate follows a row that has some information.
pub(in crate::fit) struct RowLeverage {
    /// A root of `H⁻¹/T_d`.
    root: DMatrix<f64>,
    /// Least of one less a leverage: no row can count for more than all rows together.
    least: f64,
}

impl RowLeverage {
    /// `bread` is `H⁻¹`; none where errors do not need it, or it costs more than it is worth.
    pub(in crate::fit) fn of(bread: &DMatrix<f64>, data: Data<'_>, kind: CovarianceKind) -> Option<Self> {
        let (rows, size, total) = (data.points.rows(), bread.nrows(), data.total_weight());
        let wanted = kind == CovarianceKind::Robust && data.dependence == Dependence::Independent;
        let worth = rows <= MOST_ROWS && rows.saturating_mul(size * size * size) <= MOST_PRODUCTS;
        let root = (wanted && worth).then(|| root(&(bread / total)))??;
        Some(Self { root, least: 1.0 / total.max(1.0) })
    }

    /// What a row adds to the estimate, but for the sign.
    pub(in crate::fit) fn influence(&self, slope: &DVector<f64>, information: &DMatrix<f64>) -> DVector<f64> {
        let (along, leverage) = (self.root.tr_mul(slope), self.root.tr_mul(information) * &self.root);
        if !leverage.iter().all(|x| x.is_finite()) {
            return &self.root * along;
        }
        let eigen = leverage.symmetric_eigen();
        let mut parts = eigen.eigenvectors.tr_mul(&along);
        for (part, leverage) in parts.iter_mut().zip(eigen.eigenvalues.iter()) {
            *part /= (1.0 - leverage).max(self.least).sqrt();
        }
        &self.root * (eigen.eigenvectors * parts)
    }
}

/// A matrix R with `R Rᵀ` a covariance, which may be singular; none where it has something that is no number.
fn root(covariance: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let size = covariance.nrows();
    let scale = covariance.diagonal().map(|variance| variance.max(0.0).sqrt());
    let unit = |j: usize| if scale[j] > 0.0 { 1.0 / scale[j] } else { 0.0 };
    let correlation = DMatrix::from_fn(size, size, |i, j| covariance[(i, j)] * unit(i) * unit(j));
    if !correlation.iter().all(|x| x.is_finite()) {
        return None;
    }
    let eigen = correlation.symmetric_eigen();
    let mut root = eigen.eigenvectors;
    for (mut column, value) in root.column_iter_mut().zip(eigen.eigenvalues.iter()) {
        column *= value.max(0.0).sqrt();
        column.component_mul_assign(&scale);
    }
    Some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_least_squares_residuals_are_divided_by_roots_of_one_less_their_hat_values() {
        let x = [[1.0, 0.3], [1.0, -1.5], [1.0, 2.5], [1.0, 0.7], [1.0, 1.1]];
        let residuals = [0.4, -1.0, 2.0, 0.1, -0.6];
        let rows: Vec<DVector<f64>> = x.iter().map(|x| DVector::from_column_slice(x)).collect();
        let gram = rows.iter().fold(DMatrix::zeros(2, 2), |sum, x| sum + x * x.transpose());
        let inverse = gram.try_inverse().unwrap();
        let points = [0.0; 5];
        let bread = &inverse * 5.0;
        let leverage = RowLeverage::of(&bread, Data::from(&points[..]), CovarianceKind::Robust).unwrap();
        for (x, residual) in rows.iter().zip(residuals) {
            let hat = x.dot(&(&inverse * x));
            let found = leverage.influence(&(x * residual), &(x * x.transpose()));
            let expected = &inverse * x * (residual / (1.0 - hat).sqrt());
            assert!((&found - &expected).amax() < 1e-12 * expected.amax(), "{found} {expected}");
        }
    }

    #[test]
    fn a_parameter_at_its_bound_has_no_variance_and_bad_numbers_end() {
        let bread = DMatrix::from_row_slice(2, 2, &[4.0, 0.0, 0.0, 0.0]);
        let points = [0.0; 4];
        let data = Data::from(&points[..]);
        let leverage = RowLeverage::of(&bread, data, CovarianceKind::Robust).unwrap();
        let (slope, information) = (DVector::from_vec(vec![0.5, 9.0]), DMatrix::from_element(2, 2, 0.75));
        // The leverage is 0.75 · 4/4, and one less it has the root 1/2.
        let found = leverage.influence(&slope, &information);
        assert!((found[0] - 1.0).abs() < 1e-12 && found[1] == 0.0, "{found}");
        let nowhere = leverage.influence(&slope, &DMatrix::from_element(2, 2, f64::NAN));
        assert!((nowhere[0] - 0.5).abs() < 1e-12, "{nowhere}");
        assert!(RowLeverage::of(&bread, data, CovarianceKind::ModelBased).is_none());
    }
}
