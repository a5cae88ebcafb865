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
pub use noise::{Landmarks, Noise, sample};
pub use points::{Points, View};
