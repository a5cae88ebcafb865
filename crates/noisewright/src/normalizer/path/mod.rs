//! A path of bridges between a noise and a density far from it, sampled by chains and joined by all states at once.

mod missed_modes;
mod parallel_tempering;
mod result;
mod smc_pilot;

pub use missed_modes::fit_noise;
pub use result::{Node, PathEstimate, PathWarning};

use super::Dependence;
use super::states::{self, Origin, Pooled};
use crate::chain::{Coordinates, Density, Landscape, Moves};
use crate::run::{CancelToken, Context, ProgressHook};
use crate::{Error, Noise, Points, Result};
use missed_modes::elsewhere;
use smc_pilot::{Stop, distance, pilot};

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
    /// Steps per draw; 1 by default.
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
        if self.swarm < 50 {
            return Err(Error::range("swarm", "at least 50 points", self.swarm as f64));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::range("confidence", "a number between 0 and 1", self.confidence));
        }
        Ok(())
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

/// log Z of a density that is far from every noise one can sample, by geometric bridges
/// `log f_t = (1 − t) log p_n + t log f`.
///
/// A pilot swarm is led from the noise to the density to learn how far apart bridges may be; the states are then placed so
/// that the errors between neighbours are equal, sampled by Markov chains that start from the swarm and exchange their
/// points with those of neighbouring states, and joined as by [`states::estimate`] with errors that allow for the chains.
///
/// Chains that start elsewhere look for modes that the path never came to; where they find one the error is infinite
/// ([`PathWarning::Elsewhere`]), as it is where the chains contradict each other.
///
/// ```
/// use noisewright::chain::ModelDensity;
/// use noisewright::normalizer::path::{PathOptions, path};
/// use noisewright::{Model, Normal};
/// // A Gaussian thirty deviations away: log Z = ½ ln 2π.
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 30")?;
/// let density = ModelDensity { model: &model, parameters: &[30.0] };
/// let result = path(&Normal::with_variance(0.0, 1.0)?, &density, &PathOptions { draws: 400, ..PathOptions::default() })?;
/// let truth = 0.5 * std::f64::consts::TAU.ln();
/// assert!((result.log_z - truth).abs() < 4.0 * result.se && result.se < 1.0);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When an option cannot be, noise and density differ in their variables, no draw of the noise has a positive density,
/// the density is seen to have no integral, no path leads from one to the other, or the log-density is not a number somewhere.
pub fn path(noise: &dyn Noise, density: &dyn Density, options: &PathOptions) -> Result<PathEstimate> {
    options.check()?;
    let (expected, found) = (density.space().dimension(), noise.dimension());
    if expected != found {
        return Err(Error::Shape { what: "variables of the noise", expected, found });
    }
    let context = Context::new(options.seed, &options.cancel, options.progress.as_ref());
    density.check_integrable(context.cancel_token())?;
    let coordinates = Coordinates::new(density.space());
    let problem = Problem { noise, density, coordinates: &coordinates, context: &context };
    context.conclude(along(&problem, options))
}

/// The pilot, the chains of all states, the look elsewhere, and what they say together.
fn along(problem: &Problem<'_>, options: &PathOptions) -> Result<PathEstimate> {
    let stops = pilot(problem, options.swarm, options.moves)?;
    let places = places(&stops, options)?;
    let samples = parallel_tempering::samples(problem, &stops, &places, options)?;
    let missed = elsewhere(problem, &samples, options)?;
    result::assemble(problem, &places, &samples, missed, options)
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
        None => ((total / options.spacing).ceil() as usize).clamp(1, 1000),
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
