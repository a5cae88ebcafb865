//! What most programs use, and what the builders' settings take: `use noisewright::prelude::*;`.
//!
//! ```
//! use noisewright::prelude::*;
//! # fn main() -> Result<()> {
//! let rows: Vec<[f64; 1]> = sample(&Normal::with_std(0.0, 0.5)?, 2000, 1).values().iter().map(|x| [*x]).collect();
//! let data = Points::from_rows(&["x"], &rows)?;
//! let model = Model::from_fn(&["p"], Space::real(&["x"])?, |t: &[f64], x: &[f64]| -0.5 * t[0] * x[0] * x[0])?;
//! let fit = model.fit(&data).start(&[1.0]).ratio(5.0).run()?;
//! assert!((fit.get("p")?.estimate - 4.0).abs() < 4.0 * fit.get("p")?.se);
//! # Ok(())
//! # }
//! ```

pub use crate::chain::Moves;
pub use crate::density::{Density, ModelDensity, batch_density, density};
pub use crate::design::{Prices, Ratio};
pub use crate::domain::{Domain, Space};
pub use crate::energy::{Energy, FamilyOptions};
pub use crate::error::{Error, ErrorKind, Result};
pub use crate::fit::{
    Amount, Bridges, CovarianceKind, Data, Dependence, DrawKind, FitMethod, IntervalKind, NoiseChoice,
    Penalty, RatioBasis,
};
pub use crate::loss::Loss;
pub use crate::model::{Model, Parameter};
pub use crate::noise::{
    Beta, Gamma, Laplace, LogNormal, Logistic, Mixture, MultivariateNormal, MultivariateStudent, Noise,
    Normal, Poisson, Product, Student, Truncated, Uniform, VonMises, sample,
};
pub use crate::normalizer::NoiseKind;
pub use crate::points::{Points, View};
pub use crate::population::Precision;
pub use crate::run::{CancelToken, Progress};
pub use crate::target::Target;
pub use crate::{Estimate, Fit, chains, evidence, information, log_z, path, ratio, states};
