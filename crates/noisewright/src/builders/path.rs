//! Paths from a noise to a density, call by call.

use std::sync::Arc;

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use crate::chain::Moves;
use crate::normalizer::path::{PathEstimate, PathOptions, estimate_path};
use crate::{Density, Noise, Result};

/// log Z of a density that is far from every noise one can sample, by geometric bridges
/// `log f_t = (1 − t) log p_n + t log f`.
///
/// A pilot swarm is led from the noise to the density to learn how far apart bridges may be; the states are then placed so
/// that the errors between neighbours are equal, sampled by Markov chains that start from the swarm and exchange their
/// points with those of neighbouring states, and joined as by [`states`](crate::states()) with errors that allow for the chains.
///
/// Chains that start elsewhere look for modes that the path never came to; where they find one the error is infinite
/// ([`PathWarning::Elsewhere`](crate::normalizer::path::PathWarning::Elsewhere)), as it is where the chains contradict each
/// other.
///
/// ```
/// use noisewright::prelude::*;
/// // A Gaussian thirty deviations away: log Z = ½ ln 2π.
/// let far = density(Space::real(&["x"])?, |x: &[f64]| -0.5 * (x[0] - 30.0).powi(2));
/// let result = path(Normal::with_std(0.0, 1.0)?, &far).draws(400).seed(1).run()?;
/// assert!((result.log_z - 0.5 * std::f64::consts::TAU.ln()).abs() < 4.0 * result.se && result.se < 1.0);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[doc(alias = "thermodynamic integration")]
#[doc(alias = "annealed importance sampling")]
pub fn path<'a>(noise: impl Noise + 'a, density: &'a dyn Density) -> PathBuilder<'a> {
    PathBuilder { noise: Arc::new(noise), density, options: PathOptions::default(), threads: None }
}

/// A path that is being asked for: see [`path`].
#[derive(Debug)]
#[must_use = "nothing is done before `run`"]
pub struct PathBuilder<'a> {
    noise: Arc<dyn Noise + 'a>,
    density: &'a dyn Density,
    options: PathOptions,
    threads: Option<usize>,
}

impl PathBuilder<'_> {
    setters! {
        /// Number of states, both ends included (default: as many as the distance needs).
        states(states: usize) => options.states = Some(states);
        /// Draws of every state (default 2,000).
        draws(draws: usize) => options.draws = draws;
        /// Chains that the draws of every state come from (default 4).
        chains(chains: usize) => options.chains = chains;
        /// Kind of moves (default: chosen by the density).
        moves(moves: Moves) => options.moves = moves;
        /// Probability that the interval is to cover log Z (default 0.95).
        confidence(confidence: f64) => options.confidence = confidence;
    }

    run_settings! {
        seed in options, "all random draws";
        threads, cancel in options;
        progress in options;
        options: PathOptions;
    }

    /// Goes the path.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let far = density(Space::real(&["x"])?, |x: &[f64]| -0.125 * (x[0] - 10.0).powi(2));
    /// let result = path(Normal::with_std(0.0, 1.0)?, &far).draws(400).seed(1).run()?;
    /// let truth = 0.5 * (4.0 * std::f64::consts::TAU).ln();
    /// assert!((result.log_z - truth).abs() < 5.0 * result.se && result.se < 1.0);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When an option cannot be, noise and density differ in their variables, no draw of the noise has a positive density,
    /// the density is seen to have no integral, no path leads from one to the other, or the log-density is not a number
    /// somewhere.
    pub fn run(self) -> Result<PathEstimate> {
        on_threads(self.threads, || estimate_path(&*self.noise, self.density, &self.options))
    }
}
