//! Noise fitted to the very rows: what its own parameters add to the errors of a model that is wrong (MATH §15).
//!
//! What a wrong model tends to depends on the noise, and a noise that was fitted to the rows moves with them. With α its
//! parameters, s their score and a, b the derivatives of a data and a noise term in the log ratio, the slope of the loss
//! `E_d[aψ] + ν E_n[bψ]` changes with α by
//!
//!   `D = −E_d[a′ψsᵀ] − ν E_n[b′ψsᵀ] + ν E_n[bψsᵀ]`,
//!
//! the last term because the draws move too. A row moves α by `IF = J⁻¹s`, `J = E_n[ssᵀ]`, for maximum likelihood in an
//! exponential family, so that it adds `aψ + D·IF` to the slope instead of `aψ`. Where the model is right D is zero.

use nalgebra::DMatrix;
use noisewright_numerics::linalg::{Inverse, invert};

use super::Data;
use super::data::Dependence;
use super::loss_terms::{Class, Terms};
use super::options::{CovarianceKind, FitOptions};
use super::result::Fit;
use super::two_step::{covariance_of_mean, scores};
use crate::moments::{sandwich, weighted_outer};
use crate::noise::{Refit, sample_for};
use crate::run::Purpose;
use crate::{Model, Noise, Result, View};

/// Rows of data, and noise points, from which the influence is taken, at most: with more noise than that per row it is
/// small, and of more rows these tell D well enough.
const MOST_ROWS: usize = 1 << 17;

/// Noise points from which the influence is taken, at least.
const FEWEST_POINTS: usize = 1 << 14;

/// Adds to the data part of the covariance what a noise fitted to the rows themselves adds to it; nothing for a noise that
/// is not the one which its family gives for these rows.
///
/// # Errors
/// When the model cannot be evaluated.
pub(crate) fn correct(
    model: &Model,
    data: Data<'_>,
    fit: &mut Fit,
    noise: &dyn Noise,
    options: &FitOptions,
) -> Result<()> {
    let robust = options.errors == CovarianceKind::Robust && data.dependence == Dependence::Independent;
    let plain = robust && data.weights.is_none() && data.points.rows() <= MOST_ROWS;
    let inside = fit.converged && fit.parameters.iter().all(|e| !e.at_bound);
    let Some(family) =
        noise.refittable().filter(|_| plain && inside && fit.diagnostics.no_answer().is_none())
    else {
        return Ok(());
    };
    let fitted_here = family.refit(data.points).is_ok_and(|again| again.describe() == noise.describe());
    let Inverse::Regular(bread) = invert(&fit.hessian) else { return Ok(()) };
    if !fitted_here {
        return Ok(());
    }
    let influence = Influence { model, fit, noise, family, options };
    let Some((with, without)) = influence.meats(data.points)? else { return Ok(()) };
    let part = |meat: DMatrix<f64>| sandwich(&bread, &meat);
    // What was corrected for leverage stays so: the difference of the two is added.
    let added = part(with) - part(without);
    fit.add_to_data_part(model, &added);
    Ok(())
}

struct Influence<'a> {
    model: &'a Model,
    fit: &'a Fit,
    noise: &'a dyn Noise,
    family: &'a dyn Refit,
    options: &'a FitOptions,
}

/// Terms of one sample: the slope's by row, and their derivatives in α.
struct Side {
    rows: usize,
    /// `aψ` or `bψ`, column after column.
    slope: Vec<f64>,
    /// Scores of the noise, column after column.
    score: Vec<f64>,
    /// The mean of `a′ψsᵀ` or `b′ψsᵀ`.
    density: DMatrix<f64>,
    /// The mean of `aψsᵀ` or `bψsᵀ`.
    draws: DMatrix<f64>,
}

impl Influence<'_> {
    /// The covariance of the mean slope over the data with and without the noise's influence; `None` where the draws do not
    /// tell the noise's parameters apart.
    fn meats(&self, data: View<'_>) -> Result<Option<(DMatrix<f64>, DMatrix<f64>)>> {
        // Of quiet noise there are few points; D is an expectation, which independent ones give as well.
        let points = self.fit.noise_points.clamp(FEWEST_POINTS, MOST_ROWS);
        let drawn = sample_for(self.noise, points, &self.options.context(), Purpose::FitNoise)?;
        let (at_data, at_noise) = (self.side(Class::Data, data)?, self.side(Class::Noise, drawn.view())?);
        let nu = self.fit.nu;
        let change = (at_noise.draws - at_noise.density) * nu - at_data.density;
        let shares = vec![1.0 / at_noise.rows as f64; at_noise.rows];
        let spread = weighted_outer(&at_noise.score, self.family.parameters(), &shares);
        let Inverse::Regular(inverse) = invert(&spread) else { return Ok(None) };
        let (size, rows) = (change.nrows(), at_data.rows);
        let without = covariance_of_mean(&at_data.slope, size, rows);
        let projection = change * inverse;
        let mut slope = at_data.slope;
        for j in 0..size {
            let column = &mut slope[j * rows..(j + 1) * rows];
            for (l, score) in at_data.score.chunks(rows).enumerate() {
                let factor = projection[(j, l)];
                column.iter_mut().zip(score).for_each(|(x, s)| *x += factor * s);
            }
        }
        Ok(Some((covariance_of_mean(&slope, size, rows), without)))
    }

    fn side(&self, class: Class, points: View<'_>) -> Result<Side> {
        let rows = points.rows();
        let mut log_noise = vec![0.0; rows];
        self.noise.log_density(points, &mut log_noise);
        let (log_ratio, mut slope) = scores(self.model, self.fit, points, &log_noise)?;
        let mut terms = Terms::default();
        terms.fill(&self.fit.loss_used(&self.options.loss), class, &log_ratio);
        let mut score = vec![0.0; rows * self.family.parameters()];
        self.family.score(points, &mut score);
        let size = slope.len() / rows.max(1);
        let mean = |weights: &[f64]| {
            DMatrix::from_fn(size, self.family.parameters(), |j, l| {
                let (psi, s) = (&slope[j * rows..(j + 1) * rows], &score[l * rows..(l + 1) * rows]);
                let products = weights.iter().zip(psi).zip(s).map(|((t, p), s)| t * p * s);
                products.sum::<f64>() / rows as f64
            })
        };
        let (density, draws) = (mean(&terms.second), mean(&terms.first));
        for column in slope.chunks_mut(rows.max(1)) {
            column.iter_mut().zip(&terms.first).for_each(|(p, t)| *p *= t);
        }
        Ok(Side { rows, slope, score, density, draws })
    }
}

impl Fit {
    /// Adds a matrix to the data part of the covariance, and to the errors and intervals, unless that leaves less than a
    /// quarter of a variance, which no influence of the noise explains.
    fn add_to_data_part(&mut self, model: &Model, added: &DMatrix<f64>) {
        let grown = &self.covariance_data + added;
        let sound =
            |j: usize| grown[(j, j)].is_finite() && grown[(j, j)] >= 0.25 * self.covariance_data[(j, j)];
        if (0..grown.nrows()).all(sound) {
            self.covariance_data = grown;
            self.replace_noise_part(model, self.covariance_noise.clone());
        }
    }
}
