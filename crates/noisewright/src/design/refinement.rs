//! The optimum on finer and finer rules: its kinks are not known before it is, and what is certified must hold on another rule.

use super::exact::{self, OptimalNoise};
use super::{ModelNoise, Search, Solved, Start};
use crate::population::Method;
use crate::{Contrast, Error, Loss, Model, Population, Precision, Result};

/// Rounds in which the nodes of a line are moved to the kinks of the optimum.
const ROUNDS: usize = 6;

/// Nodes a side of the grids in two variables; each is about √2 times as fine as the one before. The search begins on the
/// first, which is coarse: the finer ones only move what it has found.
const PLANE: [usize; 8] = [64, 91, 128, 181, 256, 362, 512, 724];

/// The same in three variables, where the last has two million nodes.
const SPACE: [usize; 5] = [32, 45, 64, 91, 128];

/// Mass that a noise may lack on a finer grid than the one it was made on. The kinks are curves and surfaces, whose error falls
/// like h^{2.5} and h³ on average but not from grid to grid: with 2e-6 here a noise in the plane was off by 3.6e-6 on a third grid.
const LARGEST_MASS_ERROR: f64 = 2e-7;

/// The grids for a space of so many dimensions.
fn grids(dimension: usize) -> &'static [usize] {
    match dimension {
        2 => &PLANE,
        3 => &SPACE,
        _ => &[],
    }
}

/// The population that a search begins on: a coarse grid where there are finer ones to follow.
pub(super) fn first_population(
    model: &Model,
    parameters: &[f64],
    precision: &Precision,
) -> Result<Population> {
    let coarse = match grids(model.space().dimension()) {
        [first, ..] => Population::on_grid(model, parameters, *first, precision)?,
        [] => None,
    };
    coarse.map_or_else(|| Population::new(model, parameters, precision), Ok)
}

impl Search<'_> {
    /// The optimum at one ν.
    pub(super) fn solve(&self, nu: f64) -> Result<Solved> {
        let first = self.on_first_nodes(nu)?;
        let population = self.population().clone();
        let exact = match (&self.start, population.accuracy().method) {
            (Start::Sample(_), _) | (_, Method::Enumeration) => Some(0.0),
            // Draws know their own error to a tenth at best: nothing is certified on them.
            (_, Method::Sampling | Method::Sample) => None,
            (_, Method::Quadrature) => return self.refine(population, first),
        };
        Ok((population, OptimalNoise { rule_error: exact, ..first }))
    }

    fn refine(&self, population: Population, first: OptimalNoise) -> Result<Solved> {
        let nu = first.nu;
        let refined = match self.model.space().dimension() {
            1 if self.model.space().domains()[0].is_discrete() => {
                Ok((population, OptimalNoise { rule_error: Some(0.0), ..first }))
            }
            1 => self.on_a_line(population, first),
            dimension => self.on_grids(population, first, &grids(dimension)[1..]),
        };
        // No noise was given that could miss the data: it is the best one that slips between the points.
        refined.map_err(|error| match error {
            Error::NoOverlap => exact::too_concentrated(nu),
            other => other,
        })
    }

    /// In one dimension the nodes are moved to the kinks that the optimum has.
    fn on_a_line(&self, mut population: Population, mut optimum: OptimalNoise) -> Result<Solved> {
        for _ in 0..ROUNDS {
            let noise = ModelNoise::optimal(&population, self.model, self.parameters, &optimum)?;
            let contrast = Contrast { noise: &noise, nu: optimum.nu, loss: &Loss::Js };
            let next =
                Population::for_contrast(self.model, self.parameters, contrast, &self.options.precision)?;
            let rule_error = self.step(&mut population, &mut optimum, next)?;
            if rule_error <= 1e-11 {
                break;
            }
        }
        Ok((population, optimum))
    }

    /// In several dimensions the kinks lie on curves and surfaces: grids are refined until one agrees with the next.
    fn on_grids(
        &self,
        mut population: Population,
        mut optimum: OptimalNoise,
        counts: &[usize],
    ) -> Result<Solved> {
        let precision = &self.options.precision;
        for count in counts {
            if count.pow(u32::try_from(self.model.space().dimension()).unwrap_or(u32::MAX))
                > precision.max_nodes
            {
                break;
            }
            let Some(next) = Population::on_grid(self.model, self.parameters, *count, precision)? else {
                break;
            };
            let rule_error = self.step(&mut population, &mut optimum, next)?;
            if rule_error <= LARGEST_MASS_ERROR {
                break;
            }
        }
        Ok((population, optimum))
    }

    /// Solves on the next population, from the optimum of the one before; returns the relative error that this one shows: of
    /// its mass, which must be one, or of the value, whichever is larger.
    fn step(&self, population: &mut Population, optimum: &mut OptimalNoise, next: Population) -> Result<f64> {
        let noise = ModelNoise::optimal(population, self.model, self.parameters, optimum)?;
        let log_ratio = noise.shape().log_ratio(next.score(), next.points().rows());
        let warm: Vec<f64> = log_ratio.iter().map(|h| h.exp()).collect();
        let mass: f64 = next.log_weights().iter().zip(&warm).map(|(q, h)| q.exp() * h).sum();
        let refined = exact::optimal_noise(&self.criterion(&next)?, optimum.nu, Some(&warm))?;
        let change = (refined.value - optimum.value).abs() / refined.value.abs().max(f64::MIN_POSITIVE);
        let rule_error = change.max((mass - 1.0).abs());
        let stationary_points = optimum.stationary_points;
        *optimum = OptimalNoise { stationary_points, rule_error: Some(rule_error), ..refined };
        *population = next;
        Ok(rule_error)
    }
}
