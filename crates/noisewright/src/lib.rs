//! Noise-contrastive estimation by theory.

mod asymptotics;
pub mod design;
mod divergence;
mod domain;
pub mod energy;
mod error;
mod loss;
mod model;
mod model_file;
mod names;
mod noise;
mod points;
mod population;
mod sweep;
mod target;

pub use asymptotics::{Asymptotics, ErrorReport, asymptotic_error, cramer_rao_covariance, error_report};
pub use divergence::{Divergences, NormalizerErrors, divergences};
pub use domain::{Domain, Space};
pub use energy::{Energy, FamilyOptions, families};
pub use error::{Error, Result};
pub use loss::{Loss, LossFunction};
pub use model::{LOG_NORMALIZER, Model, Parameter};
pub use noise::words::{Argument, Call, Context, NoiseWords, Span, Weight, WordsError};
pub use noise::{
    Bandwidth, Beta, Categorical, Gamma, Histogram1d, Histogram2d, KernelDensity, Landmarks, Laplace,
    LogNormal, Logistic, Mixture, MultivariateNormal, MultivariateStudent, NegativeBinomial, Noise, Normal,
    Poisson, Product, Scalar, Student, Truncated, Uniform, UniformSphere, VonMises, VonMisesFisher,
    equal_edges, sample,
};
pub use points::{Points, View};
pub use population::{Accuracy, Contrast, Divergent, Method, Population, Precision};
pub use sweep::Sweep;
pub use target::Target;
