//! What results, options and errors are made of: the types of their fields, which a program reads and need not name.
//!
//! All may grow: they are `#[non_exhaustive]`, or written by `..Default::default()`.

pub use crate::after::compare::{Comparison, LikelihoodRatio, ModelScore, SharedEstimate, SharedParameter};
pub use crate::after::joint::JointEstimate;
pub use crate::after::log_density::LogDensity;
pub use crate::after::row_means::RowMeans;
pub use crate::after::simulate::Simulated;
pub use crate::after::wald::WaldTest;
pub use crate::asymptotics::Asymptotics;
pub use crate::chain::run::ChainOptions;
pub use crate::density::{BatchDensity, FunctionDensity};
pub use crate::design::exact::OptimalNoise;
pub use crate::design::family::{Builder, FamilyOptimum, Member};
pub use crate::design::mixture::MixtureDesign;
pub use crate::design::noise::{ModelNoise, Shape};
pub use crate::design::proportion::Curve;
pub use crate::divergence::{Divergences, NormalizerErrors};
pub use crate::energy::{Dof, FamilyInfo};
pub use crate::error::{ChainFault, DesignFault, ErrorSubject, ExternalError, OptionFault, Quantity};
pub use crate::fit::bootstrap::{Bootstrap, BootstrapEstimate, ReplicateAnswer, ReplicateHook, Resampled};
pub use crate::fit::curvature::Curvature;
pub use crate::fit::diagnostics::{
    Against, ChiSquareTest, Diagnostics, DivergingParameter, ErrorBudget, Finding, NotNormalizable, Overlap,
    RatioCheck, Remedy, Runaway, Separation, Setting, Tails, Warning,
};
pub use crate::fit::held_out::HeldOut;
pub use crate::fit::optimal::OptimalReport;
pub use crate::fit::options::{Draws, NoiseFiles, NoiseInWords};
pub use crate::fit::penalized::{PathPoint, PenaltyKind, PenaltyReport, Strength, StrengthRule};
pub use crate::fit::ratio::{
    BasisCandidate, BridgeReport, ImportanceWeights, InformationTrial, LogRatio, RatioDivergences, RatioFit,
    RatioOptions, TwoSampleTest,
};
pub use crate::fit::result::Optimum;
pub use crate::fit::two_step::TwoStepReport;
pub use crate::noise::language::{NoiseContext, WordsError};
pub use crate::noise::{FitAgain, Refit, SavedNoise};
pub use crate::normalizer::allocation::{Allocation, EstimatedDivergences};
pub use crate::normalizer::alpha::LogAlpha;
pub use crate::normalizer::evidence::{BayesFactor, EvidenceOptions, TracePoint};
pub use crate::normalizer::path::{Node, PathOptions, PathTracePoint, PathWarning};
pub use crate::normalizer::refusal::{Reason, Refusal};
pub use crate::normalizer::result::{LogZWarning, NormalizerEstimate, SampleSummary, Side};
pub use crate::normalizer::states::convergence::Convergence;
pub use crate::normalizer::states::equilibration::Equilibration;
pub use crate::normalizer::states::expectations::{Expectations, NamedExpectations};
pub use crate::normalizer::states::result::StatesWarning;
pub use crate::normalizer::states::reweighting::{Energies, Reweighting};
pub use crate::normalizer::states::serial::NamedStates;
pub use crate::normalizer::states::surface::{
    Bins, NamedSurface, Smoothing, Surface, SurfaceReference, SurfaceWarning,
};
pub use crate::population::{Accuracy, Divergent, Method};
pub use crate::run::progress::{ProgressHook, Stage};
pub use noisewright_numerics::optimize::Stop;

pub use crate::serial::to_json_with_matrices;
