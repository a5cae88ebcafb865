//! Normal and Student proposals of the continuous coordinates, drawn from uniforms and refitted to weighted points.

use std::f64::consts::PI;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::special::{LN_SQRT_2PI, ln_gamma, normal_quantile};

/// How far out a proposal goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reach {
    /// Normal.
    Normal,
    /// Student with twice so many degrees of freedom, the same in all directions.
    Student(usize),
    /// Every coordinate a Cauchy variable of its own: heavy along the axes, and together.
    Cauchy,
}

/// `location + stretch · L z`: normal, Student with an even number of degrees of freedom, or independent Cauchy.
#[derive(Clone, Debug)]
pub(super) struct Elliptical {
    /// The coordinates that it covers.
    axes: Vec<usize>,
    location: DVector<f64>,
    factor: DMatrix<f64>,
    reach: Reach,
}

impl Elliptical {
    /// A location and a scale matrix over some coordinates; `None` unless the matrix is positive definite.
    pub(super) fn new(
        axes: &[usize],
        location: DVector<f64>,
        scale: &DMatrix<f64>,
        reach: Reach,
    ) -> Option<Self> {
        let finite = location.iter().chain(scale.iter()).all(|v| v.is_finite());
        let factor = scaled_cholesky(scale).filter(|_| finite)?;
        Some(Self { axes: axes.to_vec(), location, factor, reach })
    }

    /// The same place and scale with other tails.
    pub(super) fn with_reach(&self, reach: Reach) -> Self {
        let mut other = Self { reach, ..self.clone() };
        if reach == Reach::Cauchy {
            // Its coordinates are independent: only their own scales are kept.
            let scale = self.factor.row_iter().map(|row| row.norm());
            other.factor = DMatrix::from_diagonal(&DVector::from_iterator(self.axes.len(), scale));
        }
        other
    }

    /// Uniforms that one draw takes.
    pub(super) fn uniforms(&self) -> usize {
        match self.reach {
            Reach::Student(half) => self.axes.len() + half,
            _ => self.axes.len(),
        }
    }

    /// Writes draws to its coordinates of `z`.
    pub(super) fn draw(&self, uniforms: &[f64], rows: usize, z: &mut [f64]) {
        let size = self.axes.len();
        let mut standard = vec![0.0; size];
        for i in 0..rows {
            let stretch = self.stretch(uniforms, rows, i);
            for (l, s) in standard.iter_mut().enumerate() {
                let uniform = uniforms[l * rows + i];
                *s = match self.reach {
                    Reach::Cauchy => (PI * (uniform - 0.5)).tan(),
                    _ => stretch * normal_quantile(uniform),
                };
            }
            for (row, &axis) in self.axes.iter().enumerate() {
                let colored: f64 = (0..=row).map(|l| self.factor[(row, l)] * standard[l]).sum();
                z[axis * rows + i] = self.location[row] + colored;
            }
        }
    }

    /// The factor by which a Student draw is longer than a normal one.
    fn stretch(&self, uniforms: &[f64], rows: usize, row: usize) -> f64 {
        let Reach::Student(half) = self.reach else { return 1.0 };
        let size = self.axes.len();
        // χ² with 2m degrees of freedom is −2 ln(u₁ ⋯ u_m).
        let chi2: f64 = (0..half).map(|l| -2.0 * uniforms[(size + l) * rows + row].ln()).sum();
        (2.0 * half as f64 / chi2).sqrt()
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
        if self.reach == Reach::Cauchy {
            return self.add_cauchy(z, rows, out);
        }
        let d = self.axes.len() as f64;
        let log_determinant: f64 = self.factor.diagonal().iter().map(|l| l.ln()).sum();
        for (o, q) in out.iter_mut().zip(self.squared_distances(z, rows)) {
            *o -= log_determinant;
            *o += match self.reach {
                Reach::Student(half) => {
                    let dof = 2.0 * half as f64;
                    ln_gamma(0.5 * (dof + d))
                        - ln_gamma(0.5 * dof)
                        - 0.5 * d * (dof * PI).ln()
                        - 0.5 * (dof + d) * (q / dof).ln_1p()
                }
                _ => -0.5 * q - d * LN_SQRT_2PI,
            };
        }
    }

    fn add_cauchy(&self, z: &[f64], rows: usize, out: &mut [f64]) {
        for (row, &axis) in self.axes.iter().enumerate() {
            let (location, scale) = (self.location[row], self.factor[(row, row)]);
            for (o, z) in out.iter_mut().zip(&z[axis * rows..(axis + 1) * rows]) {
                let t = (z - location) / scale;
                *o -= (PI * scale).ln() + (t * t).ln_1p();
            }
        }
    }

    /// One step of expectation–maximisation on weighted points, shrunk towards what it was when they are few.
    pub(super) fn refit(&self, z: &[f64], rows: usize, weights: &[f64]) -> Self {
        if self.reach == Reach::Cauchy {
            return self.refit_cauchy(z, rows, weights);
        }
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
        Self::new(&self.axes, location, &scale, self.reach).unwrap_or_else(|| self.clone())
    }

    /// The same for each coordinate on its own: `s² ← 2 Σ w t²/(1 + t²) s² / Σ w`, as for a Student of one.
    fn refit_cauchy(&self, z: &[f64], rows: usize, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut other = self.clone();
        for (row, &axis) in self.axes.iter().enumerate() {
            let (location, scale) = (self.location[row], self.factor[(row, row)]);
            let (mut pull, mut mean, mut square) = (0.0, 0.0, 0.0);
            for (z, w) in z[axis * rows..(axis + 1) * rows].iter().zip(weights).filter(|(_, w)| **w > 0.0) {
                let t = (z - location) / scale;
                let mine = 2.0 * w / (1.0 + t * t);
                pull += mine;
                mean += mine * t;
                square += mine * t * t;
            }
            if pull > 0.0 && square > 0.0 {
                other.location[row] = location + scale * mean / pull;
                other.factor[(row, row)] = scale * (square / total).sqrt();
            }
        }
        other
    }

    /// The weights in a location: a Student draws less on its far points.
    fn pulls(&self, z: &[f64], rows: usize, weights: &[f64]) -> Vec<f64> {
        let Reach::Student(half) = self.reach else { return weights.to_vec() };
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
