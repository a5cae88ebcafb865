//! The first-order bias of an estimate (Cox and Snell 1968; MATH §15).
//!
//! With `Ψ` the gradient of the loss, `Ψ(β̂) = 0` gives `E[β̂ − β] = H⁻¹ { E[(Ψ̇ − H) H⁻¹ Ψ] − ½ E[Ψ̈][V] }` to the order 1/n, V
//! being the covariance of β̂. For a model that is linear in its parameters with a free constant all of it is known from
//! one pass: `Ψ` is a mean of `ℓ′(g) ψ`, its derivatives of `ℓ″ ψψᵀ` and `ℓ‴ ψψψ`. Each sample's rows are independent.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::weighted_sum;
use noisewright_numerics::special::sigmoid;

use super::evaluate::{ChunkView, ParameterPoint};
use super::loss_terms::Terms;
use super::objective::{Objective, Order, Sums};
use super::sample_blocks::SampleBlocks;
use crate::{Error, Loss, Result};

/// Whether the bias of a fit is known.
pub(crate) fn is_known(objective: &Objective<'_>) -> bool {
    objective.linear && !objective.model.is_normalized() && matches!(objective.loss, Loss::Js)
}

/// The bias of the unknowns in the solver's coordinates, from the inverse `bread` of the curvature and the covariance there.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn first_order(
    objective: &Objective<'_>,
    at: &[f64],
    bread: &DMatrix<f64>,
    covariance: &DMatrix<f64>,
) -> Result<DVector<f64>> {
    let Some(place) = ParameterPoint::new(objective, at) else { return Err(Error::NoMass) };
    let full = objective.full(at, Order::Hessian)?;
    let of = |side: &SampleBlocks<'_>, sums: &Sums, factor: f64| -> Result<DVector<f64>> {
        let start = || [DVector::zeros(at.len()), DVector::zeros(at.len())];
        let add = |total: &mut [DVector<f64>; 2], seen: &ChunkView<'_>| {
            let mut terms = Terms::default();
            terms.fill(&objective.loss, side.class, seen.log_ratio);
            let rows = seen.log_ratio.len();
            let psi = DMatrix::from_fn(rows, at.len(), |row, j| seen.score.column(j)[row]);
            let [pulls, spreads] = [bread, covariance].map(|matrix| {
                let times = &psi * matrix;
                (0..rows).map(|row| times.row(row).dot(&psi.row(row))).collect::<Vec<f64>>()
            });
            let count = |row: usize| seen.weights.map_or(1.0, |w| w[row]);
            let pulled = |row: usize| count(row) * terms.second[row] * terms.first[row] * pulls[row];
            // The third derivative of softplus in g, of either sign of g.
            let third = |row: usize| terms.second[row] * (1.0 - 2.0 * sigmoid(seen.log_ratio[row]));
            let bent = |row: usize| count(row) * third(row) * spreads[row];
            weighted_sum(seen.score, &(0..rows).map(pulled).collect::<Vec<_>>(), total[0].as_mut_slice());
            weighted_sum(seen.score, &(0..rows).map(bent).collect::<Vec<_>>(), total[1].as_mut_slice());
            Ok(())
        };
        let join = |[a, b]: [DVector<f64>; 2], [c, d]: [DVector<f64>; 2]| [a + c, b + d];
        let [pulled, bent] = objective.fold(side, &place, start, add, join)?;
        // Terms are centred within their sample.
        let centre = &sums.information * (bread * &sums.gradient) / sums.weight;
        Ok((pulled - centre) * (factor * factor / sums.weight.powi(2)) - bent * (0.5 * factor / sums.weight))
    };
    let sum = of(&objective.data, &full.data, 1.0)? + of(&objective.noise, &full.noise, objective.nu)?;
    Ok(bread * sum)
}
