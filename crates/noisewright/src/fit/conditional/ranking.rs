//! Estimates by ranking: every row is the chosen one among noise points given its covariates, the conditional logit of MATH §11.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::optimize::Problem;

use super::covariance::by_row;
use super::draws::{RowDraws, choice_sets, is_quiet};
use super::row_leverage::RowLeverage;
use crate::fit::choices::{ConditionalLogit, Slopes, is_flat};
use crate::fit::covariance::{Covariance, invert_free};
use crate::fit::data::Data;
use crate::fit::data_rows::DataRows;
use crate::fit::diagnostics::{Finding, Remedy, Warning};
use crate::fit::estimate::{Compared, Found};
use crate::fit::multistart;
use crate::fit::noise_choice::{shortfall, worse_optima};
use crate::fit::options::{Amount, CovarianceKind, DrawKind, FitOptions, IntervalKind};
use crate::fit::prepare::scaling;
use crate::fit::profile::{self, Profiled};
use crate::fit::result::Fit;
use crate::fit::solve::{Solution, in_box, limits};
use crate::moments::sandwich;
use crate::run::{Purpose, Stage, if_possible};
use crate::{ConditionalNoise, Error, Model, Result};

/// Noise points of every row in the first round.
const FIRST_CHOICES: usize = 16;
/// The same of the nets of quiet draws, whose points are these and the row.
const FIRST_NET: usize = 15;
/// Quiet draws pay where their part of the variance is at most this share of that of as many independent ones.
const PAYS: f64 = 0.5;
/// Rounds in which there are more of them.
const ROUNDS: usize = 5;
/// How many more than one equal alternatives a row must be worth on the average: below that it is told from its noise points
/// without doubt, and they say nothing.
const ALONE: f64 = 1e-4;
/// Points from which the scales of parameters are taken, at most.
const SCALE_POINTS: usize = 1 << 14;

/// How the rows of a conditional model are ranked.
#[derive(Clone, Copy)]
struct Ranking<'r> {
    model: &'r Model,
    data: Data<'r>,
    noise: &'r ConditionalNoise,
    options: &'r FitOptions,
}

/// Estimates with as many noise points per row as the options ask for.
pub(super) fn dosed(
    model: &Model,
    data: Data<'_>,
    noise: &ConditionalNoise,
    options: &FitOptions,
) -> Result<Fit> {
    let ranking = Ranking { model, data, noise, options };
    let mut fit = match (options.choices, options.amount) {
        (None, Amount::Auto { share, most_values }) => ranking.enough(share, most_values)?,
        (choices, _) => ranking.fixed(choices.unwrap_or(FIRST_CHOICES))?,
    };
    if options.interval == IntervalKind::Profile {
        let (choices, kind) = (fit.choices.unwrap_or(FIRST_CHOICES), fit.draws.unwrap_or_default());
        let logit = ranking.logit(choices, kind, Purpose::FitNoise)?;
        let ranked = Profiled { problem: &logit, likelihood: false };
        profile::of_parameters(ranked, model, &mut fit, options)?;
    }
    Ok(fit)
}

/// The rows with so many noise points as are usual, or as the options ask for, of a fit that is not dosed.
pub(super) fn undosed<'m>(
    model: &'m Model,
    data: Data<'_>,
    noise: &ConditionalNoise,
    options: &FitOptions,
) -> Result<(ConditionalLogit<'m>, usize)> {
    let how = RowDraws {
        choices: options.choices.unwrap_or(FIRST_CHOICES),
        kind: DrawKind::Random,
        purpose: Purpose::FitNoise,
    };
    Ok((choice_sets(model, data, noise, how, &options.context())?, how.choices))
}

/// A start for maximum likelihood: the estimate by ranking with a few noise points, where there is one.
pub(in crate::fit) fn pilot(model: &Model, data: Data<'_>, options: &FitOptions) -> Result<Option<Vec<f64>>> {
    let Some(noise) = if_possible(super::auto(model, DataRows::Memory(data)))? else { return Ok(None) };
    let ranking = Ranking { model, data, noise: &noise, options };
    let found = if_possible(ranking.estimate(FIRST_CHOICES, DrawKind::Random, None))?;
    Ok(found.filter(|fit| fit.converged).map(|fit| fit.theta()))
}

/// A power of two less one: as many as a net has beside the row, nearest to what was asked for.
fn of_a_net(choices: usize) -> usize {
    let exponent = (choices as f64 + 1.0).log2().round().clamp(1.0, 32.0);
    (1 << exponent as u32) - 1
}

impl<'r> Ranking<'r> {
    fn logit(&self, choices: usize, kind: DrawKind, purpose: Purpose) -> Result<ConditionalLogit<'r>> {
        let how = RowDraws { choices, kind, purpose };
        choice_sets(self.model, self.data, self.noise, how, &self.options.context())
    }

    /// With so many noise points a row, or the nearest number that a net has.
    fn fixed(&self, choices: usize) -> Result<Fit> {
        if self.options.draws != DrawKind::Quiet {
            return self.estimate(choices, DrawKind::Random, None);
        }
        let drawn = of_a_net(choices);
        let mut fit = self.estimate(drawn, DrawKind::Quiet, None)?;
        if drawn != choices {
            let finding = Finding::RoundedChoices { asked: choices, drawn };
            fit.diagnostics.warn(Warning::new(finding, [Remedy::NetOfChoices]));
        }
        Ok(fit)
    }

    /// Until the noise part of every standard error is at most this share of it.
    fn enough(&self, share: f64, most_values: usize) -> Result<Fit> {
        // A point is held with its covariates and the log-density of the noise, and has a score while it is summed.
        let (rows, model) = (self.data.points.rows(), self.model);
        let each = rows.saturating_mul(model.parameters().len().max(model.space().dimension() + 1));
        let most = (most_values / each.max(1)).max(1);
        let must = self.options.draws == DrawKind::Quiet;
        let may = self.options.draws == DrawKind::Auto
            && most >= FIRST_NET
            && is_quiet(model, self.data, self.noise)?;
        if must || may {
            let fit = self.rounds(DrawKind::Quiet, FIRST_NET, share, most.max(FIRST_NET))?;
            if must || fit.noise_gain.is_some_and(|gain| gain * PAYS >= 1.0) {
                return Ok(fit);
            }
        }
        self.rounds(DrawKind::Random, FIRST_CHOICES.min(most), share, most)
    }

    /// More and more noise points.
    fn rounds(&self, kind: DrawKind, first: usize, share: f64, most: usize) -> Result<Fit> {
        let mut choices = first;
        let mut fit = self.estimate(choices, kind, None)?;
        let others = worse_optima(&fit);
        for _ in 1..ROUNDS {
            let factor = shortfall(&fit, share);
            let pays = kind != DrawKind::Quiet
                || self.options.draws == DrawKind::Quiet
                || fit.noise_gain.is_some_and(|gain| gain * PAYS >= 1.0);
            if factor <= 1.0 || !fit.converged || choices >= most || !pays {
                break;
            }
            // A tenth more than the prediction, which takes the noise's part for proportional to 1/K, or for nets to 1/K².
            let next = match kind {
                DrawKind::Quiet => {
                    let wanted = (choices as f64 + 1.0) * factor.sqrt().max(2.0);
                    (1 << (wanted.log2() - 0.1).ceil().min(32.0) as u32) - 1
                }
                _ => (1.1 * factor * choices as f64).ceil() as usize,
            };
            if kind == DrawKind::Quiet && next > most {
                break;
            }
            choices = next.min(most);
            let start = fit.theta();
            fit = self.estimate(choices, kind, Some(&start))?;
            fit.remember(&others);
        }
        fit.budget_spent = fit.converged && shortfall(&fit, share) > 1.0;
        Ok(fit)
    }

    /// An estimate with so many noise points per row; `start` is that of fewer.
    fn estimate(&self, choices: usize, kind: DrawKind, start: Option<&[f64]>) -> Result<Fit> {
        let (data, options) = (self.data, self.options);
        let logit = self.logit(choices, kind, Purpose::FitNoise)?;
        let solution = minimum(&logit, start, options)?;
        options.report(Stage::Errors, 0, f64::NAN)?;
        let there = logit.evaluate(&solution.at, true)?;
        let Some(hessian) = there.hessian else { return Err(Error::NoMass) };
        let (theta, size) = (solution.at.as_slice(), solution.at.len());
        refuse_separated(&logit, &hessian, &solution)?;
        let free: Vec<usize> = (0..size).filter(|j| !solution.bound[*j]).collect();
        let bread = invert_free(&hessian, &free).map_err(|direction| logit.indistinct(&direction));
        let leverage = bread.as_ref().ok().and_then(|bread| RowLeverage::of(bread, data, options.errors));
        let slopes = logit.slopes(theta, leverage.as_ref())?;
        if slopes.effective < (1.0 + ALONE) * logit.strata() as f64 {
            return Err(Error::HardlyAnyOverlap);
        }
        let bread = bread?;
        let mut covariance = covariance(&slopes, &bread, data, choices, options.errors);
        if kind == DrawKind::Quiet {
            let again = self.logit(choices, kind, Purpose::NoiseGivenAgain)?.slopes(theta, None)?;
            covariance = of_nets(&slopes, &again, &bread, data, &covariance, options.errors);
        }
        let found = Found::of_search(&solution, theta.to_vec(), there.value, covariance, hessian);
        let mut fit =
            found.fit(self.model, DataRows::Memory(data), self.compared(choices, kind), options.confidence);
        fit.choices = Some(choices);
        Ok(fit)
    }

    /// What the rows were compared with.
    fn compared(&self, choices: usize, kind: DrawKind) -> Compared {
        let (points, words) = (choices * self.data.points.rows(), self.noise.describe());
        Compared {
            draws: Some(kind),
            replicates: (kind == DrawKind::Quiet).then_some(2),
            ..Compared::undrawn(choices as f64, points, words, "ranking".into())
        }
    }
}

/// The covariance of a ranking of rows among independent noise points.
pub(in crate::fit) fn covariance(
    slopes: &Slopes,
    bread: &DMatrix<f64>,
    data: Data<'_>,
    choices: usize,
    kind: CovarianceKind,
) -> Covariance {
    let (size, total) = (bread.nrows(), data.total_weight());
    let zero = || DMatrix::zeros(size, size);
    // Squares around a mean that the K points themselves are part of are too small by K/(K + 1).
    let factor = (choices as f64 + 1.0) / choices as f64 / (total * total);
    let of_draws = |sum: &DMatrix<f64>| sandwich(bread, &(sum * factor));
    let [once, shared] = match &slopes.of_draws {
        Some([once, twice]) => [of_draws(once), of_draws(twice)],
        None => [zero(), zero()],
    };
    by_row(slopes.terms(), bread, data, kind).in_parts(&once, shared)
}

/// The same for nets around the rows: half the squared difference of a row's slopes by two independent nets is the variance of
/// either, given the row. `independent` is the covariance of as many independent points.
fn of_nets(
    slopes: &Slopes,
    again: &Slopes,
    bread: &DMatrix<f64>,
    data: Data<'_>,
    independent: &Covariance,
    kind: CovarianceKind,
) -> Covariance {
    let (size, total) = (bread.nrows(), data.total_weight());
    let square = || DMatrix::zeros(size, size);
    let [mut once, mut twice] = [square(), square()];
    let rows = slopes.values.chunks_exact(size.max(1)).zip(again.values.chunks_exact(size.max(1)));
    for (row, (one, other)) in rows.enumerate() {
        let apart = DVector::from_column_slice(one) - DVector::from_column_slice(other);
        let weight = data.weights.map_or(1.0, |w| w[row]);
        once.ger(0.5 * weight, &apart, &apart, 1.0);
        twice.ger(0.5 * weight * weight, &apart, &apart, 1.0);
    }
    let [once, shared] = [once, twice].map(|sum| sandwich(bread, &(sum / (total * total))));
    let left = (0..size).map(|j| shared[(j, j)] / independent.noise[(j, j)]).filter(|left| !left.is_nan());
    let left: Vec<f64> = left.collect();
    let gain = left.len() as f64 / left.iter().sum::<f64>();
    let mut found = by_row(slopes.terms(), bread, data, kind).in_parts(&once, shared);
    found.noise_gain = gain.is_finite().then_some(gain);
    found
}

/// The minimum of the ranking loss, which is convex for a linear model.
fn minimum(logit: &ConditionalLogit<'_>, start: Option<&[f64]>, options: &FitOptions) -> Result<Solution> {
    let model = logit.model;
    if start.is_none() {
        refuse_without_density(logit)?;
    }
    if model.energy().is_linear() {
        let begin = DVector::from_vec(multistart::first(model, start));
        return in_box(logit, &limits(model, &vec![1.0; begin.len()]), &begin, options);
    }
    let points = logit.points.view();
    let (_, unit) = scaling(model, points.slice(0..points.rows().min(SCALE_POINTS)), false)?;
    let first = multistart::first(model, start);
    let places = match start {
        Some(_) => vec![first],
        None => multistart::nearby(model, &unit, &first, options),
    };
    let begin = |theta: &[f64]| Ok(DVector::from_column_slice(theta));
    let found = multistart::solve(logit, model, &begin, &places, options)?;
    found.ok_or_else(|| {
        let reason = "start where no row has a density: start elsewhere";
        Error::field("parameters", reason)
    })
}

/// Refuses the first row that has no density at the start, where a linear model then has none anywhere.
fn refuse_without_density(logit: &ConditionalLogit<'_>) -> Result<()> {
    let (model, start) = (logit.model, logit.model.start());
    let points = logit.points.view();
    let mut value = vec![0.0; points.rows()];
    if !model.energy().is_linear() || model.evaluate(&start, points, &mut value, None).is_err() {
        return Ok(());
    }
    let counts = |stratum: usize| logit.weights.as_ref().is_none_or(|w| w[stratum] > 0.0);
    let missing = |stratum: &usize| counts(*stratum) && !value[logit.starts[*stratum]].is_finite();
    match (0..logit.strata()).find(missing) {
        None => Ok(()),
        Some(stratum) => {
            let point = model.describe(&start, points, logit.starts[stratum]);
            Err(Error::DataWithoutDensity { row: stratum + 1, point })
        }
    }
}

/// Refuses rows that a linear model tells from all their noise points, so that its parameters run to infinity.
fn refuse_separated(logit: &ConditionalLogit<'_>, hessian: &DMatrix<f64>, solution: &Solution) -> Result<()> {
    if !logit.model.energy().is_linear() || solution.bound.contains(&true) {
        return Ok(());
    }
    let start = DVector::from_vec(logit.model.start());
    let Some(before) = logit.evaluate(&start, true)?.hessian else { return Ok(()) };
    if !is_flat(hessian, &before, solution.stop) {
        return Ok(());
    }
    match logit.separation()? {
        Some(found) => {
            Err(Error::NoMinimum { parameters: found.running.into_iter().map(|r| r.name).collect() })
        }
        None => Ok(()),
    }
}
