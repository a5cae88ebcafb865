//! Choice sets: rows in strata, one of each chosen among its alternatives; the conditional logit (MATH §11).

use std::collections::HashMap;
use std::ops::Range;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::Columns;
use noisewright_numerics::optimize::{Evaluation, Problem, Stop};
use noisewright_numerics::summation::{log_sum_exp, try_blocked};

use super::covariance::{Covariance, invert_free};
use super::curvature::Curvature;
use super::data::{Data, Dependence};
use super::data_rows::DataRows;
use super::diagnostics::{Block, Rows, Separation, separation};
use super::differences;
use super::estimate::{Compared, Found};
use super::options::{CovarianceKind, FitOptions};
use super::result::{Fit, Optimum};
use super::solve::{in_box, limits};
use crate::after::RowMeans;
use crate::moments::sandwich;
use crate::{Error, Model, Points, Result};

/// Strata that are summed at a time.
const BLOCK: usize = 256;

/// Share of the curvature at the start, in some direction, below which it is asked whether the loss has a minimum at all.
const FLAT: f64 = 1e-3;

/// Which rows are alternatives of one choice, and which of them were chosen.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceSets<'a> {
    /// A number for each row: rows with the same one are alternatives of one choice.
    pub strata: &'a [u64],
    /// Whether the row was chosen; one of each stratum.
    pub chosen: &'a [bool],
    /// Logarithm of the probability with which a row came into its stratum, where the alternatives are a sample.
    pub log_probability: Option<&'a [f64]>,
}

/// Fits a model to choices by the conditional logit: `P(chosen) = exp s₀ / Σ exp s_j`, `s = u(x; θ) − log probability`.
///
/// The model's constant cancels within each stratum, so that none is estimated; rows are the alternatives. Errors are robust
/// (a sandwich by stratum), or the inverse information where the options ask for errors that trust the model.
///
/// ```
/// use noisewright::fit::{ChoiceSets, CovarianceKind, FitOptions, fit_choices};
/// use noisewright::{Model, Points, Space};
/// // Pairs, the first chosen twice where x is larger by one and once where it is smaller: e^a/(1 + e^a) = 2/3.
/// let model = Model::from_features(&["x"], Space::real(&["x"])?, vec![])?;
/// let points = Points::from_columns(&["x"], &[[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]])?;
/// let sets = ChoiceSets {
///     strata: &[0, 0, 1, 1, 2, 2],
///     chosen: &[true, false, true, false, true, false],
///     log_probability: None,
/// };
/// let options = FitOptions { errors: CovarianceKind::ModelBased, ..FitOptions::default() };
/// let fit = fit_choices(&model, &points, sets, &options)?;
/// assert!((fit.parameters[0].estimate - 2_f64.ln()).abs() < 1e-9);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// [`Error::Choices`]: a stratum without a choice or with several, a feature that never varies within a stratum, choices
/// that no finite parameters fit best; others as for [`fit`](super::fit).
pub fn fit_choices<'a>(
    model: &Model,
    data: impl Into<Data<'a>>,
    sets: ChoiceSets<'_>,
    options: &FitOptions,
) -> Result<Fit> {
    data.into().in_order_of(model.space(), |data| fit_in_order(model, data, sets, options))
}

fn fit_in_order(model: &Model, data: Data<'_>, sets: ChoiceSets<'_>, options: &FitOptions) -> Result<Fit> {
    options.check()?;
    if model.is_conditional() {
        let reason = "cannot stand beside strata, whose alternatives are in the data: call them variables";
        return Err(Error::field("covariates", reason));
    }
    options.refuse_method("strata")?;
    options.refuse_extras("strata")?;
    let options = &options.for_run();
    let model = &model.with_cancel(&options.cancel);
    let fitted = ConditionalLogit::new(model, data, sets).and_then(|logit| logit.fit(data, options));
    options.context().conclude(fitted)
}

/// The rows, stratum by stratum with the chosen one first.
pub(super) struct ConditionalLogit<'a> {
    pub(super) model: &'a Model,
    pub(super) points: Points,
    /// log probability of each row.
    pub(super) offset: Vec<f64>,
    /// Where the strata begin, and the end.
    pub(super) starts: Vec<usize>,
    /// How many times each stratum counts.
    pub(super) weights: Option<Vec<f64>>,
}

/// Sums over strata.
struct Sums {
    loss: f64,
    gradient: DVector<f64>,
    hessian: Option<DMatrix<f64>>,
    /// Whether the model gave its second derivatives.
    curved: bool,
    /// Of every stratum, where they were asked for.
    slopes: Slopes,
}

/// What every stratum says of the parameters.
#[derive(Default)]
pub(super) struct Slopes {
    /// `Σ p_j ∇u_j − ∇u₀`, with p the shares of the alternatives, stratum after stratum.
    pub(super) values: Vec<f64>,
    /// The sum of `w v` and of `w² v` over strata, with w their weights and `v = Σ_{j>0} p_j² (∇u_j − m)(∇u_j − m)ᵀ`, m the mean
    /// under the shares: the variance of a slope over alternatives that are drawn independently, to first order in one over
    /// their number.
    pub(super) of_draws: Option<[DMatrix<f64>; 2]>,
    /// The sum of `1/Σ p_j²`, how many equal alternatives a stratum is worth.
    pub(super) effective: f64,
}

impl Slopes {
    fn add(
        &mut self,
        weight: f64,
        shares: &[f64],
        slope: &DVector<f64>,
        apart: impl Fn(usize) -> DVector<f64>,
    ) {
        let size = slope.len();
        self.values.extend(slope.iter());
        self.effective += 1.0 / shares.iter().map(|share| share * share).sum::<f64>();
        let square = || DMatrix::zeros(size, size);
        let [once, twice] = self.of_draws.get_or_insert_with(|| [square(), square()]);
        for (row, share) in shares.iter().enumerate().skip(1) {
            let apart = apart(row);
            once.ger(weight * share * share, &apart, &apart, 1.0);
            twice.ger((weight * share).powi(2), &apart, &apart, 1.0);
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.values.extend(other.values);
        self.effective += other.effective;
        self.of_draws = match (self.of_draws, other.of_draws) {
            (Some([a, b]), Some([c, d])) => Some([a + c, b + d]),
            (one, other) => one.or(other),
        };
        self
    }
}

/// What is summed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Gradient,
    Hessian,
    Strata,
}

impl<'a> ConditionalLogit<'a> {
    fn new(model: &'a Model, data: Data<'_>, sets: ChoiceSets<'_>) -> Result<Self> {
        data.check(model.space().dimension())?;
        let rows = data.points.rows();
        if data.weights.is_some() || data.dependence != Dependence::Independent {
            return Err(Error::option("strata", "cannot stand beside weights, clusters or chains"));
        }
        let lengths = [("strata", sets.strata.len()), ("marks of what was chosen", sets.chosen.len())];
        let offsets = sets.log_probability.map(|p| ("log probabilities", p.len()));
        if let Some((what, found)) = lengths.into_iter().chain(offsets).find(|(_, found)| *found != rows) {
            return Err(Error::Shape { what, expected: rows, found });
        }
        model.space().check_rows(data.points, None, 0)?;
        model.check_score_once(&model.start(), data.points)?;
        if let Some(row) = sets.log_probability.and_then(|p| p.iter().position(|p| !p.is_finite())) {
            return Err(Error::Choices {
                row: row + 1,
                reason: "its log probability is not a finite number".into(),
            });
        }
        let (order, starts) = arranged(sets)?;
        let (strata, coordinates) = (starts.len() - 1, model.parameters().len());
        if strata < coordinates {
            return Err(Error::TooFewPoints { rows: strata, coordinates });
        }
        let columns: Vec<Vec<f64>> = (0..data.points.columns())
            .map(|j| order.iter().map(|row| data.points.get(*row, j)).collect())
            .collect();
        let offset = order.iter().map(|row| sets.log_probability.map_or(0.0, |p| p[*row])).collect();
        let points = Points::from_columns(model.space().names(), &columns)?;
        Ok(Self { model, points, offset, starts, weights: None })
    }

    pub(super) fn strata(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many times a stratum counts.
    fn weight(&self, stratum: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[stratum])
    }

    /// The sum of the weights.
    pub(super) fn total(&self) -> f64 {
        self.weights.as_ref().map_or(self.strata() as f64, |w| noisewright_numerics::summation::sum(w))
    }

    /// The rows of a stratum.
    fn stratum(&self, index: usize) -> Range<usize> {
        self.starts[index]..self.starts[index + 1]
    }

    fn sums(&self, theta: &[f64], strata: Range<usize>, order: Order) -> Result<Sums> {
        let (first, last) = (self.starts[strata.start], self.starts[strata.end]);
        let (rows, size) = (last - first, theta.len());
        let points = self.points.view().slice(first..last);
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * size]);
        self.model.evaluate(theta, points, &mut value, Some(&mut score))?;
        let mut sums = Sums::zero(size, order == Order::Hessian);
        let mut excess = vec![0.0; rows];
        for stratum in strata {
            let range = self.stratum(stratum);
            let weight = self.weight(stratum);
            if weight == 0.0 {
                // What does not count may have no density.
                sums.slopes.values.extend((0..size).filter(|_| order == Order::Strata).map(|_| 0.0));
                continue;
            }
            let here = range.start - first..range.end - first;
            let s: Vec<f64> = here.clone().map(|i| value[i] - self.offset[first + i]).collect();
            if s[0] == f64::NEG_INFINITY {
                return Ok(Sums { loss: f64::INFINITY, ..sums });
            }
            let log_sum = log_sum_exp(&s);
            sums.loss += weight * (log_sum - s[0]);
            let shares: Vec<f64> = s.iter().map(|s| (s - log_sum).exp()).collect();
            let at = |row: usize| DVector::from_fn(size, |j, _| score[j * rows + here.start + row]);
            let mut mean = DVector::zeros(size);
            for (row, share) in shares.iter().enumerate() {
                mean.axpy(*share, &at(row), 1.0);
            }
            if let Some(hessian) = &mut sums.hessian {
                for (row, share) in shares.iter().enumerate() {
                    let apart = at(row) - &mean;
                    hessian.ger(weight * share, &apart, &apart, 1.0);
                }
            }
            let slope = &mean - at(0);
            sums.gradient.axpy(weight, &slope, 1.0);
            if order == Order::Strata {
                sums.slopes.add(weight, &shares, &slope, |row| at(row) - &mean);
            }
            let weighted: Vec<f64> = shares.iter().map(|share| weight * share).collect();
            excess[here].copy_from_slice(&weighted);
            excess[range.start - first] -= weight;
        }
        if let Some(hessian) = &mut sums.hessian {
            sums.curved = self.model.add_curvature(theta, points, &excess, hessian.as_mut_slice())?;
        }
        Ok(sums)
    }

    /// Sums over all strata, always in the same blocks.
    fn all(&self, theta: &[f64], order: Order) -> Result<Sums> {
        let block = if self.model.energy().prefers_batches() { self.strata() } else { BLOCK };
        let sums = try_blocked(self.strata(), block, |strata| self.sums(theta, strata, order), Sums::add)?;
        sums.ok_or(Error::NoData)
    }

    /// What every stratum says of the parameters, in their order.
    pub(super) fn slopes(&self, theta: &[f64]) -> Result<Slopes> {
        Ok(self.all(theta, Order::Strata)?.slopes)
    }

    fn fit(&self, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
        let start = DVector::from_vec(self.model.start());
        let size = start.len();
        let begin = self.evaluate(&start, true)?;
        let curvature = begin.hessian.filter(|_| begin.value.is_finite());
        let curvature = curvature.ok_or_else(|| Error::Choices {
            row: 1,
            reason: "a chosen alternative has no density at the start values".into(),
        })?;
        if self.model.energy().is_linear() {
            self.refuse_constant(&curvature)?;
        }
        let limits = limits(self.model, &vec![1.0; size]);
        let solution = in_box(self, &limits, &start, options)?;
        let there = self.evaluate(&solution.at, true)?;
        let Some(hessian) = there.hessian else { return Err(Error::NoMass) };
        if self.model.energy().is_linear() && is_flat(&hessian, &curvature, solution.stop) {
            self.refuse_separated()?;
        }
        let theta = solution.at.as_slice();
        let free: Vec<usize> = (0..size).filter(|j| !solution.bound[*j]).collect();
        let bread = invert_free(&hessian, &free).map_err(|direction| self.indistinct(&direction))?;
        let total = self.strata() as f64;
        let data_part = match options.errors {
            CovarianceKind::ModelBased => &bread / total,
            CovarianceKind::Robust => {
                let mut meat = DMatrix::zeros(size, size);
                for slope in self.slopes(theta)?.values.chunks_exact(size.max(1)) {
                    let slope = DVector::from_column_slice(slope);
                    meat.ger(1.0 / (total * total), &slope, &slope, 1.0);
                }
                sandwich(&bread, &meat)
            }
        };
        let found = Found {
            values: theta.to_vec(),
            held: solution.bound.clone(),
            covariance: Covariance {
                noise: DMatrix::zeros(size, size),
                data: data_part,
                freedom: vec![(total - size as f64).max(1.0); size],
                effective_rows: None,
                noise_gain: None,
            },
            hessian,
            curvature: Curvature::Observed,
            loss: there.value,
            iterations: solution.iterations,
            stop: solution.stop,
            optima: vec![Optimum { at: theta.to_vec(), loss: there.value, starts: 1 }],
        };
        self.finished(found, data, options)
    }

    /// The fit, with what is said of it.
    fn finished(&self, found: Found, data: Data<'_>, options: &FitOptions) -> Result<Fit> {
        let words = format!("none (choices in {} strata)", self.strata());
        let with = Compared::undrawn(f64::INFINITY, 0, words, "likelihood".into());
        let model = self.model.clone().without_constant();
        let mut fit = found.fit(&model, DataRows::Memory(data), with, options.confidence);
        fit.total_weight = self.strata() as f64;
        fit.log_likelihood = Some(-fit.loss * fit.total_weight);
        let mut said = std::mem::take(&mut fit.diagnostics);
        said.read(&model, &fit);
        fit.diagnostics = said;
        let constraint = self.model.constraint();
        let size = constraint.map_or(fit.parameters.len(), |c| c.all(&fit.theta()).len());
        fit.at_rows =
            Some(std::sync::Arc::new(RowMeans::of_choices(&self.points, &self.starts, &fit, size)?));
        Ok(match constraint {
            Some(constraint) => constraint.expand(fit),
            None => fit,
        })
    }

    /// Refuses a feature that is the same for all alternatives of every stratum.
    fn refuse_constant(&self, curvature: &DMatrix<f64>) -> Result<()> {
        let flat = (0..curvature.nrows()).find(|j| curvature[(*j, *j)] <= 0.0);
        match flat {
            None => Ok(()),
            Some(j) => {
                let name = &self.model.parameters()[j].name;
                let reason = format!(
                    "the feature of `{name}` is the same for all alternatives of every stratum: leave it out"
                );
                Err(Error::Choices { row: 1, reason })
            }
        }
    }

    pub(super) fn indistinct(&self, direction: &DVector<f64>) -> Error {
        let largest = direction.amax();
        let involved =
            self.model.parameters().iter().zip(direction.iter()).filter(|(_, d)| d.abs() > 1e-6 * largest);
        Error::Collinear { parameters: involved.map(|(p, _)| p.name.clone()).collect() }
    }

    /// Refuses choices that are explained without error by parameters that run to infinity.
    fn refuse_separated(&self) -> Result<()> {
        let Some(found) = self.separation()? else { return Ok(()) };
        let running: Vec<String> = found.running.iter().map(|r| format!("`{}`", r.name)).collect();
        let reason = format!(
            "there is no finite estimate of {}: a combination is never larger for another alternative than for the chosen one",
            running.join(" and ")
        );
        Err(Error::Choices { row: 1, reason })
    }

    /// The direction in which the parameters of a linear model run to infinity, where they do.
    pub(super) fn separation(&self) -> Result<Option<Separation>> {
        let (rows, size) = (self.points.rows(), self.model.parameters().len());
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * size]);
        self.model.evaluate(&self.model.start(), self.points.view(), &mut value, Some(&mut score))?;
        for stratum in 0..self.strata() {
            let range = self.stratum(stratum);
            for column in score.chunks_exact_mut(rows) {
                let chosen = column[range.start];
                column[range.clone()].iter_mut().for_each(|s| *s = chosen - *s);
            }
        }
        let names: Vec<String> = self.model.parameters().iter().map(|p| p.name.clone()).collect();
        separation(&Differences { score: &score, rows, size }, &names)
    }
}

/// The rows stratum by stratum in the order in which those are met, the chosen one first; and where the strata begin.
fn arranged(sets: ChoiceSets<'_>) -> Result<(Vec<usize>, Vec<usize>)> {
    let (mut known, mut strata): (HashMap<u64, usize>, Vec<Vec<usize>>) = (HashMap::new(), Vec::new());
    for (row, id) in sets.strata.iter().enumerate() {
        let at = *known.entry(*id).or_insert(strata.len());
        if at == strata.len() {
            strata.push(Vec::new());
        }
        strata[at].push(row);
    }
    let (mut order, mut starts) = (Vec::with_capacity(sets.strata.len()), vec![0]);
    for rows in &mut strata {
        let first = rows[0] + 1;
        let chosen: Vec<usize> = (0..rows.len()).filter(|k| sets.chosen[rows[*k]]).collect();
        match chosen.as_slice() {
            [only] => rows.swap(0, *only),
            [] => {
                return Err(Error::Choices {
                    row: first,
                    reason: "no alternative of its stratum was chosen".into(),
                });
            }
            several => {
                let reason =
                    format!("{} alternatives of its stratum were chosen, where one can be", several.len());
                return Err(Error::Choices { row: first, reason });
            }
        }
        order.extend_from_slice(rows);
        starts.push(order.len());
    }
    Ok((order, starts))
}

/// Whether the curvature has nearly vanished in some direction on the way from the start.
pub(super) fn is_flat(hessian: &DMatrix<f64>, start: &DMatrix<f64>, stop: Stop) -> bool {
    let Some(factor) = start.clone().cholesky() else { return true };
    let Some(left) = factor.l().solve_lower_triangular(hessian) else { return true };
    let Some(both) = factor.l().solve_lower_triangular(&left.transpose()) else { return true };
    !stop.converged() || both.symmetric_eigenvalues().min() < FLAT
}

impl Sums {
    fn zero(size: usize, hessian: bool) -> Self {
        let square = || DMatrix::zeros(size, size);
        let hessian = hessian.then(square);
        Self { loss: 0.0, gradient: DVector::zeros(size), hessian, curved: true, slopes: Slopes::default() }
    }

    fn add(self, other: Self) -> Self {
        Self {
            loss: self.loss + other.loss,
            gradient: self.gradient + other.gradient,
            hessian: self.hessian.zip(other.hessian).map(|(a, b)| a + b),
            curved: self.curved && other.curved,
            slopes: self.slopes.join(other.slopes),
        }
    }
}

impl Problem for ConditionalLogit<'_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.total()
    }

    fn is_convex(&self) -> bool {
        self.model.energy().is_linear()
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let (total, theta) = (self.total(), at.as_slice());
        let order = if hessian { Order::Hessian } else { Order::Gradient };
        let sums = match self.all(theta, order) {
            Ok(sums) if sums.loss.is_finite() => sums,
            // Parameters that the model does not allow, or at which it has no number, are no place to go to.
            Ok(_) | Err(Error::Parameter { .. } | Error::NotANumber { .. }) => {
                return Ok(Evaluation::wall(at.len()));
            }
            Err(error) => return Err(error),
        };
        let mut matrix = sums.hessian;
        if hessian && !sums.curved {
            // Differences of the gradient, for a model without second derivatives.
            let gradient = |theta: &[f64]| Ok(self.all(theta, Order::Gradient)?.gradient);
            matrix = Some(differences::hessian(theta, |j| 1.0 + at[j].abs(), gradient)?);
        }
        let hessian = matrix.map(|matrix| matrix / total);
        Ok(Evaluation { value: sums.loss / total, gradient: sums.gradient / total, hessian })
    }
}

/// Scores of the chosen alternative less those of the others, as rows of data.
struct Differences<'s> {
    score: &'s [f64],
    rows: usize,
    size: usize,
}

impl Rows for Differences<'_> {
    fn coordinates(&self) -> usize {
        self.size
    }

    fn gather<T: Send>(
        &self,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Block<'_>) + Sync,
        _: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        let mut total = new();
        let score = Columns::new(self.score, self.rows, self.size, self.rows);
        let log_ratio = vec![0.0; self.rows];
        add(
            &mut total,
            &Block { data: true, rows: self.rows, first_row: 0, score, log_ratio: &log_ratio, weights: None },
        );
        Ok(total)
    }
}
