//! Symmetric matrices: inverses that notice when there is none.

use nalgebra::{Cholesky, DMatrix, DMatrixView, DVector, Dyn};

/// Size up to which a triangle is inverted column by column.
const SMALL: usize = 48;

/// Relative size of a pivot below which a scaled matrix counts as singular.
const SINGULAR: f64 = 1e-13;

/// A symmetric positive definite matrix's inverse, or the direction in which it has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Inverse {
    /// The inverse.
    Regular(DMatrix<f64>),
    /// A direction (largest entry ±1) along which the matrix vanishes to rounding.
    Singular(DVector<f64>),
}

/// Inverts a symmetric positive definite matrix after scaling its diagonal to one, so that parameters in
/// different units do not look collinear.
///
/// ```
/// use nalgebra::dmatrix;
/// use noisewright_numerics::linalg::{Inverse, invert};
/// let Inverse::Regular(inverse) = invert(&dmatrix![4.0, 2.0; 2.0, 2.0]) else { panic!() };
/// assert!((inverse - dmatrix![0.5, -0.5; -0.5, 1.0]).norm() < 1e-15);
/// let Inverse::Singular(direction) = invert(&dmatrix![1.0, 2.0; 2.0, 4.0]) else { panic!() };
/// assert!((direction[0] / direction[1] + 2.0).abs() < 1e-6);
/// ```
#[must_use]
pub fn invert(matrix: &DMatrix<f64>) -> Inverse {
    let size = matrix.nrows();
    if let Some(zero) = (0..size).find(|&i| !(matrix[(i, i)] > 0.0 && matrix[(i, i)].is_finite())) {
        return Inverse::Singular(DVector::from_fn(size, |i, _| if i == zero { 1.0 } else { 0.0 }));
    }
    if size == 1 {
        return Inverse::Regular(DMatrix::from_element(1, 1, 1.0 / matrix[(0, 0)]));
    }
    let scale = DVector::from_fn(size, |i, _| 1.0 / matrix[(i, i)].sqrt());
    let scaled = DMatrix::from_fn(size, size, |i, j| matrix[(i, j)] * scale[i] * scale[j]);
    if let Some(factor) = scaled.clone().cholesky() {
        let smallest = factor.l_dirty().diagonal().iter().map(|l| l * l).fold(f64::INFINITY, f64::min);
        if smallest > SINGULAR {
            let inverse = inverse(&factor);
            return Inverse::Regular(DMatrix::from_fn(size, size, |i, j| {
                inverse[(i, j)] * scale[i] * scale[j]
            }));
        }
    }
    Inverse::Singular(null_direction(scaled, &scale))
}

/// The inverse of a matrix from its Cholesky factor, `L⁻ᵀL⁻¹`. That of L by halves, so that all but small blocks are products
/// of matrices, which are fast however large they are.
///
/// ```
/// use nalgebra::DMatrix;
/// use noisewright_numerics::linalg::inverse;
/// let matrix = DMatrix::from_fn(100, 100, |i, j| 0.5f64.powi((i as i32 - j as i32).abs()));
/// let inverse = inverse(&matrix.clone().cholesky().unwrap());
/// assert!((matrix * inverse - DMatrix::identity(100, 100)).amax() < 1e-14);
/// ```
#[must_use]
pub fn inverse(factor: &Cholesky<f64, Dyn>) -> DMatrix<f64> {
    let lower = factor.l_dirty();
    if lower.nrows() <= SMALL {
        return factor.inverse();
    }
    let root = inverse_of_lower(lower.as_view());
    root.transpose() * root
}

/// The inverse of a lower triangle, what is above it being ignored: `[A 0; B C]⁻¹ = [A⁻¹ 0; −C⁻¹BA⁻¹ C⁻¹]`.
fn inverse_of_lower(lower: DMatrixView<'_, f64>) -> DMatrix<f64> {
    let size = lower.nrows();
    let mut out = DMatrix::zeros(size, size);
    if size <= SMALL {
        for j in 0..size {
            out[(j, j)] = 1.0 / lower[(j, j)];
            for i in j + 1..size {
                let known: f64 = (j..i).map(|l| lower[(i, l)] * out[(l, j)]).sum();
                out[(i, j)] = -known / lower[(i, i)];
            }
        }
        return out;
    }
    let (first, second) = (size / 2, size - size / 2);
    let above = inverse_of_lower(lower.view((0, 0), (first, first)));
    let below = inverse_of_lower(lower.view((first, first), (second, second)));
    let corner = &below * (lower.view((first, 0), (second, first)) * &above);
    out.view_mut((0, 0), (first, first)).copy_from(&above);
    out.view_mut((first, first), (second, second)).copy_from(&below);
    out.view_mut((first, 0), (second, first)).copy_from(&-corner);
    out
}

fn null_direction(scaled: DMatrix<f64>, scale: &DVector<f64>) -> DVector<f64> {
    let eigen = scaled.symmetric_eigen();
    let smallest = eigen.eigenvalues.imin();
    let direction = eigen.eigenvectors.column(smallest).component_mul(scale);
    let largest = direction[direction.iamax()];
    direction / largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::dmatrix;

    #[test]
    fn units_do_not_make_a_matrix_singular() {
        let matrix = dmatrix![1e-20, 1e-11; 1e-11, 1.0];
        let Inverse::Regular(inverse) = invert(&matrix) else { panic!("regular") };
        let exact = dmatrix![1e20, -1e9; -1e9, 1.0] / 0.99;
        assert!(inverse.component_div(&exact).iter().all(|ratio| (ratio - 1.0).abs() < 1e-14));
    }

    #[test]
    fn a_zero_or_undefined_diagonal_is_singular_there() {
        let Inverse::Singular(direction) = invert(&dmatrix![1.0, 0.0; 0.0, 0.0]) else { panic!("singular") };
        assert_eq!(direction.as_slice(), &[0.0, 1.0]);
        assert!(matches!(invert(&dmatrix![f64::NAN]), Inverse::Singular(_)));
    }
}
