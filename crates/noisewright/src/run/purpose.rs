//! What random numbers are for.

use noisewright_numerics::random::{Stream, keyed_stream};

use super::Context;

/// What random numbers are for: every purpose has streams of its own, which no other shares at any seed.
///
/// The key of the generator is the seed, the purpose and the place within the purpose, and one key has 2⁶⁴ streams:
/// the block. So `sample` and `fit` at the same seed are independent, as are seeds s and s + 1.
///
/// ```
/// use rand::Rng;
/// use noisewright::internal::run::Purpose;
/// let first = |purpose: Purpose, seed| purpose.stream(seed, 0).next_u64();
/// assert_eq!(first(Purpose::Sample, 1), first(Purpose::Sample, 1));
/// assert_ne!(first(Purpose::Sample, 1), first(Purpose::FitNoise, 1));
/// assert_ne!(first(Purpose::PathMoves { stage: 1 }, 1), first(Purpose::PathMoves { stage: 0 }, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// Draws that the caller asked for ([`sample`](crate::sample)).
    Sample,
    /// The noise of a fit.
    FitNoise,
    /// Start values of a multistart.
    FitStarts,
    /// Places that are looked at for start values.
    FitPlaces,
    /// The second fit of the noise `optimal`, whose noise is designed at the first.
    FitOptimal,
    /// The fit with more noise that judges how much there is.
    FitRatioCheck,
    /// The noise of a test on a part of the rows, and the parts themselves.
    CrossFit {
        /// Which part; one past the last for how the rows are dealt.
        part: u64,
    },
    /// Resamples of a bootstrap.
    Bootstrap,
    /// The noise of an evidence: for the first half, the second, or a trial of noises.
    EvidenceNoise {
        /// Which of them.
        stage: u64,
    },
    /// The swarm at the noise end of a path.
    PathNoise,
    /// Moves of the swarm at one bridge of a path.
    PathMoves {
        /// The bridge.
        stage: u64,
    },
    /// Resampling of the swarm on the way to one bridge of a path.
    PathResampling {
        /// The bridge.
        stage: u64,
    },
    /// Draws of a swarm that the chains of one state of a path start from.
    TemperingStarts {
        /// The state.
        state: u64,
    },
    /// Moves and exchanges of the chains of all states of a path.
    Tempering,
    /// Chains that look for modes which a path never came to.
    MissedModes,
    /// Chains that a noise for a path is fitted to.
    PathNoiseFit,
    /// Starts of chains that are far apart.
    ChainStarts,
    /// A Markov chain.
    Chain,
    /// Draws of a population's importance sampling.
    PopulationProposal {
        /// A stage of the adaptation, or zero for the draws themselves.
        stage: u64,
        /// A component of the proposal.
        component: u64,
    },
    /// Directions in which tails are examined in many variables, and climbs far out.
    PopulationTails {
        /// Which of the two.
        kind: u64,
    },
    /// Candidates for modes on a sphere.
    SphereCandidates,
    /// Starts of a search for the best member of a family.
    DesignStarts,
    /// Draws that stand in for data where a noise is to be fitted to a model.
    DesignStandIn,
    /// Probes whether a density integrates: the same at every run.
    IntegrabilityProbe {
        /// Which probe.
        kind: u64,
    },
    /// Quasi-random points that are searched for modes: the same at every run.
    ModeProbe,
    /// The noise that a normalizing constant is found against.
    LogZNoise,
    /// A second pilot of a path, led by itself.
    SecondPilot,
    /// Scrambles of the quiet noise of a fit.
    QuietNoise,
    /// The scramble of quiet draws that the caller asked for.
    QuietSample,
    /// Scrambles of the quiet noise of an evidence: for the first half, the second, or a trial of noises.
    QuietEvidence {
        /// Which of them.
        stage: u64,
    },
    /// Scrambles of quiet draws of a designed noise.
    QuietDesign,
    /// Draws of a fitted model.
    Simulate,
    /// Rows of a bootstrap sample, and the seed of its noise.
    BootstrapRows,
    /// Folds of a cross-validation.
    Folds {
        /// Of the data, or of the noise.
        side: u64,
    },
    /// Permutations of the labels of two samples.
    Permutation,
    /// The order in which rows are taken for draws of the product of their marginals.
    ProductOrder,
    /// Noise points of every row of a conditional model once more, from which their error is told.
    NoiseGivenAgain,
}

impl Purpose {
    /// The stream of one block of work: the same for the same seed, purpose and block.
    #[must_use]
    pub fn stream(self, seed: u64, block: u64) -> Stream {
        let (purpose, index, part) = self.key();
        keyed_stream([seed, purpose, index, part], block)
    }

    /// The stream of a probe that is the same at every run, whatever the seed.
    pub(crate) fn fixed_stream(self) -> Stream {
        self.stream(0, 0)
    }

    /// A seed for a computation within another.
    pub(crate) fn seed(self, seed: u64, index: u64) -> u64 {
        use rand::Rng;
        // Streams with numbers from the other end are seeds, never draws.
        self.stream(seed, !index).next_u64()
    }

    /// The number of the purpose, which must never change, and the place within it.
    fn key(self) -> (u64, u64, u64) {
        match self {
            Self::Sample => (0, 0, 0),
            Self::FitNoise => (1, 0, 0),
            Self::FitStarts => (2, 0, 0),
            Self::FitPlaces => (3, 0, 0),
            Self::FitOptimal => (4, 0, 0),
            Self::FitRatioCheck => (5, 0, 0),
            Self::Bootstrap => (6, 0, 0),
            Self::EvidenceNoise { stage } => (7, stage, 0),
            Self::PathNoise => (8, 0, 0),
            Self::PathMoves { stage } => (9, stage, 0),
            Self::PathResampling { stage } => (10, stage, 0),
            Self::TemperingStarts { state } => (11, state, 0),
            Self::Tempering => (12, 0, 0),
            Self::MissedModes => (13, 0, 0),
            Self::PathNoiseFit => (14, 0, 0),
            Self::ChainStarts => (15, 0, 0),
            Self::Chain => (16, 0, 0),
            Self::PopulationProposal { stage, component } => (18, stage, component),
            Self::PopulationTails { kind } => (19, kind, 0),
            Self::SphereCandidates => (20, 0, 0),
            Self::DesignStarts => (21, 0, 0),
            Self::DesignStandIn => (22, 0, 0),
            Self::IntegrabilityProbe { kind } => (23, kind, 0),
            Self::ModeProbe => (24, 0, 0),
            Self::LogZNoise => (25, 0, 0),
            Self::CrossFit { part } => (26, part, 0),
            Self::SecondPilot => (27, 0, 0),
            Self::QuietNoise => (28, 0, 0),
            Self::QuietSample => (29, 0, 0),
            Self::QuietEvidence { stage } => (30, stage, 0),
            Self::QuietDesign => (31, 0, 0),
            Self::Simulate => (36, 0, 0),
            Self::BootstrapRows => (51, 0, 0),
            Self::Folds { side } => (50, side, 0),
            Self::Permutation => (60, 0, 0),
            Self::ProductOrder => (61, 0, 0),
            Self::NoiseGivenAgain => (62, 0, 0),
        }
    }
}

impl Context {
    /// The stream of one block of work for a purpose.
    #[must_use]
    pub fn stream(&self, purpose: Purpose, block: u64) -> Stream {
        purpose.stream(self.seed(), block)
    }
}
