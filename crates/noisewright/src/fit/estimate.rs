//! An estimate before it is judged, and the one place where a [`Fit`] is made.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use super::covariance::Covariance;
use super::curvature::Curvature;
use super::data::Data;
use super::data_rows::DataRows;
use super::diagnostics::{Diagnostics, Runaway, Separation, Warning};
use super::method::FitMethod;
use super::objective::Objective;
use super::optimal::OptimalReport;
use super::options::{DrawKind, IntervalKind};
use super::result::{Estimate, Fit, Optimum, Variances, coordinates};
use super::solve::Solution;
use super::two_step::TwoStepReport;
use crate::{Error, Loss, Model, Noise, Parameter};
use noisewright_numerics::optimize::Stop;

/// What is fitted to what.
#[derive(Clone, Copy)]
pub(crate) struct FitTask<'a> {
    pub(crate) model: &'a Model,
    pub(crate) rows: DataRows<'a>,
    pub(crate) loss: &'a Loss,
}

/// An estimate with its errors, and what a judge needs to know of how it came about.
pub(crate) struct Estimated<'a> {
    /// Without diagnostics.
    pub(crate) fit: Fit,
    pub(crate) basis: Basis<'a>,
    pub(crate) notes: Notes,
}

/// What an estimate was made from.
pub(crate) enum Basis<'a> {
    /// Data against noise.
    Noise(Box<Contrasted<'a>>),
    /// The likelihood.
    Likelihood(Box<Maximised<'a>>),
}

/// A likelihood at its maximum, and what stood in its way.
pub(crate) struct Maximised<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) separation: Option<Separation>,
    /// Where the density ceased to integrate on the way, if it did.
    pub(crate) wall: Option<Error>,
    /// A parameter without a finite estimate.
    pub(crate) runaway: Option<Runaway>,
}

/// The loss at its minimum.
pub(crate) struct Contrasted<'a> {
    pub(crate) objective: Objective<'a>,
    /// The minimum in the solver's coordinates.
    pub(crate) at: DVector<f64>,
    /// Which unknowns are held at a bound.
    pub(crate) held: Vec<bool>,
    /// The second derivatives there, in the same coordinates.
    pub(crate) hessian: DMatrix<f64>,
    pub(crate) separation: Option<Separation>,
}

/// What the making of an estimate has to tell.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) optimal: Option<OptimalReport>,
    pub(crate) two_step: Option<TwoStepReport>,
    pub(crate) warnings: Vec<Warning>,
}

/// What a search found, in the model's coordinates, the constant last.
pub(crate) struct Found {
    pub(crate) values: Vec<f64>,
    /// Which of them are held at a bound.
    pub(crate) held: Vec<bool>,
    pub(crate) covariance: Covariance,
    pub(crate) hessian: DMatrix<f64>,
    pub(crate) curvature: Curvature,
    pub(crate) loss: f64,
    pub(crate) iterations: usize,
    pub(crate) stop: Stop,
    pub(crate) optima: Vec<Optimum>,
}

/// What the data were compared with.
pub(crate) struct Compared {
    pub(crate) nu: f64,
    pub(crate) points: usize,
    pub(crate) noise: Option<Arc<dyn Noise>>,
    pub(crate) words: String,
    /// The loss by its name.
    pub(crate) loss: String,
    /// How the noise was drawn, where it was.
    pub(crate) draws: Option<DrawKind>,
    /// Replicates of quiet noise.
    pub(crate) replicates: Option<usize>,
    /// M, where the loss has one.
    pub(crate) loss_ratio: Option<f64>,
}

impl Compared {
    /// With something that was not drawn from a noise.
    pub(crate) fn undrawn(nu: f64, points: usize, words: String, loss: String) -> Self {
        Self { nu, points, noise: None, words, loss, draws: None, replicates: None, loss_ratio: None }
    }
}

/// Rows at which the densities of two optima are compared.
const COMPARED_ROWS: usize = 256;
/// Differences of log-densities, and shares of a loss, that the tolerance of a search may leave between two descents to the
/// same density: it stops a millionth of a standard error away.
const SAME_DENSITY: f64 = 1e-5;
const SAME_LOSS: f64 = 1e-9;

/// The optima that are different densities: mirror images, components that changed places and angles a turn apart have the
/// same loss and, up to the constant, the same log-density at the data.
fn of_different_densities(model: &Model, rows: DataRows<'_>, optima: Vec<Optimum>) -> Vec<Optimum> {
    if optima.len() < 2 {
        return optima;
    }
    let some = rows.spread(COMPARED_ROWS);
    let from_first = |optimum: &Optimum| {
        let mut value = vec![0.0; some.view().rows()];
        let theta = &optimum.at[..model.parameters().len()];
        model.evaluate(theta, some.view(), &mut value, None).ok()?;
        Some(value.iter().map(|v| v - value[0]).collect::<Vec<f64>>())
    };
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= SAME_DENSITY);
    let mut known: Vec<(Option<Vec<f64>>, Optimum)> = Vec::new();
    for optimum in optima {
        let density = from_first(&optimum);
        let again = known.iter_mut().find(|(other, o)| {
            (o.loss - optimum.loss).abs() <= SAME_LOSS * o.loss.abs().max(SAME_LOSS)
                && matches!((other, &density), (Some(a), Some(b)) if same(a, b))
        });
        match again {
            Some((_, known)) => known.starts += optimum.starts,
            None => known.push((density, optimum)),
        }
    }
    known.into_iter().map(|(_, optimum)| optimum).collect()
}

impl Found {
    /// The one minimum of a loss, with the loss's own curvature there.
    pub(crate) fn minimum(
        values: Vec<f64>,
        held: Vec<bool>,
        loss: f64,
        covariance: Covariance,
        hessian: DMatrix<f64>,
    ) -> Self {
        let optima = vec![Optimum { at: values.clone(), loss, starts: 1 }];
        let (curvature, iterations, stop) = (Curvature::Observed, 0, Stop::Converged);
        Self { values, held, covariance, hessian, curvature, loss, iterations, stop, optima }
    }

    /// The same, with the steps of the descent to it and why it ended.
    pub(crate) fn after(self, iterations: usize, stop: Stop) -> Self {
        Self { iterations, stop, ..self }
    }

    /// What a search ended with; where it lists no optima, its own is the only one.
    pub(crate) fn of_search(
        solution: &Solution,
        values: Vec<f64>,
        loss: f64,
        covariance: Covariance,
        hessian: DMatrix<f64>,
    ) -> Self {
        let found = Self::minimum(values, solution.bound.clone(), loss, covariance, hessian)
            .after(solution.iterations, solution.stop);
        match solution.optima.is_empty() {
            true => found,
            false => Self { optima: solution.optima.clone(), ..found },
        }
    }

    /// The fit, without diagnostics.
    pub(crate) fn fit(self, model: &Model, rows: DataRows<'_>, with: Compared, confidence: f64) -> Fit {
        let estimate = |(j, parameter): (usize, Parameter)| {
            let variances = Variances {
                data: self.covariance.data[(j, j)],
                noise: self.covariance.noise[(j, j)],
                freedom: self.covariance.freedom[j],
            };
            let held = self.held.get(j).copied().unwrap_or(false);
            Estimate::new(&parameter, self.values[j], variances, confidence, held)
        };
        let mut parameters: Vec<Estimate> =
            coordinates(model).into_iter().take(self.values.len()).enumerate().map(estimate).collect();
        // A method that says nothing of the constant may leave it out.
        let constant = parameters.len() > model.parameters().len();
        let log_normalizer = if constant { parameters.pop() } else { None };
        Fit {
            method: if with.nu.is_finite() { FitMethod::Nce } else { FitMethod::Exact },
            parameters,
            log_normalizer,
            covariance: self.covariance.whole(),
            covariance_data: self.covariance.data,
            covariance_noise: self.covariance.noise,
            hessian: self.hessian,
            loss: self.loss,
            loss_name: with.loss,
            iterations: self.iterations,
            converged: self.stop.converged(),
            stop: self.stop,
            nu: with.nu,
            noise_points: with.points,
            choices: None,
            noise: with.noise,
            noise_description: with.words,
            draws: with.draws,
            replicates: with.replicates,
            loss_ratio: with.loss_ratio,
            noise_gain: self.covariance.noise_gain,
            budget_spent: false,
            rows: rows.rows(),
            total_weight: rows.total_weight(),
            effective_rows: self.covariance.worth.rows(),
            few_clusters: self.covariance.worth.few_clusters(),
            log_likelihood: None,
            optima: of_different_densities(model, rows, self.optima),
            confidence,
            curvature: self.curvature,
            interval: IntervalKind::Wald,
            bootstrap: None,
            held_out: None,
            optimism: None,
            penalty: None,
            diagnostics: Diagnostics::default(),
            at_rows: None,
            clean_share: None,
        }
    }
}
