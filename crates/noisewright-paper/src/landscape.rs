//! The error of a toy model as a function of the noise and of ν, fast enough for whole grids.

use std::f64::consts::FRAC_PI_2;

use noisewright::internal::Contrast;
use noisewright::{Loss, Model, Noise, Points, Population, Precision, Result};
use noisewright_numerics::optimize::{minimize_bracketed, nelder_mead, scan_minima};

use crate::rule::gauss_legendre;
use crate::settings::proportion_of;
use crate::toy::{Toy, folded_correlation};

/// Accuracy of the nodes that all noise parameters share.
const RELATIVE: f64 = 1e-8;

/// Share of the information below which a node of a large tensor is left out.
const NEGLIGIBLE: f64 = 1e-11;

/// Largest logarithm of p_n/p_d that is not cut off; the weight is 1 to the last bit long before.
const LARGEST: f64 = 600.0;

/// The model at one data parameter, on nodes that suit the noises it will meet.
pub(crate) struct Landscape {
    model: Model,
    points: Points,
    log_density: Vec<f64>,
    /// `q ψ` at the nodes, with the nodes' weights q under p_d.
    weighted_score: Vec<f64>,
    /// `q ψ²`.
    weighted_square: Vec<f64>,
}

/// A noise parameter and a ratio, with T·MSE there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub(crate) parameter: f64,
    pub(crate) nu: f64,
    pub(crate) error: f64,
}

impl Spot {
    pub(crate) fn proportion(&self) -> f64 {
        proportion_of(self.nu)
    }
}

impl Landscape {
    /// On nodes that suit every member of the noise family.
    pub(crate) fn new(toy: Toy, data_parameter: f64) -> Result<Self> {
        match toy {
            Toy::Correlation => Self::in_the_plane(data_parameter),
            _ => Self::for_noise(&toy.model(true)?, data_parameter, &toy.cover()?, RELATIVE),
        }
    }

    /// On nodes that suit one noise.
    pub(crate) fn for_noise(
        model: &Model,
        data_parameter: f64,
        noise: &dyn Noise,
        relative: f64,
    ) -> Result<Self> {
        let contrast = Contrast { noise, nu: 1.0, loss: &Loss::Js };
        let precision = Precision { relative, ..Precision::default() };
        let population = Population::for_contrast(model, &[data_parameter], contrast, &precision)?;
        let weights: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
        let log_density = population.log_density().to_vec();
        Ok(Self::on(model.clone(), population.points().clone(), log_density, population.score(), &weights))
    }

    /// For a correlation: a tensor of Gauss–Legendre nodes in folded coordinates, finer towards the axes, where a
    /// noise of a correlation near ±1 has its mass. Nodes that no design could see are left out.
    fn in_the_plane(correlation: f64) -> Result<Self> {
        const ENDS: [f64; 10] = [0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.5, 5.5, 8.0, 11.0];
        let rule = gauss_legendre(10);
        let axis: Vec<(f64, f64)> = ENDS
            .windows(2)
            .flat_map(|e| rule.iter().map(move |(x, w)| (e[0] + (e[1] - e[0]) * x, (e[1] - e[0]) * w)))
            .map(|(z, w)| (z, w * (-0.5 * z * z).exp() / FRAC_PI_2.sqrt()))
            .collect();
        let (a, b) = (0.5 / (1.0 + correlation), 0.5 / (1.0 - correlation));
        let information = 2.0 * (a * a + b * b);
        let (mut u, mut v, mut score, mut weights) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (first, p) in &axis {
            for (second, q) in &axis {
                let slope = a * (first * first - 1.0) - b * (second * second - 1.0);
                if p * q * (slope * slope + information) > NEGLIGIBLE * information {
                    u.push((1.0 + correlation).sqrt() * first);
                    v.push((1.0 - correlation).sqrt() * second);
                    score.push(slope);
                    weights.push(p * q);
                }
            }
        }
        let model = folded_correlation()?;
        let points = Points::from_columns(&["u", "v"], &[u, v])?;
        let mut log_density = vec![0.0; points.rows()];
        model.evaluate(&[correlation], points.view(), &mut log_density, None)?;
        Ok(Self::on(model, points, log_density, &score, &weights))
    }

    fn on(model: Model, points: Points, log_density: Vec<f64>, score: &[f64], weights: &[f64]) -> Self {
        let weighted_score: Vec<f64> = weights.iter().zip(score).map(|(q, s)| q * s).collect();
        let weighted_square = weighted_score.iter().zip(score).map(|(q, s)| q * s).collect();
        Self { model, points, log_density, weighted_score, weighted_square }
    }

    /// `1/J`: T·MSE of maximum likelihood if all points were data.
    pub(crate) fn bound(&self) -> f64 {
        1.0 / self.weighted_square.iter().sum::<f64>()
    }

    /// `p_n / p_d` at the nodes, for the member of the family at this parameter.
    pub(crate) fn ratios(&self, parameter: f64) -> Result<Vec<f64>> {
        let mut out = vec![0.0; self.points.rows()];
        self.model.evaluate(&[parameter], self.points.view(), &mut out, None)?;
        self.divide_by_data(&mut out);
        Ok(out)
    }

    /// `p_n / p_d` at the nodes, for any noise.
    pub(crate) fn ratios_of(&self, noise: &dyn Noise) -> Vec<f64> {
        let mut out = vec![0.0; self.points.rows()];
        noise.log_density(self.points.view(), &mut out);
        self.divide_by_data(&mut out);
        out
    }

    fn divide_by_data(&self, log_noise: &mut [f64]) {
        for (value, log_density) in log_noise.iter_mut().zip(&self.log_density) {
            *value = (*value - log_density).min(LARGEST).exp();
        }
    }

    /// T·MSE of a noise given by `p_n / p_d` at the nodes (MATH §3 for the JS loss and one parameter).
    pub(crate) fn error(&self, ratios: &[f64], nu: f64) -> f64 {
        let (mean, information) = self.moments(ratios, nu);
        let slope = mean / information;
        (1.0 + nu) * (1.0 / information - (1.0 + 1.0 / nu) * slope * slope)
    }

    /// `m_w` and `I_w`, summed in lanes that compilers turn into vectors.
    fn moments(&self, ratios: &[f64], nu: f64) -> (f64, f64) {
        const LANES: usize = 8;
        let (mut mean, mut information) = ([0.0; LANES], [0.0; LANES]);
        let chunks = ratios
            .chunks(LANES)
            .zip(self.weighted_score.chunks(LANES))
            .zip(self.weighted_square.chunks(LANES));
        for ((ratios, scores), squares) in chunks {
            for (lane, ratio) in ratios.iter().enumerate() {
                let odds = nu * ratio;
                let weight = odds / (1.0 + odds);
                mean[lane] += weight * scores[lane];
                information[lane] += weight * squares[lane];
            }
        }
        (mean.iter().sum(), information.iter().sum())
    }

    /// T·MSE at one noise parameter and ν; ∞ where the model has no such parameter.
    pub(crate) fn at(&self, parameter: f64, nu: f64) -> f64 {
        self.ratios(parameter).map_or(f64::INFINITY, |ratios| self.error(&ratios, nu))
    }

    /// All local minima over the noise parameter at one ν, best first: a scan of the grid, each minimum polished.
    pub(crate) fn minima(&self, grid: &[f64], nu: f64) -> Vec<Spot> {
        let found = scan_minima(grid, |parameter| self.at(parameter, nu));
        let mut minima: Vec<Spot> =
            found.into_iter().map(|m| Spot { parameter: m.at[0], nu, error: m.value }).collect();
        // Mirror images are equally good but for rounding: the right one first.
        let least = minima.first().map_or(1.0, |spot| spot.error);
        let rounded = |spot: &Spot| (1e9 * spot.error / least).round();
        minima.sort_by(|a, b| rounded(a).total_cmp(&rounded(b)).then(b.parameter.total_cmp(&a.parameter)));
        minima
    }

    /// The minimum over the noise parameter between two values.
    pub(crate) fn polish(&self, lower: f64, upper: f64, nu: f64) -> Spot {
        let least = minimize_bracketed(lower, upper, |parameter| self.at(parameter, nu));
        Spot { parameter: least.at[0], nu, error: least.value }
    }

    /// The minimum over noise parameter and ν near a place on the grid; `step` is the grid's step there.
    pub(crate) fn polish_jointly(&self, near: Spot, step: f64) -> Spot {
        let objective = |z: &[f64]| self.at(z[0], z[1].exp());
        let least = nelder_mead(&[near.parameter, near.nu.ln()], &[step, 0.1], 1e-13, objective);
        Spot { parameter: least.at[0], nu: least.at[1].exp(), error: least.value }
    }

    /// The best ν of a noise with the error there.
    pub(crate) fn best_ratio(&self, ratios: &[f64]) -> (f64, f64) {
        let grid: Vec<f64> = (-18..=18).map(|i| 0.5 * f64::from(i)).collect();
        let minima = scan_minima(&grid, |log_nu| self.error(ratios, log_nu.exp()));
        minima.first().map_or((f64::NAN, f64::NAN), |m| (m.at[0].exp(), m.value))
    }

    /// Number of nodes.
    #[cfg(test)]
    pub(crate) fn nodes(&self) -> usize {
        self.weighted_score.len()
    }
}

#[cfg(test)]
mod tests {
    use noisewright::internal::asymptotic_error;
    use noisewright::{MultivariateNormal, Target};

    use super::*;

    /// The library's own error on nodes made for the very noise, in the paper's coordinates.
    fn reference(data: f64, noise: f64, nu: f64) -> f64 {
        let model = Toy::Correlation.model(true).unwrap();
        let noise = MultivariateNormal::new(&[0.0, 0.0], &[1.0, noise, noise, 1.0]).unwrap();
        let contrast = Contrast { noise: &noise, nu, loss: &Loss::Js };
        let precision = Precision { relative: 1e-9, ..Precision::default() };
        asymptotic_error(&model, &[data], contrast, &Target::Mse, &precision).unwrap().error
    }

    #[test]
    fn folding_a_correlation_changes_no_error() {
        for (data, noise, nu) in [(0.3, -0.9, 1.0), (0.9, -0.5, 9.0), (-0.6, 0.99, 0.1), (0.0, 0.0, 1.0)] {
            let here = Landscape::new(Toy::Correlation, data).unwrap();
            assert!(here.nodes() < 6_000, "{}", here.nodes());
            let (error, known) = (here.at(noise, nu), reference(data, noise, nu));
            assert!((error / known - 1.0).abs() < 1e-6, "{data} {noise} {nu}: {error} {known}");
        }
    }
}
