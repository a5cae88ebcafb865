//! Fits: an unnormalized model from data, against noise, with standard errors that hold.
//!
//! [`fit`] takes a [`Model`] and [`Data`] and gives a [`Fit`]: every parameter and the log-normalizer with its standard
//! error, split into what the data leave open and what the noise adds. The noise is chosen and dosed unless
//! [`FitOptions`] say how.

mod covariance;
mod curvature;
mod data;
mod density_checks;
mod dependence;
pub mod diagnostics;
mod effects;
mod evaluate;
mod exact;
mod fit_against_noise;
mod kinks;
mod leverage;
mod loss_terms;
mod multistart;
mod no_start;
mod noise_choice;
mod noise_influence;
mod objective;
pub mod optimal;
mod options;
mod prepare;
mod ratio;
mod result;
mod sample_blocks;
mod scaling;
mod serial;
mod solve;
mod start_values;
mod stream;
pub mod two_step;
mod whole_sample_calls;

pub use curvature::Curvature;
pub(crate) use data::check_chains;
pub use data::{Data, Dependence, Source, Visit};
pub use diagnostics::{Diagnostics, Finding, Remedy, Setting, Warning, WarningKind, check_ratio};
pub use effects::{FitSetting, NoiseKind, check_effects};
pub use noisewright_numerics::optimize::Stop;
pub use options::{Amount, CovarianceKind, Draws, FitOptions, NoiseChoice};
pub use ratio::{LogRatio, RatioFit, ratio};
pub use result::{Estimate, Fit, Optimum};
pub use stream::fit_stream;

use crate::{Contrast, Domain, Error, Loss, Model, Population, Precision, Result, Target, asymptotic_error};

/// Fits a model to data.
///
/// ```
/// use noisewright::fit::{Amount, Data, NoiseChoice, FitOptions, fit};
/// use noisewright::{Model, Normal, Points, Space, sample};
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
    options.context().conclude(fit_and_check(model, data, options))
}

fn fit_and_check(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
    options.context().check()?;
    data.check(model.space().dimension())?;
    check_domain(model, data, 0)?;
    model.check_score_once(&model.start(), data.points)?;
    density_checks::check_statistics(model, data, 0)?;
    let rows = data.weights.map_or(data.points.rows(), |w| w.iter().filter(|w| **w > 0.0).count());
    let coordinates = model.coordinates().len();
    if rows < coordinates {
        return Err(Error::TooFewPoints { rows, coordinates });
    }
    if matches!(options.noise, NoiseChoice::Optimal) {
        let size = model.coordinates().len();
        options.target.matrix(&model.coordinates(), &nalgebra::DMatrix::identity(size, size))?;
    }
    let mut fit = noise_choice::fit_with(model, data, options)
        .map_err(|error| density_checks::with_values(model, data, error))?;
    if fit.converged && fit.diagnostics.no_answer().is_none() {
        density_checks::check_fitted(model, &fit.theta(), data)?;
    }
    check_normalized(model, &fit)?;
    warn_of_infinite_error(model, &mut fit, options);
    warn_of_unseen_mass(model, &mut fit);
    Ok(fit)
}

/// Losses whose weights are not bounded may have no finite variance against a noise, which a sample need not show: the
/// theory tells, where the model can be integrated.
fn warn_of_infinite_error(model: &Model, fit: &mut Fit, options: &FitOptions) {
    let Some(noise) = fit.noise.clone().filter(|_| !matches!(options.loss, Loss::Js) && fit.converged) else {
        return;
    };
    if model.space().dimension() > 2 || fit.diagnostics.has(WarningKind::HeavyWeights) {
        return;
    }
    let contrast = Contrast { noise: &*noise, nu: fit.nu, loss: &options.loss };
    let error = asymptotic_error(model, &fit.theta(), contrast, &Target::Mse, &Precision::default());
    if error.is_ok_and(|report| report.error == f64::INFINITY) {
        fit.diagnostics.warn(Warning::without_variance(&options.loss));
    }
}

/// A fitted density may have most of its mass where neither data nor noise are; the constant is then that of the part
/// which was seen, and not log Z.
fn warn_of_unseen_mass(model: &Model, fit: &mut Fit) {
    const STANDARD_ERRORS: f64 = 8.0;
    let Some(constant) = fit.log_normalizer.clone() else { return };
    if model.space().dimension() > 2
        || !fit.converged
        || !fit.nu.is_finite()
        || fit.diagnostics.no_answer().is_some()
    {
        return;
    }
    let Ok(population) = Population::new(model, &fit.theta(), &Precision::default()) else { return };
    let log_z = population.log_normalizer();
    if log_z - constant.estimate > STANDARD_ERRORS * constant.se.max(0.05) {
        fit.diagnostics.warn(Warning::unseen_mass(constant.estimate, log_z));
    }
}

/// A formula that is said to integrate to one must do so where it was fitted.
fn check_normalized(model: &Model, fit: &Fit) -> Result<()> {
    if !model.is_normalized() || model.space().dimension() > 3 {
        return Ok(());
    }
    match Population::new(model, &fit.theta(), &Precision::default()) {
        Err(error @ Error::NotNormalized { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// Every value that counts must belong to its variable's domain; `before` rows came before these.
fn check_domain(model: &Model, data: Data<'_>, before: usize) -> Result<()> {
    let space = model.space();
    let counts = |row: usize| data.weights.is_none_or(|w| w[row] > 0.0);
    for (j, (name, domain)) in space.names().iter().zip(space.domains()).enumerate() {
        // Rounding may carry a coordinate of a unit vector past 1.
        let allowed = |x: f64| if space.is_sphere() { x.is_finite() } else { domain.contains(x) };
        let column = data.points.column(j);
        if let Some(row) = column.iter().enumerate().position(|(row, x)| !allowed(*x) && counts(row)) {
            let (column, value, domain) = (name.clone(), column[row], domain_words(domain));
            return Err(Error::OutsideDomain { row: before + row + 1, column, value, domain });
        }
    }
    Ok(())
}

/// What a value of the domain is, to end a sentence.
pub(crate) fn domain_words(domain: &Domain) -> String {
    match domain {
        Domain::Real | Domain::Circle => "a finite number".into(),
        Domain::Positive => "a positive number".into(),
        Domain::Interval(lo, hi) => format!("a number between {lo} and {hi}"),
        Domain::States(_) => "one of its states".into(),
        Domain::Counts => "a count 0, 1, 2, …".into(),
    }
}
