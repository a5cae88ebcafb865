//! One fit of a model against one noise: the samples, the descent, the covariance.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{Problem, Stop};

use super::covariance::{self, Covariance};
use super::curvature::{self, Curvature};
use super::data::{Data, Dependence};
use super::diagnostics::{self, Diagnostics, NearMinimum};
use super::kinks;
use super::loss_terms::Class;
use super::objective::{Full, Objective, Order};
use super::options::{Draws, FitOptions};
use super::prepare::{self, pick, spread};
use super::result::{Estimate, Fit, Variances, coordinates};
use super::sample_blocks::{HeldPoints, SampleBlocks};
use super::solve::{Solution, solve};
use crate::memory::room_for;
use crate::noise::sample_for;
use crate::run::{Context, Purpose, Stage, if_possible};
use crate::{Error, Model, Noise, Result};

/// Rows from which the scales of the features are taken, at most.
pub(crate) const SCALE_ROWS: usize = 1 << 14;
/// Values of features that are kept in memory rather than computed anew in every pass, at most.
const MOST_KEPT: usize = 1 << 26;

/// The same, or half of what is free where that is less.
fn most_kept() -> usize {
    room_for(MOST_KEPT, 2)
}

/// What the data are contrasted with.
pub(crate) enum Against {
    /// So many draws from a noise.
    Noise(Arc<dyn Noise>, usize),
    /// Draws that are there already.
    Draws(Arc<Draws>),
}

impl Against {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Noise(_, rows) => *rows,
            Self::Draws(draws) => draws.points.rows(),
        }
    }

    /// The noise side.
    fn side<'a>(&'a self, model: &Model, context: &Context) -> Result<SampleBlocks<'a>> {
        Ok(match self {
            Self::Draws(draws) => SampleBlocks::memory(
                Class::Noise,
                HeldPoints::Borrowed(draws.points.view()),
                None,
                draws.log_density.clone(),
            ),
            Self::Noise(noise, rows)
                if model.energy().is_linear() || rows * noise.dimension() > most_kept() =>
            {
                SampleBlocks::drawn(noise.clone(), context, *rows)
            }
            Self::Noise(noise, rows) => {
                let points = sample_for(noise.as_ref(), *rows, context, Purpose::FitNoise)?;
                let mut log_noise = vec![0.0; *rows];
                noise.log_density(points.view(), &mut log_noise);
                SampleBlocks::memory(Class::Noise, HeldPoints::Owned(points), None, log_noise)
            }
        })
    }

    /// The noise's log-density at the data.
    fn at_data(&self, data: Data<'_>) -> Vec<f64> {
        match self {
            Self::Draws(draws) => draws.log_density_at_data.clone(),
            Self::Noise(noise, _) => {
                let mut out = vec![0.0; data.points.rows()];
                noise.log_density(data.points, &mut out);
                out
            }
        }
    }
}

/// Fits a model to data in memory against one noise.
///
/// # Errors
/// When a point has no density, the unknowns cannot be told apart, or the fit is cancelled.
pub(crate) fn fit_against(
    model: &Model,
    data: Data<'_>,
    against: &Against,
    options: &FitOptions,
    start: Option<&[f64]>,
) -> Result<Fit> {
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let found = if start.is_none() { free_start(model, data, against, options)? } else { None };
    let start = start.or(found.as_deref());
    let total = data.total_weight();
    let nu = against.rows() as f64 / total;
    let data_side = SampleBlocks::memory(
        Class::Data,
        HeldPoints::Borrowed(data.points),
        data.weights,
        against.at_data(data),
    );
    let noise_side = against.side(model, &options.context())?;
    let keep = (data_side.rows + noise_side.rows) * prepare::width(model) <= most_kept();
    let ranges = spread(data.points.rows(), SCALE_ROWS);
    let (some, _) = pick(data.points, None, &ranges);
    let mut objective = Objective::new(model, &options.loss, nu, data_side, noise_side, some.view(), keep)?;
    let solution = solve(&mut objective, start, options)?;
    let mut fit = finish(&objective, solution, Some(data), options)?;
    if let Against::Noise(noise, _) = against {
        fit.noise_description = noise.describe();
        fit.noise = Some(noise.clone());
    }
    Ok(fit)
}

/// Parameters for a linear normalized model to start from: those of the same model with a free constant, whose loss is
/// convex, fitted to a part of the rows.
fn free_start(
    model: &Model,
    data: Data<'_>,
    against: &Against,
    options: &FitOptions,
) -> Result<Option<Vec<f64>>> {
    let Against::Noise(noise, rows) = against else { return Ok(None) };
    if !(model.is_normalized() && model.energy().is_linear()) {
        return Ok(None);
    }
    let free = model.clone().with_free_constant();
    let (points, weights) = pick(data.points, data.weights, &spread(data.points.rows(), SCALE_ROWS));
    let part = Data { weights: weights.as_deref(), ..Data::from(&points) };
    let few = Against::Noise(noise.clone(), (*rows).min(SCALE_ROWS));
    let found = if_possible(fit_against(&free, part, &few, options, None))?.map(|fit| fit.theta());
    let known = |theta: &Vec<f64>| model.log_normalizer(theta, &mut vec![0.0; theta.len()]).is_some();
    Ok(found.filter(known))
}

/// The curvature that the standard errors rest on: that of the loss, unless the model has kinks there. A linear model has
/// none.
fn trusted_curvature(
    objective: &Objective<'_>,
    full: &Full,
    at: &DVector<f64>,
    free: &[usize],
) -> Result<(DMatrix<f64>, Curvature)> {
    let observed = full.evaluation.hessian.clone();
    let observed = observed.ok_or_else(|| Error::internal("the Hessian of a fit is missing"))?;
    let Some(expected) = full.information.as_ref().filter(|_| !objective.linear) else {
        return Ok((observed, Curvature::Observed));
    };
    let seen = curvature::Seen { observed: &observed, expected, at, free, rows: objective.data.total };
    seen.trusted(|at| {
        let there = objective.evaluate(at, false)?;
        Ok(there.value.is_finite().then_some(there.gradient))
    })
}

/// A step from a minimum inside the bounds, unless it leaves them: the second-order model of a loss that flattens towards
/// a bound may lead far beyond it.
fn within_bounds(objective: &Objective<'_>, at: DVector<f64>, step: &DVector<f64>) -> DVector<f64> {
    let there = &at + step;
    let outer = objective.scaling.outer(there.as_slice());
    let inside = objective.model.parameters().iter().zip(&outer).all(|(p, x)| p.lower <= *x && *x <= p.upper);
    if inside { there } else { at }
}

/// The covariance at the minimum, a last Newton step with it, and the estimates in the model's own coordinates.
pub(crate) fn finish(
    objective: &Objective<'_>,
    solution: Solution,
    data: Option<Data<'_>>,
    options: &FitOptions,
) -> Result<Fit> {
    options.report(Stage::Errors, 0, f64::NAN)?;
    let full = objective.full(solution.at.as_slice(), Order::Meat)?;
    let size = objective.size();
    let free: Vec<usize> = (0..size).filter(|j| !solution.bound[*j]).collect();
    let (hessian, curvature) = trusted_curvature(objective, &full, &solution.at, &free)?;
    // Where the loss falls for ever, or data and noise do not touch, the curvature vanishes: that is no collinearity,
    // and no step leads anywhere.
    let separation =
        diagnostics::separated(objective, solution.at.as_slice(), &hessian, &free, solution.stop)?;
    let bread = match (&separation, covariance::bread(objective, solution.at.as_slice(), &hessian, &free)) {
        (None, Ok(bread)) => Some(bread),
        // What runs off is flat in the end: it is not that the data do not tell the parameters apart.
        (None, Err(error))
            if solution.stop != Stop::RunsOff
                && !diagnostics::out_of_touch(objective, solution.at.as_slice())? =>
        {
            return Err(error);
        }
        _ => None,
    };
    let lost = bread.is_none();
    let bread = bread.unwrap_or_else(|| DMatrix::zeros(size, size));
    let step = -(&bread * &full.evaluation.gradient);
    let mut at = solution.at;
    let mut stop = if lost { Stop::RunsOff } else { solution.stop };
    // The gradient came with the covariance: the last step costs nothing. At a kink it says nothing.
    let length = (-full.evaluation.gradient.dot(&step) * objective.data.total).max(0.0).sqrt();
    if length <= 1e-2 {
        at = if curvature == Curvature::Observed { within_bounds(objective, at, &step) } else { at };
    } else if stop == Stop::Converged && !kinks::is_minimum(objective, &at, full.information.as_ref())? {
        stop = Stop::NoDescent;
    }
    let covariance = if lost {
        Covariance::infinite(size)
    } else {
        covariance::parts(objective, &full, &bread, at.as_slice(), data, options)?
    };
    let outer = objective.scaling.outer(at.as_slice());
    let inner_hessian = hessian.clone();
    let mut optima = solution.optima;
    // A linear model's only minimum has its value from here.
    optima.iter_mut().filter(|o| o.loss.is_nan()).for_each(|o| o.loss = full.evaluation.value);
    let jacobian = objective.scaling.jacobian();
    let back = jacobian.try_inverse();
    let back = back.ok_or_else(|| Error::internal("the map of the unknowns has no inverse"))?;
    let hessian = back.transpose() * hessian * back;
    let confidence = options.confidence;
    let estimate = |(j, parameter): (usize, crate::Parameter)| {
        let (data, noise) = (covariance.data[(j, j)], covariance.noise[(j, j)]);
        let variances = Variances { data, noise, freedom: covariance.freedom[j] };
        Estimate::new(&parameter, outer[j], variances, confidence, solution.bound[j])
    };
    let mut parameters: Vec<Estimate> =
        coordinates(objective.model).into_iter().enumerate().map(estimate).collect();
    let log_normalizer = if objective.model.is_normalized() { None } else { parameters.pop() };
    let mut fit = Fit {
        parameters,
        log_normalizer,
        covariance: covariance.whole(),
        covariance_data: covariance.data,
        covariance_noise: covariance.noise,
        hessian,
        loss: full.evaluation.value,
        iterations: solution.iterations,
        converged: stop.converged(),
        stop,
        nu: objective.nu,
        noise_points: objective.noise.rows,
        noise: None,
        noise_description: "given draws".into(),
        budget_spent: false,
        rows: objective.data.rows,
        total_weight: objective.data.total,
        effective_rows: covariance.effective_rows,
        optima,
        confidence,
        curvature,
        diagnostics: Diagnostics::default(),
    };
    let independent = data.is_none_or(|data| data.dependence == Dependence::Independent);
    fit.diagnostics =
        diagnostics::of_contrast(objective, at.as_slice(), &inner_hessian, separation, &fit, independent)?;
    if !objective.linear {
        let (model, unit, bound) = (objective.model, &objective.unit, &solution.bound);
        let near = NearMinimum { problem: objective, model, unit, at: &at, bound };
        if let Some(runaway) = near.runaway(options)? {
            fit.run_away(runaway);
        }
    }
    Ok(fit)
}
