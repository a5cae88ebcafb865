//! The JS error of many noises and ratios against one population, as maps of a design need it.

use noisewright::nalgebra::{DMatrix, DVector};
use noisewright::parts::Asymptotics;
use noisewright::{Error, Loss, Population, Result, Target};
use noisewright_numerics::kernels;
use noisewright_numerics::linalg::{Inverse, invert};

/// Points that are summed together: a block's ratios and products stay in the nearest cache for all ν.
const BLOCK: usize = 1024;

/// Sums that run beside each other, for the vector units.
const LANES: usize = 8;

/// A population made ready for the JS errors of many designs: everything that does not depend on the noise.
///
/// One exponential per point and noise and one division per point, noise and ratio are left. The values are those
/// of `error_report` on the same population, whose accuracy the noises share; where a ratio
/// of densities leaves the range of numbers it is asked instead.
pub(crate) struct Sweep<'a> {
    population: &'a Population,
    target: DMatrix<f64>,
    /// `q ψ_j` and `q ψ_j ψ_l` (j ≤ l) at each point, block by block: within a block, column after column.
    products: Vec<f64>,
    columns: usize,
}

impl<'a> Sweep<'a> {
    /// Prepares a population for a target.
    ///
    /// # Errors
    /// When the target does not fit the model.
    pub(crate) fn new(population: &'a Population, target: &Target) -> Result<Self> {
        let target = target.matrix(population.coordinates(), &population.information())?;
        let size = population.coordinates().len();
        let rows = population.points().rows();
        let weights: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
        let mut products = Vec::with_capacity(rows * (size + size * (size + 1) / 2));
        for start in (0..rows).step_by(BLOCK) {
            let block = start..rows.min(start + BLOCK);
            for j in 0..size {
                products.extend(block.clone().map(|i| weights[i] * population.score_of(j)[i]));
            }
            for (j, l) in triangle(size) {
                let (a, b) = (population.score_of(j), population.score_of(l));
                products.extend(block.clone().map(|i| weights[i] * a[i] * b[i]));
            }
        }
        Ok(Self { population, target, products, columns: size + size * (size + 1) / 2 })
    }

    /// `T · error` of the noise with this log-density at the population's points, at each ratio.
    ///
    /// # Errors
    /// When a ratio is not a positive number, or the noise tells nothing about some parameter.
    pub(crate) fn errors(&self, log_noise: &[f64], nus: &[f64]) -> Result<Vec<f64>> {
        if let Some(value) = nus.iter().find(|nu| !(**nu > 0.0 && nu.is_finite())) {
            return Err(Error::NoiseRatio { value: *value });
        }
        let sums = self.sums(log_noise, nus);
        nus.iter().zip(sums.chunks(self.columns)).map(|(nu, sums)| self.error(log_noise, *nu, sums)).collect()
    }

    /// `m_w` and the triangle of `I_w`, for one ratio after the other.
    fn sums(&self, log_noise: &[f64], nus: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; nus.len() * self.columns];
        let (mut ratio, mut weight) = ([0.0; BLOCK], [0.0; BLOCK]);
        let blocks = self.population.log_density().chunks(BLOCK).zip(log_noise.chunks(BLOCK));
        for ((log_data, log_noise), products) in blocks.zip(self.products.chunks(BLOCK * self.columns)) {
            let rows = log_data.len();
            let (ratio, weight) = (&mut ratio[..rows], &mut weight[..rows]);
            for ((r, d), n) in ratio.iter_mut().zip(log_data).zip(log_noise) {
                *r = d - n;
            }
            kernels::exp_in_place(ratio);
            for (nu, sums) in nus.iter().zip(sums.chunks_mut(self.columns)) {
                // w = 1/(1 + r/ν), which is right for r = 0 and r = ∞ too.
                for (w, r) in weight.iter_mut().zip(ratio.iter()) {
                    *w = nu / (nu + r);
                }
                for (sum, column) in sums.iter_mut().zip(products.chunks(rows)) {
                    *sum += dot(weight, column);
                }
            }
        }
        sums
    }

    /// `(1 + ν) tr(ΣM)` with `Σ = I_w⁻¹ − (1 + 1/ν) u uᵀ`, `u = I_w⁻¹ m_w`; by the careful way if the sums
    /// have run out of digits.
    fn error(&self, log_noise: &[f64], nu: f64, sums: &[f64]) -> Result<f64> {
        let size = self.target.nrows();
        let mean = DVector::from_column_slice(&sums[..size]);
        let mut information = DMatrix::zeros(size, size);
        for ((j, l), sum) in triangle(size).zip(&sums[size..]) {
            (information[(j, l)], information[(l, j)]) = (*sum, *sum);
        }
        if let Inverse::Regular(inverse) = invert(&information)
            && information.diagonal().iter().all(|i| *i > f64::MIN_POSITIVE / f64::EPSILON)
        {
            let direction = &inverse * mean;
            let naive = inverse.component_mul(&self.target).sum();
            let correction = (1.0 + 1.0 / nu) * direction.dot(&(&self.target * &direction));
            if naive - correction > 1e-3 * naive {
                return Ok((1.0 + nu) * (naive - correction));
            }
        }
        let careful = Asymptotics::at(self.population, log_noise, nu, &Loss::Js)?;
        Ok(careful.error(&self.target, nu, 1.0, 1.0))
    }
}

fn triangle(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(move |j| (j..size).map(move |l| (j, l)))
}

/// The inner product, in a fixed order that fills vector registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for k in 0..LANES {
            lanes[k] += x[k] * y[k];
        }
    }
    lanes.iter().sum::<f64>() + rest
}
