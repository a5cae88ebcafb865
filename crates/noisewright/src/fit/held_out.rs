//! The log-likelihood of rows that a fit has not seen, by cross-validation.

use noisewright_numerics::parallel::prelude::*;
use serde::{Deserialize, Serialize};

use super::bootstrap::unjudged;
use super::data::{Data, Dependence};
use super::data_rows::DataRows;
use super::fit_against_noise::needs_memory;
use super::options::FitOptions;
use super::penalized::fold_numbers;
use super::result::Fit;
use crate::after::JointEstimate;
use crate::run::{Purpose, Stage};
use crate::{Error, Model, Points, Result, View};

/// Most folds.
const MOST_FOLDS: usize = 200;

/// The held-out log-likelihood of all rows, each by the fit of the folds that it is not in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeldOut {
    /// Number of folds.
    pub folds: usize,
    /// Sum of the held-out log-densities.
    pub log_likelihood: f64,
    /// Its standard error: the spread of the rows, and the Monte-Carlo error of the constants (MATH §14).
    pub se: f64,
    /// The sum of each fold: folds depend on the seed and the number of rows alone, so that models can be compared fold by fold.
    pub by_fold: Vec<f64>,
}

/// Refuses a number of folds that is none.
pub(super) fn check(folds: usize) -> Result<()> {
    if (2..=MOST_FOLDS).contains(&folds) {
        return Ok(());
    }
    Err(Error::range("cross_validate", "a number of folds between 2 and 200", folds as f64))
}

/// What one fold says.
struct Fold {
    /// Weighted sums of the rows' log-densities and of their squares, and of the weights.
    sum: f64,
    squares: f64,
    weight: f64,
    /// Variance of the sum from the noise.
    noise: f64,
}

/// Fits all folds but one, and looks at that one.
///
/// # Errors
/// When the rows are not in memory, there are fewer of them than folds, or a fold cannot be fitted.
pub(super) fn cross_validate(
    model: &Model,
    rows: DataRows<'_>,
    fit: &Fit,
    folds: usize,
    options: &FitOptions,
) -> Result<HeldOut> {
    let data = rows.whole().ok_or_else(|| needs_memory("cross_validate"))?;
    let context = options.context();
    let numbers = fold_numbers("cross_validate", data.points.rows(), rows.dependence(), folds, &context)?;
    let start = model.own_values(&fit.theta());
    let model = &model.clone().starting_at(&start)?;
    let one = |fold: usize| -> Result<Fold> {
        let seed = Purpose::Folds { side: 2 }.seed(options.seed, fold as u64);
        let options = FitOptions { seed, starts: 1, progress: None, ..options.clone() };
        let (inside, outside) = split(data, &numbers, fold);
        context.report(Stage::Descent, fold, Some(folds))?;
        seen(model, &inside, &outside, &options)
    };
    let found = (0..folds).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
    let total = |part: fn(&Fold) -> f64| found.iter().map(part).sum::<f64>();
    let (sum, weight) = (total(|f| f.sum), total(|f| f.weight));
    let spread = (total(|f| f.squares) - sum * sum / weight).max(0.0);
    Ok(HeldOut {
        folds,
        log_likelihood: sum,
        se: (spread + total(|f| f.noise)).sqrt(),
        by_fold: found.iter().map(|f| f.sum).collect(),
    })
}

/// Rows with weights of their own.
struct Part {
    points: Points,
    weights: Option<Vec<f64>>,
    clusters: Option<Vec<u64>>,
}

impl Part {
    fn new(data: Data<'_>, rows: &[usize]) -> Self {
        let view = data.points;
        let values =
            (0..view.columns()).flat_map(|j| rows.iter().map(move |row| view.get(*row, j))).collect();
        let clusters = match data.dependence {
            Dependence::Clusters(labels) => Some(rows.iter().map(|row| labels[*row]).collect()),
            _ => None,
        };
        Self {
            points: Points::unnamed(view.columns(), rows.len(), values),
            weights: data.weights.map(|w| rows.iter().map(|row| w[*row]).collect()),
            clusters,
        }
    }

    fn data(&self) -> Data<'_> {
        let mut data = Data::new(self.points.view());
        data.weights = self.weights.as_deref();
        if let Some(labels) = &self.clusters {
            data.dependence = Dependence::Clusters(labels);
        }
        data
    }
}

/// The rows of all folds but one, and those of that.
fn split(data: Data<'_>, numbers: &[u8], fold: usize) -> (Part, Part) {
    let (out, inside): (Vec<usize>, Vec<usize>) =
        (0..data.points.rows()).partition(|row| usize::from(numbers[*row]) == fold);
    (Part::new(data, &inside), Part::new(data, &out))
}

/// The log-densities of held-out rows by a fit of others.
fn seen(model: &Model, inside: &Part, out: &Part, options: &FitOptions) -> Result<Fold> {
    let fit = unjudged(model, DataRows::Memory(inside.data()), options)?;
    let view: View<'_> = out.points.view();
    let (rows, theta) = (view.rows(), fit.theta());
    let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * theta.len()]);
    model.evaluate(&theta, view, &mut value, Some(&mut score))?;
    let constant = match &fit.log_normalizer {
        Some(constant) => constant.estimate,
        None => model.log_normalizer(&theta, &mut vec![0.0; theta.len()]).ok_or(Error::NoMass)?,
    };
    let weight = |row: usize| out.weights.as_ref().map_or(1.0, |w| w[row]);
    let mut fold = Fold { sum: 0.0, squares: 0.0, weight: 0.0, noise: 0.0 };
    for (row, value) in value.iter().enumerate().filter(|(row, _)| weight(*row) > 0.0) {
        let value = value - constant;
        fold.sum += weight(row) * value;
        fold.squares += weight(row) * value * value;
        fold.weight += weight(row);
    }
    if fit.log_normalizer.is_some() {
        let mean =
            |j: usize| (0..rows).map(|row| weight(row) * score[j * rows + row]).sum::<f64>() / fold.weight;
        fold.noise = JointEstimate::noise_of_constant(&fit, mean) * fold.weight.powi(2);
    }
    Ok(fold)
}
