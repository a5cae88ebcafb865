//! Which noise, and how much of it.

use std::sync::Arc;

use super::data_rows::{DataRows, SOME_ROWS};
use super::estimate::{Estimated, FitTask};
use super::exact::{NormalizerMethod, estimate_exact};
use super::fit_against_noise::{Against, estimate_against};
use super::noise_influence;
use super::optimal;
use super::options::{Amount, Draws, FitOptions, NoiseChoice, NoiseInWords};
use super::quiet;
use super::result::{Fit, Optimum};
use super::sample_blocks::BLOCK;
use super::two_step;
use crate::design::{Problem, Purpose};
use crate::memory::check_steps;
use crate::run::if_possible;
use crate::{Error, LOG_NORMALIZER, Loss, Model, Noise, Points, Precision, Result, fit_auto};

/// Noise points of the first round, at least.
const FIRST_POINTS: usize = 4 * BLOCK;
/// Observations that a row stands for on average where all rows together are counts. With fewer, noise of the usual amount
/// costs no more than the pass over the rows ten times.
const MANY_EACH: f64 = 10.0;
/// Rounds in which the noise is extended.
const ROUNDS: usize = 5;

/// Estimates with the noise and the amount that the options ask for.
pub(crate) fn estimate<'a>(task: FitTask<'a>, options: &FitOptions) -> Result<Estimated<'a>> {
    if options.refit_noise && !matches!(options.noise, NoiseChoice::Exact) {
        return two_step::estimate_two_step(task, options);
    }
    estimate_once(task, options)
}

/// The same without fitting the noise again to its draws.
pub(crate) fn estimate_once<'a>(task: FitTask<'a>, options: &FitOptions) -> Result<Estimated<'a>> {
    match &options.noise {
        NoiseChoice::Optimal => optimal::estimate_optimal(task, options),
        NoiseChoice::Auto | NoiseChoice::Exact if is_exact(task.model, options) => {
            estimate_exact(task, options)
        }
        NoiseChoice::Auto if counts_need_no_noise(task, options) => {
            match if_possible(estimate_exact(task, options))? {
                Some(found) if found.fit.converged => Ok(found),
                _ => dosed(task, &auto_noise(task.model, task.rows)?, options),
            }
        }
        NoiseChoice::Auto | NoiseChoice::Exact => dosed(task, &auto_noise(task.model, task.rows)?, options),
        NoiseChoice::Given(noise) => against_given(task, noise, options),
        NoiseChoice::Words(worded) => against_given(task, &worded_noise(task, worded, options)?, options),
        NoiseChoice::Conditional(_) => Err(needs_covariates()),
        NoiseChoice::Draws(draws) => {
            check_draws(task, draws)?;
            estimate_against(task, &Against::Draws(draws.clone()), options, None)
        }
    }
}

fn needs_covariates() -> Error {
    Error::option("noise", "is given covariates, which the model does not have: leave them out")
}

/// What the options ask for, in one amount: `usual` points where that is left open.
///
/// # Errors
/// When the noise cannot be had, or is designed for standard errors.
pub(crate) fn against_one(
    task: FitTask<'_>,
    options: &FitOptions,
    usual: impl FnOnce() -> usize,
) -> Result<Against> {
    let noise = match &options.noise {
        NoiseChoice::Draws(draws) => {
            check_draws(task, draws)?;
            return Ok(Against::Draws(draws.clone()));
        }
        NoiseChoice::Given(noise) => noise.clone(),
        NoiseChoice::Words(worded) => worded_noise(task, worded, options)?,
        NoiseChoice::Conditional(_) => return Err(needs_covariates()),
        NoiseChoice::Auto | NoiseChoice::Exact | NoiseChoice::Optimal => auto_noise(task.model, task.rows)?,
    };
    check_noise(task.model, noise.as_ref())?;
    let points = options.amount.points(task.rows.total_weight(), usual);
    check_steps("noise_points", points, 1)?;
    Ok(Against::Noise(noise, points))
}

/// Against a noise that may have been fitted to these very rows, which its influence on the errors then shows.
fn against_given<'a>(
    task: FitTask<'a>,
    noise: &Arc<dyn Noise>,
    options: &FitOptions,
) -> Result<Estimated<'a>> {
    check_noise(task.model, noise.as_ref())?;
    let mut found = dosed(task, noise, options)?;
    if let Some(data) = task.rows.whole() {
        noise_influence::correct(task.model, data, &mut found.fit, noise.as_ref(), options)?;
    }
    Ok(found)
}

/// Whether there is no noise at all: that was asked for, or with `auto` all states can be visited, and nothing was said
/// about the noise or the loss.
pub(crate) fn is_exact(model: &Model, options: &FitOptions) -> bool {
    match options.noise {
        NoiseChoice::Exact => true,
        NoiseChoice::Auto => {
            is_silent(options)
                && !model.is_normalized()
                && NormalizerMethod::of(model) == Ok(NormalizerMethod::Enumeration)
        }
        _ => false,
    }
}

/// Whether nothing was said about the noise or the loss.
fn is_silent(options: &FitOptions) -> bool {
    matches!(options.amount, Amount::Auto { .. }) && matches!(options.loss, Loss::Js)
}

/// Whether rows that stand for many observations each, such as the bins of a histogram, are fitted by quadrature: its cost
/// does not grow with the counts, as that of noise does.
fn counts_need_no_noise(task: FitTask<'_>, options: &FitOptions) -> bool {
    is_silent(options)
        && !options.refit_noise
        && task.rows.total_weight() > MANY_EACH * task.rows.rows() as f64
        && task.rows.whole().is_some()
        && NormalizerMethod::of(task.model) == Ok(NormalizerMethod::Quadrature)
}

/// The noise `auto`, fitted to rows spread over the data.
pub(crate) fn auto_noise(model: &Model, rows: DataRows<'_>) -> Result<Arc<dyn Noise>> {
    let some = rows.spread(SOME_ROWS);
    fit_auto(model.space(), some.view(), some.data().weights)
}

/// The noise that words say; those that are fitted are fitted to rows spread over the data.
fn worded_noise(task: FitTask<'_>, worded: &NoiseInWords, options: &FitOptions) -> Result<Arc<dyn Noise>> {
    let (model, some) = (task.model, task.rows.spread(SOME_ROWS));
    let view = some.view();
    let values = (0..view.columns()).flat_map(|j| view.column(j).iter().copied()).collect();
    let points = Points::from_values(model.space().names(), view.rows(), values)?;
    let start = model.start();
    let problem = Problem {
        data: Some(&points),
        weights: some.data().weights,
        precision: Precision { seed: options.seed, ..options.precision() },
        ..Problem::new(model, &start)
    };
    let nu = match options.amount {
        Amount::Ratio(nu) => nu,
        Amount::Points(points) => points as f64 / task.rows.total_weight(),
        Amount::Auto { .. } => 1.0,
    };
    let purpose = Purpose { nu, target: &options.target };
    problem.noise(&worded.words, purpose, worded.files.as_ref())
}

fn check_noise(model: &Model, noise: &dyn Noise) -> Result<()> {
    let (expected, found) = (model.space().dimension(), noise.dimension());
    if expected == found {
        Ok(())
    } else {
        Err(Error::Shape { what: "variables of the noise", expected, found })
    }
}

fn check_draws(task: FitTask<'_>, draws: &Draws) -> Result<()> {
    let same = |what: &'static str, expected: usize, found: usize| {
        if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    };
    same("columns of noise", task.model.space().dimension(), draws.points.columns())?;
    same("log-densities of the noise points", draws.points.rows(), draws.log_density.len())?;
    same("log-densities at the data", task.rows.rows(), draws.log_density_at_data.len())?;
    if draws.points.rows() == 0 {
        return Err(Error::range("noise_points", "at least 1", 0.0));
    }
    match draws.log_density.iter().position(|l| !l.is_finite()) {
        Some(row) => Err(Error::NoiseMissesItself { row: row + 1 }),
        None => Ok(()),
    }
}

/// Estimates with so much noise as the options say.
pub(crate) fn dosed<'a>(
    task: FitTask<'a>,
    noise: &Arc<dyn Noise>,
    options: &FitOptions,
) -> Result<Estimated<'a>> {
    if quiet::is_wanted(noise.as_ref(), options)
        && let Some(found) = quiet::estimate(task, noise, options)?
    {
        return Ok(found);
    }
    let total = task.rows.total_weight();
    let with = |points: usize, start: Option<&[f64]>| {
        // Beyond what is kept, noise is drawn again in every pass: only a number that would never end is refused.
        check_steps("noise_points", points, 1)?;
        estimate_against(task, &Against::Noise(noise.clone(), points), options, start)
    };
    match options.amount {
        Amount::Points(points) => with(points, None),
        Amount::Ratio(nu) => with(((nu * total).round() as usize).max(1), None),
        Amount::Auto { share, most_values } => enough(task, share, most_values, with),
    }
}

/// Extends one and the same stream of noise until its part of every standard error is small enough, or the budget ends.
fn enough<'a>(
    task: FitTask<'a>,
    share: f64,
    most_values: usize,
    with: impl Fn(usize, Option<&[f64]>) -> Result<Estimated<'a>>,
) -> Result<Estimated<'a>> {
    // Whole blocks, so that a longer sample begins with the shorter one.
    let whole = |points: f64| (points / BLOCK as f64).ceil().max(1.0) as usize * BLOCK;
    let allowed = (most_values / task.model.coordinates().len()).max(1);
    let most = if allowed < BLOCK { allowed } else { allowed / BLOCK * BLOCK };
    // Where rows count many times each, the rounds after the first find how much noise that asks for, from near the answer.
    let counted = task.rows.total_weight().min(task.rows.rows() as f64);
    let mut points = whole(2.0 * counted).max(FIRST_POINTS).min(most);
    let mut found = with(points, None)?;
    let others = worse_optima(&found.fit);
    for _ in 1..ROUNDS {
        let factor = shortfall(&found.fit, share);
        if factor <= 1.0 || !found.fit.converged || points >= most {
            break;
        }
        // A tenth more than the prediction, which leaves out that the weights change with ν.
        points = whole(1.1 * factor * points as f64).min(most);
        let start = found.fit.unknowns();
        found = with(points, Some(&start))?;
        // A longer sample is searched from the best minimum of the shorter one alone.
        found.fit.remember(&others);
    }
    found.fit.budget_spent = found.fit.converged && shortfall(&found.fit, share) > 1.0;
    Ok(found)
}

/// The optima beside the best; losses at different ratios do not compare, so that what is kept is by how much they are worse.
pub(crate) fn worse_optima(fit: &Fit) -> Vec<Optimum> {
    let best = fit.optima.first().map_or(fit.loss, |optimum| optimum.loss);
    let worse = |optimum: &Optimum| Optimum { loss: optimum.loss - best, ..optimum.clone() };
    fit.optima.iter().skip(1).map(worse).collect()
}

/// By which factor the noise part of the variances is too large, at worst.
///
/// A constant that hardly depends on the parameters has next to no data part, and endless noise would not make its own
/// a small share of that; against a tenth of 1/T_d, the variance of a logarithm of a share of the data, it is small soon.
pub(crate) fn shortfall(fit: &Fit, share: f64) -> f64 {
    let allowed = share * share / (1.0 - share * share);
    let least = |e: &super::Estimate| if e.name == LOG_NORMALIZER { 0.1 / fit.total_weight } else { 0.0 };
    let excess = |e: &&super::Estimate| e.se_noise.powi(2) / e.se_data.powi(2).max(least(e)) / allowed;
    fit.estimates().iter().filter(|e| e.se_data > 0.0).map(excess).fold(0.0, f64::max)
}
