//! Where a model's density has its mass: a peak, its widths, and the covariance that its curvature suggests.

use nalgebra::DMatrix;
use noisewright_numerics::quadrature::{Lookout, peaks};

use super::modes::{Mode, other_modes};
use crate::{Domain, Error, Landmarks, Model, Result, View};

/// A peak of the density and its surroundings.
pub(super) struct Location {
    /// The peak.
    pub(super) peak: Vec<f64>,
    /// Peaks along each variable through the main one: location and scale.
    slices: Vec<Vec<(f64, f64)>>,
    /// Inverse of the negative curvature at the peak, where that is positive definite.
    pub(super) covariance: Option<DMatrix<f64>>,
    /// Other peaks, in several dimensions.
    pub(super) others: Vec<Mode>,
}

impl Location {
    /// Where the mass is along one variable; marginal scales where the curvature gives them.
    pub(super) fn centers(&self, axis: usize) -> Vec<(f64, f64)> {
        let mut centers = self.slices[axis].clone();
        if let (Some(covariance), Some(first)) = (&self.covariance, centers.first_mut()) {
            first.1 = first.1.max(covariance[(axis, axis)].sqrt());
        }
        centers.extend(self.others.iter().map(|mode| (mode.at[axis], mode.scales[axis])));
        centers
    }
}

/// Climbs the log-density along one variable after the other; then looks for other peaks.
///
/// Along a line they are sought over all orders of magnitude, at all distances from the highest ones, around the noise's
/// centers, and at the numbers that occur in the model: its parameters and constants, with both signs. In several
/// dimensions, by climbing from such places. A needle to which none of them points is missed.
pub(super) fn locate(model: &Model, parameters: &[f64], landmarks: &[Landmarks]) -> Result<Location> {
    let domains = model.space().domains();
    let slope = Slice::new(model, parameters);
    let mut peak: Vec<f64> = domains.iter().zip(landmarks).map(|(d, l)| start(d, l)).collect();
    let mut slices = vec![Vec::new(); peak.len()];
    let sweeps = if peak.len() == 1 { 1 } else { 12 };
    for _ in 0..sweeps {
        let mut moved = 0.0f64;
        for axis in 0..peak.len() {
            let found = slope.along(axis, &peak, &domains[axis], &landmarks[axis])?;
            if let Some((best, scale)) = found.first().copied() {
                moved = moved.max((best - peak[axis]).abs() / scale);
                peak[axis] = best;
            }
            slices[axis] = found;
        }
        if moved < 1e-3 {
            break;
        }
    }
    let scales: Vec<f64> = slices.iter().map(|s| s.first().map_or(1.0, |c| c.1)).collect();
    let covariance = if peak.len() > 1 { slope.covariance(&peak, &scales)? } else { None };
    let mut location = Location { peak, slices, covariance, others: Vec::new() };
    if domains.len() > 1 && !domains.iter().any(Domain::is_discrete) {
        location.others = other_modes(&slope, &location, &scales, landmarks)?;
    }
    Ok(location)
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
    Ok(std::iter::once(location.peak).chain(location.others.into_iter().map(|mode| mode.at)).collect())
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

/// A model at parameter values, looked at place by place.
pub(super) struct Slice<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    /// Coordinates to look at.
    pub(super) places: Vec<f64>,
}

impl<'a> Slice<'a> {
    /// With the numbers that occur in the model as places to look at.
    pub(super) fn new(model: &'a Model, parameters: &'a [f64]) -> Self {
        Self { model, parameters, places: numbers_in(model, parameters) }
    }

    /// Peaks along one variable, the others held.
    fn along(&self, axis: usize, at: &[f64], domain: &Domain, hints: &Landmarks) -> Result<Vec<(f64, f64)>> {
        if let Domain::States(states) = domain {
            let values = self.values(axis, at, states)?;
            let best = (0..states.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best });
            return Ok(vec![(states[best], 1.0)]);
        }
        let failure = std::cell::RefCell::new(None);
        let look = |x: &[f64], out: &mut [f64]| {
            let grid: Vec<f64> = match domain {
                Domain::Counts => x.iter().map(|v| v.max(0.0).round()).collect(),
                _ => x.to_vec(),
            };
            match self.values(axis, at, &grid) {
                Ok(values) => out.copy_from_slice(&values),
                Err(error) => *failure.borrow_mut() = Some(error),
            }
        };
        let (lower, upper) = domain.bounds();
        let mut found = Vec::new();
        let coarse = Lookout { hints: &hints.centers, places: &self.places, fine: false };
        if matches!(domain, Domain::Positive | Domain::Interval(..)) {
            // A density may be highest at the very end of its domain, as x^{-0.2} e^{-x} is at zero, and have next to
            // no mass there. Times the distance to the end, it is highest where the mass is.
            let mass = |x: &[f64], out: &mut [f64]| {
                look(x, out);
                out.iter_mut().zip(x).for_each(|(o, x)| *o += (x - lower).min(upper - x).ln());
            };
            found = peaks(lower, upper, coarse, &mass);
        }
        let fine = at.len() == 1 && *domain != Domain::Counts;
        found.extend(peaks(lower, upper, Lookout { fine, ..coarse }, &look));
        failure.into_inner().map_or(Ok(found), Err)
    }

    fn values(&self, axis: usize, at: &[f64], along: &[f64]) -> Result<Vec<f64>> {
        let rows = along.len();
        let mut points = Vec::with_capacity(rows * at.len());
        for (j, x) in at.iter().enumerate() {
            if j == axis {
                points.extend_from_slice(along);
            } else {
                points.resize(points.len() + rows, *x);
            }
        }
        self.energy(&points, rows)
    }

    /// The log-density at column-major points.
    pub(super) fn energy(&self, points: &[f64], rows: usize) -> Result<Vec<f64>> {
        let mut out = vec![0.0; rows];
        self.model.evaluate(
            self.parameters,
            View::new(self.model.space().dimension(), rows, points),
            &mut out,
            None,
        )?;
        Ok(out)
    }

    /// The inverse of the negative Hessian by differences over steps as wide as the peak itself.
    fn covariance(&self, peak: &[f64], scales: &[f64]) -> Result<Option<DMatrix<f64>>> {
        let size = peak.len();
        let shifted = |moves: &[(usize, f64)]| -> Result<f64> {
            let mut x = peak.to_vec();
            moves.iter().for_each(|(j, sign)| x[*j] += sign * 0.5 * scales[*j]);
            Ok(self.energy(&x, 1)?[0])
        };
        let center = shifted(&[])?;
        let mut curvature = DMatrix::zeros(size, size);
        for a in 0..size {
            curvature[(a, a)] = 2.0 * center - shifted(&[(a, 1.0)])? - shifted(&[(a, -1.0)])?;
            for b in 0..a {
                let same = shifted(&[(a, 1.0), (b, 1.0)])? + shifted(&[(a, -1.0), (b, -1.0)])?;
                let opposite = shifted(&[(a, 1.0), (b, -1.0)])? + shifted(&[(a, -1.0), (b, 1.0)])?;
                curvature[(a, b)] = -(same - opposite) / 4.0;
                curvature[(b, a)] = curvature[(a, b)];
            }
        }
        let inverse = curvature.cholesky().map(|c| c.inverse());
        Ok(inverse.map(|m| DMatrix::from_fn(size, size, |a, b| 0.25 * m[(a, b)] * scales[a] * scales[b])))
    }
}

/// The direction of the highest density on the sphere, and how far (as 1 − cos) the density has fallen by e^{-1/2}.
pub(super) fn locate_on_sphere(model: &Model, parameters: &[f64]) -> Result<(Vec<f64>, f64)> {
    let slope = Slice { model, parameters, places: Vec::new() };
    let size = model.space().dimension();
    let mut best = (vec![1.0; size], f64::NEG_INFINITY);
    let mut reach = 1.0f64;
    for round in 0..60 {
        let candidates = directions(&best.0, reach, round == 0);
        let rows = candidates.len() / size;
        let values = slope.energy(&candidates, rows)?;
        let top = (0..rows).fold(0, |top, i| if values[i] > values[top] { i } else { top });
        if values[top] > best.1 {
            best = ((0..size).map(|j| candidates[j * rows + top]).collect(), values[top]);
        } else {
            reach *= 0.5;
        }
    }
    if best.1 == f64::NEG_INFINITY {
        return Err(Error::NoMass);
    }
    Ok((best.0.clone(), sphere_spread(&slope, &best.0, best.1)?))
}

/// Unit vectors: along all signed axes and diagonals at first, then small steps from the best one.
fn directions(from: &[f64], reach: f64, first: bool) -> Vec<f64> {
    let size = from.len();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for a in 0..size {
        for b in 0..=a {
            for (sa, sb) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                let mut v = if first { vec![0.0; size] } else { from.to_vec() };
                v[a] += sa * reach;
                v[b] += sb * reach;
                let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
                if norm > 1e-9 {
                    rows.push(v.iter().map(|x| x / norm).collect());
                }
            }
        }
    }
    (0..size).flat_map(|j| rows.iter().map(move |r| r[j])).collect()
}

fn sphere_spread(slope: &Slice<'_>, peak: &[f64], height: f64) -> Result<f64> {
    let frame = super::quadrature_chart::frame_with_pole(peak);
    let mut spread = 2.0;
    for _ in 0..60 {
        let radius = f64::sqrt(spread * (2.0 - spread));
        let at: Vec<f64> =
            (0..peak.len()).map(|j| radius * frame[(j, 0)] + (1.0 - spread) * peak[j]).collect();
        if slope.energy(&at, 1)?[0] >= height - 0.5 {
            break;
        }
        spread *= 0.5;
    }
    Ok(spread)
}
