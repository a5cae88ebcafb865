//! The mode finder: local maxima of a log-density by multistart quasi-Newton ascent.
//!
//! A coordinate ascent along slices (`surface.rs`), in which peaks are seen at any distance, gives the first place. BFGS
//! climbs from there and from many other places (`climb.rs`), and the distinct maxima are ranked by the mass that Laplace's
//! approximation gives them. A needle to which no start points is missed.

mod climb;
mod sphere;
mod surface;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::halton::Halton;

use self::climb::Climb;
pub(super) use self::sphere::locate_on_sphere;
pub(super) use self::surface::{Sight, Surface};
use crate::run::Purpose;
use crate::{Domain, Result};

/// Half the sides of the cubes around the first mode in which searches start, in its widths, in turn: other modes are most
/// often some tens of widths away.
const HALF_SIDES: [f64; 6] = [2.0, 8.0, 30.0, 30.0, 30.0, 200.0];

/// Sweeps of the coordinate ascent, at most.
const SWEEPS: usize = 4;
/// The move in scales below which it ends: BFGS does the rest.
const SWEEP_END: f64 = 0.1;

/// A local maximum.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    pub(super) at: Vec<f64>,
    height: f64,
    /// The scale of every coordinate along its slice through the mode.
    pub(super) scales: Vec<f64>,
    /// Of the continuous coordinates, as the curvature suggests.
    pub(super) covariance: Option<DMatrix<f64>>,
    /// ½ ln det of the covariance.
    log_volume: f64,
}

impl Mode {
    /// The mass in Laplace's approximation, in nats up to a constant.
    fn mass(&self) -> f64 {
        self.height + self.log_volume
    }

    /// The squared distance of a place in scales.
    fn distance2(&self, place: &[f64]) -> f64 {
        self.at.iter().zip(place).zip(&self.scales).map(|((a, b), s)| ((a - b) / s).powi(2)).sum()
    }
}

/// Where to look for modes, and which of them matter.
#[derive(Default)]
pub(super) struct Search {
    /// Where the coordinate ascent begins.
    pub(super) start: Vec<f64>,
    /// What is known of each coordinate; nothing where there is no entry.
    pub(super) sights: Vec<Sight>,
    /// Other places to climb from.
    pub(super) places: Vec<Vec<f64>>,
    /// How many more, around the first mode.
    pub(super) scattered: usize,
    /// Modes whose mass is below that of the heaviest by more than this many nats are left out.
    pub(super) depth: f64,
    /// Most modes that are kept.
    pub(super) most: usize,
}

/// The modes of a surface that climbs from a start and from many other places lead to, the heaviest first.
pub(super) fn find_modes(surface: &dyn Surface, search: &Search) -> Result<Vec<Mode>> {
    let (mut at, mut scales) = (search.start.clone(), vec![1.0; search.start.len()]);
    coordinate_ascent(surface, &mut at, &mut scales, &search.sights)?;
    let mut climb = Climb::new(surface, scales);
    climb.visit(vec![at])?;
    let first = climb.found.first().cloned();
    if let Some(first) = &first {
        climb.start_from(first);
        let mut places = scattered(surface, first, search.scattered);
        places.extend_from_slice(&search.places);
        climb.visit(places)?;
        // Densities are often symmetric, and then half of the modes are the mirror images of the others.
        let mirrored = climb.found.iter().map(|mode| mirrored(surface, &mode.at)).collect();
        climb.visit(mirrored)?;
    }
    let mut found = climb.found;
    found.sort_by(|a, b| b.mass().total_cmp(&a.mass()));
    let top = found.first().map_or(f64::NEG_INFINITY, Mode::mass);
    found.retain(|mode| mode.mass() >= top - search.depth);
    found.truncate(search.most);
    Ok(found)
}

/// Climbs along every coordinate in turn.
fn coordinate_ascent(
    surface: &dyn Surface,
    at: &mut [f64],
    scales: &mut [f64],
    sights: &[Sight],
) -> Result<()> {
    for _ in 0..SWEEPS {
        let mut moved = 0.0f64;
        for axis in 0..at.len() {
            let sight = sights.get(axis).cloned().unwrap_or_default().around(at[axis]);
            let found = surface.peaks_along(axis, at, &sight)?;
            let Some(&(best, scale)) = found.first() else { continue };
            moved = moved.max((best - at[axis]).abs() / scale);
            (at[axis], scales[axis]) = (best, scale);
        }
        if moved < SWEEP_END {
            break;
        }
    }
    Ok(())
}

/// Quasi-random places in cubes around a mode, stretched as it is.
fn scattered(surface: &dyn Surface, mode: &Mode, count: usize) -> Vec<Vec<f64>> {
    let axes = surface.continuous();
    let factor = mode.covariance.clone().and_then(|c| c.cholesky()).map(|c| c.l());
    let place = |(i, u): (usize, Vec<f64>)| {
        let half = HALF_SIDES[i % HALF_SIDES.len()];
        let mut at: Vec<f64> = (0..u.len())
            .map(|axis| {
                let moved = mode.at[axis] + half * mode.scales[axis] * (2.0 * u[axis] - 1.0);
                match surface.domain(axis) {
                    Domain::States(states) => {
                        states[((u[axis] * states.len() as f64) as usize).min(states.len() - 1)]
                    }
                    Domain::Counts => moved.max(0.0).round(),
                    _ => moved,
                }
            })
            .collect();
        if let Some(factor) = &factor {
            let step = factor * DVector::from_fn(axes.len(), |k, _| half * (2.0 * u[axes[k]] - 1.0));
            axes.iter().zip(step.iter()).for_each(|(&axis, step)| at[axis] = mode.at[axis] + step);
        }
        at
    };
    quasi_random(mode.at.len(), count).into_iter().enumerate().map(place).collect()
}

/// Points of the unit cube, the same at every run.
pub(super) fn quasi_random(dimension: usize, count: usize) -> Vec<Vec<f64>> {
    if count == 0 {
        return Vec::new();
    }
    let mut points = vec![0.0; dimension * count];
    Halton::new(dimension, &mut Purpose::ModeProbe.fixed_stream()).fill(1, count, &mut points);
    (0..count).map(|i| (0..dimension).map(|j| points[j * count + i]).collect()).collect()
}

/// The other side of the origin, with the states in reverse.
fn mirrored(surface: &dyn Surface, at: &[f64]) -> Vec<f64> {
    let reflect = |(axis, at): (usize, &f64)| match surface.domain(axis) {
        Domain::States(states) => {
            states.iter().position(|s| s == at).map_or(*at, |index| states[states.len() - 1 - index])
        }
        Domain::Counts => *at,
        _ => -at,
    };
    at.iter().enumerate().map(reflect).collect()
}
