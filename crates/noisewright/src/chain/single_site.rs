//! One variable after the other: Gibbs among finitely many states, Metropolis for all others.

use noisewright_numerics::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::coordinates::Coordinate;
use super::kernel::{Landscape, Walker, acceptance, moments};
use crate::density::log_densities;
use crate::{Result, View};

/// The rate of acceptance that is best for one variable.
const TARGET: f64 = 0.44;

/// A sweep over all variables, in order.
#[derive(Clone, Debug)]
pub(crate) struct SingleSite {
    /// Logarithm of the width of the steps of every variable that takes steps.
    log_width: Vec<f64>,
}

impl SingleSite {
    pub(super) fn new(dimension: usize) -> Self {
        Self { log_width: vec![0.0; dimension] }
    }

    pub(super) fn step(
        &mut self,
        landscape: Landscape<'_>,
        walker: &mut Walker,
        stream: &mut Stream,
        gain: f64,
    ) -> Result<f64> {
        let mut sum = 0.0;
        for (site, coordinate) in landscape.coordinates.each.iter().enumerate() {
            sum += match coordinate {
                Coordinate::States(states) => {
                    gibbs(landscape, walker, stream, site, states)?;
                    1.0
                }
                _ => self.metropolis(landscape, walker, stream, site, gain)?,
            };
        }
        Ok(sum / walker.y.len() as f64)
    }

    fn metropolis(
        &mut self,
        landscape: Landscape<'_>,
        walker: &mut Walker,
        stream: &mut Stream,
        site: usize,
        gain: f64,
    ) -> Result<f64> {
        let width = self.log_width[site].exp();
        let z: f64 = StandardNormal.sample(stream);
        let step = match landscape.coordinates.each[site] {
            // Away from zero, so that a step is a step; symmetric all the same.
            Coordinate::Count => (width * z.abs()).ceil().copysign(z),
            _ => width * z,
        };
        let mut proposal = walker.y.clone();
        proposal[site] += step;
        let negative = landscape.coordinates.each[site] == Coordinate::Count && proposal[site] < 0.0;
        let height = if negative { f64::NEG_INFINITY } else { landscape.height(&proposal)? };
        let acceptance = acceptance(height - walker.height);
        if stream.random::<f64>() < acceptance {
            *walker = Walker { y: proposal, height };
        }
        self.log_width[site] += gain * (acceptance - TARGET);
        Ok(acceptance)
    }

    pub(super) fn shape(&mut self, sample: &[Vec<f64>]) {
        for (site, log_width) in self.log_width.iter_mut().enumerate() {
            let variance = moments(sample, site).1;
            if variance > 0.0 && variance.is_finite() {
                *log_width = 0.5 * variance.ln() + 2.38_f64.ln();
            }
        }
    }
}

/// Draws one variable from its conditional distribution over all its states.
fn gibbs(
    landscape: Landscape<'_>,
    walker: &mut Walker,
    stream: &mut Stream,
    site: usize,
    states: &[f64],
) -> Result<()> {
    let (dimension, count) = (walker.y.len(), states.len());
    let mut x = vec![0.0; dimension];
    let log_jacobian = landscape.coordinates.variables(&walker.y, &mut x);
    let mut points = vec![0.0; dimension * count];
    for (axis, column) in points.chunks_exact_mut(count).enumerate() {
        column.fill(x[axis]);
    }
    points[site * count..(site + 1) * count].copy_from_slice(states);
    let mut heights = vec![0.0; count];
    log_densities(landscape.density, View::new(dimension, count, &points), &mut heights)?;
    let largest = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return Ok(());
    }
    let weights: Vec<f64> = heights.iter().map(|h| (h - largest).exp()).collect();
    let mut left = stream.random::<f64>() * weights.iter().sum::<f64>();
    let below = weights.iter().position(|w| {
        left -= w;
        left < 0.0
    });
    // Rounding may leave a little at the end: the last state that is possible gets it.
    let chosen = below.or_else(|| weights.iter().rposition(|w| *w > 0.0)).unwrap_or(0);
    walker.y[site] = states[chosen];
    walker.height = heights[chosen] + log_jacobian;
    Ok(())
}
