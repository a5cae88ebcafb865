//! Fits without noise, the limit ν → ∞: maximum likelihood with log Z by quadrature, enumeration or a closed form.

mod conditional;
mod means;
mod normalizer;
mod start;
mod whitening;

use std::sync::Mutex;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{Descent, Evaluation, Problem, Stop, bfgs, undamped_gain};

use super::covariance::{Covariance, flattest, invert_free, varies_in};
use super::curvature::{Curvature, Seen};
use super::data::{Data, Dependence};
use super::data_rows::DataRows;
use super::dependence::{self, Influences, Worth};
use super::diagnostics::{self, NearMinimum, Runaway};
use super::differences;
use super::estimate::{Basis, Compared, Estimated, FitTask, Found, Maximised, Notes};
use super::fit_against_noise::{SCALE_ROWS, needs_memory};
use super::kinks;
use super::leverage;
use super::multistart;
use super::noise_choice;
use super::options::{Amount, CovarianceKind, FitOptions, NoiseChoice};
use super::prepare::{natural_steps, scaling};
use super::result::Optimum;
use super::solve::{Solution, in_box, limits};
use crate::moments::sandwich;
use crate::run::{Stage, if_possible};
use crate::{Error, Loss, Model, Result, View};
pub(crate) use conditional::{estimate_given, is_exact_given};
use means::Means;
use normalizer::Lens;
pub(crate) use normalizer::NormalizerMethod;
use whitening::Frame;

/// Draws of the noise that finds a start, at least.
const FEWEST_PILOT_POINTS: usize = 1 << 14;
/// And at most.
const MOST_PILOT_POINTS: usize = 1 << 17;

/// Starts of a likelihood with one maximum, as long as none of them leads there.
const MOST_STARTS: usize = 6;

/// Parameters from which on a pass for the curvature costs many times one for the gradient.
const MANY_PARAMETERS: usize = 32;

/// Farthest that the maximum may be from where the ascent ended, in standard errors.
const NEAR: f64 = 1e-4;

/// The negative mean log-likelihood, in the coordinates of a frame.
pub(crate) struct Likelihood<'a> {
    model: &'a Model,
    data: Data<'a>,
    way: NormalizerMethod,
    means: Means<'a>,
    frame: Frame,
    unit: Vec<f64>,
    /// What kept log Z from being known, for a message if nothing works.
    trouble: Mutex<Option<Error>>,
}

/// Estimates by maximum likelihood.
///
/// # Errors
/// When log Z of the model is out of reach, or no start has a finite likelihood.
pub(crate) fn estimate_exact<'a>(task: FitTask<'a>, options: &FitOptions) -> Result<Estimated<'a>> {
    let model = task.model;
    let Some(data) = task.rows.whole() else { return Err(needs_memory("noise")) };
    let way = NormalizerMethod::cheapest(model)?;
    options.report(Stage::Prepare, 0, f64::NAN)?;
    let some = task.rows.spread(SCALE_ROWS);
    let linear = model.energy().is_linear();
    let (_, unit) = scaling(model, some.view(), linear)?;
    let means = Means::new(model, data)?;
    // A score that is not a number where the search begins is so at every step of it.
    let first = means.at(&model.start(), false)?;
    if first.is_some_and(|mean| mean.score.iter().any(|s| s.is_nan())) {
        return Err(means.first_without_density(&model.start()));
    }
    let whitened = linear && way == NormalizerMethod::Quadrature;
    let frame = if whitened { Frame::of_data(model, some.view())? } else { Frame::identity() };
    let mut likelihood = Likelihood { model, data, way, means, frame, unit, trouble: Mutex::new(None) };
    let starts = likelihood.starts(some.view(), options)?;
    if let Some(start) = starts.first().filter(|_| !linear) {
        // Where the search begins steps have the size that they need, whatever the units of the data.
        likelihood.unit = natural_steps(model, start.as_slice(), some.view());
    }
    let solution = likelihood.solve(&starts, options)?;
    likelihood.finish(&solution, some.view(), options)
}

impl<'a> Likelihood<'a> {
    /// The likelihood in the model's own coordinates.
    ///
    /// # Errors
    /// When log Z is out of reach, or a row has no density.
    pub(crate) fn plain(task: FitTask<'a>) -> Result<Self> {
        let Some(data) = task.rows.whole() else { return Err(needs_memory("noise")) };
        let way = NormalizerMethod::of(task.model)?;
        let means = Means::new(task.model, data)?;
        let (frame, unit) = (Frame::identity(), vec![1.0; task.model.parameters().len()]);
        Ok(Self { model: task.model, data, way, means, frame, unit, trouble: Mutex::new(None) })
    }

    pub(crate) fn model(&self) -> &'a Model {
        self.model
    }

    /// How log Z is had, in words.
    pub(crate) fn words(&self) -> String {
        self.way.describe(self.model)
    }

    /// What is known at parameters that some penalty left there; `bend` is its second derivative, without which there are no
    /// standard errors.
    ///
    /// # Errors
    /// When there is no log Z.
    pub(crate) fn found(
        &self,
        theta: &[f64],
        held: &[bool],
        bend: Option<&DMatrix<f64>>,
        options: &FitOptions,
    ) -> Result<Found> {
        let there = self.evaluate(&DVector::from_column_slice(theta), true)?;
        let hessian = there.hessian.ok_or(Error::NoMass)?;
        let mean = self.means.at(theta, false)?.ok_or(Error::NoMass)?;
        let normalizer = self.way.at(self.model, theta, self.lens(&mean.score), false)?;
        let jacobian = self.jacobian(&(&normalizer.offset + mean.score));
        let covariance = match bend {
            None => Covariance::unknown(jacobian.nrows()),
            Some(bend) => {
                let free: Vec<usize> = (0..theta.len()).filter(|j| !held[*j]).collect();
                let bread = invert_free(&(&hessian + bend), &free).map_err(|d| self.indistinct(&d))?;
                self.covariance(theta, &bread, &jacobian, options)?
            }
        };
        let mut values = theta.to_vec();
        values.extend((!self.model.is_normalized()).then_some(normalizer.log_z));
        Ok(Found::minimum(values, held.to_vec(), there.value, covariance, hessian))
    }

    fn solve(&self, starts: &[DVector<f64>], options: &FitOptions) -> Result<Solution> {
        let model = self.model;
        let Some(start) = starts.first() else { return Err(self.explain()) };
        if !model.energy().is_linear() {
            let begin = |theta: &[f64]| Ok(DVector::from_column_slice(theta));
            let few = FitOptions { starts: options.starts.min(3), ..options.clone() };
            let first = multistart::first(model, Some(start.as_slice()));
            let places = multistart::nearby(model, &self.unit, &first, &few);
            let found = multistart::solve(self, model, &begin, &places, options)?;
            let found = found.ok_or_else(|| self.explain())?;
            if found.stop.converged() && found.optima.len() == 1 {
                return Ok(found);
            }
            let information = self.means.spread(found.at.as_slice(), &self.frame)?;
            return kinks::settle(self, found, &information);
        }
        let limits = limits(model, &self.frame.scales(start.len()));
        let near = self.near_by_gradients(start, &limits, options)?;
        let mut solution = in_box(self, &limits, near.as_ref().map_or(start, |near| &near.at), options)?;
        solution.iterations += near.map_or(0, |near| near.iterations);
        // The likelihood has one maximum, but its edge may be in the way.
        let most = if model.space().dimension() == 1 { MOST_STARTS } else { 2 };
        for start in starts.iter().take(most).skip(1).filter(|_| self.is_convex()) {
            if solution.stop.converged() {
                break;
            }
            let again = in_box(self, &limits, start, options)?;
            let steps = solution.iterations + again.iterations;
            let (before, after) = (self.value(&solution.at), self.value(&again.at));
            solution = if again.stop.converged() || after < before { again } else { solution };
            solution.iterations = steps;
        }
        let at = self.frame.outer(&solution.at).as_slice().to_vec();
        solution.optima = vec![Optimum { at, loss: self.value(&solution.at), starts: 1 }];
        Ok(solution)
    }

    /// A place near the maximum by gradients alone, where the curvature is a sum of many squares over many states: that of the
    /// fitted model is about the covariance of the statistics in the data.
    fn near_by_gradients(
        &self,
        start: &DVector<f64>,
        limits: &[(f64, f64)],
        options: &FitOptions,
    ) -> Result<Option<Descent>> {
        let bounded = limits.iter().any(|(lower, upper)| lower.is_finite() || upper.is_finite());
        if self.way != NormalizerMethod::Enumeration || start.len() < MANY_PARAMETERS || bounded {
            return Ok(None);
        }
        let about = self.means.spread(self.frame.outer(start).as_slice(), &self.frame)?;
        options.descent(Stage::Descent, |o| bfgs(self, start, &about, o))
    }

    fn value(&self, at: &DVector<f64>) -> f64 {
        self.evaluate(at, false).map_or(f64::INFINITY, |there| there.value)
    }

    /// Where the ascent may start, the best first: a fit against noise, or else the model's own start, none of its statistics,
    /// and what comes near to a normal distribution, as far as they have a likelihood.
    fn starts(&self, sample: View<'_>, options: &FitOptions) -> Result<Vec<DVector<f64>>> {
        let pilot = self.pilot(options)?.map(|theta| self.frame.inner(&theta));
        if let Some(pilot) = pilot.filter(|at| self.value(at).is_finite()) {
            return Ok(vec![pilot]);
        }
        let own = self.frame.inner(&self.model.start());
        let mut others = vec![own.clone(), DVector::zeros(own.len())];
        if self.is_convex() {
            others.extend(start::near_normal(self.model, &self.frame, sample)?);
        }
        let known = others.into_iter().map(|at| (self.value(&at), at));
        let mut known: Vec<(f64, DVector<f64>)> = known.filter(|(value, _)| value.is_finite()).collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(known.into_iter().map(|(_, at)| at).collect())
    }

    /// A start from a fit against noise, where quadrature needs one that integrates, or there may be several maxima.
    fn pilot(&self, options: &FitOptions) -> Result<Option<Vec<f64>>> {
        if self.way != NormalizerMethod::Quadrature && self.model.energy().is_linear() {
            return Ok(None);
        }
        let points = (2 * self.data.points.rows()).clamp(FEWEST_PILOT_POINTS, MOST_PILOT_POINTS);
        let rough =
            FitOptions { noise: NoiseChoice::Auto, amount: Amount::Points(points), ..options.clone() };
        let rows = DataRows::Memory(self.data);
        let Some(noise) = if_possible(noise_choice::auto_noise(self.model, rows))? else { return Ok(None) };
        let task = FitTask { model: self.model, rows, loss: &Loss::Js };
        let found = if_possible(noise_choice::dosed(task, &noise, &rough))?;
        Ok(found.map(|found| found.fit).filter(|fit| fit.converged).map(|fit| fit.theta()))
    }

    /// Why no start has a finite likelihood.
    fn explain(&self) -> Error {
        let trouble = self.trouble.lock().ok().and_then(|t| t.clone());
        trouble.unwrap_or_else(|| self.means.first_without_density(&self.model.start()))
    }

    /// The estimates, with the covariance that the data leave.
    fn finish(&self, solution: &Solution, sample: View<'_>, options: &FitOptions) -> Result<Estimated<'a>> {
        options.report(Stage::Errors, 0, f64::NAN)?;
        let there = self.evaluate(&solution.at, true)?;
        let outer = self.frame.outer(&solution.at);
        let theta = outer.as_slice();
        let size = theta.len();
        let free: Vec<usize> = (0..size).filter(|j| !solution.bound[*j]).collect();
        let (inner_hessian, curvature) = self.trusted_curvature(&there, &solution.at, &free)?;
        let hessian = self.frame.outer_hessian(&inner_hessian);
        let separation = if free.len() == size {
            diagnostics::on_border(self.model, self.data, theta, &hessian, solution.stop)?
        } else {
            None
        };
        let runaway = self.runaway(solution, options)?;
        // Far out the likelihood is flat: that is no lack of information about the parameters, but no estimate.
        let finite = separation.is_none() && runaway.is_none();
        let bread = if finite {
            self.bread(theta, sample, (&inner_hessian, solution.stop), &free)?
        } else {
            DMatrix::zeros(size, size)
        };
        let mean = self.means.at(theta, false)?.ok_or(Error::NoMass)?;
        let normalizer = self.way.at(self.model, theta, self.lens(&mean.score), false)?;
        let jacobian = self.jacobian(&(&normalizer.offset + self.frame.apply(mean.score)));
        let covariance = if finite {
            self.covariance(theta, &bread, &jacobian, options)?
        } else {
            Covariance::infinite(jacobian.nrows())
        };
        let stop = match &separation {
            Some(_) => Stop::RunsOff,
            None => self.stop(solution, &there, &free)?,
        };
        let mut values = theta.to_vec();
        values.extend((!self.model.is_normalized()).then_some(normalizer.log_z));
        let found = Found::of_search(solution, values, there.value, covariance, hessian);
        let found = Found { curvature, stop, ..found };
        let words = self.way.describe(self.model);
        let with = Compared::undrawn(f64::INFINITY, 0, words, "likelihood".into());
        let fit = found.fit(self.model, DataRows::Memory(self.data), with, options.confidence);
        let basis = Basis::Likelihood(Box::new(Maximised {
            data: self.data,
            separation,
            wall: self.wall(),
            runaway,
        }));
        Ok(Estimated { fit, basis, notes: Notes::default() })
    }

    /// How the search ended: at a kink the gradient does not vanish.
    fn stop(&self, solution: &Solution, there: &Evaluation, free: &[usize]) -> Result<Stop> {
        if solution.stop != Stop::Converged || self.is_maximum(there, free) {
            return Ok(solution.stop);
        }
        let spread = self.means.spread(self.frame.outer(&solution.at).as_slice(), &self.frame)?;
        let at_kink = kinks::is_minimum(self, &solution.at, Some(&spread))?;
        Ok(if at_kink { Stop::Converged } else { Stop::NoDescent })
    }

    /// A parameter of a model that is not linear which has no finite estimate, if there is one.
    fn runaway(&self, solution: &Solution, options: &FitOptions) -> Result<Option<Runaway>> {
        if self.model.energy().is_linear() {
            return Ok(None);
        }
        let (model, unit, bound) = (self.model, &self.unit, &solution.bound);
        NearMinimum { problem: self, model, unit, at: &solution.at, bound }.runaway(options)
    }

    /// The curvature that the standard errors rest on: that of the likelihood, unless the model has kinks there.
    fn trusted_curvature(
        &self,
        there: &Evaluation,
        at: &DVector<f64>,
        free: &[usize],
    ) -> Result<(DMatrix<f64>, Curvature)> {
        let Some(observed) = there.hessian.clone() else { return Err(self.explain()) };
        if self.model.energy().is_linear() {
            return Ok((observed, Curvature::Observed));
        }
        // The information as the spread of the scores in the data, which no kink disturbs.
        let expected = self.means.spread(self.frame.outer(at).as_slice(), &self.frame)?;
        let rows = self.data.total_weight();
        let seen = Seen { observed: &observed, expected: &expected, at, free, rows };
        seen.trusted(|at| {
            let there = self.evaluate(at, false)?;
            Ok(there.value.is_finite().then_some(there.gradient))
        })
    }

    /// Whether the means of the statistics are those of the model, as near as a step of the ascent can tell.
    fn is_maximum(&self, there: &Evaluation, free: &[usize]) -> bool {
        undamped_gain(&there.part(free)) * self.rows() <= NEAR * NEAR
    }

    /// Where the density ceased to integrate on the way, if it did.
    fn wall(&self) -> Option<Error> {
        let trouble = self.trouble.lock().ok().and_then(|t| t.clone());
        trouble.filter(|error| matches!(error, Error::NotIntegrable { .. }))
    }

    /// `H⁻¹` over the free unknowns.
    ///
    /// # Errors
    /// When the data do not tell some of them apart: which.
    fn bread(
        &self,
        theta: &[f64],
        sample: View<'_>,
        (hessian, stop): (&DMatrix<f64>, Stop),
        free: &[usize],
    ) -> Result<DMatrix<f64>> {
        // Away from a maximum the curvature need not be flat where the data say nothing, but their scores are.
        let spread =
            if stop.converged() { hessian.clone() } else { self.means.spread(theta, &self.frame)? };
        if !self.model.energy().is_linear()
            && let Some(direction) = flattest(&spread, free)
            && !varies_in(self.model, theta, sample, &direction)?
        {
            return Err(self.indistinct(&direction));
        }
        invert_free(hessian, free).map_err(|direction| self.indistinct(&direction))
    }

    /// What cannot be told apart, in the words of a fit against noise.
    fn indistinct(&self, direction: &DVector<f64>) -> Error {
        let outer = self.frame.outer(direction);
        // Of the size that every statistic has in the data, small entries are rounding.
        let scaled = outer.component_mul(&DVector::from_vec(self.frame.scales(outer.len())));
        let largest = scaled.amax();
        let names = self.model.parameters().iter().map(|p| p.name.clone());
        let involved: Vec<(f64, String)> = outer
            .iter()
            .zip(scaled.iter())
            .zip(names)
            .filter(|((_, d), _)| d.abs() > 1e-6 * largest)
            .map(|((d, _), name)| (*d, name))
            .collect();
        if !self.model.energy().is_linear() || self.model.is_normalized() {
            return Error::Collinear { parameters: involved.into_iter().map(|(_, name)| name).collect() };
        }
        let leading = involved.first().map_or(1.0, |(d, _)| *d);
        Error::CollinearFeatures {
            terms: involved.into_iter().map(|(d, name)| (d / leading, name)).collect(),
        }
    }

    /// The derivative of the unknowns by η: the constant is log Z(θ), whose own derivative is `slope`.
    fn jacobian(&self, slope: &DVector<f64>) -> DMatrix<f64> {
        let jacobian = self.frame.jacobian(slope.len());
        if self.model.is_normalized() {
            return jacobian;
        }
        let last = jacobian.nrows();
        let mut with_constant = jacobian.insert_row(last, 0.0);
        with_constant.row_mut(last).tr_copy_from(slope);
        with_constant
    }

    fn covariance(
        &self,
        theta: &[f64],
        bread: &DMatrix<f64>,
        jacobian: &DMatrix<f64>,
        options: &FitOptions,
    ) -> Result<Covariance> {
        let (total, size) = (self.data.total_weight(), jacobian.nrows());
        let carried = |inner: DMatrix<f64>| jacobian * inner * jacobian.transpose();
        let without_noise = |data: DMatrix<f64>, freedom: Vec<f64>, worth| Covariance {
            noise: DMatrix::zeros(size, size),
            data,
            freedom,
            worth,
            noise_gain: None,
        };
        if self.data.dependence != Dependence::Independent {
            let values = self.means.influences(theta, &(jacobian * bread), &self.frame)?;
            let influences = Influences { values: &values, size, total };
            let found = dependence::covariance(&influences, self.data.weights, self.data.dependence);
            return Ok(without_noise(found.covariance, found.freedom, found.worth));
        }
        match options.errors {
            CovarianceKind::ModelBased => {
                let freedom = vec![(total - theta.len() as f64).max(1.0); size];
                Ok(without_noise(carried(bread / total), freedom, Worth::Independent))
            }
            CovarianceKind::Robust if self.data.points.rows() > leverage::MOST_ROWS => {
                let meat = self.means.spread(theta, &self.frame)? / total;
                Ok(without_noise(
                    carried(sandwich(bread, &meat)),
                    vec![f64::INFINITY; size],
                    Worth::Independent,
                ))
            }
            CovarianceKind::Robust => {
                let found = self.means.variance(theta, &(jacobian * bread), &self.frame)?;
                Ok(without_noise(carried(sandwich(bread, &found.meat)), found.freedom, Worth::Independent))
            }
        }
    }

    fn lens<'l>(&'l self, center: &'l DVector<f64>) -> Lens<'l> {
        Lens { center, frame: &self.frame, unit: &self.unit }
    }

    /// The value and gradient, and the Hessian if the model gives its second derivatives.
    fn look(&self, theta: &[f64], hessian: bool) -> Result<(Evaluation, bool)> {
        let wall = || (Evaluation::wall(theta.len()), true);
        let Some(mean) = self.means.at(theta, hessian)? else { return Ok(wall()) };
        match self.way.at(self.model, theta, self.lens(&mean.score), hessian) {
            Ok(normalizer) => {
                let value = normalizer.log_z - mean.energy;
                let known = !hessian || (mean.curvature.is_some() && normalizer.curvature.is_some());
                let bend = mean.curvature.map(|data| self.frame.inner_hessian(&data));
                let hessian = bend.zip(normalizer.curvature).map(|(data, model)| model - data);
                Ok((Evaluation { value, gradient: normalizer.offset, hessian }, known))
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
    type Error = Error;

    fn rows(&self) -> f64 {
        self.data.total_weight()
    }

    fn rounding(&self) -> f64 {
        self.way.rounding(self.model)
    }

    /// log Z of a linear model is convex in its parameters.
    fn is_convex(&self) -> bool {
        self.model.energy().is_linear() && self.way == NormalizerMethod::Quadrature
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let outer = self.frame.outer(at);
        let theta = outer.as_slice();
        differences::evaluation(theta, &self.unit, hessian, |theta, hessian| self.look(theta, hessian))
    }
}
