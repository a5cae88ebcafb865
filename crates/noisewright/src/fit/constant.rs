//! log Z of a model at an estimate, for methods that do not give it, and what it says of the rows that Brier's loss left out.

use nalgebra::DVector;
use noisewright_numerics::summation::dot;

use super::result::{Estimate, Fit, Variances};
use crate::population::{enumerates, integrates};
use crate::run::{CancelToken, if_possible};
use crate::{Model, Parameter, Population, Precision, Result};

/// log Z at parameters, its slope in them, and how it was had.
pub(super) struct Constant {
    pub(super) log_z: f64,
    pub(super) slope: DVector<f64>,
    pub(super) words: &'static str,
}

impl Constant {
    /// By quadrature, by enumeration, or in closed form; `None` for a model whose constant is known, and where none of them
    /// reaches.
    ///
    /// # Errors
    /// When the fit is cancelled.
    pub(super) fn at(model: &Model, theta: &[f64], cancel: &CancelToken) -> Result<Option<Self>> {
        if !model.has_free_constant() {
            return Ok(None);
        }
        if enumerates(model) || integrates(model) {
            let precision = Precision { cancel: cancel.clone(), ..Precision::default() };
            let Some(there) = if_possible(Population::new(model, theta, &precision))? else {
                return Ok(None);
            };
            let weights: Vec<f64> = there.log_weights().iter().map(|w| w.exp()).collect();
            let slope = DVector::from_fn(theta.len(), |j, _| dot(there.score_of(j), &weights));
            let words = if enumerates(model) { "by enumeration" } else { "by quadrature" };
            return Ok(Some(Self { log_z: there.log_normalizer(), slope, words }));
        }
        let mut slope = vec![0.0; theta.len()];
        let known = model.log_normalizer(theta, &mut slope).filter(|log_z| log_z.is_finite());
        Ok(known.map(|log_z| Self { log_z, slope: DVector::from_vec(slope), words: "in closed form" }))
    }
}

/// The share of the rows that follow the model, `exp(log Z(θ̂) − ĉ)` (MATH §10): what the others, which a bounded loss leaves
/// out, lack of the density is in the constant. `None` where log Z cannot be computed.
///
/// # Errors
/// When the fit is cancelled.
pub(super) fn clean_share(model: &Model, fit: &Fit, cancel: &CancelToken) -> Result<Option<Estimate>> {
    let Some(constant) = &fit.log_normalizer else { return Ok(None) };
    let Some(known) = Constant::at(model, &fit.theta(), cancel)? else { return Ok(None) };
    let share = (known.log_z - constant.estimate).exp();
    let slope = known.slope.insert_row(fit.parameters.len(), -1.0) * share;
    let variance = |covariance: &nalgebra::DMatrix<f64>| slope.dot(&(covariance * &slope)).max(0.0);
    let freedom = constant.degrees_of_freedom;
    let variances =
        Variances { data: variance(&fit.covariance_data), noise: variance(&fit.covariance_noise), freedom };
    let parameter = Parameter::new("clean_share", share);
    Ok(Some(Estimate::new(&parameter, share, variances, fit.confidence, false)))
}
