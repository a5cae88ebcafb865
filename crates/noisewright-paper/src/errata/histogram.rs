//! Figures 2 and 3 as published: histograms that minimise something else.

use noisewright::design::{DesignOptions, Ratio};
use noisewright::internal::Contrast;
use noisewright::internal::design::best_histogram_1d;
use noisewright::{Histogram1d, Loss, Noise, Population, Precision, Result, equal_edges};
use noisewright_numerics::optimize::{LbfgsOptions, lbfgs};
use noisewright_report::format_number;
use serde_json::json;

use super::Erratum;
use crate::densities::PROPORTIONS;
use crate::settings::ratio_of;
use crate::toy::Toy;

/// Bins on [−5, 5].
const BINS: usize = 20;

/// The authors' function of a histogram's masses: the mass of a bin stands where its density is meant.
struct Slip {
    /// Bin of each node that has one, with its weight under p_d, its density and its score.
    nodes: Vec<(usize, f64, f64, f64)>,
    nu: f64,
}

impl Slip {
    fn new(toy: Toy, nu: f64) -> Result<Self> {
        let edges = equal_edges(BINS, -5.0, 5.0);
        let uniform = Histogram1d::new(&edges, &[1.0 / BINS as f64; BINS])?;
        let contrast = Contrast { noise: &uniform as &dyn Noise, nu, loss: &Loss::Js };
        let model = toy.model(true)?;
        let population =
            Population::for_contrast(&model, &[toy.standard()], contrast, &Precision::default())?;
        let x = population.points().view().column(0);
        let inside = (0..x.len()).filter(|&i| x[i].abs() < 5.0);
        let node = |i: usize| {
            let bin = edges.partition_point(|edge| *edge <= x[i]).clamp(1, BINS) - 1;
            (bin, population.log_weights()[i].exp(), population.log_density()[i].exp(), population.score()[i])
        };
        Ok(Self { nodes: inside.map(node).collect(), nu })
    }

    /// T·MSE with `height` times the mass of a bin as its density, and the gradient in the masses.
    fn error(&self, masses: &[f64], height: f64, gradient: &mut [f64]) -> f64 {
        let weight = |bin: usize, density: f64| {
            let odds = self.nu * height * masses[bin] / density;
            odds / (1.0 + odds)
        };
        let (mut mean, mut information) = (0.0, 0.0);
        for &(bin, share, density, score) in &self.nodes {
            let part = share * weight(bin, density) * score;
            mean += part;
            information += part * score;
        }
        let (kappa, slope) = (1.0 + 1.0 / self.nu, mean / information);
        gradient.fill(0.0);
        for &(bin, share, density, score) in &self.nodes {
            // −a(x) of MATH §6 for one parameter, times the derivative of the weight.
            let a = (score / information).powi(2)
                + 2.0 * kappa * slope * score / information * (1.0 - slope * score);
            let miss = 1.0 - weight(bin, density);
            gradient[bin] -= (1.0 + self.nu) * share * a * self.nu * miss * miss * height / density;
        }
        (1.0 + self.nu) * (1.0 / information - kappa * slope * slope)
    }

    /// The masses that minimise the authors' function, and the true error of the histogram that has them.
    fn minimise(&self) -> f64 {
        let flat = vec![0.0; BINS];
        let tilted = (0..BINS).map(|i| if i < BINS / 2 { -4.0 } else { 0.0 }).collect();
        let mut best = (f64::INFINITY, f64::NAN);
        for start in [flat, tilted] {
            let mut of_masses = vec![0.0; BINS];
            let found = lbfgs(&start, &LbfgsOptions::default(), |logits, gradient| {
                let masses = softmax(logits);
                let value = self.error(&masses, 1.0, &mut of_masses);
                let mean: f64 = masses.iter().zip(&of_masses).map(|(m, g)| m * g).sum();
                gradient
                    .iter_mut()
                    .zip(&masses)
                    .zip(&of_masses)
                    .for_each(|((out, m), g)| *out = m * (g - mean));
                value
            });
            let width = 10.0 / BINS as f64;
            let truth = self.error(&softmax(&found.at), 1.0 / width, &mut of_masses);
            if found.value < best.0 {
                best = (found.value, truth);
            }
        }
        best.1
    }
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = logits.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = exponentials.iter().sum();
    exponentials.iter().map(|e| e / total).collect()
}

/// T·MSE of the histogram that minimises the authors' function, and of the best one, at each proportion.
fn both(toy: Toy) -> Result<Vec<(f64, f64)>> {
    let edges = equal_edges(BINS, -5.0, 5.0);
    let one = |proportion: &f64| {
        let nu = ratio_of(*proportion);
        let options = DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() };
        let best = best_histogram_1d(&toy.model(true)?, &[toy.standard()], &edges, &options)?;
        Ok((Slip::new(toy, nu)?.minimise(), best.error))
    };
    PROPORTIONS.iter().map(one).collect()
}

/// The histogram that returns the mass of a bin where the density is meant.
pub(super) fn mass_for_density() -> Result<Erratum> {
    let (mean, variance) = (both(Toy::Mean)?, both(Toy::Variance)?);
    let show = |pairs: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| {
        pairs.iter().map(|p| format_number(pick(p), 5)).collect::<Vec<_>>().join(", ")
    };
    let list = |pairs: &[(f64, f64)]| {
        pairs.iter().map(|p| json!({ "theirs": p.0, "best": p.1 })).collect::<Vec<_>>()
    };
    Ok(Erratum {
        place: "Figures 2 and 3",
        printed: "histograms that minimise the MSE.".into(),
        right: "in the authors' code a histogram returns the mass of a bin where its density is meant, so that they minimise another function.".into(),
        check: format!(
            "T·MSE at 10, 50 and 90 % noise of the minimiser of that function and of the best histogram on the same bins: mean {} \
             against {}; variance {} against {}.",
            show(&mean, |p| p.0),
            show(&mean, |p| p.1),
            show(&variance, |p| p.0),
            show(&variance, |p| p.1)
        ),
        holds: mean.iter().chain(&variance).all(|p| p.1 < p.0),
        values: json!({ "mean": list(&mean), "variance": list(&variance) }),
    })
}
