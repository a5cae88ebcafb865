//! The fit against four times as much noise: a right model gives the same answer at every ν, a wrong one does not.
//!
//! Both fits share the data and have noise of their own (a Hausman test). A row of data moves the difference by
//! `φ_ν − φ_4ν` with the influence `φ = I_w⁻¹ w ψ`, `I_w = E_d[wψψᵀ]` (MATH §3); the noise parts add up:
//! `Var(β̂_ν − β̂_4ν) = Cov_d(φ_ν − φ_4ν)/T_d + N_ν + N_4ν`.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};

use super::super::options::{Amount, FitOptions, NoiseChoice};
use super::super::two_step::scores;
use super::super::{Data, Fit, fit};
use super::{ChiSquareTest, Warning, messages};
use crate::population::weighted_outer;
use crate::run::Purpose;
use crate::{Error, Loss, Model, Result};

/// How many times as much noise the second fit has.
const MORE: f64 = 4.0;

/// What four times as much noise changes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
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

/// Fits again with four times as much noise of the same kind, and compares.
///
/// ```
/// use noisewright::fit::{Amount, Data, NoiseChoice, FitOptions, check_ratio, fit};
/// use noisewright::{Model, Normal, Space, sample};
/// use std::sync::Arc;
///
/// // A Gaussian, which is what the data are: the two answers differ by chance alone.
/// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
/// let points = sample(&Normal::with_variance(0.5, 1.0)?, 1000, 1);
/// let noise = NoiseChoice::Given(Arc::new(Normal::with_variance(0.0, 2.0)?));
/// let options = FitOptions { noise, amount: Amount::Ratio(1.0), ..FitOptions::default() };
/// let first = fit(&model, Data::from(&points), &options)?;
/// let check = check_ratio(&model, Data::from(&points), &first, &options)?;
/// assert_eq!(check.nu, 4.0);
/// let within = |(d, se): (&f64, &f64)| d.abs() < 4.0 * se;
/// assert!(check.differences.iter().zip(&check.standard_errors).all(within));
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`fit`], and when the first fit was not made against a noise that can be drawn from.
pub fn check_ratio(model: &Model, data: Data<'_>, first: &Fit, options: &FitOptions) -> Result<RatioCheck> {
    let noise = first.noise.clone().ok_or_else(|| {
        Error::option(
            "noise",
            "must be one that can be drawn from, to be compared with four times as much of it",
        )
    })?;
    let nu = MORE * first.nu;
    let more = FitOptions {
        noise: NoiseChoice::Given(Arc::clone(&noise)),
        amount: Amount::Ratio(nu),
        // Other draws than the first fit's.
        seed: Purpose::FitRatioCheck.seed(options.seed, 0),
        ..options.clone()
    };
    let second = fit(model, data, &more)?;
    let mut log_noise = vec![0.0; data.points.rows()];
    noise.log_density(data.points, &mut log_noise);
    let [one, two] = [first, &second].map(|fit| influence(model, data, fit, &options.loss, &log_noise));
    let between: Vec<f64> = one?.iter().zip(two?).map(|(a, b)| a - b).collect();
    let shared = covariance_of_mean(&between, data, first.covariance.nrows());
    let covariance = shared + &first.covariance_noise + &second.covariance_noise;
    let values = |fit: &Fit| -> Vec<f64> { fit.estimates().iter().map(|e| e.estimate).collect() };
    let (here, there) = (values(first), values(&second));
    let differences = DVector::from_iterator(here.len(), here.iter().zip(&there).map(|(a, b)| a - b));
    let reference = first.covariance.diagonal() + second.covariance.diagonal();
    Ok(RatioCheck {
        nu,
        test: ChiSquareTest::of(&differences, &covariance, &reference),
        standard_errors: covariance.diagonal().iter().map(|v| v.max(0.0).sqrt()).collect(),
        differences: differences.as_slice().to_vec(),
        estimates: there,
    })
}

impl RatioCheck {
    /// The warning that it gives cause for, if any; `nu` is that of the first fit.
    #[must_use]
    pub fn warning(&self, nu: f64) -> Option<Warning> {
        self.test.as_ref().and_then(|test| messages::ratio_matters(test, nu))
    }
}

/// `I_w⁻¹ w ψ` of every row of data, one column after another.
fn influence(model: &Model, data: Data<'_>, fit: &Fit, loss: &Loss, log_noise: &[f64]) -> Result<Vec<f64>> {
    let rows = data.points.rows();
    let (log_ratio, score) = scores(model, fit, data.points, log_noise)?;
    let weight: Vec<f64> = log_ratio.iter().map(|g| loss.log_weight(*g).exp()).collect();
    let size = score.len() / rows.max(1);
    let total = data.total_weight();
    let counted: Vec<f64> =
        weight.iter().enumerate().map(|(i, w)| w * data.weights.map_or(1.0, |c| c[i]) / total).collect();
    let Inverse::Regular(bread) = invert(&weighted_outer(&score, size, &counted)) else {
        return Err(Error::HardlyAnyOverlap);
    };
    let mut out = vec![0.0; score.len()];
    for (j, column) in out.chunks_mut(rows.max(1)).enumerate() {
        for (l, psi) in score.chunks(rows.max(1)).enumerate() {
            let factor = bread[(j, l)];
            column.iter_mut().zip(psi).zip(&weight).for_each(|((o, p), w)| *o += factor * p * w);
        }
    }
    Ok(out)
}

/// The covariance of the mean of column-major rows that count as often as the data's weights say.
fn covariance_of_mean(columns: &[f64], data: Data<'_>, size: usize) -> DMatrix<f64> {
    let (rows, total) = (data.points.rows(), data.total_weight());
    let shares: Vec<f64> = (0..rows).map(|i| data.weights.map_or(1.0, |c| c[i]) / total).collect();
    let mut centred = columns.to_vec();
    for column in centred.chunks_mut(rows.max(1)) {
        let mean: f64 = column.iter().zip(&shares).map(|(x, s)| x * s).sum();
        column.iter_mut().for_each(|x| *x -= mean);
    }
    weighted_outer(&centred, size, &shares) / total
}
