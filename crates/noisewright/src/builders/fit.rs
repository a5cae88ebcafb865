//! Fits, call by call.

use std::borrow::Cow;

use super::settings::{run_settings, setters};
use super::threads::on_threads;
use crate::fit::{
    Amount, CovarianceKind, Data, Dependence, DrawKind, FitMethod, FitOptions, IntervalKind, NoiseChoice,
    Penalty, fit,
};
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
///
/// ```
/// use noisewright::prelude::*;
/// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
/// let data = vec![0.0, 1.0, 2.0, 5.0, 1.0, 3.0];
/// let token = CancelToken::new();
/// let job = model.fit(&data).exact().seed(7).threads(1).cancel(&token);
/// assert!(job.clone().run().is_ok());
/// token.cancel();
/// assert!(matches!(job.run(), Err(Error::Cancelled)));
/// # Ok::<(), noisewright::Error>(())
/// ```
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
    setters! {
        /// Where the descent starts, one value per parameter (default: the model's start values).
        start(parameters: &[f64]) => start = Some(parameters.to_vec());
        /// By which method: against noise, exactly, or by score matching or pseudo-likelihood (default [`FitMethod::Nce`]).
        method(method: FitMethod) => options.method = method;
        /// The noise: any [`Noise`](crate::Noise), or a [`NoiseChoice`] (default [`NoiseChoice::Auto`]).
        noise(noise: impl Into<NoiseChoice>) => options.noise = noise.into();
    }

    /// Maximum likelihood, with log Z by quadrature or enumeration: [`NoiseChoice::Exact`].
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let data = vec![0.0, 1.0, 2.0, 5.0, 1.0, 3.0];
    /// let fit = model.fit(&data).exact().run()?;
    /// assert!((fit.get("m")?.estimate - 2.0).abs() < 1e-6); // the mean
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn exact(self) -> Self {
        self.noise(NoiseChoice::Exact)
    }

    setters! {
        /// ν: so many noise points per data point (default: enough that they hardly matter).
        ratio(nu: f64) => options.amount = Amount::Ratio(nu);
        /// How much noise.
        amount(amount: Amount) => options.amount = amount;
        /// K, the noise points of every row of a conditional model (default: enough that they hardly matter).
        choices(choices: usize) => options.choices = Some(choices);
        /// The loss (default [`Loss::Js`]).
        loss(loss: Loss) => options.loss = loss;
        /// How the noise is drawn (default [`DrawKind::Auto`]).
        draws(draws: DrawKind) => options.draws = draws;
        /// M, the ratio inside the JS loss (MATH §8; default: ν for random noise, the best of a few for quiet noise).
        loss_ratio(ratio: f64) => options.loss_ratio = Some(ratio);
        /// The error that [`NoiseChoice::Optimal`] minimises.
        target(target: Target) => options.target = target;
        /// Which covariance (default [`CovarianceKind::Robust`]).
        errors(errors: CovarianceKind) => options.errors = errors;
        /// Confidence of the intervals (default 0.95).
        confidence(confidence: f64) => options.confidence = confidence;
        /// How the intervals are made (default [`IntervalKind::Wald`]).
        interval(interval: IntervalKind) => options.interval = interval;
        /// So many bootstrap samples of the rows, or of their clusters (default none).
        bootstrap(replicates: usize) => options.bootstrap = Some(replicates);
        /// So many folds of a cross-validation that finds the held-out log-likelihood (default none).
        cross_validate(folds: usize) => options.cross_validate = Some(folds);
        /// A penalty on the parameters of a linear model: `Penalty::lasso(0.1)`, or `"auto".parse()?`.
        penalty(penalty: Penalty) => options.penalty = Some(penalty);
        /// From how many places at most a model that is not linear in its parameters is fitted (default 10).
        starts(starts: usize) => options.starts = starts;
    }

    /// How many times each row counts.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let data = vec![0.0, 1.0, 2.0, 5.0, 1.0, 3.0];
    /// let fit = model.fit(&data).exact().weights(&[1.0, 1.0, 1.0, 1.0, 4.0, 4.0]).run()?;
    /// assert!((fit.get("m")?.estimate - 2.0).abs() < 1e-6); // 24 / 12
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn weights(mut self, weights: &'a [f64]) -> Self {
        self.data = self.data.with_weights(weights);
        self
    }

    /// Which rows are correlated (default none).
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let data = vec![0.0, 1.0, 2.0, 5.0, 1.0, 3.0];
    /// let fit = model.fit(&data).exact().dependence(Dependence::Clusters(&[1, 1, 2, 2, 3, 3])).run()?;
    /// assert!((fit.get("m")?.estimate - 2.0).abs() < 1e-6); // only its error is another one
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    pub fn dependence(mut self, dependence: Dependence<'a>) -> Self {
        self.data = self.data.with_dependence(dependence);
        self
    }

    run_settings! {
        seed in options, "the noise and of the starts";
        threads, cancel in options;
        progress in options;
        options: FitOptions;
    }

    /// Fits.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let model = Model::from_formula("m*x - x^2/2", Space::real(&["x"])?, vec![Parameter::new("m", 0.0)], false)?;
    /// let data = vec![0.0, 1.0, 2.0, 5.0, 1.0, 3.0];
    /// let fit = model.fit(&data).exact().errors(CovarianceKind::ModelBased).run()?;
    /// let m = fit.get("m")?;
    /// assert!((m.estimate - 2.0).abs() < 1e-6 && (m.se - 6f64.sqrt().recip()).abs() < 1e-6); // a mean and 1/√n
    /// # Ok::<(), noisewright::Error>(())
    /// ```
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
