//! The covariance of the estimate (MATH §3): what the data leave open, and what the noise adds.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};

use super::data::Data;
use super::objective::{Full, Objective};
use super::options::Options;
use crate::{Error, Result};

/// `Var β̂` and its two parts.
#[derive(Clone, Debug)]
pub(crate) struct Covariance {
    /// What no amount of noise removes.
    pub(crate) data: DMatrix<f64>,
    /// What more noise removes.
    pub(crate) noise: DMatrix<f64>,
}

impl Covariance {
    pub(crate) fn whole(&self) -> DMatrix<f64> {
        &self.data + &self.noise
    }
}

/// `H⁻¹` over the unknowns that are free, zero elsewhere.
///
/// # Errors
/// When some of them cannot be told apart: which.
pub(crate) fn bread(
    objective: &Objective<'_>,
    hessian: &DMatrix<f64>,
    free: &[usize],
) -> Result<DMatrix<f64>> {
    let part = DMatrix::from_fn(free.len(), free.len(), |i, j| hessian[(free[i], free[j])]);
    let mut out = DMatrix::zeros(hessian.nrows(), hessian.ncols());
    match invert(&part) {
        Inverse::Regular(inverse) => {
            for (i, &row) in free.iter().enumerate() {
                for (j, &column) in free.iter().enumerate() {
                    out[(row, column)] = inverse[(i, j)];
                }
            }
            Ok(out)
        }
        Inverse::Singular(short) => {
            let mut direction = DVector::zeros(hessian.nrows());
            free.iter().zip(short.iter()).for_each(|(j, d)| direction[*j] = *d);
            Err(indistinct(objective, &direction))
        }
    }
}

/// The covariance in the solver's coordinates, as the options ask for it.
pub(crate) fn parts(
    objective: &Objective<'_>,
    full: &Full,
    bread: &DMatrix<f64>,
    at: &[f64],
    data: Data<'_>,
    options: &Options,
) -> Result<Covariance> {
    let _ = (at, data, options);
    Ok(robust(objective, full, bread, None))
}

/// Each class centred within itself: `H⁻¹ V H⁻¹` with `V = Cov_d(wψ)/T_d + ν² Cov_n(w r ψ)/T_n`.
fn robust(
    objective: &Objective<'_>,
    full: &Full,
    bread: &DMatrix<f64>,
    data_meat: Option<DMatrix<f64>>,
) -> Covariance {
    let data = data_meat.unwrap_or_else(|| centred(&full.data.meat, &full.data.gradient, full.data.weight));
    let noise = centred(&full.noise.meat, &full.noise.gradient, full.noise.weight) * objective.nu.powi(2);
    Covariance { data: sandwich(bread, &data), noise: sandwich(bread, &noise) }
}

/// The covariance of a mean from the sums of squares and of terms over so many rows.
fn centred(squares: &DMatrix<f64>, sums: &DVector<f64>, rows: f64) -> DMatrix<f64> {
    let mean = sums / rows;
    (squares / rows - &mean * mean.transpose()) / rows
}

/// `B V B`, symmetric to the bit, with no variance below zero.
pub(crate) fn sandwich(bread: &DMatrix<f64>, meat: &DMatrix<f64>) -> DMatrix<f64> {
    let product = bread * meat * bread;
    let mut out = (&product + product.transpose()) * 0.5;
    for j in 0..out.nrows() {
        out[(j, j)] = out[(j, j)].max(0.0);
    }
    out
}

/// Names what cannot be told apart: for a linear model the combination of features that does not vary.
fn indistinct(objective: &Objective<'_>, direction: &DVector<f64>) -> Error {
    let names = objective.names();
    let count = objective.model.parameters().len();
    // In the solver's coordinates every feature has one size, so that small entries are rounding.
    let largest = direction.amax();
    let involved: Vec<usize> = (0..count).filter(|j| direction[*j].abs() > 1e-6 * largest).collect();
    if !objective.linear || objective.model.is_normalized() || involved.is_empty() {
        let parameters = involved.iter().map(|j| names[*j].clone()).collect();
        return Error::Collinear { parameters };
    }
    let outer = objective.scaling.outer_direction(direction);
    let leading = outer[involved[0]];
    let terms: Vec<(f64, String)> =
        involved.iter().map(|j| (outer[*j] / leading, names[*j].clone())).collect();
    Error::CollinearFeatures { terms }
}
