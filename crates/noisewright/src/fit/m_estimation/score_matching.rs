//! Score matching (Hyvärinen 2005; 2007 for bounded variables): the mean of `Δu + ½‖∇u‖²`.
//!
//! Integration by parts turns the distance between the slopes of the model and of the data into that mean, if the density
//! vanishes where the space ends. Where a variable x is bounded it is taken on its [chart](noisewright_numerics::chart) y,
//! which has no ends: with `s = dx/dy` the loss is `s²u″ + 2ss′u′ + ½s²u′²`, the weighted version with the weight s² (x² for
//! positive variables). On the circle there is no end; on the sphere Δ and ∇ are those of the sphere.

use noisewright_numerics::gram::{Columns, weighted_gram};

use super::variable_derivatives::VariableDerivatives;
use super::{RowLoss, RowTerms, WeightedRows};
use crate::{Error, Model, Result, View};

/// The loss of one model.
pub(super) struct ScoreMatching<'a> {
    derivatives: VariableDerivatives<'a>,
    linear: bool,
}

impl<'a> ScoreMatching<'a> {
    /// The loss of a model; `sample` are rows that show the size of the variables.
    ///
    /// # Errors
    /// When a variable is discrete, or the formula has a kink in a variable.
    pub(super) fn new(model: &'a Model, sample: View<'_>) -> Result<Self> {
        let space = model.space();
        if let Some(at) = space.domains().iter().position(crate::Domain::is_discrete) {
            let reason = format!(
                "cannot be score-matching: `{}` is discrete and has no derivative; use pseudo-likelihood where states are few",
                space.names()[at]
            );
            return Err(Error::option("method", reason));
        }
        let derivatives = VariableDerivatives::new(model, sample)?;
        Ok(Self { derivatives, linear: model.energy().is_linear() })
    }
}

impl RowLoss for ScoreMatching<'_> {
    fn evaluate(
        &self,
        theta: &[f64],
        WeightedRows { points, weights }: WeightedRows<'_>,
        out: RowTerms<'_>,
        hessian: Option<&mut [f64]>,
    ) -> Result<bool> {
        let (rows, size) = (points.rows(), theta.len());
        let mut derivatives = self.derivatives.at(theta, points)?;
        for row in (0..rows).filter(|row| weights[*row] == 0.0) {
            let of_row =
                |column: &mut Vec<f64>| column[row..].iter_mut().step_by(rows).for_each(|d| *d = 0.0);
            derivatives.slopes.iter_mut().chain([&mut derivatives.bends]).for_each(of_row);
        }
        out.loss.copy_from_slice(&derivatives.bends[..rows]);
        out.slope.copy_from_slice(&derivatives.bends[rows..]);
        for along in &derivatives.slopes {
            let (value, by_theta) = along.split_at(rows);
            out.loss.iter_mut().zip(value).for_each(|(l, g)| *l += 0.5 * g * g);
            for (slope, by_theta) in out.slope.chunks_exact_mut(rows).zip(by_theta.chunks_exact(rows)) {
                slope.iter_mut().zip(value).zip(by_theta).for_each(|((s, g), d)| *s += g * d);
            }
        }
        let Some(hessian) = hessian.filter(|_| self.linear) else { return Ok(self.linear) };
        for along in &derivatives.slopes {
            weighted_gram(Columns::new(&along[rows..], rows, size, rows), weights, hessian);
        }
        Ok(true)
    }
}
