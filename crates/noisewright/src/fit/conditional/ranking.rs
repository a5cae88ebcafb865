//! Estimates by ranking: every row is the chosen one among noise points given its covariates, the conditional logit of MATH §11.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::Problem;

use super::covariance::by_row;
use super::draws::choice_sets;
use crate::fit::choices::{ConditionalLogit, is_flat};
use crate::fit::covariance::invert_free;
use crate::fit::curvature::Curvature;
use crate::fit::data::Data;
use crate::fit::data_rows::DataRows;
use crate::fit::estimate::{Compared, Found};
use crate::fit::multistart;
use crate::fit::noise_choice::{shortfall, worse_optima};
use crate::fit::options::{Amount, DrawKind, FitOptions};
use crate::fit::prepare::scaling;
use crate::fit::result::{Fit, Optimum};
use crate::fit::solve::{Solution, in_box, limits};
use crate::moments::sandwich;
use crate::run::{Stage, if_possible};
use crate::{ConditionalNoise, Error, Model, Result};

/// Noise points of every row in the first round.
const FIRST_CHOICES: usize = 16;
/// Rounds in which there are more of them.
const ROUNDS: usize = 5;
/// How many more than one equal alternatives a row must be worth on the average: below that it is told from its noise points
/// without doubt, and they say nothing.
const ALONE: f64 = 1e-4;
/// Points from which the scales of parameters are taken, at most.
const SCALE_POINTS: usize = 1 << 14;

/// Estimates with as many noise points per row as the options ask for.
pub(super) fn dosed(
    model: &Model,
    data: Data<'_>,
    noise: &Arc<ConditionalNoise>,
    options: &FitOptions,
) -> Result<Fit> {
    let with = |choices: usize, start: Option<&[f64]>| estimate(model, data, noise, choices, start, options);
    let (share, most_values) = match (options.choices, options.amount) {
        (Some(choices), _) => return with(choices, None),
        (None, Amount::Auto { share, most_values }) => (share, most_values),
        (None, _) => return with(FIRST_CHOICES, None),
    };
    // A point is held with its covariates and the log-density of the noise, and has a score while it is summed.
    let each = data.points.rows().saturating_mul(model.parameters().len().max(model.space().dimension() + 1));
    let most = (most_values / each.max(1)).max(1);
    let mut choices = FIRST_CHOICES.min(most);
    let mut fit = with(choices, None)?;
    let others = worse_optima(&fit);
    for _ in 1..ROUNDS {
        let factor = shortfall(&fit, share);
        if factor <= 1.0 || !fit.converged || choices >= most {
            break;
        }
        // A tenth more than the prediction, which takes the noise's part for proportional to 1/K.
        choices = ((1.1 * factor * choices as f64).ceil() as usize).min(most);
        let start = fit.theta();
        fit = with(choices, Some(&start))?;
        fit.remember(&others);
    }
    fit.budget_spent = fit.converged && shortfall(&fit, share) > 1.0;
    Ok(fit)
}

/// A start for maximum likelihood: the estimate by ranking with a few noise points, where there is one.
pub(in crate::fit) fn pilot(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Option<Vec<f64>>> {
    let Some(noise) = if_possible(super::auto(model, DataRows::Memory(data)))? else { return Ok(None) };
    let found = if_possible(estimate(model, data, &noise, FIRST_CHOICES, None, options))?;
    Ok(found.filter(|fit| fit.converged).map(|fit| fit.theta()))
}

/// An estimate with so many noise points per row; `start` is that of fewer.
fn estimate(
    model: &Model,
    data: Data<'_>,
    noise: &Arc<ConditionalNoise>,
    choices: usize,
    start: Option<&[f64]>,
    options: &FitOptions,
) -> Result<Fit> {
    let logit = choice_sets(model, data, noise, choices, &options.context())?;
    let solution = minimum(&logit, start, options)?;
    options.report(Stage::Errors, 0, f64::NAN)?;
    let there = logit.evaluate(&solution.at, true)?;
    let Some(hessian) = there.hessian else { return Err(Error::NoMass) };
    let (theta, size) = (solution.at.as_slice(), solution.at.len());
    refuse_separated(&logit, &hessian, &solution)?;
    let slopes = logit.slopes(theta)?;
    if slopes.effective < (1.0 + ALONE) * logit.strata() as f64 {
        return Err(Error::HardlyAnyOverlap);
    }
    let free: Vec<usize> = (0..size).filter(|j| !solution.bound[*j]).collect();
    let bread = invert_free(&hessian, &free).map_err(|direction| logit.indistinct(&direction))?;
    let total = logit.total();
    let zero = || DMatrix::zeros(size, size);
    // Squares around a mean that the K points themselves are part of are too small by K/(K + 1).
    let factor = (choices as f64 + 1.0) / choices as f64 / (total * total);
    let of_draws = |sum: DMatrix<f64>| sandwich(&bread, &(sum * factor));
    let [once, shared] = slopes.of_draws.unwrap_or_else(|| [zero(), zero()]).map(of_draws);
    let covariance = by_row(&slopes.values, &bread, data, options.errors).in_parts(&once, shared);
    let optima = match solution.optima.is_empty() {
        true => vec![Optimum { at: theta.to_vec(), loss: there.value, starts: 1 }],
        false => solution.optima.clone(),
    };
    let found = Found {
        values: theta.to_vec(),
        held: solution.bound.clone(),
        covariance,
        hessian,
        curvature: Curvature::Observed,
        loss: there.value,
        iterations: solution.iterations,
        stop: solution.stop,
        optima,
    };
    let points = choices * data.points.rows();
    let words = noise.describe();
    let compared = Compared {
        draws: Some(DrawKind::Random),
        ..Compared::undrawn(choices as f64, points, words, "ranking".into())
    };
    let mut fit = found.fit(model, DataRows::Memory(data), compared, options.confidence);
    fit.choices = Some(choices);
    Ok(fit)
}

/// The minimum of the ranking loss, which is convex for a linear model.
fn minimum(logit: &ConditionalLogit<'_>, start: Option<&[f64]>, options: &FitOptions) -> Result<Solution> {
    let model = logit.model;
    if start.is_none() {
        refuse_without_density(logit)?;
    }
    if model.energy().is_linear() {
        let begin = DVector::from_vec(multistart::first(model, start));
        return in_box(logit, &limits(model, &vec![1.0; begin.len()]), &begin, options);
    }
    let points = logit.points.view();
    let (_, unit) = scaling(model, points.slice(0..points.rows().min(SCALE_POINTS)), false)?;
    let first = multistart::first(model, start);
    let places = match start {
        Some(_) => vec![first],
        None => multistart::nearby(model, &unit, &first, options),
    };
    let begin = |theta: &[f64]| Ok(DVector::from_column_slice(theta));
    let found = multistart::solve(logit, model, &begin, &places, options)?;
    found.ok_or_else(|| {
        let reason = "start where no row has a density: start elsewhere";
        Error::field("parameters", reason)
    })
}

/// Refuses the first row that has no density at the start, where a linear model then has none anywhere.
fn refuse_without_density(logit: &ConditionalLogit<'_>) -> Result<()> {
    let (model, start) = (logit.model, logit.model.start());
    let points = logit.points.view();
    let mut value = vec![0.0; points.rows()];
    if !model.energy().is_linear() || model.evaluate(&start, points, &mut value, None).is_err() {
        return Ok(());
    }
    let counts = |stratum: usize| logit.weights.as_ref().is_none_or(|w| w[stratum] > 0.0);
    let missing = |stratum: &usize| counts(*stratum) && !value[logit.starts[*stratum]].is_finite();
    match (0..logit.strata()).find(missing) {
        None => Ok(()),
        Some(stratum) => {
            let point = model.describe(&start, points, logit.starts[stratum]);
            Err(Error::DataWithoutDensity { row: stratum + 1, point })
        }
    }
}

/// Refuses rows that a linear model tells from all their noise points, so that its parameters run to infinity.
fn refuse_separated(logit: &ConditionalLogit<'_>, hessian: &DMatrix<f64>, solution: &Solution) -> Result<()> {
    if !logit.model.energy().is_linear() || solution.bound.contains(&true) {
        return Ok(());
    }
    let start = DVector::from_vec(logit.model.start());
    let Some(before) = logit.evaluate(&start, true)?.hessian else { return Ok(()) };
    if !is_flat(hessian, &before, solution.stop) {
        return Ok(());
    }
    match logit.separation()? {
        Some(found) => {
            Err(Error::NoMinimum { parameters: found.running.into_iter().map(|r| r.name).collect() })
        }
        None => Ok(()),
    }
}
