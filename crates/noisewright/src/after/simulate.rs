//! Draws of a fitted model: exact where every state can be visited or the density be bounded, by Markov chains elsewhere.

use serde::{Serialize, Serializer};

use crate::chain::{ChainOptions, Chains, run};
use crate::design::ModelNoise;
use crate::noise::sample_for;
use crate::population::{enumerates, integrates};
use crate::run::{Context, Purpose, Stage};
use crate::serial::Fields;
use crate::{Error, Model, Points, Precision, Result};

/// Chains, their least length, and the steps per draw, where draws are not exact.
const CHAINS: usize = 8;
const LEAST_LENGTH: usize = 250;
const STEPS: usize = 10;

/// R̂ beyond which chains have not come to the density.
const MOST_R_HAT: f64 = 1.05;
/// Effective draws per draw below which they have not.
const LEAST_ESS_SHARE: f64 = 0.05;

/// Draws of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Simulated {
    /// The draws.
    pub points: Points,
    /// How they were made.
    pub how: Simulation,
    /// Independent draws that they are worth, at least: all of them where they are exact.
    pub effective: f64,
}

/// The fields of draws, as the command has them.
#[derive(Serialize)]
struct SimulatedFields<'a> {
    rows: usize,
    how: Simulation,
    effective: f64,
    draws: Fields<&'a str, &'a [f64]>,
}

impl Serialize for Simulated {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let names = self.points.names().iter().map(String::as_str).enumerate();
        SimulatedFields {
            rows: self.points.rows(),
            how: self.how,
            effective: self.effective,
            draws: Fields(names.map(|(j, name)| (name, self.points.view().column(j))).collect()),
        }
        .serialize(serializer)
    }
}

/// How draws were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Simulation {
    /// Independent draws of the density itself.
    Exact,
    /// Thinned draws of Markov chains.
    Chains,
}

impl std::fmt::Display for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::Chains => "chains",
        })
    }
}

/// `count` draws of a model at parameter values.
///
/// ```
/// use noisewright::prelude::*;
/// use noisewright::{after::simulate, run::Context};
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
/// let drawn = simulate(&model, &[3.0], 1000, &Context::seeded(1))?;
/// let mean = drawn.points.values().iter().sum::<f64>() / 1000.0;
/// assert!((mean - 3.0).abs() < 5.0 / 1000_f64.sqrt());
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the model does not integrate, or chains do not come to its density.
pub fn simulate(model: &Model, theta: &[f64], count: usize, context: &Context) -> Result<Simulated> {
    model.check(theta)?;
    context.report(Stage::Prepare, 0, None)?;
    let names = model.space().names();
    if is_exact(model) {
        let (cancel, progress) = (context.cancel_token().clone(), context.progress_hook());
        let precision = Precision { relative: 1e-8, cancel, progress, ..Precision::default() };
        let density = ModelNoise::data(model, theta, &precision)?;
        let points = sample_for(&density, count, context, Purpose::Simulate)?.with_names(names)?;
        return Ok(Simulated { points, how: Simulation::Exact, effective: count as f64 });
    }
    by_chains(model, theta, count, context)
}

/// Whether draws of the density itself can be had: by rejection under boxes, or from the list of all states.
fn is_exact(model: &Model) -> bool {
    let space = model.space();
    let discrete = space.domains().iter().filter(|domain| domain.is_discrete()).count();
    let alike = !space.is_sphere() && (discrete == 0 || discrete == space.dimension());
    enumerates(model) || (integrates(model) && alike)
}

/// Draws of several chains, evenly spread over them.
fn by_chains(model: &Model, theta: &[f64], count: usize, context: &Context) -> Result<Simulated> {
    let length = count.div_ceil(CHAINS).max(LEAST_LENGTH);
    let options = ChainOptions {
        chains: CHAINS,
        draws: length,
        thin: STEPS,
        seed: Purpose::Simulate.seed(context.seed(), 0),
        cancel: context.cancel_token().clone(),
        progress: context.progress_hook(),
        ..ChainOptions::default()
    };
    let chains = run(&model.density(theta)?, &options)?;
    let effective = effective(&chains, count)?;
    let (drawn, view) = (CHAINS * length, chains.points.view());
    // Chain after chain in turns, so that any first part of the draws is of all chains.
    let row = |i: usize| (i % CHAINS) * length + (i / CHAINS) * length / count.div_ceil(CHAINS).max(1);
    let columns: Vec<Vec<f64>> = (0..view.columns())
        .map(|j| (0..count).map(|i| view.get(row(i).min(drawn - 1), j)).collect())
        .collect();
    let points = Points::from_columns(model.space().names(), &columns)?;
    Ok(Simulated { points, how: Simulation::Chains, effective })
}

/// How many independent draws so many of the chains are worth, if the chains agree.
fn effective(chains: &Chains, count: usize) -> Result<f64> {
    let draws = chains.points.rows();
    let known = || chains.convergence.iter().filter(|c| !c.r_hat.is_nan());
    let r_hat = known().map(|c| c.r_hat).fold(1.0, f64::max);
    let least = known().map(|c| c.ess).fold(draws as f64, f64::min);
    if r_hat > MOST_R_HAT || least < LEAST_ESS_SHARE * draws as f64 {
        return Err(Error::TooHardToSample { effective: least, draws });
    }
    Ok((count as f64).min(least))
}
