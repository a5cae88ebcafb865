//! The bootstrap: the whole fit again on rows, or clusters of rows, drawn with replacement (Efron and Tibshirani 1993).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::DVector;
use noisewright_numerics::parallel::try_map;
use rand::{Rng, RngExt};
use serde::Serialize;

use super::choices::{ConditionalLogit, Reweighted};
use super::conditional;
use super::data::{Data, Dependence};
use super::data_rows::DataRows;
use super::estimate::FitTask;
use super::fit_against_noise::needs_memory;
use super::noise_choice;
use super::options::{Amount, DrawKind, Draws, FitOptions, IntervalKind, NoiseChoice};
use super::recentred::Recentred;
use super::result::Fit;
use super::solve::{in_box, limits};
use crate::run::{Progress, Purpose, Stage, if_possible};
use crate::serial::Fields;
use crate::{Error, Model, Points, Result};

/// Fewest and most replicates: a standard error from twenty has an error of 16 % by itself.
const REPLICATES: std::ops::RangeInclusive<usize> = 20..=1_000_000;
/// Share of replicates without an answer above which the others are no sample of anything.
const MOST_FAILED: f64 = 0.05;

/// What one replicate of a bootstrap gives: all unknowns, or nothing where it has no answer.
pub type ReplicateAnswer = Option<Vec<f64>>;

/// Who makes the replicates of a bootstrap, so many, with their answers in order: they may be made elsewhere, by a fit of the same rows
/// with the same options, and are the same wherever they are. The function that it is given makes the one of a number here.
pub type ReplicateHook = Arc<
    dyn Fn(usize, &(dyn Fn(usize) -> Result<ReplicateAnswer> + Sync)) -> Result<Vec<ReplicateAnswer>>
        + Send
        + Sync,
>;

/// What the bootstrap says of one unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BootstrapEstimate {
    /// Standard deviation of the replicates.
    pub se: f64,
    /// Their mean less the estimate.
    pub bias: f64,
    /// Interval between quantiles of the replicates.
    pub percentile: [f64; 2],
    /// The same mirrored at the estimate: `2θ̂ −` quantiles.
    pub basic: [f64; 2],
}

/// What was drawn with replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Resampled {
    /// Rows.
    Rows,
    /// Whole clusters of rows.
    Clusters,
    /// Whole strata of alternatives.
    Strata,
}

impl std::fmt::Display for Resampled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rows => "rows",
            Self::Clusters => "clusters",
            Self::Strata => "strata",
        })
    }
}

/// The bootstrap of a fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bootstrap {
    /// Number of replicates with an answer.
    pub replicates: usize,
    /// Number of those without one, which are left out.
    pub failed: usize,
    /// What was drawn.
    pub unit: Resampled,
    /// Every unknown, in the order of the fit's estimates.
    #[serde(serialize_with = "by_name")]
    pub estimates: Vec<(String, BootstrapEstimate)>,
}

fn by_name<S: serde::Serializer>(
    estimates: &[(String, BootstrapEstimate)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    Fields(estimates.iter().map(|(name, estimate)| (name.as_str(), estimate)).collect()).serialize(serializer)
}

/// Refuses a number of replicates that is none.
pub(super) fn check(replicates: usize) -> Result<()> {
    if REPLICATES.contains(&replicates) {
        return Ok(());
    }
    Err(Error::range("bootstrap", "a number of replicates between 20 and 1,000,000", replicates as f64))
}

/// Fits the model to so many samples of the rows, each against noise of its own, of the amount that the fit had.
///
/// # Errors
/// When the rows are chains or not in memory, too many replicates have no answer, or it is cancelled.
pub(super) fn bootstrap(
    model: &Model,
    rows: DataRows<'_>,
    fit: &Fit,
    replicates: usize,
    options: &FitOptions,
) -> Result<Bootstrap> {
    let data = rows.whole().ok_or_else(|| needs_memory("bootstrap"))?;
    let units = Units::of(data.dependence)?;
    let own = model.own_values(&fit.theta());
    let model = &model.clone().starting_at(&own)?;
    let (context, done) = (options.context(), Done::new(replicates));
    let replicate = |index: usize| -> Result<Option<Vec<f64>>> {
        let mut stream = context.stream(Purpose::BootstrapRows, index as u64);
        let weights = units.weights(data.points.rows(), data.weights, &mut stream);
        let sample = Data { weights: Some(&weights), ..data };
        let seed = Purpose::BootstrapRows.seed(options.seed, index as u64);
        let options = replicate_options(fit, &done.telling(options), seed, &mut stream);
        estimate(model, DataRows::Memory(sample), &options)
    };
    summarised(fit, units.kind(), &done, options, replicate)
}

/// The same for strata of alternatives, whole ones or whole clusters of them drawn with replacement.
///
/// # Errors
/// When too many replicates have no answer, or it is cancelled.
pub(super) fn of_strata(
    logit: &ConditionalLogit<'_>,
    fit: &Fit,
    replicates: usize,
    options: &FitOptions,
) -> Result<Bootstrap> {
    let start = DVector::from_vec(logit.model.own_values(&fit.theta()));
    let limits = limits(logit.model, &vec![1.0; start.len()]);
    let done = Done::new(replicates);
    let units = Units::of(logit.dependence())?;
    let unit = match units {
        Units::Rows => Resampled::Strata,
        Units::Clusters(..) => Resampled::Clusters,
    };
    let replicate = |index: usize| -> Result<Option<Vec<f64>>> {
        let mut stream = options.context().stream(Purpose::BootstrapRows, index as u64);
        let weights = units.weights(logit.strata(), logit.weights.as_deref(), &mut stream);
        let found =
            in_box(&Reweighted { logit, weights: &weights }, &limits, &start, &done.telling(options))?;
        Ok(found.stop.converged().then(|| all_values(logit.model, found.at.as_slice().to_vec())))
    };
    summarised(fit, unit, &done, options, replicate)
}

/// How many of the replicates are done.
struct Done {
    so_far: Arc<AtomicUsize>,
    of: usize,
}

impl Done {
    fn new(replicates: usize) -> Self {
        Self { so_far: Arc::default(), of: replicates }
    }

    /// One more is.
    fn next(&self) -> Progress {
        Progress::of_stage(Stage::Bootstrap, self.so_far.fetch_add(1, Ordering::Relaxed) + 1, Some(self.of))
    }

    /// Options by whose steps it is told how many are.
    fn telling(&self, options: &FitOptions) -> FitOptions {
        let (so_far, of) = (Arc::clone(&self.so_far), self.of);
        options
            .telling(move || Progress::of_stage(Stage::Bootstrap, so_far.load(Ordering::Relaxed), Some(of)))
    }
}

/// All parameters of a model, from those that are free.
fn all_values(model: &Model, own: Vec<f64>) -> Vec<f64> {
    match model.constraint() {
        Some(constraint) => constraint.all(&own),
        None => own,
    }
}

/// Makes the replicates, side by side, and sums them up.
fn summarised(
    fit: &Fit,
    unit: Resampled,
    done: &Done,
    options: &FitOptions,
    replicate: impl Fn(usize) -> Result<Option<Vec<f64>>> + Sync,
) -> Result<Bootstrap> {
    let (context, replicates) = (options.context(), done.of);
    let told = |index: usize| -> Result<Option<Vec<f64>>> {
        let found = if_possible(replicate(index))?;
        context.tell(&done.next())?;
        Ok(found.flatten())
    };
    let found = match &options.replicates {
        Some(hook) => hook(replicates, &told)?,
        None => try_map(0..replicates, told)?,
    };
    let unknowns = fit.estimates().len();
    if found.len() != replicates || found.iter().flatten().any(|answer| answer.len() != unknowns) {
        return Err(Error::internal("the replicates of a bootstrap are not those that were asked for"));
    }
    let answers: Vec<Vec<f64>> = found.into_iter().flatten().collect();
    let failed = replicates - answers.len();
    if failed as f64 > MOST_FAILED * replicates as f64 {
        let reason = format!(
            "has no answer: {failed} of {replicates} samples of the {unit} could not be fitted, so that the others are a \
             selection"
        );
        return Err(Error::option("bootstrap", reason));
    }
    let estimates = fit.estimates().into_iter().enumerate().map(|(j, estimate)| {
        let values = answers.iter().map(|answer| answer[j]).collect();
        (estimate.name.clone(), summary(estimate.estimate, values, fit.confidence))
    });
    Ok(Bootstrap { replicates: answers.len(), failed, unit, estimates: estimates.collect() })
}

/// The options of one replicate: the same amount of noise, drawn anew, from the estimates on.
fn replicate_options(fit: &Fit, options: &FitOptions, seed: u64, stream: &mut impl Rng) -> FitOptions {
    let mut again = FitOptions {
        seed,
        starts: 1,
        bootstrap: None,
        replicates: None,
        cross_validate: None,
        interval: IntervalKind::Wald,
        check_ratio: false,
        ..options.clone()
    };
    match &options.noise {
        _ if !fit.nu.is_finite() => {
            again.noise = NoiseChoice::Exact;
            again.amount = Amount::auto();
            again.draws = DrawKind::Random;
            again.loss_ratio = None;
            again.refit_noise = false;
        }
        _ if fit.choices.is_some() => {
            again.choices = fit.choices;
            again.amount = Amount::auto();
            again.draws = fit.draws.unwrap_or_default();
        }
        NoiseChoice::Draws(draws) => again.noise = NoiseChoice::Draws(Arc::new(redrawn(draws, stream))),
        _ => {
            again.amount = Amount::Points(fit.noise_points);
            again.draws = fit.draws.unwrap_or_default();
            again.loss_ratio = options.loss_ratio.or(fit.loss_ratio.filter(|_| fit.replicates.is_some()));
        }
    }
    again
}

/// Noise that was drawn elsewhere, its points drawn with replacement.
fn redrawn(draws: &Draws, stream: &mut impl Rng) -> Draws {
    let rows = draws.points.rows();
    let picked: Vec<usize> = (0..rows).map(|_| stream.random_range(0..rows)).collect();
    let view = draws.points.view();
    let column = |j: usize| picked.iter().map(move |row| view.get(*row, j));
    let values = (0..view.columns()).flat_map(column).collect();
    Draws {
        points: Points::unnamed(view.columns(), rows, values),
        log_density: picked.iter().map(|row| draws.log_density[*row]).collect(),
        log_density_at_data: draws.log_density_at_data.clone(),
    }
}

/// All unknowns of the whole model, where the search converged.
fn estimate(model: &Model, rows: DataRows<'_>, options: &FitOptions) -> Result<Option<Vec<f64>>> {
    let fit = unjudged(model, rows, options)?;
    let mut values = all_values(model, fit.theta());
    values.extend(fit.log_normalizer.as_ref().map(|constant| constant.estimate));
    Ok((fit.converged && values.iter().all(|v| v.is_finite())).then_some(values))
}

/// A fit that is not judged, nor expanded to all parameters of a constrained model.
///
/// # Errors
/// As for any fit.
pub(super) fn unjudged(model: &Model, rows: DataRows<'_>, options: &FitOptions) -> Result<Fit> {
    if model.is_conditional() {
        return conditional::estimate(model, rows, options);
    }
    let alone = |model: &Model| -> Result<Fit> {
        let task = FitTask { model, rows, loss: &options.loss };
        Ok(noise_choice::estimate(task, options)?.fit)
    };
    match Recentred::of(model, rows) {
        Some(recentred) => recentred.back(alone(&recentred.model)?, model),
        None => alone(model),
    }
}

/// What is drawn with replacement.
enum Units {
    Rows,
    /// The cluster of every row, numbered from zero, and how many there are.
    Clusters(Vec<usize>, usize),
}

impl Units {
    fn of(dependence: Dependence<'_>) -> Result<Self> {
        match dependence {
            Dependence::Independent => Ok(Self::Rows),
            Dependence::Clusters(labels) => {
                let mut known: HashMap<u64, usize> = HashMap::new();
                let number = |label: &u64| {
                    let next = known.len();
                    *known.entry(*label).or_insert(next)
                };
                let of_row: Vec<usize> = labels.iter().map(number).collect();
                let count = known.len();
                if count < 2 {
                    return Err(Error::option("bootstrap", "needs at least two clusters"));
                }
                Ok(Self::Clusters(of_row, count))
            }
            Dependence::Chains(_) => {
                let reason =
                    "draws independent rows or clusters, and rows of a chain are neither: leave it out";
                Err(Error::option("bootstrap", reason))
            }
        }
    }

    fn kind(&self) -> Resampled {
        match self {
            Self::Rows => Resampled::Rows,
            Self::Clusters(..) => Resampled::Clusters,
        }
    }

    /// How often each row counts in a sample with replacement: a row of weight w stands for w rows.
    fn weights(&self, rows: usize, weights: Option<&[f64]>, stream: &mut impl Rng) -> Vec<f64> {
        match (self, weights) {
            (Self::Rows, None) => counts(rows, rows, stream),
            (Self::Rows, Some(weights)) => weighted_counts(weights, stream),
            (Self::Clusters(of_row, count), weights) => {
                let drawn = counts(*count, *count, stream);
                (0..rows).map(|row| drawn[of_row[row]] * weights.map_or(1.0, |w| w[row])).collect()
            }
        }
    }
}

/// How often each of `of` is drawn in so many draws.
fn counts(of: usize, draws: usize, stream: &mut impl Rng) -> Vec<f64> {
    let mut counts = vec![0.0; of];
    (0..draws).for_each(|_| counts[stream.random_range(0..of)] += 1.0);
    counts
}

/// The same for rows of these weights, whose sum is kept.
fn weighted_counts(weights: &[f64], stream: &mut impl Rng) -> Vec<f64> {
    let mut until = Vec::with_capacity(weights.len());
    let mut total = 0.0;
    for weight in weights {
        total += weight;
        until.push(total);
    }
    let draws = (total.round() as usize).max(1);
    let mut counts = vec![0.0; weights.len()];
    for _ in 0..draws {
        let at: f64 = stream.random::<f64>() * total;
        let row = until.partition_point(|end| *end <= at).min(weights.len() - 1);
        counts[row] += total / draws as f64;
    }
    counts
}

fn summary(estimate: f64, mut values: Vec<f64>, confidence: f64) -> BootstrapEstimate {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let tail = 0.5 * (1.0 - confidence);
    let (low, high) = (quantile(&values, tail), quantile(&values, 1.0 - tail));
    BootstrapEstimate {
        se: variance.sqrt(),
        bias: mean - estimate,
        percentile: [low, high],
        basic: [2.0 * estimate - high, 2.0 * estimate - low],
    }
}

/// The quantile between order statistics (type 7 of Hyndman and Fan 1996).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (at - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.quantile([1, 2, 4, 8, 16], [0.1, 0.5, 0.9])`.
    #[test]
    fn quantiles_are_those_of_numpy() {
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (share, expected) in [(0.1, 1.4), (0.5, 4.0), (0.9, 12.8)] {
            assert!((quantile(&sorted, share) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn counts_keep_the_weight_of_all_rows() {
        let mut stream = Purpose::BootstrapRows.stream(1, 0);
        let drawn = weighted_counts(&[0.5, 0.0, 7.5, 2.0], &mut stream);
        assert!((drawn.iter().sum::<f64>() - 10.0).abs() < 1e-9);
        assert_eq!(drawn[1], 0.0);
    }
}
