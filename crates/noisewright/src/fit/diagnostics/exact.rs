//! The diagnostics of an exact fit, which is maximum likelihood.

use nalgebra::DMatrix;

use super::super::data::{Data, Dependence};
use super::super::result::Fit;
use super::information::information_test_exact;
use super::rows::Centred;
use super::separation::{Separation, separation};
use super::{Diagnostics, messages};
use crate::{Method, Model, Population, Precision, Result, View, check_count};
use noisewright_numerics::optimize::Stop;

impl Diagnostics {
    /// The information-matrix test of an exact fit, or why there is none; `population` is the fitted model, where it can be
    /// summed over.
    ///
    /// # Errors
    /// When the model cannot be evaluated at the data.
    pub(crate) fn test_likelihood(
        &mut self,
        model: &Model,
        data: Data<'_>,
        fit: &Fit,
        population: Option<&Population>,
    ) -> Result<()> {
        let inside = fit.parameters.iter().all(|parameter| !parameter.at_bound);
        if !(fit.converged && inside && data.dependence == Dependence::Independent) {
            self.information_test_absent = Some(messages::not_tested(fit, inside, true).into());
            return Ok(());
        }
        match test(model, data, fit, population)? {
            Ok(found) => {
                messages::misspecified(&found, fit.observations_per_row())
                    .into_iter()
                    .for_each(|warning| self.warn(warning));
                self.information_test = Some(found);
            }
            Err(reason) => self.information_test_absent = Some(reason.into()),
        }
        Ok(())
    }
}

/// The direction along which the likelihood of a linear model on finitely many states rises for ever, where there is one:
/// the means of its statistics are on the border of their convex hull. `theta` and `hessian` are where the ascent ended.
///
/// # Errors
/// When the model cannot be evaluated.
pub(crate) fn on_border(
    model: &Model,
    data: Data<'_>,
    theta: &[f64],
    hessian: &DMatrix<f64>,
    stop: Stop,
) -> Result<Option<Separation>> {
    let possible = model.energy().is_linear() && model.space().state_count().is_some();
    let settled = stop.converged() && !is_flat(&(hessian * data.total_weight()));
    if !possible || settled {
        return Ok(None);
    }
    let means = means(&derivatives(model, theta, data.points)?, data);
    // All states are the same ones whatever the parameters.
    let population = Population::new(model, &model.start(), &Precision::default())?;
    if population.accuracy().method != Method::Enumeration {
        return Ok(None);
    }
    border(model, &population, &means)
}

/// `∂u/∂θ` at some points, one column after another.
fn derivatives(model: &Model, theta: &[f64], points: View<'_>) -> Result<Vec<f64>> {
    let rows = points.rows();
    check_count("rows", rows, 1 + theta.len())?;
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
fn is_flat(information: &DMatrix<f64>) -> bool {
    let size = information.nrows();
    let scale = information.diagonal().map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 });
    let least = information.diagonal().iter().copied().fold(f64::INFINITY, f64::min);
    let scaled = DMatrix::from_fn(size, size, |i, j| information[(i, j)] * scale[i] * scale[j]);
    least < super::noise_diagnostics::FEW_POINTS
        || !scaled.iter().all(|v| v.is_finite())
        || scaled.symmetric_eigenvalues().min() < 1e-8
}

/// Whether the means of a linear model's statistics are on the border of their convex hull over all states.
fn border(model: &Model, population: &Population, means: &[f64]) -> Result<Option<Separation>> {
    let statistics = derivatives(model, &model.start(), population.points().view())?;
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

/// The information-matrix test where there is a population; otherwise why there is none.
fn test(
    model: &Model,
    data: Data<'_>,
    fit: &Fit,
    population: Option<&Population>,
) -> Result<std::result::Result<super::ChiSquareTest, &'static str>> {
    let theta = fit.theta();
    if theta.is_empty() {
        return Ok(Err("there is no parameter to test with"));
    }
    let Some(population) = population else {
        return Ok(Err("the model's own moments cannot be computed, or would take too long"));
    };
    let own = derivatives(model, &theta, population.points().view())?;
    let mass: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
    let expected: Vec<f64> =
        own.chunks(mass.len()).map(|column| noisewright_numerics::summation::dot(column, &mass)).collect();
    let rows = data.points.rows();
    let centred: Vec<f64> = derivatives(model, &theta, data.points)?
        .chunks(rows.max(1))
        .zip(&expected)
        .flat_map(|(column, mean)| column.iter().map(move |t| t - mean))
        .collect();
    let columns: Vec<&[f64]> = centred.chunks(rows.max(1)).collect();
    Ok(information_test_exact(&columns, data.weights, population).ok_or(messages::NOTHING_TO_TEST))
}
