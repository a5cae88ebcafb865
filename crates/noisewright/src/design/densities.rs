//! The densities of data and noise side by side, as pictures show them.

use super::problem::Problem;
use crate::{Noise, Population};

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
        let grid = self.grid(population)?;
        let (data, noise) = (self.data_density(population, &grid)?, grid.noise_density(noise));
        let weight = data.iter().zip(&noise).map(|(p, q)| nu * q / (p + nu * q)).collect();
        Some(Densities { x: grid.x, data, noise, weight })
    }
}
