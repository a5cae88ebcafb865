//! What a path says: log Z with its error, every state on the way, and what the reader should know.

use noisewright_numerics::special::normal_quantile;

use super::{Dependence, Options, Origin, Pooled, Problem, Sample, convergence, states};
use crate::Result;
use crate::chain::{Bridge, Moves};

/// R̂ beyond which chains disagree.
const AGREE: f64 = 1.1;
/// Acceptance below which chains hardly move.
const STUCK: f64 = 0.05;

/// What the reader should know before trusting the number.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Something about the states, numbered from 0.
    States(states::Warning),
    /// Chains of one state that do not agree with each other.
    ChainsDisagree {
        /// The state.
        state: usize,
        /// Where it is on the path.
        t: f64,
        /// Split R̂ of the log-ratio.
        r_hat: f64,
    },
    /// Chains of one state that hardly move.
    HardlyMoves {
        /// The state.
        state: usize,
        /// Where it is on the path.
        t: f64,
        /// Mean probability of acceptance.
        acceptance: f64,
    },
}

impl Warning {
    /// One sentence; states are named by their place on the path.
    #[must_use]
    pub fn sentence(&self, nodes: &[Node]) -> String {
        match self {
            Self::States(warning) => {
                let names: Vec<String> = nodes.iter().map(|node| format!("t = {:.4}", node.t)).collect();
                warning.sentence(&names)
            }
            Self::ChainsDisagree { t, r_hat, .. } => format!(
                "the chains at t = {t:.4} disagree (R-hat {r_hat:.2}): the error may be too small; ask for more draws or a \
                 longer warm-up"
            ),
            Self::HardlyMoves { t, acceptance, .. } => format!(
                "the chains at t = {t:.4} accept only {:.1} % of their steps: ask for other moves or a longer warm-up",
                100.0 * acceptance
            ),
        }
    }
}

/// One state of the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it is, from 0 (the noise) to 1 (the density).
    pub t: f64,
    /// Its log-normalizer; 0 at the noise.
    pub log_z: f64,
    /// The standard error of that.
    pub se: f64,
    /// Standard error of the step from the state before it; 0 at the noise.
    pub step_se: f64,
    /// Mean probability of acceptance of its chains; 1 for direct draws.
    pub acceptance: f64,
    /// Split R̂ of `log f − log p_n` over its chains.
    pub r_hat: f64,
    /// How many of its draws are worth one independent draw.
    pub inefficiency: f64,
}

/// log Z by a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// log Z of the density.
    pub log_z: f64,
    /// Its standard error; infinite where the path is broken.
    pub se: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// The states, from the noise to the density.
    pub nodes: Vec<Node>,
    /// All states together: covariance, overlap, effective draws.
    pub states: states::Estimate,
    /// The moves that the chains made.
    pub moves: Option<Moves>,
    /// The noise in words.
    pub noise: String,
    /// Draws of every state.
    pub draws: usize,
    /// What the reader should know.
    pub warnings: Vec<Warning>,
}

/// Joins the samples of all states.
pub(super) fn assemble(
    problem: &Problem<'_>,
    places: &[f64],
    samples: &[Sample],
    options: &Options,
) -> Result<Estimate> {
    let (mut log_noise, mut log_density) = (Vec::new(), Vec::new());
    let (mut labels, mut r_hat) = (Vec::new(), Vec::new());
    for sample in samples {
        let (points, rows) = (sample.points.view(), sample.points.rows());
        let (mut noise, mut density) = (vec![0.0; rows], vec![0.0; rows]);
        problem.noise.log_density(points, &mut noise);
        problem.density.log_density(points, &mut density)?;
        let ratio: Vec<f64> = density.iter().zip(&noise).map(|(f, n)| (f - n).clamp(-1e300, 1e300)).collect();
        r_hat.push(convergence(&ratio, &sample.lengths).r_hat);
        log_noise.extend(noise);
        log_density.extend(density);
        for (label, length) in sample.lengths.iter().enumerate() {
            labels.resize(labels.len() + length, label);
        }
    }
    let column = |t: &f64| {
        let ends = log_noise.iter().zip(&log_density);
        ends.map(|(n, f)| Bridge::value(*t, *n, *f)).collect::<Vec<_>>()
    };
    let columns: Vec<Vec<f64>> = places.iter().map(column).collect();
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let counts: Vec<usize> = samples.iter().map(|sample| sample.points.rows()).collect();
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&counts), chains: Some(&labels) };
    let all =
        states::estimate(&pooled, &states::Options { dependence: Dependence::Chains, ..Default::default() })?;
    Ok(Estimate::new(problem, places, samples, &r_hat, all, options))
}

impl Estimate {
    fn new(
        problem: &Problem<'_>,
        places: &[f64],
        samples: &[Sample],
        r_hat: &[f64],
        all: states::Estimate,
        options: &Options,
    ) -> Self {
        let nodes: Vec<Node> = (0..places.len())
            .map(|k| Node {
                t: places[k],
                log_z: all.log_z()[k],
                se: all.difference(0, k).1,
                step_se: all.difference(k.saturating_sub(1), k).1,
                acceptance: samples[k].acceptance,
                r_hat: r_hat[k],
                inefficiency: all.inefficiency()[k],
            })
            .collect();
        let (log_z, se) = all.difference(0, places.len() - 1);
        let reach = normal_quantile(0.5 + 0.5 * options.confidence) * se;
        Self {
            log_z,
            se,
            lower: log_z - reach,
            upper: log_z + reach,
            warnings: warnings(&nodes, &all),
            nodes,
            states: all,
            moves: samples.last().and_then(|sample| sample.moves),
            noise: problem.noise.describe(),
            draws: options.draws,
        }
    }
}

fn warnings(nodes: &[Node], all: &states::Estimate) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = all.warnings().iter().cloned().map(Warning::States).collect();
    for (state, node) in nodes.iter().enumerate().skip(1) {
        if node.r_hat > AGREE {
            warnings.push(Warning::ChainsDisagree { state, t: node.t, r_hat: node.r_hat });
        }
        if node.acceptance < STUCK {
            warnings.push(Warning::HardlyMoves { state, t: node.t, acceptance: node.acceptance });
        }
    }
    warnings
}
