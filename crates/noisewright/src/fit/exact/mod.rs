//! Fits without noise, the limit ν → ∞: maximum likelihood with log Z by quadrature, enumeration or a closed form.

mod means;
mod normalizer;

use std::sync::Mutex;

use nalgebra::{DMatrix, DVector};

use super::bounds;
use super::covariance::{invert_free, sandwich};
use super::data::{Data, Dependence};
use super::dependence::{self, Influences};
use super::diagnostics::{self, Diagnostics};
use super::newton::{Evaluation, Problem, Stop};
use super::objective::five_point;
use super::options::{Amount, Errors, NoiseChoice, Options, Stage};
use super::prepare::{pick, scaling, spread};
use super::result::{Estimate, Fit, Optimum, coordinates};
use super::solve::Solution;
use super::starts;
use crate::{Error, Model, Result};
use means::Means;
pub(crate) use normalizer::Way;

/// Draws of the noise that finds a start, at least and at most.
const PILOT_POINTS: (usize, usize) = (1 << 14, 1 << 17);

/// The negative mean log-likelihood.
struct Likelihood<'a> {
    model: &'a Model,
    data: Data<'a>,
    way: Way,
    means: Means<'a>,
    unit: Vec<f64>,
    /// What kept log Z from being known, for a message if nothing works.
    trouble: Mutex<Option<Error>>,
}

/// Fits by maximum likelihood.
///
/// # Errors
/// When log Z of the model is out of reach, or no start has a finite likelihood.
pub(crate) fn fit_exact(model: &Model, data: Data<'_>, options: &Options) -> Result<Fit> {
    let way = Way::of(model)?;
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let ranges = spread(data.points.rows(), super::contrast::SCALE_ROWS);
    let (some, _) = pick(data.points, None, &ranges);
    let linear = model.energy().is_linear();
    let (scales, unit) = scaling(model, some.view(), linear)?;
    let unit = if linear { scales.scale.iter().map(|s| 1.0 / s).collect() } else { unit };
    let means = Means::new(model, data)?;
    let likelihood = Likelihood { model, data, way, means, unit, trouble: Mutex::new(None) };
    let solution = likelihood.solve(options)?;
    likelihood.finish(solution, options)
}

impl Likelihood<'_> {
    fn solve(&self, options: &Options) -> Result<Solution> {
        let model = self.model;
        let pilot = self.pilot(options);
        let finite = |theta: &[f64]| {
            self.evaluate(&DVector::from_column_slice(theta), false)
                .is_ok_and(|there| there.value.is_finite())
        };
        let start =
            pilot.into_iter().chain([model.start(), vec![0.0; model.parameters().len()]]).find(|t| finite(t));
        let Some(start) = start else { return Err(self.explain()) };
        if !model.energy().is_linear() {
            let begin = |theta: &[f64]| Ok(DVector::from_column_slice(theta));
            let few = Options { starts: options.starts.min(3), ..options.clone() };
            let found = starts::solve(self, model, &self.unit, &begin, Some(&start), &few)?;
            return found.ok_or_else(|| self.explain());
        }
        let limits = bounds::limits(model, &vec![1.0; start.len()]);
        let mut solution = bounds::solve(self, &limits, &DVector::from_vec(start), options)?;
        let loss = self.evaluate(&solution.at, false)?.value;
        solution.optima = vec![Optimum { at: solution.at.as_slice().to_vec(), loss, starts: 1 }];
        Ok(solution)
    }

    /// A start from a fit against noise, where quadrature needs one that integrates.
    fn pilot(&self, options: &Options) -> Option<Vec<f64>> {
        if self.way != Way::Quadrature {
            return None;
        }
        let points = (2 * self.data.points.rows()).clamp(PILOT_POINTS.0, PILOT_POINTS.1);
        let rough = Options { noise: NoiseChoice::Auto, amount: Amount::Points(points), ..options.clone() };
        super::noise_choice::fit_with(self.model, self.data, &rough)
            .ok()
            .filter(|f| f.converged)
            .map(|f| f.theta())
    }

    /// Why no start has a finite likelihood.
    fn explain(&self) -> Error {
        let trouble = self.trouble.lock().ok().and_then(|t| t.clone());
        trouble.unwrap_or(Error::NoMass)
    }

    /// The estimates, with the covariance that the data leave.
    fn finish(&self, solution: Solution, options: &Options) -> Result<Fit> {
        options.report(Stage::Errors, 0, f64::NAN)?;
        let there = self.evaluate(&solution.at, true)?;
        let theta = solution.at.as_slice();
        let size = theta.len();
        let hessian = there.hessian.unwrap_or_else(|| DMatrix::zeros(size, size));
        let free: Vec<usize> = (0..size).filter(|j| !solution.bound[*j]).collect();
        let separation = if free.len() == size {
            diagnostics::on_border(self.model, self.data, theta, &hessian, solution.stop)?
        } else {
            None
        };
        let bread = match &separation {
            Some(_) => DMatrix::zeros(size, size),
            None => self.bread(&hessian, &free)?,
        };
        let mean = self.means.at(theta, false)?.ok_or(Error::NoMass)?;
        let normalizer = self.way.at(self.model, theta, &mean.score, false)?;
        let jacobian = self.jacobian(&normalizer.gradient);
        let covariance = match &separation {
            Some(_) => DMatrix::from_diagonal_element(jacobian.nrows(), jacobian.nrows(), f64::INFINITY),
            None => self.covariance(theta, &bread, &jacobian, options)?,
        };
        let stop = if separation.is_some() { Stop::RunsOff } else { solution.stop };
        let mut values = theta.to_vec();
        if !self.model.is_normalized() {
            values.push(normalizer.log_z);
        }
        let held = |j: usize| solution.bound.get(j).copied().unwrap_or(false);
        let mut parameters: Vec<Estimate> = coordinates(self.model)
            .iter()
            .enumerate()
            .map(|(j, p)| Estimate::new(p, values[j], (covariance[(j, j)], 0.0), options.confidence, held(j)))
            .collect();
        let log_normalizer = if self.model.is_normalized() { None } else { parameters.pop() };
        let mut fit = Fit {
            parameters,
            log_normalizer,
            covariance_noise: DMatrix::zeros(values.len(), values.len()),
            covariance: covariance.clone(),
            covariance_data: covariance,
            hessian,
            loss: there.value,
            iterations: solution.iterations,
            converged: stop.converged(),
            stop,
            nu: f64::INFINITY,
            noise_points: 0,
            noise: None,
            noise_description: self.way.describe(self.model),
            budget_spent: false,
            rows: self.data.points.rows(),
            total_weight: self.data.total_weight(),
            optima: solution.optima,
            confidence: options.confidence,
            diagnostics: Diagnostics::default(),
        };
        fit.diagnostics = diagnostics::of_exact(self.model, self.data, separation, &fit)?;
        Ok(fit)
    }

    fn bread(&self, hessian: &DMatrix<f64>, free: &[usize]) -> Result<DMatrix<f64>> {
        invert_free(hessian, free).map_err(|direction| {
            let involved =
                self.model.parameters().iter().zip(direction.iter()).filter(|(_, d)| d.abs() > 1e-6);
            Error::Collinear { parameters: involved.map(|(p, _)| p.name.clone()).collect() }
        })
    }

    /// The derivative of the unknowns by θ: the constant is log Z(θ).
    fn jacobian(&self, slope: &DVector<f64>) -> DMatrix<f64> {
        let size = slope.len();
        if self.model.is_normalized() {
            return DMatrix::identity(size, size);
        }
        DMatrix::from_fn(
            size + 1,
            size,
            |i, j| if i == size { slope[j] } else { f64::from(u8::from(i == j)) },
        )
    }

    fn covariance(
        &self,
        theta: &[f64],
        bread: &DMatrix<f64>,
        jacobian: &DMatrix<f64>,
        options: &Options,
    ) -> Result<DMatrix<f64>> {
        let total = self.data.total_weight();
        let carried = |inner: DMatrix<f64>| jacobian * inner * jacobian.transpose();
        if self.data.dependence != Dependence::Independent {
            let values = self.means.influences(theta, &(jacobian * bread))?;
            let influences = Influences { values: &values, size: jacobian.nrows(), total };
            return Ok(dependence::covariance(&influences, self.data.weights, self.data.dependence));
        }
        match options.errors {
            Errors::ModelBased => Ok(carried(bread / total)),
            Errors::Robust => Ok(carried(sandwich(bread, &(self.means.spread(theta)? / total)))),
        }
    }

    /// The value and gradient, and the Hessian if the model gives its second derivatives.
    fn look(&self, theta: &[f64], hessian: bool) -> Result<(Evaluation, bool)> {
        let wall = || (Evaluation::wall(theta.len()), true);
        let Some(mean) = self.means.at(theta, hessian)? else { return Ok(wall()) };
        match self.way.at(self.model, theta, &mean.score, hessian) {
            Ok(normalizer) => {
                let value = normalizer.log_z - mean.energy;
                let gradient = &normalizer.gradient - &mean.score;
                let known = !hessian || (mean.curvature.is_some() && normalizer.curvature.is_some());
                let hessian = mean.curvature.zip(normalizer.curvature).map(|(data, model)| model - data);
                Ok((Evaluation { value, gradient, hessian }, known))
            }
            Err(error) => {
                if let Ok(mut trouble) = self.trouble.lock() {
                    trouble.get_or_insert(error);
                }
                Ok(wall())
            }
        }
    }
}

impl Problem for Likelihood<'_> {
    fn rows(&self) -> f64 {
        self.data.total_weight()
    }

    fn rounding(&self) -> f64 {
        self.way.rounding(self.model)
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let theta = at.as_slice();
        let (mut there, known) = self.look(theta, hessian)?;
        if !known {
            let mut matrix = DMatrix::zeros(theta.len(), theta.len());
            for j in 0..theta.len() {
                let slope = |step: f64| {
                    let mut shifted = theta.to_vec();
                    shifted[j] += step;
                    Ok(self.look(&shifted, false)?.0.gradient)
                };
                matrix.set_column(j, &five_point(1e-3 * self.unit[j], slope)?);
            }
            there.hessian = Some((&matrix + matrix.transpose()) * 0.5);
        }
        Ok(there)
    }
}
