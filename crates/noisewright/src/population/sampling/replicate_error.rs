//! How accurate sampled moments are: the spread of what the replicates say, each on its own or left out.

use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::parallel::map;
use noisewright_numerics::special::softplus;

use crate::moments::{Moments, asymptotic_covariance};
use crate::population::{Contrast, Population, log_ratio};
use crate::run::CancelToken;

/// Beyond so many coordinates of β the traces of inverses are not followed: their cost would exceed all else.
const MOST_COORDINATES: usize = 80;

/// Relative standard error of a sum of equally many independent parts.
pub(super) fn of_sums(parts: &[f64]) -> f64 {
    let count = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / count;
    let variance = parts.iter().map(|p| (p - mean) * (p - mean)).sum::<f64>() / (count - 1.0);
    (variance / count).sqrt() / mean
}

/// The largest relative error of the mass, of the moments that a design sums, and of its error.
///
/// `replicates` are the rows of each replicate.
pub(super) fn relative_error(
    population: &Population,
    contrast: Option<Contrast<'_>>,
    replicates: &[std::ops::Range<usize>],
) -> f64 {
    let weights = Weighted::new(population, contrast);
    let mut errors: Vec<f64> = weights
        .columns()
        .into_iter()
        .flat_map(|column| {
            [
                of_sums(&sums(column, replicates, |_| 1.0)),
                of_sums(&sums(column, replicates, |i| weights.size[i])),
            ]
        })
        .collect();
    if population.coordinates().len() <= MOST_COORDINATES {
        errors.extend(weights.errors_of_traces(population, contrast, replicates));
    }
    errors.into_iter().filter(|e| e.is_finite()).fold(0.0, f64::max)
}

fn sums(weights: &[f64], replicates: &[std::ops::Range<usize>], f: impl Fn(usize) -> f64) -> Vec<f64> {
    replicates.iter().map(|rows| rows.clone().map(|i| weights[i] * f(i)).sum()).collect()
}

/// The points' weights under p_d, w p_d and v p_d, the latter two up to a scale.
struct Weighted {
    data: Vec<f64>,
    weighted: Option<[Vec<f64>; 2]>,
    /// Logarithm of (scale of w)² over that of v.
    log_scale: f64,
    /// `1 + Σ ψ_j² / E ψ_j²`.
    size: Vec<f64>,
}

impl Weighted {
    fn new(population: &Population, contrast: Option<Contrast<'_>>) -> Self {
        let data: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
        let size = sizes(population, &data);
        let Some(contrast) = contrast else { return Self { data, weighted: None, log_scale: 0.0, size } };
        let log_noise = population.log_density_of(contrast.noise);
        let log_nu = contrast.nu.ln();
        let density = population.log_density();
        let (log_w, log_v): (Vec<f64>, Vec<f64>) = (0..data.len())
            .map(|i| {
                let g = log_ratio(density[i], log_noise[i], log_nu);
                let log_w = contrast.loss.log_weight(g);
                let q = population.log_weights()[i];
                (q + log_w, q + 2.0 * log_w + softplus(g))
            })
            .unzip();
        let top = |x: &[f64]| x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (top_w, top_v) = (top(&log_w), top(&log_v));
        let relative = |x: &[f64], top: f64| x.iter().map(|x| (x - top).exp()).collect();
        let weighted = Some([relative(&log_w, top_w), relative(&log_v, top_v)]);
        Self { data, weighted, log_scale: 2.0 * top_w - top_v, size }
    }

    fn columns(&self) -> Vec<&Vec<f64>> {
        std::iter::once(&self.data).chain(self.weighted.iter().flatten()).collect()
    }

    /// Jackknife over replicates of `tr I⁻¹`, and of `tr Σ` and `tr ΣI` under a contrast: standard error and bias.
    fn errors_of_traces(
        &self,
        population: &Population,
        contrast: Option<Contrast<'_>>,
        replicates: &[std::ops::Range<usize>],
    ) -> Vec<f64> {
        let parts: Vec<Replicate> = map(replicates, |rows| self.moments(population, rows));
        let total = parts.iter().skip(1).fold(parts[0].clone(), |sum, part| sum.plus(part.clone(), 1.0));
        let kappa = contrast.map(|c| 1.0 + 1.0 / c.nu);
        let Some(whole) = total.traces(kappa, self.log_scale) else { return Vec::new() };
        let left_out: Option<Vec<Vec<f64>>> = parts
            .iter()
            .map(|part| total.clone().plus(part.clone(), -1.0).traces(kappa, self.log_scale))
            .collect();
        // Without one of the replicates the matrix is singular: that one carried all the information, and the error is unknown.
        let Some(left_out) = left_out else { return vec![1.0] };
        (0..whole.len())
            .map(|f| jackknife(whole[f], &left_out.iter().map(|t| t[f]).collect::<Vec<_>>()))
            .collect()
    }

    fn moments(&self, population: &Population, rows: &std::ops::Range<usize>) -> Replicate {
        let size = population.coordinates().len();
        let mut block = Vec::with_capacity(size * rows.len());
        (0..size).for_each(|j| block.extend_from_slice(&population.score_of(j)[rows.clone()]));
        let moments = |w: &[f64]| Moments::of(&block, size, &w[rows.clone()], &CancelToken::new());
        Replicate {
            mass: self.data[rows.clone()].iter().sum(),
            own: moments(&self.data),
            contrast: self.weighted.as_ref().map(|[w, v]| [moments(w), moments(v)]),
        }
    }
}

/// `1 + Σ_j ψ_j² / E ψ_j²`, a size of the score that all parameters share fairly.
fn sizes(population: &Population, weights: &[f64]) -> Vec<f64> {
    let mut size = vec![1.0; weights.len()];
    for j in 0..population.coordinates().len() {
        let score = population.score_of(j);
        let square: f64 = score.iter().zip(weights).map(|(s, w)| w * s * s).sum();
        if square > 0.0 {
            size.iter_mut().zip(score).for_each(|(size, s)| *size += s * s / square);
        }
    }
    size
}

/// Sums of a replicate: the mass, the moments under p_d, and those with the weights w and v of a contrast.
#[derive(Clone)]
struct Replicate {
    mass: f64,
    own: Moments,
    contrast: Option<[Moments; 2]>,
}

impl Replicate {
    fn plus(self, other: Self, sign: f64) -> Self {
        let join = |([w, v], [other_w, other_v]): ([Moments; 2], [Moments; 2])| {
            [w + other_w.scaled(sign), v + other_v.scaled(sign)]
        };
        Self {
            mass: self.mass + sign * other.mass,
            own: self.own + other.own.scaled(sign),
            contrast: self.contrast.zip(other.contrast).map(join),
        }
    }

    /// `tr I⁻¹` and, with κ, `tr Σ` and `tr ΣI` up to a constant factor; `None` where a matrix is singular.
    fn traces(&self, kappa: Option<f64>, log_scale: f64) -> Option<Vec<f64>> {
        let information = &self.own.information / self.mass;
        let Inverse::Regular(inverse) = invert(&information) else { return None };
        let mut traces = vec![inverse.trace()];
        if let (Some([w, v]), Some(kappa)) = (&self.contrast, kappa) {
            let Inverse::Regular(inverse) = invert(&(&w.information / self.mass)) else { return None };
            let (variance, mean) = (&v.information / self.mass, &w.mean / self.mass);
            let sigma = asymptotic_covariance(&inverse, &variance, &mean, kappa * log_scale.exp());
            traces.push(sigma.trace());
            traces.push(sigma.component_mul(&information).sum());
        }
        Some(traces)
    }
}

/// Relative size of standard error and bias together.
fn jackknife(whole: f64, left_out: &[f64]) -> f64 {
    let count = left_out.len() as f64;
    let mean = left_out.iter().sum::<f64>() / count;
    let variance = left_out.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() * (count - 1.0) / count;
    let bias = (count - 1.0) * (mean - whole);
    (variance + bias * bias).sqrt() / whole.abs()
}
