//! Normal and Student proposals of the continuous coordinates, drawn from uniforms and refitted to weighted points.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::special::{LN_SQRT_2PI, ln_gamma, normal_quantile};

/// `location + stretch · L z`: normal, or Student with an even number of degrees of freedom.
#[derive(Clone, Debug)]
pub(super) struct Elliptical {
    /// The coordinates that it covers.
    axes: Vec<usize>,
    location: DVector<f64>,
    factor: DMatrix<f64>,
    /// Half the degrees of freedom; none for the normal.
    half_dof: Option<usize>,
}

impl Elliptical {
    /// A location and a scale matrix over some coordinates; `None` unless the matrix is positive definite.
    pub(super) fn new(
        axes: &[usize],
        location: DVector<f64>,
        scale: &DMatrix<f64>,
        half_dof: Option<usize>,
    ) -> Option<Self> {
        let finite = location.iter().chain(scale.iter()).all(|v| v.is_finite());
        let factor = scaled_cholesky(scale).filter(|_| finite)?;
        Some(Self { axes: axes.to_vec(), location, factor, half_dof })
    }

    /// The same place and scale with other tails.
    pub(super) fn with_half_dof(&self, half_dof: Option<usize>) -> Self {
        Self { half_dof, ..self.clone() }
    }

    pub(super) fn axes(&self) -> &[usize] {
        &self.axes
    }

    pub(super) fn factor(&self) -> &DMatrix<f64> {
        &self.factor
    }

    /// Uniforms that one draw takes.
    pub(super) fn uniforms(&self) -> usize {
        self.axes.len() + self.half_dof.unwrap_or(0)
    }

    /// Writes draws to its coordinates of `z`.
    pub(super) fn draw(&self, uniforms: &[f64], rows: usize, z: &mut [f64]) {
        let size = self.axes.len();
        let mut standard = vec![0.0; size];
        for i in 0..rows {
            let stretch = self.half_dof.map_or(1.0, |half| {
                // χ² with 2m degrees of freedom is −2 ln(u₁ ⋯ u_m).
                let chi2: f64 = (0..half).map(|l| -2.0 * uniforms[(size + l) * rows + i].ln()).sum();
                (2.0 * half as f64 / chi2).sqrt()
            });
            for (l, s) in standard.iter_mut().enumerate() {
                *s = stretch * normal_quantile(uniforms[l * rows + i]);
            }
            for (row, &axis) in self.axes.iter().enumerate() {
                let colored: f64 = (0..=row).map(|l| self.factor[(row, l)] * standard[l]).sum();
                z[axis * rows + i] = self.location[row] + colored;
            }
        }
    }

    /// `‖L⁻¹(z − location)‖²` of every row.
    fn squared_distances(&self, z: &[f64], rows: usize) -> Vec<f64> {
        let size = self.axes.len();
        let mut white = vec![0.0; size];
        let distance = |i: usize| {
            let mut sum = 0.0;
            for row in 0..size {
                let done: f64 = (0..row).map(|l| self.factor[(row, l)] * white[l]).sum();
                white[row] =
                    (z[self.axes[row] * rows + i] - self.location[row] - done) / self.factor[(row, row)];
                sum += white[row] * white[row];
            }
            sum
        };
        (0..rows).map(distance).collect()
    }

    /// Adds the log-density of its coordinates to `out`.
    pub(super) fn add_log_density(&self, z: &[f64], rows: usize, out: &mut [f64]) {
        let d = self.axes.len() as f64;
        let log_determinant: f64 = self.factor.diagonal().iter().map(|l| l.ln()).sum();
        for (o, q) in out.iter_mut().zip(self.squared_distances(z, rows)) {
            *o -= log_determinant;
            *o += match self.half_dof {
                None => -0.5 * q - d * LN_SQRT_2PI,
                Some(half) => {
                    let dof = 2.0 * half as f64;
                    ln_gamma(0.5 * (dof + d))
                        - ln_gamma(0.5 * dof)
                        - 0.5 * d * (dof * std::f64::consts::PI).ln()
                        - 0.5 * (dof + d) * (q / dof).ln_1p()
                }
            };
        }
    }

    /// One step of expectation–maximisation on weighted points, shrunk towards what it was when they are few.
    pub(super) fn refit(&self, z: &[f64], rows: usize, weights: &[f64]) -> Self {
        let size = self.axes.len();
        let total: f64 = weights.iter().sum();
        let effective = total * total / weights.iter().map(|w| w * w).sum::<f64>();
        if !(total > 0.0 && effective > 2.0) {
            return self.clone();
        }
        let pulls = self.pulls(z, rows, weights);
        let pull_sum: f64 = pulls.iter().sum();
        let column = |row: usize| &z[self.axes[row] * rows..(self.axes[row] + 1) * rows];
        let mean = DVector::from_fn(size, |row, _| {
            pulls.iter().zip(column(row)).filter(|(p, _)| **p > 0.0).map(|(p, z)| p * z).sum::<f64>()
                / pull_sum
        });
        let spread = self.spread(&mean, &pulls, total, &column);
        let trust = effective / (effective + size as f64 + 2.0);
        let old = &self.factor * self.factor.transpose();
        let moved = &mean - &self.location;
        let scale = spread * trust + (old + &moved * moved.transpose() * trust) * (1.0 - trust);
        let location = &self.location + moved * trust;
        Self::new(&self.axes, location, &scale, self.half_dof).unwrap_or_else(|| self.clone())
    }

    /// The weights in a location: a Student draws less on its far points.
    fn pulls(&self, z: &[f64], rows: usize, weights: &[f64]) -> Vec<f64> {
        let Some(half) = self.half_dof else { return weights.to_vec() };
        let (dof, d) = (2.0 * half as f64, self.axes.len() as f64);
        let distances = self.squared_distances(z, rows);
        let pull = |(w, q): (&f64, f64)| if *w > 0.0 { w * (dof + d) / (dof + q) } else { 0.0 };
        weights.iter().zip(distances).map(pull).collect()
    }

    fn spread<'z>(
        &self,
        mean: &DVector<f64>,
        pulls: &[f64],
        total: f64,
        column: &dyn Fn(usize) -> &'z [f64],
    ) -> DMatrix<f64> {
        let size = self.axes.len();
        let mut spread = DMatrix::zeros(size, size);
        for a in 0..size {
            for b in 0..=a {
                let products = column(a).iter().zip(column(b)).zip(pulls).filter(|(_, p)| **p > 0.0);
                let sum: f64 = products.map(|((x, y), p)| p * (x - mean[a]) * (y - mean[b])).sum();
                spread[(a, b)] = sum / total;
                spread[(b, a)] = spread[(a, b)];
            }
        }
        spread
    }
}

/// Cholesky after scaling to unit diagonal: coordinates of different units are not a near-singular matrix.
fn scaled_cholesky(matrix: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let size = matrix.nrows();
    let scale: Vec<f64> = matrix.diagonal().iter().map(|v| v.sqrt()).collect();
    if !scale.iter().all(|s| *s > 0.0 && s.is_finite()) {
        return None;
    }
    let correlation = DMatrix::from_fn(size, size, |i, j| matrix[(i, j)] / (scale[i] * scale[j]));
    let factor = correlation.cholesky()?.l();
    (0..size)
        .all(|i| factor[(i, i)] > 1e-7)
        .then(|| DMatrix::from_fn(size, size, |i, j| scale[i] * factor[(i, j)]))
}
