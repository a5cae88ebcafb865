//! The fit against four times as much noise: a right model gives the same answer at every ν, a wrong one does not.
//!
//! Both fits share the data and have noise of their own (a Hausman test). A row of data moves the difference by
//! `φ_ν − φ_4ν` with the influence `φ = I_w⁻¹ w ψ`, `I_w = E_d[wψψᵀ]` (MATH §3); the noise parts add up:
//! `Var(β̂_ν − β̂_4ν) = Cov_d(φ_ν − φ_4ν)/T_d + N_ν + N_4ν`.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};

use super::super::estimate::FitTask;
use super::super::noise_choice::dosed;
use super::super::options::{Amount, DrawKind, FitOptions};
use super::super::quiet::USUAL_RATIO;
use super::super::result::Fit;
use super::super::sample_blocks::{RawBlock, SampleBlocks};
use super::super::two_step::scores;
use super::{ChiSquareTest, messages};
use crate::moments::{Moments, weighted_outer};
use crate::run::{CancelToken, Purpose};
use crate::{Error, Noise, Result};

/// How many times as much noise the second fit has.
const MORE: f64 = 4.0;

/// What four times as much noise changes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct RatioCheck {
    /// ν of the second fit.
    pub nu: f64,
    /// Its estimates, the constant last.
    pub estimates: Vec<f64>,
    /// First less second estimates.
    pub differences: Vec<f64>,
    /// Standard errors of the differences.
    pub standard_errors: Vec<f64>,
    /// The test that there is none.
    pub test: Option<ChiSquareTest>,
}

/// Estimates again with four times as much noise of the same kind, compares, and adds what it finds to the diagnostics.
///
/// # Errors
/// As for [`Model::fit`](crate::Model::fit), and when the first fit was not made against a noise that can be drawn from.
pub(crate) fn add_ratio_check(task: FitTask<'_>, fit: &mut Fit, options: &FitOptions) -> Result<()> {
    let check = check_ratio(task, fit, options)?;
    if let Some(warning) = check.test.as_ref().and_then(|test| messages::ratio_matters(test, fit.nu)) {
        fit.diagnostics.warn(warning);
    }
    fit.diagnostics.ratio_check = Some(check);
    Ok(())
}

fn check_ratio(task: FitTask<'_>, first: &Fit, options: &FitOptions) -> Result<RatioCheck> {
    let noise = first.noise.clone().ok_or_else(|| {
        let reason = "must be one that can be drawn from, to be compared with four times as much of it";
        Error::option("noise", reason)
    })?;
    let nu = MORE * first.nu;
    // Other draws than the first fit's, of the same kind. Where the ratio in the loss is set apart from ν, it is on that one
    // that the limit of a wrong model depends: the more so the smaller it is, and not at all beyond an infinite one.
    let apart = first.loss_ratio.filter(|ratio| *ratio != first.nu);
    let quiet = first.replicates.is_some();
    let other = |ratio: f64| if quiet { ratio.min(USUAL_RATIO) / MORE } else { MORE * ratio };
    let more = FitOptions {
        amount: Amount::Ratio(nu),
        draws: first.draws.unwrap_or(DrawKind::Random),
        loss_ratio: apart.map(other),
        seed: Purpose::FitRatioCheck.seed(options.seed, 0),
        ..options.clone()
    };
    let second = dosed(task, &noise, &more)?.fit;
    let shared = shared_covariance(task, [first, &second], &noise)?;
    let covariance = shared + &first.covariance_noise + &second.covariance_noise;
    let values = |fit: &Fit| -> Vec<f64> { fit.estimates().iter().map(|e| e.estimate).collect() };
    let (here, there) = (values(first), values(&second));
    let differences = DVector::from_iterator(here.len(), here.iter().zip(&there).map(|(a, b)| a - b));
    let reference = first.covariance.diagonal() + second.covariance.diagonal();
    Ok(RatioCheck {
        nu: second.nu,
        test: ChiSquareTest::of(&differences, &covariance, &reference),
        standard_errors: covariance.diagonal().iter().map(|v| v.max(0.0).sqrt()).collect(),
        differences: differences.as_slice().to_vec(),
        estimates: there,
    })
}

/// `Cov_d(φ_ν − φ_4ν)/T_d`: what the data that both fits share add to their difference.
fn shared_covariance(task: FitTask<'_>, fits: [&Fit; 2], noise: &Arc<dyn Noise>) -> Result<DMatrix<f64>> {
    let side = task.rows.against(noise);
    let breads = [bread(task, fits[0], &side)?, bread(task, fits[1], &side)?];
    let sums = side.reduce(
        |raw| {
            let one = influence(task, fits[0], &raw, &breads[0])?;
            let between: Vec<f64> =
                one.iter().zip(influence(task, fits[1], &raw, &breads[1])?).map(|(a, b)| a - b).collect();
            Ok(Moments::of(&between, breads[0].nrows(), &counts(&raw), &CancelToken::new()))
        },
        |a, b| a + b,
    )?;
    sums.map(|sums| sums.covariance_of_mean(fits[0].total_weight)).ok_or(Error::NoData)
}

/// How often each row of a block counts.
fn counts(raw: &RawBlock<'_>) -> Vec<f64> {
    raw.weights.map_or_else(|| vec![1.0; raw.points.rows()], <[f64]>::to_vec)
}

/// `w` and `ψ` of the rows of a block.
fn weighted_scores(task: FitTask<'_>, fit: &Fit, raw: &RawBlock<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let (log_ratio, score) = scores(task.model, fit, raw.points, raw.log_noise)?;
    let loss = fit.loss_used(task.loss);
    Ok((log_ratio.iter().map(|g| loss.log_weight(*g).exp()).collect(), score))
}

/// `I_w⁻¹`, `I_w = E_d[wψψᵀ]`.
fn bread(task: FitTask<'_>, fit: &Fit, side: &SampleBlocks<'_>) -> Result<DMatrix<f64>> {
    let information = side.reduce(
        |raw| {
            let (weight, score) = weighted_scores(task, fit, &raw)?;
            let counted: Vec<f64> = weight.iter().zip(counts(&raw)).map(|(w, c)| w * c).collect();
            Ok(weighted_outer(&score, fit.covariance.nrows(), &counted))
        },
        |a, b| a + b,
    )?;
    match information.map(|information| invert(&(information / fit.total_weight))) {
        Some(Inverse::Regular(bread)) => Ok(bread),
        _ => Err(Error::HardlyAnyOverlap),
    }
}

/// `I_w⁻¹ w ψ` of every row of a block, one column after another.
fn influence(task: FitTask<'_>, fit: &Fit, raw: &RawBlock<'_>, bread: &DMatrix<f64>) -> Result<Vec<f64>> {
    let rows = raw.points.rows();
    let (weight, score) = weighted_scores(task, fit, raw)?;
    let mut out = vec![0.0; score.len()];
    for (j, column) in out.chunks_mut(rows.max(1)).enumerate() {
        for (l, psi) in score.chunks(rows.max(1)).enumerate() {
            let factor = bread[(j, l)];
            column.iter_mut().zip(psi).zip(&weight).for_each(|((o, p), w)| *o += factor * p * w);
        }
    }
    Ok(out)
}
