//! Noise-contrastive estimation by theory.

mod asymptotics;
pub mod design;
mod divergence;
mod domain;
mod energy;
mod error;
mod loss;
mod model;
mod model_file;
mod names;
mod noise;
mod points;
mod population;
mod target;

pub use asymptotics::{Asymptotics, ErrorReport, asymptotic_error, cramer_rao_covariance, error_report};
pub use divergence::{Divergences, NormalizerErrors, divergences};
pub use domain::{Domain, Space};
pub use energy::{
    Beta, ComPoisson, Dof, Energy, ExponentialPolynomial, FamilyInfo, FamilyOptions, FeatureEnergy,
    FormulaEnergy, Gamma, Gaussian, GaussianMoments, Ising, Student, TruncatedGaussian,
    TruncatedGaussianMoments, VonMises, VonMisesFisher, VonMisesPolar, families,
};
pub use error::{Error, Result};
pub use loss::{Loss, LossFunction};
pub use model::{LOG_NORMALIZER, Model, Parameter};
pub use noise::{Landmarks, Noise, sample};
pub use points::{Points, View};
pub use population::{Accuracy, Contrast, Divergent, Method, Population, Precision};
pub use target::Target;
