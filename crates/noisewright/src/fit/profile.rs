//! Intervals from the profile of the loss: the values at which its smallest rise over all other unknowns is that of a χ² quantile.
//!
//! Near its minimum the profile in a parameter is `L̂ + (θ − θ̂)²/(2(H⁻¹)_jj)`, so that `2T_d(L_p(θ) − L̂)` at the truth is
//! `T_d V_jj/(H⁻¹)_jj` times a χ² with one degree of freedom, V the variance of the estimate: one for maximum likelihood of a right
//! model, whose interval is that of the likelihood ratio, and any other number for other losses, by which the rise is divided
//! (Rotnitzky and Jewell 1990; Pace, Salvan and Sartori 2011).

use nalgebra::DVector;
use noisewright_numerics::optimize::{Held, Problem, minimize_in_box};

use super::covariance::invert_free;
use super::data::Dependence;
use super::estimate::{Basis, Estimated, FitTask};
use super::exact::Likelihood;
use super::options::{FitOptions, IntervalKind};
use super::result::Fit;
use super::solve::limits;
use crate::normalizer::two_sided;
use crate::run::Stage;
use crate::{Error, Model, Result};

/// Widenings of a bracket, each by the factor that a parabola asks for.
const WIDENINGS: usize = 24;
/// Steps of the search for an end, and its accuracy in standard errors.
const STEPS: usize = 60;
const ACCURACY: f64 = 1e-7;

/// Puts intervals from profiles into the place of Wald's, of all parameters that are not at a bound.
///
/// # Errors
/// When a loss cannot be evaluated, or the fit is cancelled.
pub(super) fn replace_intervals(
    task: FitTask<'_>,
    found: &mut Estimated<'_>,
    options: &FitOptions,
) -> Result<()> {
    let likelihood =
        matches!(found.basis, Basis::Likelihood(_)) && task.rows.dependence() == Dependence::Independent;
    match &found.basis {
        Basis::Noise(contrasted) => {
            let (start, scales) = (contrasted.at.clone(), &contrasted.objective.scaling.scale);
            let problem = Profiled { problem: &contrasted.objective, likelihood };
            replace(problem, task.model, (&start, scales), &mut found.fit, options)
        }
        Basis::Likelihood(_) if is_known(&found.fit) => {
            let problem = Profiled { problem: &Likelihood::plain(task)?, likelihood };
            of_parameters(problem, task.model, &mut found.fit, options)
        }
        Basis::Likelihood(_) => Ok(()),
    }
}

/// What is profiled, and whether it is a likelihood of independent rows, whose profile needs no scale.
#[derive(Clone, Copy)]
pub(super) struct Profiled<'p> {
    pub(super) problem: &'p dyn Problem<Error = Error>,
    pub(super) likelihood: bool,
}

/// The same where the unknowns are the parameters themselves.
///
/// # Errors
/// When a loss cannot be evaluated, or the fit is cancelled.
pub(super) fn of_parameters(
    profiled: Profiled<'_>,
    model: &Model,
    fit: &mut Fit,
    options: &FitOptions,
) -> Result<()> {
    let (start, scales) = (DVector::from_vec(fit.theta()), vec![1.0; fit.parameters.len()]);
    replace(profiled, model, (&start, &scales), fit, options)
}

/// Whether there is a minimum, with errors, to follow the profile from.
fn is_known(fit: &Fit) -> bool {
    fit.converged && !fit.parameters.is_empty() && fit.covariance.diagonal().iter().all(|v| v.is_finite())
}

/// Profiles from the minimum `start` of unknowns that are the parameters times `scales`, and perhaps a constant.
fn replace(
    profiled: Profiled<'_>,
    model: &Model,
    (start, scales): (&DVector<f64>, &[f64]),
    fit: &mut Fit,
    options: &FitOptions,
) -> Result<()> {
    if !is_known(fit) {
        return Ok(());
    }
    let free: Vec<usize> =
        (0..start.len()).filter(|j| fit.parameters.get(*j).is_none_or(|e| !e.at_bound)).collect();
    let Ok(inverse) = invert_free(&fit.hessian, &free) else { return Ok(()) };
    let mut profile = Profile::new(profiled.problem, model, start, scales, options)?;
    for j in 0..fit.parameters.len() {
        if fit.parameters[j].at_bound {
            continue;
        }
        let (variance, rows) = (fit.covariance[(j, j)], fit.total_weight);
        let (scale, freedom) = if profiled.likelihood {
            (1.0, f64::INFINITY)
        } else {
            (rows * variance / inverse[(j, j)], fit.parameters[j].degrees_of_freedom)
        };
        if !(scale > 0.0 && scale.is_finite() && variance > 0.0) {
            continue;
        }
        options.report(Stage::Errors, j, f64::NAN)?;
        profile.rise = scale * two_sided(options.confidence, freedom).powi(2) / (2.0 * rows);
        let estimate = &mut fit.parameters[j];
        let se = variance.sqrt();
        estimate.lower = profile.end(j, estimate.estimate, -se)?;
        estimate.upper = profile.end(j, estimate.estimate, se)?;
    }
    fit.interval = IntervalKind::Profile;
    Ok(())
}

/// The smallest loss with one parameter held.
struct Profile<'p> {
    problem: &'p dyn Problem<Error = Error>,
    model: &'p Model,
    start: &'p DVector<f64>,
    scales: &'p [f64],
    limits: Vec<(f64, f64)>,
    least: f64,
    /// By how much the loss rises at the ends.
    rise: f64,
    options: &'p FitOptions,
}

impl<'p> Profile<'p> {
    fn new(
        problem: &'p dyn Problem<Error = Error>,
        model: &'p Model,
        start: &'p DVector<f64>,
        scales: &'p [f64],
        options: &'p FitOptions,
    ) -> Result<Self> {
        let mut bounds = limits(model, scales);
        bounds.resize(start.len(), (f64::NEG_INFINITY, f64::INFINITY));
        let least = problem.evaluate(start, false)?.value;
        Ok(Self { problem, model, start, scales, limits: bounds, least, rise: 0.0, options })
    }

    /// The root of the rise at a value, in units of that at the ends: next to a straight line near the minimum. With it the place of the
    /// smallest loss, searched from one nearby.
    fn height(&self, j: usize, value: f64, near: &DVector<f64>) -> Result<(f64, DVector<f64>)> {
        let mut held = vec![None; self.start.len()];
        held[j] = Some(value * self.scales[j]);
        let part = Held { problem: self.problem, held: &held };
        let others: Vec<(f64, f64)> =
            self.limits.iter().enumerate().filter(|(k, _)| *k != j).map(|(_, limit)| *limit).collect();
        let mut begin = near.clone();
        begin[j] = value * self.scales[j];
        let there = if others.is_empty() {
            begin
        } else {
            let start = part.project(&begin);
            let found =
                self.options.descent(Stage::Errors, |o| minimize_in_box(&part, &others, &start, o))?;
            part.expand(&found.at)
        };
        let loss = self.problem.evaluate(&there, false)?.value;
        let height =
            if loss.is_finite() { ((loss - self.least).max(0.0) / self.rise).sqrt() } else { f64::INFINITY };
        Ok((height, there))
    }

    /// Where the interval ends on the side of `step`: infinite where the profile does not rise that far, a bound where it ends
    /// before.
    fn end(&self, j: usize, estimate: f64, step: f64) -> Result<f64> {
        let parameter = &self.model.parameters()[j];
        let bound = if step < 0.0 { parameter.lower } else { parameter.upper };
        let within = |value: f64| if step < 0.0 { value.max(bound) } else { value.min(bound) };
        // Searches begin at the last place on this side of the end: from beyond it, where another parameter may have come to a bound, they
        // need not come back.
        let (mut near, mut low, mut low_height) = (self.start.clone(), estimate, 0.0);
        let (mut high, mut high_height) = (estimate, 0.0);
        let mut reach = 2.0;
        for widening in 0..WIDENINGS {
            high = within(estimate + reach * step);
            let there;
            (high_height, there) = self.height(j, high, &near)?;
            if high_height >= 1.0 {
                break;
            }
            if high == bound {
                return Ok(bound);
            }
            if widening + 1 == WIDENINGS {
                return Ok(if step < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY });
            }
            (low, low_height, near) = (high, high_height, there);
            reach *= (1.2 / high_height.max(0.1)).clamp(1.5, 8.0);
        }
        for _ in 0..STEPS {
            if (high - low).abs() <= ACCURACY * step.abs() {
                break;
            }
            // A straight line between heights, kept away from the ends; halving where one is infinite.
            let share =
                if high_height.is_finite() { (1.0 - low_height) / (high_height - low_height) } else { 0.5 };
            let middle = low + share.clamp(0.02, 0.98) * (high - low);
            let (height, there) = self.height(j, middle, &near)?;
            if height >= 1.0 {
                (high, high_height) = (middle, height);
            } else {
                (low, low_height, near) = (middle, height, there);
            }
            if (height - 1.0).abs() < ACCURACY {
                return Ok(middle);
            }
        }
        Ok(high)
    }
}
