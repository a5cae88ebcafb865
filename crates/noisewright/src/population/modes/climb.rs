//! BFGS ascent from many places at once (Nocedal and Wright 2006, §6.1): each round evaluates the surface for all climbers
//! together, and those that come near a known mode are taken out.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::update_inverse;

use super::{Mode, Sight, Surface};
use crate::Result;

/// Most steps of a climb.
const MOST_STEPS: usize = 80;
/// Sweeps over the counted coordinates after which a climb ends.
const MOST_SWEEPS: usize = 60;
/// A step that promises or gains fewer nats ends a climb: the place is then known to a thousandth of a width.
const LEAST_GAIN: f64 = 1e-6;
/// Step of the central differences, in scales: the cube root of rounding, where truncation and rounding balance, and more for
/// formulas that round.
const STEP: f64 = 1e-4;
/// Longest first step, in scales: the curvature is not known at first.
const FIRST_REACH: f64 = 20.0;
/// Least scale of a climber, as a share of its distance from the first mode: a narrow peak shows in the slope only within a share
/// of its distance from the wide one, and the width of a wide one is of the order of its distance.
const FAR_SCALE: f64 = 0.02;
/// Steps of a line search, each a quarter of the one before.
const LADDER: i32 = 12;
/// Share of the promised rise that is enough (Nocedal and Wright 2006, §3.1).
const ARMIJO: f64 = 1e-4;
/// Squared distance in scales within which a climber is that of a known mode.
const KNOWN_CLIMBER: f64 = 1.0;
/// The same for the end of a climb.
const KNOWN_END: f64 = 0.25;
/// Least curvature of a mode in units of its own scales, where a normal density has one; the first may be flat.
const LEAST_CURVATURE: f64 = 1e-4;

/// A search and what it has found.
pub(super) struct Climb<'a> {
    surface: &'a dyn Surface,
    continuous: Vec<usize>,
    counted: Vec<usize>,
    /// The unit of each coordinate.
    scales: Vec<f64>,
    /// Where a climber is in the middle of things.
    middle: Option<Vec<f64>>,
    /// The inverse curvature with which climbs begin, in units of the scales.
    metric: DMatrix<f64>,
    pub(super) found: Vec<Mode>,
}

/// A place on the way up.
struct Climber {
    at: Vec<f64>,
    value: f64,
    slope: DVector<f64>,
    inverse: DMatrix<f64>,
    /// Length of its differences, as a multiple of [`STEP`].
    unit: f64,
    reach: f64,
    ended: bool,
}

impl<'a> Climb<'a> {
    pub(super) fn new(surface: &'a dyn Surface, scales: Vec<f64>) -> Self {
        let continuous = surface.continuous();
        let metric = DMatrix::identity(continuous.len(), continuous.len());
        let counted = surface.counted();
        Self { surface, continuous, counted, scales, middle: None, metric, found: Vec::new() }
    }

    /// Takes its units, and the curvature with which climbs begin, from a mode.
    pub(super) fn start_from(&mut self, mode: &Mode) {
        self.scales.clone_from(&mode.scales);
        self.middle = Some(mode.at.clone());
        if let Some(covariance) = &mode.covariance {
            let scale = |k: usize| mode.scales[self.continuous[k]];
            self.metric = covariance.map_with_location(|a, b, v| v / (scale(a) * scale(b)));
        }
    }

    /// Climbs from places to the nearest maxima and keeps those that are new.
    pub(super) fn visit(&mut self, mut places: Vec<Vec<f64>>) -> Result<()> {
        places.retain(|place| place.iter().all(|x| x.is_finite()));
        for sweep in 1..=MOST_SWEEPS {
            if places.is_empty() {
                break;
            }
            let before = places.clone();
            places.iter_mut().try_for_each(|place| self.sweep_counted(place))?;
            let alike = |a: &[f64], b: &[f64]| self.counted.iter().all(|&axis| a[axis] == b[axis]);
            let settled: Vec<bool> = places.iter().zip(&before).map(|(a, b)| alike(a, b)).collect();
            let climbers = places.drain(..).zip(settled);
            let climbers = climbers.map(|(at, settled)| (self.climber(at), settled || sweep == MOST_SWEEPS));
            let (last, others): (Vec<_>, Vec<_>) = climbers.partition(|c| c.1);
            self.ascend(last.into_iter().map(|c| c.0).collect(), true)?;
            places = self.ascend(others.into_iter().map(|c| c.0).collect(), false)?;
        }
        Ok(())
    }

    /// One climb along every counted coordinate.
    fn sweep_counted(&self, place: &mut [f64]) -> Result<()> {
        for &axis in &self.counted {
            let sight = Sight::default().around(place[axis]);
            if let Some((best, _)) = self.surface.peaks_along(axis, place, &sight)?.first() {
                place[axis] = *best;
            }
        }
        Ok(())
    }

    fn climber(&self, at: Vec<f64>) -> Climber {
        let apart = |middle: &Vec<f64>| {
            let step = |&axis: &usize| ((at[axis] - middle[axis]) / self.scales[axis]).powi(2);
            self.continuous.iter().map(step).sum::<f64>().sqrt()
        };
        let unit = (FAR_SCALE * self.middle.as_ref().map_or(0.0, apart)).max(1.0);
        let slope = DVector::zeros(self.continuous.len());
        let inverse = &self.metric * (unit * unit);
        Climber { at, value: f64::NAN, slope, inverse, unit, reach: FIRST_REACH * unit, ended: false }
    }

    /// BFGS in the continuous coordinates until every climber is at a maximum, or near a known one. Where these are modes
    /// they are kept at once, so that others need not climb them again.
    fn ascend(&mut self, mut climbers: Vec<Climber>, modes: bool) -> Result<Vec<Vec<f64>>> {
        let mut ends = Vec::new();
        self.look(&mut climbers)?;
        for climber in &mut climbers {
            let sound = climber.value.is_finite() && climber.slope.iter().all(|s| s.is_finite());
            climber.ended = !sound || climber.promise() < LEAST_GAIN;
        }
        for _ in 0..MOST_STEPS {
            let (ended, going): (Vec<_>, Vec<_>) = climbers.into_iter().partition(|c| c.ended);
            for climber in ended {
                if modes {
                    self.settle(climber)?;
                } else {
                    ends.push(climber.at);
                }
            }
            climbers = going;
            climbers.retain(|c| !self.found.iter().any(|mode| mode.distance2(&c.at) < KNOWN_CLIMBER));
            if climbers.is_empty() {
                return Ok(ends);
            }
            self.step(&mut climbers)?;
        }
        for climber in climbers {
            if modes {
                self.settle(climber)?;
            } else {
                ends.push(climber.at);
            }
        }
        Ok(ends)
    }

    /// Values and gradients in units of the scales, by central differences.
    fn look(&self, climbers: &mut [Climber]) -> Result<()> {
        let size = self.continuous.len();
        let each = 1 + 2 * size;
        let moves = |c: &Climber| -> Vec<Vec<(usize, f64)>> {
            let both = |&axis: &usize| [STEP, -STEP].map(|s| vec![(axis, s * c.unit * self.scales[axis])]);
            std::iter::once(Vec::new()).chain(self.continuous.iter().flat_map(both)).collect()
        };
        let values = self.moved(climbers.iter().map(|c| (c.at.as_slice(), moves(c))))?;
        for (climber, values) in climbers.iter_mut().zip(values.chunks(each)) {
            climber.value = values[0];
            let span = 2.0 * STEP * climber.unit;
            climber.slope = DVector::from_fn(size, |k, _| (values[1 + 2 * k] - values[2 + 2 * k]) / span);
        }
        Ok(())
    }

    /// The surface after each of several moves from each of several places.
    fn moved<'p>(
        &self,
        places: impl Iterator<Item = (&'p [f64], Vec<Vec<(usize, f64)>>)>,
    ) -> Result<Vec<f64>> {
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for (at, moves) in places {
            rows.extend(moves.into_iter().map(|steps| {
                let mut row = at.to_vec();
                steps.iter().for_each(|(axis, step)| row[*axis] += step);
                row
            }));
        }
        let columns = crate::integrability::by_columns(&rows, self.scales.len());
        self.surface.values(&columns, rows.len())
    }

    /// One step of every climber: the whole one, or the longest of a ladder of shorter ones that rises enough.
    fn step(&self, climbers: &mut [Climber]) -> Result<()> {
        let steps: Vec<DVector<f64>> = climbers.iter_mut().map(Climber::step).collect();
        let rises = |i: usize, share: f64, value: f64| {
            value >= climbers[i].value + ARMIJO * share * steps[i].dot(&climbers[i].slope)
        };
        let all: Vec<usize> = (0..climbers.len()).collect();
        let mut shares: Vec<Option<f64>> = vec![None; climbers.len()];
        for (i, value) in all.iter().zip(self.along(climbers, &steps, &all, &[1.0])?) {
            shares[*i] = rises(*i, 1.0, value).then_some(1.0);
        }
        let short: Vec<usize> = all.into_iter().filter(|i| shares[*i].is_none()).collect();
        let ladder: Vec<f64> = (1..LADDER).map(|k| 0.25f64.powi(k)).collect();
        let values = self.along(climbers, &steps, &short, &ladder)?;
        for (i, values) in short.iter().zip(values.chunks(ladder.len())) {
            let good = ladder.iter().zip(values).find(|(share, value)| rises(*i, **share, **value));
            shares[*i] = good.map(|(share, _)| *share);
        }
        let before: Vec<(f64, DVector<f64>)> = climbers.iter().map(|c| (c.value, c.slope.clone())).collect();
        let taken: Vec<Option<DVector<f64>>> =
            shares.iter().zip(&steps).map(|(share, step)| share.map(|share| step * share)).collect();
        for (climber, taken) in climbers.iter_mut().zip(&taken) {
            let Some(taken) = taken else { continue };
            climber.reach *= if taken.norm() > 0.9 * climber.reach { 4.0 } else { 1.0 };
            let moved = self.continuous.iter().zip(taken.iter());
            moved.for_each(|(&axis, t)| climber.at[axis] += self.scales[axis] * t);
        }
        self.look(climbers)?;
        for ((climber, (value, slope)), taken) in climbers.iter_mut().zip(before).zip(&taken) {
            climber.learn(value, &slope, taken.as_ref());
        }
        Ok(())
    }

    /// The surface after shares of the steps of some climbers.
    fn along(
        &self,
        climbers: &[Climber],
        steps: &[DVector<f64>],
        which: &[usize],
        shares: &[f64],
    ) -> Result<Vec<f64>> {
        let moves = |i: usize| -> Vec<Vec<(usize, f64)>> {
            let part = |share: &f64| {
                let scaled = |(k, &axis): (usize, &usize)| (axis, share * steps[i][k] * self.scales[axis]);
                self.continuous.iter().enumerate().map(scaled).collect()
            };
            shares.iter().map(part).collect()
        };
        self.moved(which.iter().map(|&i| (climbers[i].at.as_slice(), moves(i))))
    }

    /// Keeps the end of a climb as a mode, if it is new and the surface falls from it on all sides; the first is kept
    /// wherever there is a density.
    fn settle(&mut self, climber: Climber) -> Result<()> {
        let Climber { at, value: height, .. } = climber;
        if !height.is_finite() || self.found.iter().any(|mode| mode.distance2(&at) < KNOWN_END) {
            return Ok(());
        }
        let mut scales = self.scales.clone();
        self.adjust_scales(&at, &mut scales, height)?;
        if self.continuous.is_empty() {
            self.found.push(Mode { at, height, scales, covariance: None, log_volume: 0.0 });
            return Ok(());
        }
        let eigen = self.curvature(&at, &scales)?.symmetric_eigen();
        let flat = eigen.eigenvalues.iter().any(|l| *l < LEAST_CURVATURE);
        if flat && !self.found.is_empty() {
            return Ok(());
        }
        // Where the surface does not fall, it is taken to fall slowly.
        let inverse = eigen.eigenvalues.map(|l| 1.0 / l.abs().max(LEAST_CURVATURE));
        let scale = |k: usize| scales[self.continuous[k]];
        let log_scales: f64 = (0..inverse.len()).map(|k| scale(k).ln()).sum();
        let log_volume = log_scales + 0.5 * inverse.iter().map(|l| l.ln()).sum::<f64>();
        let scaled = &eigen.eigenvectors * DMatrix::from_diagonal(&inverse) * eigen.eigenvectors.transpose();
        let covariance = Some(scaled.map_with_location(|a, b, v| v * scale(a) * scale(b)));
        self.found.push(Mode { at, height, scales, covariance, log_volume });
        Ok(())
    }

    /// Scales at which the surface falls by about a half along each coordinate.
    fn adjust_scales(&self, at: &[f64], scales: &mut [f64], height: f64) -> Result<()> {
        for &axis in &self.continuous {
            let ladder: Vec<f64> = (-20..=20).map(|e| scales[axis] * 2f64.powi(e)).collect();
            let around: Vec<f64> = ladder.iter().flat_map(|s| [at[axis] + s, at[axis] - s]).collect();
            let values = self.surface.along(axis, at, &around)?;
            let fallen = (0..ladder.len()).find(|&i| values[2 * i].min(values[2 * i + 1]) < height - 0.5);
            scales[axis] = ladder[fallen.unwrap_or(20)];
        }
        for &axis in &self.counted {
            let found = self.surface.peaks_along(axis, at, &Sight::default().around(at[axis]))?;
            scales[axis] = found.first().map_or(scales[axis], |peak| peak.1);
        }
        Ok(())
    }

    /// The negative Hessian in units of the scales, by differences over steps as wide as the mode itself.
    fn curvature(&self, at: &[f64], scales: &[f64]) -> Result<DMatrix<f64>> {
        let axes = &self.continuous;
        let mut moves = Vec::new();
        for (a, &first) in axes.iter().enumerate() {
            for &second in &axes[..=a] {
                for (sa, sb) in [(0.5, 0.5), (-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5)] {
                    moves.push(vec![(first, sa * scales[first]), (second, sb * scales[second])]);
                }
            }
        }
        let values = self.moved(std::iter::once((at, moves)))?;
        let bend = |a: usize, b: usize| {
            let v = &values[4 * (a * (a + 1) / 2 + b)..];
            // On the diagonal the two moves add up to a whole scale, or cancel.
            let bend = v[2] + v[3] - v[0] - v[1];
            if bend.is_finite() { bend } else { 0.0 }
        };
        Ok(DMatrix::from_fn(axes.len(), axes.len(), |a, b| bend(a.max(b), a.min(b))))
    }
}

impl Climber {
    /// What a whole step is expected to gain, twice.
    fn promise(&self) -> f64 {
        self.slope.dot(&(&self.inverse * &self.slope))
    }

    /// The quasi-Newton step within reach, or the gradient where the curvature misleads.
    fn step(&mut self) -> DVector<f64> {
        let mut step = &self.inverse * &self.slope;
        if step.dot(&self.slope) <= 0.0 {
            self.inverse.fill_with_identity();
            step.copy_from(&self.slope);
        }
        let length = step.norm();
        step * (self.reach / length).min(1.0)
    }

    /// Corrects the inverse curvature after a step, and ends where there was none or nothing more is gained.
    fn learn(&mut self, value: f64, slope: &DVector<f64>, taken: Option<&DVector<f64>>) {
        let sound = self.value.is_finite() && self.slope.iter().all(|s| s.is_finite());
        let Some(taken) = taken.filter(|_| sound) else {
            self.ended = true;
            return;
        };
        update_inverse(&mut self.inverse, taken, &(slope - &self.slope));
        self.ended = self.value - value < LEAST_GAIN || self.promise() < LEAST_GAIN;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Search, find_modes};
    use super::*;
    use crate::Domain;

    /// Four normal peaks of different widths, the narrow ones of a hundredth of the wide one's.
    struct Peaks;

    const PEAKS: [([f64; 2], f64); 4] =
        [([0.0, 0.0], 1.0), ([9.0, -7.0], 1.0), ([-20.0, 5.0], 0.01), ([60.0, 60.0], 5.0)];

    impl Surface for Peaks {
        fn domain(&self, _: usize) -> &Domain {
            &Domain::Real
        }

        fn dimension(&self) -> usize {
            2
        }

        fn values(&self, places: &[f64], rows: usize) -> Result<Vec<f64>> {
            let peak = |x: f64, y: f64, (at, width): &([f64; 2], f64)| {
                -0.5 * ((x - at[0]).powi(2) + (y - at[1]).powi(2)) / (width * width) - 2.0 * width.ln()
            };
            let value = |i: usize| {
                let terms = PEAKS.map(|p| peak(places[i], places[rows + i], &p));
                noisewright_numerics::summation::log_sum_exp(&terms)
            };
            Ok((0..rows).map(value).collect())
        }
    }

    #[test]
    fn modes_of_all_widths_are_found_with_their_covariances() {
        let search = Search {
            start: vec![1.0, 1.0],
            places: vec![vec![-20.0, 5.0]],
            scattered: 540,
            depth: 40.0,
            most: 8,
            ..Search::default()
        };
        let found = find_modes(&Peaks, &search).unwrap();
        assert_eq!(found.len(), 4, "{found:?}");
        for (at, width) in PEAKS {
            let mode = found.iter().find(|m| m.distance2(&at) < 1e-4).unwrap();
            let covariance = mode.covariance.as_ref().unwrap();
            let expected = DMatrix::identity(2, 2) * (width * width);
            assert!((covariance - &expected).norm() < 1e-3 * expected.norm(), "{mode:?}");
            // All peaks have the same mass.
            assert!((mode.mass() - found[0].mass()).abs() < 1e-3, "{mode:?}");
        }
    }
}
