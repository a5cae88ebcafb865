//! Maximum likelihood of conditional models: log Z by quadrature, summation or a closed form at every value of the covariates.

use std::sync::Mutex;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{Evaluation, Problem};
use noisewright_numerics::summation::try_blocked;

use super::means::Means;
use super::normalizer::{Lens, Normalizer, NormalizerMethod};
use super::whitening::Frame;
use crate::fit::conditional::{RowLeverage, RowTerms, by_row, pilot};
use crate::fit::covariance::invert_free;
use crate::fit::data::{Data, Dependence};
use crate::fit::data_rows::DataRows;
use crate::fit::differences;
use crate::fit::estimate::{Compared, Found};
use crate::fit::multistart;
use crate::fit::options::{Amount, FitOptions, IntervalKind, NoiseChoice};
use crate::fit::prepare::scaling;
use crate::fit::profile::{self, Profiled};
use crate::fit::result::{Fit, Optimum};
use crate::fit::solve::{Solution, in_box, limits};
use crate::run::Stage;
use crate::{Error, Model, Result};

/// States times values of the covariates up to which a fit that is left to itself needs no noise.
const MOST_STATES: u64 = 1 << 20;
/// Variables that are integrated over for every value of the covariates.
const MOST_VARIABLES: usize = 2;

/// Rows with the same covariates.
struct Group {
    /// The density given these covariates.
    model: Model,
    weight: f64,
}

/// The negative mean conditional log-likelihood.
struct ConditionalLikelihood<'a> {
    model: &'a Model,
    data: Data<'a>,
    way: NormalizerMethod,
    groups: Vec<Group>,
    /// The group of every row.
    group_of: Vec<usize>,
    means: Means<'a>,
    unit: Vec<f64>,
    /// What kept log Z from being known, for a message if nothing works.
    trouble: Mutex<Option<Error>>,
}

/// Whether there is no noise at all: that was asked for, or with `auto` all states can be visited at all values of the
/// covariates, and nothing was said about the noise.
pub(crate) fn is_exact_given(model: &Model, data: Data<'_>, options: &FitOptions) -> bool {
    match options.noise {
        NoiseChoice::Exact => true,
        NoiseChoice::Auto if options.choices.is_none() && matches!(options.amount, Amount::Auto { .. }) => {
            let states = model.response_space().ok().and_then(|space| space.state_count());
            states.is_some_and(|states| {
                states.saturating_mul(model.distinct_covariates(data.points).0.len() as u64) <= MOST_STATES
            })
        }
        _ => false,
    }
}

/// Fits a conditional model by maximum likelihood.
///
/// # Errors
/// When log Z of the model is out of reach, or no start has a finite likelihood.
pub(crate) fn estimate_given(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
    let likelihood = ConditionalLikelihood::new(model, data)?;
    let solution = likelihood.solve(options)?;
    likelihood.finish(&solution, options)
}

impl<'a> ConditionalLikelihood<'a> {
    fn new(model: &'a Model, data: Data<'a>) -> Result<Self> {
        let (values, group_of) = model.distinct_covariates(data.points);
        let mut groups = Vec::with_capacity(values.len());
        for given in &values {
            groups.push(Group { model: model.given(given)?, weight: 0.0 });
        }
        for (row, group) in group_of.iter().enumerate() {
            groups[*group].weight += data.weights.map_or(1.0, |w| w[row]);
        }
        let Some(first) = groups.first() else { return Err(Error::NoData) };
        let way = NormalizerMethod::of(&first.model)?;
        if way == NormalizerMethod::Quadrature && model.response_dimension() > MOST_VARIABLES {
            let reason =
                "needs at most two variables beside the covariates: leave it out to fit against noise";
            return Err(Error::option("noise exact", reason));
        }
        let (_, unit) = scaling(model, data.points, model.energy().is_linear())?;
        let means = Means::new(model, data)?;
        Ok(Self { model, data, way, groups, group_of, means, unit, trouble: Mutex::new(None) })
    }

    fn solve(&self, options: &FitOptions) -> Result<Solution> {
        let pilot = pilot(self.model, self.data, options)?;
        let own = self.model.start();
        let value = |theta: &Vec<f64>| {
            self.evaluate(&DVector::from_column_slice(theta), false)
                .map_or(f64::INFINITY, |there| there.value)
        };
        let starts: Vec<Vec<f64>> =
            pilot.into_iter().chain([own]).filter(|at| value(at).is_finite()).collect();
        let Some(start) = starts.first() else { return Err(self.explain()) };
        if self.model.energy().is_linear() {
            let begin = DVector::from_column_slice(start);
            let mut found = in_box(self, &limits(self.model, &vec![1.0; start.len()]), &begin, options)?;
            let (at, loss) = (found.at.as_slice().to_vec(), self.evaluate(&found.at, false)?.value);
            found.optima = vec![Optimum { at, loss, starts: 1 }];
            return Ok(found);
        }
        let few = FitOptions { starts: options.starts.min(3), ..options.clone() };
        let first = multistart::first(self.model, Some(start.as_slice()));
        let places = multistart::nearby(self.model, &self.unit, &first, &few);
        let begin = |theta: &[f64]| Ok(DVector::from_column_slice(theta));
        multistart::solve(self, self.model, &begin, &places, options)?.ok_or_else(|| self.explain())
    }

    /// Why no start has a finite likelihood.
    fn explain(&self) -> Error {
        let trouble = self.trouble.lock().ok().and_then(|t| t.clone());
        trouble.unwrap_or_else(|| self.means.first_without_density(&self.model.start()))
    }

    /// log Z with its derivatives at every value of the covariates, the score centred.
    fn normalizers(&self, theta: &[f64], center: &DVector<f64>, curvature: bool) -> Result<Vec<Normalizer>> {
        let frame = Frame::identity();
        let lens = Lens { center, frame: &frame, unit: &self.unit };
        let at = |range: std::ops::Range<usize>| {
            let groups = self.groups[range].iter();
            groups.map(|group| self.way.at(&group.model, theta, lens, curvature)).collect::<Result<Vec<_>>>()
        };
        let join = |mut a: Vec<Normalizer>, b: Vec<Normalizer>| {
            a.extend(b);
            a
        };
        try_blocked(self.groups.len(), 1, at, join)?.ok_or(Error::NoData)
    }

    /// The value and gradient, and the Hessian if the model gives its second derivatives.
    fn look(&self, theta: &[f64], hessian: bool) -> Result<(Evaluation, bool)> {
        let size = theta.len();
        let Some(mean) = self.means.at(theta, hessian)? else { return Ok((Evaluation::wall(size), true)) };
        let found = match self.normalizers(theta, &mean.score, hessian) {
            Ok(found) => found,
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => {
                if let Ok(mut trouble) = self.trouble.lock() {
                    trouble.get_or_insert(error);
                }
                return Ok((Evaluation::wall(size), true));
            }
        };
        let total = self.data.total_weight();
        let mut there = Evaluation {
            value: -mean.energy,
            gradient: DVector::zeros(size),
            hessian: mean.curvature.filter(|_| hessian).map(|data| -data),
        };
        for (group, normalizer) in self.groups.iter().zip(found) {
            let share = group.weight / total;
            there.value += share * normalizer.log_z;
            there.gradient.axpy(share, &normalizer.offset, 1.0);
            there.hessian = there.hessian.zip(normalizer.curvature).map(|(sum, bend)| sum + bend * share);
        }
        let known = !hessian || there.hessian.is_some();
        Ok((there, known))
    }

    /// `∇log Z(z) − ∇u(y, z)` of every row, row after row, and what each adds to the estimate corrected for its leverage, where
    /// the information of rows is known.
    fn slopes(&self, theta: &[f64], leverage: Option<&RowLeverage>) -> Result<[Vec<f64>; 2]> {
        let (rows, size) = (self.data.points.rows(), theta.len());
        let Some(mean) = self.means.at(theta, false)? else { return Err(Error::NoMass) };
        let found = self.normalizers(theta, &mean.score, leverage.is_some())?;
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * size]);
        self.model.evaluate(theta, self.data.points, &mut value, Some(&mut score))?;
        let (mut slopes, mut influences) = (Vec::with_capacity(rows * size), Vec::new());
        for row in 0..rows {
            let there = &found[self.group_of[row]];
            let slope =
                DVector::from_fn(size, |j, _| there.offset[j] + mean.score[j] - score[j * rows + row]);
            if let (Some(leverage), Some(information)) = (leverage, &there.information) {
                influences.extend(leverage.influence(&slope, information).iter());
            }
            slopes.extend(slope.iter());
        }
        Ok([slopes, influences])
    }

    fn finish(&self, solution: &Solution, options: &FitOptions) -> Result<Fit> {
        options.report(Stage::Errors, 0, f64::NAN)?;
        let there = self.evaluate(&solution.at, true)?;
        let Some(hessian) = there.hessian else { return Err(self.explain()) };
        let (theta, size) = (solution.at.as_slice(), solution.at.len());
        let free: Vec<usize> = (0..size).filter(|j| !solution.bound[*j]).collect();
        let bread = invert_free(&hessian, &free).map_err(|direction| self.indistinct(&direction))?;
        let leverage = RowLeverage::of(&bread, self.data, options.errors);
        let [slopes, influences] = self.slopes(theta, leverage.as_ref())?;
        let terms = RowTerms { slopes: &slopes, influences: &influences };
        let whole = by_row(terms, &bread, self.data, options.errors);
        let zero = DMatrix::zeros(size, size);
        let covariance = whole.in_parts(&zero, zero.clone());
        let found = Found::of_search(solution, theta.to_vec(), there.value, covariance, hessian);
        let words = format!(
            "{} for {} values of the covariates)",
            self.way.describe(&self.groups[0].model).trim_end_matches(')'),
            self.groups.len()
        );
        let with = Compared::undrawn(f64::INFINITY, 0, words, "likelihood".into());
        let mut fit = found.fit(self.model, DataRows::Memory(self.data), with, options.confidence);
        if options.interval == IntervalKind::Profile {
            let likelihood = self.data.dependence == Dependence::Independent;
            profile::of_parameters(Profiled { problem: self, likelihood }, self.model, &mut fit, options)?;
        }
        Ok(fit)
    }

    fn indistinct(&self, direction: &DVector<f64>) -> Error {
        let largest = direction.amax();
        let named = self.model.parameters().iter().zip(direction.iter());
        let involved = named.filter(|(_, d)| d.abs() > 1e-6 * largest).map(|(p, _)| p.name.clone());
        Error::Collinear { parameters: involved.collect() }
    }
}

impl Problem for ConditionalLikelihood<'_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.data.total_weight()
    }

    fn rounding(&self) -> f64 {
        self.way.rounding(&self.groups[0].model)
    }

    /// log Z of a linear model is convex in its parameters.
    fn is_convex(&self) -> bool {
        self.model.energy().is_linear() && self.way != NormalizerMethod::Closed
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let theta = at.as_slice();
        differences::evaluation(theta, &self.unit, hessian, |theta, hessian| self.look(theta, hessian))
    }
}
