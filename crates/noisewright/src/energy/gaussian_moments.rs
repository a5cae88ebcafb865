//! The Gaussian by its mean and covariance: `−½ (x−m)ᵀC⁻¹(x−m)`.

use std::f64::consts::TAU;

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::linear::add_scaled;
use super::triangle;
use crate::{Energy, Error, Result, View};

/// `u(x) = −½ (x−m)ᵀC⁻¹(x−m)` in d dimensions, with parameters `m0 …`, then the upper triangle of the
/// covariance matrix row by row, `C00 C01 …`.
///
/// # Formula
/// With `y = C⁻¹(x−m)`: `∂u/∂m = y`, `∂u/∂C_ii = ½ y_i²`, `∂u/∂C_ij = y_i y_j`, and
/// `log Z = ½ (d ln 2π + ln det C)`.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::GaussianMoments;
/// let mut gradient = [0.0; 2];
/// let log_z = GaussianMoments::new(1).unwrap().log_normalizer(&[7.0, 4.0], &mut gradient).unwrap();
/// assert!((log_z - 0.5 * (4.0 * std::f64::consts::TAU).ln()).abs() < 1e-15);
/// assert_eq!(gradient, [0.0, 0.125]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianMoments {
    dimension: usize,
}

impl GaussianMoments {
    /// A Gaussian of so many variables.
    ///
    /// # Errors
    /// When there is no variable.
    pub fn new(dimension: usize) -> Result<Self> {
        if dimension == 0 {
            return Err(Error::NoVariables);
        }
        Ok(Self { dimension })
    }

    fn covariance(&self, parameters: &[f64]) -> Option<Cholesky<f64, Dyn>> {
        triangle::cholesky(triangle::matrix(self.dimension, &parameters[self.dimension..]))
    }

    fn precision(&self, parameters: &[f64]) -> Result<DMatrix<f64>> {
        let factor = self.covariance(parameters).ok_or_else(|| self.not_positive_definite(parameters))?;
        Ok(factor.inverse())
    }

    /// Names the last variance of the first leading block that is not positive definite.
    fn not_positive_definite(&self, parameters: &[f64]) -> Error {
        let d = self.dimension;
        let covariance = triangle::matrix(d, &parameters[d..]);
        let bad = (1..d)
            .find(|n| triangle::cholesky(covariance.view((0, 0), (*n, *n)).into_owned()).is_none())
            .unwrap_or(d)
            - 1;
        Error::Parameter {
            parameter: triangle::pair_name("C", bad, bad, d),
            value: covariance[(bad, bad)],
            reason: "the covariance matrix must be positive definite".into(),
        }
    }

    /// Writes the deviations `x − m` and `y = C⁻¹(x − m)` of a block of points, column after column.
    fn solve(&self, precision: &DMatrix<f64>, mean: &[f64], points: View<'_>, block: &mut Block) {
        let rows = points.rows();
        block.deviation.resize(rows * self.dimension, 0.0);
        block.solved.resize(rows * self.dimension, 0.0);
        block.solved.fill(0.0);
        for (j, deviation) in block.deviation.chunks_exact_mut(rows).enumerate() {
            for (d, x) in deviation.iter_mut().zip(points.column(j)) {
                *d = x - mean[j];
            }
            for (i, solved) in block.solved.chunks_exact_mut(rows).enumerate() {
                add_scaled(precision[(i, j)], deviation, solved);
            }
        }
    }

    /// Calls `work` with every block of rows, its first row, and what [`Self::solve`] makes of it.
    fn for_each_block(
        &self,
        precision: &DMatrix<f64>,
        mean: &[f64],
        points: View<'_>,
        mut work: impl FnMut(usize, usize, &Block),
    ) {
        let mut block = Block::default();
        for start in (0..points.rows()).step_by(BLOCK) {
            let part = points.slice(start..points.rows().min(start + BLOCK));
            self.solve(precision, mean, part, &mut block);
            work(start, part.rows(), &block);
        }
    }

    /// Adds to `out` the Hessian that belongs to `Σw`, `Σwy` and `Σwyyᵀ`; it needs the points in no other way.
    fn add_hessian(&self, precision: &DMatrix<f64>, sums: &WeightedSums, out: &mut [f64]) {
        let d = self.dimension;
        let size = d + triangle::entries(d);
        let basis: Vec<DMatrix<f64>> = triangle::upper(d).map(|(i, j)| symmetric_unit(d, i, j)).collect();
        let mut add = |row: usize, column: usize, term: f64| {
            out[column * size + row] += term;
            if row != column {
                out[row * size + column] += term;
            }
        };
        for k in 0..d {
            for l in k..d {
                add(k, l, -sums.weight * precision[(k, l)]);
            }
        }
        for (b, unit) in basis.iter().enumerate() {
            let column = precision * unit * &sums.first;
            for k in 0..d {
                add(k, d + b, -column[k]);
            }
            let right = precision * unit * &sums.second;
            for (a, left) in basis[..=b].iter().enumerate() {
                // tr(E_a P E_b S) = Σ_ij (E_a)_ij (P E_b S)_ij, because E_a is symmetric.
                add(d + a, d + b, -left.dot(&right));
            }
        }
    }
}

/// Rows at a time: their deviations stay in the first-level cache.
const BLOCK: usize = 256;

/// The deviations from the mean of a block of points, and those times the precision matrix.
#[derive(Default)]
struct Block {
    deviation: Vec<f64>,
    solved: Vec<f64>,
}

impl Block {
    fn column(&self, index: usize, rows: usize) -> &[f64] {
        &self.solved[index * rows..(index + 1) * rows]
    }

    /// `Σ_j (x−m)_j y_j` of each point, times −½.
    fn write_value(&self, value: &mut [f64]) {
        let rows = value.len();
        value.fill(0.0);
        for (deviation, solved) in self.deviation.chunks_exact(rows).zip(self.solved.chunks_exact(rows)) {
            for ((v, d), y) in value.iter_mut().zip(deviation).zip(solved) {
                *v -= 0.5 * d * y;
            }
        }
    }
}

/// `Σw`, `Σwy` and `Σwyyᵀ` over the points.
struct WeightedSums {
    weight: f64,
    first: DVector<f64>,
    second: DMatrix<f64>,
}

impl WeightedSums {
    fn add(&mut self, weights: &[f64], block: &Block) {
        let rows = weights.len();
        self.weight += weights.iter().sum::<f64>();
        for i in 0..self.first.len() {
            let weighted: Vec<f64> = weights.iter().zip(block.column(i, rows)).map(|(w, y)| w * y).collect();
            self.first[i] += weighted.iter().sum::<f64>();
            for j in 0..=i {
                let term: f64 = weighted.iter().zip(block.column(j, rows)).map(|(a, b)| a * b).sum();
                self.second[(i, j)] += term;
                if i != j {
                    self.second[(j, i)] += term;
                }
            }
        }
    }
}

/// `∂C/∂C_ij` for a symmetric C.
fn symmetric_unit(dimension: usize, i: usize, j: usize) -> DMatrix<f64> {
    let mut unit = DMatrix::zeros(dimension, dimension);
    unit[(i, j)] = 1.0;
    unit[(j, i)] = 1.0;
    unit
}

impl Energy for GaussianMoments {
    fn parameters(&self) -> Vec<String> {
        triangle::names("m", "C", self.dimension)
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        mut score: Option<&mut [f64]>,
    ) -> Result<()> {
        let (d, rows) = (self.dimension, points.rows());
        let precision = self.precision(parameters)?;
        self.for_each_block(&precision, &parameters[..d], points, |start, length, block| {
            block.write_value(&mut value[start..start + length]);
            let Some(score) = score.as_deref_mut() else { return };
            for j in 0..d {
                score[j * rows + start..][..length].copy_from_slice(block.column(j, length));
            }
            for (index, (i, j)) in triangle::upper(d).enumerate() {
                let factor = if i == j { 0.5 } else { 1.0 };
                let out = &mut score[(d + index) * rows + start..][..length];
                for ((s, a), b) in out.iter_mut().zip(block.column(i, length)).zip(block.column(j, length)) {
                    *s = factor * a * b;
                }
            }
        });
        Ok(())
    }

    fn point_gradient(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        let precision = self.precision(parameters)?;
        let deviation = DVector::from_fn(self.dimension, |j, _| point[j] - parameters[j]);
        let solved = precision * &deviation;
        gradient.iter_mut().zip(solved.iter()).for_each(|(g, s)| *g = -s);
        Ok(Some(-0.5 * deviation.dot(&solved)))
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let d = self.dimension;
        let factor = self.covariance(parameters)?;
        let precision = factor.inverse();
        gradient[..d].fill(0.0);
        for ((i, j), g) in triangle::upper(d).zip(&mut gradient[d..]) {
            *g = if i == j { 0.5 } else { 1.0 } * precision[(i, j)];
        }
        Some(0.5 * (d as f64 * TAU.ln() + triangle::ln_determinant(&factor)))
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let d = self.dimension;
        let precision = self.precision(parameters)?;
        let mut sums = WeightedSums { weight: 0.0, first: DVector::zeros(d), second: DMatrix::zeros(d, d) };
        self.for_each_block(&precision, &parameters[..d], points, |start, length, block| {
            sums.add(&weights[start..start + length], block);
        });
        self.add_hessian(&precision, &sums, out);
        Ok(true)
    }
}
