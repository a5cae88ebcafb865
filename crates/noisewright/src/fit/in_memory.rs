//! Fits of rows in memory: what [`Model::fit`](crate::Model::fit) runs.

use super::{Data, DataRows, Fit, FitOptions, conditional, fit_rows};
use crate::{Error, Model, Result};

/// Fits a model to data.
///
/// ```
/// use noisewright::{Model, Normal, Points, Space, sample};
/// use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
/// use noisewright::internal::fit::fit;
/// use std::sync::Arc;
///
/// // log p = m x − x²/2 − c: the mean of a Gaussian, its constant taken as unknown.
/// let model = Model::from_toml("variables = ['x']\nlog_density = 'm*x - x^2/2'\n[parameters]\nm = 0")?;
/// let points = sample(&Normal::with_variance(0.5, 1.0)?, 4000, 1);
/// let fitted = fit(&model, Data::from(&points), &FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() })?;
/// let mean = &fitted.parameters[0];
/// assert!((mean.estimate - 0.5).abs() < 4.0 * mean.se);
/// // log Z = m²/2 + ½ log 2π.
/// let constant = fitted.log_normalizer.unwrap();
/// assert!((constant.estimate - 0.125 - 0.5 * std::f64::consts::TAU.ln()).abs() < 4.0 * constant.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// One sentence: a row outside the domain or without density, too few rows, unknowns that cannot be told apart, an
/// option that cannot be, or [`Error::Cancelled`].
pub fn fit<'a>(model: &Model, data: impl Into<Data<'a>>, options: &FitOptions) -> Result<Fit> {
    data.into().in_order_of(model.space(), |data| fit_in_order(model, data, options))
}

/// The same for columns in the order of the model's variables.
fn fit_in_order(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
    options.check()?;
    let options = &options.for_run();
    let model = &model.with_cancel(&options.cancel);
    let fitted = if model.is_conditional() {
        options.refuse_method("covariates").and_then(|()| conditional::fit(model, data, options))
    } else if options.choices.is_some() {
        let reason = "needs a model with covariates, whose rows have noise points of their own: leave it out";
        Err(Error::option("choices", reason))
    } else {
        DataRows::memory(model, data).and_then(|rows| fit_rows(model, rows, options))
    };
    options.context().conclude(fitted)
}
