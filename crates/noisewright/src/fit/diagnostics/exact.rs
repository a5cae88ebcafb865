//! The diagnostics of an exact fit, which is maximum likelihood.

use nalgebra::DMatrix;

use super::super::Data;
use super::super::result::Fit;
use super::information::information_test_exact;
use super::rows::Centred;
use super::separation::{Separation, separation};
use super::{Diagnostics, words};
use crate::{Method, Model, Population, Result, View};

/// Information about some direction below that of so many points of data asks whether there is any at all.
const FEW_POINTS: f64 = 1.0;

/// The diagnostics of an exact fit; `population` is the model at the estimate.
///
/// # Errors
/// When the model cannot be evaluated at the data.
pub(crate) fn of_exact(
    model: &Model,
    data: Data<'_>,
    population: &Population,
    fit: &Fit,
) -> Result<Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let derivatives = derivatives(model, &fit.theta(), data.points)?;
    let means = means(&derivatives, data);
    if may_be_on_the_border(fit)
        && let Some(found) = border(model, population, fit, &means)?
    {
        diagnostics.warn(words::separated(&found, true));
        diagnostics.separation = Some(found);
    }
    if fit.converged && diagnostics.separation.is_none() {
        diagnostics.information_test = test(&derivatives, data, model, population, fit)?;
        if let Some(warning) = diagnostics.information_test.as_ref().and_then(words::misspecified) {
            diagnostics.warn(warning);
        }
    }
    diagnostics.read(model, fit);
    Ok(diagnostics)
}

/// `∂u/∂θ` at some points, one column after another.
fn derivatives(model: &Model, theta: &[f64], points: View<'_>) -> Result<Vec<f64>> {
    let rows = points.rows();
    let mut value = vec![0.0; rows];
    let mut score = vec![0.0; rows * theta.len()];
    model.evaluate(theta, points, &mut value, Some(&mut score))?;
    Ok(score)
}

fn means(derivatives: &[f64], data: Data<'_>) -> Vec<f64> {
    let total = data.total_weight();
    let mean = |column: &[f64]| match data.weights {
        Some(weights) => noisewright_numerics::summation::dot(column, weights) / total,
        None => noisewright_numerics::summation::mean(column),
    };
    derivatives.chunks(data.points.rows().max(1)).map(mean).collect()
}

/// A likelihood whose maximum is at infinity is flat there.
fn may_be_on_the_border(fit: &Fit) -> bool {
    let parameters = fit.parameters.len();
    let information = fit.hessian.view((0, 0), (parameters, parameters)) * fit.total_weight;
    let scale = information.diagonal().map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 });
    let least = information.diagonal().iter().copied().fold(f64::INFINITY, f64::min);
    let scaled = DMatrix::from_fn(parameters, parameters, |i, j| information[(i, j)] * scale[i] * scale[j]);
    let flat = !scaled.iter().all(|v| v.is_finite()) || scaled.symmetric_eigenvalues().min() < 1e-10;
    !fit.converged || flat || least < FEW_POINTS
}

/// Whether the means of a linear model's statistics are on the border of their convex hull over all states.
fn border(model: &Model, population: &Population, fit: &Fit, means: &[f64]) -> Result<Option<Separation>> {
    if !model.energy().is_linear() || population.accuracy().method != Method::Enumeration {
        return Ok(None);
    }
    let statistics = derivatives(model, &fit.theta(), population.points().view())?;
    let names: Vec<String> = model.parameters().iter().map(|p| p.name.clone()).collect();
    let rows = Centred { statistics: &statistics, means, points: population.points().rows() };
    let found = separation(&rows, &names)?;
    Ok(found.map(|mut found| {
        for running in &mut found.running {
            let mean = means[running.index];
            running.data_range = [mean, mean];
            running.noise_range = running.noise_range.map(|t| t + mean);
        }
        found
    }))
}

fn test(
    derivatives: &[f64],
    data: Data<'_>,
    model: &Model,
    population: &Population,
    fit: &Fit,
) -> Result<Option<super::ChiSquareTest>> {
    let rows = data.points.rows();
    // Of a free constant's column of −1 there is nothing to test.
    let own = self::derivatives(model, &fit.theta(), population.points().view())?;
    let nodes = population.points().rows();
    let mass: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
    let expected: Vec<f64> =
        own.chunks(nodes).map(|column| noisewright_numerics::summation::dot(column, &mass)).collect();
    let centred: Vec<f64> = derivatives
        .chunks(rows.max(1))
        .zip(&expected)
        .flat_map(|(column, mean)| column.iter().map(move |t| t - mean))
        .collect();
    let columns: Vec<&[f64]> = centred.chunks(rows.max(1)).collect();
    Ok(information_test_exact(&columns, data.weights, population))
}
