//! Markov chains on a density, call by call.

use std::ops::ControlFlow;

use super::threads::on_threads;
use crate::chain::{ChainOptions, Chains, Moves, run};
use crate::run::{CancelToken, Progress, ProgressHook};
use crate::{Density, Points, Result};

/// Markov chains on a density: Hamiltonian where it has a gradient, a random walk on other continuous variables, single
/// sites otherwise.
///
/// ```
/// use noisewright::prelude::*;
/// let bell = density(Space::real(&["x"])?, |x: &[f64]| -0.5 * (x[0] - 3.0).powi(2));
/// let drawn = chains(&bell).draws(2000).seed(1).run()?;
/// let x = drawn.points.view().column(0);
/// let mean = x.iter().sum::<f64>() / x.len() as f64;
/// assert!((mean - 3.0).abs() < 5.0 / drawn.convergence[0].ess.sqrt()); // five standard errors
/// # Ok::<(), noisewright::Error>(())
/// ```
#[doc(alias = "mcmc")]
pub fn chains(density: &dyn Density) -> ChainsBuilder<'_> {
    ChainsBuilder { density, options: ChainOptions::default(), threads: None }
}

/// Chains that are being asked for: see [`chains`].
#[must_use = "nothing is done before `run`"]
pub struct ChainsBuilder<'a> {
    density: &'a dyn Density,
    options: ChainOptions,
    threads: Option<usize>,
}

impl ChainsBuilder<'_> {
    /// Number of chains (default 4).
    pub fn chains(mut self, chains: usize) -> Self {
        self.options.chains = chains;
        self
    }

    /// Draws kept of each chain (default 1,000).
    pub fn draws(mut self, draws: usize) -> Self {
        self.options.draws = draws;
        self
    }

    /// Steps of each chain that are thrown away while it adapts (default 1,000).
    pub fn warm_up(mut self, steps: usize) -> Self {
        self.options.warm_up = steps;
        self
    }

    /// Steps per draw (default 1).
    pub fn thin(mut self, steps: usize) -> Self {
        self.options.thin = steps;
        self
    }

    /// Kind of moves (default: chosen by the density).
    pub fn moves(mut self, moves: Moves) -> Self {
        self.options.moves = moves;
        self
    }

    /// Points to start at, taken in turns (default: somewhere at random).
    pub fn start(mut self, points: Points) -> Self {
        self.options.start = Some(points);
        self
    }

    /// Seed of all random draws (default 0).
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// On so many threads (default: those of the pool it is called from); the result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Ends it with [`Error::Cancelled`](crate::Error::Cancelled), within one pass over the points, once the token is
    /// cancelled.
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.options.cancel = token.clone();
        self
    }

    /// Told about every step; where it breaks off, it ends with [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn progress(mut self, hook: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.options.progress = Some(ProgressHook::new(hook));
        self
    }

    /// All options at once.
    pub fn options(mut self, options: ChainOptions) -> Self {
        self.options = options;
        self
    }

    /// Runs the chains.
    ///
    /// # Errors
    /// As for [`run`](crate::chain::run()).
    pub fn run(self) -> Result<Chains> {
        on_threads(self.threads, || run(self.density, &self.options))
    }
}
