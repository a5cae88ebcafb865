//! The log-likelihood of rows that a fit has not seen, by cross-validation.

use nalgebra::DVector;
use noisewright_numerics::parallel::try_map;
use serde::{Deserialize, Serialize};

use super::bootstrap::unjudged;
use super::choices::{ConditionalLogit, Reweighted};
use super::data::{Data, Dependence};
use super::data_rows::DataRows;
use super::fit_against_noise::needs_memory;
use super::options::{FitOptions, IntervalKind};
use super::penalized::fold_numbers;
use super::result::Fit;
use super::solve::{in_box, limits};
use crate::after::{JointEstimate, normalizers};
use crate::run::{Progress, Purpose, Stage};
use crate::{ConditionalNoise, Error, Model, Points, Result, View};

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
#[derive(Default)]
struct Fold {
    /// Weighted sums of the rows' log-densities and of their squares, and of the weights.
    sum: f64,
    squares: f64,
    weight: f64,
    /// Variance of the sum from the noise.
    noise: f64,
}

impl Fold {
    /// With one more row of this weight and log-density.
    fn with(self, weight: f64, value: f64) -> Self {
        Self {
            sum: self.sum + weight * value,
            squares: self.squares + weight * value * value,
            weight: self.weight + weight,
            ..self
        }
    }
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
        let told = Progress::of_stage(Stage::Descent, fold, Some(folds));
        let again =
            FitOptions { seed, starts: 1, interval: IntervalKind::Wald, ..options.telling(move || told) };
        let options = FitOptions { choices: options.choices.or(fit.choices), ..again };
        let (inside, outside) = split(data, &numbers, fold);
        context.tell(&told)?;
        seen(model, &inside, &outside, &options)
    };
    summarised(folds, one)
}

/// The same for strata of alternatives, whole ones held out.
///
/// # Errors
/// When there are fewer strata than folds, or a fold cannot be fitted.
pub(super) fn of_strata(
    logit: &ConditionalLogit<'_>,
    fit: &Fit,
    folds: usize,
    options: &FitOptions,
) -> Result<HeldOut> {
    let context = options.context();
    let numbers = fold_numbers("cross_validate", logit.strata(), logit.dependence(), folds, &context)?;
    let start = DVector::from_vec(logit.model.own_values(&fit.theta()));
    let limits = limits(logit.model, &vec![1.0; start.len()]);
    let one = |fold: usize| -> Result<Fold> {
        let out = |stratum: usize| usize::from(numbers[stratum]) == fold;
        let strata = 0..logit.strata();
        let inside: Vec<f64> =
            strata.clone().map(|stratum| if out(stratum) { 0.0 } else { logit.weight(stratum) }).collect();
        let told = Progress::of_stage(Stage::Descent, fold, Some(folds));
        context.tell(&told)?;
        let options = options.telling(move || told);
        let found = in_box(&Reweighted { logit, weights: &inside }, &limits, &start, &options)?;
        if !found.stop.converged() {
            let reason = format!("has a fold without which there is no estimate: {}", found.stop);
            return Err(Error::option("cross_validate", reason));
        }
        let losses = logit.slopes(found.at.as_slice(), None)?.losses;
        let held_out = strata.filter(|stratum| out(*stratum));
        Ok(held_out.fold(Fold::default(), |fold, stratum| fold.with(logit.weight(stratum), -losses[stratum])))
    };
    summarised(folds, one)
}

/// Looks at all folds, side by side, and sums them up.
fn summarised(folds: usize, one: impl Fn(usize) -> Result<Fold> + Sync + Send) -> Result<HeldOut> {
    let found = try_map(0..folds, one)?;
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
    if model.is_conditional() {
        return seen_given(model, &fit, out, options);
    }
    let view: View<'_> = out.points.view();
    let (rows, theta) = (view.rows(), fit.theta());
    let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * theta.len()]);
    model.evaluate(&theta, view, &mut value, Some(&mut score))?;
    let constant = match &fit.log_normalizer {
        Some(constant) => constant.estimate,
        None => model.log_normalizer(&theta, &mut vec![0.0; theta.len()]).ok_or(Error::NoMass)?,
    };
    let weight = |row: usize| out.weights.as_ref().map_or(1.0, |w| w[row]);
    let counting = value.iter().enumerate().filter(|(row, _)| weight(*row) > 0.0);
    let mut fold = counting.fold(Fold::default(), |fold, (row, u)| fold.with(weight(row), u - constant));
    if fit.log_normalizer.is_some() {
        let mean =
            |j: usize| (0..rows).map(|row| weight(row) * score[j * rows + row]).sum::<f64>() / fold.weight;
        fold.noise = JointEstimate::noise_of_constant(&fit, mean) * fold.weight.powi(2);
    }
    Ok(fold)
}

/// The same given covariates: log Z(z) at those of every held-out row, and the noise's error by the delta method with the slope
/// `Σ (∇u − ∇log Z(z))`.
fn seen_given(model: &Model, fit: &Fit, out: &Part, options: &FitOptions) -> Result<Fold> {
    let view: View<'_> = out.points.view();
    let (rows, theta) = (view.rows(), fit.theta());
    let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * theta.len()]);
    model.evaluate(&theta, view, &mut value, Some(&mut score))?;
    let noise = ConditionalNoise::parse(&fit.noise_description, model).ok();
    let constants = normalizers(model, &theta, view, noise.as_ref(), &options.cancel)?;
    let weight = |row: usize| out.weights.as_ref().map_or(1.0, |w| w[row]);
    let (mut fold, mut slope) = (Fold::default(), DVector::zeros(theta.len()));
    for (row, constant) in constants.iter().enumerate().filter(|(row, _)| weight(*row) > 0.0) {
        fold = fold.with(weight(row), value[row] - constant.log_z);
        fold.noise += weight(row).powi(2) * constant.variance;
        for (j, slope) in slope.iter_mut().enumerate() {
            *slope += weight(row) * (score[j * rows + row] - constant.slope[j]);
        }
    }
    fold.noise += slope.dot(&(&fit.covariance_noise * &slope));
    Ok(fold)
}
