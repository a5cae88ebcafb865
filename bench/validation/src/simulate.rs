//! One cell: many data sets, a fit of each, and how far the estimates and their intervals are from the truth.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::parts::ModelNoise;
use noisewright::{Noise, Points, Precision, Result, Target, sample};
use rayon::prelude::*;

use crate::cells::Cell;

/// How many times fewer data sets there are where the asymptotics do not apply.
pub(crate) const FEWER: usize = 4;
/// How far from one a ratio is looked at again, with so many times as many data sets, unless that takes long.
pub(crate) const DOUBTFUL: f64 = 0.05;
pub(crate) const MORE: usize = 10;

/// What became of a cell.
pub(crate) struct Outcome {
    /// The asymptotic error times the budget.
    pub(crate) predicted: f64,
    /// Predicted over empirical mean squared error, each coordinate in its own standard error.
    pub(crate) ratio: f64,
    /// Share of the intervals that contain the truth, by coordinate.
    pub(crate) coverage: Vec<f64>,
    /// Whether the asymptotics can be expected to hold at this sample size, judged before simulating.
    pub(crate) applies: bool,
    /// Why not.
    pub(crate) why: String,
    /// Data sets that were simulated.
    pub(crate) repeats: usize,
    /// Data sets that had no answer, each with a sentence that says why; left out of the rest.
    pub(crate) refused: usize,
}

impl Outcome {
    /// A cell for which the theory gives no number.
    fn unpredicted(error: &noisewright::Error) -> Self {
        let (predicted, ratio) = (f64::NAN, f64::NAN);
        Self {
            predicted,
            ratio,
            coverage: vec![],
            applies: false,
            why: format!("no: {error}"),
            repeats: 0,
            refused: 0,
        }
    }
}

/// Simulates one cell, of which the number makes the data sets its own.
pub(crate) fn simulate(number: usize, cell: &Cell, repeats: usize) -> Result<Outcome> {
    let system = &cell.system;
    let contrast = Contrast { noise: &*cell.noise, nu: cell.nu, loss: &cell.loss };
    let report =
        asymptotic_error(&system.model, &system.parameters, contrast, &Target::Mse, &Precision::default());
    let report = match report {
        Ok(report) => report,
        Err(error) => return Ok(Outcome::unpredicted(&error)),
    };
    let source = source(cell)?;
    let why = obstacle(cell, &*source, report.error)?;
    let variances = report.covariance.diagonal() / cell.rows as f64;
    let mut truth = system.parameters.clone();
    if !system.model.is_normalized() {
        truth.push(system.log_z);
    }
    let first = (number as u64) << 32;
    let run = |repeats: std::ops::Range<u64>| -> Vec<Trial> {
        let numbers = (first + repeats.start..first + repeats.end).into_par_iter();
        numbers.filter_map(|repeat| trial(cell, &*source, &truth, &variances, repeat).ok()).collect()
    };
    let mut repeats = if why.is_empty() { repeats } else { repeats.div_ceil(FEWER) };
    let mut trials = run(0..repeats as u64);
    if why.is_empty() && (ratio(&trials) - 1.0).abs() > DOUBTFUL && !cell.is_slow() {
        trials.extend(run(repeats as u64..(MORE * repeats) as u64));
        repeats *= MORE;
    }
    let count = trials.len() as f64;
    let coverage = (0..trials.first().map_or(0, |t| t.covered.len()))
        .map(|j| trials.iter().filter(|t| t.covered[j]).count() as f64 / count)
        .collect();
    let refused = repeats - trials.len();
    Ok(Outcome {
        predicted: report.error,
        ratio: ratio(&trials),
        coverage,
        applies: why.is_empty(),
        why,
        repeats,
        refused,
    })
}

/// Predicted over empirical mean squared error.
fn ratio(trials: &[Trial]) -> f64 {
    trials.len() as f64 / trials.iter().map(|t| t.squared).sum::<f64>()
}

/// One data set.
struct Trial {
    /// Mean over the coordinates of the squared error in standard errors.
    squared: f64,
    covered: Vec<bool>,
}

fn trial(
    cell: &Cell,
    source: &dyn Noise,
    truth: &[f64],
    variances: &DVector<f64>,
    repeat: u64,
) -> Result<Trial> {
    let data = sample(source, cell.rows, (1 << 24) + repeat);
    let data = Points::from_values(cell.system.model.space().names(), cell.rows, data.values().to_vec())?;
    let options = FitOptions {
        noise: NoiseChoice::Given(cell.noise.clone()),
        amount: Amount::Ratio(cell.nu),
        loss: cell.loss.clone(),
        seed: repeat,
        starts: 1,
        ..FitOptions::default()
    };
    let model = start_at(cell)?;
    let fitted = fit(&model, Data::from(&data), &options)?;
    let estimates = fitted.estimates();
    // The constant of a noise equal to the data has no error of first order, and so none to compare with.
    let known: Vec<usize> = (0..truth.len()).filter(|j| variances[*j] * cell.rows as f64 > 1e-6).collect();
    let squared = known.iter().map(|&j| (estimates[j].estimate - truth[j]).powi(2) / variances[j]);
    let covered = known.iter().map(|&j| (estimates[j].lower..=estimates[j].upper).contains(&truth[j]));
    Ok(Trial { squared: squared.sum::<f64>() / known.len() as f64, covered: covered.collect() })
}

/// The model starting at the truth, which spares the search.
fn start_at(cell: &Cell) -> Result<noisewright::Model> {
    let names = cell.system.model.parameters().iter().map(|p| p.name.clone());
    let start: Vec<(String, f64)> = names.zip(cell.system.parameters.iter().copied()).collect();
    cell.system.model.clone().with_start(&start)
}

/// Draws of the data: the system's own distribution, or one made from the model.
fn source(cell: &Cell) -> Result<Arc<dyn Noise>> {
    let system = &cell.system;
    match &system.noise {
        Some(noise) => Ok(noise.clone()),
        None => Ok(Arc::new(ModelNoise::data(&system.model, &system.parameters, &Precision::default())?)),
    }
}

/// Why the asymptotics need not hold: an infinite error, or terms of the estimating equation so heavy-tailed that a sum
/// of this many is not near its limit.
fn obstacle(cell: &Cell, source: &dyn Noise, error: f64) -> Result<String> {
    const MANY: usize = 200_000;
    if error.is_infinite() {
        return Ok("no: the error is infinite".into());
    }
    let data = terms(cell, &sample(source, MANY, 7), 0.0)?;
    let noise = terms(cell, &sample(&*cell.noise, MANY, 8), 1.0)?;
    let heaviest = kurtosis(&data).max(kurtosis(&noise));
    let limit = cell.rows as f64 / 10.0;
    Ok(if heaviest > limit { format!("no: kurtosis {heaviest:.0} of the terms") } else { String::new() })
}

/// `w rᵘ ψ` at every point, a column for each coordinate.
fn terms(cell: &Cell, points: &Points, power_of_ratio: f64) -> Result<DMatrix<f64>> {
    let (system, rows) = (&cell.system, points.rows());
    let count = system.parameters.len();
    let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * count]);
    let mut log_noise = vec![0.0; rows];
    system.model.evaluate(&system.parameters, points.view(), &mut value, Some(&mut score))?;
    cell.noise.log_density(points.view(), &mut log_noise);
    if system.model.is_normalized() {
        for (column, mean) in score.chunks_mut(rows).zip(system.mean.iter()) {
            column.iter_mut().for_each(|s| *s -= mean);
        }
    } else {
        score.resize(rows * (count + 1), -1.0);
    }
    let mut terms = DMatrix::from_vec(rows, score.len() / rows, score);
    for i in 0..rows {
        let g = value[i] - system.log_z - log_noise[i] - cell.nu.ln();
        let weight = (cell.loss.log_weight(g) + power_of_ratio * g).exp();
        terms.row_mut(i).iter_mut().for_each(|t| *t *= weight);
    }
    Ok(terms)
}

/// The largest kurtosis of a column.
fn kurtosis(terms: &DMatrix<f64>) -> f64 {
    let of = |column: nalgebra::DVectorView<'_, f64>| {
        let mean = column.mean();
        let moment = |p: i32| column.iter().map(|x| (x - mean).powi(p)).sum::<f64>() / column.len() as f64;
        moment(4) / moment(2).powi(2)
    };
    terms.column_iter().map(|c| of(c.as_view())).filter(|k| k.is_finite()).fold(0.0, f64::max)
}
