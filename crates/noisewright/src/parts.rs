//! What results, options and errors are made of: the types of their fields, which a program reads and need not name.
//!
//! All may grow: they are `#[non_exhaustive]`, or written by `..Default::default()`.

pub use crate::after::{
    Comparison, JointEstimate, LikelihoodRatio, LogDensity, ModelScore, RowMeans, SharedEstimate,
    SharedParameter, Simulated, WaldTest,
};
pub use crate::asymptotics::Asymptotics;
pub use crate::chain::ChainOptions;
pub use crate::density::{BatchDensity, FunctionDensity};
pub use crate::design::{
    Builder, Curve, FamilyOptimum, Member, MixtureDesign, ModelNoise, OptimalNoise, Shape,
};
pub use crate::divergence::{Divergences, NormalizerErrors};
pub use crate::energy::{Dof, FamilyInfo};
pub use crate::error::{ChainFault, DesignFault, ExternalError, OptionFault, Quantity};
pub use crate::fit::diagnostics::{
    Against, ChiSquareTest, DivergingParameter, ErrorBudget, NotNormalizable, Overlap, RatioCheck, Runaway,
    Separation, Tails,
};
pub use crate::fit::{
    BasisCandidate, Bootstrap, BootstrapEstimate, BridgeReport, Curvature, Diagnostics, Draws, Finding,
    HeldOut, ImportanceWeights, InformationTrial, LogRatio, OptimalReport, Optimum, PathPoint, PenaltyKind,
    PenaltyReport, RatioDivergences, RatioOptions, Remedy, Resampled, Setting, Stop, Strength, StrengthRule,
    TwoSampleTest, TwoStepReport, Warning,
};
pub use crate::noise::Refit;
pub use crate::noise::language::WordsError;
pub use crate::normalizer::path::{Node, PathTracePoint, PathWarning};
pub use crate::normalizer::states::{
    Bins, Convergence, Energies, Equilibration, Expectations, NamedExpectations, NamedStates, NamedSurface,
    Reweighting, Smoothing, StatesWarning, Surface, SurfaceReference, SurfaceWarning,
};
pub use crate::normalizer::{
    Allocation, BayesFactor, EstimatedDivergences, EvidenceOptions, LogAlpha, LogZWarning,
    NormalizerEstimate, PathOptions, Reason, Refusal, SampleSummary, Side, TracePoint,
};
pub use crate::population::{Accuracy, Divergent, Method};
pub use crate::run::{ProgressHook, Stage};
