//! A swarm of points led from the noise to the density: it finds how far apart neighbouring bridges may be.
//!
//! From the swarm at one bridge the next is taken so far off that the weights `e^(Δt·u)`, `u = log f − log p_n`, keep half of
//! the swarm's worth; the swarm is resampled by these weights and moved by chains of the new bridge. So the pilot also
//! leaves, at every bridge, points to start from and moves that suit.

use noisewright_numerics::parallel::try_map;
use noisewright_numerics::random::Stream;
use rand::RngExt;

use super::super::Dependence;
use super::super::states::{self, Origin, Pooled};
use super::Problem;
use crate::chain::{Bridge, Kernel, Landscape, Moves, Walker, check_place};
use crate::density::log_densities;
use crate::noise::sample_for;
use crate::run::{Purpose, Stage};
use crate::{ChainFault, Error, Result, View};

/// Share of the swarm's worth that the weights between neighbours keep.
const KEPT: f64 = 0.5;
/// Points that are moved one after the other, with moves of their own.
const BLOCK: usize = 50;
/// Most bridges of the pilot.
const MOST: usize = 400;

/// The swarm at one bridge.
pub(super) struct Stop {
    pub(super) t: f64,
    /// The points in the coordinates of the chains.
    pub(super) swarm: Vec<Vec<f64>>,
    /// `log f − log p_n` at each of them.
    pub(super) log_ratio: Vec<f64>,
    /// Moves that suit; `None` at the noise, which is sampled directly.
    pub(super) kernel: Option<Kernel>,
}

/// Leads a swarm of `size` points from the noise to the density.
pub(super) fn pilot(problem: &Problem<'_>, size: usize, moves: Moves) -> Result<Vec<Stop>> {
    let mut stops = vec![first(problem, size)?];
    while let Some(last) = stops.last().filter(|stop| stop.t < 1.0) {
        if stops.len() > MOST {
            return Err(Error::Chain(ChainFault::EndlessPath { bridges: MOST, t: last.t }));
        }
        problem.context.report(Stage::Pilot, stops.len(), None)?;
        let t = next(last)?;
        let stop = advance(problem, last, t, moves, stops.len() as u64)?;
        stops.push(stop);
    }
    Ok(stops)
}

/// The swarm at the noise itself.
fn first(problem: &Problem<'_>, size: usize) -> Result<Stop> {
    let points = sample_for(problem.noise, size, problem.context, Purpose::PathNoise)?;
    let mut x = vec![0.0; points.columns()];
    let swarm = (0..size)
        .map(|row| {
            points.view().copy_row(row, &mut x);
            problem.coordinates.of_point(&x)
        })
        .collect();
    let log_ratio = problem.log_ratio(points.view())?;
    if log_ratio.iter().all(|u| *u == f64::NEG_INFINITY) {
        return Err(Error::NoOverlap);
    }
    Ok(Stop { t: 0.0, swarm, log_ratio, kernel: None })
}

/// How far the next bridge may be: the points outside the density are lost at any distance and do not count.
fn next(stop: &Stop) -> Result<f64> {
    let u: Vec<f64> = stop.log_ratio.iter().copied().filter(|u| *u > f64::NEG_INFINITY).collect();
    let left = 1.0 - stop.t;
    if kept(&u, left) >= KEPT {
        return Ok(1.0);
    }
    let (mut low, mut high) = (0.0, left);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if kept(&u, middle) >= KEPT { low = middle } else { high = middle }
    }
    let t = stop.t + low;
    if t > stop.t {
        return Ok(t);
    }
    Err(Error::Chain(ChainFault::NoPath))
}

/// `(Σ w)² / (n Σ w²)` with `w = e^(Δ u)`.
fn kept(u: &[f64], delta: f64) -> f64 {
    let largest = u.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = u.iter().map(|u| (delta * (u - largest)).exp());
    let (sum, squares) = weights.fold((0.0, 0.0), |(s, q), w| (s + w, q + w * w));
    sum * sum / (squares * u.len() as f64)
}

/// Resamples the swarm for the bridge at `t`, the `stage`th, and moves it there.
fn advance(problem: &Problem<'_>, from: &Stop, t: f64, moves: Moves, stage: u64) -> Result<Stop> {
    let mut picks = problem.context.stream(Purpose::PathResampling { stage }, 0);
    let chosen = resample(&from.log_ratio, t - from.t, from.swarm.len(), &mut picks);
    let start: Vec<Vec<f64>> = chosen.iter().map(|i| from.swarm[*i].clone()).collect();
    let bridge = Bridge { noise: problem.noise, density: problem.density, t };
    let landscape = problem.landscape(&bridge);
    let mut kernel = match &from.kernel {
        Some(kernel) => kernel.clone(),
        None => Kernel::new(moves, landscape, &start[0])?,
    };
    kernel.shape(&start);
    kernel.bend(&start);
    let sweeps = sweeps(&kernel, problem.coordinates.dimension());
    let blocks = try_map(start.chunks(BLOCK).enumerate(), |(block, part)| {
        let mut stream = problem.context.stream(Purpose::PathMoves { stage }, block as u64);
        move_block(landscape, kernel.clone(), part, sweeps, &mut stream)
    })?;
    let kernel = blocks.first().map(|(_, kernel)| kernel.clone());
    let swarm: Vec<Vec<f64>> = blocks.into_iter().flat_map(|(part, _)| part).collect();
    swarm.iter().try_for_each(|y| check_place(landscape, y))?;
    let log_ratio = problem.log_ratio_of(&swarm)?;
    Ok(Stop { t, swarm, log_ratio, kernel })
}

/// Steps that forget where a point came from.
fn sweeps(kernel: &Kernel, dimension: usize) -> usize {
    match kernel.moves() {
        Moves::RandomWalk => (30 + 10 * dimension).min(200),
        Moves::Hamiltonian => 5,
        _ => 10,
    }
}

fn move_block(
    landscape: Landscape<'_>,
    mut kernel: Kernel,
    part: &[Vec<f64>],
    sweeps: usize,
    stream: &mut Stream,
) -> Result<(Vec<Vec<f64>>, Kernel)> {
    let mut walkers = Vec::with_capacity(part.len());
    for y in part {
        walkers.push(Walker { y: y.clone(), height: landscape.height(y)? });
    }
    let mut seen = 0;
    for _ in 0..sweeps {
        for walker in &mut walkers {
            seen += 1;
            kernel.step(landscape, walker, stream, f64::from(seen).powf(-0.6))?;
        }
    }
    Ok((walkers.into_iter().map(|walker| walker.y).collect(), kernel))
}

/// Systematic resampling by the weights `e^(Δ u)`.
pub(super) fn resample(log_ratio: &[f64], delta: f64, count: usize, stream: &mut Stream) -> Vec<usize> {
    let largest = log_ratio.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weight = |u: f64| if u == f64::NEG_INFINITY { 0.0 } else { (delta * (u - largest)).exp() };
    let weights: Vec<f64> = log_ratio.iter().map(|u| weight(*u)).collect();
    let each = weights.iter().sum::<f64>() / count as f64;
    let mut due = each * stream.random::<f64>();
    let (mut at, mut passed) = (0, weights[0]);
    let mut chosen = Vec::with_capacity(count);
    for _ in 0..count {
        while passed < due && at + 1 < weights.len() {
            at += 1;
            passed += weights[at];
        }
        chosen.push(at);
        due += each;
    }
    chosen
}

/// The standard error of the log-ratio of two neighbours times the root of the draws of each: how far apart they are.
pub(super) fn distance(from: &Stop, to: &Stop) -> Result<f64> {
    /// Neighbours so far apart that nothing is known count as this far.
    const FARTHEST: f64 = 3.0;
    let at = |t: f64| -> Vec<f64> {
        let all = from.log_ratio.iter().chain(&to.log_ratio);
        // Relative to the noise, whose part is the same for both.
        all.map(|u| if t == 0.0 { 0.0 } else { t * u }).collect()
    };
    let (first, second) = (at(from.t), at(to.t));
    let counts = [from.log_ratio.len(), to.log_ratio.len()];
    let pooled = Pooled { log_f: &[&first, &second], origin: Origin::Counts(&counts), chains: None };
    let options =
        states::StatesOptions { dependence: Dependence::Independent, ..states::StatesOptions::default() };
    let error = states::estimate(&pooled, &options)?.se()[1];
    Ok((error * (counts[0] as f64).sqrt()).min(FARTHEST))
}

impl Problem<'_> {
    /// `log f − log p_n` at points.
    pub(super) fn log_ratio(&self, points: View<'_>) -> Result<Vec<f64>> {
        let mut log_noise = vec![0.0; points.rows()];
        let mut log_density = vec![0.0; points.rows()];
        self.noise.log_density(points, &mut log_noise);
        log_densities(self.density, points, &mut log_density)?;
        Ok(log_density
            .iter()
            .zip(&log_noise)
            .map(|(f, n)| if *n == f64::NEG_INFINITY { *f } else { f - n })
            .collect())
    }

    fn log_ratio_of(&self, swarm: &[Vec<f64>]) -> Result<Vec<f64>> {
        let dimension = self.coordinates.dimension();
        let mut points = vec![0.0; dimension * swarm.len()];
        let mut x = vec![0.0; dimension];
        for (row, y) in swarm.iter().enumerate() {
            self.coordinates.variables(y, &mut x);
            x.iter().enumerate().for_each(|(axis, x)| points[axis * swarm.len() + row] = *x);
        }
        self.log_ratio(View::new(dimension, swarm.len(), &points))
    }
}
