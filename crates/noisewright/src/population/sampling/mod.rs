//! Populations by importance sampling, where a space has too many dimensions or states for anything else.
//!
//! A mixture of components of known density is adapted to the model's density p_d and, under a contrast, to
//! w p_d and v p_d (MATH §3), with the noise itself as one component. The final points come in independent
//! replicates of randomised Halton points, whose spread is the accuracy that is reported.

mod adapt;
mod coordinates;
mod elliptical;
mod landscape;
mod marginal;
mod proposal;
mod replicate_error;
mod start;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright_numerics::parallel::try_map;
use noisewright_numerics::summation::log_sum_exp;
use rand_distr::{Distribution, StandardNormal};

use self::elliptical::Reach;
pub(super) use self::landscape::{Height, Landscape};
use self::proposal::{Component, Proposal, Round};
pub(super) use self::start::Charted;
use super::divergence_integrals::{FUNCTIONS, PairFunctions, PairIntegrals, log_values};
use super::modes::{Mode, locate_on_sphere};
use super::{Accuracy, Contrast, Divergent, Method, Parts, Population, Precision};
use crate::integrability::{Endless, NEAR, PLACES, Probe, by_columns};
use crate::noise::sample_for;
use crate::run::{Context, Purpose, Stage};
use crate::{Domain, Error, Loss, Model, Points, Result, UniformSphere, VonMisesFisher, check_count};

/// The stage of the final draws; those of the adaptation come after it.
const DRAWS: u64 = 0;

/// Independent replicates of the points.
const REPLICATES: usize = 16;

/// Fewest draws of a replicate.
const FEWEST: usize = 64;

/// Share of the draws that come from the noise under a contrast.
const NOISE_SHARE: f64 = 0.25;

/// Fewest effective draws, and their smallest share of all, that mean anything.
const FEWEST_EFFECTIVE: (f64, f64) = (200.0, 1e-3);

/// Largest standard deviation of a replicate's log-mass, of an answer.
const WORST_SPREAD: f64 = 0.2;
/// Largest relative error of an answer.
const WORST_ERROR: f64 = 0.3;

/// A population from draws of an adapted proposal.
pub(super) fn build(
    model: &Model,
    parameters: &[f64],
    contrast: Option<Contrast<'_>>,
    precision: &Precision,
) -> Result<Population> {
    let landscape = Landscape { model, parameters, contrast };
    let others: &[Height] = match contrast.map(|c| c.loss) {
        None => &[],
        // The weights v of this loss are w.
        Some(Loss::Js) => &[Height::Weighted],
        Some(_) => &[Height::Weighted, Height::Variance],
    };
    let Prepared { proposal, divergent } = prepare(landscape, others, precision)?;
    let divergent = divergent.into_iter().flatten().next();
    let mut draws = most_draws(precision);
    let mut sizes = vec![draws];
    // An accuracy that few draws may reach is tried for with few.
    while precision.relative > 1e-4 && draws / 4 >= FEWEST * REPLICATES * 8 {
        draws /= 4;
        sizes.push(draws);
    }
    loop {
        let size = sizes.pop().unwrap_or(draws);
        let population = population(landscape, &proposal, size, &precision.context(), divergent.clone())?;
        if sizes.is_empty() || population.accuracy.relative_error <= precision.relative {
            return Ok(population);
        }
    }
}

/// Draws that no memory would hold are refused: each has its place, weights, densities and score.
fn check_draws(model: &Model, precision: &Precision) -> Result<()> {
    check_count("draws", precision.draws, 2 * model.space().dimension() + model.coordinates().len() + 4)
}

fn most_draws(precision: &Precision) -> usize {
    (precision.draws / REPLICATES).max(FEWEST) * REPLICATES
}

/// What is known before the final draws.
struct Prepared<'a> {
    proposal: Proposal<'a>,
    /// For each function that was asked for beside the density: where it has no integral, if so.
    divergent: Vec<Option<Divergent>>,
}

/// Finds where the mass of the density, and of other functions, is, refuses a density without an integral, and
/// adapts the proposal.
fn prepare<'a>(landscape: Landscape<'a>, others: &[Height], precision: &Precision) -> Result<Prepared<'a>> {
    check_draws(landscape.model, precision)?;
    check_noise(&landscape)?;
    let context = &precision.context();
    let pilot = (most_draws(precision) / 8).clamp(4096, 1 << 15);
    if landscape.model.space().is_sphere() {
        let heights: Vec<Height> = [&[Height::Density], others].concat();
        let start = on_sphere(landscape, context)?;
        let proposal = adapt::adapt(start, landscape, &heights, pilot, context, 1, f64::NAN)?.0;
        return Ok(Prepared { proposal, divergent: vec![None; others.len()] });
    }
    let charted = Charted::new(landscape, Height::Density, 0.0);
    let modes = charted.modes(None)?;
    if let Some(found) = endless(landscape, Height::Density, 0.0, &modes[0], context.seed()) {
        return Err(found.named(landscape.model.space()).error());
    }
    let start = around(landscape, &charted, &modes)?;
    let (proposal, log_z) = adapt::adapt(start, landscape, &[Height::Density], pilot, context, 1, f64::NAN)?;
    match landscape.contrast {
        Some(contrast) => widen(landscape, others, proposal, contrast, &modes[0], log_z, pilot, context),
        None => Ok(Prepared { proposal, divergent: Vec::new() }),
    }
}

/// Extends a proposal for the density to other functions of it and the noise.
fn widen<'a>(
    landscape: Landscape<'a>,
    others: &[Height],
    mut proposal: Proposal<'a>,
    contrast: Contrast<'a>,
    mode: &Mode,
    log_z: f64,
    pilot: usize,
    context: &Context,
) -> Result<Prepared<'a>> {
    let mut heights = vec![Height::Density];
    let mut divergent = Vec::new();
    for &which in others {
        let endless = endless(landscape, which, log_z, mode, context.seed());
        if endless.is_none() {
            heights.push(which);
            let charted = Charted::new(landscape, which, log_z);
            // Where there is no mode, data and noise do not meet; that is said where the moments are used.
            if let Ok(modes) = charted.modes(Some(&mode.at)) {
                proposal = joined(proposal, around(landscape, &charted, &modes)?);
            }
        }
        divergent.push(endless.map(|found| found.divergent(landscape.model.space())));
    }
    proposal.noise = Some((contrast.noise, NOISE_SHARE));
    let proposal = adapt::adapt(proposal, landscape, &heights, pilot, context, 2, log_z)?.0;
    Ok(Prepared { proposal, divergent })
}

fn check_noise(landscape: &Landscape<'_>) -> Result<()> {
    let expected = landscape.model.space().dimension();
    match landscape.contrast.map(|c| c.noise.dimension()) {
        Some(found) if found != expected => {
            Err(Error::Shape { what: "variables of the noise", expected, found })
        }
        _ => Ok(()),
    }
}

/// Where a function of the landscape has no integral, as far as lines and rays around a mode tell.
fn endless(landscape: Landscape<'_>, which: Height, log_z: f64, mode: &Mode, seed: u64) -> Option<Endless> {
    let (space, coordinates) = (landscape.model.space(), landscape.coordinates());
    let mut random = Purpose::PopulationTails { kind: 0 }.stream(seed, 0);
    let place = |_: usize| {
        let mut z = mode.at.to_vec();
        for axis in coordinates.continuous() {
            let step: f64 = StandardNormal.sample(&mut random);
            z[axis] += step * mode.scales[axis];
        }
        coordinates.points(&z, 1)
    };
    let places: Vec<Vec<f64>> = (0..PLACES).map(place).collect();
    // A scale on the line of a logarithm is a share of the variable.
    let scale = |(axis, domain): (usize, &Domain)| match domain {
        Domain::Positive => places[0][axis] * mode.scales[axis].min(1.0),
        _ => mode.scales[axis],
    };
    let scales = space.domains().iter().enumerate().map(scale).collect();
    // What overflows so far out says nothing about the function where it matters.
    let function = |points: &[Vec<f64>]| {
        let x = by_columns(points, space.dimension());
        let values = landscape.at_points(which, &x, points.len(), log_z);
        values.unwrap_or_else(|_| vec![f64::NEG_INFINITY; points.len()])
    };
    let probe = Probe::new(&function, space, places.clone(), scales, NEAR);
    probe.along_axes().or_else(|| probe.outwards())
}

/// Two components around each mode, with normal and with Student tails, and wide ones that guard the rest.
fn around<'a>(landscape: Landscape<'a>, charted: &Charted<'_>, modes: &[Mode]) -> Result<Proposal<'a>> {
    let mut components = Vec::new();
    for mode in modes {
        let component = charted.component(mode)?;
        if let Component::Product { continuous: Some(elliptical), counted } = &component {
            let heavy = Some(elliptical.with_reach(Reach::Student(2)));
            components.push(Component::Product { continuous: heavy, counted: counted.clone() });
        }
        components.push(component);
    }
    let share = 0.8 / components.len() as f64;
    let mut shares = vec![share; components.len()];
    let last = components[components.len() - 1].clone();
    // Without continuous variables the two guards would be the same.
    let reaches: &[Reach] = match &last {
        Component::Product { continuous: Some(_), .. } => &[Reach::Student(1), Reach::Cauchy],
        _ => &[Reach::Student(1)],
    };
    for reach in reaches {
        components.push(guard(landscape, &last, *reach));
        shares.push(0.2 / reaches.len() as f64);
    }
    let guards = reaches.len();
    Ok(Proposal { coordinates: landscape.coordinates(), components, shares, guards, noise: None })
}

/// The component again with heavy tails and all states alike.
fn guard(landscape: Landscape<'_>, component: &Component, reach: Reach) -> Component {
    let Component::Product { continuous, counted } = component else { return component.clone() };
    let counted = counted.iter().map(|(axis, marginal)| match &landscape.model.space().domains()[*axis] {
        Domain::States(states) => (*axis, marginal::Marginal::uniform(states)),
        _ => (*axis, marginal.clone()),
    });
    Component::Product {
        continuous: continuous.as_ref().map(|e| e.with_reach(reach)),
        counted: counted.collect(),
    }
}

/// The components of both, half of the draws each; the first one's guards do for both.
fn joined<'a>(mut first: Proposal<'a>, second: Proposal<'a>) -> Proposal<'a> {
    let at = first.components.len() - first.guards;
    let moving = second.components.len() - second.guards;
    first.components.splice(at..at, second.components.into_iter().take(moving));
    first.shares.splice(at..at, second.shares.into_iter().take(moving));
    let sum: f64 = first.shares.iter().sum();
    first.shares.iter_mut().for_each(|s| *s /= sum);
    first
}

/// Directions around the highest density, its antipode and other high places far from both; and all of them.
fn on_sphere<'a>(landscape: Landscape<'a>, context: &Context) -> Result<Proposal<'a>> {
    const CANDIDATES: usize = 4096;
    let dimension = landscape.model.space().dimension();
    let (pole, spread) = locate_on_sphere(landscape.model, landscape.parameters)?;
    let all = UniformSphere::new(dimension)?;
    let candidates = sample_for(&all, CANDIDATES, context, Purpose::SphereCandidates)?;
    let energy = landscape.energy(candidates.values(), CANDIDATES)?;
    let mut order: Vec<usize> = (0..CANDIDATES).collect();
    order.sort_by(|a, b| energy[*b].total_cmp(&energy[*a]));
    let mut directions = vec![pole.clone(), pole.iter().map(|x| -x).collect()];
    let mut row = vec![0.0; dimension];
    for i in order.into_iter().take(CANDIDATES / 8) {
        candidates.view().copy_row(i, &mut row);
        let near = |known: &Vec<f64>| known.iter().zip(&row).map(|(a, b)| a * b).sum::<f64>() > 0.5;
        if directions.len() < 8 && !directions.iter().any(near) {
            directions.push(row.clone());
        }
    }
    let concentration = 0.5 / spread;
    let mut components: Vec<Component> = directions
        .iter()
        .map(|d| Ok(Component::Directions(VonMisesFisher::new(d, concentration)?)))
        .collect::<Result<_>>()?;
    let shares = vec![1.0 / (components.len() + 1) as f64; components.len() + 1];
    components.push(Component::Sphere(all));
    let noise = landscape.contrast.map(|c| (c.noise, NOISE_SHARE));
    Ok(Proposal { coordinates: landscape.coordinates(), components, shares, guards: 1, noise })
}

/// The final draws, replicate after replicate.
struct Draws {
    /// Column-major points.
    x: Vec<f64>,
    energy: Vec<f64>,
    /// Logarithm of each point's weight in the base measure.
    log_measure: Vec<f64>,
    /// Rows of a replicate.
    each: usize,
}

fn draw(landscape: Landscape<'_>, proposal: &Proposal<'_>, draws: usize, context: &Context) -> Result<Draws> {
    let (each, done) = (draws / REPLICATES, AtomicUsize::new(0));
    let replicate = |r: usize| -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        context.report(Stage::Integration, done.fetch_add(1, Ordering::Relaxed), Some(REPLICATES))?;
        let batch = proposal.draw(each, Round { seed: context.seed(), stage: DRAWS, number: r as u64 });
        let log_noise = landscape.log_noise(&batch.x, each);
        let density = proposal.log_density(&batch, log_noise.as_deref(), each).total;
        let energy = landscape.energy(&batch.x, each)?;
        Ok((batch.x, energy, density.iter().map(|q| -q - (draws as f64).ln()).collect()))
    };
    let parts = try_map(0..REPLICATES, replicate)?;
    let columns = 0..landscape.model.space().dimension();
    Ok(Draws {
        x: columns
            .flat_map(|j| parts.iter().flat_map(move |p| &p.0[j * each..(j + 1) * each]))
            .copied()
            .collect(),
        energy: parts.iter().flat_map(|p| &p.1).copied().collect(),
        log_measure: parts.iter().flat_map(|p| &p.2).copied().collect(),
        each,
    })
}

impl Draws {
    fn log_weights(&self) -> Vec<f64> {
        self.energy.iter().zip(&self.log_measure).map(|(u, m)| u + m).collect()
    }

    /// The most that the draws can be worth: where the weights' tail has shape k > ½, their mean converges as
    /// n^{k−1} only, as if there were n^{2−2k} of them.
    fn most_effective(&self) -> f64 {
        let log_weights = self.log_weights();
        let shape = crate::pareto::shape(&log_weights);
        if shape > crate::tolerance::NO_VARIANCE {
            (log_weights.len() as f64).powf(2.0 - 2.0 * shape)
        } else {
            f64::INFINITY
        }
    }

    /// Independent draws from the density that would be worth as much.
    fn effective(&self) -> f64 {
        adapt::effective(&self.log_weights(), 1.0).min(self.most_effective())
    }

    /// Relative error of the mass; an error where the draws say nothing.
    fn check(&self) -> Result<f64> {
        let log_weights = self.log_weights();
        let log_mass = log_sum_exp(&log_weights);
        if log_mass == f64::NEG_INFINITY {
            return Err(Error::NoMass);
        }
        let draws = log_weights.len();
        let effective = self.effective();
        let parts: Vec<f64> =
            log_weights.chunks(self.each).map(|w| (log_sum_exp(w) - log_mass).exp()).collect();
        // Replicates that all miss what is rare agree too well.
        let error = replicate_error::of_sums(&parts).max(self.most_effective().powf(-0.5));
        let (fewest, share) = FEWEST_EFFECTIVE;
        let sound = effective >= fewest && effective >= share * draws as f64;
        if !(sound && error * (REPLICATES as f64).sqrt() <= WORST_SPREAD) {
            return Err(Error::TooHardToSample { effective, draws });
        }
        Ok(error)
    }
}

fn population(
    landscape: Landscape<'_>,
    proposal: &Proposal<'_>,
    draws: usize,
    context: &Context,
    divergent: Option<Divergent>,
) -> Result<Population> {
    let drawn = draw(landscape, proposal, draws, context)?;
    let mass_error = drawn.check()?;
    let effective = drawn.effective();
    // Where the model has no density there is nothing to sum.
    let kept: Vec<usize> = (0..draws).filter(|&i| drawn.energy[i] > f64::NEG_INFINITY).collect();
    let replicates = replicate_rows(&kept, drawn.each);
    let space = landscape.model.space();
    let values: Vec<f64> = (0..space.dimension())
        .flat_map(|j| kept.iter().map(|i| drawn.x[j * draws + i]).collect::<Vec<_>>())
        .collect();
    let parts = Parts {
        points: Points::from_values(space.names(), kept.len(), values)?,
        log_measure: kept.iter().map(|&i| drawn.log_measure[i]).collect(),
        accuracy: Accuracy { method: Method::Sampling, relative_error: mass_error, points: kept.len() },
        divergent,
        mass_error,
    };
    let mut population = Population::assemble(landscape.model, landscape.parameters, parts)?;
    let contrast = landscape.contrast.filter(|_| population.divergent.is_none());
    let error = replicate_error::relative_error(&population, contrast, &replicates).max(mass_error);
    if error > WORST_ERROR {
        return Err(Error::TooHardToSample { effective, draws });
    }
    population.accuracy.relative_error = error;
    Ok(population)
}

/// The rows of each replicate among those kept.
fn replicate_rows(kept: &[usize], each: usize) -> Vec<Range<usize>> {
    let starts: Vec<usize> = (0..=REPLICATES).map(|r| kept.partition_point(|&i| i < r * each)).collect();
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Integrals of functions of the two densities, as [`integrate_pair`](super::integrate_pair) gives them; the first
/// two are those of `p_d²/p_n` and `p_n²/p_d`, which need not exist.
pub(super) fn integrate_pair(
    model: &Model,
    parameters: &[f64],
    contrast: Contrast<'_>,
    precision: &Precision,
    functions: PairFunctions<'_>,
) -> Result<PairIntegrals> {
    let landscape = Landscape { model, parameters, contrast: Some(contrast) };
    let others = [Height::DataOverNoise, Height::NoiseOverData, Height::Weighted];
    let Prepared { proposal, mut divergent } = prepare(landscape, &others, precision)?;
    let drawn = draw(landscape, &proposal, most_draws(precision), &precision.context())?;
    let mass_error = drawn.check()?;
    let log_z = log_sum_exp(&drawn.log_weights());
    let without = || Error::internal("a contrast without a noise");
    let log_noise = landscape.log_noise(&drawn.x, drawn.energy.len()).ok_or_else(without)?;
    let mut columns = vec![Vec::new(); FUNCTIONS];
    let mut values = [0.0; FUNCTIONS];
    for (i, q) in log_noise.iter().enumerate() {
        log_values(drawn.energy[i] - log_z, *q, functions, &mut values);
        columns.iter_mut().zip(values).for_each(|(column, v)| column.push(v + drawn.log_measure[i]));
    }
    let mut relative_error = mass_error;
    let sums = std::array::from_fn(|k| {
        if divergent.get(k).is_some_and(Option::is_some) && k < 2 {
            return f64::INFINITY;
        }
        let parts: Vec<f64> = columns[k].chunks(drawn.each).map(|part| log_sum_exp(part).exp()).collect();
        let error = replicate_error::of_sums(&parts);
        relative_error = if error.is_finite() { relative_error.max(error) } else { relative_error };
        parts.iter().sum()
    });
    let divergent = std::array::from_fn(|k| if k < 2 { divergent[k].take() } else { None });
    Ok(PairIntegrals { values: sums, divergent, relative_error })
}
