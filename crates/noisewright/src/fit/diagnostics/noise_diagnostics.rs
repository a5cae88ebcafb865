//! The diagnostics of a fit against noise.

use nalgebra::{DMatrix, DVector};

use super::super::covariance;
use super::super::estimate::Contrasted;
use super::super::evaluate::{ChunkView, ParameterPoint};
use super::super::loss_terms::Class;
use super::super::objective::Objective;
use super::super::optimism::OptimismSums;
use super::super::options::FitOptions;
use super::super::part::Part as FewRows;
use super::super::result::Fit;
use super::super::scaling::Scaling;
use super::Against;
use super::information::{ChiSquareTest, InformationTest};
use super::overlap::Gathered;
use super::rows::{Block, Part, Rows};
use super::runaway::{NearMinimum, Runaway};
use super::separation::{Separation, separation};
use super::weighted_information::WeightedTest;
use super::{Diagnostics, Overlap, Tails, Warning, efficiency, messages};
use crate::fit::distributed::{Partial, once_by};
use crate::integrability::{NotNormalizable, of_fitted};
use crate::run::if_possible;
use crate::tolerance::NO_VARIANCE;
use crate::{Domain, Error, Loss, Result};
use noisewright_numerics::optimize::Stop;

/// Information about some direction below that of so many points of data asks whether there is any at all.
pub(super) const FEW_POINTS: f64 = 1.0;

/// Largest share of the noise in a variance from which a larger ratio is predicted, how many ratios are tried, and by how many times too
/// much noise may be left in the end.
const MOST_PREDICTED: f64 = 0.999;
const MOST_RATIOS: usize = 12;
const SLIGHT_EXCESS: f64 = 1.02;

/// Rows of each sample, at most, that tell which ratio would do: it is an advice, and need not cost a pass over all rows for every ratio
/// that is tried. A variance of so many has an error of about one per cent.
const ADVISING_ROWS: usize = 1 << 16;

/// Rows that tell where the data are, at most.
const SAMPLE_ROWS: usize = 1 << 14;

/// The rows of a fit at one place, in the coordinates of the solver.
struct PlacedRows<'o, 'a> {
    objective: &'o Objective<'a>,
    place: &'o ParameterPoint,
}

/// The direction along which the loss of a linear model falls for ever, where there is one; `at` and `hessian` are where
/// the descent ended, `free` the coordinates that are not held at a bound.
///
/// A Newton iteration that runs to infinity ends with next to no information along its way, and may well call itself
/// converged.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn separated(
    objective: &Objective<'_>,
    at: &[f64],
    hessian: &DMatrix<f64>,
    free: &[usize],
    stop: Stop,
) -> Result<Option<Separation>> {
    if !objective.linear || objective.model.is_normalized() {
        return Ok(None);
    }
    let part = DMatrix::from_fn(free.len(), free.len(), |i, j| hessian[(free[i], free[j])]);
    let mut excess = part * objective.data.total;
    (0..free.len()).for_each(|j| excess[(j, j)] -= FEW_POINTS);
    // Every eigenvalue is above that where what is left is positive definite.
    let suspicious =
        !stop.converged() || !excess.iter().all(|v| v.is_finite()) || excess.cholesky().is_none();
    let Some(place) = ParameterPoint::new(objective, at).filter(|_| suspicious) else { return Ok(None) };
    let (names, rows) = (objective.names(), PlacedRows { objective, place: &place });
    let free_names: Vec<String> = free.iter().map(|j| names[*j].clone()).collect();
    let found = separation(&Part { rows: &rows, free }, &free_names)?;
    Ok(found.map(|found| found.among(free, names.len()).outer(&objective.scaling)))
}

/// How much data and noise overlap at this place.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn overlap_at(objective: &Objective<'_>, at: &[f64]) -> Result<Overlap> {
    let place = ParameterPoint::new(objective, at).ok_or(Error::NoMass)?;
    let new = || Gathered::new(objective.data.total, objective.loss.inverse_power());
    let gathered = PlacedRows { objective, place: &place }.gather(new, Gathered::add, Gathered::join)?;
    Ok(gathered.overlap(objective.nu))
}

/// Whether data and noise have so little in common at this place that nothing can be said.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn out_of_touch(objective: &Objective<'_>, at: &[f64]) -> Result<bool> {
    if ParameterPoint::new(objective, at).is_none() {
        return Ok(false);
    }
    Ok(overlap_at(objective, at)?.is_hopeless())
}

impl Contrasted<'_> {
    /// Whether there is an answer at all: a separation, a density that does not integrate, samples that do not touch.
    ///
    /// # Errors
    /// When the rows cannot be passed over again.
    pub(crate) fn existence(&self, fit: &Fit, said: &mut Diagnostics) -> Result<()> {
        self.finiteness(fit, said)?;
        let Some(gathered) = self.gathered(fit)? else { return Ok(()) };
        let overlap = messages::overlap(&gathered.overlap(fit.nu), fit, subject(&self.objective));
        overlap.into_iter().for_each(|warning| said.warn(warning));
        Ok(())
    }

    /// Whether the weights p/p_n at the noise points have a tail so light that their variance is finite.
    ///
    /// # Errors
    /// When the rows cannot be passed over again.
    pub(crate) fn weights_have_variance(&self, fit: &Fit) -> Result<bool> {
        let shape = self.gathered(fit)?.and_then(|gathered| gathered.weight_shape());
        Ok(shape.is_some_and(|shape| shape.upper < NO_VARIANCE))
    }

    /// Whether the noise's tails are seen to be lighter than the data's, so that a few of its points carry the sums.
    ///
    /// # Errors
    /// When the rows cannot be passed over again.
    pub(crate) fn has_light_tails(&self, fit: &Fit) -> Result<bool> {
        let Some(gathered) = self.gathered(fit)? else { return Ok(false) };
        Ok(light_tails(&self.objective, &gathered.tails(fit.nu)).is_some())
    }

    /// Overlap and tails, in a pass of their own.
    fn gathered(&self, fit: &Fit) -> Result<Option<Gathered>> {
        let Some(place) = ParameterPoint::new(&self.objective, self.at.as_slice()) else { return Ok(None) };
        let rows = PlacedRows { objective: &self.objective, place: &place };
        let power = self.objective.loss.inverse_power();
        rows.gather(|| Gathered::new(fit.total_weight, power), Gathered::add, Gathered::join).map(Some)
    }

    /// A parameter of a model that is not linear which has no finite estimate, if there is one.
    ///
    /// # Errors
    /// When the loss cannot be evaluated, or the fit is cancelled.
    pub(crate) fn runaway(&self, options: &FitOptions) -> Result<Option<Runaway>> {
        if self.objective.linear {
            return Ok(None);
        }
        let (problem, model) = (&self.objective, self.objective.model);
        NearMinimum { problem, model, unit: &self.objective.unit, at: &self.at, bound: &self.held }
            .runaway(options)
    }

    /// Noise points per data point with which the noise's part of a variance is as small a share as wanted, from the share that it
    /// has. It does not fall like 1/ν, because the weights of the loss change with ν: every ratio is tried with its own, on
    /// the points that there are.
    ///
    /// # Errors
    /// When the rows cannot be passed over again.
    pub(crate) fn ratio_for_share(&self, unknown: usize, share: f64, wanted: f64) -> Result<f64> {
        let whole = &self.objective;
        let few = (whole.data.rows.min(ADVISING_ROWS), whole.noise.rows.min(ADVISING_ROWS));
        let all = whole.data.rows + whole.noise.rows == few.0 + few.1;
        let Some(picked) = (if all { None } else { FewRows::of(whole, few) }) else {
            return self.ratio_on(whole, unknown, share, wanted);
        };
        once_by(whole.data.host(), || self.ratio_on(&picked.objective(whole)?, unknown, share, wanted))
    }

    /// The same on the points of an objective.
    fn ratio_on(&self, objective: &Objective<'_>, unknown: usize, share: f64, wanted: f64) -> Result<f64> {
        let at = self.at.as_slice();
        let free: Vec<usize> = (0..objective.size()).filter(|j| !self.held[*j]).collect();
        // The noise's part over the data's; no number where the points that there are do not tell.
        let part = |nu: f64| -> Result<f64> {
            let Some((data, noise)) = if_possible(covariance::model_based(objective, &free, at, nu))? else {
                return Ok(f64::NAN);
            };
            let [data, noise] = [data, noise].map(|m| objective.scaling.outer_covariance(&m));
            Ok(noise[(unknown, unknown)] / data[(unknown, unknown)])
        };
        let odds = |share: f64| share / (1.0 - share);
        // If the model is wrong, so is its prediction, at this ratio by a known factor.
        let factor = odds(share.min(MOST_PREDICTED)) / part(objective.nu)?;
        let mut nu = objective.nu;
        let mut excess = odds(share.min(MOST_PREDICTED)) / odds(wanted);
        for _ in 0..MOST_RATIOS {
            nu *= excess;
            excess = factor * part(nu)? / odds(wanted);
            if !excess.is_finite() || excess < SLIGHT_EXCESS {
                break;
            }
        }
        Ok(nu)
    }

    /// A separation, or a density that does not integrate.
    fn finiteness(&self, fit: &Fit, said: &mut Diagnostics) -> Result<()> {
        said.separated(self.separation.as_ref(), subject(&self.objective));
        if self.separation.is_none()
            && let Some(found) = integrability(&self.objective, fit)
        {
            said.endless(found);
        }
        Ok(())
    }

    /// All that the two samples say about a fit; `independent` says that no rows of data are correlated, without which no model is
    /// tested and the optimism is not known.
    ///
    /// # Errors
    /// When the rows cannot be passed over again.
    pub(crate) fn judge(&self, fit: &Fit, independent: bool, said: &mut Diagnostics) -> Result<OfSamples> {
        let objective = &self.objective;
        let place = ParameterPoint::new(objective, self.at.as_slice());
        let Some(place) = place else { return Ok(OfSamples::default()) };
        self.finiteness(fit, said)?;
        let rows = PlacedRows { objective, place: &place };
        let weighted = self.weighted_test(fit, &place)?;
        let other = weighted.as_ref().and_then(WeightedTest::finish);
        let information = &self.hessian * fit.total_weight;
        let (test, optimism) = rows.measure(fit, &information, independent, other, said)?;
        let model_based = match (test, weighted) {
            (Some(test), _) => {
                let mean = test.weighted_score() / fit.total_weight;
                efficiency::model_based(&self.hessian, &mean, fit.nu, fit.total_weight)
            }
            (None, weighted) => weighted.and_then(|test| test.model_based()),
        };
        Ok(OfSamples {
            model_based: model_based.map(|covariance| objective.scaling.outer_covariance(&covariance)),
            optimism: optimism.and_then(|sums| sums.finish(&self.hessian, &self.held)),
        })
    }
}

/// What the two samples say about a fit, beside what is worth a warning.
#[derive(Default)]
pub(crate) struct OfSamples {
    /// The covariance if the model is true, where they tell.
    pub(crate) model_based: Option<DMatrix<f64>>,
    /// By how much the log-likelihood of the rows exceeds that of others.
    pub(crate) optimism: Option<f64>,
}

impl Contrasted<'_> {
    /// The test for a ratio of its own in the loss, or for quiet noise; the plain one serves otherwise.
    fn weighted_test(&self, fit: &Fit, place: &ParameterPoint) -> Result<Option<WeightedTest>> {
        let objective = &self.objective;
        let tested = has_test(objective) && !is_plain(objective) && is_tested(fit);
        let sizes: Vec<f64> = self.hessian.diagonal().iter().map(|d| d.abs()).collect();
        tested.then(|| WeightedTest::gather(objective, place, &sizes)).transpose()
    }
}

/// Whether the information-matrix test is known for the loss: for JS, and for its limit M → ∞ against quiet noise.
fn has_test(objective: &Objective<'_>) -> bool {
    objective.loss.is_js()
        || (matches!(objective.loss, Loss::Kl) && objective.noise.replicate_points.is_some())
}

/// Finitely many states have no tails, whatever shape their ratios have.
fn has_tails(objective: &Objective<'_>) -> bool {
    objective.model.space().state_count().is_none()
}

/// The warning of tails that are too light, if they are.
fn light_tails(objective: &Objective<'_>, tails: &Tails) -> Option<Warning> {
    let finite = |domain: &Domain| domain.bounds().0.is_finite() && domain.bounds().1.is_finite();
    let compact = objective.model.space().domains().iter().all(finite);
    messages::tails(tails, &objective.loss, subject(objective), compact).filter(|_| has_tails(objective))
}

/// Whether the fit is a logistic regression of independent rows.
fn is_plain(objective: &Objective<'_>) -> bool {
    matches!(objective.loss, Loss::Js) && objective.noise.replicate_points.is_none()
}

/// Whether a fit ended where the test of a model means something.
fn is_tested(fit: &Fit) -> bool {
    fit.converged && fit.parameters.iter().all(|parameter| !parameter.at_bound)
}

/// What the sentences are about.
fn subject(objective: &Objective<'_>) -> Against {
    if objective.of_density { Against::Noise } else { Against::Sample }
}

/// Where the fitted density has no integral, if so.
fn integrability(objective: &Objective<'_>, fit: &Fit) -> Option<NotNormalizable> {
    if objective.model.is_normalized() || !objective.of_density {
        return None;
    }
    let some = objective.data.spread(SAMPLE_ROWS)?;
    of_fitted(objective.model, &fit.theta(), some.view())
}

/// What one pass over the rows gathers.
type Measured = (Gathered, (Option<InformationTest>, Option<OptimismSums>));

impl PlacedRows<'_, '_> {
    /// Overlap, tails, the information-matrix test and what the optimism takes, in one pass; `information` is T_d times the Hessian.
    fn measure(
        &self,
        fit: &Fit,
        information: &DMatrix<f64>,
        independent: bool,
        other: Option<ChiSquareTest>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(Option<InformationTest>, Option<OptimismSums>)> {
        let inside = fit.parameters.iter().all(|parameter| !parameter.at_bound);
        let js = has_test(self.objective);
        let tested = is_plain(self.objective) && is_tested(fit);
        let sizes: Vec<f64> = information.diagonal().iter().map(|d| d.abs()).collect();
        let loss = &self.objective.loss;
        let power = loss.inverse_power();
        // Of a ratio no likelihood is known.
        let judged = independent && self.objective.of_density;
        let new = || {
            let optimism = judged.then(|| OptimismSums::new(sizes.len()));
            (Gathered::new(fit.total_weight, power), (tested.then(|| InformationTest::new(&sizes)), optimism))
        };
        let add = |(gathered, (test, optimism)): &mut Measured, block: &Block<'_>| {
            gathered.add(block);
            if let Some(test) = test {
                test.add(block);
            }
            if let Some(optimism) = optimism {
                optimism.add(loss, block);
            }
        };
        let join = |(a, of_a): Measured, (b, of_b): Measured| {
            let test = of_a.0.zip(of_b.0).map(|(a, b)| a.join(b));
            (a.join(b), (test, of_a.1.zip(of_b.1).map(|(a, b)| a.join(b))))
        };
        let (gathered, (test, optimism)) = self.gather(new, add, join)?;
        diagnostics.information_test =
            test.as_ref().and_then(|test| test.finish(information)).or(other).filter(|_| independent);
        if diagnostics.information_test.is_none() {
            let reason = if js && is_tested(fit) && independent {
                messages::NOTHING_TO_TEST
            } else {
                messages::not_tested(fit, inside, js)
            };
            diagnostics.information_test_absent = Some(reason.into());
        }
        self.warn(fit, &gathered, diagnostics);
        Ok((test, optimism))
    }

    /// Says what overlap, tails, weights and the test show.
    fn warn(&self, fit: &Fit, gathered: &Gathered, diagnostics: &mut Diagnostics) {
        let loss = &self.objective.loss;
        let (overlap, tails) = (gathered.overlap(fit.nu), gathered.tails(fit.nu));
        let misspecified = diagnostics
            .information_test
            .as_ref()
            .and_then(|test| messages::misspecified(test, fit.observations_per_row()));
        let weighted = (loss.inverse_power() > 0.0)
            .then(|| messages::few_weighted_rows(gathered.weighted_share(), fit, loss));
        let heavy = messages::heavy_weights(&tails, loss).filter(|_| has_tails(self.objective));
        let found = [
            messages::overlap(&overlap, fit, subject(self.objective)),
            light_tails(self.objective, &tails),
            heavy.or(weighted.flatten()),
            misspecified,
        ];
        found.into_iter().flatten().for_each(|warning| diagnostics.warn(warning));
        diagnostics.overlap = Some(overlap);
        diagnostics.tails = Some(tails);
    }
}

impl Rows for PlacedRows<'_, '_> {
    fn coordinates(&self) -> usize {
        self.objective.size()
    }

    fn gather<T: Send + Partial>(
        &self,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Block<'_>) + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        let objective = self.objective;
        let visit = |class: Class| {
            let add = &add;
            move |total: &mut T, seen: &ChunkView<'_>| {
                let data = class == Class::Data;
                let (log_ratio, weights) = (seen.log_ratio, seen.weights);
                add(
                    total,
                    &Block {
                        data,
                        rows: log_ratio.len(),
                        first_row: seen.first_row,
                        score: seen.score,
                        log_ratio,
                        weights,
                    },
                );
                Ok(())
            }
        };
        let data = objective.fold(&objective.data, self.place, &new, visit(Class::Data), &join)?;
        let noise = objective.fold(&objective.noise, self.place, &new, visit(Class::Noise), &join)?;
        Ok(join(data, noise))
    }
}

impl Separation {
    /// The same among all coordinates, of which these are the free ones.
    fn among(mut self, free: &[usize], size: usize) -> Self {
        let mut direction = vec![0.0; size];
        free.iter().zip(&self.direction).for_each(|(j, d)| direction[*j] = *d);
        self.direction = direction;
        self.running.iter_mut().for_each(|running| running.index = free[running.index]);
        self
    }

    /// The same in the parameters that a user knows.
    fn outer(mut self, scaling: &Scaling) -> Self {
        let outer = scaling.outer_direction(&DVector::from_column_slice(&self.direction));
        let largest = outer.rows(0, scaling.scale.len()).amax();
        self.direction = outer.iter().map(|d| d / largest).collect();
        for running in &mut self.running {
            if let (Some(center), Some(scale)) =
                (scaling.center.get(running.index), scaling.scale.get(running.index))
            {
                let own = |range: [f64; 2]| range.map(|z| center + scale * z);
                (running.data_range, running.noise_range) =
                    (own(running.data_range), own(running.noise_range));
            }
        }
        self
    }
}
