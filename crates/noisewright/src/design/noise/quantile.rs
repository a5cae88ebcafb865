//! Quiet draws of noises that come from a model: their maps from the unit cube (MATH §8).

use super::{ModelNoise, Plan};
use crate::View;
use crate::noise::quiet::conditional::ConditionalQuantile;
use crate::noise::quiet::line::LineQuantile;

/// How points of the unit cube become draws.
pub(super) enum Quantile {
    /// The inverse distribution function of one variable.
    Line(LineQuantile),
    /// Conditional ones of two or three.
    Conditional(ConditionalQuantile),
    /// Of finitely many states, the probability of each and of those before it.
    States(Vec<f64>),
}

impl Quantile {
    /// How many uniform numbers make one draw of so many variables.
    pub(super) fn uniforms(&self, dimension: usize) -> usize {
        match self {
            Self::Conditional(_) => dimension,
            Self::Line(_) | Self::States(_) => 1,
        }
    }
}

impl ModelNoise {
    /// The map from the unit cube, for up to three continuous variables and for finitely many states; the points of a sampled
    /// population have none.
    pub(super) fn quantile(&self) -> Option<&Quantile> {
        let made = || match &self.plan {
            Plan::Boxes { lower, upper, .. } if lower.len() == 1 => {
                let breaks = &self.landmarks[0].breaks;
                LineQuantile::new(lower[0], upper[0], breaks, &self.line_density()).map(Quantile::Line)
            }
            Plan::Boxes { lower, upper, .. } => {
                ConditionalQuantile::new(lower, upper, &self.density()).map(Quantile::Conditional)
            }
            Plan::Points { log_weights, .. } => {
                self.model.space().state_count().map(|_| Quantile::States(cumulative(log_weights)))
            }
        };
        self.quantile.get_or_init(made).as_ref()
    }

    /// Draws from points of the unit cube.
    pub(super) fn carry_over(&self, cube: View<'_>, out: &mut [f64]) {
        match (self.quantile(), &self.plan) {
            (Some(Quantile::Line(quantile)), _) => {
                let density = self.line_density();
                out.iter_mut().zip(cube.column(0)).for_each(|(x, u)| *x = quantile.at(*u, &density));
            }
            (Some(Quantile::Conditional(quantile)), _) => quantile.transport(cube, out, &self.density()),
            (Some(Quantile::States(below)), Plan::Points { points, .. }) => {
                let rows = cube.rows();
                for (row, u) in cube.column(0).iter().enumerate() {
                    let state = below.partition_point(|c| c <= u).min(below.len() - 1);
                    (0..points.columns()).for_each(|j| out[j * rows + row] = points.view().get(state, j));
                }
            }
            _ => {}
        }
    }
}

/// Sums of weights given by their logarithms up to and with each, over all.
fn cumulative(log_weights: &[f64]) -> Vec<f64> {
    let total = noisewright_numerics::summation::log_sum_exp(log_weights);
    let mut sum = 0.0;
    let add = |w: &f64| {
        sum += (w - total).exp();
        sum
    };
    log_weights.iter().map(add).collect()
}
