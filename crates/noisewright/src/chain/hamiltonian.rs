//! Hamiltonian Monte Carlo with trajectories of random length and steps of several sizes.

use std::f64::consts::PI;

use noisewright_numerics::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::kernel::{Landscape, Walker, acceptance, moments};
use super::slices::Slices;
use crate::Result;

/// Most steps of a trajectory.
const MOST_STEPS: usize = 100;
/// An energy this far off will not come back.
const DIVERGED: f64 = 1000.0;
/// The rate of acceptance that costs least.
const TARGET: f64 = 0.8;

/// Halvings of the step among which one is drawn, the whole step as often as all others together: where the density is
/// thin, whole steps are all refused.
const HALVINGS: [i32; 8] = [0, 0, 0, 0, 1, 2, 3, 4];

/// Leapfrog trajectories with a mass for every coordinate and steps of several sizes, and updates along lines after each.
#[derive(Clone, Debug)]
pub(crate) struct Hamiltonian {
    deviation: Vec<f64>,
    log_step: f64,
    slices: Slices,
}

impl Hamiltonian {
    pub(super) fn new(dimension: usize) -> Self {
        Self {
            deviation: vec![1.0; dimension],
            log_step: first_step(dimension),
            slices: Slices::new(dimension),
        }
    }

    pub(super) fn step(
        &mut self,
        landscape: Landscape<'_>,
        walker: &mut Walker,
        stream: &mut Stream,
        gain: f64,
    ) -> Result<f64> {
        let mut momentum: Vec<f64> = walker.y.iter().map(|_| StandardNormal.sample(stream)).collect();
        let before = walker.height - kinetic(&momentum);
        // Lengths from 0 to half a turn of a Gaussian: no length is in step with a period.
        let length = PI * stream.random::<f64>();
        let halvings = HALVINGS[stream.random_range(0..HALVINGS.len())];
        let step = self.log_step.exp() * 0.5_f64.powi(halvings);
        // Small steps go less far, so that they do not cost most of the time.
        let length = length * 0.5_f64.powi(halvings).sqrt();
        let end = self.trajectory(landscape, &walker.y, &mut momentum, [length, step], before)?;
        let uniform = stream.random::<f64>();
        let acceptance = end.as_ref().map_or(0.0, |end| acceptance(end.height - kinetic(&momentum) - before));
        if let Some(end) = end.filter(|_| uniform < acceptance) {
            *walker = end;
        }
        if halvings == 0 {
            self.log_step = (self.log_step + gain * (acceptance - TARGET)).min(0.7);
        }
        self.slices.step(landscape, walker, stream)?;
        Ok(acceptance)
    }

    /// Follows the leapfrog steps; `None` where they leave the density or lose the energy.
    fn trajectory(
        &self,
        landscape: Landscape<'_>,
        from: &[f64],
        momentum: &mut [f64],
        [length, step]: [f64; 2],
        before: f64,
    ) -> Result<Option<Walker>> {
        let steps = ((length / step).ceil() as usize).clamp(1, MOST_STEPS);
        let mut y = from.to_vec();
        let mut gradient = vec![0.0; y.len()];
        if landscape.slope(&y, &mut gradient)?.is_none() {
            return Ok(None);
        }
        let mut height = f64::NEG_INFINITY;
        for _ in 0..steps {
            self.push(momentum, &gradient, 0.5 * step);
            for ((y, p), s) in y.iter_mut().zip(momentum.iter()).zip(&self.deviation) {
                *y += step * s * p;
            }
            height = landscape.slope(&y, &mut gradient)?.unwrap_or(f64::NEG_INFINITY);
            self.push(momentum, &gradient, 0.5 * step);
            let lost = before - (height - kinetic(momentum));
            if lost.is_nan() || lost > DIVERGED {
                return Ok(None);
            }
        }
        Ok(Some(Walker { y, height }))
    }

    fn push(&self, momentum: &mut [f64], gradient: &[f64], step: f64) {
        for ((p, g), s) in momentum.iter_mut().zip(gradient).zip(&self.deviation) {
            *p += step * s * g;
        }
    }

    /// Takes the curves of its slices from draws of the density.
    pub(super) fn bend(&mut self, sample: &[Vec<f64>]) {
        self.slices.bend(sample);
    }

    pub(super) fn shape(&mut self, sample: &[Vec<f64>]) {
        if sample.len() < 5 {
            return;
        }
        // A few pseudo-observations of the old shape keep a coordinate that did not move from stopping for good.
        let weight = sample.len() as f64 / (sample.len() as f64 + 5.0);
        for (axis, deviation) in self.deviation.iter_mut().enumerate() {
            let variance = moments(sample, axis).1;
            if variance.is_finite() {
                let kept = 1e-3 * *deviation * *deviation;
                *deviation = (weight * variance + (1.0 - weight) * kept).sqrt();
            }
        }
        self.slices.shape(&self.deviation, sample);
        self.log_step = first_step(self.deviation.len());
    }
}

/// A step that Gaussians of this dimension accept.
fn first_step(dimension: usize) -> f64 {
    (0.9 * (dimension as f64).powf(-0.25)).ln()
}

fn kinetic(momentum: &[f64]) -> f64 {
    0.5 * momentum.iter().map(|p| p * p).sum::<f64>()
}
