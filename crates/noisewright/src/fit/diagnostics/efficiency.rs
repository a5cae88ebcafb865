//! Where the error comes from, and how it compares with maximum likelihood's.

use nalgebra::DMatrix;

use crate::{Model, Population, Precision, cramer_rao_covariance};

/// Most states of a space that are summed over for the bound.
const MOST_STATES: u64 = 1 << 16;

/// Most variables that are integrated over for the bound.
const MOST_VARIABLES: usize = 2;

/// The variance of one estimate, by its sources.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
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
    /// `cramer_rao / variance`: how many data points maximum likelihood would need for the same error, per point used.
    pub efficiency: Option<f64>,
}

impl ErrorBudget {
    /// The budget of one coordinate.
    pub(crate) fn new(name: &str, data: f64, noise: f64, cramer_rao: Option<f64>) -> Self {
        let (data, noise) = (data.max(0.0), noise.max(0.0));
        let variance = data + noise;
        let share = data / variance;
        Self {
            name: name.into(),
            variance,
            data,
            noise,
            data_share: if share.is_nan() { 1.0 } else { share },
            cramer_rao,
            efficiency: cramer_rao.filter(|_| variance > 0.0).map(|bound| bound / variance),
        }
    }
}

/// The budget of every coordinate, from the parts of the covariance; `bound` is the Cramér–Rao covariance.
pub(crate) fn error_budget(
    names: &[String],
    data: &DMatrix<f64>,
    noise: &DMatrix<f64>,
    bound: Option<&DMatrix<f64>>,
) -> Vec<ErrorBudget> {
    let bound = |j: usize| bound.and_then(|b| b.get((j, j)).copied());
    let of = |(j, name): (usize, &String)| ErrorBudget::new(name, data[(j, j)], noise[(j, j)], bound(j));
    names.iter().enumerate().map(of).collect()
}

/// The Cramér–Rao covariance at the estimate, for so many data points, where it costs little to compute.
pub(crate) fn cramer_rao(model: &Model, parameters: &[f64], data_points: f64) -> Option<DMatrix<f64>> {
    let space = model.space();
    let cheap = match space.state_count() {
        Some(states) => states <= MOST_STATES,
        None => space.dimension() <= MOST_VARIABLES,
    };
    if !cheap {
        return None;
    }
    let precision = Precision { relative: 1e-6, ..Precision::default() };
    let population = Population::new(model, parameters, &precision).ok()?;
    cramer_rao_covariance(&population).ok().map(|bound| bound / data_points)
}
