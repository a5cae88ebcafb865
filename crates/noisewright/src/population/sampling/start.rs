//! The functions that are sampled as surfaces in sampling coordinates, with their modes and a proposal around each.

use nalgebra::{DMatrix, DVector};

use super::coordinates::Coordinates;
use super::elliptical::{Elliptical, Reach};
use super::landscape::{Height, Landscape};
use super::marginal::{CountHistogram, Marginal};
use super::proposal::Component;
use crate::population::modes::{Mode, Search, Surface, find_modes};
use crate::{Domain, Error, Result};

/// Searches from other places than the first, and most modes that are kept, where every variable is counted.
const COUNTED: (usize, usize) = (256, 64);

/// The same where some variables are continuous.
const CONTINUOUS: (usize, usize) = (24, 16);

/// Modes lighter than the heaviest by more than this many nats are left out: they are fewer than one draw in 10⁵, which the
/// wide components of the proposal find.
const DEPTH: f64 = 12.0;

/// A function of the landscape in sampling coordinates, with their Jacobian.
pub(in crate::population) struct Charted<'a> {
    landscape: Landscape<'a>,
    coordinates: Coordinates<'a>,
    which: Height,
    log_z: f64,
}

impl Surface for Charted<'_> {
    fn domain(&self, axis: usize) -> &Domain {
        match self.coordinates.domain(axis) {
            domain if domain.is_discrete() => domain,
            _ => &Domain::Real,
        }
    }

    fn dimension(&self) -> usize {
        self.coordinates.dimension()
    }

    fn values(&self, z: &[f64], rows: usize) -> Result<Vec<f64>> {
        self.landscape.in_coordinates(self.which, z, rows, self.log_z)
    }
}

impl<'a> Charted<'a> {
    pub(in crate::population) fn new(landscape: Landscape<'a>, which: Height, log_z: f64) -> Self {
        Self { landscape, coordinates: landscape.coordinates(), which, log_z }
    }

    /// The modes around a start, or around the middle of every domain.
    pub(super) fn modes(&self, start: Option<&[f64]>) -> Result<Vec<Mode>> {
        let all_counted = self.coordinates.continuous().is_empty();
        let (scattered, most) = if all_counted { COUNTED } else { CONTINUOUS };
        let start = start.map_or_else(|| self.origin(), <[f64]>::to_vec);
        let search = Search { start, scattered, depth: DEPTH, most, ..Search::default() };
        let found = find_modes(self, &search)?;
        if found.is_empty() { Err(Error::NoMass) } else { Ok(found) }
    }

    /// The middle of every domain.
    fn origin(&self) -> Vec<f64> {
        (0..self.coordinates.dimension())
            .map(|axis| match self.coordinates.domain(axis) {
                Domain::States(states) => states[0],
                _ => 0.0,
            })
            .collect()
    }

    /// A component around a mode: the curvature's normal, and the conditionals of the counted variables.
    pub(super) fn component(&self, mode: &Mode) -> Result<Component> {
        let counted = self.coordinates.discrete().into_iter().map(|axis| {
            let look = |values: &[f64]| self.along(axis, &mode.at, values);
            Ok(match self.coordinates.domain(axis) {
                Domain::States(states) => (axis, Marginal::of_states(states, &look(states)?)),
                _ => {
                    let slice = CountHistogram::of_slice(mode.at[axis], mode.scales[axis], &look)?;
                    (axis, Marginal::Counts(slice))
                }
            })
        });
        Ok(Component::Product { continuous: self.elliptical(mode), counted: counted.collect::<Result<_>>()? })
    }

    /// A normal of the mode's covariance or, where that is not definite, one along the axes.
    fn elliptical(&self, mode: &Mode) -> Option<Elliptical> {
        let axes = self.coordinates.continuous();
        let covariance = mode.covariance.as_ref()?;
        let location = DVector::from_iterator(axes.len(), axes.iter().map(|&a| mode.at[a]));
        let normal = |scale: &DMatrix<f64>| Elliptical::new(&axes, location.clone(), scale, Reach::Normal);
        let scale2 = DVector::from_iterator(axes.len(), axes.iter().map(|&a| mode.scales[a].powi(2)));
        normal(covariance).or_else(|| normal(&DMatrix::from_diagonal(&scale2)))
    }
}
