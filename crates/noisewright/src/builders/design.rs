//! Designs, call by call.

use super::threads::on_threads;
use crate::design::{Design, DesignOptions, Prices, Ratio, design};
use crate::run::CancelToken;
use crate::{Model, Precision, Result, Target};

impl Model {
    /// The noise, and the proportion of it, that minimise the error of the model's parameters where it is true at these.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
    /// let best = model.design(&[0.0]).ratio(1.0).run()?;
    /// assert!((best.error - 3.50813).abs() < 1e-5); // noise equal to the data gives 4
    /// let data = sample(&Normal::with_std(0.0, 1.0)?, 1000, 1);
    /// let fit = model.fit(&data).noise(best.noise).ratio(1.0).run()?;
    /// assert!(fit.get("m")?.estimate.abs() < 4.0 * fit.get("m")?.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn design<'a>(&'a self, parameters: &'a [f64]) -> DesignBuilder<'a> {
        DesignBuilder { model: self, parameters, options: DesignOptions::default(), threads: None }
    }
}

/// A design that is being asked for: see [`Model::design`].
#[derive(Clone, Debug)]
#[must_use = "nothing is done before `run`"]
pub struct DesignBuilder<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    options: DesignOptions,
    threads: Option<usize>,
}

impl DesignBuilder<'_> {
    /// ν, the noise points per data point (default: the best one is found).
    pub fn ratio(mut self, nu: f64) -> Self {
        self.options.ratio = Ratio::Fixed(nu);
        self
    }

    /// The error that is minimised (default: the mean squared error of all coordinates).
    pub fn target(mut self, target: Target) -> Self {
        self.options.target = target;
        self
    }

    /// Prices of a data and of a noise point (default: 1 each).
    pub fn prices(mut self, prices: Prices) -> Self {
        self.options.prices = prices;
        self
    }

    /// Accuracy of the expectations.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.options.precision = precision;
        self
    }

    /// Seed of the expectations where the space is sampled (default 0).
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.precision.seed = seed;
        self
    }

    /// On so many threads (default: those of the pool it is called from); the result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Ends it with [`Error::Cancelled`](crate::Error::Cancelled), within one pass over the points, once the token is
    /// cancelled.
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.options.precision.cancel = token.clone();
        self
    }

    /// All options at once.
    pub fn options(mut self, options: DesignOptions) -> Self {
        self.options = options;
        self
    }

    /// Finds the design.
    ///
    /// # Errors
    /// When the model has no population at these parameters, its scores are collinear, or ν or a price is not a positive
    /// number.
    pub fn run(self) -> Result<Design> {
        on_threads(self.threads, || design(self.model, self.parameters, &self.options))
    }
}
