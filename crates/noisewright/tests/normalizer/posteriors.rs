//! Densities with known integrals and exact draws.
#![allow(clippy::unwrap_used)]

use std::f64::consts::TAU;

use noisewright::normalizer::Evidence;
use noisewright::parts::EvidenceOptions;
use noisewright::{Result, Space, View, batch_density};
use noisewright_numerics::random::stream;
use noisewright_numerics::special::ln_gamma;
use rand_distr::{Distribution, Gamma, StandardNormal, Uniform};

/// A log-density of a batch, without its space.
pub(crate) trait LogDensity: Send + Sync {
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()>;
}

impl<F: Fn(View<'_>, &mut [f64]) -> Result<()> + Send + Sync> LogDensity for F {
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        self(points, out)
    }
}

/// The evidence of a log-density on a space.
pub(crate) fn evidence(
    density: &dyn LogDensity,
    draws: View<'_>,
    space: &Space,
    options: &EvidenceOptions,
) -> Result<Evidence> {
    let density = batch_density(space.clone(), |points, out| density.log_density(points, out));
    noisewright::evidence(&density, draws).options(options.clone()).run()
}

/// `−½ Σ (x_j − j)²/s_j²` with s_j = 1 + j/10: log Z is `Σ ln(s_j √2π)`.
pub(crate) struct Gaussian {
    pub(crate) dimension: usize,
}

impl Gaussian {
    pub(crate) fn scale(j: usize) -> f64 {
        1.0 + 0.1 * j as f64
    }

    pub(crate) fn log_z(&self) -> f64 {
        (0..self.dimension).map(|j| Self::scale(j).ln() + 0.5 * TAU.ln()).sum()
    }

    pub(crate) fn space(&self) -> Space {
        let names: Vec<String> = (0..self.dimension).map(|j| format!("x{j}")).collect();
        Space::real(&names).unwrap()
    }

    /// A stationary chain in which every coordinate is an autoregression with this coefficient; 0 for independent draws.
    pub(crate) fn chain(&self, rows: usize, coefficient: f64, seed: u64) -> Vec<f64> {
        let mut random = stream(seed, 77);
        let fresh = (1.0 - coefficient * coefficient).sqrt();
        let mut values = vec![0.0; rows * self.dimension];
        for (j, column) in values.chunks_mut(rows).enumerate() {
            let mut z: f64 = StandardNormal.sample(&mut random);
            for x in column {
                *x = j as f64 + Self::scale(j) * z;
                let innovation: f64 = StandardNormal.sample(&mut random);
                z = coefficient * z + fresh * innovation;
            }
        }
        values
    }
}

impl LogDensity for Gaussian {
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        for j in 0..self.dimension {
            let inverse = 1.0 / Self::scale(j);
            for (o, x) in out.iter_mut().zip(points.column(j)) {
                let z = (x - j as f64) * inverse;
                *o -= 0.5 * z * z;
            }
        }
        Ok(())
    }
}

/// `exp(x²/2 − x⁴/4)`, whose log Z is 1.362293.
pub(crate) fn quartic(points: View<'_>, out: &mut [f64]) -> Result<()> {
    out.iter_mut().zip(points.column(0)).for_each(|(o, x)| *o = 0.5 * x * x - 0.25 * x.powi(4));
    Ok(())
}

pub(crate) fn quartic_draws(count: usize) -> Vec<f64> {
    let mut random = stream(8, 0);
    let uniform = Uniform::new(0.0, 1.0).unwrap();
    let mut draws = Vec::with_capacity(count);
    while draws.len() < count {
        let x: f64 = 10.0 * uniform.sample(&mut random) - 5.0;
        let height: f64 = uniform.sample(&mut random);
        if height.ln() < 0.5 * x * x - 0.25 * x.powi(4) - 0.25 {
            draws.push(x);
        }
    }
    draws
}

/// A straight line with conjugate priors: `b | s² ~ N(0, 4 s² I)`, `s² ~ InverseGamma(3, 2)`.
pub(crate) struct Regression {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Regression {
    pub(crate) fn new() -> Self {
        let x: Vec<f64> = (0..20).map(|i| f64::from(i) / 10.0 - 1.0).collect();
        let y = x
            .iter()
            .enumerate()
            .map(|(i, x)| 0.5 + 1.5 * x + 0.4 * ((7 * i % 11) as f64 / 5.0 - 1.0))
            .collect();
        Self { x, y }
    }

    /// Posterior precision (in units of 1/s²), mean, shape, rate.
    fn posterior(&self) -> ([f64; 3], [f64; 2], f64, f64) {
        let sum = |f: &dyn Fn(usize) -> f64| (0..self.x.len()).map(f).sum::<f64>();
        let (n, sx) = (self.x.len() as f64, sum(&|i| self.x[i]));
        let precision = [n + 0.25, sx, sum(&|i| self.x[i] * self.x[i]) + 0.25];
        let (t0, t1) = (sum(&|i| self.y[i]), sum(&|i| self.x[i] * self.y[i]));
        let determinant = precision[0] * precision[2] - sx * sx;
        let mean = [(precision[2] * t0 - sx * t1) / determinant, (precision[0] * t1 - sx * t0) / determinant];
        let rate = 2.0 + 0.5 * (sum(&|i| self.y[i] * self.y[i]) - mean[0] * t0 - mean[1] * t1);
        (precision, mean, 3.0 + 0.5 * n, rate)
    }

    pub(crate) fn log_evidence(&self) -> f64 {
        let (precision, _, shape, rate) = self.posterior();
        let n = self.x.len() as f64;
        let determinant = precision[0] * precision[2] - precision[1] * precision[1];
        -0.5 * n * TAU.ln() - 0.5 * (determinant * 16.0).ln() + 3.0 * 2f64.ln() + ln_gamma(shape)
            - ln_gamma(3.0)
            - shape * rate.ln()
    }

    pub(crate) fn draws(&self, rows: usize) -> Vec<f64> {
        let (precision, mean, shape, rate) = self.posterior();
        let mut random = stream(3, 0);
        let gamma = Gamma::new(shape, 1.0 / rate).unwrap();
        let mut values = vec![0.0; 3 * rows];
        for i in 0..rows {
            let variance = 1.0 / gamma.sample(&mut random);
            let (z0, z1): (f64, f64) =
                (StandardNormal.sample(&mut random), StandardNormal.sample(&mut random));
            // Cholesky of the precision, solved against standard normals.
            let l00 = precision[0].sqrt();
            let l10 = precision[1] / l00;
            let l11 = (precision[2] - l10 * l10).sqrt();
            let b1 = z1 / l11;
            let b0 = (z0 - l10 * b1) / l00;
            values[i] = mean[0] + variance.sqrt() * b0;
            values[rows + i] = mean[1] + variance.sqrt() * b1;
            values[2 * rows + i] = variance;
        }
        values
    }
}

impl LogDensity for Regression {
    fn log_density(&self, points: View<'_>, out: &mut [f64]) -> Result<()> {
        for (row, o) in out.iter_mut().enumerate() {
            let (b0, b1, s2) = (points.get(row, 0), points.get(row, 1), points.get(row, 2));
            let squares: f64 = self.x.iter().zip(&self.y).map(|(x, y)| (y - b0 - b1 * x).powi(2)).sum();
            let likelihood = -0.5 * self.x.len() as f64 * (TAU * s2).ln() - 0.5 * squares / s2;
            let coefficients = -(TAU * 4.0 * s2).ln() - 0.125 * (b0 * b0 + b1 * b1) / s2;
            let variance = 3.0 * 2f64.ln() - ln_gamma(3.0) - 4.0 * s2.ln() - 2.0 / s2;
            *o = likelihood + coefficients + variance;
        }
        Ok(())
    }
}
