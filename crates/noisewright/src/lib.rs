//! Noise-contrastive estimation by theory.

mod domain;
mod energy;
mod error;
mod model;
mod model_file;
mod names;
mod noise;
mod points;

pub use domain::{Domain, Space};
pub use energy::{
    Beta, ComPoisson, Dof, Energy, ExponentialPolynomial, FamilyInfo, FamilyOptions, FeatureEnergy,
    FormulaEnergy, Gamma, Gaussian, GaussianMoments, Ising, Student, TruncatedGaussian,
    TruncatedGaussianMoments, VonMises, VonMisesFisher, VonMisesPolar, families,
};
pub use error::{Error, Result};
pub use model::{LOG_NORMALIZER, Model, Parameter};
pub use noise::{Landmarks, Noise, sample};
pub use points::{Points, View};
