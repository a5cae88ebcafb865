//! Which noise, and how much of it.

use std::sync::Arc;

use super::data::Data;
use super::diagnostics;
use super::exact::{NormalizerMethod, fit_exact};
use super::fit_against_noise::{Against, fit_against};
use super::noise_influence;
use super::optimal;
use super::options::{Amount, Draws, FitOptions, NoiseChoice};
use super::prepare::{pick, spread};
use super::result::{Fit, Optimum};
use super::sample_blocks::BLOCK;
use super::two_step;
use crate::memory::check_most;
use crate::{Error, LOG_NORMALIZER, Loss, Model, Noise, Result, View, fit_auto};

/// Rows that a noise is fitted to, at most; they are spread over all rows.
pub(crate) const NOISE_ROWS: usize = 1 << 18;
/// Noise points of the first round, at least.
const FIRST_POINTS: usize = 4 * BLOCK;
/// Rounds in which the noise is extended.
const ROUNDS: usize = 5;

/// Fits with the noise and the amount that the options ask for.
pub(crate) fn fit_with(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
    if options.refit_noise && !matches!(options.noise, NoiseChoice::Exact) {
        return two_step::fit_two_step(model, data, options);
    }
    match &options.noise {
        NoiseChoice::Optimal => optimal::fit_optimal(model, data, options),
        NoiseChoice::Auto if without_noise(model, options) => {
            fit_exact(model, data, &FitOptions { noise: NoiseChoice::Exact, ..options.clone() })
        }
        NoiseChoice::Auto => {
            let fit = dosed(model, data, &auto_noise(model, data)?, options)?;
            let again = |points: View<'_>, weights: Option<&[f64]>| fit_auto(model.space(), points, weights);
            retested(model, data, fit, options, &again)
        }
        NoiseChoice::Given(noise) => {
            check_noise(model, noise.as_ref())?;
            let mut fit = dosed(model, data, noise, options)?;
            noise_influence::correct(model, data, &mut fit, noise.as_ref(), options)?;
            match noise.fit_again() {
                Some(again) => retested(model, data, fit, options, &*again),
                None => Ok(fit),
            }
        }
        NoiseChoice::Exact => fit_exact(model, data, options),
        NoiseChoice::Draws(draws) => {
            check_draws(model, data, draws)?;
            fit_against(model, data, &Against::Draws(draws.clone()), options, None)
        }
    }
}

/// Tests a model that a test with the noise taken as given rejects once more, with noises of the same kind that do not know
/// the rows they are tested on.
fn retested(
    model: &Model,
    data: Data<'_>,
    mut fit: Fit,
    options: &FitOptions,
    again: diagnostics::NoiseFit<'_>,
) -> Result<Fit> {
    if fit.diagnostics.doubts_model()
        && let Some(test) = diagnostics::cross_fitted_test(model, data, &fit, &options.context(), again)?
    {
        fit.diagnostics.retest(test);
    }
    Ok(fit)
}

/// Whether `auto` means no noise at all: all states can be visited, and nothing was said about the noise or the loss.
fn without_noise(model: &Model, options: &FitOptions) -> bool {
    let silent = matches!(options.amount, Amount::Auto { .. }) && matches!(options.loss, Loss::Js);
    silent && !model.is_normalized() && NormalizerMethod::of(model) == Ok(NormalizerMethod::Enumeration)
}

/// The noise `auto`, fitted to rows spread over the data.
pub(crate) fn auto_noise(model: &Model, data: Data<'_>) -> Result<Arc<dyn Noise>> {
    if data.points.rows() <= NOISE_ROWS {
        return fit_auto(model.space(), data.points, data.weights);
    }
    let (points, weights) = pick(data.points, data.weights, &spread(data.points.rows(), NOISE_ROWS));
    fit_auto(model.space(), points.view(), weights.as_deref())
}

pub(crate) fn check_noise(model: &Model, noise: &dyn Noise) -> Result<()> {
    let (expected, found) = (model.space().dimension(), noise.dimension());
    if expected == found {
        Ok(())
    } else {
        Err(Error::Shape { what: "variables of the noise", expected, found })
    }
}

fn check_draws(model: &Model, data: Data<'_>, draws: &Draws) -> Result<()> {
    let same = |what: &'static str, expected: usize, found: usize| {
        if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    };
    same("columns of noise", model.space().dimension(), draws.points.columns())?;
    same("log-densities of the noise points", draws.points.rows(), draws.log_density.len())?;
    same("log-densities at the data", data.points.rows(), draws.log_density_at_data.len())?;
    if draws.points.rows() == 0 {
        return Err(Error::range("noise_points", "at least 1", 0.0));
    }
    match draws.log_density.iter().position(|l| !l.is_finite()) {
        Some(row) => Err(Error::NoiseMissesItself { row: row + 1 }),
        None => Ok(()),
    }
}

/// Fits with so much noise as the options say.
pub(crate) fn dosed(
    model: &Model,
    data: Data<'_>,
    noise: &Arc<dyn Noise>,
    options: &FitOptions,
) -> Result<Fit> {
    let total = data.total_weight();
    let with = |points: usize, start: Option<&[f64]>| {
        // Beyond what is kept, noise is drawn again in every pass: only a number that no memory would hold is refused.
        check_most("noise points", points, model.coordinates().len())?;
        fit_against(model, data, &Against::Noise(noise.clone(), points), options, start)
    };
    match options.amount {
        Amount::Points(points) => with(points, None),
        Amount::Ratio(nu) => with(((nu * total).round() as usize).max(1), None),
        Amount::Auto { share, most_values } => enough(total, model, share, most_values, with),
    }
}

/// Extends one and the same stream of noise until its part of every standard error is small enough, or the budget ends.
pub(crate) fn enough(
    total: f64,
    model: &Model,
    share: f64,
    most_values: usize,
    with: impl Fn(usize, Option<&[f64]>) -> Result<Fit>,
) -> Result<Fit> {
    // Whole blocks, so that a longer sample begins with the shorter one.
    let whole = |points: f64| (points / BLOCK as f64).ceil().max(1.0) as usize * BLOCK;
    let allowed = (most_values / model.coordinates().len()).max(1);
    let most = if allowed < BLOCK { allowed } else { allowed / BLOCK * BLOCK };
    let mut points = whole(2.0 * total).max(FIRST_POINTS).min(most);
    let mut fit = with(points, None)?;
    // Losses at different ratios do not compare: what is kept is by how much the others are worse.
    let best = fit.optima.first().map_or(fit.loss, |optimum| optimum.loss);
    let worse = |optimum: &Optimum| Optimum { loss: optimum.loss - best, ..optimum.clone() };
    let others: Vec<Optimum> = fit.optima.iter().skip(1).map(worse).collect();
    for _ in 1..ROUNDS {
        let factor = shortfall(&fit, share);
        if factor <= 1.0 || !fit.converged {
            break;
        }
        if points >= most {
            break;
        }
        // A tenth more than the prediction, which leaves out that the weights change with ν.
        points = whole(1.1 * factor * points as f64).min(most);
        let start = fit.unknowns();
        fit = with(points, Some(&start))?;
        // A longer sample is searched from the best minimum of the shorter one alone.
        fit.remember(&others);
    }
    fit.budget_spent = fit.converged && shortfall(&fit, share) > 1.0;
    Ok(fit)
}

/// By which factor the noise part of the variances is too large, at worst.
///
/// A constant that hardly depends on the parameters has next to no data part, and endless noise would not make its own
/// a small share of that; against a tenth of 1/T_d, the variance of a logarithm of a share of the data, it is small soon.
fn shortfall(fit: &Fit, share: f64) -> f64 {
    let allowed = share * share / (1.0 - share * share);
    let least = |e: &super::Estimate| if e.name == LOG_NORMALIZER { 0.1 / fit.total_weight } else { 0.0 };
    let excess = |e: &&super::Estimate| e.se_noise.powi(2) / e.se_data.powi(2).max(least(e)) / allowed;
    fit.estimates().iter().filter(|e| e.se_data > 0.0).map(excess).fold(0.0, f64::max)
}
