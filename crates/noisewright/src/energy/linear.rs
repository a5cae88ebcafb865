//! Energies `u = θ·t(x)`: what they share is evaluating their statistics `t` column by column.

use super::Energy;
use crate::{Result, View};

/// Points evaluated at a time when no score is asked for: the statistic then stays in the first-level cache.
const BLOCK: usize = 256;

/// The statistics `t(x)` of an exponential family, one column per parameter: an [`Energy`] that is linear in θ needs
/// nothing else.
///
/// ```
/// use noisewright::{Energy, Statistics, View};
///
/// /// `θ x²`.
/// struct Square;
///
/// impl Statistics for Square {
///     fn names(&self) -> Vec<String> {
///         vec!["theta".into()]
///     }
///     fn variables(&self) -> usize {
///         1
///     }
///     fn column(&self, _: usize, points: View<'_>, out: &mut [f64]) {
///         out.iter_mut().zip(points.column(0)).for_each(|(o, x)| *o = x * x);
///     }
/// }
///
/// let mut value = [0.0];
/// Square.evaluate(&[-0.5], View::new(1, 1, &[3.0]), &mut value, None).unwrap();
/// assert_eq!(value, [-4.5]);
/// ```
pub trait Statistics: Send + Sync {
    /// Names of the parameters, one per statistic, in order.
    fn names(&self) -> Vec<String>;

    /// Number of variables.
    fn variables(&self) -> usize;

    /// Writes `t_index(x_i)` to `out[i]`.
    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]);

    /// Writes `∂(θ·t(x))/∂x_j` at one point; returns `false`, leaving `gradient` alone, where that is not available.
    fn slope(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> bool {
        let _ = (parameters, point, gradient);
        false
    }

    /// `log Z(θ)` where it is known in closed form; its gradient goes to `gradient`.
    fn log_partition(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let _ = (parameters, gradient);
        None
    }
}

impl<T: Statistics> Energy for T {
    fn parameters(&self) -> Vec<String> {
        self.names()
    }

    fn dimension(&self) -> usize {
        self.variables()
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        evaluate(self, parameters, points, value, score);
        Ok(())
    }

    fn point_gradient(&self, parameters: &[f64], point: &[f64], gradient: &mut [f64]) -> Result<Option<f64>> {
        if !self.slope(parameters, point, gradient) {
            return Ok(None);
        }
        let mut value = [0.0];
        evaluate(self, parameters, View::new(point.len(), 1, point), &mut value, None);
        Ok(Some(value[0]))
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.log_partition(parameters, gradient)
    }
}

/// Writes `θ·t(x_i)` to `value[i]` and the statistics, which are the score, to `score` where asked for.
fn evaluate(
    statistics: &impl Statistics,
    parameters: &[f64],
    points: View<'_>,
    value: &mut [f64],
    score: Option<&mut [f64]>,
) {
    value.fill(0.0);
    let rows = points.rows();
    if rows == 0 {
        return;
    }
    if let Some(score) = score {
        for (j, (column, theta)) in score.chunks_exact_mut(rows).zip(parameters).enumerate() {
            statistics.column(j, points, column);
            add_scaled(*theta, column, value);
        }
        return;
    }
    let mut buffer = [0.0; BLOCK];
    for (block, value) in value.chunks_mut(BLOCK).enumerate() {
        let start = block * BLOCK;
        let part = points.slice(start..start + value.len());
        let column = &mut buffer[..value.len()];
        for (j, theta) in parameters.iter().enumerate() {
            statistics.column(j, part, column);
            add_scaled(*theta, column, value);
        }
    }
}

/// `out += factor · column`, where a factor of zero switches even an infinite statistic off.
pub(super) fn add_scaled(factor: f64, column: &[f64], out: &mut [f64]) {
    if factor == 0.0 {
        return;
    }
    for (o, t) in out.iter_mut().zip(column) {
        *o += factor * t;
    }
}
