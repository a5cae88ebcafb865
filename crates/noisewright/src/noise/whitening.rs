//! Location and Cholesky factor: the affine map behind the multivariate normal, Student and kernel densities.

use nalgebra::{Cholesky, DMatrix};

use super::fitting::{Sample, failed};
use crate::{Error, Result, View};

/// The share of a variable's deviation that must be its own. Rounding leaves up to 3e-8 to one that follows from
/// the others.
const MIN_PIVOT: f64 = 1e-7;

/// `x = location + L z` with L lower triangular.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Whitening {
    location: Vec<f64>,
    /// Row-major lower triangle: `factor[row * dimension + column]`.
    factor: Vec<f64>,
    /// `L Lᵀ` as it was given, row after row.
    matrix: Vec<f64>,
    ln_determinant: f64,
}

impl Whitening {
    /// The map whose `L Lᵀ` is `matrix` (row after row).
    pub(super) fn new(noise: &str, location: &[f64], matrix: &[f64]) -> Result<Self> {
        let d = location.len();
        if d == 0 {
            return Err(Error::NoVariables);
        }
        if matrix.len() != d * d {
            return Err(Error::Shape { what: "entries of the matrix", expected: d * d, found: matrix.len() });
        }
        if !location.iter().chain(matrix).all(|v| v.is_finite()) {
            return Err(failed(noise, "its numbers must be finite"));
        }
        let asymmetric = |i: usize, j: usize| {
            let (a, b) = (matrix[i * d + j], matrix[j * d + i]);
            (a - b).abs() > 1e-12 * a.abs().max(b.abs())
        };
        if (0..d).any(|i| (0..i).any(|j| asymmetric(i, j))) {
            return Err(failed(noise, "its matrix must be symmetric"));
        }
        Self::factored(noise, location, matrix)
    }

    fn factored(noise: &str, location: &[f64], matrix: &[f64]) -> Result<Self> {
        let d = location.len();
        // Scaled to unit diagonal first: variables of very different units are not a near-singular matrix.
        let scale: Vec<f64> = (0..d).map(|i| matrix[i * d + i].sqrt()).collect();
        let correlation = DMatrix::from_fn(d, d, |i, j| matrix[i * d + j] / (scale[i] * scale[j]));
        let cholesky = Cholesky::new(correlation)
            .filter(|c| (0..d).all(|i| c.l_dirty()[(i, i)] > MIN_PIVOT && scale[i] > 0.0))
            .ok_or_else(|| {
                failed(noise, "its matrix must be positive definite (no variable may follow from the others)")
            })?;
        let l = cholesky.l();
        let mut factor = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..=i {
                factor[i * d + j] = scale[i] * l[(i, j)];
            }
        }
        let ln_determinant = (0..d).map(|i| factor[i * d + i].ln()).sum();
        Ok(Self { location: location.to_vec(), factor, matrix: matrix.to_vec(), ln_determinant })
    }

    pub(super) fn dimension(&self) -> usize {
        self.location.len()
    }

    pub(super) fn location(&self) -> &[f64] {
        &self.location
    }

    /// `ln |det L|`.
    pub(super) fn ln_determinant(&self) -> f64 {
        self.ln_determinant
    }

    /// `L Lᵀ`, row after row.
    pub(super) fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// `√(L Lᵀ)_jj`, the scale of one variable.
    pub(super) fn scale(&self, axis: usize) -> f64 {
        self.matrix[axis * (self.dimension() + 1)].sqrt()
    }

    /// Writes `z = L⁻¹(x − location)` of every point, column-major, by forward substitution over columns.
    pub(super) fn whiten(&self, points: View<'_>, z: &mut [f64]) {
        let (d, rows) = (self.dimension(), points.rows());
        for i in 0..d {
            let (done, rest) = z.split_at_mut(i * rows);
            let current = &mut rest[..rows];
            for (c, x) in current.iter_mut().zip(points.column(i)) {
                *c = x - self.location[i];
            }
            for j in 0..i {
                let l = self.factor[i * d + j];
                for (c, z) in current.iter_mut().zip(&done[j * rows..(j + 1) * rows]) {
                    *c -= l * z;
                }
            }
            let inverse = 1.0 / self.factor[i * d + i];
            for c in current {
                *c *= inverse;
            }
        }
    }

    /// Writes `‖L⁻¹(x − location)‖²` of every point.
    pub(super) fn squared_distances(&self, points: View<'_>, out: &mut [f64]) {
        const WIDTH: usize = 256;
        let mut z = vec![0.0; self.dimension() * WIDTH.min(points.rows())];
        for start in (0..points.rows()).step_by(WIDTH) {
            let rows = WIDTH.min(points.rows() - start);
            let z = &mut z[..self.dimension() * rows];
            self.whiten(points.slice(start..start + rows), z);
            let out = &mut out[start..start + rows];
            out.fill(0.0);
            for column in z.chunks(rows) {
                for (o, z) in out.iter_mut().zip(column) {
                    *o += z * z;
                }
            }
        }
    }

    /// Writes `(L Lᵀ)⁻¹(x − location)` and returns `‖L⁻¹(x − location)‖²`, at one point.
    pub(super) fn solve(&self, point: &[f64], out: &mut [f64]) -> f64 {
        let d = self.dimension();
        self.whiten(View::new(d, 1, point), out);
        let squared = out.iter().map(|z| z * z).sum();
        for i in (0..d).rev() {
            let below: f64 = (i + 1..d).map(|j| self.factor[j * d + i] * out[j]).sum();
            out[i] = (out[i] - below) / self.factor[i * d + i];
        }
        squared
    }

    /// One entry of `L z`.
    pub(super) fn color(&self, axis: usize, z: &[f64]) -> f64 {
        let d = self.dimension();
        self.factor[axis * d..=axis * d + axis].iter().zip(z).map(|(l, z)| l * z).sum()
    }
}

/// Weighted mean and covariance (divided by the total weight, row after row) of all columns.
pub(super) fn mean_and_covariance(
    noise: &'static str,
    points: View<'_>,
    weights: Option<&[f64]>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let d = points.columns();
    let columns = (0..d).map(|j| Sample::column(noise, points, weights, j)).collect::<Result<Vec<_>>>()?;
    let mean: Vec<f64> = columns.iter().map(|c| c.mean_of(|x| x)).collect();
    let mut covariance = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            let products = columns[i].values.iter().zip(columns[j].values).enumerate();
            let sum: f64 =
                products.map(|(row, (a, b))| columns[i].weight(row) * (a - mean[i]) * (b - mean[j])).sum();
            covariance[i * d + j] = sum / columns[i].total();
            covariance[j * d + i] = covariance[i * d + j];
        }
    }
    Ok((mean, covariance))
}
