//! The log-normalizers of many states with their errors, and what the reader should know about them.

use nalgebra::DMatrix;

use super::super::interval::student_deviation;
use super::StatesOptions;
use super::covariance::Heavy;

use crate::tolerance::HEAVY_TAIL;

/// Effective draws below which an error bar is only a hint.
const FEW: f64 = 50.0;
/// Variances below this are the rounding of identical states.
const ROUNDING: f64 = 1e-29;

/// What the reader should know before trusting the numbers. States are numbered from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StatesWarning {
    /// Groups of states between which too few draws go over: ratios across them have an infinite error.
    Disconnected {
        /// The groups, each a list of states.
        groups: Vec<Vec<usize>>,
    },
    /// The solver ran out of steps.
    NotConverged,
    /// A state whose weights rest on few draws.
    FewEffectiveDraws {
        /// The state.
        state: usize,
        /// Draws that its weights are worth.
        effective: f64,
    },
    /// Chains too short to know how dependent their draws are: what rests on them has an infinite error.
    ShortChains {
        /// The state.
        state: usize,
    },
    /// Chains that never move: what rests on them has an infinite error.
    StandsStill {
        /// The state.
        state: usize,
    },
    /// Draws of two states that cannot be draws of both.
    Contradiction {
        /// The two states.
        states: [usize; 2],
        /// By how many standard errors they contradict each other about their log ratio.
        standard_errors: f64,
    },
    /// Draws that are said to be independent, and are not.
    NotIndependent {
        /// The state.
        state: usize,
        /// The correlation of neighbours.
        correlation: f64,
    },
    /// Draws that are there more than once.
    RepeatedDraws {
        /// The state.
        state: usize,
    },
    /// A state without draws that reaches farther than the draws do: its error is infinite.
    HeavyTail {
        /// The state.
        state: usize,
        /// Pareto shape of its weights.
        pareto_k: f64,
    },
    /// A state with hardly any draws of its own, of whose weights one is too large: its error is infinite.
    LargestWeight {
        /// The state.
        state: usize,
        /// Share of the largest weight in the sum of all.
        share: f64,
    },
    /// A state without draws whose density is zero at all draws.
    ZeroDensity {
        /// The state.
        state: usize,
    },
}

impl StatesWarning {
    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Disconnected { .. } => "disconnected",
            Self::NotConverged => "not-converged",
            Self::FewEffectiveDraws { .. } => "few-effective-draws",
            Self::ShortChains { .. } => "short-chains",
            Self::StandsStill { .. } => "stands-still",
            Self::Contradiction { .. } => "contradiction",
            Self::NotIndependent { .. } => "not-independent",
            Self::RepeatedDraws { .. } => "repeated-draws",
            Self::HeavyTail { .. } => "heavy-tail",
            Self::LargestWeight { .. } => "largest-weight",
            Self::ZeroDensity { .. } => "zero-density",
        }
    }

    /// How many states must have names for the sentence.
    pub(crate) fn named_states(&self) -> usize {
        match self {
            Self::NotConverged => 0,
            Self::Disconnected { groups } => groups.iter().flatten().max().map_or(0, |last| last + 1),
            Self::FewEffectiveDraws { state, .. }
            | Self::ShortChains { state }
            | Self::StandsStill { state }
            | Self::HeavyTail { state, .. }
            | Self::LargestWeight { state, .. }
            | Self::NotIndependent { state, .. }
            | Self::RepeatedDraws { state }
            | Self::ZeroDensity { state } => state + 1,
            Self::Contradiction { states: [a, b], .. } => 1 + a.max(b),
        }
    }

    /// One sentence, with the states by their names.
    ///
    /// # Panics
    /// When there are fewer names than states.
    #[must_use]
    pub fn sentence<S: AsRef<str>>(&self, names: &[S]) -> String {
        let name = |k: usize| names[k].as_ref();
        match self {
            Self::Disconnected { groups } => apart(groups, names),
            Self::NotConverged => {
                "the solver ran out of steps: the numbers are not the solution; check the log-densities"
                    .into()
            }
            Self::FewEffectiveDraws { state, effective } => format!(
                "state {} rests on {effective:.1} effective draws, so its error is only a hint: draw more from it or \
                 near it",
                name(*state)
            ),
            Self::ShortChains { state } => format!(
                "the chains of state {} are too short for how dependent their draws are: errors that rest on them are not \
                 known; run them longer",
                name(*state)
            ),
            Self::StandsStill { state } => format!(
                "all draws of state {} have the same log-densities: its chains do not move, so errors that rest on them are \
                 not known",
                name(*state)
            ),
            Self::Contradiction { states: [a, b], standard_errors } => format!(
                "the draws of states {} and {} contradict each other by {standard_errors:.0} standard errors: they do not look \
                 like draws of these densities, so do not trust log Z; check signs, units and the states of the draws",
                name(*a),
                name(*b)
            ),
            Self::NotIndependent { state, correlation } => format!(
                "the draws of state {} are said to be independent, but neighbours among them have a correlation of \
                 {correlation:.2}: the errors are too small; give them as chains",
                name(*state)
            ),
            Self::RepeatedDraws { state } => format!(
                "a stretch of the draws of state {} is there more than once, to the last digit: copies say nothing new, so the \
                 errors are too small; leave them out",
                name(*state)
            ),
            Self::HeavyTail { state, pareto_k } => heavy_tail(name(*state), *pareto_k),
            Self::LargestWeight { state, share } => format!(
                "a single draw makes up {:.1} % of the weights of state {}, so its error is not known: sample it, or a state \
                 between it and the others",
                100.0 * share,
                name(*state)
            ),
            Self::ZeroDensity { state } => {
                format!("state {} has density zero at all draws: its log-normalizer is −∞", name(*state))
            }
        }
    }
}

/// That states do not hang together.
fn apart<S: AsRef<str>>(groups: &[Vec<usize>], names: &[S]) -> String {
    let list = |group: &Vec<usize>| group.iter().map(|k| names[*k].as_ref()).collect::<Vec<_>>().join(", ");
    let groups = groups.iter().map(|group| format!("{{{}}}", list(group))).collect::<Vec<_>>();
    format!(
        "the states fall into groups that hardly overlap, {}: nothing can be said about ratios between them; add states in \
         between, or more draws",
        groups.join(" and ")
    )
}

/// That a state reaches, or may reach, farther than the draws.
fn heavy_tail(name: &str, pareto_k: f64) -> String {
    let tail = if pareto_k > HEAVY_TAIL {
        format!("have too heavy a tail (Pareto k = {pareto_k:.2}, above {HEAVY_TAIL})")
    } else {
        format!(
            "may have too heavy a tail (Pareto k = {pareto_k:.2}, too uncertain to be below {HEAVY_TAIL})"
        )
    };
    format!(
        "the weights of state {name} {tail}, so its error is not known: sample it, or a state between it and the others"
    )
}

impl Heavy {
    /// What the reader is told of a state whose weights are so.
    pub(super) fn warning(self, state: usize) -> StatesWarning {
        match self {
            Self::Tail(pareto_k) => StatesWarning::HeavyTail { state, pareto_k },
            Self::Largest(share) => StatesWarning::LargestWeight { state, share },
        }
    }
}

/// The log-normalizers of all states.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StatesEstimate {
    log_z: Vec<f64>,
    covariance: DMatrix<f64>,
    /// Degrees of freedom of the errors relative to the reference, or to the first state of another group.
    freedom: Vec<f64>,
    reference: usize,
    group_of: Vec<usize>,
    groups: Vec<Vec<usize>>,
    overlap: DMatrix<f64>,
    effective: Vec<f64>,
    inefficiency: Vec<f64>,
    converged: bool,
    evaluations: usize,
    draws: Vec<usize>,
    warnings: Vec<StatesWarning>,
}

impl StatesEstimate {
    /// `log Z_k` of every state, relative to the reference.
    #[must_use]
    pub fn log_z(&self) -> &[f64] {
        &self.log_z
    }

    /// Standard errors of [`log_z`](Self::log_z): 0 for the reference, infinite for states that hardly overlap with its
    /// group or where the chains are too short. They allow for what is uncertain about the variance of chains.
    #[must_use]
    pub fn se(&self) -> Vec<f64> {
        (0..self.log_z.len()).map(|k| self.difference(self.reference, k).1).collect()
    }

    /// `log Z_j − log Z_i` and its standard error.
    ///
    /// # Panics
    /// When there is no such state.
    #[must_use]
    pub fn difference(&self, i: usize, j: usize) -> (f64, f64) {
        let value = self.log_z[j] - self.log_z[i];
        if i == j {
            return (0.0, 0.0);
        }
        if self.group_of[i] != self.group_of[j] {
            return (value, f64::INFINITY);
        }
        let c = &self.covariance;
        let variance = c[(i, i)] - 2.0 * c[(i, j)] + c[(j, j)];
        // Errors that are themselves estimated add to a z-score; known exactly where one of the two is the reference.
        let widening = student_deviation(self.freedom[i].min(self.freedom[j]));
        let error = if variance.is_nan() {
            f64::INFINITY
        } else if variance > ROUNDING {
            // Beside numbers of 1e15 nothing smaller than their rounding is known.
            let size = self.log_z[i].abs().max(self.log_z[j].abs());
            (widening * variance.sqrt()).hypot(16.0 * f64::EPSILON * size)
        } else {
            0.0
        };
        (value, error)
    }

    /// The same with more for the reader to know.
    pub(super) fn with_warnings(mut self, more: Vec<StatesWarning>) -> Self {
        self.warnings.extend(more);
        self
    }

    /// The covariance of `log Z_i` and `log Z_j`, both relative to the reference: infinite when a state in it hardly
    /// overlaps with the reference, or nothing is known about its error.
    ///
    /// # Panics
    /// When there is no such state.
    #[must_use]
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        let r = self.reference;
        if i == r || j == r {
            return 0.0;
        }
        if self.group_of[i] != self.group_of[r] || self.group_of[j] != self.group_of[r] {
            return f64::INFINITY;
        }
        let c = &self.covariance;
        let value = c[(i, j)] - c[(i, r)] - c[(r, j)] + c[(r, r)];
        if value.is_nan() { f64::INFINITY } else { value }
    }

    /// The state that all others are relative to.
    #[must_use]
    pub fn reference(&self) -> usize {
        self.reference
    }

    /// `O_kl`: the share of state l among the draws as state k weighs them. Rows sum to one; the closer the matrix is
    /// to blocks, the less is known about ratios between the blocks.
    #[must_use]
    pub fn overlap(&self) -> &DMatrix<f64> {
        &self.overlap
    }

    /// How many draws the weights of each state are worth, `1/Σ_n W_nk²`, before any dependence of the draws.
    #[must_use]
    pub fn ess(&self) -> &[f64] {
        &self.effective
    }

    /// How many draws come from each state.
    #[must_use]
    pub fn draws(&self) -> &[usize] {
        &self.draws
    }

    /// How many draws of each state are worth one independent draw; 1 for independent draws and states without any.
    #[must_use]
    pub fn inefficiency(&self) -> &[f64] {
        &self.inefficiency
    }

    /// The states in groups, within which ratios are known and across which they are not; one group is what one wants.
    #[must_use]
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// Whether the solver came to its end.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// How often all draws were gone over.
    #[must_use]
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// What the reader should know.
    #[must_use]
    pub fn warnings(&self) -> &[StatesWarning] {
        &self.warnings
    }
}

/// Everything that is known, in the solver's order of the states.
pub(super) struct Parts {
    pub(super) log_z: Vec<f64>,
    pub(super) covariance: DMatrix<f64>,
    pub(super) freedom: Vec<f64>,
    pub(super) groups: Vec<Vec<usize>>,
    pub(super) overlap: DMatrix<f64>,
    pub(super) effective: Vec<f64>,
    pub(super) heavy: Vec<Option<Heavy>>,
    pub(super) counts: Vec<f64>,
    pub(super) inefficiency: Vec<f64>,
    pub(super) short_chains: Vec<usize>,
    pub(super) still: Vec<usize>,
    pub(super) converged: bool,
    pub(super) evaluations: usize,
}

impl Parts {
    /// The result in the caller's order: state k of the caller is number `place[k]` here.
    pub(super) fn in_order(self, place: &[usize], options: &StatesOptions) -> StatesEstimate {
        let states = place.len();
        let mut caller = vec![0; states];
        place.iter().enumerate().for_each(|(k, at)| caller[*at] = k);
        let shift = options.reference_log_z - self.log_z[place[options.reference]];
        let matrix = |m: &DMatrix<f64>| DMatrix::from_fn(states, states, |i, j| m[(place[i], place[j])]);
        let vector = |v: &[f64]| place.iter().map(|at| v[*at]).collect::<Vec<_>>();
        let mut groups: Vec<Vec<usize>> =
            self.groups.iter().map(|group| group.iter().map(|at| caller[*at]).collect()).collect();
        groups.iter_mut().for_each(|group: &mut Vec<usize>| group.sort_unstable());
        groups.sort_unstable();
        let mut group_of = vec![0; states];
        for (index, group) in groups.iter().enumerate() {
            group.iter().for_each(|k| group_of[*k] = index);
        }
        let log_z = vector(&self.log_z);
        StatesEstimate {
            warnings: self.warnings(&log_z, &caller, &groups),
            log_z: log_z.iter().map(|v| v + shift).collect(),
            covariance: matrix(&self.covariance),
            freedom: vector(&self.freedom),
            reference: options.reference,
            overlap: matrix(&self.overlap),
            effective: vector(&self.effective),
            inefficiency: vector(&self.inefficiency),
            draws: vector(&self.counts).into_iter().map(|count| count as usize).collect(),
            converged: self.converged,
            evaluations: self.evaluations,
            group_of,
            groups,
        }
    }

    fn warnings(&self, log_z: &[f64], caller: &[usize], groups: &[Vec<usize>]) -> Vec<StatesWarning> {
        let mut warnings = Vec::new();
        if !self.converged {
            warnings.push(StatesWarning::NotConverged);
        }
        let heavy: Vec<(usize, Heavy)> =
            self.heavy.iter().zip(caller).filter_map(|(k, state)| k.map(|k| (*state, k))).collect();
        // A state of its own for its heavy tail is told apart.
        let alone = |group: &Vec<usize>| heavy.iter().any(|(state, _)| *group == [*state]);
        if groups.iter().filter(|group| !alone(group)).count() > 1 {
            warnings.push(StatesWarning::Disconnected { groups: groups.to_vec() });
        }
        warnings.extend(heavy.iter().map(|&(state, heavy)| heavy.warning(state)));
        for (at, &effective) in self.effective.iter().enumerate() {
            let state = caller[at];
            if log_z[state] == f64::NEG_INFINITY {
                warnings.push(StatesWarning::ZeroDensity { state });
            } else if effective < FEW && effective < 0.9 * self.counts[at].max(FEW) {
                warnings.push(StatesWarning::FewEffectiveDraws { state, effective });
            }
        }
        warnings.extend(self.still.iter().map(|at| StatesWarning::StandsStill { state: caller[*at] }));
        warnings.extend(self.short_chains.iter().map(|at| StatesWarning::ShortChains { state: caller[*at] }));
        warnings
    }
}
