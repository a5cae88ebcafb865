//! What a path says: log Z with its error, every state on the way, and what the reader should know.

use super::super::autocorrelation::{LongRun, long_run};
use super::super::estimate::rounding;
use super::super::interval::{student_deviation, two_sided};
use super::parallel_tempering::Tempered;
use super::{Dependence, Origin, PathOptions, Pooled, Problem, Sample, states};
use crate::chain::{Bridge, Moves, convergence};
use crate::tolerance::FEWEST_EFFECTIVE_ROWS;
use crate::{Domain, Result};

/// R̂ beyond which chains disagree.
const AGREE: f64 = 1.1;
/// Independent draws below which a chain's autocorrelation is hardly known, nor what it has not come to.
const FEWEST_DRAWS: f64 = 100.0;
/// Acceptance below which chains hardly move.
const STUCK: f64 = 0.05;
/// Standard deviations of a normal beyond which the spread of the chains' own estimates is no accident: one in a hundred.
const NO_ACCIDENT: f64 = 2.33;
/// Steps of every chain's trace.
const TRACED: usize = 25;

/// What the reader should know before trusting the number.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PathWarning {
    /// Something about the states, numbered from 0.
    States(states::StatesWarning),
    /// Chains of one state that do not agree with each other.
    ChainsDisagree {
        /// The state.
        state: usize,
        /// Where it is on the path.
        t: f64,
        /// Split R̂ of the log-ratio.
        r_hat: f64,
    },
    /// Whole paths that differ by more than their chains' own errors: the error is that of their spread.
    PathsDisagree {
        /// How many times the standard error the spread allows for.
        factor: f64,
    },
    /// A place of high density that no chain of the path came to: the error is infinite.
    Elsewhere {
        /// The place, variable by variable.
        point: Vec<(String, f64)>,
    },
    /// Too few independent steps for a standard error.
    TooFewSteps,
    /// A variable of the density, its square or its log-density, of which the chains are worth few independent draws.
    SlowDirection {
        /// The variable, or `log density`.
        of: String,
        /// Independent draws that the chains are worth.
        ess: f64,
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

impl PathWarning {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::States(warning) => warning.code(),
            Self::ChainsDisagree { .. } => "chains-disagree",
            Self::PathsDisagree { .. } => "paths-disagree",
            Self::Elsewhere { .. } => "elsewhere",
            Self::TooFewSteps => "too-few-steps",
            Self::SlowDirection { .. } => "slow-direction",
            Self::HardlyMoves { .. } => "hardly-moves",
        }
    }

    /// Whether it makes the error infinite.
    fn is_fatal(&self) -> bool {
        let states = |warning: &states::StatesWarning| {
            matches!(
                warning,
                states::StatesWarning::Disconnected { .. }
                    | states::StatesWarning::HeavyTail { .. }
                    | states::StatesWarning::LargestWeight { .. }
                    | states::StatesWarning::ZeroDensity { .. }
            )
        };
        match self {
            Self::States(warning) => states(warning),
            Self::Elsewhere { .. } | Self::TooFewSteps => true,
            _ => false,
        }
    }

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
            Self::PathsDisagree { factor } => format!(
                "the chains do not agree about log Z: the error is {factor:.1} times what each chain by itself suggests; ask \
                 for more draws or a longer warm-up"
            ),
            Self::Elsewhere { point } => {
                let place: Vec<String> = point.iter().map(|(name, x)| format!("{name} = {x:.4}")).collect();
                format!(
                    "chains that started elsewhere found a mode at {} that the path never came to, so its share of log Z is \
                     missing: choose a noise that covers it",
                    place.join(", ")
                )
            }
            Self::TooFewSteps => {
                "the chains are worth too few independent steps for a standard error: ask for more \
                                  draws"
                    .into()
            }
            Self::SlowDirection { of, ess } => format!(
                "the chains of the density itself are worth only {ess:.0} independent draws of {of}, too few to know what they \
                 have not come to: ask for more draws"
            ),
            Self::HardlyMoves { t, acceptance, .. } => format!(
                "the chains at t = {t:.4} accept only {:.1} % of their steps: ask for other moves or a longer warm-up",
                100.0 * acceptance
            ),
        }
    }
}

/// One state of the path.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
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
    /// Mean probability of an exchange with the state before; `None` at the noise.
    pub exchange: Option<f64>,
    /// Split R̂ over its chains: the largest of those of `log f − log p_n` and of the variables that are numbers.
    pub r_hat: f64,
    /// How many of its draws are worth one independent draw.
    pub inefficiency: f64,
}

/// log Z by the first draws of one chain of all states, to first order in what these add to the answer of all chains.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct PathTracePoint {
    /// The chain, from 1.
    pub chain: usize,
    /// Its draws so far.
    pub draws: usize,
    /// The estimate.
    pub log_z: f64,
}

/// log Z by a path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PathEstimate {
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
    pub states: states::StatesEstimate,
    /// The moves that the chains made.
    pub moves: Option<Moves>,
    /// The noise in words.
    pub noise: String,
    /// Draws of every state.
    pub draws: usize,
    /// Steps that the chains made for every draw: as many as asked for, and up to four times that where the warm-up was slow.
    pub thin: usize,
    /// Trips that points made from the noise to the density and back, in all chains together.
    pub round_trips: usize,
    /// log Z as every chain goes on.
    pub trace: Vec<PathTracePoint>,
    /// Probability that the interval is to cover.
    pub confidence: f64,
    /// What the reader should know.
    pub warnings: Vec<PathWarning>,
}

/// Joins the samples of all states; `missed` is a place of high density that they never came to.
pub(super) fn assemble(
    problem: &Problem<'_>,
    places: &[f64],
    tempered: &Tempered,
    missed: Option<PathWarning>,
    options: &PathOptions,
) -> Result<PathEstimate> {
    let samples = &tempered.samples;
    let all_of = |of: fn(&Sample) -> &[f64]| -> Vec<f64> {
        samples.iter().flat_map(|sample| of(sample).iter().copied()).collect()
    };
    let (log_noise, log_density) = (all_of(|s| &s.log_noise), all_of(|s| &s.log_density));
    let labels: Vec<usize> = samples
        .iter()
        .flat_map(|sample| sample.lengths.iter().enumerate())
        .flat_map(|(label, length)| std::iter::repeat_n(label, *length))
        .collect();
    let column = |t: &f64| {
        let ends = log_noise.iter().zip(&log_density);
        ends.map(|(n, f)| Bridge::value(*t, *n, *f)).collect::<Vec<_>>()
    };
    let columns: Vec<Vec<f64>> = places.iter().map(column).collect();
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let counts: Vec<usize> = samples.iter().map(|sample| sample.points.rows()).collect();
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&counts), chains: Some(&labels) };
    let chains = states::StatesOptions { dependence: Dependence::Chains, ..Default::default() };
    let (all, influence) = states::side_by_side(&pooled, &chains)?;
    let errors = Errors { influence: influence.as_ref() };
    Ok(PathEstimate::new(problem, places, tempered, missed, all, &errors, options))
}

/// The largest split R̂ of the log-ratio and of every variable that is a number.
fn r_hat(problem: &Problem<'_>, sample: &Sample) -> f64 {
    let ends = sample.log_density.iter().zip(&sample.log_noise);
    let ratio: Vec<f64> = ends.map(|(f, n)| (f - n).clamp(-1e300, 1e300)).collect();
    let domains = problem.density.space().domains().iter().enumerate();
    // Angles that lie on both sides of the cut have no mean.
    let numbers = domains.filter(|(_, domain)| !domain.is_discrete() && **domain != Domain::Circle);
    let columns = numbers.map(|(axis, _)| sample.points.view().column(axis));
    let all = columns.chain([ratio.as_slice()]).map(|values| convergence(values, &sample.lengths).r_hat);
    all.filter(|r| !r.is_nan()).fold(f64::NAN, f64::max)
}

/// The direction in which the last state's chains are slowest, where they are worth too few draws: every variable that is a
/// number, its square about the mean, and the log-density.
fn slow_direction(problem: &Problem<'_>, sample: &Sample) -> Option<PathWarning> {
    let space = problem.density.space();
    let numbers = (0..space.dimension())
        .filter(|axis| !space.domains()[*axis].is_discrete() && space.domains()[*axis] != Domain::Circle);
    let named = numbers.map(|axis| (space.names()[axis].as_str(), sample.points.view().column(axis)));
    let ess = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: Vec<f64> = values.iter().map(|v| (v - mean).powi(2)).collect();
        let of = |values: &[f64]| convergence(values, &sample.lengths).ess;
        of(values).min(of(&squares))
    };
    named
        .chain([("log density", sample.log_density.as_slice())])
        .map(|(name, values)| (name, ess(values)))
        .filter(|(_, ess)| *ess < FEWEST_DRAWS)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(name, ess)| PathWarning::SlowDirection { of: name.to_owned(), ess })
}

/// The errors of differences of log-normalizers, from what every step of the chains adds to them.
struct Errors<'a> {
    influence: Option<&'a states::Influence>,
}

/// An error with how well it is known.
#[derive(Clone, Copy, Debug)]
struct Error {
    /// The standard deviation of the estimate, before what is uncertain about it.
    plain: f64,
    freedom: f64,
    /// How many times larger it is than the chains' autocorrelation alone says.
    factor: f64,
}

impl Error {
    /// Nothing is known.
    const NONE: Self = Self { plain: f64::INFINITY, freedom: f64::INFINITY, factor: 1.0 };

    fn se(&self) -> f64 {
        self.plain * student_deviation(self.freedom)
    }
}

impl Errors<'_> {
    /// What the first draws of every chain say of the log-normalizer of a state, the answer of all of them being given.
    fn trace(&self, state: usize, log_z: f64) -> Vec<PathTracePoint> {
        let influence = self.influence.map_or(&[][..], |influence| influence.as_slice());
        let all: usize = influence.iter().map(|chain| chain[state].len()).sum();
        let mut trace = Vec::new();
        for (chain, series) in influence.iter().enumerate() {
            let (series, mut seen, mut sum) = (series[state].iter().zip(&series[0]), 0, 0.0);
            let length = series.len();
            let added: Vec<f64> = series.map(|(a, b)| a - b).collect();
            for step in 1..=TRACED.min(length) {
                let draws = step * length / TRACED.min(length);
                sum += added[seen..draws].iter().sum::<f64>();
                seen = draws;
                let log_z = log_z + sum * all as f64 / draws as f64;
                trace.push(PathTracePoint { chain: chain + 1, draws, log_z });
            }
        }
        trace
    }

    /// The error of `log Z` of one state less that of another.
    fn of(&self, from: usize, to: usize) -> Error {
        let Some(influence) = self.influence else { return Error::NONE };
        if from == to {
            return Error { plain: 0.0, ..Error::NONE };
        }
        let lengths: Vec<usize> = influence.iter().map(|chain| chain[to].len()).collect();
        let series: Vec<f64> = influence
            .iter()
            .flat_map(|chain| chain[to].iter().zip(&chain[from]).map(|(a, b)| a - b))
            .collect();
        let count = series.len() as f64;
        let squares = series.iter().map(|s| s * s).sum();
        let run = long_run(&series, &vec![1.0; series.len()], &lengths, LongRun::independent(squares, count));
        if run.variance_of_sum.is_nan() || run.variance_of_sum <= 0.0 {
            return Error { plain: 0.0, ..Error::NONE };
        }
        if run.is_too_short(FEWEST_EFFECTIVE_ROWS) {
            return Error { plain: run.variance_of_sum.sqrt(), freedom: 1.0, factor: 1.0 };
        }
        let (between, freedom) = between(&series, &lengths);
        // Wilson and Hilferty's quantile of χ² over its degrees of freedom.
        let spread = 2.0 / (9.0 * freedom);
        let no_accident = (1.0 - spread + NO_ACCIDENT * spread.sqrt()).powi(3);
        let factor = (between / run.variance_of_sum).sqrt();
        if factor * factor > no_accident {
            return Error { plain: between.sqrt(), freedom, factor };
        }
        Error { plain: run.variance_of_sum.sqrt(), freedom: run.freedom, factor: 1.0 }
    }
}

/// The variance of the sum of a series from the sums over the halves of every chain, and its degrees of freedom.
fn between(series: &[f64], lengths: &[usize]) -> (f64, f64) {
    let (mut sums, mut start) = (Vec::new(), 0);
    for &length in lengths {
        let (first, second) = series[start..start + length].split_at(length / 2);
        sums.extend([first, second].map(|half| half.iter().sum::<f64>()));
        start += length;
    }
    let count = sums.len() as f64;
    let mean = sums.iter().sum::<f64>() / count;
    let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
    (squares * count / (count - 1.0), count - 1.0)
}

impl PathEstimate {
    /// Why there is no answer, if there is none: the code of what makes the error infinite, and a sentence.
    #[must_use]
    pub fn refused(&self) -> Option<(&'static str, String)> {
        const BROKEN: &str = "no path of states with a finite error leads from the noise to the model";
        if self.se.is_finite() {
            return None;
        }
        let fatal = self.warnings.iter().rev().find(|warning| warning.is_fatal());
        Some(fatal.map_or_else(
            || ("broken-path", BROKEN.into()),
            |warning| (warning.code(), warning.sentence(&self.nodes)),
        ))
    }

    /// The warnings, one sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.warnings.iter().map(|warning| warning.sentence(&self.nodes)).collect()
    }

    fn new(
        problem: &Problem<'_>,
        places: &[f64],
        tempered: &Tempered,
        missed: Option<PathWarning>,
        all: states::StatesEstimate,
        errors: &Errors<'_>,
        options: &PathOptions,
    ) -> Self {
        let samples = &tempered.samples;
        let nodes: Vec<Node> = (0..places.len())
            .map(|k| Node {
                t: places[k],
                log_z: all.log_z()[k],
                se: errors.of(0, k).se(),
                step_se: errors.of(k.saturating_sub(1), k).se(),
                acceptance: samples[k].acceptance,
                exchange: samples[k].exchange,
                r_hat: r_hat(problem, &samples[k]),
                inefficiency: all.inefficiency()[k],
            })
            .collect();
        let last = places.len() - 1;
        let log_z = all.log_z()[last] - all.log_z()[0];
        let error = if missed.is_some() { Error::NONE } else { errors.of(0, last) };
        let reach = two_sided(options.confidence, error.freedom) * error.plain + rounding(log_z);
        let known = error.se().is_finite();
        let mut warnings = warnings(&nodes, &all);
        warnings.extend(samples.last().and_then(|sample| slow_direction(problem, sample)));
        if error.factor > 1.0 {
            warnings.push(PathWarning::PathsDisagree { factor: error.factor });
        }
        if !known && error.plain.is_finite() {
            warnings.push(PathWarning::TooFewSteps);
        }
        warnings.extend(missed);
        Self {
            log_z,
            se: error.se(),
            lower: if known { log_z - reach } else { f64::NEG_INFINITY },
            upper: if known { log_z + reach } else { f64::INFINITY },
            warnings,
            nodes,
            states: all,
            moves: samples.last().and_then(|sample| sample.moves),
            noise: problem.noise.describe(),
            draws: options.draws,
            thin: tempered.thin,
            round_trips: tempered.round_trips,
            trace: errors.trace(last, log_z),
            confidence: options.confidence,
        }
    }
}

fn warnings(nodes: &[Node], all: &states::StatesEstimate) -> Vec<PathWarning> {
    // The error is not made from the states' own chains, but from all of them side by side.
    let own = |warning: &&states::StatesWarning| {
        use states::StatesWarning::{Contradiction, ShortChains};
        !matches!(warning, ShortChains { .. } | Contradiction { .. })
    };
    let mut warnings: Vec<PathWarning> =
        all.warnings().iter().filter(own).cloned().map(PathWarning::States).collect();
    for (state, node) in nodes.iter().enumerate().skip(1) {
        if node.r_hat > AGREE {
            warnings.push(PathWarning::ChainsDisagree { state, t: node.t, r_hat: node.r_hat });
        }
        if node.acceptance < STUCK {
            warnings.push(PathWarning::HardlyMoves { state, t: node.t, acceptance: node.acceptance });
        }
    }
    warnings
}
