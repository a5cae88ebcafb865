//! Energies `u = θ·t(x)`: what they share is evaluating their statistics `t` column by column.

use crate::View;

/// Points evaluated at a time when no score is asked for: the statistic then stays in the first-level cache.
const BLOCK: usize = 256;

/// The statistics `t(x)` of a linear energy, one column per parameter.
pub(super) trait Statistics {
    /// Writes `t_index(x_i)` to `out[i]`.
    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]);
}

/// Writes `θ·t(x_i)` to `value[i]` and the statistics, which are the score, to `score` where asked for.
pub(super) fn evaluate(
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
