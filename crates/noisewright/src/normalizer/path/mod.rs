//! A path of bridges between a noise and a density far from it, sampled by chains and joined by all states at once.

mod missed_modes;
mod parallel_tempering;
mod result;
mod serial;
mod smc_pilot;

pub use missed_modes::fit_noise;
pub use result::PathEstimate;
pub use result::{Node, PathTracePoint, PathWarning};

use super::Dependence;
use super::states::{self, Origin, Pooled};
use crate::chain::{Coordinates, Landscape, Moves};
use crate::memory::{check_count, check_steps};
use crate::run::{CancelToken, Context, ProgressHook, Purpose};
use crate::{Density, Error, Noise, Points, Result};
use missed_modes::elsewhere;
use smc_pilot::{Stop, distance, pilot};

/// Most states of a path: a thousand steps.
const MOST_STATES: usize = 1001;

/// Points of a swarm that follow a density at all.
const SMALLEST_SWARM: usize = 50;

/// How a path is made.
#[derive(Clone, Debug)]
pub struct PathOptions {
    /// Number of states, both ends included; as many as the distance needs by default.
    pub states: Option<usize>,
    /// Distance of neighbouring states, where their number is not given: the standard error of their log-ratio, times the
    /// root of the draws of each. 1 by default.
    pub spacing: f64,
    /// Draws of every state; 2,000 by default.
    pub draws: usize,
    /// Chains that the draws of every state come from; 4 by default.
    pub chains: usize,
    /// Steps of each chain before its draws are kept; 200 by default.
    pub warm_up: usize,
    /// Steps per draw, at least; 1 by default. Where the warm-up shows a slow density they are up to four times as many.
    pub thin: usize,
    /// Points of the pilot's swarm; 400 by default.
    pub swarm: usize,
    /// Kind of moves; chosen by the density by default.
    pub moves: Moves,
    /// Probability that the interval is to cover log Z; 0.95 by default.
    pub confidence: f64,
    /// Seed of all random draws.
    pub seed: u64,
    /// Cancels the path from another thread.
    pub cancel: CancelToken,
    /// Told of the pilot's bridges and of the draws of the chains.
    pub progress: Option<ProgressHook>,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for PathOptions {
    fn default() -> Self {
        Self {
            states: None,
            spacing: 1.0,
            draws: 2000,
            chains: 4,
            warm_up: 200,
            thin: 1,
            swarm: 400,
            moves: Moves::Auto,
            confidence: 0.95,
            seed: 0,
            cancel: CancelToken::new(),
            progress: None,
            more: crate::More,
        }
    }
}

impl PathOptions {
    fn check(&self) -> Result<()> {
        if self.states.is_some_and(|states| states < 2) {
            return Err(Error::range("states", "at least 2", self.states.unwrap_or(0) as f64));
        }
        if !(self.spacing > 0.0 && self.spacing.is_finite()) {
            return Err(Error::range("spacing", "a positive number", self.spacing));
        }
        if self.chains == 0 {
            return Err(Error::range("chains", "at least 1", 0.0));
        }
        if self.draws / self.chains < 20 {
            return Err(Error::range("draws", "at least 20 for each chain", self.draws as f64));
        }
        if self.thin == 0 {
            return Err(Error::range("thin", "at least 1", 0.0));
        }
        if self.swarm < SMALLEST_SWARM {
            return Err(Error::range("swarm", "at least 50 points", self.swarm as f64));
        }
        self.check_counts()?;
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::range("confidence", "a number between 0 and 1", self.confidence));
        }
        Ok(())
    }
}

impl PathOptions {
    /// Counts that no memory would hold, or no machine would ever finish.
    fn check_counts(&self) -> Result<()> {
        let states = self.states.unwrap_or(MOST_STATES);
        if states > MOST_STATES {
            let reason = format!("must be at most {MOST_STATES}, not {states}");
            return Err(Error::option("states", reason));
        }
        // Every draw is evaluated under every state.
        check_count("draws", self.draws, if self.states.is_some() { states } else { 1 })?;
        check_count("swarm", self.swarm, 4)?;
        check_steps("thin", self.thin, self.draws)?;
        check_steps("warm_up", self.warm_up, self.chains)
    }
}

/// The two ends of a path.
struct Problem<'a> {
    noise: &'a dyn Noise,
    density: &'a dyn Density,
    coordinates: &'a Coordinates,
    context: &'a Context,
}

impl<'a> Problem<'a> {
    /// A bridge, or another density between the ends, as chains see it.
    fn landscape<'b>(&'b self, density: &'b dyn Density) -> Landscape<'b> {
        Landscape { density, coordinates: self.coordinates, cancel: self.context.cancel_token() }
    }
}

/// log Z by geometric bridges from a noise: see [`path`](crate::path()).
pub(crate) fn estimate_path(
    noise: &dyn Noise,
    density: &dyn Density,
    options: &PathOptions,
) -> Result<PathEstimate> {
    options.check()?;
    let (expected, found) = (density.space().dimension(), noise.dimension());
    if expected != found {
        return Err(Error::Shape { what: "variables of the noise", expected, found });
    }
    let context = Context::new(options.seed, &options.cancel, options.progress.as_ref());
    density.check_integrable(None, context.cancel_token())?;
    let coordinates = Coordinates::new(density.space());
    let problem = Problem { noise, density, coordinates: &coordinates, context: &context };
    context.conclude(along(&problem, options))
}

/// The pilot, the chains of all states, the look elsewhere, and what they say together.
fn along(problem: &Problem<'_>, options: &PathOptions) -> Result<PathEstimate> {
    let stops = pilot(problem, options.swarm, options.moves)?;
    let places = places(&stops, options)?;
    // Every draw has its place and, twice, its log-density under every state.
    let each = 2 * (places.len() + problem.coordinates.dimension() + 2);
    check_count("draws of all states", places.len().saturating_mul(options.draws), each)?;
    // A second swarm, led by itself: half of the chains start from it, so that what one swarm has missed is seen.
    let context = problem.context.fold_in(Purpose::SecondPilot);
    let second = Problem { context: &context, ..*problem };
    let again = pilot(&second, (options.swarm / 2).max(SMALLEST_SWARM), options.moves)?;
    let tempered = parallel_tempering::samples(problem, [&stops, &again], &places, options)?;
    let missed = elsewhere(problem, &tempered.samples, options)?;
    result::assemble(problem, &places, &tempered, missed, options)
}

/// Where the states are: even steps of the distance gone so far.
fn places(stops: &[Stop], options: &PathOptions) -> Result<Vec<f64>> {
    let mut gone = vec![0.0];
    for pair in stops.windows(2) {
        gone.push(gone[gone.len() - 1] + distance(&pair[0], &pair[1])?.max(1e-9));
    }
    let total = gone[gone.len() - 1];
    let intervals = match options.states {
        Some(states) => states - 1,
        None => ((total / options.spacing).ceil() as usize).clamp(1, MOST_STATES - 1),
    };
    let at = |wanted: f64| {
        let after = gone.partition_point(|g| *g < wanted).clamp(1, gone.len() - 1);
        let share = (wanted - gone[after - 1]) / (gone[after] - gone[after - 1]);
        let (a, b) = (stops[after - 1].t, stops[after].t);
        // Steps near the noise grow by factors rather than by amounts.
        if a > 0.0 { a * (b / a).powf(share) } else { b * share }
    };
    let mut places: Vec<f64> = (0..=intervals).map(|i| at(total * i as f64 / intervals as f64)).collect();
    places[0] = 0.0;
    places[intervals] = 1.0;
    places.dedup();
    Ok(places)
}

/// The draws of one state.
struct Sample {
    points: Points,
    log_noise: Vec<f64>,
    log_density: Vec<f64>,
    lengths: Vec<usize>,
    acceptance: f64,
    /// Mean probability of an exchange with the state before; `None` at the noise.
    exchange: Option<f64>,
    moves: Option<Moves>,
}
