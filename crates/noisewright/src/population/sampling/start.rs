//! Where to start: the modes of a function in sampling coordinates, and a proposal around each.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::update_inverse;
use noisewright_numerics::quadrature::{Lookout, peaks};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::coordinates::Coordinates;
use super::elliptical::{Elliptical, Reach};
use super::landscape::{Height, Landscape};
use super::marginal::{CountHistogram, Marginal};
use super::proposal::Component;
use crate::run::Purpose;
use crate::{Domain, Error, Result};

/// Searches from random places, and most modes that are kept, where every variable is counted.
const COUNTED: (usize, usize) = (256, 64);

/// The same where some variables are continuous.
const CONTINUOUS: (usize, usize) = (24, 16);

/// Sweeps over the counted variables after which a search ends.
const MOST_SWEEPS: usize = 60;

/// Modes lower than the highest by more than this many nats, curvature counted, are left out.
const DEPTH: f64 = 12.0;

/// How far from the first mode other searches start, in its widths.
const REACHES: [f64; 4] = [1.0, 4.0, 16.0, 64.0];

/// A local maximum with the covariance that the curvature of the continuous coordinates suggests.
pub(super) struct Mode {
    at: Vec<f64>,
    height: f64,
    /// The scale of every coordinate along its slice through the mode.
    scales: Vec<f64>,
    elliptical: Option<Elliptical>,
}

/// A function of the landscape that is climbed.
pub(super) struct Climb<'a> {
    landscape: Landscape<'a>,
    coordinates: Coordinates<'a>,
    which: Height,
    log_z: f64,
}

impl<'a> Climb<'a> {
    pub(super) fn new(landscape: Landscape<'a>, which: Height, log_z: f64) -> Self {
        Self { landscape, coordinates: landscape.coordinates(), which, log_z }
    }

    fn values(&self, z: &[f64], rows: usize) -> Result<Vec<f64>> {
        self.landscape.in_coordinates(self.which, z, rows, self.log_z)
    }

    /// The modes that a full search from the origin and quick ones from random places lead to, highest first.
    pub(super) fn modes(&self, start: Option<&[f64]>, seed: u64) -> Result<Vec<Mode>> {
        let mut at = start.map_or_else(|| self.origin(), <[f64]>::to_vec);
        let mut scales = vec![1.0; at.len()];
        self.sweep(&mut at, &mut scales)?;
        let mut found = Vec::new();
        let first = self.finish(at.clone(), &scales)?;
        let center = first.as_ref().map_or(at, |mode| mode.at.clone());
        let scales = first.as_ref().map_or(scales, |mode| mode.scales.clone());
        found.extend(first);
        let mut random = Purpose::PopulationModes.stream(seed, 0);
        let (trials, most) = if self.coordinates.continuous().is_empty() { COUNTED } else { CONTINUOUS };
        for trial in 0..trials {
            let reach = REACHES[trial % REACHES.len()];
            let from = self.scattered(&center, &scales, reach, &mut random);
            self.visit(from, &scales, &mut found)?;
        }
        // Densities are often symmetric, and then half of the modes are the mirror images of the others.
        for known in 0..found.len() {
            let mirrored = self.mirrored(&found[known].at);
            self.visit(mirrored, &scales, &mut found)?;
        }
        found.sort_by(|a, b| b.mass().total_cmp(&a.mass()));
        let top = found.first().ok_or(Error::NoMass)?.mass();
        found.retain(|mode| mode.mass() >= top - DEPTH);
        found.truncate(most);
        Ok(found)
    }

    /// Climbs from a place and adds the mode that it leads to, if that is new.
    fn visit(&self, from: Vec<f64>, scales: &[f64], found: &mut Vec<Mode>) -> Result<()> {
        let mode = self.finish(from, scales)?;
        let new = mode.filter(|mode| !found.iter().any(|known| known.is(mode)));
        found.extend(new);
        Ok(())
    }

    /// The other side of the origin, with the states in reverse.
    fn mirrored(&self, at: &[f64]) -> Vec<f64> {
        (0..at.len())
            .map(|axis| match self.coordinates.domain(axis) {
                Domain::States(states) => {
                    let index = states.iter().position(|s| *s == at[axis]).unwrap_or(0);
                    states[states.len() - 1 - index]
                }
                Domain::Counts => at[axis],
                _ => -at[axis],
            })
            .collect()
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

    fn scattered(
        &self,
        center: &[f64],
        scales: &[f64],
        reach: f64,
        random: &mut noisewright_numerics::random::Stream,
    ) -> Vec<f64> {
        (0..center.len())
            .map(|axis| {
                let step: f64 = StandardNormal.sample(random);
                let moved = center[axis] + reach * scales[axis] * step;
                match self.coordinates.domain(axis) {
                    Domain::States(states) => states[random.random_range(0..states.len())],
                    Domain::Counts => moved.max(0.0).round(),
                    _ => moved,
                }
            })
            .collect()
    }

    /// Climbs along every coordinate in turn, seeing peaks at any distance.
    fn sweep(&self, at: &mut [f64], scales: &mut [f64]) -> Result<()> {
        for _ in 0..4 {
            let mut moved = 0.0f64;
            for axis in 0..at.len() {
                let (best, scale) = self.best_along(axis, at)?.unwrap_or((at[axis], scales[axis]));
                moved = moved.max((best - at[axis]).abs() / scale);
                (at[axis], scales[axis]) = (best, scale);
            }
            if moved < 0.1 {
                break;
            }
        }
        Ok(())
    }

    fn best_along(&self, axis: usize, at: &[f64]) -> Result<Option<(f64, f64)>> {
        if let Domain::States(states) = self.coordinates.domain(axis) {
            let values = self.along(axis, at, states)?;
            let best = (0..states.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best });
            return Ok((values[best] > f64::NEG_INFINITY).then_some((states[best], 1.0)));
        }
        let counts = *self.coordinates.domain(axis) == Domain::Counts;
        let failure = std::cell::RefCell::new(None);
        let look = |z: &[f64], out: &mut [f64]| {
            let grid: Vec<f64> =
                if counts { z.iter().map(|v| v.max(0.0).round()).collect() } else { z.to_vec() };
            match self.along(axis, at, &grid) {
                Ok(values) => out.copy_from_slice(&values),
                Err(error) => *failure.borrow_mut() = Some(error),
            }
        };
        let lower = if counts { -0.5 } else { f64::NEG_INFINITY };
        let hints = [(at[axis], 1.0)];
        let lookout = Lookout { hints: &hints, ..Lookout::default() };
        let found = peaks(lower, f64::INFINITY, lookout, &look).first().copied();
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        Ok(found.map(|(z, scale)| if counts { (z.max(0.0).round(), scale.max(0.7)) } else { (z, scale) }))
    }

    /// The function at several values of one coordinate, the others held.
    fn along(&self, axis: usize, at: &[f64], values: &[f64]) -> Result<Vec<f64>> {
        let rows = values.len();
        let mut z = Vec::with_capacity(rows * at.len());
        for (j, held) in at.iter().enumerate() {
            if j == axis {
                z.extend_from_slice(values);
            } else {
                z.resize(z.len() + rows, *held);
            }
        }
        self.values(&z, rows)
    }

    /// Climbs to the nearest maximum and looks at the curvature there; `None` where there is no density.
    fn finish(&self, mut at: Vec<f64>, scales: &[f64]) -> Result<Option<Mode>> {
        let continuous = self.coordinates.continuous();
        let counted = self.coordinates.discrete();
        let mut scales = scales.to_vec();
        for _ in 0..MOST_SWEEPS {
            let before = at.clone();
            for &axis in &counted {
                if let Some((best, scale)) = self.best_along(axis, &at)? {
                    (at[axis], scales[axis]) = (best, scale);
                }
            }
            self.ascend(&mut at, &scales, &continuous)?;
            if counted.iter().all(|&axis| at[axis] == before[axis]) {
                break;
            }
        }
        let height = self.values(&at, 1)?[0];
        if !height.is_finite() {
            return Ok(None);
        }
        let elliptical = self.curvature(&at, &mut scales, &continuous, height)?;
        Ok(Some(Mode { at, height, scales, elliptical }))
    }

    /// Quasi-Newton ascent (BFGS) in the continuous coordinates, scaled.
    fn ascend(&self, at: &mut [f64], scales: &[f64], axes: &[usize]) -> Result<()> {
        let size = axes.len();
        let mut inverse = DMatrix::identity(size, size);
        let (mut value, mut slope) = self.slope(at, scales, axes)?;
        let mut reach = 20.0;
        for _ in 0..80 {
            if !(value.is_finite() && slope.iter().all(|s| s.is_finite())) || slope.norm() < 1e-3 {
                return Ok(());
            }
            let mut step = &inverse * &slope;
            if step.dot(&slope) <= 0.0 {
                inverse = DMatrix::identity(size, size);
                step.copy_from(&slope);
            }
            let Some(taken) = self.line(at, scales, axes, &step, value, step.dot(&slope), reach)? else {
                return Ok(());
            };
            reach = if taken.norm() > 0.9 * reach { 4.0 * reach } else { reach };
            axes.iter().enumerate().for_each(|(k, &axis)| at[axis] += scales[axis] * taken[k]);
            let (next, next_slope) = self.slope(at, scales, axes)?;
            let change = &slope - &next_slope;
            update_inverse(&mut inverse, &taken, &change);
            let gain = next - value;
            (value, slope) = (next, next_slope);
            if gain < 1e-6 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The value and the gradient in scaled coordinates by central differences.
    fn slope(&self, at: &[f64], scales: &[f64], axes: &[usize]) -> Result<(f64, DVector<f64>)> {
        const STEP: f64 = 1e-4;
        let moves: Vec<Vec<(usize, f64)>> = std::iter::once(Vec::new())
            .chain(axes.iter().flat_map(|&axis| [STEP, -STEP].map(|s| vec![(axis, s * scales[axis])])))
            .collect();
        let values = self.moved(at, &moves)?;
        let slope =
            DVector::from_fn(axes.len(), |k, _| (values[1 + 2 * k] - values[2 + 2 * k]) / (2.0 * STEP));
        Ok((values[0], slope))
    }

    /// The function after each of several moves.
    fn moved(&self, at: &[f64], moves: &[Vec<(usize, f64)>]) -> Result<Vec<f64>> {
        let rows = moves.len();
        let mut z: Vec<f64> = at.iter().flat_map(|z| std::iter::repeat_n(*z, rows)).collect();
        for (row, steps) in moves.iter().enumerate() {
            steps.iter().for_each(|(axis, step)| z[axis * rows + row] += step);
        }
        self.values(&z, rows)
    }

    /// The longest of a ladder of steps that climbs enough.
    fn line(
        &self,
        at: &[f64],
        scales: &[f64],
        axes: &[usize],
        step: &DVector<f64>,
        value: f64,
        rise: f64,
        reach: f64,
    ) -> Result<Option<DVector<f64>>> {
        // Far steps are cut until some have proved good: the curvature is not known at first.
        let first = (reach / step.norm()).min(1.0);
        let lengths: Vec<f64> = (0..24).map(|i| first * 0.5f64.powi(i)).collect();
        let moves: Vec<Vec<(usize, f64)>> = lengths
            .iter()
            .map(|t| axes.iter().enumerate().map(|(k, &axis)| (axis, t * step[k] * scales[axis])).collect())
            .collect();
        let values = self.moved(at, &moves)?;
        let best = (0..lengths.len()).find(|&i| values[i] >= value + 1e-4 * lengths[i] * rise);
        Ok(best.map(|i| step * lengths[i]))
    }

    /// A normal of the curvature at a mode, over steps as wide as the mode itself.
    fn curvature(
        &self,
        at: &[f64],
        scales: &mut [f64],
        axes: &[usize],
        height: f64,
    ) -> Result<Option<Elliptical>> {
        if axes.is_empty() {
            return Ok(None);
        }
        self.adjust_scales(at, scales, axes, height)?;
        let size = axes.len();
        let mut moves = Vec::new();
        for a in 0..size {
            for b in 0..=a {
                for (sa, sb) in [(0.5, 0.5), (-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5)] {
                    moves.push(vec![(axes[a], sa * scales[axes[a]]), (axes[b], sb * scales[axes[b]])]);
                }
            }
        }
        let values = self.moved(at, &moves)?;
        let mut curvature = DMatrix::zeros(size, size);
        let mut next = values.chunks(4);
        for a in 0..size {
            for b in 0..=a {
                let Some(v) = next.next() else { continue };
                // On the diagonal the two moves add up to a whole scale, or cancel.
                let bend = v[2] + v[3] - v[0] - v[1];
                curvature[(a, b)] = if bend.is_finite() { bend } else { 0.0 };
                curvature[(b, a)] = curvature[(a, b)];
            }
        }
        let covariance = positive_inverse(curvature);
        let scaled =
            DMatrix::from_fn(size, size, |a, b| covariance[(a, b)] * scales[axes[a]] * scales[axes[b]]);
        let location = DVector::from_fn(size, |a, _| at[axes[a]]);
        Ok(Elliptical::new(axes, location, &scaled, Reach::Normal))
    }

    /// Scales at which the function falls by about a half along each coordinate.
    fn adjust_scales(&self, at: &[f64], scales: &mut [f64], axes: &[usize], height: f64) -> Result<()> {
        for &axis in axes {
            let ladder: Vec<f64> = (-20..=20).map(|e| scales[axis] * 2f64.powi(e)).collect();
            let around: Vec<f64> = ladder.iter().flat_map(|s| [at[axis] + s, at[axis] - s]).collect();
            let values = self.along(axis, at, &around)?;
            let fallen = (0..ladder.len()).find(|&i| values[2 * i].min(values[2 * i + 1]) < height - 0.5);
            scales[axis] = ladder[fallen.unwrap_or(20)];
        }
        Ok(())
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

    /// The curvature's normal or, where there is none, one along the axes.
    fn elliptical(&self, mode: &Mode) -> Option<Elliptical> {
        let axes = self.coordinates.continuous();
        if axes.is_empty() {
            return None;
        }
        let diagonal = || {
            let scale = DVector::from_iterator(axes.len(), axes.iter().map(|&a| mode.scales[a].powi(2)));
            let location = DVector::from_iterator(axes.len(), axes.iter().map(|&a| mode.at[a]));
            Elliptical::new(&axes, location, &DMatrix::from_diagonal(&scale), Reach::Normal)
        };
        mode.elliptical.clone().or_else(diagonal)
    }
}

impl Mode {
    pub(super) fn at(&self) -> &[f64] {
        &self.at
    }

    pub(super) fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// The mass that the curvature suggests, in nats up to a constant.
    fn mass(&self) -> f64 {
        let spread = |e: &Elliptical| e.factor().diagonal().iter().map(|l| l.ln()).sum::<f64>();
        self.height + self.elliptical.as_ref().map_or(0.0, spread)
    }

    /// Whether another is the same place, to within a part of its widths.
    fn is(&self, other: &Self) -> bool {
        let steps = self.at.iter().zip(&other.at).zip(&self.scales);
        steps.map(|((a, b), s)| ((a - b) / s).powi(2)).sum::<f64>() < 0.25
    }
}

/// The inverse with eigenvalues made positive: where the function does not fall, it is taken to fall slowly.
fn positive_inverse(matrix: DMatrix<f64>) -> DMatrix<f64> {
    let eigen = matrix.symmetric_eigen();
    let inverted = eigen.eigenvalues.map(|l| 1.0 / l.abs().max(1e-4));
    &eigen.eigenvectors * DMatrix::from_diagonal(&inverted) * eigen.eigenvectors.transpose()
}
