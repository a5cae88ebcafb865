//! Peaks of a density in several dimensions beside its highest one: climbs from many places.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::halton::Halton;

use super::locate::{Location, Slice};
use crate::run::Purpose;
use crate::{Landmarks, Result};

/// Starts in cubes around the highest peak: half the side in units of its widths, and how many.
const CUBES: [(f64, usize); 3] = [(8.0, 96), (30.0, 320), (200.0, 96)];

/// Most starts at combinations of the numbers that occur in the model.
const MOST_COMBINATIONS: usize = 256;

/// Starts around the centers of the noise.
const AROUND_NOISE: usize = 64;

/// Most steps of a climb.
const MOST_STEPS: usize = 40;

/// Most peaks that are kept.
const MOST_MODES: usize = 8;

/// A peak whose mass is below that of the highest one by more than this many nats carries nothing.
const DEPTH: f64 = 40.0;

/// A peak and its width along each variable.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    pub(super) at: Vec<f64>,
    pub(super) scales: Vec<f64>,
}

/// Peaks other than the one that was located.
pub(super) fn other_modes(
    slope: &Slice<'_>,
    location: &Location,
    scales: &[f64],
    landmarks: &[Landmarks],
) -> Result<Vec<Mode>> {
    let size = scales.len();
    let factor = location
        .covariance
        .clone()
        .and_then(|covariance| covariance.cholesky())
        .map_or_else(|| DMatrix::from_diagonal(&DVector::from_column_slice(scales)), |c| c.l());
    let Some(inverse) = factor.clone().try_inverse() else { return Ok(Vec::new()) };
    let hill = Hill { slope, peak: DVector::from_column_slice(&location.peak), factor };
    let of_place = |at: &[f64]| &inverse * (DVector::from_column_slice(at) - &hill.peak);
    let mut climbers: Vec<Climber> = cubes(size).into_iter().map(Climber::new).collect();
    let named = combinations(&slope.places, size).into_iter().chain(around(landmarks));
    climbers.extend(named.map(|at| Climber::new(of_place(&at))));
    hill.climb(climbers)
}

/// Coordinates in cubes around zero.
fn cubes(size: usize) -> Vec<DVector<f64>> {
    let total: usize = CUBES.iter().map(|c| c.1).sum();
    let uniform = halton(size, total);
    let half_sides = CUBES.iter().flat_map(|&(half, count)| std::iter::repeat_n(half, count));
    half_sides.zip(uniform).map(|(half, u)| u.map(|u| half * (2.0 * u - 1.0))).collect()
}

fn halton(size: usize, count: usize) -> Vec<DVector<f64>> {
    let mut points = vec![0.0; size * count];
    Halton::new(size, &mut Purpose::ModeProbe.fixed_stream()).fill(1, count, &mut points);
    (0..count).map(|i| DVector::from_fn(size, |j, _| points[j * count + i])).collect()
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
    let place = |(i, u): (usize, DVector<f64>)| {
        let center = |l: &Landmarks| l.centers[i % components];
        let within = |(l, u): (&Landmarks, &f64)| center(l).0 + 3.0 * center(l).1 * (2.0 * u - 1.0);
        landmarks.iter().zip(u.iter()).map(within).collect()
    };
    halton(landmarks.len(), AROUND_NOISE).into_iter().enumerate().map(place).collect()
}

/// A place on the way up, in the coordinates of the highest peak.
struct Climber {
    z: DVector<f64>,
    /// How far around it looks.
    step: f64,
    /// Height and, where it bends downwards along every axis, the widths there.
    height: f64,
    widths: Option<Vec<f64>>,
}

impl Climber {
    fn new(z: DVector<f64>) -> Self {
        // The slope of a narrow peak begins at a share of its distance from the wide one.
        let step = 0.02 * z.norm().max(1.0);
        Self { z, step, height: f64::NEG_INFINITY, widths: None }
    }
}

/// The log-density in coordinates in which the highest peak is at zero and has unit widths.
struct Hill<'a> {
    slope: &'a Slice<'a>,
    peak: DVector<f64>,
    factor: DMatrix<f64>,
}

impl Hill<'_> {
    fn heights(&self, places: &[DVector<f64>]) -> Result<Vec<f64>> {
        let (rows, size) = (places.len(), self.peak.len());
        let mut points = vec![0.0; rows * size];
        for (i, z) in places.iter().enumerate() {
            let x = &self.peak + &self.factor * z;
            (0..size).for_each(|j| points[j * rows + i] = x[j]);
        }
        self.slope.energy(&points, rows)
    }

    /// The distinct peaks that climbers reach, the heaviest first, without the one at zero.
    fn climb(&self, mut climbers: Vec<Climber>) -> Result<Vec<Mode>> {
        let top = self.heights(&[DVector::zeros(self.peak.len())])?[0];
        let mut found: Vec<(f64, Climber)> = Vec::new();
        for _ in 0..MOST_STEPS {
            // Those that arrived in the last round may have been all.
            if climbers.is_empty() {
                break;
            }
            let places: Vec<DVector<f64>> = climbers.iter().map(|c| c.z.clone()).collect();
            climbers.iter_mut().zip(self.heights(&places)?).for_each(|(c, h)| c.height = h);
            climbers.retain(|c| c.height > f64::NEG_INFINITY && !is_known(c, top, &found));
            if climbers.is_empty() {
                break;
            }
            for arrived in self.step(&mut climbers)? {
                let mass =
                    arrived.height - top + arrived.widths.iter().flatten().map(|w| w.ln()).sum::<f64>();
                if mass > -DEPTH && !is_known(&arrived, top, &found) {
                    found.push((mass, arrived));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(MOST_MODES);
        Ok(found.into_iter().map(|(_, climber)| self.mode(&climber)).collect())
    }

    /// One step of every climber: to the top of the parabolas along the axes, or to the best place around. Those that
    /// have arrived are taken out.
    fn step(&self, climbers: &mut Vec<Climber>) -> Result<Vec<Climber>> {
        let size = self.peak.len();
        let around = |c: &Climber| -> Vec<DVector<f64>> {
            let shifted = |k: usize| {
                let mut z = c.z.clone();
                z[k / 2] += if k.is_multiple_of(2) { c.step } else { -c.step };
                z
            };
            (0..2 * size).map(shifted).collect()
        };
        let neighbours: Vec<DVector<f64>> = climbers.iter().flat_map(around).collect();
        let heights = self.heights(&neighbours)?;
        let views: Vec<Outlook> =
            climbers.iter().zip(heights.chunks(2 * size)).map(|(c, h)| Outlook::new(c, h)).collect();
        let leaps: Vec<DVector<f64>> = climbers.iter().zip(&views).map(|(c, v)| &c.z + &v.leap).collect();
        let reached = self.heights(&leaps)?;
        let (mut arrived, mut going) = (Vec::new(), Vec::new());
        for (i, (mut climber, view)) in climbers.drain(..).zip(views).enumerate() {
            let around =
                (&neighbours[2 * size * i..2 * size * (i + 1)], &heights[2 * size * i..2 * size * (i + 1)]);
            let best = (0..2 * size).fold(0, |best, k| if around.1[k] > around.1[best] { k } else { best });
            if view.gain < 0.05 && view.widths.is_some() && reached[i] <= climber.height + 0.1 {
                arrived.push(Climber { widths: view.widths, ..climber });
                continue;
            }
            if reached[i] > climber.height && reached[i] >= around.1[best] {
                climber.step *= if view.gain < 1.0 { 0.5 } else { 1.0 };
                climber.z = leaps[i].clone();
            } else if around.1[best] > climber.height {
                climber.z = around.0[best].clone();
            } else {
                climber.step *= 0.3;
            }
            going.push(climber);
        }
        *climbers = going;
        Ok(arrived)
    }

    fn mode(&self, climber: &Climber) -> Mode {
        let size = self.peak.len();
        let at = &self.peak + &self.factor * &climber.z;
        let widths = climber.widths.clone().unwrap_or_else(|| vec![1.0; size]);
        let scale =
            |j: usize| (0..size).map(|l| (self.factor[(j, l)] * widths[l]).powi(2)).sum::<f64>().sqrt();
        Mode { at: at.as_slice().to_vec(), scales: (0..size).map(scale).collect() }
    }
}

/// What a climber sees: parabolas along the axes.
struct Outlook {
    /// The way to their top, where they have one within reach.
    leap: DVector<f64>,
    /// How much higher that would be.
    gain: f64,
    widths: Option<Vec<f64>>,
}

impl Outlook {
    fn new(climber: &Climber, heights: &[f64]) -> Self {
        // Parabolas are trusted this many steps.
        const FARTHEST: f64 = 100.0;
        let (size, step) = (climber.z.len(), climber.step);
        let (mut leap, mut gain, mut widths) = (DVector::zeros(size), 0.0, Vec::with_capacity(size));
        for j in 0..size {
            let (up, down) = (heights[2 * j], heights[2 * j + 1]);
            let slope = 0.5 * (up - down) / step;
            let bend = (2.0 * climber.height - up - down) / (step * step);
            let way = if bend > 0.0 { slope / bend } else { FARTHEST * step * slope.signum() };
            if way.is_finite() {
                leap[j] = way.clamp(-FARTHEST * step, FARTHEST * step);
            }
            gain += 0.5 * slope * leap[j];
            if bend > 0.0 {
                widths.push(1.0 / bend.sqrt());
            }
        }
        let widths = Some(widths).filter(|w| w.len() == size);
        Self { leap, gain: if gain.is_nan() { f64::INFINITY } else { gain }, widths }
    }
}

/// Whether a climber is at the highest peak or one that was found.
fn is_known(climber: &Climber, top: f64, found: &[(f64, Climber)]) -> bool {
    let at_top = climber.z.norm() < 1.0 && climber.height > top - 2.0;
    let at = |known: &Climber| {
        let widths = known.widths.as_deref().unwrap_or(&[]);
        let distance: f64 =
            widths.iter().enumerate().map(|(j, w)| ((climber.z[j] - known.z[j]) / w).powi(2)).sum();
        distance < 1.0
    };
    at_top || found.iter().any(|(_, known)| at(known))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Model, Space};

    #[test]
    fn climbers_that_all_arrive_at_once_end_the_climb() {
        let formula = "log(exp(-(x^2 + y^2)/2) + exp(-((x - 9)^2 + (y + 7)^2)/2))";
        let model = Model::from_formula(formula, Space::real(&["x", "y"]).unwrap(), vec![], false).unwrap();
        let slope = Slice::new(&model, &[]);
        let hill = Hill { slope: &slope, peak: DVector::zeros(2), factor: DMatrix::identity(2, 2) };
        let found = hill.climb(vec![Climber::new(DVector::from_column_slice(&[8.9, -6.8]))]).unwrap();
        assert_eq!(found.len(), 1);
        assert!((found[0].at[0] - 9.0).abs() < 0.3 && (found[0].at[1] + 7.0).abs() < 0.3, "{:?}", found[0]);
    }
}
