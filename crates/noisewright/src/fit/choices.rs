//! Choice sets: rows in strata, some of each chosen among its alternatives; the conditional logit (MATH §11).

mod logit;
mod subsets;

use std::collections::HashMap;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::{Problem, Stop};

use super::bootstrap;
use super::conditional::of_dependent;
use super::covariance::{Covariance, invert_free};
use super::data::{Data, Dependence, check_total_weight, total};
use super::data_rows::DataRows;
use super::dependence::Worth;
use super::estimate::{Compared, Found};
use super::held_out;
use super::options::{CovarianceKind, FitOptions, IntervalKind};
use super::penalized;
use super::profile::{self, Profiled};
use super::result::Fit;
use super::solve::{in_box, limits};
use crate::after::{Choice, RowMeans};
use crate::memory::check_count;
use crate::moments::sandwich;
use crate::{Error, Model, Points, Result};
pub(super) use logit::{ConditionalLogit, Reweighted, Slopes};

/// Share of the curvature at the start, in some direction, below which it is asked whether the loss has a minimum at all.
const FLAT: f64 = 1e-3;

/// Which rows are alternatives of one choice, and which of them were chosen.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceSets<'a> {
    /// A number for each row: rows with the same one are alternatives of one choice.
    pub strata: &'a [u64],
    /// Whether the row was chosen: at least one of each stratum, and where there are several the likelihood is that of the set of
    /// them among all sets of as many.
    pub chosen: &'a [bool],
    /// Logarithm of the probability with which a row came into its stratum, where the alternatives are a sample.
    pub log_probability: Option<&'a [f64]>,
}

/// Fits a model to choices by the conditional logit: `P(chosen) = exp s₀ / Σ exp s_j`, `s = u(x; θ) − log probability`.
///
/// Where several of a stratum were chosen, the sum is over all sets of as many alternatives, exactly (Gail, Lubin and Rubinstein
/// 1981): the likelihood given how many were.
///
/// The model's constant cancels within each stratum, so that none is estimated; rows are the alternatives. Errors are robust
/// (a sandwich by stratum), or the inverse information where the options ask for errors that trust the model.
///
/// The data's weights are how often each choice counts, and must be the same for all rows of a stratum; so must its clusters, over
/// which the sandwich is taken then. With every stratum a cluster of its own, weights may be those of a survey: the error is that of
/// unequal shares, not of copies.
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
/// [`Error::Choices`]: a stratum without a choice, a feature that never varies within a stratum, choices
/// that no finite parameters fit best; others as for [`Model::fit`](crate::Model::fit).
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
    let options = &options.for_run();
    let model = &model.with_cancel(&options.cancel);
    options.context().conclude(fitted(model, data, sets, options))
}

/// The fit, penalised where that is asked for.
fn fitted(model: &Model, data: Data<'_>, sets: ChoiceSets<'_>, options: &FitOptions) -> Result<Fit> {
    let logit = ConditionalLogit::new(model, data, sets)?;
    match &options.penalty {
        None => logit.fit(data, options),
        Some(penalty) => {
            let again = |part: &Model, options: &FitOptions| fitted(part, data, sets, options);
            penalized::fit_strata(logit, DataRows::Memory(data), penalty, options, again)
        }
    }
}

impl<'a> ConditionalLogit<'a> {
    fn new(model: &'a Model, data: Data<'_>, sets: ChoiceSets<'_>) -> Result<Self> {
        data.check(model.space().dimension())?;
        let rows = data.points.rows();
        if matches!(data.dependence, Dependence::Chains(_)) {
            return Err(Error::option(
                "strata",
                "cannot stand beside chains, whose rows are no alternatives",
            ));
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
        let arranged = Arranged::new(sets)?;
        let weights = data.weights.map(|weights| arranged.shared(weights, OTHER_WEIGHT)).transpose()?;
        let clusters = match data.dependence {
            Dependence::Clusters(ids) => Some(arranged.shared(ids, OTHER_CLUSTER)?),
            _ => None,
        };
        let Arranged { order, starts, chosen } = arranged;
        let sizes = starts.windows(2).zip(&chosen).map(|(at, chosen)| (at[1] - at[0]) * chosen);
        // Sums over sets are tables of alternatives by choices.
        check_count("alternatives by choices of a stratum", sizes.max().unwrap_or(0), 3)?;
        // Where all alternatives were chosen, or there is one alone, there was no choice.
        let informs = |k: &usize| {
            starts[k + 1] - starts[*k] > chosen[*k]
                && weights.as_ref().is_none_or(|weights| weights[*k] > 0.0)
        };
        let strata = (0..chosen.len()).filter(informs).count();
        let several = chosen.iter().sum::<usize>() - chosen.len();
        let coordinates = model.parameters().len();
        if let Some(weights) = &weights {
            check_total_weight(total(weights), coordinates)?;
        }
        if strata == 0 || strata + several < coordinates {
            return Err(Error::TooFewPoints { rows: strata, coordinates });
        }
        let columns: Vec<Vec<f64>> = (0..data.points.columns())
            .map(|j| order.iter().map(|row| data.points.get(*row, j)).collect())
            .collect();
        let offset = order.iter().map(|row| sets.log_probability.map_or(0.0, |p| p[*row])).collect();
        let points = Points::from_columns(model.space().names(), &columns)?;
        let chosen = (several > 0).then_some(chosen);
        Ok(Self { model, points, offset, starts, chosen, weights, clusters })
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
        let covariance = self.covariance(theta, &bread, options.errors)?;
        let found = Found::of_search(&solution, theta.to_vec(), there.value, covariance, hessian);
        let mut fit = self.found(found, DataRows::Memory(data), options);
        if options.interval == IntervalKind::Profile {
            // A likelihood ratio takes the strata to be independent.
            let likelihood = Profiled { problem: self, likelihood: self.clusters.is_none() };
            profile::of_parameters(likelihood, self.model, &mut fit, options)?;
        }
        let mut fit = self.finished(fit)?;
        if let Some(replicates) = options.bootstrap {
            fit.bootstrap = Some(bootstrap::of_strata(self, &fit, replicates, options)?);
        }
        if let Some(folds) = options.cross_validate {
            fit.held_out = Some(held_out::of_strata(self, &fit, folds, options)?);
        }
        Ok(fit)
    }

    /// The inverse information, or the sandwich by stratum or by cluster of strata.
    pub(super) fn covariance(
        &self,
        theta: &[f64],
        bread: &DMatrix<f64>,
        kind: CovarianceKind,
    ) -> Result<Covariance> {
        let (size, total) = (theta.len(), self.total());
        if self.clusters.is_some() {
            let slopes = self.slopes(theta, None)?.values;
            let whole = of_dependent(&slopes, bread, self.weights.as_deref(), self.dependence());
            let none = DMatrix::zeros(size, size);
            return Ok(whole.in_parts(&none, none.clone()));
        }
        let (data, units) = match kind {
            CovarianceKind::ModelBased => (bread / total, self.choices()),
            CovarianceKind::Robust => {
                self.refuse_few_strata(size)?;
                let mut meat = DMatrix::zeros(size, size);
                for (stratum, slope) in self.slopes(theta, None)?.values.chunks_exact(size.max(1)).enumerate()
                {
                    let slope = DVector::from_column_slice(slope);
                    // A stratum of weight w is w strata.
                    meat.ger(self.weight(stratum) / (total * total), &slope, &slope, 1.0);
                }
                (sandwich(bread, &meat), total)
            }
        };
        Ok(Covariance {
            noise: DMatrix::zeros(size, size),
            data,
            freedom: vec![(units - size as f64).max(1.0); size],
            worth: Worth::Independent,
            noise_gain: None,
        })
    }

    /// Refuses a sandwich of no more strata than parameters, which a few large strata may have.
    fn refuse_few_strata(&self, size: usize) -> Result<()> {
        if self.chosen.is_none() || self.strata() > size {
            return Ok(());
        }
        let reason = format!(
            "cannot be robust with {} strata beside {size} parameters, since they are a sandwich by stratum: ask for those of the \
             model",
            self.strata()
        );
        Err(Error::option("errors", reason))
    }

    /// The fit, of which nothing is said yet.
    pub(super) fn found(&self, found: Found, rows: DataRows<'_>, options: &FitOptions) -> Fit {
        let words = format!("none (choices in {} strata)", self.strata());
        let with = Compared::undrawn(f64::INFINITY, 0, words, "likelihood".into());
        let model = self.model.clone().without_constant();
        let mut fit = found.fit(&model, rows, with, options.confidence);
        fit.total_weight = self.total();
        fit.log_likelihood = Some(-fit.loss * fit.total_weight);
        fit
    }

    /// The fit of all parameters, with what is said of it.
    pub(super) fn finished(&self, mut fit: Fit) -> Result<Fit> {
        let mut said = std::mem::take(&mut fit.diagnostics);
        let model = self.model.clone().without_constant();
        match fit.penalty {
            Some(_) => said.read_penalized(&model, &fit),
            None => said.read(&model, &fit),
        }
        fit.diagnostics = said;
        let constraint = self.model.constraint();
        let size = constraint.map_or(fit.parameters.len(), |c| c.all(&fit.theta()).len());
        let one = |k: usize| Choice { rows: self.stratum(k), chosen: self.chosen(k), weight: self.weight(k) };
        let choices: Vec<Choice> = (0..self.strata()).map(one).collect();
        let mut means = RowMeans::of_choices(&self.points, &choices, &fit, size)?;
        means.dependent_rows = self.clusters.is_some();
        fit.at_rows = Some(std::sync::Arc::new(means));
        Ok(match constraint {
            Some(constraint) => constraint.expand(fit),
            None => fit,
        })
    }

    /// Refuses a feature that is the same for all alternatives of every stratum.
    fn refuse_constant(&self, curvature: &DMatrix<f64>) -> Result<()> {
        match (0..curvature.nrows()).find(|j| curvature[(*j, *j)] <= 0.0) {
            None => Ok(()),
            Some(j) => Err(self.never_varies(j)),
        }
    }

    /// That a feature is the same for all alternatives of every stratum.
    pub(super) fn never_varies(&self, parameter: usize) -> Error {
        let name = &self.model.parameters()[parameter].name;
        let reason = format!(
            "the feature of `{name}` is the same for all alternatives of every stratum: leave it out"
        );
        Error::Choices { row: 1, reason }
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
}

/// The rows stratum by stratum, in the order in which those are met.
struct Arranged {
    /// The rows, the chosen ones of every stratum first.
    order: Vec<usize>,
    /// Where the strata begin, and the end.
    starts: Vec<usize>,
    /// How many of each were chosen.
    chosen: Vec<usize>,
}

/// What is wrong where the rows of a stratum differ in what all of them must share.
const OTHER_WEIGHT: &str = "its weight is not that of the other alternatives of its stratum: a weight is how often a choice counts, \
    and alternatives that are a sample have log probabilities";
const OTHER_CLUSTER: &str =
    "its cluster is not that of the other alternatives of its stratum: a choice belongs to one cluster";

impl Arranged {
    /// One value for each stratum, which all its rows must share.
    fn shared<T: Copy + PartialEq>(&self, values: &[T], otherwise: &str) -> Result<Vec<T>> {
        let strata = self.starts.windows(2).map(|at| &self.order[at[0]..at[1]]);
        let one = |rows: &[usize]| match rows.iter().find(|row| values[**row] != values[rows[0]]) {
            None => Ok(values[rows[0]]),
            Some(row) => Err(Error::Choices { row: row + 1, reason: otherwise.into() }),
        };
        strata.map(one).collect()
    }

    fn new(sets: ChoiceSets<'_>) -> Result<Self> {
        let (mut known, mut strata): (HashMap<u64, usize>, Vec<Vec<usize>>) = (HashMap::new(), Vec::new());
        for (row, id) in sets.strata.iter().enumerate() {
            let at = *known.entry(*id).or_insert(strata.len());
            if at == strata.len() {
                strata.push(Vec::new());
            }
            strata[at].push(row);
        }
        let (mut order, mut starts) = (Vec::with_capacity(sets.strata.len()), vec![0]);
        let mut counts = Vec::with_capacity(strata.len());
        for rows in strata {
            let row = rows[0] + 1;
            let (chosen, others): (Vec<usize>, Vec<usize>) =
                rows.into_iter().partition(|row| sets.chosen[*row]);
            if chosen.is_empty() {
                let reason = "no alternative of its stratum was chosen".into();
                return Err(Error::Choices { row, reason });
            }
            counts.push(chosen.len());
            order.extend(chosen.into_iter().chain(others));
            starts.push(order.len());
        }
        Ok(Self { order, starts, chosen: counts })
    }
}

/// Whether the curvature has nearly vanished in some direction on the way from the start.
pub(super) fn is_flat(hessian: &DMatrix<f64>, start: &DMatrix<f64>, stop: Stop) -> bool {
    let Some(factor) = start.clone().cholesky() else { return true };
    let Some(left) = factor.l().solve_lower_triangular(hessian) else { return true };
    let Some(both) = factor.l().solve_lower_triangular(&left.transpose()) else { return true };
    !stop.converged() || both.symmetric_eigenvalues().min() < FLAT
}
