//! What comes after a fit: functions of its parameters, tests, densities and draws of the fitted model, comparisons, and
//! the file from which all of that goes on.
//!
//! ```
//! use noisewright::prelude::*;
//! let model = Model::from_toml("variables = ['x']\nlog_density = 'm*x - p*x^2/2'\n[parameters]\nm = 0\np = 1")?;
//! let data = sample(&Normal::with_std(1.0, 0.5)?, 2000, 1);
//! let fit = model.fit(&data).exact().run()?;
//! let mean = fit.derive("mean = m/p")?;
//! assert!((mean.estimate - 1.0).abs() < 4.0 * mean.se);
//! assert!(fit.wald(&["m = 4", "p = 4"])?.p_value > 1e-4);
//! let there = fit.log_density(&model, &[1.0][..])?[0];
//! assert!((there.value - (4.0 / std::f64::consts::TAU).sqrt().ln()).abs() < 4.0 * there.se);
//! # Ok::<(), noisewright::Error>(())
//! ```

pub(crate) mod compare;
mod derive;
mod given;
pub(crate) mod joint;
pub(crate) mod log_density;
mod nested;
pub(crate) mod record;
pub(crate) mod row_means;
pub(crate) mod simulate;
pub(crate) mod wald;

pub(crate) use compare::Comparison;
pub(crate) use compare::SharedEstimate;
pub use compare::compare;
pub(crate) use derive::linearized;
pub use given::simulate_given;
pub(crate) use given::{mean_log_likelihood, normalizers};
pub(crate) use joint::JointEstimate;
pub(crate) use log_density::LogDensity;
pub use record::FitRecord;
pub(crate) use row_means::{Choice, RowMeans};
pub use simulate::{Simulation, simulate};
pub(crate) use wald::WaldTest;

use crate::fit::Data;
use crate::{Estimate, Fit, Model, Result};

impl Fit {
    /// All unknowns with their covariances.
    #[must_use]
    pub fn joint(&self) -> JointEstimate {
        JointEstimate::of(self)
    }

    /// A function of the parameters (and of `log_normalizer`), such as `b/a` or `ratio = b/a`, with its standard error by the
    /// delta method.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
    /// let data = sample(&Normal::with_std(0.5, 1.0)?, 1000, 1);
    /// let fit = model.fit(&data).exact().run()?;
    ///
    /// let mean = fit.derive("-`x`/(2*`x^2`)")?;
    /// assert!((mean.estimate - data.values().iter().sum::<f64>() / 1000.0).abs() < 1e-6);
    /// assert!((mean.se * 1000f64.sqrt() - 1.0).abs() < 0.1); // that of a mean of 1000 rows
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the formula cannot be read, has no finite value or slope at the estimate, or depends on a parameter at its bound.
    pub fn derive(&self, formula: &str) -> Result<Estimate> {
        self.joint().derive(formula)
    }

    /// Wald's test that all these hypotheses hold, such as `a = b` or `a - b`, which says the same.
    ///
    /// # Errors
    /// As for [`derive`](Self::derive), and when one hypothesis follows from the others.
    pub fn wald<S: AsRef<str>>(&self, hypotheses: &[S]) -> Result<WaldTest> {
        self.joint().wald(hypotheses)
    }

    /// The fitted log-density of the model at points, with standard errors by the delta method; the points of a conditional model
    /// have its covariates with them.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
    /// let data = sample(&Normal::with_std(0.5, 1.0)?, 1000, 1);
    /// let fit = model.fit(&data).exact().run()?;
    ///
    /// let (at, truth) = (fit.log_density(&model, &[0.5][..])?[0].clone(), -0.5 * std::f64::consts::TAU.ln());
    /// assert!((at.value - truth).abs() < 4.0 * at.se && at.se < 0.05);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the points do not have the model's variables, or the model's density is not a number there.
    pub fn log_density<'a>(&self, model: &Model, points: impl Into<Data<'a>>) -> Result<Vec<LogDensity>> {
        let (joint, noise) = (self.joint(), &self.noise_description);
        points
            .into()
            .in_order_of(model.space(), |data| joint.log_density_by(model.whole(), data.points, Some(noise)))
    }
}
