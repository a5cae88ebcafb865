//! The error of a design, call by call.

use std::sync::Arc;

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use crate::{Contrast, ErrorReport, Loss, Model, Noise, Precision, Result, Target, asymptotic_error};

impl Model {
    /// The asymptotic error of the model's parameters where it is true at these, with this noise.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
    /// let cost = model.error(&[0.0], Normal::with_std(0.0, 1.0)?).ratio(1.0).run()?;
    /// assert!((cost.error - 4.0).abs() < 1e-9); // (1 + ν)²/ν · tr J⁻¹
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn error<'a>(&'a self, parameters: &'a [f64], noise: impl Noise + 'a) -> ErrorBuilder<'a> {
        ErrorBuilder {
            model: self,
            parameters,
            noise: Arc::new(noise),
            nu: 1.0,
            loss: Loss::Js,
            loss_ratio: None,
            target: Target::Mse,
            precision: Precision::default(),
            threads: None,
        }
    }
}

/// An error that is being asked for: see [`Model::error`].
#[derive(Clone, Debug)]
#[must_use = "nothing is done before `run`"]
pub struct ErrorBuilder<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    noise: Arc<dyn Noise + 'a>,
    nu: f64,
    loss: Loss,
    loss_ratio: Option<f64>,
    target: Target,
    precision: Precision,
    threads: Option<usize>,
}

impl ErrorBuilder<'_> {
    setters! {
        /// ν, the noise points per data point (default 1).
        ratio(nu: f64) => nu = nu;
        /// The loss (default [`Loss::Js`]).
        loss(loss: Loss) => loss = loss;
        /// M, the ratio inside the loss, where it is not ν (MATH §8); infinite for KL.
        loss_ratio(ratio: f64) => loss_ratio = Some(ratio);
        /// The error that is asked for (default: the mean squared error of all coordinates).
        target(target: Target) => target = target;
        /// Accuracy of the expectations.
        precision(precision: Precision) => precision = precision;
    }

    run_settings! {
        seed in precision, "the expectations where the space is sampled";
        threads, cancel in precision;
        progress in precision;
    }

    /// Computes the error.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
    /// let cost = model.error(&[0.0], Normal::with_std(0.0, 1.0)?).ratio(3.0).run()?;
    /// assert!((cost.error - 16.0 / 3.0).abs() < 1e-9); // (1 + ν)²/ν with noise equal to the data
    /// assert!(model.error(&[0.0], MultivariateNormal::new(&[0.0; 2], &[1.0, 0.0, 0.0, 1.0])?).run().is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the model has no population at these parameters, the noise has other variables or misses the data, the scores
    /// are collinear, or ν is not a positive number.
    pub fn run(self) -> Result<ErrorReport> {
        let loss = match self.loss_ratio {
            Some(ratio) => self.loss.with_ratio(ratio, self.nu)?,
            None => self.loss,
        };
        let contrast = Contrast { noise: &*self.noise, nu: self.nu, loss: &loss };
        let job = || asymptotic_error(self.model, self.parameters, contrast, &self.target, &self.precision);
        on_threads(self.threads, job)
    }
}
