//! Many states at once (MBAR): the ratios of K normalizing constants from pooled draws, with their full covariance.
//!
//! The many-state form of the optimal bridge of MATH §4: for K = 2 it is the NCE estimate. See [`estimate`].

mod chains;
mod consistency;
pub(crate) mod convergence;
mod covariance;
pub(crate) mod equilibration;
pub(crate) mod expectations;
mod influence;
mod input;
mod neighbours;
mod problem;
pub(crate) mod result;
pub(crate) mod reweighting;
pub(crate) mod serial;
mod solve;
mod start;
pub(crate) mod surface;
mod unsampled;

pub(crate) use convergence::Convergence;
pub use convergence::convergence;
pub(crate) use equilibration::Equilibration;
pub(crate) use expectations::Expectations;
pub use expectations::Observable;
pub use input::{Origin, Pooled};
pub use neighbours::neighbours;
pub use result::StatesEstimate;
pub(crate) use result::StatesWarning;
pub use reweighting::reweight;
pub(crate) use reweighting::{Energies, Reweighting};
pub use surface::{Coordinate, SurfaceOptions};
pub(crate) use surface::{Surface, SurfaceWarning};

use nalgebra::DMatrix;

use self::chains::LongRun;
use self::covariance::Gram;
use self::problem::Problem;
use self::result::Parts;
use self::solve::Solution;
use self::unsampled::Weights;
use super::Dependence;
use crate::run::{CancelToken, Context, ProgressHook, Stage};
use crate::{Error, Result};

/// What to take for known, and how draws depend on each other.
#[derive(Clone, Debug, Default)]
pub struct StatesOptions {
    /// The state whose log-normalizer is known; the first one by default.
    pub reference: usize,
    /// Its log-normalizer; 0 by default, which makes all others log-ratios to it.
    pub reference_log_z: f64,
    /// Whether draws of one state may depend on each other; chains by default, which independent draws are too, at the
    /// price of an error that is itself less certain.
    pub dependence: Dependence,
    /// Cancels the solution from another thread.
    pub cancel: CancelToken,
    /// Told about every step; it may stop the solution, which then is [`Error::Cancelled`].
    pub progress: Option<ProgressHook>,
    #[doc(hidden)]
    pub more: crate::More,
}

impl StatesOptions {
    /// The context of one run.
    pub(crate) fn context(&self) -> Context {
        Context::new(0, &self.cancel, self.progress.as_ref())
    }
}

/// Log-normalizers of all states relative to one of them, from draws of all of them.
///
/// # Formula
/// `Z_k = Σ_n f_k(x_n) / Σ_l N_l f_l(x_n)/Z_l`, solved for all k jointly: the estimate with the smallest asymptotic variance
/// that the pooled draws allow. The errors are those of Shirts and Chodera (2008) for independent draws, and a sandwich
/// around the long-run covariance for chains.
///
/// States between which hardly any draw goes over are in different groups: their ratio has an infinite error
/// ([`StatesEstimate::groups`], [`StatesWarning::Disconnected`]). So is a state without draws whose weights have so heavy a tail
/// that the pooled draws may have missed most of it ([`StatesWarning::HeavyTail`]).
///
/// ```
/// use noisewright::normalizer::states::{StatesOptions, Origin, Pooled, estimate};
/// // Uniform densities on [0, 1] and on [0, 3], known up to their constants: three draws of the first, and three of
/// // the second, of which one lies where the first has density too.
/// let first = [0.0, 0.0, 0.0, 0.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
/// let second = [0.0; 6];
/// let pooled = Pooled { log_f: &[&first, &second], origin: Origin::Counts(&[3, 3]), chains: None };
/// let result = estimate(&pooled, &StatesOptions::default())?;
/// assert!((result.log_z()[1] - 3f64.ln()).abs() < 1e-12);
/// assert_eq!(result.se()[1], f64::INFINITY); // but from six draws nobody should believe it
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the sizes do not fit, a log-density is `NaN` or +∞ (the message names state and draw), a draw has no density
/// under its own state, or there are no draws at all.
#[doc(alias = "mbar")]
pub fn estimate(pooled: &Pooled<'_>, options: &StatesOptions) -> Result<StatesEstimate> {
    Ok(solved(pooled, options, false)?.0.into_estimate())
}

/// What every step adds to the error of every log-normalizer: chain after chain, state after state, step after step.
pub(super) type Influence = Vec<Vec<Vec<f64>>>;

/// The same for chains of all states that go side by side and may change places: draw i of a label under one state goes with
/// draw i of that label under all others. `None` instead of their influence where states hardly overlap.
pub(super) fn side_by_side(
    pooled: &Pooled<'_>,
    options: &StatesOptions,
) -> Result<(StatesEstimate, Option<Influence>)> {
    let (reweighting, influence) = solved(pooled, options, true)?;
    Ok((reweighting.into_estimate(), influence))
}

fn solved<'a>(
    pooled: &Pooled<'a>,
    options: &StatesOptions,
    side_by_side: bool,
) -> Result<(Reweighting<'a>, Option<Influence>)> {
    let (origin, counts) = checked(pooled, options)?;
    let context = options.context();
    let order = Order::new(&counts);
    let internal: Vec<u32> = origin.iter().map(|k| order.place[*k as usize] as u32).collect();
    let mut problem = Problem {
        columns: order.sampled.iter().map(|k| pooled.log_f[*k]).collect(),
        counts: order.sampled.iter().map(|k| counts[*k] as f64).collect(),
        offsets: order.sampled.iter().map(|k| center(pooled.log_f[*k])).collect(),
        origin: &internal,
        context: &context,
    };
    context.report(Stage::Prepare, 0, None)?;
    let solution = solve::solve(&mut problem)?;
    let unsampled: Vec<&[f64]> = order.unsampled.iter().map(|k| pooled.log_f[*k]).collect();
    let unsampled_c = unsampled::log_normalizers(&problem, &solution.c, &unsampled)?;
    let weights =
        Weights { problem: &problem, c: &solution.c, unsampled: &unsampled, unsampled_c: &unsampled_c };
    let gram = gram_with_tails(pooled, &weights, &solution, &order)?;
    let dependence = match options.dependence {
        // Chains know their states by the caller's numbers.
        Dependence::Chains => {
            let mut chains = pooled.chains(&origin)?;
            chains.iter_mut().for_each(|chain| chain.state = order.place[chain.state]);
            DependentDraws::new(&weights, chains, &gram, side_by_side)?
        }
        Dependence::Independent => DependentDraws::default(),
    };
    let DependentDraws { chains, long_run, joint } = dependence;
    let sampled_c = solution.c.iter().zip(&problem.offsets).map(|(c, offset)| offset + c);
    let log_z: Vec<f64> = sampled_c.chain(unsampled_c.iter().copied()).collect();
    let covariance = joint.as_deref().map(chains::joint_covariance);
    let estimate =
        assemble(log_z.clone(), &gram, long_run.as_deref(), covariance.as_ref(), &solution, &order, options);
    context.check()?;
    let doubts = consistency::doubts(&problem, &solution.c, &order, &estimate, options.dependence)?;
    let estimate = estimate.with_warnings(doubts);
    let whole = joint.filter(|_| estimate.groups().len() == 1);
    let Problem { counts, offsets, .. } = problem;
    let reweighting = Reweighting {
        pooled: *pooled,
        options: options.clone(),
        context: Context::new(0, &options.cancel, None),
        order,
        origin: internal,
        counts,
        offsets,
        c: solution.c,
        log_z,
        gram,
        chains,
        estimate,
    };
    Ok((reweighting, whole.map(|chains| chains.into_iter().map(|chain| chain.columns).collect())))
}

/// The Gram matrix, with the tails of the weights of states that hardly any draws are of.
fn gram_with_tails(
    pooled: &Pooled<'_>,
    weights: &Weights<'_>,
    solution: &Solution,
    order: &Order,
) -> Result<Gram> {
    weights.problem.context.report(Stage::Errors, 0, None)?;
    let mut gram = gram(weights, solution)?;
    let hardly: Vec<usize> = (0..weights.states()).filter(|k| gram.is_hardly_sampled(*k)).collect();
    let columns: Vec<&[f64]> = hardly.iter().map(|k| order.column(pooled, *k)).collect();
    for (k, tail) in hardly.iter().zip(unsampled::tails(weights.problem, &solution.c, &columns)?) {
        gram.tails[*k] = tail;
    }
    Ok(gram)
}

/// What the dependence of draws within chains makes of the errors; nothing where they are independent.
#[derive(Default)]
struct DependentDraws {
    chains: Vec<chains::Chain>,
    long_run: Option<Vec<LongRun>>,
    /// Influences of all chains side by side, where they were asked for.
    joint: Option<Vec<chains::Series>>,
}

impl DependentDraws {
    fn new(
        weights: &Weights<'_>,
        chains: Vec<chains::Chain>,
        gram: &Gram,
        side_by_side: bool,
    ) -> Result<Self> {
        let long_run = Some(chains::long_run(weights, &chains)?);
        let everything: Vec<usize> = (0..weights.states()).collect();
        let response = side_by_side.then(|| gram.response(&everything)).flatten();
        let joint = response.and_then(|response| chains::side_by_side(weights, &chains, &response));
        Ok(Self { chains, long_run, joint })
    }
}

/// The state of each draw and the draws of each state, of input in which nothing is wrong.
fn checked(pooled: &Pooled<'_>, options: &StatesOptions) -> Result<(Vec<u32>, Vec<usize>)> {
    let (origin, counts) = pooled.origins()?;
    if origin.is_empty() {
        return Err(Error::NoStateDraws);
    }
    if options.reference >= counts.len() {
        return Err(Error::Shape { what: "states", expected: options.reference + 1, found: counts.len() });
    }
    if !options.reference_log_z.is_finite() {
        return Err(Error::range("reference_log_z", "a finite number", options.reference_log_z));
    }
    pooled.check(&origin)?;
    Ok((origin, counts))
}

/// A finite value near the middle of a column's range, so that what is solved for is small.
fn center(column: &[f64]) -> f64 {
    column.iter().copied().find(|v| v.is_finite()).unwrap_or(0.0)
}

/// States with draws first, the others after them.
struct Order {
    sampled: Vec<usize>,
    unsampled: Vec<usize>,
    /// Where each of the caller's states stands.
    place: Vec<usize>,
}

impl Order {
    /// The log-densities of the state that stands at a place.
    fn column<'a>(&self, pooled: &Pooled<'a>, at: usize) -> &'a [f64] {
        pooled.log_f[self.sampled.iter().chain(&self.unsampled).copied().nth(at).unwrap_or(at)]
    }

    fn new(counts: &[usize]) -> Self {
        let (sampled, unsampled): (Vec<usize>, Vec<usize>) = (0..counts.len()).partition(|k| counts[*k] > 0);
        let mut place = vec![0; counts.len()];
        for (at, k) in sampled.iter().chain(&unsampled).enumerate() {
            place[*k] = at;
        }
        Self { sampled, unsampled, place }
    }
}

/// The centred Gram matrix of all states: that of the last step, unless there are states without draws.
fn gram(weights: &Weights<'_>, solution: &Solution) -> Result<Gram> {
    let states = weights.states();
    let centred = if weights.unsampled.is_empty() {
        weights.in_units_of_weights(&solution.sums.gram)
    } else {
        weights.gram()?
    };
    let mut counts = weights.problem.counts.clone();
    counts.resize(states, 0.0);
    Ok(Gram {
        centred: DMatrix::from_vec(states, states, centred),
        empty: (0..states).map(|k| weights.is_empty(k)).collect(),
        tails: (0..states).map(|_| None).collect(),
        counts,
        draws: weights.problem.draws() as f64,
    })
}

/// Puts everything together in the caller's order.
fn assemble(
    log_z: Vec<f64>,
    gram: &Gram,
    long_run: Option<&[LongRun]>,
    joint: Option<&DMatrix<f64>>,
    solution: &Solution,
    order: &Order,
    options: &StatesOptions,
) -> StatesEstimate {
    let states = log_z.len();
    let mut inefficiency = vec![1.0; states];
    for (g, chain) in inefficiency.iter_mut().zip(long_run.unwrap_or_default()) {
        *g = chain.inefficiency;
    }
    let groups = gram.groups(&inefficiency);
    let mut covariance = DMatrix::zeros(states, states);
    let mut freedom = vec![f64::INFINITY; states];
    for group in &groups {
        let part = match (long_run, joint) {
            (None, _) => gram.covariance(group),
            (Some(chains), _) if stands_still(chains, group) => None,
            (_, Some(joint)) if groups.len() == 1 => Some(joint.clone()),
            (Some(chains), _) => sandwich(gram, chains, group),
        };
        let part = part.unwrap_or_else(|| DMatrix::from_element(group.len(), group.len(), f64::INFINITY));
        if let (Some(chains), None, Some(response)) = (long_run, joint, gram.response(group)) {
            let base = group.iter().position(|k| *k == order.place[options.reference]).unwrap_or(0);
            let known = chains::freedoms(chains, group, &response, base);
            group.iter().zip(known).for_each(|(k, known)| freedom[*k] = known);
        }
        for (i, k) in group.iter().enumerate() {
            for (j, l) in group.iter().enumerate() {
                covariance[(*k, *l)] = part[(i, j)];
            }
        }
    }
    let parts = Parts {
        overlap: gram.overlap(),
        effective: (0..states).map(|k| gram.effective(k)).collect(),
        heavy: (0..states).map(|k| gram.heavy(k)).collect(),
        counts: gram.counts.clone(),
        short_chains: those(long_run, |chain| !chain.reliable),
        still: those(long_run, |chain| chain.stands_still),
        log_z,
        covariance,
        freedom,
        groups,
        inefficiency,
        converged: solution.converged,
        evaluations: solution.evaluations,
    };
    parts.in_order(&order.place, options)
}

/// The states whose chains are so.
fn those(chains: Option<&[LongRun]>, so: impl Fn(&LongRun) -> bool) -> Vec<usize> {
    chains.unwrap_or_default().iter().enumerate().filter(|(_, chain)| so(chain)).map(|(k, _)| k).collect()
}

/// Whether a chain of a group never moves.
fn stands_still(chains: &[LongRun], group: &[usize]) -> bool {
    group.iter().filter_map(|k| chains.get(*k)).any(|chain| chain.stands_still)
}

/// `R S Rᵀ` with `R = (I − G̃N)⁻¹` and S the long-run covariance, without what rounding made negative.
fn sandwich(gram: &Gram, chains: &[LongRun], group: &[usize]) -> Option<DMatrix<f64>> {
    let response = gram.response(group)?;
    let size = group.len();
    let mut middle = DMatrix::zeros(size, size);
    for chain in group.iter().filter_map(|k| chains.get(*k)) {
        middle += DMatrix::from_fn(size, size, |i, j| chain.covariance[(group[i], group[j])]);
    }
    Some(chains::positive_part(&response * middle * response.transpose()))
}
