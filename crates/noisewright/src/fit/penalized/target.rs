//! What is penalised: the loss of data against noise, or the likelihood of a model of finitely many states.

use nalgebra::DVector;
use noisewright_numerics::optimize::{Evaluation, Smooth};
use noisewright_numerics::parallel::try_map;

use super::contrast::{self, Part, Want};
use super::folds::Folds;
use super::likelihood::Enumerated;
use super::ranked::Alternatives;
use crate::fit::data::Dependence;
use crate::fit::data_rows::DataRows;
use crate::fit::estimate::{Compared, FitTask};
use crate::fit::exact::{Likelihood, NormalizerMethod};
use crate::fit::fit_against_noise::{SCALE_ROWS, contrasted, needs_memory};
use crate::fit::noise_choice;
use crate::fit::objective::Objective;
use crate::fit::options::{Amount, DrawKind, FitOptions, NoiseChoice};
use crate::fit::prepare;
use crate::fit::sample_blocks::BLOCK;
use crate::fit::solve::{is_convex, limits, linear_start};
use crate::{Error, Model, Result};

/// Noise points per data point where nothing is said of their amount: without standard errors there is nothing to dose them by.
const USUAL_RATIO: f64 = 2.0;
/// Most states that are summed over where that was not asked for: it is done at every step of every fold.
const MOST_STATES: u64 = 1 << 12;

/// A loss in the coordinates of a solver, `s_jθ_j` and the constant of centred features.
pub(super) enum Target<'a> {
    Contrast(Box<Objective<'a>>, Compared, DataRows<'a>),
    Likelihood(Box<Enumerated<'a>>, DataRows<'a>),
    Ranked(Box<Alternatives<'a>>),
}

impl<'a> Target<'a> {
    /// The alternatives of choices, of which a linear model makes a convex loss too.
    ///
    /// # Errors
    /// When the model is not linear in its parameters, and for options that cannot stand beside a penalty.
    pub(super) fn ranked(alternatives: Alternatives<'a>, options: &FitOptions) -> Result<Self> {
        refuse_options(alternatives.logit.model, options)?;
        Ok(Self::Ranked(Box::new(alternatives)))
    }

    /// # Errors
    /// When the loss is not convex in the parameters, and for options that cannot stand beside a penalty.
    pub(super) fn new(task: FitTask<'a>, options: &FitOptions) -> Result<Self> {
        refuse(task, options)?;
        let some = task.rows.spread(SCALE_ROWS);
        if is_summed(task.model, options)? {
            let likelihood = Likelihood::plain(task)?;
            let (scaling, _) = prepare::scaling(task.model, some.view(), true)?;
            return Ok(Self::Likelihood(Box::new(Enumerated::new(likelihood, scaling.scale)), task.rows));
        }
        let against = noise_choice::against_one(task, options, || usual_points(task))?;
        let (objective, compared) = contrasted(task, &against, options)?;
        Ok(Self::Contrast(Box::new(objective), compared, task.rows))
    }

    pub(super) fn model(&self) -> &'a Model {
        match self {
            Self::Contrast(objective, ..) => objective.model,
            Self::Likelihood(enumerated, _) => enumerated.likelihood.model(),
            Self::Ranked(alternatives) => alternatives.logit.model,
        }
    }

    /// Number of unknowns, the constant with them where it is one.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Contrast(objective, ..) => objective.size(),
            Self::Likelihood(enumerated, _) => enumerated.scale.len(),
            Self::Ranked(alternatives) => alternatives.scale.len(),
        }
    }

    /// The standard deviation of every feature.
    pub(super) fn scales(&self) -> &[f64] {
        match self {
            Self::Contrast(objective, ..) => &objective.scaling.scale,
            Self::Likelihood(enumerated, _) => &enumerated.scale,
            Self::Ranked(alternatives) => &alternatives.scale,
        }
    }

    /// Bounds of the unknowns.
    pub(super) fn limits(&self) -> Vec<(f64, f64)> {
        let mut all = limits(self.model(), self.scales());
        all.resize(self.size(), (f64::NEG_INFINITY, f64::INFINITY));
        all
    }

    /// No features, with a constant between data and noise.
    pub(super) fn start(&self) -> Result<DVector<f64>> {
        match self {
            Self::Contrast(objective, ..) => linear_start(objective, None),
            Self::Likelihood(..) | Self::Ranked(_) => {
                let zero = |(lower, upper): &(f64, f64)| 0f64.clamp(*lower, *upper);
                Ok(DVector::from_iterator(self.size(), self.limits().iter().map(zero)))
            }
        }
    }

    /// The parameters, without the constant.
    pub(super) fn parameters(&self, at: &DVector<f64>) -> Vec<f64> {
        at.iter().zip(self.scales()).map(|(x, s)| x / s).collect()
    }

    /// How many rows or strata are divided into folds, and how they depend on one another.
    pub(super) fn units(&self) -> (usize, Dependence<'_>) {
        match self {
            Self::Contrast(_, _, rows) | Self::Likelihood(_, rows) => (rows.rows(), rows.dependence()),
            Self::Ranked(alternatives) => (alternatives.logit.strata(), alternatives.dependence()),
        }
    }

    /// Rows of the noise.
    pub(super) fn noise_rows(&self) -> usize {
        match self {
            Self::Contrast(objective, ..) => objective.noise.rows,
            Self::Likelihood(..) | Self::Ranked(_) => 0,
        }
    }

    pub(super) fn rows(&self) -> f64 {
        match self {
            Self::Contrast(objective, ..) => objective.data.total,
            Self::Likelihood(_, rows) => rows.total_weight(),
            Self::Ranked(alternatives) => alternatives.logit.total(),
        }
    }

    /// Makes ready for folds.
    pub(super) fn divide(&mut self, folds: &Folds) -> Result<()> {
        if let Self::Likelihood(enumerated, rows) = self {
            let data = rows.whole().ok_or_else(|| needs_memory("penalty"))?;
            let model = enumerated.likelihood.model();
            enumerated.divide(model, data, folds)?;
        }
        Ok(())
    }

    pub(super) fn evaluate(&self, part: Part<'_>, at: &DVector<f64>, want: Want<'_>) -> Result<Evaluation> {
        match self {
            Self::Contrast(objective, ..) => contrast::evaluate(objective, part, at, want),
            Self::Likelihood(enumerated, _) => enumerated.evaluate(part, at, want),
            Self::Ranked(alternatives) => alternatives.evaluate(part, at, want),
        }
    }

    /// The loss over parts of the rows, each at a place of its own: against noise in one pass over all rows.
    pub(super) fn evaluate_each(
        &self,
        parts: &[(Part<'_>, &DVector<f64>)],
        want: Want<'_>,
    ) -> Result<Vec<Evaluation>> {
        match self {
            Self::Contrast(objective, ..) => contrast::evaluate_each(objective, parts, want),
            _ => try_map(parts, |(part, at)| self.evaluate(*part, at, want)),
        }
    }
}

/// The loss over a part of the rows.
pub(super) struct Training<'t, 'a> {
    pub(super) target: &'t Target<'a>,
    pub(super) part: Part<'t>,
}

impl Smooth for Training<'_, '_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.target.rows()
    }

    fn value(&self, at: &DVector<f64>) -> Result<f64> {
        Ok(self.target.evaluate(self.part, at, Want::Value)?.value)
    }

    fn gradient(&self, at: &DVector<f64>) -> Result<(f64, DVector<f64>)> {
        let there = self.target.evaluate(self.part, at, Want::Gradient)?;
        Ok((there.value, there.gradient))
    }

    fn curvature(&self, at: &DVector<f64>, of: &[usize]) -> Result<Evaluation> {
        self.target.evaluate(self.part, at, Want::Curvature(of))
    }
}

/// Refuses losses that are not convex, and options that have no meaning beside a penalty.
fn refuse(task: FitTask<'_>, options: &FitOptions) -> Result<()> {
    refuse_options(task.model, options)?;
    let wrong = |reason: &'static str| Err(Error::option("penalty", reason));
    if task.model.is_normalized() {
        return wrong("needs a model with a free constant: leave `normalized` out");
    }
    if !is_convex(&options.loss) {
        return wrong("needs a convex loss, such as js or kl: choose another");
    }
    if matches!(options.noise, NoiseChoice::Optimal) {
        return wrong(
            "cannot stand beside the noise optimal, which is designed for standard errors: choose another",
        );
    }
    if options.refit_noise || options.check_ratio {
        return wrong("cannot stand beside refit_noise or check_ratio, which are about standard errors");
    }
    if task.rows.whole().is_none() {
        return Err(needs_memory("penalty"));
    }
    Ok(())
}

/// Refuses models and options that have no meaning beside a penalty, for likelihoods and contrasts alike.
fn refuse_options(model: &Model, options: &FitOptions) -> Result<()> {
    let wrong = |reason: &'static str| Err(Error::option("penalty", reason));
    if !model.energy().is_linear() {
        return wrong(
            "needs a model that is linear in its parameters: features, or a family such as ising; this one is not",
        );
    }
    if options.draws == DrawKind::Quiet {
        return wrong(
            "cannot stand beside quiet draws, which cross-validation would tear apart: leave draws out",
        );
    }
    Ok(())
}

/// Whether the constant is summed over all states: that was asked for, or they are few.
fn is_summed(model: &Model, options: &FitOptions) -> Result<bool> {
    let states = NormalizerMethod::of(model) == Ok(NormalizerMethod::Enumeration);
    if matches!(options.noise, NoiseChoice::Exact) {
        let reason =
            "can stand beside the noise exact for models of finitely many states alone: leave it out";
        return if states { Ok(true) } else { Err(Error::option("penalty", reason)) };
    }
    let few = model.space().state_count().is_some_and(|count| count <= MOST_STATES);
    Ok(states && few && noise_choice::is_exact(model, options))
}

/// As many noise points as are usual, if their features can be kept.
fn usual_points(task: FitTask<'_>) -> usize {
    let kept = prepare::most_kept() / task.model.coordinates().len().max(1);
    let room = kept.saturating_sub(task.rows.rows()).max(BLOCK);
    ((USUAL_RATIO * task.rows.total_weight()) as usize).max(BLOCK).min(room)
}

impl Amount {
    /// The number of noise points that is asked for; `usual` where that is left open.
    pub(crate) fn points(self, total: f64, usual: impl FnOnce() -> usize) -> usize {
        match self {
            Self::Points(points) => points,
            Self::Ratio(nu) => ((nu * total).round() as usize).max(1),
            Self::Auto { .. } => usual(),
        }
    }
}
