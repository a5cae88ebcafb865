//! The optimal noise by its dual: a concave function of a few numbers whose maximum is the least error.
//!
//! With `M = LLᵀ`, `tr(I_w⁻¹M) = max_X 2 tr(XᵀL) − tr(Xᵀ I_w X)`, so that the least error over all noises is the maximum
//! over `X` of `2 tr(XᵀL) − max_w E_d[w a]` with `a(x) = ‖Xᵀψ(x)‖²`. The inner maximum is the fill of MATH §6, and at
//! the outer one `X = I_w⁻¹L`. Nothing here is a fixed point, which at small ν would have to be hit to a part in 1/ν.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{LbfgsOptions, try_lbfgs};

use super::criterion::{Criterion, Sensitivity};
use super::exact::fill;
use crate::Error;
use crate::moments::Moments;

/// The sensitivities `XXᵀ` at the maximum of the dual, from moments near those of the optimum.
///
/// Only for models with a free constant, whose problem is convex. `None` when the moments are singular, or the search
/// is cancelled.
pub(super) fn maximize(criterion: &Criterion<'_>, nu: f64, start: &Moments) -> Option<Sensitivity> {
    let root = root(criterion.target());
    // In X = C Y with CCᵀ = I_w⁻¹ the curvature −I_w is the identity.
    let inverse = start.information.clone().cholesky()?.inverse();
    let scale = inverse.cholesky()?.l();
    let size = (scale.nrows(), root.ncols());
    let first = scale.transpose() * &root;
    let options = LbfgsOptions { memory: 40, max_steps: 2000, relative_tolerance: 1e-16 };
    let best = try_lbfgs(first.as_slice(), &options, |y, gradient| {
        criterion.check_run()?;
        let x = &scale * DMatrix::from_column_slice(size.0, size.1, y);
        let sensitivity = sensitivity(&x);
        let sizes = criterion.sensitivities(&sensitivity);
        let Some((ratio, _)) = fill(&criterion.weights, &sizes, nu) else { return Ok(f64::INFINITY) };
        let pulled = criterion.moments(&ratio, nu).information * &x;
        let slope = scale.transpose() * (&pulled - &root) * 2.0;
        gradient.copy_from_slice(slope.as_slice());
        Ok::<f64, Error>(x.dot(&pulled) - 2.0 * x.dot(&root))
    });
    let best = best.ok()?;
    Some(sensitivity(&(&scale * DMatrix::from_column_slice(size.0, size.1, &best.at))))
}

fn sensitivity(x: &DMatrix<f64>) -> Sensitivity {
    Sensitivity { quadratic: x * x.transpose(), linear: DVector::zeros(x.nrows()) }
}

/// `L` with `LLᵀ = M`, without columns of zeros.
fn root(target: &DMatrix<f64>) -> DMatrix<f64> {
    let eigen = target.clone().symmetric_eigen();
    let largest = eigen.eigenvalues.max();
    let columns: Vec<DVector<f64>> = eigen
        .eigenvalues
        .iter()
        .zip(eigen.eigenvectors.column_iter())
        .filter(|(value, _)| **value > 1e-14 * largest)
        .map(|(value, vector)| vector * value.sqrt())
        .collect();
    DMatrix::from_columns(&columns)
}
