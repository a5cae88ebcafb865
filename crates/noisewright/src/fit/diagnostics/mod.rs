//! What a fit cannot say by itself: whether there is an answer, whether the noise served, whether the model fits.

mod cross_fit;
mod efficiency;
mod exact;
mod finding;
mod information;
mod messages;
mod noise_diagnostics;
mod overlap;
mod ratio_check;
mod remedy;
mod rows;
mod runaway;
mod separation;
#[cfg(test)]
mod tests;
mod warning;
mod weighted_information;

pub use crate::integrability::NotNormalizable;
pub(crate) use cross_fit::{NoiseFit, cross_fitted_test};
pub use efficiency::ErrorBudget;
pub(crate) use efficiency::error_budget;
pub(crate) use exact::on_border;
pub use finding::Against;
pub use finding::Finding;
pub use information::ChiSquareTest;
pub(crate) use messages::SMALL_SHARE;
pub(crate) use noise_diagnostics::{OfSamples, out_of_touch, overlap_at, separated};
pub use overlap::{Overlap, Tails};
pub use ratio_check::RatioCheck;
pub(crate) use ratio_check::add_ratio_check;
pub use remedy::{Remedy, Setting};
pub(crate) use rows::{Block, Rows};
pub(crate) use runaway::NearMinimum;
pub use runaway::Runaway;
pub(crate) use separation::separation;
pub use separation::{DivergingParameter, Separation};
pub use warning::{Warning, WarningKind};

use super::estimate::Notes;
use super::method::FitMethod;
use super::optimal::OptimalReport;
use super::result::Fit;
use super::two_step::TwoStepReport;
use crate::{LOG_NORMALIZER, Model};
use noisewright_numerics::optimize::Stop;

/// Share of a variance that may come from the noise before it is worth a word.
const MOST_NOISE: f64 = 0.5;

/// What is known about a fit beside its numbers.
///
/// ```
/// use noisewright::{Model, Normal, Space, sample};
/// use noisewright::fit::WarningKind;
///
/// // Data and noise without a common point: no parameter of their ratio is finite, and the fit says so.
/// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
/// let points = sample(&Normal::with_variance(40.0, 1.0)?, 200, 1);
/// let fitted = model.fit(&points).noise(Normal::with_variance(0.0, 1.0)?).ratio(1.0).run()?;
/// assert!(fitted.diagnostics.no_answer().is_some());
/// assert!(fitted.diagnostics.has(WarningKind::NoOverlap));
/// assert!(fitted.diagnostics.overlap.unwrap().overlap < 1e-6);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Diagnostics {
    /// The direction in which parameters run to infinity, where they do.
    pub separation: Option<Separation>,
    /// The parameter that runs to infinity in a model that is not linear, where one does.
    pub runaway: Option<Runaway>,
    /// Where the fitted density has no integral, if so.
    pub not_normalizable: Option<NotNormalizable>,
    /// How much data and noise overlap; absent for an exact fit.
    pub overlap: Option<Overlap>,
    /// How far the noise's tails reach; absent for an exact fit.
    pub tails: Option<Tails>,
    /// The information-matrix test of the model; only for the JS loss and for exact fits.
    pub information_test: Option<ChiSquareTest>,
    /// Why there is no such test, where there is none.
    pub information_test_absent: Option<String>,
    /// The comparison with four times as much noise, where it was asked for.
    pub ratio_check: Option<RatioCheck>,
    /// Where the error of every coordinate comes from.
    pub error_budget: Vec<ErrorBudget>,
    /// What the designed noise was expected to be worth, where one was asked for.
    pub optimal: Option<OptimalReport>,
    /// What the refit of the noise did, where one was asked for.
    pub two_step: Option<TwoStepReport>,
    /// What a user should know, the gravest first.
    pub warnings: Vec<Warning>,
}

impl Diagnostics {
    /// Why the estimates are no answer, if they are not.
    #[must_use]
    pub fn no_answer(&self) -> Option<&Warning> {
        self.warnings.iter().find(|warning| warning.kind.is_fatal())
    }

    /// Whether there is a warning of this kind.
    #[must_use]
    pub fn has(&self, kind: WarningKind) -> bool {
        self.warnings.iter().any(|warning| warning.kind == kind)
    }

    /// Adds a warning, fatal ones before all others.
    pub(crate) fn warn(&mut self, warning: Warning) {
        let at = if warning.kind.is_fatal() {
            self.warnings.iter().take_while(|w| w.kind.is_fatal()).count()
        } else {
            self.warnings.len()
        };
        self.warnings.insert(at, warning);
    }

    /// Whether the test that takes the noise as given rejects the model.
    pub(crate) fn doubts_model(&self) -> bool {
        self.information_test.as_ref().is_some_and(messages::rejects)
    }

    /// Puts the test with a noise that was fitted to other rows in place of the one that takes the noise as given; a row stands
    /// for `per_row` observations on the average.
    pub(crate) fn retest(&mut self, test: ChiSquareTest, per_row: f64) {
        self.warnings.retain(|warning| warning.kind != WarningKind::Misspecified);
        if let Some(warning) = messages::misspecified(&test, per_row) {
            self.warn(warning);
        }
        self.information_test = Some(test);
    }

    /// Says that a parameter has no finite estimate.
    pub(crate) fn runs_away(&mut self, runaway: Runaway, confidence: f64) {
        self.warnings.retain(|warning| warning.kind != WarningKind::NotConverged);
        self.warn(messages::runs_away(&runaway, confidence));
        self.runaway = Some(runaway);
    }

    /// Notes the direction in which parameters run to infinity, if there is one.
    pub(crate) fn separated(&mut self, separation: Option<&Separation>, against: Against) {
        if let Some(found) = separation {
            self.warn(messages::separated(found, against));
        }
        self.separation = separation.cloned();
    }

    /// Says where the fitted density has no integral.
    pub(crate) fn endless(&mut self, found: NotNormalizable) {
        self.warn(messages::not_normalizable(&found));
        self.not_normalizable = Some(found);
    }

    /// Takes over what the making of the estimate had to tell.
    pub(crate) fn take(&mut self, notes: Notes) {
        self.optimal = notes.optimal;
        self.two_step = notes.two_step;
        notes.warnings.into_iter().for_each(|warning| self.warn(warning));
    }

    /// What the numbers of a fit say by themselves.
    pub(crate) fn read(&mut self, model: &Model, fit: &Fit) {
        self.read_bounds(model, fit);
        if let Some(rows) = fit.effective_rows.filter(|rows| *rows < crate::tolerance::FEWEST_EFFECTIVE_ROWS)
        {
            self.warn(messages::few_effective_rows(rows));
        }
        if fit.covariance_data.diagonal().iter().any(|variance| variance.is_nan()) {
            self.warn(messages::one_cluster());
        } else if let Some(clusters) = fit.few_clusters {
            self.warn(messages::few_clusters(clusters));
        }
        if !fit.converged && self.no_answer().is_none() {
            self.warn(messages::not_converged(fit.stop, fit.iterations));
        }
        if fit.optima.len() > 1 {
            self.warn(messages::several_optima(fit.optima.len()));
        }
    }

    /// The same for penalised estimates, which may have no standard errors.
    pub(crate) fn read_penalized(&mut self, model: &Model, fit: &Fit) {
        self.read_bounds(model, fit);
        if !fit.converged {
            self.warn(messages::not_converged(fit.stop, fit.iterations));
        }
    }

    /// The same for a likelihood of which no maximum was found; `wall` is where its density ceased to integrate.
    pub(crate) fn read_without_maximum(&mut self, model: &Model, fit: &Fit, wall: Option<&crate::Error>) {
        if self.no_answer().is_none() {
            self.warn(messages::no_maximum(fit.stop, fit.iterations, wall));
        }
        self.read(model, fit);
    }

    /// Estimates at a bound: one that the user wrote is a wish, and the estimate on it an answer; the family's own is where its
    /// formula stops being a probability, and what the fit does there says nothing about the data.
    fn read_bounds(&mut self, model: &Model, fit: &Fit) {
        let at_bound = model.parameters().iter().zip(&fit.parameters).enumerate();
        for (j, (parameter, estimate)) in at_bound.filter(|(_, (_, estimate))| estimate.at_bound) {
            let lower =
                (estimate.estimate - parameter.lower).abs() <= (parameter.upper - estimate.estimate).abs();
            let bound = if lower { parameter.lower } else { parameter.upper };
            self.warn(match model.family_edge(j, lower) {
                Some(family) => messages::beyond_family(&parameter.name, bound, lower, family),
                None => messages::at_bound(&parameter.name, bound, lower),
            });
        }
    }

    /// The unknown of whose variance the noise has the largest share, and that, where it is much.
    pub(crate) fn most_noise(&self) -> Option<(usize, f64)> {
        // Beside parameters the constant's share says little: its data part may be next to nothing.
        let counts = |b: &ErrorBudget| b.name != LOG_NORMALIZER || self.error_budget.len() == 1;
        let known = |b: &ErrorBudget| b.variance > 0.0 && b.variance.is_finite();
        let shares = self.error_budget.iter().enumerate().filter(|(_, b)| counts(b) && known(b));
        let worst = shares.map(|(j, b)| (j, 1.0 - b.data_share)).max_by(|a, b| a.1.total_cmp(&b.1));
        worst.filter(|(_, share)| *share > MOST_NOISE && self.no_answer().is_none())
    }

    /// Adds a method without noise to what can be done where the noise serves badly, if there is one.
    pub(crate) fn offer(&mut self, method: impl FnOnce() -> Option<FitMethod>) {
        if !self.warnings.iter().any(Warning::is_short_of_noise) {
            return;
        }
        let Some(method) = method() else { return };
        for warning in self.warnings.iter_mut().filter(|warning| warning.is_short_of_noise()) {
            warning.remedies.push(Remedy::WithoutNoise { method });
        }
    }

    /// Says that much of an error comes from the noise; with ν noise points per data point its share would be small.
    pub(crate) fn noisy(&mut self, unknown: usize, share: f64, nu: f64) {
        let warning = messages::noise_error(&self.error_budget[unknown].name, share, nu);
        self.warn(warning);
    }

    /// The same for a conditional model: with so many noise points a row its share would be small.
    pub(crate) fn noisy_choices(&mut self, unknown: usize, share: f64, choices: usize) {
        let warning = messages::choice_error(&self.error_budget[unknown].name, share, choices);
        self.warn(warning);
    }
}
