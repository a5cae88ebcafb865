//! Designs, call by call.

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use crate::design::{Design, DesignOptions, Prices, Ratio, design};
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
    setters! {
        /// ν, the noise points per data point (default: the best one is found).
        ratio(nu: f64) => options.ratio = Ratio::Fixed(nu);
        /// The error that is minimised (default: the mean squared error of all coordinates).
        target(target: Target) => options.target = target;
        /// Prices of a data and of a noise point (default: 1 each).
        prices(prices: Prices) => options.prices = prices;
        /// Accuracy of the expectations.
        precision(precision: Precision) => options.precision = precision;
    }

    run_settings! {
        seed in options.precision, "the expectations where the space is sampled";
        threads, cancel in options.precision;
        progress in options.precision;
        options: DesignOptions;
    }

    /// Finds the design.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
    /// let best = model.design(&[0.0]).ratio(3.0).run()?;
    /// assert!((best.noise_equals_data - 16.0 / 3.0).abs() < 1e-9); // (1 + ν)²/ν, which the best noise is below
    /// assert!(best.error < best.noise_equals_data && best.error > best.cramer_rao);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the model has no population at these parameters, its scores are collinear, or ν or a price is not a positive
    /// number.
    pub fn run(self) -> Result<Design> {
        on_threads(self.threads, || design(self.model, self.parameters, &self.options))
    }
}
