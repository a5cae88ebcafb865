//! M-estimation: the minimum of a mean over the rows of a loss that needs neither noise nor the constant, with the sandwich of its
//! slopes for standard errors (MATH §13).

mod pseudo_likelihood;
mod score_matching;
mod variable_derivatives;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram, weighted_sum};
use noisewright_numerics::optimize::{Evaluation, Problem};
use noisewright_numerics::summation::{dot, try_blocked};

use super::constant::Constant;
use super::covariance::{Covariance, invert_free};
use super::curvature::Curvature;
use super::data::{Data, Dependence};
use super::data_rows::{DataRows, SOME_ROWS};
use super::density_checks;
use super::dependence::{self, Influences, Worth};
use super::diagnostics::{Diagnostics, ErrorBudget};
use super::differences;
use super::estimate::{Compared, Found};
use super::fit_against_noise::{SCALE_ROWS, needs_memory};
use super::leverage::{LeverageSums, Leverages};
use super::method::FitMethod;
use super::multistart;
use super::options::FitOptions;
use super::prepare::natural_steps;
use super::result::{Estimate, Fit, Optimum};
use super::sample_blocks::{BLOCK, CHUNK};
use super::solve::{Solution, in_box, limits};
use crate::integrability;
use crate::memory::check_count;
use crate::moments::sandwich;
use crate::run::Stage;
use crate::{Error, Model, Quantity, Result, View};

/// The loss of every row.
trait RowLoss: Sync {
    /// Writes the loss of every row and, column by column, its slope in θ; where second derivatives are asked for, adds their
    /// sum, weighted, or returns `false` where they are not known.
    ///
    /// # Errors
    /// When θ is not allowed, or the model gives no number.
    fn evaluate(
        &self,
        theta: &[f64],
        rows: WeightedRows<'_>,
        out: RowTerms<'_>,
        hessian: Option<&mut [f64]>,
    ) -> Result<bool>;
}

/// Some rows, and how often each counts.
#[derive(Clone, Copy)]
struct WeightedRows<'r> {
    points: View<'r>,
    weights: &'r [f64],
}

/// What is known of some rows: their losses, and the slopes column by column.
struct RowTerms<'t> {
    loss: &'t mut [f64],
    slope: &'t mut [f64],
}

/// The mean loss over the data.
struct MeanLoss<'a> {
    model: &'a Model,
    data: Data<'a>,
    method: FitMethod,
    rows: Box<dyn RowLoss + 'a>,
    /// Natural sizes of a step in the parameters.
    unit: Vec<f64>,
}

/// Sums over some rows.
struct Sums {
    loss: f64,
    slope: DVector<f64>,
    /// `None` where it was not asked for, or is not known.
    hessian: Option<DMatrix<f64>>,
}

/// The method without noise that a model has, if it has one; `curvature` of a fit to the rows tells kinks that no formula shows.
pub(super) fn suited(model: &Model, curvature: Curvature, rows: DataRows<'_>) -> Option<FitMethod> {
    if model.is_conditional() {
        None
    } else if pseudo_likelihood::PseudoLikelihood::new(model).is_ok() {
        Some(FitMethod::PseudoLikelihood)
    } else {
        let smooth = curvature == Curvature::Observed;
        let some = rows.spread(SCALE_ROWS);
        let derivable = smooth && score_matching::ScoreMatching::new(model, some.view()).is_ok();
        derivable.then_some(FitMethod::ScoreMatching)
    }
}

/// Fits by the options' method, one of those without noise.
///
/// # Errors
/// When the model is not one for the method, rows have no loss, or the data do not tell the parameters apart.
pub(super) fn fit(model: &Model, rows: DataRows<'_>, options: &FitOptions) -> Result<Fit> {
    let Some(data) = rows.whole() else { return Err(needs_memory("method")) };
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let some = rows.spread(SCALE_ROWS);
    let method = options.method;
    let loss: Box<dyn RowLoss + '_> = match method {
        FitMethod::PseudoLikelihood => Box::new(pseudo_likelihood::PseudoLikelihood::new(model)?),
        _ => Box::new(score_matching::ScoreMatching::new(model, some.view())?),
    };
    let unit = if model.energy().is_linear() {
        vec![1.0; model.parameters().len()]
    } else {
        natural_steps(model, &model.start(), some.view())
    };
    let mean = MeanLoss { model, data, method, rows: loss, unit };
    let solution = mean.solve(options)?;
    mean.finish(&solution, rows, options)
}

impl<'a> MeanLoss<'a> {
    fn solve(&self, options: &FitOptions) -> Result<Solution> {
        let model = self.model;
        if model.energy().is_linear() {
            let flat = model.parameters().iter().map(|p| 0f64.clamp(p.lower, p.upper));
            let start = DVector::from_iterator(self.unit.len(), flat);
            let mut solution = in_box(self, &limits(model, &self.unit), &start, options)?;
            let loss = self.evaluate(&solution.at, false)?.value;
            solution.optima = vec![Optimum { at: solution.at.as_slice().to_vec(), loss, starts: 1 }];
            return Ok(solution);
        }
        let begin = |theta: &[f64]| Ok(DVector::from_column_slice(theta));
        let places = multistart::nearby(model, &self.unit, &multistart::first(model, None), options);
        let found = multistart::solve(self, model, &begin, &places, options)?;
        found.ok_or_else(|| self.without_start())
    }

    /// Why no start has a finite loss.
    fn without_start(&self) -> Error {
        match self.sums(&self.model.start(), false) {
            Err(error) => error,
            Ok(_) => Error::NotANumber { of: Quantity::Loss, point: "the start values".into() },
        }
    }

    /// The estimates with their errors, log Z where it can be computed, and what is to be said of them.
    fn finish(&self, solution: &Solution, rows: DataRows<'_>, options: &FitOptions) -> Result<Fit> {
        options.report(Stage::Errors, 0, f64::NAN)?;
        let theta = solution.at.as_slice();
        let there = self.evaluate(&solution.at, true)?;
        let hessian = there.hessian.ok_or(Error::NoMass)?;
        let sound = solution.stop.converged();
        let mut said = Diagnostics::default();
        if sound {
            density_checks::check_fitted(self.model, theta, rows)?;
            let some = rows.spread(SOME_ROWS);
            if let Some(found) = integrability::of_fitted(self.model, theta, some.view()) {
                said.endless(found);
            }
        }
        let constant = if sound && said.no_answer().is_none() {
            Constant::at(self.model, theta, &options.cancel)?
        } else {
            None
        };
        let free: Vec<usize> = (0..theta.len()).filter(|j| !solution.bound[*j]).collect();
        let size = theta.len() + usize::from(constant.is_some());
        let covariance = if sound {
            let bread = invert_free(&hessian, &free).map_err(|direction| self.indistinct(&direction))?;
            self.covariance(theta, &bread, constant.as_ref().map(|constant| &constant.slope))?
        } else {
            Covariance::infinite(size)
        };
        let mut values = theta.to_vec();
        values.extend(constant.as_ref().map(|constant| constant.log_z));
        let found = Found::of_search(solution, values, there.value, covariance, hessian);
        let words = match &constant {
            Some(constant) => format!("none ({}; log Z {})", self.method, constant.words),
            None => format!("none ({})", self.method),
        };
        let with = Compared::undrawn(f64::INFINITY, 0, words, self.method.name().into());
        let mut fit = found.fit(self.model, rows, with, options.confidence);
        fit.method = self.method;
        said.read(self.model, &fit);
        let budget = |e: &Estimate| ErrorBudget::of_parts(&e.name, e.se_data.powi(2), 0.0);
        said.error_budget = fit.estimates().into_iter().map(budget).collect();
        fit.diagnostics = said;
        Ok(fit)
    }

    /// `H⁻¹ Cov(s) H⁻¹/n` with s the slopes of the rows; the constant follows the parameters with the slope of log Z.
    fn covariance(
        &self,
        theta: &[f64],
        bread: &DMatrix<f64>,
        constant: Option<&DVector<f64>>,
    ) -> Result<Covariance> {
        let (size, total) = (theta.len(), self.data.total_weight());
        let mut jacobian = DMatrix::identity(size, size);
        if let Some(slope) = constant {
            jacobian = jacobian.insert_row(size, 0.0);
            jacobian.row_mut(size).tr_copy_from(slope);
        }
        let unknowns = jacobian.nrows();
        let influence = &jacobian * bread;
        let (data, freedom, worth) = if self.data.dependence == Dependence::Independent {
            let (meat, freedom) = self.spread(theta, &influence)?;
            (&jacobian * sandwich(bread, &(meat / total)) * jacobian.transpose(), freedom, Worth::Independent)
        } else {
            let values = self.influences(theta, &influence)?;
            let influences = Influences { values: &values, size: unknowns, total };
            let found = dependence::covariance(&influences, self.data.weights, self.data.dependence);
            (found.covariance, found.freedom, found.worth)
        };
        let noise = DMatrix::zeros(unknowns, unknowns);
        Ok(Covariance { data, noise, freedom, worth, noise_gain: None })
    }

    /// The covariance of the slopes over the rows, and the degrees of freedom of every unknown's variance.
    fn spread(&self, theta: &[f64], influence: &DMatrix<f64>) -> Result<(DMatrix<f64>, Vec<f64>)> {
        let (size, total) = (theta.len(), self.data.total_weight());
        let squares = self.fold(
            theta,
            || (DMatrix::zeros(size, size), DVector::zeros(size)),
            |(squares, sums): &mut (DMatrix<f64>, DVector<f64>), seen: SeenRows<'_>| {
                weighted_gram(seen.slope, seen.weights, squares.as_mut_slice());
                weighted_sum(seen.slope, seen.weights, sums.as_mut_slice());
                Ok(())
            },
            |a, b| (a.0 + b.0, a.1 + b.1),
        )?;
        let (squares, sums) = squares;
        let leverages = Leverages::new(&squares, &sums, total, influence.clone());
        let add = |seen_so_far: &mut LeverageSums, seen: SeenRows<'_>| {
            let terms = DMatrix::from_fn(seen.weights.len(), size, |i, j| seen.slope.column(j)[i]);
            leverages.add(seen_so_far, terms, Some(seen.weights));
            Ok(())
        };
        let found = leverages.finish(&self.fold(theta, || leverages.sums(), add, LeverageSums::join)?);
        // The slopes sum to zero but for what the search left, so that the mean is all but the squares themselves.
        let mean = &sums / total;
        Ok((squares / total - &mean * mean.transpose(), found.freedom))
    }

    /// What each row adds to the unknowns, times its weight, row after row.
    fn influences(&self, theta: &[f64], influence: &DMatrix<f64>) -> Result<Vec<f64>> {
        check_count("rows", self.data.points.rows(), 2 * influence.nrows())?;
        let add = |values: &mut Vec<f64>, seen: SeenRows<'_>| {
            for (row, weight) in seen.weights.iter().enumerate() {
                let slope = DVector::from_fn(theta.len(), |j, _| seen.slope.column(j)[row]);
                values.extend((influence * slope * *weight).iter());
            }
            Ok(())
        };
        self.fold(theta, Vec::new, add, |a, b| [a, b].concat())
    }

    /// What the data do not tell apart.
    fn indistinct(&self, direction: &DVector<f64>) -> Error {
        let largest = direction.amax();
        let names = self.model.parameters().iter().zip(direction.iter());
        let parameters =
            names.filter(|(_, d)| d.abs() > 1e-6 * largest).map(|(p, _)| p.name.clone()).collect();
        Error::Collinear { parameters }
    }

    /// Means at θ, the Hessian where it is asked for and known.
    fn sums(&self, theta: &[f64], hessian: bool) -> Result<Sums> {
        let size = theta.len();
        let start = || Sums {
            loss: 0.0,
            slope: DVector::zeros(size),
            hessian: hessian.then(|| DMatrix::zeros(size, size)),
        };
        let part = |range: std::ops::Range<usize>| -> Result<Sums> {
            let mut sums = start();
            self.each_chunk(theta, range, sums.hessian.take(), |seen| {
                sums.loss += dot(seen.loss, seen.weights);
                weighted_sum(seen.slope, seen.weights, sums.slope.as_mut_slice());
                Ok(())
            })
            .map(|hessian| Sums { hessian, ..sums })
        };
        let join = |a: Sums, b: Sums| Sums {
            loss: a.loss + b.loss,
            slope: a.slope + b.slope,
            hessian: a.hessian.zip(b.hessian).map(|(a, b)| a + b),
        };
        let total = self.data.total_weight();
        let sums = try_blocked(self.data.points.rows(), BLOCK, part, join)?.unwrap_or_else(start);
        Ok(Sums {
            loss: sums.loss / total,
            slope: sums.slope / total,
            hessian: sums.hessian.map(|hessian| hessian / total),
        })
    }

    /// Sums of something else over the rows.
    fn fold<T: Send>(
        &self,
        theta: &[f64],
        start: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, SeenRows<'_>) -> Result<()> + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        let part = |range: std::ops::Range<usize>| {
            let mut total = start();
            self.each_chunk(theta, range, None, |seen| add(&mut total, seen))?;
            Ok(total)
        };
        Ok(try_blocked(self.data.points.rows(), BLOCK, part, join)?.unwrap_or_else(start))
    }

    /// Visits a range of rows a chunk at a time; the Hessian is added up where there is one and it is known, and handed back.
    fn each_chunk(
        &self,
        theta: &[f64],
        range: std::ops::Range<usize>,
        mut hessian: Option<DMatrix<f64>>,
        mut visit: impl FnMut(SeenRows<'_>) -> Result<()>,
    ) -> Result<Option<DMatrix<f64>>> {
        let size = theta.len();
        for first in range.clone().step_by(CHUNK) {
            self.model.check_run()?;
            let rows = first..range.end.min(first + CHUNK);
            let points = self.data.points.slice(rows.clone());
            let ones;
            let weights = if let Some(weights) = self.data.weights {
                &weights[rows.clone()]
            } else {
                ones = vec![1.0; rows.len()];
                &ones[..]
            };
            let (mut loss, mut slope) = (vec![0.0; rows.len()], vec![0.0; rows.len() * size]);
            let out = RowTerms { loss: &mut loss, slope: &mut slope };
            let sum = hessian.as_mut().map(DMatrix::as_mut_slice);
            if !self.rows.evaluate(theta, WeightedRows { points, weights }, out, sum)? {
                hessian = None;
            }
            self.check_finite(first, weights, &loss, &mut slope)?;
            let slope = Columns::new(&slope, rows.len(), size, rows.len());
            visit(SeenRows { loss: &loss, slope, weights })?;
        }
        Ok(hessian)
    }

    /// Refuses a row that counts and has no finite loss; what does not count has none.
    fn check_finite(&self, first: usize, weights: &[f64], loss: &[f64], slope: &mut [f64]) -> Result<()> {
        let rows = loss.len();
        for (row, weight) in weights.iter().enumerate() {
            let finite = loss[row].is_finite() && slope[row..].iter().step_by(rows).all(|s| s.is_finite());
            if !finite && *weight > 0.0 {
                let point = format!("row {} of the data, by the method {}", first + row + 1, self.method);
                return Err(Error::NotANumber { of: Quantity::Loss, point });
            }
            if !finite {
                slope[row..].iter_mut().step_by(rows).for_each(|s| *s = 0.0);
            }
        }
        Ok(())
    }
}

/// Some rows at one θ.
#[derive(Clone, Copy)]
struct SeenRows<'s> {
    loss: &'s [f64],
    slope: Columns<'s>,
    weights: &'s [f64],
}

impl Problem for MeanLoss<'_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.data.total_weight()
    }

    /// Score matching is quadratic in the parameters of a linear model, the pseudo-likelihood a sum of logistic regressions.
    fn is_convex(&self) -> bool {
        self.model.energy().is_linear()
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let theta = at.as_slice();
        let there = match self.sums(theta, hessian) {
            // Away from where the model is defined there is no loss; a linear one is defined everywhere.
            Err(Error::Parameter { .. } | Error::NotANumber { .. }) if !self.is_convex() => {
                return Ok(Evaluation::wall(theta.len()));
            }
            there => there?,
        };
        let bend = match there.hessian {
            None if hessian => {
                let slope = |theta: &[f64]| Ok(self.sums(theta, false)?.slope);
                Some(differences::hessian(theta, |j| self.unit[j], slope)?)
            }
            known => known,
        };
        Ok(Evaluation { value: there.loss, gradient: there.slope, hessian: bend })
    }
}
