//! What is kept of the rows of a fit: the means that its likelihood rests on, which rows they were, and a few of them.

use std::ops::Range;

use noisewright_numerics::summation::dot;

use crate::fit::distributed::partial_fields;
use crate::fit::{DataRows, Dependence};
use crate::{Fit, Model, Points, Result, View};

/// Rows that are kept.
const KEPT: usize = 256;

/// Means over the rows of a fit at its estimate, and what tells the rows from others.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RowMeans {
    /// Mean of `u(x; θ̂)`.
    pub energy: f64,
    /// Mean of `∇u(x; θ̂)`.
    pub score: Vec<f64>,
    /// Number of parameters that were free.
    pub free_parameters: usize,
    /// Whether the rows were taken as clusters or chains.
    pub dependent_rows: bool,
    /// The penalty of Takeuchi's criterion: `tr(J⁻¹K)` for an exact fit, its like for other losses against noise.
    pub takeuchi_penalty: Option<f64>,
    /// Whether the rows are alternatives of choices, whose likelihood is conditional on their strata.
    pub choices: bool,
    /// Whether the model is conditional: then `energy` is the mean log-likelihood, where it is known.
    pub conditional: bool,
    /// log Z(θ̂), where the model knows it in closed form.
    pub known_log_normalizer: Option<f64>,
    /// A number that rows with the same values and weights share, in whatever order they and the variables are.
    pub fingerprint: u64,
    /// Some of the rows, spread over all.
    pub some: Points,
}

/// A stratum of alternatives, the chosen ones first.
pub(crate) struct Choice {
    /// Its rows.
    pub(crate) rows: Range<usize>,
    /// How many were chosen.
    pub(crate) chosen: usize,
    /// How often it counts.
    pub(crate) weight: f64,
}

/// Sums over some rows.
struct Sums {
    energy: f64,
    score: Vec<f64>,
    fingerprint: u64,
}

partial_fields!(Sums { energy, score, fingerprint });

impl Sums {
    fn of(model: &Model, theta: &[f64], points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let rows = points.rows();
        let ones;
        let weights = if let Some(weights) = weights {
            weights
        } else {
            ones = vec![1.0; rows];
            &ones
        };
        let (mut energy, score) = energy_and_slope(model, theta, points, weights)?;
        // A row that does not count may have no density.
        energy.iter_mut().zip(weights).filter(|(_, w)| **w == 0.0).for_each(|(u, _)| *u = 0.0);
        Ok(Self { energy: dot(&energy, weights), score, fingerprint: fingerprint(model, points, weights) })
    }

    fn add(self, other: Self) -> Self {
        Self {
            energy: self.energy + other.energy,
            score: self.score.into_iter().zip(other.score).map(|(a, b)| a + b).collect(),
            fingerprint: self.fingerprint.wrapping_add(other.fingerprint),
        }
    }
}

/// The energy at points, and `Σ w ∇u`, by whatever costs the model less.
fn energy_and_slope(
    model: &Model,
    theta: &[f64],
    points: View<'_>,
    weights: &[f64],
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (rows, count) = (points.rows(), theta.len());
    let (mut energy, mut slope) = (vec![0.0; rows], vec![0.0; count]);
    if model.add_weighted_score(theta, points, weights, &mut slope)? {
        model.evaluate(theta, points, &mut energy, None)?;
        return Ok((energy, slope));
    }
    let mut score = vec![0.0; rows * count];
    model.evaluate(theta, points, &mut energy, Some(&mut score))?;
    let slope = score.chunks_exact(rows.max(1)).map(|column| dot(column, weights)).collect();
    Ok((energy, slope))
}

impl RowMeans {
    /// The means at θ̂; `None` where the model has no finite log-density at some row.
    ///
    /// The model is the whole one and θ̂ its parameters; the fit is that of the free ones.
    pub(crate) fn new(model: &Model, theta: &[f64], fit: &Fit, rows: DataRows<'_>) -> Result<Option<Self>> {
        let block =
            |_: usize, points: View<'_>, weights: Option<&[f64]>| Sums::of(model, theta, points, weights);
        let sums = rows.reduce(block, Sums::add)?;
        let total = rows.total_weight();
        let Some(sums) = sums.filter(|sums| sums.energy.is_finite()) else { return Ok(None) };
        let some = rows.spread(KEPT);
        let kept = some.view().rows().min(KEPT);
        let columns: Vec<&[f64]> =
            (0..some.view().columns()).map(|j| &some.view().column(j)[..kept]).collect();
        Ok(Some(Self {
            energy: sums.energy / total,
            score: sums.score.iter().map(|s| s / total).collect(),
            free_parameters: fit.parameters.len(),
            dependent_rows: rows.dependence() != Dependence::Independent,
            takeuchi_penalty: takeuchi_penalty(fit),
            choices: false,
            conditional: false,
            known_log_normalizer: model.log_normalizer(theta, &mut vec![0.0; theta.len()]),
            fingerprint: sums.fingerprint,
            some: Points::from_columns(model.space().names(), &columns)?,
        }))
    }
}

impl RowMeans {
    /// What is kept of choices: the mean conditional log-likelihood in the place of a mean log-density, and no constant.
    /// `parameters` is the number of all of them.
    pub(crate) fn of_choices(
        points: &Points,
        choices: &[Choice],
        fit: &Fit,
        parameters: usize,
    ) -> Result<Self> {
        let names = points.names();
        let order = by_name(names);
        // The order of strata and of the alternatives in each does not matter, but which was chosen does.
        let hash = |Choice { rows, chosen, weight }: &Choice| {
            let row = |row: usize| hashed(points.view(), row, &order);
            let (first, others) = (rows.start..rows.start + chosen, rows.start + chosen..rows.end);
            let sum = |rows: Range<usize>| rows.map(row).fold(0, u64::wrapping_add);
            counted(mixed(mixed(sum(first)) ^ sum(others)), *weight)
        };
        let kept = points.rows().min(KEPT);
        let columns: Vec<&[f64]> = (0..points.columns()).map(|j| &points.view().column(j)[..kept]).collect();
        Ok(Self {
            energy: -fit.loss,
            score: vec![0.0; parameters],
            free_parameters: fit.parameters.len(),
            dependent_rows: false,
            takeuchi_penalty: takeuchi_penalty(fit),
            choices: true,
            conditional: false,
            known_log_normalizer: Some(0.0),
            fingerprint: choices.iter().filter(|c| c.weight > 0.0).map(hash).fold(0, u64::wrapping_add),
            some: Points::from_columns(names, &columns)?,
        })
    }
}

impl RowMeans {
    /// What is kept of a conditional model's rows: the mean conditional log-likelihood, where it is known, in the place of a mean
    /// log-density, and no constant. `parameters` is the number of all of them.
    pub(crate) fn of_conditional(
        model: &Model,
        fit: &Fit,
        rows: DataRows<'_>,
        mean_log_likelihood: Option<f64>,
        parameters: usize,
    ) -> Result<Self> {
        let block = |_: usize, points: View<'_>, weights: Option<&[f64]>| {
            let ones = vec![1.0; points.rows()];
            Ok(fingerprint(model, points, weights.unwrap_or(&ones)))
        };
        let sum = rows.reduce(block, u64::wrapping_add)?.unwrap_or_default();
        let some = rows.spread(KEPT);
        let kept = some.view().rows().min(KEPT);
        let columns: Vec<&[f64]> =
            (0..some.view().columns()).map(|j| &some.view().column(j)[..kept]).collect();
        Ok(Self {
            energy: mean_log_likelihood.unwrap_or(0.0),
            score: vec![0.0; parameters],
            free_parameters: fit.parameters.len(),
            dependent_rows: rows.dependence() != Dependence::Independent,
            takeuchi_penalty: takeuchi_penalty(fit),
            choices: false,
            conditional: true,
            known_log_normalizer: mean_log_likelihood.map(|_| 0.0),
            fingerprint: sum,
            some: Points::from_columns(model.space().names(), &columns)?,
        })
    }
}

/// `tr(J⁻¹K)`, with K the spread of the scores: `T_d tr(J Var θ̂)`, since `Var θ̂ = J⁻¹KJ⁻¹/T_d` for maximum likelihood.
fn takeuchi_penalty(fit: &Fit) -> Option<f64> {
    let count = fit.parameters.len();
    if fit.nu.is_finite() || fit.method.is_without_constant() {
        return fit.optimism;
    }
    let exact = !fit.nu.is_finite() && fit.hessian.nrows() == count && fit.covariance_data.nrows() >= count;
    let penalty = exact.then(|| {
        let covariance = fit.covariance_data.view((0, 0), (count, count));
        fit.total_weight * (&fit.hessian * covariance).trace()
    });
    // A lasso leaves neither known.
    penalty.filter(|penalty| penalty.is_finite())
}

/// The sum of a hash of every row that counts, so that their order does not matter.
fn fingerprint(model: &Model, points: View<'_>, weights: &[f64]) -> u64 {
    let mut hashes = vec![0; points.rows()];
    for column in by_name(model.space().names()).into_iter().map(|j| points.column(j)) {
        hashes.iter_mut().zip(column).for_each(|(hash, value)| *hash = hashed_with(*hash, *value));
    }
    let counting = hashes.into_iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
    counting.map(|(hash, weight)| counted(hash, *weight)).fold(0, u64::wrapping_add)
}

/// The number of what counts so many times: twice is the same as two of it.
fn counted(hash: u64, weight: f64) -> u64 {
    if weight == 1.0 {
        return hash;
    }
    let whole = weight.fract() == 0.0 && weight < 9e15;
    if whole { hash.wrapping_mul(weight as u64) } else { mixed(hash ^ weight.to_bits()) }
}

/// The places of the variables in the order of their names.
fn by_name(names: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|j| &names[*j]);
    order
}

/// A hash of one row.
fn hashed(points: View<'_>, row: usize, order: &[usize]) -> u64 {
    order.iter().fold(0, |hash, j| hashed_with(hash, points.get(row, *j)))
}

/// A hash with one value more; zero is one value, whatever its sign.
fn hashed_with(hash: u64, value: f64) -> u64 {
    mixed(hash ^ (value + 0.0).to_bits())
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
