//! What the command, the bindings, the lab, the paper and this crate's own tests need beyond the interface: the calls underneath
//! the builders, the energies of the families, tables and pictures of results, the syntax tree of noises in words.
//!
//! **Not part of the interface**: outside of semantic versioning, it may change or go in any release. This is the only door of the
//! kind; whatever else is public is documented and listed in `public-api.txt`.

pub use crate::asymptotics::{asymptotic_error, cramer_rao_covariance, error_report};
pub use crate::memory::{check_count, free_memory};
pub use crate::model::LOG_NORMALIZER;
pub use crate::more::More;
pub use crate::noise::{quiet_blocks, sample_blocks};
pub use crate::population::Contrast;
pub use crate::serial::leave_matrices_out;

/// Beneath [`after`](crate::after).
pub mod after {
    pub use crate::after::record::RecordHeader;
}

/// Beneath [`chains`](crate::chains).
pub mod chain {
    pub use crate::chain::bridge::Bridge;
    pub use crate::chain::run::run;
}

/// Beneath [`Model::design`](crate::Model::design) and [`Model::error`](crate::Model::error): problems, questions and their answers.
pub mod design {
    pub use crate::design::densities::Densities;
    pub use crate::design::error_answer::ErrorAnswer;
    pub use crate::design::grid::Grid;
    pub use crate::design::histogram::{HistogramDesign, best_histogram_1d, best_histogram_2d};
    pub use crate::design::limits::{AllDataPoint, AllNoiseLimit, all_data_points, all_noise_limit};
    pub use crate::design::mixture::{best_mixture, design_mixture_on_sample};
    pub use crate::design::of_model::design;
    pub use crate::design::problem::{Files, Problem, Purpose, noise_on};
    pub use crate::design::proportion::ratio_for_efficiency;
    pub use crate::design::question::{Answer, DesignSpace, EfficiencyAnswer, Kind, Question};
    pub use crate::design::quiet::QuietAnswer;
}

/// The energies of the families, which [`Model::from_family`](crate::Model::from_family) makes models of.
pub mod energy {
    pub use crate::energy::{
        Beta, ComPoisson, ExponentialPolynomial, FeatureEnergy, FormulaEnergy, Gamma, Gaussian,
        GaussianMoments, Ising, Student, TruncatedGaussian, TruncatedGaussianMoments, VonMises,
        VonMisesFisher, VonMisesPolar,
    };
}

/// Beneath [`Model::fit`](crate::Model::fit), [`ratio`](crate::ratio()) and [`information`](crate::information()).
pub mod fit {
    pub use crate::fit::effects::{FitSetting, NoiseKind, check_effects};
    pub use crate::fit::in_memory::fit;
    pub use crate::fit::ratio::{density_ratio, mutual_information, ratio};
}

/// Beneath [`log_z`](crate::log_z()), [`path`](crate::path()) and [`states`](crate::states()).
pub mod normalizer {
    pub use crate::normalizer::alpha::alpha_formula;
    pub use crate::normalizer::path::fit_noise;
    pub use crate::normalizer::states::equilibration::NamedEquilibrations;
}

/// What random streams are for.
pub mod run {
    pub use crate::run::purpose::Purpose;
}

/// Tables, sentences and pictures of results.
pub mod show {
    pub use crate::show::*;
}

/// The syntax tree of noises in words, and the space that they speak of.
pub mod words {
    pub use crate::noise::language::{Argument, Call, Span, Weight, space_of};
}
