//! An estimate before it is judged, and the one place where a [`Fit`] is made.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use super::covariance::Covariance;
use super::curvature::Curvature;
use super::data::Data;
use super::data_rows::DataRows;
use super::diagnostics::{Diagnostics, Runaway, Separation, Warning};
use super::objective::Objective;
use super::optimal::OptimalReport;
use super::options::DrawKind;
use super::result::{Estimate, Fit, Optimum, Variances, coordinates};
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
    /// How the noise was drawn, where it was.
    pub(crate) draws: Option<DrawKind>,
    /// Replicates of quiet noise.
    pub(crate) replicates: Option<usize>,
    /// M, where the loss has one.
    pub(crate) loss_ratio: Option<f64>,
}

impl Compared {
    /// With something that was not drawn from a noise.
    pub(crate) fn undrawn(nu: f64, points: usize, words: String) -> Self {
        Self { nu, points, noise: None, words, draws: None, replicates: None, loss_ratio: None }
    }
}

impl Found {
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
            coordinates(model).into_iter().enumerate().map(estimate).collect();
        let log_normalizer = if model.is_normalized() { None } else { parameters.pop() };
        Fit {
            parameters,
            log_normalizer,
            covariance: self.covariance.whole(),
            covariance_data: self.covariance.data,
            covariance_noise: self.covariance.noise,
            hessian: self.hessian,
            loss: self.loss,
            iterations: self.iterations,
            converged: self.stop.converged(),
            stop: self.stop,
            nu: with.nu,
            noise_points: with.points,
            noise: with.noise,
            noise_description: with.words,
            draws: with.draws,
            replicates: with.replicates,
            loss_ratio: with.loss_ratio,
            noise_gain: self.covariance.noise_gain,
            budget_spent: false,
            rows: rows.rows(),
            total_weight: rows.total_weight(),
            effective_rows: self.covariance.effective_rows,
            optima: self.optima,
            confidence,
            curvature: self.curvature,
            diagnostics: Diagnostics::default(),
            at_rows: None,
        }
    }
}
