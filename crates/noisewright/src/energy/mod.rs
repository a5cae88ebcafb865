//! Models as log-densities up to a constant: the one trait a user implements.

use crate::{Result, View};

/// A log-density up to an additive constant, `u(x; θ)`, and its gradient in the parameters.
///
/// Value and score are asked for together, for many points at once, into buffers that the caller owns.
pub trait Energy: Send + Sync {
    /// Names of the parameters θ, in order.
    fn parameters(&self) -> Vec<String>;

    /// Number of variables, the columns of the points it is given.
    fn dimension(&self) -> usize;

    /// Writes `u(x_i; θ)` to `value[i]` and, when `score` is asked for, `∂u(x_i; θ)/∂θ_j` to
    /// `score[j * rows + i]`.
    ///
    /// A point of density zero has the value −∞; its score may be anything finite.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) when θ is outside what the model allows.
    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()>;

    /// Whether `u = θ·t(x)` (plus a function of x): then the score does not depend on θ and NCE with the
    /// JS and KL losses is convex.
    fn is_linear(&self) -> bool {
        false
    }

    /// `log Z(θ) = log ∫ exp u(x; θ) dx` where it is known in closed form; its gradient goes to `gradient`.
    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let _ = (parameters, gradient);
        None
    }

    /// Adds `Σ_i weights[i] · ∇²u(x_i; θ)` to the k×k matrix `out` (column-major, both triangles);
    /// returns `false`, leaving `out` alone, when second derivatives are not available.
    ///
    /// # Errors
    /// As for [`evaluate`](Self::evaluate).
    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let _ = (parameters, points, weights, out);
        Ok(self.is_linear())
    }
}
