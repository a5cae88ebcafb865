//! Symmetric matrices as parameters: the upper triangle row by row, its names, and the matrix it stands for.

use nalgebra::{Cholesky, DMatrix, Dyn};

/// The pairs `(i, j)`, `i ≤ j`, row by row: the order of the parameters.
pub(super) fn upper(dimension: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dimension).flat_map(move |i| (i..dimension).map(move |j| (i, j)))
}

/// Number of entries of the upper triangle, diagonal included.
pub(super) fn entries(dimension: usize) -> usize {
    dimension * (dimension + 1) / 2
}

/// `P01`, or `P0_1` from eleven variables on, where digits alone would be ambiguous.
pub(super) fn pair_name(letter: &str, i: usize, j: usize, dimension: usize) -> String {
    if dimension > 10 { format!("{letter}{i}_{j}") } else { format!("{letter}{i}{j}") }
}

/// Names of a vector and of a symmetric matrix, in the order of the parameters.
pub(super) fn names(vector: &str, matrix: &str, dimension: usize) -> Vec<String> {
    let linear = (0..dimension).map(|i| format!("{vector}{i}"));
    linear.chain(upper(dimension).map(|(i, j)| pair_name(matrix, i, j, dimension))).collect()
}

/// Start values of a vector of zeros and the identity matrix.
pub(super) fn standard(dimension: usize) -> Vec<f64> {
    let matrix = upper(dimension).map(|(i, j)| if i == j { 1.0 } else { 0.0 });
    std::iter::repeat_n(0.0, dimension).chain(matrix).collect()
}

/// The symmetric matrix whose upper triangle these values are.
pub(super) fn matrix(dimension: usize, values: &[f64]) -> DMatrix<f64> {
    let mut out = DMatrix::zeros(dimension, dimension);
    for ((i, j), value) in upper(dimension).zip(values) {
        out[(i, j)] = *value;
        out[(j, i)] = *value;
    }
    out
}

/// The Cholesky factor, `None` unless the matrix is positive definite and finite.
pub(super) fn cholesky(matrix: DMatrix<f64>) -> Option<Cholesky<f64, Dyn>> {
    let factor = Cholesky::new(matrix)?;
    factor.l_dirty().diagonal().iter().all(|pivot| *pivot > 0.0 && pivot.is_finite()).then_some(factor)
}

/// `ln det` from the factor; the logarithms are added so that no product can overflow.
pub(super) fn ln_determinant(factor: &Cholesky<f64, Dyn>) -> f64 {
    2.0 * factor.l_dirty().diagonal().iter().map(|pivot| pivot.ln()).sum::<f64>()
}
