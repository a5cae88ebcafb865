//! The densities of data and noise side by side, as pictures show them.

use super::problem::Problem;
use crate::{Noise, Population, View};

/// Number of places a curve goes through.
const PLACES: usize = 400;

/// Values on an even grid over where the data are, in one variable.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Densities {
    /// The places.
    pub x: Vec<f64>,
    /// Density of the data.
    #[serde(rename = "data_density")]
    pub data: Vec<f64>,
    /// Density of the noise.
    #[serde(rename = "density")]
    pub noise: Vec<f64>,
    /// The weight w of a data point.
    pub weight: Vec<f64>,
}

impl Problem<'_> {
    /// Densities of data and noise and the weight between them; `None` beyond one continuous variable.
    #[must_use]
    pub fn densities(&self, population: &Population, noise: &dyn Noise, nu: f64) -> Option<Densities> {
        let space = self.model.space();
        if space.dimension() != 1 || space.domains()[0].is_discrete() {
            return None;
        }
        let (low, high) = range(population)?;
        let (lower, upper) = space.domains()[0].bounds();
        let margin = 0.1 * (high - low);
        let (low, high) = ((low - margin).max(lower), (high + margin).min(upper));
        let x: Vec<f64> =
            (0..PLACES).map(|i| low + (high - low) * (i as f64 + 0.5) / PLACES as f64).collect();
        let view = View::new(1, PLACES, &x);
        let (mut data, mut density) = (vec![0.0; PLACES], vec![0.0; PLACES]);
        self.model.evaluate(self.parameters, view, &mut data, None).ok()?;
        noise.log_density(view, &mut density);
        data.iter_mut().for_each(|u| *u = (*u - population.log_normalizer()).exp());
        density.iter_mut().for_each(|q| *q = q.exp());
        let weight = data.iter().zip(&density).map(|(p, q)| nu * q / (p + nu * q)).collect();
        Some(Densities { x, data, noise: density, weight })
    }
}

/// Where all but a thousandth of the data are.
fn range(population: &Population) -> Option<(f64, f64)> {
    let x = population.points().view().column(0).iter().copied();
    let mut points: Vec<(f64, f64)> = x.zip(population.log_weights().iter().map(|w| w.exp())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut low, mut high) = (0.0, None, points.first()?.0);
    for (x, weight) in points {
        below += weight;
        if below > 5e-4 {
            low.get_or_insert(x);
        }
        if below < 0.9995 {
            high = x;
        }
    }
    let low = low.unwrap_or(high);
    Some(if low < high { (low, high) } else { (low - 1.0, high + 1.0) })
}
