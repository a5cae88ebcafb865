//! Fits, call by call.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::threads::on_threads;
use crate::fit::{Amount, CovarianceKind, Data, Dependence, DrawKind, FitOptions, NoiseChoice, fit};
use crate::run::{CancelToken, Progress, ProgressHook};
use crate::{Fit, Loss, Model, Result, Target};

impl Model {
    /// A fit of the model to data: [`Points`](crate::Points), whose named columns are matched with the variables, or a
    /// [`View`](crate::View), slice or matrix, whose columns are taken in order.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// // log p = m x − x²/2 − c: the mean of a Gaussian, its constant taken as unknown.
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let data = sample(&Normal::with_std(0.5, 1.0)?, 4000, 1);
    /// let fit = model.fit(&data).ratio(5.0).seed(1).run()?;
    /// assert!((fit.get("m")?.estimate - 0.5).abs() < 4.0 * fit.get("m")?.se);
    /// // log Z = m²/2 + ½ log 2π.
    /// let constant = fit.log_normalizer();
    /// assert!((constant.estimate - 0.125 - 0.5 * std::f64::consts::TAU.ln()).abs() < 4.0 * constant.se);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[doc(alias = "nce")]
    pub fn fit<'a>(&'a self, data: impl Into<Data<'a>>) -> FitBuilder<'a> {
        let (data, options) = (data.into(), FitOptions::default());
        FitBuilder { model: self, data, options, start: None, threads: None }
    }
}

/// A fit that is being asked for: see [`Model::fit`].
#[derive(Clone, Debug)]
#[must_use = "nothing is done before `run`"]
pub struct FitBuilder<'a> {
    model: &'a Model,
    data: Data<'a>,
    options: FitOptions,
    start: Option<Vec<f64>>,
    threads: Option<usize>,
}

impl<'a> FitBuilder<'a> {
    /// Where the descent starts, one value per parameter (default: the model's start values).
    pub fn start(mut self, parameters: &[f64]) -> Self {
        self.start = Some(parameters.to_vec());
        self
    }

    /// The noise: any [`Noise`](crate::Noise), or a [`NoiseChoice`] (default [`NoiseChoice::Auto`]).
    pub fn noise(mut self, noise: impl Into<NoiseChoice>) -> Self {
        self.options.noise = noise.into();
        self
    }

    /// Maximum likelihood, with log Z by quadrature or enumeration: [`NoiseChoice::Exact`].
    pub fn exact(self) -> Self {
        self.noise(NoiseChoice::Exact)
    }

    /// ν: so many noise points per data point (default: enough that they hardly matter).
    pub fn ratio(mut self, nu: f64) -> Self {
        self.options.amount = Amount::Ratio(nu);
        self
    }

    /// How much noise.
    pub fn amount(mut self, amount: Amount) -> Self {
        self.options.amount = amount;
        self
    }

    /// The loss (default [`Loss::Js`]).
    pub fn loss(mut self, loss: Loss) -> Self {
        self.options.loss = loss;
        self
    }

    /// How the noise is drawn (default [`DrawKind::Random`]).
    pub fn draws(mut self, draws: DrawKind) -> Self {
        self.options.draws = draws;
        self
    }

    /// M, the ratio inside the JS loss (MATH §8; default: ν for random noise, the best of a few for quiet noise).
    pub fn loss_ratio(mut self, ratio: f64) -> Self {
        self.options.loss_ratio = Some(ratio);
        self
    }

    /// The error that [`NoiseChoice::Optimal`] minimises.
    pub fn target(mut self, target: Target) -> Self {
        self.options.target = target;
        self
    }

    /// Which covariance (default [`CovarianceKind::Robust`]).
    pub fn errors(mut self, errors: CovarianceKind) -> Self {
        self.options.errors = errors;
        self
    }

    /// Confidence of the intervals (default 0.95).
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.options.confidence = confidence;
        self
    }

    /// From how many places at most a model that is not linear in its parameters is fitted (default 10).
    pub fn starts(mut self, starts: usize) -> Self {
        self.options.starts = starts;
        self
    }

    /// How many times each row counts.
    pub fn weights(mut self, weights: &'a [f64]) -> Self {
        self.data = self.data.with_weights(weights);
        self
    }

    /// Which rows are correlated (default none).
    pub fn dependence(mut self, dependence: Dependence<'a>) -> Self {
        self.data = self.data.with_dependence(dependence);
        self
    }

    /// Seed of the noise and of the starts (default 0).
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
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
        self.options.cancel = token.clone();
        self
    }

    /// Told about every step; where it breaks off, it ends with [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn progress(mut self, hook: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.options.progress = Some(ProgressHook::new(hook));
        self
    }

    /// All options at once.
    pub fn options(mut self, options: FitOptions) -> Self {
        self.options = options;
        self
    }

    /// Fits.
    ///
    /// # Errors
    /// One sentence: a row outside the domain or without density, too few rows, a score that is not the derivative,
    /// unknowns that cannot be told apart, an option that cannot be, or [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn run(self) -> Result<Fit> {
        let model = match &self.start {
            None => Cow::Borrowed(self.model),
            Some(start) => Cow::Owned(self.model.clone().starting_at(start)?),
        };
        on_threads(self.threads, || fit(&model, self.data, &self.options))
    }
}
