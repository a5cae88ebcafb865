//! Whether a function can be integrated at all: how it falls along lines and rays that go far out.
//!
//! By Fubini's theorem an integrable function is integrable along almost every line, and its integral along
//! almost every ray with the volume element of the ray is finite; so if many of those through random places
//! do not fall fast enough, the function has no integral. The converse does not hold: a cone too narrow to be
//! hit is missed.

use noisewright_numerics::random::Stream;
use rand_distr::{Distribution, StandardNormal};

use super::coordinates::Coordinates;
use super::landscape::{Height, Landscape};
use super::start::Mode;
use crate::population::Divergent;
use crate::run::Purpose;
use crate::{Domain, Result};

/// Lines through so many places are looked at.
const PLACES: usize = 24;

/// So many of them must fail.
const FAILURES: usize = 8;

/// The two distances between which the fall is measured, in scales, on a line without ends.
const REACH: [f64; 2] = [1e3, 1e6];

/// The same in the coordinate itself for `ln x`, whose numbers end at e^±709.
const LOG_REACH: [f64; 2] = [150.0, 600.0];

/// The same for the logit of an interval, where neighbouring numbers end at ±36.
const LOGIT_REACH: [f64; 2] = [8.0, 28.0];

/// The probe of one function around a mode.
pub(super) struct Tails<'a> {
    landscape: Landscape<'a>,
    coordinates: Coordinates<'a>,
    which: Height,
    log_z: f64,
    places: Vec<Vec<f64>>,
    scales: Vec<f64>,
}

impl<'a> Tails<'a> {
    pub(super) fn new(landscape: Landscape<'a>, which: Height, log_z: f64, mode: &Mode, seed: u64) -> Self {
        let coordinates = landscape.coordinates();
        let mut random = Purpose::PopulationTails { kind: 0 }.stream(seed, 0);
        let continuous = coordinates.continuous();
        let place = |random: &mut Stream| {
            let mut z = mode.at().to_vec();
            for &axis in &continuous {
                let step: f64 = StandardNormal.sample(random);
                z[axis] += step * mode.scales()[axis];
            }
            z
        };
        let places = (0..PLACES).map(|_| place(&mut random)).collect();
        Self { landscape, coordinates, which, log_z, places, scales: mode.scales().to_vec() }
    }

    /// Where the function falls too slowly to have an integral, if anywhere that was looked at.
    pub(super) fn divergence(&self, seed: u64) -> Result<Option<Divergent>> {
        for axis in 0..self.coordinates.dimension() {
            for at_lower_end in [true, false] {
                if self.fails_along(axis, at_lower_end)? {
                    let variable = Some(self.landscape.model.space().names()[axis].clone());
                    return Ok(Some(Divergent { variable, at_lower_end, inside: false }));
                }
            }
        }
        Ok(self.fails_outwards(seed)?.then_some(Divergent {
            variable: None,
            at_lower_end: false,
            inside: false,
        }))
    }

    fn fails_along(&self, axis: usize, at_lower_end: bool) -> Result<bool> {
        let sign = if at_lower_end { -1.0 } else { 1.0 };
        let domain = self.coordinates.domain(axis);
        let (reach, log_slope) = match domain {
            Domain::Real => (REACH.map(|t| t * self.scales[axis]), true),
            Domain::Counts if !at_lower_end => (REACH.map(|t| (t * self.scales[axis]).round()), true),
            Domain::Positive => (LOG_REACH, false),
            Domain::Interval(..) => (LOGIT_REACH, false),
            _ => return Ok(false),
        };
        let ends = |end: usize| -> Vec<Vec<f64>> {
            let mut moved = self.places.clone();
            moved
                .iter_mut()
                .for_each(|z| z[axis] = if log_slope { z[axis] } else { 0.0 } + sign * reach[end]);
            moved
        };
        let near = self.values(&ends(0))?;
        let far = self.values(&ends(1))?;
        // In ln t, with its own volume t, the function must fall; a coordinate that is a logarithm needs none.
        let (steps, volume) =
            if log_slope { ((reach[1] / reach[0]).ln(), 1.0) } else { (reach[1] - reach[0], 0.0) };
        Ok(failures(&near, &far, steps, volume, if log_slope { 0.02 } else { 1e-3 }) >= FAILURES)
    }

    /// Rays in random directions of the real variables, with the volume element of so many dimensions.
    fn fails_outwards(&self, seed: u64) -> Result<bool> {
        let real: Vec<usize> = (0..self.coordinates.dimension())
            .filter(|&axis| *self.coordinates.domain(axis) == Domain::Real)
            .collect();
        if real.len() < 2 {
            return Ok(false);
        }
        let mut random = Purpose::PopulationTails { kind: 1 }.stream(seed, 0);
        let directions: Vec<Vec<f64>> =
            (0..PLACES).map(|_| real.iter().map(|_| StandardNormal.sample(&mut random)).collect()).collect();
        let ends = |reach: f64| -> Vec<Vec<f64>> {
            let mut moved = self.places.clone();
            for (z, direction) in moved.iter_mut().zip(&directions) {
                real.iter().zip(direction).for_each(|(&axis, v)| z[axis] += reach * v * self.scales[axis]);
            }
            moved
        };
        let (near, far) = (self.values(&ends(REACH[0]))?, self.values(&ends(REACH[1]))?);
        let steps = (REACH[1] / REACH[0]).ln();
        Ok(failures(&near, &far, steps, real.len() as f64, 0.02) >= FAILURES)
    }

    fn values(&self, places: &[Vec<f64>]) -> Result<Vec<f64>> {
        let rows = places.len();
        let z: Vec<f64> = (0..self.coordinates.dimension())
            .flat_map(|axis| places.iter().map(move |place| place[axis]))
            .collect();
        // What overflows so far out says nothing about the function where it matters.
        match self.landscape.in_coordinates(self.which, &z, rows, self.log_z) {
            Err(crate::Error::NotANumber { .. }) => Ok(vec![f64::NEG_INFINITY; rows]),
            result => result,
        }
    }
}

/// How many of the pairs fall by less than `least` a step.
fn failures(near: &[f64], far: &[f64], steps: f64, volume: f64, least: f64) -> usize {
    let fails = |near: f64, far: f64| {
        far > f64::NEG_INFINITY && (far == f64::INFINITY || (far - near) / steps + volume > -least)
    };
    near.iter().zip(far).filter(|(near, far)| fails(**near, **far)).count()
}
