//! Starts for an exact fit that has none: parameters whose density comes near to a normal one where the data are.

use nalgebra::DVector;
use noisewright_numerics::summation::mean_and_variance;

use super::whitening::Frame;
use crate::{Model, Result, View};

/// How much of a fourth power is taken off the normal log-density, whose tails may be the heaviest that the model has.
const LIGHTER: [f64; 5] = [1e-10, 1e-8, 1e-6, 1e-4, 1e-2];

/// Regressions of normal log-densities and ones with lighter tails on a linear model's statistics over the data.
pub(super) fn near_normal(model: &Model, frame: &Frame, sample: View<'_>) -> Result<Vec<DVector<f64>>> {
    let (rows, size) = (sample.rows(), model.parameters().len());
    let mut value = vec![0.0; rows];
    let mut score = vec![0.0; rows * size];
    model.evaluate(&vec![0.0; size], sample, &mut value, Some(&mut score))?;
    let center =
        DVector::from_iterator(size, score.chunks(rows.max(1)).map(noisewright_numerics::summation::mean));
    let statistics = frame.centred(&score, rows, &center);
    let squares = squares(sample);
    // In its frame the statistics are uncorrelated, so that each has its coefficient by itself.
    let regression = |lighter: &f64| {
        let target: Vec<f64> = squares.iter().map(|z| -0.5 * z - lighter * z * z).collect();
        let coefficient =
            |column: &[f64]| noisewright_numerics::summation::dot(column, &target) / rows as f64;
        DVector::from_iterator(size, statistics.chunks(rows.max(1)).map(coefficient))
    };
    Ok(LIGHTER.iter().map(regression).filter(|at| at.iter().all(|x| x.is_finite())).collect())
}

/// `Σ ((x − mean)/deviation)²` at every point.
fn squares(sample: View<'_>) -> Vec<f64> {
    let mut out = vec![0.0; sample.rows()];
    for j in 0..sample.columns() {
        let (mean, variance) = mean_and_variance(sample.column(j));
        let precision = if variance > 0.0 { 1.0 / variance } else { 0.0 };
        out.iter_mut().zip(sample.column(j)).for_each(|(o, x)| *o += precision * (x - mean).powi(2));
    }
    out
}
