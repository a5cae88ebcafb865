//! Chains that start far apart: a noise that covers where they come to, and a look for modes that a path has missed.

use std::sync::Arc;

use noisewright_numerics::random::Stream;
use rand_distr::{Distribution, StandardNormal};

use super::{PathOptions, PathWarning, Problem, Sample};
use crate::chain::{ChainOptions, Chains, Coordinates, Landscape, Moves, run_checked};
use crate::density::log_densities;
use crate::noise::fit_widened_mixture;
use crate::run::{Context, Purpose};
use crate::{Density, Domain, Error, Mixture, Noise, Points, Result, View, fit_auto};

/// Chains that start apart.
const CHAINS: usize = 16;
/// Steps of each before it has come to where it stays, and draws of each after that a noise is fitted to.
const STEPS: usize = 500;
const DRAWS: usize = 250;
/// How far from the middle they start, in scales, taken in turns.
const REACHES: [f64; 4] = [1.0, 3.0, 10.0, 30.0];
/// The farthest start on the line of a logarithm or a logit.
const FARTHEST: f64 = 10.0;
/// Places that are tried for one start.
const ATTEMPTS: usize = 50;
/// How far below the best chain's mean log-density, beyond a nat for every variable, one is still on its way.
const ON_ITS_WAY: f64 = 30.0;

/// How far above all draws of the path a chain must be to have found a mode between them: a spike, which has mass all the same.
/// Draws of one density do not differ so: in a funnel of ten variables, whose log-density has a deviation of 13.5, one of 16
/// draws is that far above the highest of 2,000 once in 2,000 times.
const FAR_ABOVE: f64 = 10.0;

/// Components of the noise, at most: as many as modes that are usually told apart.
const COMPONENTS: usize = 8;
/// Variables up to which components are told apart by some thousand draws.
const MOST_MIXED: usize = 10;
/// Draws that the noise is fitted to, at most.
const MOST_FITTED: usize = 2500;
/// Share of the part of the noise that covers all modes together, with what lies between and around them.
const WIDE: f64 = 0.3;
/// Rounds in which the components learn what they weigh.
const ROUNDS: usize = 3;
/// Draws of each component in a round.
const ROUND_DRAWS: usize = 1000;

/// A noise for a density of which nothing is known: fitted to chains of it that start far apart and at its modes, so that it
/// covers all that these come to. It has a component where each of them is, and a wide one around all.
///
/// # Errors
/// When no place of positive density is found, the density has no integral, no noise can be fitted, or the context
/// is cancelled.
pub fn fit_noise(density: &dyn Density, moves: Moves, context: &Context) -> Result<Arc<dyn Noise>> {
    density.check_integrable(None, context.cancel_token())?;
    let coordinates = Coordinates::new(density.space());
    let dimension = coordinates.dimension();
    let around = Around { center: vec![0.0; dimension], scale: vec![1.0; dimension] };
    let context = context.fold_in(Purpose::PathNoiseFit);
    let chains = apart(density, &coordinates, &around, moves, DRAWS, &context)?;
    context.check()?;
    let rows = arrived(&chains, dimension);
    // Neighbouring draws say nearly the same.
    let rows: Vec<usize> = rows.iter().copied().step_by(rows.len().div_ceil(MOST_FITTED).max(1)).collect();
    let values = (0..dimension)
        .flat_map(|axis| {
            let column = chains.points.view().column(axis);
            rows.iter().map(move |row| column[*row])
        })
        .collect();
    let points = Points::from_values(density.space().names(), rows.len(), values)?;
    let wide = fit_auto(density.space(), points.view(), None)?;
    let real = density.space().domains().iter().all(|domain| *domain == Domain::Real);
    if !real || density.space().is_sphere() || dimension > MOST_MIXED {
        return Ok(wide);
    }
    // Where components cannot be told apart, one wide noise is what there is.
    let Ok(mut narrow) = fit_widened_mixture(points.view(), COMPONENTS) else { return Ok(wide) };
    for round in 0..ROUNDS {
        context.check()?;
        let mut stream = context.stream(Purpose::PathNoiseFit, round as u64);
        narrow = weighed(density, &narrow, &mut stream)?;
    }
    context.check()?;
    let parts: Vec<(f64, Arc<dyn Noise>)> = vec![(1.0 - WIDE, Arc::new(narrow)), (WIDE, wide)];
    Ok(Arc::new(Mixture::<dyn Noise>::of_shared(parts)?))
}

/// The mixture with weights half way to the shares of the density that its components cover: chains that started apart are
/// shared among the modes by chance. The shares are those of importance sampling (Cappé et al. 2008), by weights cut at √n
/// times their mean.
fn weighed(
    density: &dyn Density,
    mixture: &Mixture<dyn Noise>,
    stream: &mut Stream,
) -> Result<Mixture<dyn Noise>> {
    let (rows, dimension) = (ROUND_DRAWS, mixture.dimension());
    let mut values = vec![0.0; dimension * rows];
    mixture.draw(stream, rows, &mut values);
    let points = View::new(dimension, rows, &values);
    let (mut log_density, mut log_noise) = (vec![0.0; rows], vec![0.0; rows]);
    log_densities(density, points, &mut log_density)?;
    mixture.log_density(points, &mut log_noise);
    let log_weight = |row: usize| log_density[row] - log_noise[row];
    let largest = (0..rows).map(log_weight).fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return Mixture::<dyn Noise>::of_shared(parts_of(mixture, mixture.weights()));
    }
    let mut weights: Vec<f64> = (0..rows).map(|row| (log_weight(row) - largest).exp()).collect();
    let most = weights.iter().sum::<f64>() / (rows as f64).sqrt();
    weights.iter_mut().for_each(|weight| *weight = weight.min(most));
    let total: f64 = weights.iter().sum();
    let mut own = vec![0.0; rows];
    let shares: Vec<f64> = mixture
        .weights()
        .iter()
        .zip(mixture.components())
        .map(|(share, component)| {
            component.log_density(points, &mut own);
            let of = |row: usize| weights[row] * share * (own[row] - log_noise[row]).exp();
            0.5 * share + 0.5 * (0..rows).map(of).sum::<f64>() / total
        })
        .collect();
    Mixture::<dyn Noise>::of_shared(parts_of(mixture, &shares))
}

fn parts_of(mixture: &Mixture<dyn Noise>, weights: &[f64]) -> Vec<(f64, Arc<dyn Noise>)> {
    weights.iter().copied().zip(mixture.components().iter().cloned()).collect()
}

/// The draws of the chains that came to where the density is.
fn arrived(chains: &Chains, dimension: usize) -> Vec<usize> {
    let length = chains.lengths[0];
    let means: Vec<f64> =
        chains.log_density.chunks(length).map(|chain| chain.iter().sum::<f64>() / length as f64).collect();
    let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let there = |row: &usize| means[row / length] > best - ON_ITS_WAY - dimension as f64;
    (0..chains.log_density.len()).filter(there).collect()
}

/// A middle and scales in the coordinates of the chains.
struct Around {
    center: Vec<f64>,
    scale: Vec<f64>,
}

/// Chains that start around a middle, near it and far from it, and at the modes that the density is known to have.
fn apart(
    density: &dyn Density,
    coordinates: &Coordinates,
    around: &Around,
    moves: Moves,
    draws: usize,
    context: &Context,
) -> Result<Chains> {
    let mut stream = context.stream(Purpose::ChainStarts, 0);
    let landscape = Landscape { density, coordinates, cancel: context.cancel_token() };
    let mut starts: Vec<Vec<f64>> = (0..CHAINS)
        .map(|chain| start(landscape, around, REACHES[chain % REACHES.len()], &mut stream))
        .collect::<Result<_>>()?;
    for mode in density.modes()? {
        let y = coordinates.of_point(&mode);
        if landscape.height(&y)?.is_finite() {
            starts.push(y);
        }
    }
    let chains = starts.len();
    let mut x = vec![0.0; coordinates.dimension()];
    let mut values = vec![0.0; chains * x.len()];
    for (row, y) in starts.iter().enumerate() {
        coordinates.variables(y, &mut x);
        x.iter().enumerate().for_each(|(axis, x)| values[axis * chains + row] = *x);
    }
    let start = Some(Points::from_values(density.space().names(), chains, values)?);
    let options = ChainOptions { chains, warm_up: STEPS, draws, moves, start, ..ChainOptions::default() };
    run_checked(density, &options, context)
}

/// A place of positive density, as far from the middle as wanted or, if there is none, nearer.
fn start(landscape: Landscape<'_>, around: &Around, reach: f64, stream: &mut Stream) -> Result<Vec<f64>> {
    let coordinates = landscape.coordinates;
    for attempt in 0..ATTEMPTS {
        let reach = reach * (1.0 - attempt as f64 / ATTEMPTS as f64);
        let mut y = coordinates.somewhere(stream);
        for (axis, y) in y.iter_mut().enumerate().filter(|(axis, _)| coordinates.is_line(*axis)) {
            let z: f64 = StandardNormal.sample(stream);
            let far = around.center[axis] + reach * around.scale[axis] * z;
            *y = if coordinates.is_mapped(axis) { far.clamp(-FARTHEST, FARTHEST) } else { far };
        }
        if landscape.height(&y)?.is_finite() {
            return Ok(y);
        }
    }
    Err(Error::NoMass)
}

/// A place of high density that the last state of a path never came to, as far as chains that start elsewhere find one.
///
/// High is as high as half of the draws are, on the line of every variable; never came to is farther outside the range of the
/// draws, in some variable, than half of that range, or higher than all of them by far.
pub(super) fn elsewhere(
    problem: &Problem<'_>,
    samples: &[Sample],
    options: &PathOptions,
) -> Result<Option<PathWarning>> {
    let coordinates = problem.coordinates;
    let lines: Vec<usize> = (0..coordinates.dimension()).filter(|axis| coordinates.is_line(*axis)).collect();
    let Some(last) = samples.last().filter(|_| !lines.is_empty()) else { return Ok(None) };
    let known = Known::new(coordinates, &last.points, &last.log_density);
    let around = known.around();
    let context = problem.context.fold_in(Purpose::MissedModes);
    let chains = match apart(problem.density, coordinates, &around, options.moves, 1, &context) {
        Ok(chains) => chains,
        // Searches that fail find no other mode; that alone is no reason to refuse the path.
        Err(Error::NoMass) => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = Known::new(coordinates, &chains.points, &chains.log_density);
    let missed = (0..chains.log_density.len()).find(|row| {
        found.heights[*row] > known.highest + FAR_ABOVE
            || found.heights[*row] >= known.typical
                && lines.iter().any(|axis| known.is_outside(*axis, found.y[*axis][*row]))
    });
    Ok(missed.map(|row| {
        let names = problem.density.space().names().iter().enumerate();
        let point = names.map(|(axis, name)| (name.clone(), chains.points.view().get(row, axis))).collect();
        PathWarning::Elsewhere { point }
    }))
}

/// Draws in the coordinates of the chains.
struct Known {
    /// One column per coordinate.
    y: Vec<Vec<f64>>,
    /// The log-density on the line.
    heights: Vec<f64>,
    /// Its median.
    typical: f64,
    highest: f64,
}

impl Known {
    fn new(coordinates: &Coordinates, points: &Points, log_density: &[f64]) -> Self {
        let mut x = vec![0.0; coordinates.dimension()];
        let mut y = vec![Vec::with_capacity(points.rows()); x.len()];
        let mut heights = Vec::with_capacity(points.rows());
        for (row, value) in log_density.iter().enumerate() {
            points.view().copy_row(row, &mut x);
            let at = coordinates.of_point(&x);
            heights.push(value + coordinates.variables(&at, &mut x));
            y.iter_mut().zip(at).for_each(|(column, value)| column.push(value));
        }
        let mut sorted = heights.clone();
        sorted.sort_by(f64::total_cmp);
        let highest = sorted[sorted.len() - 1];
        Self { y, typical: sorted[sorted.len() / 2], highest, heights }
    }

    fn range(&self, axis: usize) -> (f64, f64) {
        let all = self.y[axis].iter();
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)))
    }

    fn is_outside(&self, axis: usize, y: f64) -> bool {
        let (low, high) = self.range(axis);
        let rim = 0.5 * (high - low);
        y < low - rim || y > high + rim
    }

    /// The middle and half the length of every range.
    fn around(&self) -> Around {
        let ranges: Vec<(f64, f64)> = (0..self.y.len()).map(|axis| self.range(axis)).collect();
        let scale = |(low, high): &(f64, f64)| if high > low { 0.5 * (high - low) } else { 1.0 };
        Around {
            center: ranges.iter().map(|(low, high)| 0.5 * (low + high)).collect(),
            scale: ranges.iter().map(scale).collect(),
        }
    }
}
