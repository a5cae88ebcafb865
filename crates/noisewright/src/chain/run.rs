//! Several chains in parallel: warm-up, draws, and what they say of themselves.

use noisewright_numerics::parallel::try_map;
use serde::{Serialize, Serializer};

use super::coordinates::Coordinates;
use super::diagnostics::{Convergence, convergence};
use super::kernel::{Kernel, Landscape, Moves, Walker};
use crate::memory::{check_count, check_steps};
use crate::run::{CancelToken, Context, ProgressHook, Purpose, Stage};
use crate::serial::{Fields, in_words};
use crate::{ChainFault, Density, Error, Points, Result};

/// Places that are tried for a start.
const ATTEMPTS: usize = 200;
/// A coordinate that no chain on a density with an integral comes to.
const ENDLESS: f64 = 1e100;
/// Draws between two reports of progress.
const REPORTED: usize = 64;
/// When, as shares of the warm-up, the moves take the shape of the draws since the last time.
const RESHAPE: [f64; 4] = [0.1, 0.25, 0.5, 0.8];

/// How to run chains.
#[derive(Clone, Debug)]
pub struct ChainOptions {
    /// Number of chains; 4 by default.
    pub chains: usize,
    /// Steps of each chain that are thrown away while it adapts; 1,000 by default.
    pub warm_up: usize,
    /// Draws kept of each chain; 1,000 by default.
    pub draws: usize,
    /// Steps per draw; 1 by default.
    pub thin: usize,
    /// Kind of moves; chosen by the density by default.
    pub moves: Moves,
    /// Points to start at, taken in turns; somewhere at random by default.
    pub start: Option<Points>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Cancels the chains from another thread.
    pub cancel: CancelToken,
    /// Told of the draws of every chain.
    pub progress: Option<ProgressHook>,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            chains: 4,
            warm_up: 1000,
            draws: 1000,
            thin: 1,
            moves: Moves::Auto,
            start: None,
            seed: 0,
            cancel: CancelToken::new(),
            progress: None,
            more: crate::More,
        }
    }
}

impl ChainOptions {
    /// Refuses counts that no memory would hold or that never end, and starts that are no points of the space.
    fn check(&self, dimension: usize) -> Result<()> {
        check_count("chains", self.chains, dimension + 1)?;
        check_count("draws", self.draws, (dimension + 1) * self.chains)?;
        check_count("warm_up", self.warm_up, dimension)?;
        check_steps("thin", self.thin, self.draws * self.chains)?;
        match &self.start {
            Some(start) if start.columns() != dimension => {
                let found = start.columns();
                Err(Error::Shape { what: "columns of the starts", expected: dimension, found })
            }
            Some(start) if start.rows() == 0 => {
                let reason = "must be at least one point; leave it out for a start at random";
                Err(Error::option("start", reason))
            }
            _ => Ok(()),
        }
    }
}

/// Draws of several chains.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Chains {
    /// The draws, chain after chain.
    pub points: Points,
    /// Their log-density, up to the constant.
    pub log_density: Vec<f64>,
    /// Number of draws of each chain.
    pub lengths: Vec<usize>,
    /// Mean probability of acceptance of each chain after its warm-up.
    pub acceptance: Vec<f64>,
    /// The moves that were made.
    pub moves: Moves,
    /// R̂ and effective draws of every variable, and of the log-density at the end.
    pub convergence: Vec<Convergence>,
}

/// The fields of chains.
#[derive(Serialize)]
struct ChainsFields<'a> {
    draws: Fields<&'a str, &'a [f64]>,
    log_density: &'a [f64],
    lengths: &'a [usize],
    acceptance: &'a [f64],
    #[serde(serialize_with = "in_words")]
    moves: Moves,
    convergence: Fields<&'a str, Convergence>,
}

impl Serialize for Chains {
    /// Draws and convergence by the names of the variables; that of the log-density under `log_density`.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let names = || self.points.names().iter().map(String::as_str);
        let of_quantities = names().chain(["log_density"]).zip(self.convergence.iter().copied());
        ChainsFields {
            draws: Fields(
                names().enumerate().map(|(j, name)| (name, self.points.view().column(j))).collect(),
            ),
            log_density: &self.log_density,
            lengths: &self.lengths,
            acceptance: &self.acceptance,
            moves: self.moves,
            convergence: Fields(of_quantities.collect()),
        }
        .serialize(serializer)
    }
}

/// Runs Markov chains on a density.
///
/// ```
/// use noisewright::Model;
/// use noisewright::chain::Moves;
/// use noisewright::internal::chain::run;
/// use noisewright::parts::ChainOptions;
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 3")?;
/// let chains = run(&model.density(&[3.0])?, &ChainOptions::default())?;
/// assert_eq!(chains.moves, Moves::Hamiltonian); // a formula has its gradient
/// let x = chains.points.view().column(0);
/// let mean = x.iter().sum::<f64>() / x.len() as f64;
/// assert!((mean - 3.0).abs() < 5.0 / chains.convergence[0].ess.sqrt()); // five standard errors
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When there is nothing to run, the moves do not suit the density, no place of positive density is found to start
/// at, or the log-density is not a number somewhere.
pub fn run(density: &dyn Density, options: &ChainOptions) -> Result<Chains> {
    if options.chains == 0 || options.draws == 0 || options.thin == 0 {
        return Err(Error::Chain(ChainFault::NothingAsked));
    }
    options.check(density.space().dimension())?;
    let context = Context::new(options.seed, &options.cancel, options.progress.as_ref());
    density.check_integrable(None, context.cancel_token())?;
    context.conclude(run_checked(density, options, &context))
}

/// The same for a density and options that were looked at already.
pub(crate) fn run_checked(
    density: &dyn Density,
    options: &ChainOptions,
    context: &Context,
) -> Result<Chains> {
    let coordinates = Coordinates::new(density.space());
    let landscape = Landscape { density, coordinates: &coordinates, cancel: context.cancel_token() };
    let tracks = try_map(0..options.chains, |chain| track(landscape, options, chain, context))?;
    let dimension = coordinates.dimension();
    let rows = options.chains * options.draws;
    let mut values = Vec::with_capacity(dimension * rows);
    for axis in 0..dimension {
        tracks.iter().for_each(|track| values.extend(track.points.iter().map(|x| x[axis])));
    }
    let points = Points::from_values(density.space().names(), rows, values)?;
    let log_density: Vec<f64> = tracks.iter().flat_map(|track| track.log_density.iter().copied()).collect();
    let lengths = vec![options.draws; options.chains];
    let columns = (0..dimension).map(|axis| points.view().column(axis)).chain([log_density.as_slice()]);
    let convergence = columns.map(|column| convergence(column, &lengths)).collect();
    Ok(Chains {
        acceptance: tracks.iter().map(|track| track.acceptance).collect(),
        moves: tracks[0].moves,
        points,
        log_density,
        lengths,
        convergence,
    })
}

/// What one chain leaves behind.
struct Track {
    points: Vec<Vec<f64>>,
    log_density: Vec<f64>,
    acceptance: f64,
    moves: Moves,
}

fn track(landscape: Landscape<'_>, options: &ChainOptions, chain: usize, context: &Context) -> Result<Track> {
    let mut stream = context.stream(Purpose::Chain, chain as u64);
    context.report(Stage::Prepare, chain, Some(options.chains))?;
    let mut walker = start(landscape, options, chain, &mut stream)?;
    let mut kernel = Kernel::new(options.moves, landscape, &walker.y)?;
    let first = if landscape.coordinates.is_sphere() || kernel.moves() == Moves::SingleSite {
        0
    } else {
        options.warm_up / 5
    };
    find_scales(landscape, &mut kernel, &mut walker, &mut stream, first)?;
    warm_up(landscape, &mut kernel, &mut walker, &mut stream, options.warm_up - first)?;
    let mut track =
        Track { points: Vec::new(), log_density: Vec::new(), acceptance: 0.0, moves: kernel.moves() };
    let mut x = vec![0.0; walker.y.len()];
    for draw in 0..options.draws {
        if draw % REPORTED == 0 {
            context.report(Stage::Chains, draw, Some(options.draws))?;
        }
        for _ in 0..options.thin {
            track.acceptance += kernel.step(landscape, &mut walker, &mut stream, 0.0)?;
        }
        let log_jacobian = landscape.coordinates.variables(&walker.y, &mut x);
        track.points.push(x.clone());
        track.log_density.push(walker.height - log_jacobian);
    }
    track.acceptance /= (options.draws * options.thin) as f64;
    check_place(landscape, &walker.y)?;
    Ok(track)
}

/// Refuses to go on where nothing but a density without an integral leads.
pub(crate) fn check_place(landscape: Landscape<'_>, y: &[f64]) -> Result<()> {
    let Some(axis) = y.iter().position(|v| v.abs() > ENDLESS) else { return Ok(()) };
    let space = landscape.density.space();
    let (lower, upper) = space.domains()[axis].bounds();
    let towards = match if y[axis] > 0.0 { upper } else { lower } {
        f64::INFINITY => "∞".into(),
        f64::NEG_INFINITY => "−∞".into(),
        end => end.to_string(),
    };
    Err(Error::NotIntegrable { towards, variable: Some(space.names()[axis].clone()) })
}

/// A place of positive density.
fn start(
    landscape: Landscape<'_>,
    options: &ChainOptions,
    chain: usize,
    stream: &mut noisewright_numerics::random::Stream,
) -> Result<Walker> {
    let given = options.start.as_ref();
    for attempt in 0..ATTEMPTS {
        let y = match given {
            Some(points) => {
                let mut x = vec![0.0; points.columns()];
                points.view().copy_row((chain + attempt * options.chains) % points.rows(), &mut x);
                landscape.coordinates.of_point(&x)
            }
            None => landscape.coordinates.somewhere(stream),
        };
        let height = landscape.height(&y)?;
        if height.is_finite() {
            return Ok(Walker { y, height });
        }
    }
    Err(Error::NoMass)
}

/// Steps of one variable at a time, from which moves in all variables at once take their first shape: whatever the
/// units, every variable finds its own scale.
fn find_scales(
    landscape: Landscape<'_>,
    kernel: &mut Kernel,
    walker: &mut Walker,
    stream: &mut noisewright_numerics::random::Stream,
    steps: usize,
) -> Result<()> {
    if steps == 0 {
        return Ok(());
    }
    let mut single = Kernel::new(Moves::SingleSite, landscape, &walker.y)?;
    let mut seen = Vec::new();
    for step in 0..steps {
        single.step(landscape, walker, stream, (step as f64 + 1.0).powf(-0.3))?;
        // The first half is the way there.
        if step >= steps / 2 {
            seen.push(walker.y.clone());
        }
    }
    kernel.shape(&seen);
    Ok(())
}

/// Steps that adapt: the size of the steps all the time, their shape now and then.
fn warm_up(
    landscape: Landscape<'_>,
    kernel: &mut Kernel,
    walker: &mut Walker,
    stream: &mut noisewright_numerics::random::Stream,
    steps: usize,
) -> Result<()> {
    let mut reshape = RESHAPE.map(|share| (share * steps as f64) as usize).into_iter().peekable();
    let mut seen: Vec<Vec<f64>> = Vec::new();
    let mut since = 0;
    for step in 0..steps {
        if reshape.next_if_eq(&step).is_some() && step > 0 {
            kernel.shape(&seen);
            seen.clear();
            since = 0;
        }
        since += 1;
        // Large corrections first, small ones later; their sum still has no bound (Robbins and Monro).
        kernel.step(landscape, walker, stream, (since as f64).powf(-0.6))?;
        seen.push(walker.y.clone());
    }
    Ok(())
}
