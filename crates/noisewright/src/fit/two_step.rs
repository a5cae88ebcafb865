//! Two-step fits: a parametric noise is fitted again to its own draws, and the fitted density takes its place.
//!
//! That the density is known better by being estimated sounds absurd, but lowers the variance. Let α be the noise's
//! parameters, s its score, and `∇L(β, α) = E_d[a ψ] + ν E_n[b ψ]` the slope of the loss, with a and b the derivatives
//! of a data and of a noise term in g (`a = −w`, `b = w r`). Because `∂g/∂α = −s`,
//!
//!   `∂∇L/∂α = −K`,  `K = E_d[a′ ψ sᵀ] + ν E_n[b′ ψ sᵀ]`
//!
//! and maximum likelihood gives `α̂ − α ≈ J⁻¹ mean_n(s)`, `J = E_n[s sᵀ]`. So `β̂ − β ≈ −H⁻¹ (∇L(β, α) − K (α̂ − α))`:
//! the data part of the variance stays as it is, and the noise part becomes the variance of the mean over the noise of
//!
//!   `ν b ψ − K J⁻¹ s`.
//!
//! A noise that was fitted to the rows before it was drawn from adds to the data part what it adds without a refit
//! (`noise_influence.rs`): the draws and the density that is fitted to them move with the rows alike.
//!
//! Where the model is true, `ν p_n r = p_d` turns K into `ν E_n[b ψ sᵀ]`: what is taken off is exactly the projection of the
//! noise's influence on its own score, and the variance can only fall. (When it is not true, K is what the samples say.)

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};

use super::data_rows::DataRows;
use super::diagnostics::{Finding, Remedy, Warning};
use super::estimate::{Estimated, FitTask};
use super::fit_against_noise::{Against, estimate_against};
use super::loss_terms::{Class, Terms};
use super::noise_choice;
use super::noise_influence;
use super::{Fit, FitOptions};
use crate::moments::{sandwich, weighted_outer};
use crate::noise::{Refit, sample_for};
use crate::run::{Context, Purpose};
use crate::{Error, Model, Noise, Points, Result, View};

/// What the refit of a noise did.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct TwoStepReport {
    /// The noise that was drawn from, in words.
    pub drawn: String,
    /// The noise that was fitted to the draws, in words.
    pub refitted: String,
    /// Number of parameters that were fitted.
    pub parameters: usize,
    /// Standard errors (constant last) that the fit would have had with the density that was drawn from.
    pub se_without: Vec<f64>,
}

/// Estimates with a noise that is fitted again to its own draws; where that cannot be, with the noise as it is and a
/// warning.
///
/// # Errors
/// As for [`Model::fit`](crate::Model::fit).
pub(crate) fn estimate_two_step<'a>(task: FitTask<'a>, options: &FitOptions) -> Result<Estimated<'a>> {
    let plain = noise_choice::estimate_once(task, options)?;
    let refitted = match &plain.fit.noise {
        Some(noise) => refit(noise.as_ref(), plain.fit.noise_points, &options.context(), task.rows),
        None => Err(Error::option("refit_noise", "needs a noise to draw from")),
    };
    match refitted {
        Ok(refitted) => with_refitted(task, options, &plain.fit, &Arc::new(refitted)),
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(error) => Ok(unrefitted(plain, error)),
    }
}

fn unrefitted(mut plain: Estimated<'_>, error: Error) -> Estimated<'_> {
    plain.notes.warnings.push(Warning::new(Finding::NotRefitted { error }, [Remedy::ParametricNoise]));
    plain
}

fn with_refitted<'a>(
    task: FitTask<'a>,
    options: &FitOptions,
    plain: &Fit,
    refitted: &Arc<Refitted>,
) -> Result<Estimated<'a>> {
    let against = Against::Refitted(Arc::clone(refitted));
    let mut found = estimate_against(task, &against, options, None)?;
    let correction = Correction { task, refitted, fit: &found.fit };
    let noise = correction.noise_covariance()?;
    found.fit.replace_noise_part(task.model, noise);
    // A noise that was fitted to the rows before moves with them, and its draws and what is fitted to them with it.
    if let (Some(data), Some(drawn)) = (task.rows.whole(), plain.noise.as_deref()) {
        noise_influence::correct(task.model, data, &mut found.fit, drawn, options)?;
    }
    found.notes.two_step = Some(TwoStepReport {
        drawn: plain.noise.as_ref().map(|noise| noise.describe()).unwrap_or_default(),
        refitted: refitted.noise.describe(),
        parameters: refitted.noise.refittable().map_or(0, Refit::parameters),
        se_without: plain.estimates().iter().map(|e| e.se).collect(),
    });
    Ok(found)
}

/// A noise fitted to its own draws.
pub(crate) struct Refitted {
    /// The draws.
    pub(crate) points: Arc<Points>,
    /// The fitted log-density there.
    pub(crate) log_density: Vec<f64>,
    /// The fitted noise.
    pub(crate) noise: Arc<dyn Noise>,
}

/// Draws from a noise and fits it to the draws.
///
/// # Errors
/// When the noise has no family to be fitted in, the draws do not determine a member, or that misses a data point.
pub(crate) fn refit(
    noise: &dyn Noise,
    points: usize,
    context: &Context,
    rows: DataRows<'_>,
) -> Result<Refitted> {
    let unfit = |reason: &str| Error::Noise { noise: noise.describe(), reason: reason.into() };
    let family =
        noise.refittable().ok_or_else(|| unfit("it is no family that can be fitted again to its draws"))?;
    let drawn = sample_for(noise, points, context, Purpose::FitNoise)?;
    let fitted = family.refit(drawn.view())?;
    let mut log_density = vec![0.0; points];
    fitted.log_density(drawn.view(), &mut log_density);
    let covered = |_: usize, points: View<'_>, _: Option<&[f64]>| {
        let mut at_data = vec![0.0; points.rows()];
        fitted.log_density(points, &mut at_data);
        let missed = at_data.iter().any(|l| !l.is_finite());
        if missed { Err(unfit("fitted to its draws, it has no density at some of the data")) } else { Ok(()) }
    };
    rows.reduce(covered, |(), ()| ())?;
    Ok(Refitted { points: Arc::new(drawn), log_density, noise: fitted })
}

/// Everything that the corrected variance is computed from.
pub(crate) struct Correction<'a> {
    pub(crate) task: FitTask<'a>,
    pub(crate) refitted: &'a Refitted,
    pub(crate) fit: &'a Fit,
}

/// What some rows add.
struct RowSums {
    /// `first ψ` of every row, one column after another.
    influence: Vec<f64>,
    /// `Σ second ψ sᵀ`.
    cross: DMatrix<f64>,
    /// The noise's scores.
    score: Vec<f64>,
}

impl Correction<'_> {
    /// The noise part of the covariance of the two-step estimate.
    ///
    /// # Errors
    /// When the model cannot be evaluated.
    pub(crate) fn noise_covariance(&self) -> Result<DMatrix<f64>> {
        let own = self.refitted;
        let family = own.noise.refittable().ok_or(Error::NoOverlap)?;
        let data = self.task.rows.against(&own.noise).reduce(
            |raw| Ok(self.rows(Class::Data, raw.points, raw.weights, raw.log_noise, family)?.cross),
            |a, b| a + b,
        )?;
        let noise = self.rows(Class::Noise, own.points.view(), None, &own.log_density, family)?;
        let (nu, rows) = (self.fit.nu, own.points.rows());
        let from_noise = noise.cross * (nu / rows as f64);
        let slope = data.map_or_else(|| from_noise.clone(), |sum| sum / self.fit.total_weight + &from_noise);
        let spread = weighted_outer(&noise.score, family.parameters(), &vec![1.0 / rows as f64; rows]);
        let Inverse::Regular(information) = invert(&spread) else {
            return Err(Error::Noise {
                noise: own.noise.describe(),
                reason: "its draws do not tell its parameters apart".into(),
            });
        };
        let mut influence = noise.influence;
        influence.iter_mut().for_each(|x| *x *= nu);
        project_out(&mut influence, &noise.score, &(slope * information), rows);
        let meat = covariance_of_mean(&influence, self.fit.hessian.nrows(), rows);
        let Inverse::Regular(bread) = invert(&self.fit.hessian) else {
            return Ok(self.fit.covariance_noise.clone());
        };
        Ok(sandwich(&bread, &meat))
    }

    fn rows(
        &self,
        class: Class,
        points: View<'_>,
        weights: Option<&[f64]>,
        log_noise: &[f64],
        family: &dyn Refit,
    ) -> Result<RowSums> {
        let rows = points.rows();
        let (log_ratio, mut influence) = scores(self.task.model, self.fit, points, log_noise)?;
        let mut terms = Terms::default();
        terms.fill(&self.fit.loss_used(self.task.loss), class, &log_ratio);
        terms.weigh(weights);
        let mut score = vec![0.0; rows * family.parameters()];
        family.score(points, &mut score);
        let size = influence.len() / rows.max(1);
        let cross = DMatrix::from_fn(size, family.parameters(), |j, l| {
            let (psi, s) = (&influence[j * rows..(j + 1) * rows], &score[l * rows..(l + 1) * rows]);
            terms.second.iter().zip(psi).zip(s).map(|((t, p), s)| t * p * s).sum()
        });
        for column in influence.chunks_mut(rows.max(1)) {
            column.iter_mut().zip(&terms.first).for_each(|(p, t)| *p *= t);
        }
        Ok(RowSums { influence, cross, score })
    }
}

/// Subtracts from each column of the influences its combination of the noise's scores.
fn project_out(influence: &mut [f64], score: &[f64], projection: &DMatrix<f64>, rows: usize) {
    for (j, column) in influence.chunks_mut(rows.max(1)).enumerate() {
        for (l, score) in score.chunks(rows.max(1)).enumerate() {
            let factor = projection[(j, l)];
            column.iter_mut().zip(score).for_each(|(x, s)| *x -= factor * s);
        }
    }
}

/// Log ratios and scores `∇_β log p` at the fitted β.
pub(crate) fn scores(
    model: &Model,
    fit: &Fit,
    points: View<'_>,
    log_noise: &[f64],
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (rows, theta) = (points.rows(), fit.theta());
    let mut log_ratio = vec![0.0; rows];
    let mut score = vec![0.0; rows * theta.len()];
    model.evaluate(&theta, points, &mut log_ratio, Some(&mut score))?;
    let mut gradient = vec![0.0; theta.len()];
    let constant = match &fit.log_normalizer {
        Some(constant) if !model.is_normalized() => {
            score.resize(rows * (theta.len() + 1), -1.0);
            constant.estimate
        }
        _ => model.log_normalizer(&theta, &mut gradient).ok_or(Error::NoMass)?,
    };
    for (column, slope) in score.chunks_mut(rows.max(1)).zip(&gradient) {
        column.iter_mut().for_each(|s| *s -= slope);
    }
    let shift = constant + fit.nu.ln();
    log_ratio.iter_mut().zip(log_noise).for_each(|(g, l)| *g -= shift + l);
    Ok((log_ratio, score))
}

/// The covariance of the mean of column-major rows.
pub(crate) fn covariance_of_mean(columns: &[f64], size: usize, rows: usize) -> DMatrix<f64> {
    let mean =
        DVector::from_iterator(size, columns.chunks(rows.max(1)).map(noisewright_numerics::summation::mean));
    let mut centred = columns.to_vec();
    for (column, mean) in centred.chunks_mut(rows.max(1)).zip(mean.iter()) {
        column.iter_mut().for_each(|x| *x -= mean);
    }
    weighted_outer(&centred, size, &vec![1.0 / rows as f64; rows]) / rows as f64
}
