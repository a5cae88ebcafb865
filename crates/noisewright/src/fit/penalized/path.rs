//! The path of estimates from the strongest penalty down, and the cross-validation along it.

use nalgebra::DVector;
use noisewright_numerics::optimize::{
    DescentOptions, PenalizedMinimum, ProximalDescent, SeparablePenalty, proximal_newton, proximal_newton_of,
};
use noisewright_numerics::parallel::try_map;

use super::contrast::{Part, Want};
use super::folds::{FOLDS, Folds};
use super::penalty::{Penalty, PenaltyKind, Strength};
use super::report::{PathPoint, PenaltyReport, StrengthRule};
use super::target::{Target, Training};
use crate::fit::options::FitOptions;
use crate::run::{Progress, Stage};
use crate::{Error, Result};

/// Strengths of a path, and the smallest as a share of the largest (Friedman, Hastie and Tibshirani 2010).
const STEPS: usize = 60;
const SMALLEST: f64 = 1e-3;
/// The largest strength of ridge, in units of the one at which the lasso selects nothing.
const RIDGE_LARGEST: f64 = 100.0;
/// The smallest strength of ridge, as a share of the largest.
const RIDGE_SMALLEST: f64 = 1e-6;
/// Strengths without a smaller held-out loss after which a path ends.
const PATIENCE: usize = 8;
/// Tolerance, in standard errors, of the estimates that only a held-out loss is wanted of.
const ROUGH: f64 = 1e-3;

/// The estimates at the chosen strength.
pub(super) struct Chosen {
    pub(super) minimum: PenalizedMinimum,
    pub(super) penalty: SeparablePenalty,
    pub(super) report: PenaltyReport,
}

/// The penalties at a strength.
fn penalties(target: &Target<'_>, kind: PenaltyKind, factors: &[f64], strength: f64) -> SeparablePenalty {
    let mut parts: Vec<f64> = factors.iter().map(|factor| strength * factor).collect();
    parts.resize(target.size(), 0.0);
    let none = vec![0.0; target.size()];
    let (lasso, ridge) = match kind {
        PenaltyKind::Lasso => (parts, none),
        PenaltyKind::Ridge => (none, parts),
    };
    SeparablePenalty { lasso, ridge, limits: target.limits() }
}

/// No penalty on some unknowns, and the others held at zero.
fn only(target: &Target<'_>, some: impl Fn(usize) -> bool) -> SeparablePenalty {
    let lasso = (0..target.size()).map(|j| if some(j) { 0.0 } else { f64::INFINITY }).collect();
    SeparablePenalty { lasso, ridge: vec![0.0; target.size()], limits: target.limits() }
}

/// A walk down the path over a part of the rows.
struct Walk<'t, 'a> {
    training: Training<'t, 'a>,
    /// In standard errors.
    tolerance: f64,
    minimum: PenalizedMinimum,
    /// Of the selected alone, without a penalty.
    refit: DVector<f64>,
    refitted: Vec<bool>,
}

/// Goes on from where every walk is to its minimum with this penalty; all of them take their whole gradients from one pass.
fn step(walks: &mut [Walk<'_, '_>], penalty: &SeparablePenalty, options: &FitOptions) -> Result<()> {
    let begin = |walk: &Walk<'_, '_>| {
        let PenalizedMinimum { at, value, gradient, .. } = walk.minimum.clone();
        ProximalDescent::new(at, value, gradient)
    };
    let mut descents: Vec<ProximalDescent> = walks.iter().map(begin).collect();
    let mut open = vec![true; walks.len()];
    while open.contains(&true) {
        let pairs = walks.iter().zip(&mut descents).zip(&open);
        open =
            try_map(pairs, |((walk, descent), open)| Ok(*open && walk.advance(descent, penalty, options)?))?;
        let moved: Vec<usize> = (0..walks.len()).filter(|i| open[*i]).collect();
        let places: Vec<(Part<'_>, &DVector<f64>)> =
            moved.iter().map(|i| (walks[*i].training.part, descents[*i].at())).collect();
        let Some(target) = walks.first().map(|walk| walk.training.target) else { break };
        for (i, there) in moved.iter().zip(target.evaluate_each(&places, Want::Gradient)?) {
            descents[*i].look(there.value, there.gradient);
        }
    }
    walks.iter_mut().zip(descents).for_each(|(walk, descent)| walk.minimum = descent.minimum());
    Ok(())
}

impl<'t, 'a> Walk<'t, 'a> {
    /// Walks over parts of the rows with their tolerances, where nothing that is penalised is in the model.
    fn begin(
        target: &'t Target<'a>,
        parts: &[(Part<'t>, f64)],
        factors: &[f64],
        options: &FitOptions,
    ) -> Result<Vec<Self>> {
        let free = |j: usize| factors.get(j).is_none_or(|factor| *factor == 0.0);
        let start = target.start()?;
        let places: Vec<(Part<'t>, &DVector<f64>)> = parts.iter().map(|(part, _)| (*part, &start)).collect();
        let begun = parts.iter().zip(target.evaluate_each(&places, Want::Gradient)?).map(
            |(&(part, tolerance), there)| Self {
                training: Training { target, part },
                tolerance,
                minimum: ProximalDescent::new(start.clone(), there.value, there.gradient).minimum(),
                refit: DVector::zeros(0),
                refitted: Vec::new(),
            },
        );
        let mut walks: Vec<Self> = begun.collect();
        step(&mut walks, &only(target, free), options)?;
        walks.iter_mut().for_each(|walk| walk.refit = walk.minimum.at.clone());
        Ok(walks)
    }

    /// The minimum over the unknowns that move; `false` where it is that over all.
    fn advance(
        &self,
        descent: &mut ProximalDescent,
        penalty: &SeparablePenalty,
        options: &FitOptions,
    ) -> Result<bool> {
        let watch = |step: usize, value: f64| options.report(Stage::Descent, step, value);
        let (tolerance, max_iterations) = (self.tolerance, options.max_iterations);
        let limits = DescentOptions { tolerance, max_iterations, watch: &watch };
        descent.advance(&self.training, penalty, &limits)
    }

    /// The selected unknowns without a penalty.
    fn refit(&mut self, factors: &[f64], options: &FitOptions) -> Result<()> {
        let target = self.training.target;
        let free = |j: usize| factors.get(j).is_none_or(|factor| *factor == 0.0);
        let selected: Vec<bool> = (0..target.size()).map(|j| free(j) || self.minimum.at[j] != 0.0).collect();
        if selected == self.refitted {
            return Ok(());
        }
        // What was selected before starts where its refit ended.
        let start = DVector::from_fn(target.size(), |j, _| match selected[j] {
            true if self.refit[j] != 0.0 => self.refit[j],
            true => self.minimum.at[j],
            false => 0.0,
        });
        let penalty = only(target, |j| selected[j]);
        let of: Vec<usize> = (0..target.size()).filter(|j| selected[*j]).collect();
        let watch = |step: usize, value: f64| options.report(Stage::Descent, step, value);
        let descent = DescentOptions { tolerance: ROUGH, max_iterations: REFIT_STEPS, watch: &watch };
        self.refit = proximal_newton_of(&self.training, &penalty, &start, &of, &descent)?;
        self.refitted = selected;
        Ok(())
    }
}

/// Steps of a refit, which has no minimum where the selected parameters tell data and noise apart.
const REFIT_STEPS: usize = 25;

/// A penalised fit that is being made.
pub(super) struct Search<'t, 'a> {
    pub(super) target: &'t Target<'a>,
    pub(super) penalty: &'t Penalty,
    pub(super) factors: &'t [f64],
    pub(super) options: &'t FitOptions,
}

impl<'t, 'a> Search<'t, 'a> {
    /// The estimates at the strength that was given, or that cross-validation over the folds chooses.
    ///
    /// # Errors
    /// When no feature has an effect on the loss, and those of an evaluation.
    pub(super) fn run(&self, folds: Option<&'t Folds>) -> Result<Chosen> {
        let mut parts = vec![(Part::All, self.options.tolerance)];
        if let Some(folds) = folds {
            parts.extend((0..FOLDS as u8).map(|fold| (Part::Without(folds, fold), ROUGH)));
        }
        let mut walks = Walk::begin(self.target, &parts, self.factors, self.options)?;
        let strengths = self.strengths(self.largest(&walks[0])?);
        let mut points: Vec<PathPoint> = Vec::new();
        let mut places: Vec<DVector<f64>> = Vec::new();
        for (index, strength) in strengths.iter().enumerate() {
            let options = &self.tell(index, strengths.len(), &walks[0])?;
            step(&mut walks, &self.at(*strength), options)?;
            let mut point = self.point(*strength, &walks[0]);
            if let Some(folds) = folds {
                self.held_out(&mut walks[1..], folds, &mut point, options)?;
            }
            points.push(point);
            places.push(walks[0].minimum.at.clone());
            if self.has_passed(&points) {
                break;
            }
        }
        let (chosen, rule) = self.choose(&points);
        self.finish(&walks[0].training, points, &places[chosen], (chosen, rule), folds.is_some())
    }

    fn at(&self, strength: f64) -> SeparablePenalty {
        penalties(self.target, self.penalty.kind, self.factors, strength)
    }

    /// Says that it is at a strength; the options are those of the steps there, each of which says so again.
    fn tell(&self, index: usize, of: usize, whole: &Walk<'_, '_>) -> Result<FitOptions> {
        let told =
            Progress { stage: Stage::Descent, iteration: index, of: Some(of), loss: whole.minimum.value };
        self.options.context().tell(&told)?;
        Ok(self.options.telling(move || told))
    }

    /// The smallest strength at which the lasso selects nothing.
    fn largest(&self, whole: &Walk<'_, '_>) -> Result<f64> {
        let slopes = self.factors.iter().zip(whole.minimum.gradient.iter());
        let largest = slopes.filter(|(f, _)| **f > 0.0).map(|(f, g)| g.abs() / f).fold(0.0, f64::max);
        if largest > 0.0 && largest.is_finite() {
            return Ok(largest);
        }
        Err(Error::option("penalty", "finds no feature that tells data and noise apart"))
    }

    /// The strengths from the largest down.
    fn strengths(&self, largest: f64) -> Vec<f64> {
        let (kind, ridge) = (self.penalty.kind, self.penalty.kind == PenaltyKind::Ridge);
        let down = |from: f64, to: f64, steps: usize| -> Vec<f64> {
            let ratio = (to / from).ln();
            (1..=steps)
                .map(|i| if i == steps { to } else { from * (ratio * i as f64 / steps as f64).exp() })
                .collect()
        };
        match self.penalty.strength {
            Strength::Given(strength) if ridge || strength >= largest => vec![strength],
            Strength::Given(strength) => {
                let steps = STEPS as f64 * (largest / strength).ln() / -SMALLEST.ln();
                down(largest, strength, (steps.ceil() as usize).clamp(1, STEPS))
            }
            _ if kind == PenaltyKind::Ridge => {
                down(RIDGE_LARGEST * largest, RIDGE_LARGEST * RIDGE_SMALLEST * largest, STEPS / 2)
            }
            _ => down(largest, SMALLEST * largest, STEPS),
        }
    }

    fn point(&self, strength: f64, whole: &Walk<'_, '_>) -> PathPoint {
        let values = self.target.parameters(&whole.minimum.at);
        PathPoint {
            strength,
            selected: values.iter().filter(|value| **value != 0.0).count(),
            loss: whole.minimum.value,
            held_out: None,
            held_out_se: None,
            held_out_refit: None,
            held_out_refit_se: None,
            values,
        }
    }

    /// Whether the strength is chosen by the refits of what it selects.
    fn by_refits(&self) -> bool {
        self.penalty.kind == PenaltyKind::Lasso && self.penalty.strength == Strength::Auto
    }

    /// The losses, where every fold's walk is, of the rows that it leaves out.
    fn held_out(
        &self,
        walks: &mut [Walk<'t, 'a>],
        folds: &'t Folds,
        point: &mut PathPoint,
        options: &FitOptions,
    ) -> Result<()> {
        let losses = |places: Vec<&DVector<f64>>| -> Result<Vec<f64>> {
            let parts: Vec<(Part<'_>, &DVector<f64>)> =
                places.into_iter().enumerate().map(|(fold, at)| (Part::Of(folds, fold as u8), at)).collect();
            let found = self.target.evaluate_each(&parts, Want::Value)?;
            Ok(found.into_iter().map(|there| there.value).collect())
        };
        let plain = losses(walks.iter().map(|walk| &walk.minimum.at).collect())?;
        let (mean, error) = mean_and_error(&plain);
        (point.held_out, point.held_out_se) = (Some(mean), Some(error));
        if self.by_refits() {
            try_map(walks.iter_mut(), |walk| walk.refit(self.factors, options))?;
            let (mean, error) = mean_and_error(&losses(walks.iter().map(|walk| &walk.refit).collect())?);
            (point.held_out_refit, point.held_out_refit_se) = (Some(mean), Some(error));
        }
        Ok(())
    }

    /// The held-out loss that decides, with its standard error.
    fn criterion(&self, point: &PathPoint) -> Option<(f64, f64)> {
        if self.by_refits() {
            point.held_out_refit.zip(point.held_out_refit_se)
        } else {
            point.held_out.zip(point.held_out_se)
        }
    }

    /// The place of the smallest held-out loss.
    fn best(&self, points: &[PathPoint]) -> Option<usize> {
        smallest(points.iter().map(|point| Some(self.criterion(point)?.0)))
    }

    /// Whether the smallest held-out loss lies well behind: the one that decides, and that of the penalised estimates. (That of refits
    /// stays as it is along strengths between which nothing is selected anew, while the other falls.)
    fn has_passed(&self, points: &[PathPoint]) -> bool {
        let behind = |best: Option<usize>| best.is_some_and(|best| best + PATIENCE < points.len());
        behind(self.best(points)) && behind(smallest(points.iter().map(|point| point.held_out)))
    }

    /// The point of the path that is the answer, and why.
    fn choose(&self, points: &[PathPoint]) -> (usize, StrengthRule) {
        let Some(best) = self.best(points) else { return (points.len() - 1, StrengthRule::Given) };
        if !self.by_refits() {
            return (best, StrengthRule::Minimum);
        }
        let limit = self.criterion(&points[best]).map_or(f64::INFINITY, |(loss, error)| loss + error);
        let within = |point: &PathPoint| self.criterion(point).is_some_and(|(loss, _)| loss <= limit);
        (points.iter().position(within).unwrap_or(best), StrengthRule::OneStandardError)
    }

    /// The estimates at the chosen point, once more from where the path was.
    fn finish(
        &self,
        training: &Training<'_, '_>,
        points: Vec<PathPoint>,
        place: &DVector<f64>,
        (chosen, rule): (usize, StrengthRule),
        divided: bool,
    ) -> Result<Chosen> {
        let strength = points[chosen].strength;
        let penalty = self.at(strength);
        let watch = |step: usize, value: f64| self.options.report(Stage::Descent, step, value);
        let (tolerance, max_iterations) = (self.options.tolerance, self.options.max_iterations);
        let limits = DescentOptions { tolerance, max_iterations, watch: &watch };
        let minimum = proximal_newton(training, &penalty, place, None, &limits)?;
        let values = self.target.parameters(&minimum.at);
        let named = self.target.model().parameters().iter().zip(&values);
        let report = PenaltyReport {
            kind: self.penalty.kind,
            strength,
            rule,
            selected: named.filter(|(_, value)| **value != 0.0).map(|(p, _)| p.name.clone()).collect(),
            refitted: false,
            folds: divided.then_some(FOLDS),
            scales: self.target.scales().to_vec(),
            factors: self.factors.to_vec(),
            path: points,
        };
        Ok(Chosen { minimum, penalty, report })
    }
}

/// The mean of the folds' losses and its standard error.
fn mean_and_error(losses: &[f64]) -> (f64, f64) {
    let count = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / count;
    let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// The place of the smallest of the known losses.
fn smallest(losses: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let known = losses.enumerate().filter_map(|(i, loss)| Some((i, loss?)));
    known.filter(|(_, loss)| loss.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}
