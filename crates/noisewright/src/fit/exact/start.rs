//! Starts for an exact fit that has none: parameters whose density comes near to a normal one where the data are.

use nalgebra::DVector;
use noisewright_numerics::summation::mean_and_variance;

use super::frame::Frame;
use crate::{Model, Result, View};

/// Shares of the model's own start, which integrates if any does, beside what comes near to a normal density and may not.
const SHARES: [f64; 4] = [0.0, 1e-6, 1e-3, 0.1];

/// The regression of a normal log-density on a linear model's statistics over the data, with more and more of the model's own
/// start, `own`, mixed in: densities that integrate stay so under products of their powers.
pub(super) fn near_normal(
    model: &Model,
    frame: &Frame,
    sample: View<'_>,
    own: &DVector<f64>,
) -> Result<Vec<DVector<f64>>> {
    let (rows, size) = (sample.rows(), own.len());
    let mut value = vec![0.0; rows];
    let mut score = vec![0.0; rows * size];
    model.evaluate(&vec![0.0; size], sample, &mut value, Some(&mut score))?;
    let center =
        DVector::from_iterator(size, score.chunks(rows.max(1)).map(noisewright_numerics::summation::mean));
    let statistics = frame.centred(&score, rows, &center);
    let target = log_normal(sample);
    // In its frame the statistics are uncorrelated, so that each has its coefficient by itself.
    let coefficient = |column: &[f64]| noisewright_numerics::summation::dot(column, &target) / rows as f64;
    let normal = DVector::from_iterator(size, statistics.chunks(rows.max(1)).map(coefficient));
    let mixed = |share: &f64| &normal * (1.0 - share) + own * *share;
    let all = SHARES.iter().map(mixed).filter(|at| at.iter().all(|x| x.is_finite()));
    Ok(all.collect())
}

/// `−½ Σ ((x − mean)/deviation)²` at every point.
fn log_normal(sample: View<'_>) -> Vec<f64> {
    let mut out = vec![0.0; sample.rows()];
    for j in 0..sample.columns() {
        let (mean, variance) = mean_and_variance(sample.column(j));
        let precision = if variance > 0.0 { 1.0 / variance } else { 0.0 };
        out.iter_mut().zip(sample.column(j)).for_each(|(o, x)| *o -= 0.5 * precision * (x - mean).powi(2));
    }
    out
}
