//! Location and Cholesky factor: the affine map behind the multivariate normal, Student and kernel densities.

use nalgebra::{Cholesky, DMatrix};
use noisewright_numerics::gram::{Columns, weighted_gram};
use noisewright_numerics::summation::blocked;
use noisewright_numerics::triangular::{lower_times, squared_lengths};

use super::fitting::{Sample, failed};
use crate::{Error, Result, View};

/// The share of a variable's deviation that must be its own. Rounding leaves up to 3e-8 to one that follows from
/// the others.
const MIN_PIVOT: f64 = 1e-7;
/// Points that are whitened or coloured at a time: they stay in the cache.
pub(super) const BLOCK: usize = 256;
/// Rows whose products are summed by one thread.
const SUMMED: usize = 4096;

/// `x = location + L z` with L lower triangular.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Whitening {
    location: Vec<f64>,
    /// Row-major lower triangle: `factor[row * dimension + column]`.
    factor: Vec<f64>,
    /// Its inverse, likewise.
    inverse: Vec<f64>,
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
        let inverted = l.solve_lower_triangular(&DMatrix::identity(d, d)).unwrap_or_else(|| l.clone());
        let (mut factor, mut inverse) = (vec![0.0; d * d], vec![0.0; d * d]);
        for i in 0..d {
            for j in 0..=i {
                factor[i * d + j] = scale[i] * l[(i, j)];
                inverse[i * d + j] = inverted[(i, j)] / scale[j];
            }
        }
        let ln_determinant = (0..d).map(|i| factor[i * d + i].ln()).sum();
        Ok(Self { location: location.to_vec(), factor, inverse, matrix: matrix.to_vec(), ln_determinant })
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

    /// Writes `z = L⁻¹(x − location)` of every point, column-major.
    pub(super) fn whiten(&self, points: View<'_>, z: &mut [f64]) {
        let (d, rows) = (self.dimension(), points.rows());
        let mut centered = vec![0.0; d * BLOCK.min(rows)];
        for start in (0..rows).step_by(BLOCK) {
            let part = points.slice(start..rows.min(start + BLOCK));
            let centered = &mut centered[..d * part.rows()];
            center(part, &self.location, centered);
            let columns = Columns::new(centered, part.rows(), d, part.rows());
            lower_times(&self.inverse, columns, &mut z[start..], rows);
        }
    }

    /// Writes `L z` of every point, both column-major.
    pub(super) fn color_all(&self, z: &[f64], rows: usize, out: &mut [f64], stride: usize) {
        lower_times(&self.factor, Columns::new(z, rows, self.dimension(), rows), out, stride);
    }

    /// `F` with `F Fᵀ = L Lᵀ`, row after row, its columns along the principal axes of the correlation matrix, the longest
    /// first: the first coordinates of a quiet draw then explain most of its variance, whatever the units.
    pub(super) fn principal_factor(&self) -> Vec<f64> {
        let (d, (scale, correlation)) = (self.dimension(), self.correlation());
        let eigen = correlation.symmetric_eigen();
        let mut order: Vec<usize> = (0..d).collect();
        order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
        let entry =
            |i: usize, k: usize| scale[i] * eigen.eigenvectors[(i, k)] * eigen.eigenvalues[k].max(0.0).sqrt();
        (0..d).flat_map(|i| order.iter().map(move |k| (i, *k))).map(|(i, k)| entry(i, k)).collect()
    }

    /// Another `F` with `F Fᵀ = L Lᵀ`, row after row: each column is what one variable has of its own given those of the columns
    /// before it, first the variable that explains most of what is left of all. A sum of functions of one variable each is one over
    /// the coordinates of a quiet draw too, as far as the variables are independent, and for such sums nets are most even.
    pub(super) fn pivoted_factor(&self) -> Vec<f64> {
        let (d, (scale, mut left)) = (self.dimension(), self.correlation());
        let mut factor = vec![0.0; d * d];
        let mut rest: Vec<usize> = (0..d).collect();
        for k in 0..d {
            let explained = |j: usize| rest.iter().map(|i| left[(*i, j)].powi(2)).sum::<f64>() / left[(j, j)];
            let best = (0..rest.len()).max_by(|a, b| explained(rest[*a]).total_cmp(&explained(rest[*b])));
            let Some(best) = best else { break };
            let pivot = rest.remove(best);
            let root = left[(pivot, pivot)].sqrt();
            factor[pivot * d + k] = scale[pivot] * root;
            for i in &rest {
                factor[i * d + k] = scale[*i] * left[(*i, pivot)] / root;
            }
            for i in &rest {
                for j in &rest {
                    left[(*i, *j)] -= left[(*i, pivot)] * left[(*j, pivot)] / (root * root);
                }
            }
        }
        factor
    }

    /// The scales of the variables, and the correlation matrix.
    fn correlation(&self) -> (Vec<f64>, DMatrix<f64>) {
        let d = self.dimension();
        let scale: Vec<f64> = (0..d).map(|axis| self.scale(axis)).collect();
        let matrix = DMatrix::from_fn(d, d, |i, j| self.matrix[i * d + j] / (scale[i] * scale[j]));
        (scale, matrix)
    }

    /// Writes `‖L⁻¹(x − location)‖²` of every point.
    pub(super) fn squared_distances(&self, points: View<'_>, out: &mut [f64]) {
        let columns: Vec<&[f64]> = (0..self.dimension()).map(|j| points.column(j)).collect();
        if squared_lengths(&self.inverse, &self.location, &columns, out) {
            return;
        }
        let mut z = vec![0.0; self.dimension() * BLOCK.min(points.rows())];
        for start in (0..points.rows()).step_by(BLOCK) {
            let rows = BLOCK.min(points.rows() - start);
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
    let total = columns.first().map_or(0.0, Sample::total);
    let products = |rows: std::ops::Range<usize>| {
        let part = points.slice(rows.clone());
        let mut centered = vec![0.0; d * rows.len()];
        center(part, &mean, &mut centered);
        let ones = weights.is_none().then(|| vec![1.0; rows.len()]);
        let weights = weights.map_or_else(|| ones.as_deref().unwrap_or_default(), |w| &w[rows.clone()]);
        let mut sums = vec![0.0; d * d];
        weighted_gram(Columns::new(&centered, rows.len(), d, rows.len()), weights, &mut sums);
        sums
    };
    let add = |mut a: Vec<f64>, b: Vec<f64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    let mut covariance = blocked(points.rows(), SUMMED, products, add).unwrap_or_default();
    covariance.iter_mut().for_each(|entry| *entry /= total);
    Ok((mean, covariance))
}

/// Writes `x − location`, column-major.
fn center(points: View<'_>, location: &[f64], out: &mut [f64]) {
    for ((j, location), out) in location.iter().enumerate().zip(out.chunks_mut(points.rows().max(1))) {
        out.iter_mut().zip(points.column(j)).for_each(|(o, x)| *o = x - location);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_factors_have_the_matrix_as_their_square() {
        let matrix = [4.0, 1.8, 0.1, 1.8, 1.0, 0.05, 0.1, 0.05, 0.01];
        let map = Whitening::new("normal", &[0.0; 3], &matrix).unwrap();
        for factor in [map.principal_factor(), map.pivoted_factor()] {
            for i in 0..3 {
                for j in 0..3 {
                    let product: f64 = (0..3).map(|k| factor[3 * i + k] * factor[3 * j + k]).sum();
                    assert!((product - matrix[3 * i + j]).abs() < 1e-13, "{i} {j}: {product}");
                }
            }
        }
        // Of correlations 0.9, 0.5 and 0.5 the first or the second variable explains 1 + 0.81 + 0.25 of all, and the third 1.5. Then 0.19
        // is left of the other and 0.75 of the third, which comes next.
        let factor = map.pivoted_factor();
        assert!(factor[7] != 0.0 && factor[8] == 0.0, "{factor:?}");
    }

    #[test]
    fn independent_variables_have_a_column_each() {
        let map =
            Whitening::new("normal", &[0.0; 3], &[4.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.25]).unwrap();
        let mut sizes: Vec<f64> = map.pivoted_factor();
        sizes.sort_by(f64::total_cmp);
        assert_eq!(sizes, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 2.0]);
    }
}
