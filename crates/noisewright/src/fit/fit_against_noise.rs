//! One estimate of a model against one noise: the samples, the descent, the covariance.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{Problem, Stop};

use super::covariance::{self, Covariance};
use super::curvature::{self, Curvature};
use super::data_rows::DataRows;
use super::diagnostics::{self, Separation};
use super::distributed::Host;
use super::estimate::{Basis, Compared, Contrasted, Estimated, FitTask, Found, Notes};
use super::kinks;
use super::loss_terms::Class;
use super::no_start;
use super::objective::{Full, Objective, Order};
use super::options::{DrawKind, Draws, FitOptions};
use super::parts::from_near;
use super::prepare;
use super::quiet;
use super::result::Fit;
use super::sample_blocks::{FEW_DRAWN, HeldPoints, SampleBlocks};
use super::solve::{Solution, solve};
use super::two_step::Refitted;
use crate::noise::quiet::Replicates;
use crate::noise::sample_for;
use crate::run::{Context, Purpose, Stage, if_possible};
use crate::{Error, Loss, Model, Noise, Result};

/// Rows from which the scales of the features are taken, at most.
pub(crate) const SCALE_ROWS: usize = 1 << 14;
/// Longest last Newton step that is taken without another look, in standard errors.
const LAST_STEP: f64 = 1e-2;

/// What the data are contrasted with.
#[derive(Clone)]
pub(crate) enum Against {
    /// So many draws from a noise.
    Noise(Arc<dyn Noise>, usize),
    /// Replicates of quiet draws from a noise.
    Quiet(Arc<dyn Noise>, Replicates),
    /// Draws that are there already, with their log-densities.
    Draws(Arc<Draws>),
    /// Draws of a noise with the density of another one that was fitted to them.
    Refitted(Arc<Refitted>),
}

impl Against {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Noise(_, rows) => *rows,
            Self::Quiet(_, replicates) => replicates.rows(),
            Self::Draws(draws) => draws.points.rows(),
            Self::Refitted(refitted) => refitted.points.rows(),
        }
    }

    /// The noise whose density is known everywhere.
    fn noise(&self) -> Option<&Arc<dyn Noise>> {
        match self {
            Self::Noise(noise, _) | Self::Quiet(noise, _) => Some(noise),
            Self::Refitted(refitted) => Some(&refitted.noise),
            Self::Draws(_) => None,
        }
    }

    fn compared(&self, nu: f64, loss: &Loss, loss_ratio: Option<f64>) -> Compared {
        let noise = self.noise().cloned();
        let words = noise.as_ref().map_or_else(|| "given draws".into(), |noise| noise.describe());
        let (draws, replicates) = match self {
            Self::Quiet(_, replicates) => (Some(DrawKind::Quiet), Some(replicates.count)),
            Self::Noise(..) | Self::Refitted(_) => (Some(DrawKind::Random), None),
            Self::Draws(_) => (None, None),
        };
        Compared {
            nu,
            points: self.rows(),
            noise,
            words,
            loss: loss.to_string(),
            draws,
            replicates,
            loss_ratio,
        }
    }

    /// M, the ratio inside the loss: the one asked for, ν with independent noise, a usual one with quiet noise; `None` for a
    /// loss that has none.
    fn loss_ratio(&self, options: &FitOptions, nu: f64) -> Option<f64> {
        let usual = if matches!(self, Self::Quiet(..)) { quiet::USUAL_RATIO } else { nu };
        options.loss.is_js().then(|| options.loss_ratio.unwrap_or(usual))
    }

    /// The noise side.
    fn side<'a>(
        &self,
        model: &Model,
        context: &Context,
        host: Option<&'a dyn Host>,
    ) -> Result<SampleBlocks<'a>> {
        let held = |points, log_noise| SampleBlocks::memory(Class::Noise, points, None, log_noise);
        let most = if host.is_some() { FEW_DRAWN } else { usize::MAX };
        let drawn_again = |rows: usize, noise: &dyn Noise| {
            model.energy().is_linear() || rows > most || rows * noise.dimension() > prepare::most_kept()
        };
        let side = match self {
            Self::Draws(draws) => held(HeldPoints::Given(draws.clone()), draws.log_density.clone()),
            Self::Refitted(own) => held(HeldPoints::Shared(own.points.clone()), own.log_density.clone()),
            Self::Quiet(noise, replicates) => {
                let side =
                    SampleBlocks::quiet(noise.clone(), context, (replicates.count, replicates.points))?;
                if drawn_again(side.rows, noise.as_ref()) { side } else { side.hold()? }
            }
            Self::Noise(noise, rows) if drawn_again(*rows, noise.as_ref()) => {
                SampleBlocks::drawn(noise.clone(), context, *rows)
            }
            Self::Noise(noise, rows) => {
                let points = sample_for(noise.as_ref(), *rows, context, Purpose::FitNoise)?;
                let mut log_noise = vec![0.0; *rows];
                noise.log_density(points.view(), &mut log_noise);
                held(HeldPoints::Owned(points), log_noise)
            }
        };
        Ok(side.by(host))
    }

    /// The data side.
    ///
    /// # Errors
    /// When given draws meet rows that are not in memory.
    fn data_side<'a>(&self, rows: DataRows<'a>) -> Result<SampleBlocks<'a>> {
        match self {
            Self::Noise(noise, _) | Self::Quiet(noise, _) => Ok(rows.against(noise)),
            Self::Refitted(refitted) => Ok(rows.against(&refitted.noise)),
            Self::Draws(draws) => match rows.whole() {
                Some(data) => Ok(DataRows::side(data, draws.log_density_at_data.clone())),
                None => Err(needs_memory("noise")),
            },
        }
    }
}

/// An option that rows read in blocks cannot have.
pub(crate) fn needs_memory(option: &'static str) -> Error {
    Error::option(option, "needs the rows in memory: leave streaming out, or choose another")
}

/// Estimates a model against one noise; `start` are unknowns or parameters to begin with.
///
/// # Errors
/// When a point has no density, the unknowns cannot be told apart, or the fit is cancelled.
pub(crate) fn estimate_against<'a>(
    task: FitTask<'a>,
    against: &Against,
    options: &FitOptions,
    start: Option<&[f64]>,
) -> Result<Estimated<'a>> {
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let found = if start.is_none() { first_start(task, against, options)? } else { None };
    let start = start.or(found.as_deref());
    let (mut objective, compared) = contrasted(task, against, options)?;
    let solution = solve(&mut objective, start, options)?;
    estimated(objective, solution, task.rows, compared, options)
}

/// Estimates a model again with another loss or other noise points, near the estimate that is known: one of functions by gradients with
/// the curvature there, and without another look for kinks where there are none and the curvature stays.
///
/// # Errors
/// As for [`estimate_against`].
pub(crate) fn estimate_near<'a>(
    task: FitTask<'a>,
    against: &Against,
    options: &FitOptions,
    near: &Estimated<'a>,
) -> Result<Estimated<'a>> {
    let unknowns = near.fit.unknowns();
    let Basis::Noise(known) = &near.basis else {
        return estimate_against(task, against, options, Some(&unknowns));
    };
    if known.objective.linear || known.held.contains(&true) || near.fit.curvature != Curvature::Observed {
        return estimate_against(task, against, options, Some(&unknowns));
    }
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let (mut objective, compared) = contrasted(task, against, options)?;
    let solution = match from_near(&objective, &known.at, &known.hessian, options)? {
        Some(solution) => solution,
        None => solve(&mut objective, Some(&unknowns), options)?,
    };
    estimated_at(objective, solution, Some(&known.hessian), task.rows, compared, options)
}

/// The loss of a model against one noise, and what that is.
///
/// # Errors
/// When a point has no density.
pub(crate) fn contrasted<'a>(
    task: FitTask<'a>,
    against: &Against,
    options: &FitOptions,
) -> Result<(Objective<'a>, Compared)> {
    let nu = against.rows() as f64 / task.rows.total_weight();
    let (data, noise) =
        (against.data_side(task.rows)?, against.side(task.model, &options.context(), task.rows.host())?);
    let keep = task.rows.whole().is_some();
    let some = task.rows.spread(SCALE_ROWS);
    let loss_ratio = against.loss_ratio(options, nu);
    let loss = match loss_ratio {
        Some(ratio) => task.loss.with_ratio(ratio, nu)?,
        None => task.loss.clone(),
    };
    let objective = Objective::new(task.model, &loss, nu, data, noise, some.view(), keep)?;
    Ok((objective, against.compared(nu, task.loss, loss_ratio)))
}

/// Where to start, if a fit of something easier tells: of some rows by the same model with a free constant (whose loss is
/// convex) for a linear normalized one.
fn first_start(task: FitTask<'_>, against: &Against, options: &FitOptions) -> Result<Option<Vec<f64>>> {
    let Some(noise) = against.noise() else { return Ok(None) };
    if !(task.model.is_normalized() && task.model.energy().is_linear()) {
        return Ok(None);
    }
    let model = task.model.clone().with_free_constant();
    let some = task.rows.spread(SCALE_ROWS);
    let part = FitTask { model: &model, rows: DataRows::Memory(some.data()), loss: task.loss };
    let few = match against {
        Against::Quiet(..) => against.clone(),
        _ => Against::Noise(noise.clone(), against.rows().min(SCALE_ROWS)),
    };
    let inside = |theta: &Vec<f64>| task.model.log_normalizer(theta, &mut vec![0.0; theta.len()]).is_some();
    let found = if_possible(estimate_against(part, &few, options, None))?;
    Ok(found.map(|found| found.fit.theta()).filter(inside))
}

/// The covariance at the minimum, a last Newton step with it, and the estimates in the model's own coordinates.
///
/// # Errors
/// When the data do not tell the unknowns apart, or the rows cannot be passed over again.
pub(crate) fn estimated<'a>(
    objective: Objective<'a>,
    solution: Solution,
    rows: DataRows<'a>,
    with: Compared,
    options: &FitOptions,
) -> Result<Estimated<'a>> {
    estimated_at(objective, solution, None, rows, with, options)
}

/// The same; `near` is the curvature close by, where the loss is known to have no kinks.
fn estimated_at<'a>(
    objective: Objective<'a>,
    solution: Solution,
    near: Option<&DMatrix<f64>>,
    rows: DataRows<'a>,
    with: Compared,
    options: &FitOptions,
) -> Result<Estimated<'a>> {
    options.report(Stage::Errors, 0, f64::NAN)?;
    let full = objective.full(solution.at.as_slice(), Order::Meat)?;
    let curve = Curve::at(&objective, &full, &solution, near)?;
    let (at, stop) = curve.last_step(&objective, &full, &solution)?;
    let covariance = match &curve.bread {
        Some(bread) => covariance::parts(&objective, &full, bread, at.as_slice(), rows, options)?,
        None => Covariance::infinite(objective.size()),
    };
    let mut optima = solution.optima;
    // A linear model's only minimum has its value from here.
    optima.iter_mut().filter(|o| o.loss.is_nan()).for_each(|o| o.loss = full.evaluation.value);
    let found = Found {
        values: objective.scaling.outer(at.as_slice()),
        held: solution.bound.clone(),
        covariance,
        hessian: objective.scaling.outer_hessian(&curve.hessian),
        curvature: curve.curvature,
        loss: full.evaluation.value,
        iterations: solution.iterations,
        stop,
        optima,
    };
    let fit: Fit = found.fit(objective.model, rows, with, options.confidence);
    let Curve { hessian, separation, .. } = curve;
    let basis = Contrasted { objective, at, held: solution.bound, hessian, separation };
    Ok(Estimated { fit, basis: Basis::Noise(Box::new(basis)), notes: Notes::default() })
}

/// The curvature that the standard errors rest on: that of the loss, unless the model has kinks there. A linear model has
/// none, and so has a loss whose curvature is still the one `near`by, which was looked at.
fn trusted_curvature(
    objective: &Objective<'_>,
    full: &Full,
    at: &DVector<f64>,
    free: &[usize],
    near: Option<&DMatrix<f64>>,
) -> Result<(DMatrix<f64>, Curvature)> {
    let Some(observed) = full.evaluation.hessian.clone() else { return Err(no_start::explain(objective)) };
    let Some(expected) = full.information.as_ref().filter(|_| !objective.linear) else {
        return Ok((observed, Curvature::Observed));
    };
    let seen = curvature::Seen { observed: &observed, expected, at, free, rows: objective.data.total };
    if near.is_some_and(|near| seen.agrees_with(near)) {
        return Ok((observed, Curvature::Observed));
    }
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

/// How the loss curves where a descent ended.
struct Curve {
    /// The second derivatives, or what stands for them at a kink.
    hessian: DMatrix<f64>,
    curvature: Curvature,
    /// Its inverse over the free unknowns; none where the loss falls for ever, or data and noise do not touch: that is no
    /// collinearity, and no step leads anywhere.
    bread: Option<DMatrix<f64>>,
    separation: Option<Separation>,
}

impl Curve {
    fn at(
        objective: &Objective<'_>,
        full: &Full,
        solution: &Solution,
        near: Option<&DMatrix<f64>>,
    ) -> Result<Self> {
        let free: Vec<usize> = (0..objective.size()).filter(|j| !solution.bound[*j]).collect();
        let (hessian, curvature) = trusted_curvature(objective, full, &solution.at, &free, near)?;
        let at = solution.at.as_slice();
        let separation = diagnostics::separated(objective, at, &hessian, &free, solution.stop)?;
        let bread = match &separation {
            Some(_) => None,
            None => match covariance::bread(objective, at, &hessian, &free) {
                Ok(bread) => Some(bread),
                // What runs off is flat in the end: it is not that the data do not tell the parameters apart.
                Err(_) if solution.stop == Stop::RunsOff || diagnostics::out_of_touch(objective, at)? => None,
                Err(error) => return Err(error),
            },
        };
        Ok(Self { hessian, curvature, bread, separation })
    }

    /// Where the last step leads, and how the search then ended. The gradient came with the covariance: it costs nothing. At a
    /// kink it says nothing.
    fn last_step(
        &self,
        objective: &Objective<'_>,
        full: &Full,
        solution: &Solution,
    ) -> Result<(DVector<f64>, Stop)> {
        let at = solution.at.clone();
        let Some(bread) = &self.bread else { return Ok((at, Stop::RunsOff)) };
        let step = -(bread * &full.evaluation.gradient);
        let length = (-full.evaluation.gradient.dot(&step) * objective.data.total).max(0.0).sqrt();
        if length <= LAST_STEP {
            let smooth = self.curvature == Curvature::Observed;
            let moved = if smooth { within_bounds(objective, at, &step) } else { at };
            return Ok((moved, solution.stop));
        }
        let lost = solution.stop == Stop::Converged
            && !kinks::is_minimum(objective, &at, full.information.as_ref())?;
        Ok((at, if lost { Stop::NoDescent } else { solution.stop }))
    }
}
