//! Where a model's density has its mass: its heaviest mode, the widths there, and the other modes.

use nalgebra::DMatrix;

use super::modes::{Mode, Search, Sight, Surface, find_modes, quasi_random};
use super::sampling::{Charted, Height, Landscape};
use crate::{Domain, Landmarks, Model, Result, View};

/// Starts of climbs around the heaviest mode.
const SCATTERED: usize = 540;

/// Most starts at combinations of the numbers that occur in the model.
const MOST_COMBINATIONS: usize = 256;

/// Starts around the centers of the noise.
const AROUND_NOISE: usize = 64;

/// Most modes that are kept.
const MOST_MODES: usize = 9;

/// A mode whose mass is below that of the heaviest one by more than this many nats carries nothing: its share is below
/// rounding, with as much again for what Laplace's approximation misjudges.
const DEPTH: f64 = 40.0;

/// A mode of the density and its surroundings.
pub(super) struct Location {
    /// The mode.
    pub(super) peak: Vec<f64>,
    /// Peaks along each variable through the mode: location and scale, that of the mode first.
    slices: Vec<Vec<(f64, f64)>>,
    /// Inverse of the negative curvature at the mode, where every variable is continuous.
    pub(super) covariance: Option<DMatrix<f64>>,
    /// Other modes, in several dimensions: locations, and scales along every variable.
    pub(super) others: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Location {
    /// A mode of which nothing else is known.
    #[cfg(test)]
    pub(super) fn at(peak: Vec<f64>) -> Self {
        let slices = peak.iter().map(|x| vec![(*x, 1.0)]).collect();
        Self { peak, slices, covariance: None, others: Vec::new() }
    }

    /// Where the mass is along one variable; marginal scales where the curvature gives them.
    pub(super) fn centers(&self, axis: usize) -> Vec<(f64, f64)> {
        let mut centers = self.slices[axis].clone();
        if let (Some(covariance), Some(first)) = (&self.covariance, centers.first_mut()) {
            first.1 = first.1.max(covariance[(axis, axis)].sqrt());
        }
        centers.extend(self.others.iter().map(|(at, scales)| (at[axis], scales[axis])));
        centers
    }
}

/// Finds the modes of a model's density, and the peaks along every variable through the heaviest.
///
/// Along a line they are sought over all orders of magnitude, at all distances from the highest ones, around the noise's
/// centers, and at the numbers that occur in the model: its parameters and constants, with both signs. In several
/// dimensions climbs start from such places too.
pub(super) fn locate(model: &Model, parameters: &[f64], landmarks: &[Landmarks]) -> Result<Location> {
    let domains = model.space().domains();
    let density = Slice { model, parameters };
    let places = numbers_in(model, parameters);
    let start: Vec<f64> = domains.iter().zip(landmarks).map(|(d, l)| start(d, l)).collect();
    let mut location = Location { peak: start, slices: Vec::new(), covariance: None, others: Vec::new() };
    if domains.len() > 1 {
        location.move_to_modes(&density, landmarks, &places)?;
    }
    for (axis, landmarks) in landmarks.iter().enumerate() {
        let sight = Sight { hints: landmarks.centers.clone(), places: places.clone() };
        location.slices.push(density.peaks_along(axis, &location.peak, &sight)?);
    }
    if let (1, Some(first)) = (domains.len(), location.slices[0].first()) {
        location.peak[0] = first.0;
    }
    location.slices.iter_mut().zip(&location.peak).for_each(|(slice, at)| lead_with(slice, *at));
    Ok(location)
}

/// Puts the peak at a place first.
fn lead_with(slice: &mut Vec<(f64, f64)>, at: f64) {
    let own = slice.iter().position(|(peak, scale)| (peak - at).abs() <= *scale);
    match own {
        Some(own) => slice[..=own].rotate_right(1),
        None => slice.insert(0, (at, slice.first().map_or(1.0, |peak| peak.1))),
    }
}

impl Location {
    /// Moves to the heaviest mode in several dimensions and notes the others.
    fn move_to_modes(&mut self, density: &Slice<'_>, landmarks: &[Landmarks], places: &[f64]) -> Result<()> {
        let landscape = Landscape { model: density.model, parameters: density.parameters, contrast: None };
        let surface = Charted::new(landscape, Height::Density, 0.0);
        let coordinates = landscape.coordinates();
        let dimension = coordinates.dimension();
        let line = |axis: usize, values: &[f64]| -> Vec<f64> {
            values.iter().map(|x| coordinates.on_line(axis, *x)).collect()
        };
        let sight = |axis: usize| {
            let hint = |&(at, scale): &(f64, f64)| {
                let ends = line(axis, &[at, at + scale]);
                (ends[0], (ends[1] - ends[0]).abs())
            };
            let known = |hint: &(f64, f64)| hint.0.is_finite() && hint.1.is_finite();
            let hints = landmarks[axis].centers.iter().map(hint).filter(known).collect();
            let places = line(axis, places).into_iter().filter(|z| z.is_finite()).collect();
            Sight { hints, places }
        };
        // Counted variables are summed over, and need no modes but the first.
        let continuous = surface.counted().is_empty();
        let named = if continuous { named(places, landmarks, dimension) } else { Vec::new() };
        let search = Search {
            start: coordinates.of_points(&self.peak, 1),
            sights: (0..dimension).map(sight).collect(),
            places: named.iter().map(|place| coordinates.of_points(place, 1)).collect(),
            scattered: if continuous { SCATTERED } else { 0 },
            depth: DEPTH,
            most: MOST_MODES,
        };
        let scales = |mode: &Mode| -> Vec<f64> {
            (0..dimension).map(|j| mode.scales[j] * coordinates.stretch(j, mode.at[j])).collect()
        };
        let modes = find_modes(&surface, &search)?;
        let Some((first, others)) = modes.split_first() else { return Ok(()) };
        self.peak = coordinates.points(&first.at, 1);
        let stretch = |j: usize| coordinates.stretch(j, first.at[j]);
        let covariance = first.covariance.as_ref().filter(|_| continuous);
        self.covariance = covariance.map(|c| c.map_with_location(|a, b, v| v * stretch(a) * stretch(b)));
        self.others = others.iter().map(|mode| (coordinates.points(&mode.at, 1), scales(mode))).collect();
        Ok(())
    }
}

/// Places at combinations of the numbers that occur in a model, and around the centers of the noise.
fn named(places: &[f64], landmarks: &[Landmarks], dimension: usize) -> Vec<Vec<f64>> {
    combinations(places, dimension).into_iter().chain(around(landmarks)).collect()
}

/// All points whose coordinates are such places, or as many of them as are allowed, spread evenly, and those at which all
/// coordinates are the same.
fn combinations(places: &[f64], size: usize) -> Vec<Vec<f64>> {
    let Some(total) = places.len().checked_pow(size as u32).filter(|total| *total > 0) else {
        return Vec::new();
    };
    let count = total.min(MOST_COMBINATIONS);
    let digits = |mut index: usize| {
        let mut next = || {
            let place = places[index % places.len()];
            index /= places.len();
            place
        };
        (0..size).map(|_| next()).collect()
    };
    let spread = (0..count).map(|i| digits((i as u128 * total as u128 / count as u128) as usize));
    places.iter().map(|place| vec![*place; size]).chain(spread).collect()
}

/// Points within three scales of the centers of the noise.
fn around(landmarks: &[Landmarks]) -> Vec<Vec<f64>> {
    let components = landmarks.iter().map(|l| l.centers.len()).min().unwrap_or(0);
    if components == 0 {
        return Vec::new();
    }
    let place = |(i, u): (usize, Vec<f64>)| {
        let center = |l: &Landmarks| l.centers[i % components];
        let within = |(l, u): (&Landmarks, &f64)| center(l).0 + 3.0 * center(l).1 * (2.0 * u - 1.0);
        landmarks.iter().zip(&u).map(within).collect()
    };
    quasi_random(landmarks.len(), AROUND_NOISE).into_iter().enumerate().map(place).collect()
}

/// Variables up to which modes are looked for by climbs from many places.
const MOST_CLIMBED: usize = 6;

/// The modes of a density that climbs find: from many places around the highest one and from combinations of the numbers that
/// occur in the model. None where there are too many variables, or where they are not numbers of a line.
pub(crate) fn modes_of(model: &Model, parameters: &[f64]) -> Result<Vec<Vec<f64>>> {
    let space = model.space();
    let dimension = space.dimension();
    if space.is_sphere() || dimension > MOST_CLIMBED || space.domains().iter().any(Domain::is_discrete) {
        return Ok(Vec::new());
    }
    let location = locate(model, parameters, &vec![Landmarks::default(); dimension])?;
    if dimension == 1 {
        return Ok(location.centers(0).into_iter().map(|(at, _)| vec![at]).collect());
    }
    Ok(std::iter::once(location.peak).chain(location.others.into_iter().map(|(at, _)| at)).collect())
}

/// Most numbers of a model that are places to look at.
const MOST_PLACES: usize = 64;

/// The numbers that occur in a model, with both signs, and zero.
pub(crate) fn numbers_in(model: &Model, parameters: &[f64]) -> Vec<f64> {
    let constants = model.energy().constants();
    let numbers = parameters.iter().chain(&constants).filter(|x| x.is_finite());
    let mut places: Vec<f64> = numbers.take(MOST_PLACES).flat_map(|x| [*x, -x]).chain([0.0]).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// A place to start from: the middle of a bounded domain, the noise's first center, or zero.
fn start(domain: &Domain, landmarks: &Landmarks) -> f64 {
    let center = landmarks.centers.first().map_or(0.0, |c| c.0);
    match domain {
        Domain::States(states) => states[0],
        Domain::Counts => center.max(0.0).round(),
        Domain::Positive if center <= 0.0 => 1.0,
        Domain::Interval(lo, hi) if !(center > *lo && center < *hi) => 0.5 * (lo + hi),
        _ => center,
    }
}

/// A model at parameter values, in its own variables.
pub(super) struct Slice<'a> {
    pub(super) model: &'a Model,
    pub(super) parameters: &'a [f64],
}

impl Surface for Slice<'_> {
    fn domain(&self, axis: usize) -> &Domain {
        &self.model.space().domains()[axis]
    }

    fn dimension(&self) -> usize {
        self.model.space().dimension()
    }

    fn values(&self, places: &[f64], rows: usize) -> Result<Vec<f64>> {
        let mut out = vec![0.0; rows];
        let view = View::new(self.dimension(), rows, places);
        self.model.evaluate(self.parameters, view, &mut out, None)?;
        Ok(out)
    }
}
