//! Random-walk Metropolis in all variables at once.

use nalgebra::DMatrix;
use noisewright_numerics::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::coordinates::normalize;
use super::kernel::{Landscape, Walker, acceptance, covariance_factor};
use crate::Result;

/// Steps `scale · L z` with L the Cholesky factor of the coordinates' covariance.
#[derive(Clone, Debug)]
pub(crate) struct RandomWalk {
    factor: DMatrix<f64>,
    log_scale: f64,
    sphere: bool,
}

impl RandomWalk {
    pub(super) fn new(dimension: usize, sphere: bool) -> Self {
        Self { factor: DMatrix::identity(dimension, dimension), log_scale: best_scale(dimension), sphere }
    }

    pub(super) fn step(
        &mut self,
        landscape: Landscape<'_>,
        walker: &mut Walker,
        stream: &mut Stream,
        gain: f64,
    ) -> Result<f64> {
        let proposal = self.propose(&walker.y, stream);
        let height = landscape.height(&proposal)?;
        let acceptance = acceptance(height - walker.height);
        if stream.random::<f64>() < acceptance {
            *walker = Walker { y: proposal, height };
        }
        // The best rates of acceptance for one and for many Gaussian variables.
        let target = if walker.y.len() == 1 { 0.44 } else { 0.234 };
        self.log_scale += gain * (acceptance - target);
        if self.sphere {
            // Steps beyond the sphere's own size are no better than that.
            self.log_scale = self.log_scale.min(1.5);
        }
        Ok(acceptance)
    }

    /// A symmetric proposal: on a sphere its density depends on the angle alone.
    fn propose(&self, y: &[f64], stream: &mut Stream) -> Vec<f64> {
        let scale = self.log_scale.exp();
        let z: Vec<f64> = y.iter().map(|_| StandardNormal.sample(stream)).collect();
        let step = |i: usize| (0..=i).map(|j| self.factor[(i, j)] * z[j]).sum::<f64>();
        let mut proposal: Vec<f64> = (0..y.len()).map(|i| y[i] + scale * step(i)).collect();
        if self.sphere {
            normalize(&mut proposal);
        }
        proposal
    }

    pub(super) fn shape(&mut self, sample: &[Vec<f64>]) {
        let dimension = self.factor.nrows();
        if self.sphere || sample.len() < 5 {
            return;
        }
        if let Some(factor) = covariance_factor(sample) {
            self.factor = factor;
            self.log_scale = best_scale(dimension);
        }
    }
}

/// 2.38/√d, the best scale for a Gaussian (Roberts, Gelman and Gilks 1997).
fn best_scale(dimension: usize) -> f64 {
    (2.38 / (dimension as f64).sqrt()).ln()
}
