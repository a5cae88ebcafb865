//! Markov chains on a density, call by call.

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use crate::chain::{ChainOptions, Chains, Moves, run};
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
#[derive(Debug)]
#[must_use = "nothing is done before `run`"]
pub struct ChainsBuilder<'a> {
    density: &'a dyn Density,
    options: ChainOptions,
    threads: Option<usize>,
}

impl ChainsBuilder<'_> {
    setters! {
        /// Number of chains (default 4).
        chains(chains: usize) => options.chains = chains;
        /// Draws kept of each chain (default 1,000).
        draws(draws: usize) => options.draws = draws;
        /// Steps of each chain that are thrown away while it adapts (default 1,000).
        warm_up(steps: usize) => options.warm_up = steps;
        /// Steps per draw (default 1).
        thin(steps: usize) => options.thin = steps;
        /// Kind of moves (default: chosen by the density).
        moves(moves: Moves) => options.moves = moves;
        /// Points to start at, taken in turns (default: somewhere at random).
        start(points: Points) => options.start = Some(points);
    }

    run_settings! {
        seed in options, "all random draws";
        threads, cancel in options;
        progress in options;
        options: ChainOptions;
    }

    /// Runs the chains.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let waiting = density(Space::product(&[("x", Domain::Positive)])?, |x: &[f64]| -x[0]);
    /// let drawn = chains(&waiting).draws(1000).seed(1).run()?;
    /// let mean = drawn.points.values().iter().sum::<f64>() / drawn.points.rows() as f64;
    /// // Mean and deviation of an exponential time are one.
    /// assert!((mean - 1.0).abs() < 5.0 / drawn.convergence[0].ess.sqrt());
    /// assert!(chains(&waiting).draws(0).run().is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is nothing to run, the moves do not suit the density, no place of positive density is found to start at, or
    /// the log-density is not a number somewhere.
    pub fn run(self) -> Result<Chains> {
        on_threads(self.threads, || run(self.density, &self.options))
    }
}
