//! Where the error comes from, and how it compares with maximum likelihood's.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};

use crate::moments::asymptotic_covariance;

/// The variance of one estimate, by its sources.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct ErrorBudget {
    /// The coordinate of β.
    pub name: String,
    /// The variance of its estimate.
    pub variance: f64,
    /// The part that comes from the data, which no amount of noise removes.
    pub data: f64,
    /// The part that comes from the noise, which falls like 1/ν.
    pub noise: f64,
    /// `data / variance`.
    pub data_share: f64,
    /// The variance of maximum likelihood if the fitted model is true (Cramér–Rao), where it can be computed.
    pub cramer_rao: Option<f64>,
    /// `cramer_rao` over the variance that this fit has if the fitted model is true: the share of the data points with
    /// which maximum likelihood would have the same error. 1 for an exact fit; absent for losses other than JS.
    pub efficiency: Option<f64>,
}

impl ErrorBudget {
    /// The budget of a coordinate of which the parts alone are known.
    pub(crate) fn of_parts(name: &str, data: f64, noise: f64) -> Self {
        Self::new(name, data, noise, None, None)
    }

    /// The budget of one coordinate; `model_based` is the variance that the fit has if the model is true.
    fn new(name: &str, data: f64, noise: f64, cramer_rao: Option<f64>, model_based: Option<f64>) -> Self {
        // A variance that is not known stays so.
        let known = |part: f64| if part.is_nan() { part } else { part.max(0.0) };
        let (data, noise) = (known(data), known(noise));
        let variance = data + noise;
        let share = data / variance;
        let known = model_based.filter(|variance| *variance > 0.0 && variance.is_finite());
        Self {
            name: name.into(),
            variance,
            data,
            noise,
            data_share: if share.is_nan() { 1.0 } else { share },
            cramer_rao,
            efficiency: cramer_rao.zip(known).map(|(bound, variance)| bound / variance),
        }
    }
}

/// The budget of every coordinate, from the parts of the covariance; `bound` is the Cramér–Rao covariance and
/// `model_based` the whole one if the model is true.
pub(crate) fn error_budget(
    names: &[String],
    (data, noise): (&DMatrix<f64>, &DMatrix<f64>),
    bound: Option<&DMatrix<f64>>,
    model_based: Option<&DMatrix<f64>>,
) -> Vec<ErrorBudget> {
    let entry = |matrix: Option<&DMatrix<f64>>, j: usize| matrix.and_then(|m| m.get((j, j)).copied());
    let of = |(j, name): (usize, &String)| {
        ErrorBudget::new(name, data[(j, j)], noise[(j, j)], entry(bound, j), entry(model_based, j))
    };
    names.iter().enumerate().map(of).collect()
}

/// `Σ/T_d` for the JS loss, whose `I_v` is `I_w`, the Hessian.
pub(crate) fn model_based(
    hessian: &DMatrix<f64>,
    mean: &DVector<f64>,
    nu: f64,
    data_points: f64,
) -> Option<DMatrix<f64>> {
    let Inverse::Regular(inverse) = invert(hessian) else { return None };
    Some(asymptotic_covariance(&inverse, hessian, mean, 1.0 + 1.0 / nu) / data_points)
}
