//! Noise-contrastive estimation by theory.

mod domain;
mod energy;
mod error;
mod model;
mod noise;
mod points;

pub use domain::{Domain, Space};
pub use energy::Energy;
pub use error::{Error, Result};
pub use model::{Model, Parameter};
pub use noise::words::{Argument, Call, Context, NoiseWords, Span, Weight, WordsError};
pub use noise::{
    Bandwidth, Beta, Categorical, Gamma, Histogram1d, Histogram2d, KernelDensity, Landmarks, Laplace,
    LogNormal, Logistic, Mixture, MultivariateNormal, MultivariateStudent, NegativeBinomial, Noise, Normal,
    Poisson, Product, Scalar, Student, Truncated, Uniform, UniformSphere, VonMises, VonMisesFisher,
    equal_edges, sample,
};
pub use points::{Points, View};
