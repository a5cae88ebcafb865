//! Quiet noise in a fit (MATH §8): how many points, which ratio inside the loss, and whether it pays.

pub(crate) mod replicates;

use std::sync::Arc;

use nalgebra::DMatrix;

use super::covariance;
use super::curvature::Curvature;
use super::data_rows::{DataRows, SOME_ROWS};
use super::diagnostics::{Finding, Remedy, Warning};
use super::estimate::{Basis, Contrasted, Estimated, FitTask};
use super::fit_against_noise::{Against, estimate_against, estimate_near};
use super::noise_choice::{shortfall, worse_optima};
use super::objective::Order;
use super::options::{Amount, DrawKind, FitOptions};
use super::result::{Fit, Optimum};
use crate::noise::quiet::{REPLICATES, Replicates, quiet_dimension};
use crate::{Loss, Noise, Result};

/// Points of a replicate in the first round, at least.
const LEAST_FIRST_POINTS: usize = 32;
/// And per unknown: all replicates together have 32 points per unknown.
const FIRST_POINTS_PER_UNKNOWN: usize = 2;
/// The power of the number of points like which the noise part of a variance is taken to fall in one round: between 1 for
/// independent points and 3 for smooth functions of few variables. Where it falls less, another round follows.
const RATE: f64 = 2.0;
/// Rounds in which points are added.
const ROUNDS: usize = 6;
/// Quiet noise pays where it needs at most this share of the points that independent noise would need.
const PAYS: f64 = 0.5;
/// M that is taken before anything is known.
pub(crate) const USUAL_RATIO: f64 = 10.0;
/// Share of the variances that is not worth another ratio. Of those that are as good the largest is taken, which is nearest to
/// maximum likelihood, also where the model is wrong and every loss has a limit of its own.
const AS_GOOD: f64 = 0.02;
/// Ratios that are tried beside ν, unless it is near to one of them, and M = ∞, KL, where the tail of its weights
/// p/p_n, which have no bound, is light.
const RATIOS: [f64; 4] = [1.0, 3.0, USUAL_RATIO, 30.0];
/// Standard errors within which two minima are one answer.
const NEAR: f64 = 2.0;
/// Fewest points of a replicate: a net of one point is an independent draw.
const FEWEST: usize = 2;

impl Replicates {
    /// As many as a first look at so many unknowns takes, and no more than `most` points; `None` where not even the fewest are
    /// allowed.
    fn first(unknowns: usize, most: usize) -> Option<Self> {
        let wanted = LEAST_FIRST_POINTS.max(FIRST_POINTS_PER_UNKNOWN * unknowns).next_power_of_two();
        let allowed = (most / REPLICATES).checked_ilog2().map(|exponent| 1 << exponent)?;
        (allowed >= FEWEST).then_some(Self { count: REPLICATES, points: wanted.min(allowed) })
    }

    /// Enough for a noise part that is `factor` times too large.
    fn grown(self, factor: f64) -> Self {
        let wanted = self.points as f64 * factor.powf(1.0 / RATE).max(2.0);
        Self { points: 1 << (wanted.log2() - 0.1).ceil().clamp(1.0, 32.0) as u32, ..self }
    }
}

/// Whether a fit with these options is to be tried with quiet noise.
pub(crate) fn is_wanted(noise: &dyn Noise, options: &FitOptions) -> bool {
    match options.draws {
        DrawKind::Random => false,
        DrawKind::Quiet => true,
        // A given amount is kept to the point.
        DrawKind::Auto => {
            matches!(options.amount, Amount::Auto { .. })
                && options.loss.is_js()
                && !options.refit_noise
                && quiet_dimension(&noise).is_ok()
        }
    }
}

/// Estimates with quiet noise; `None` where independent noise is to be preferred and was not excluded.
///
/// # Errors
/// When the noise cannot be drawn quietly although that was asked for, or as for any fit.
pub(crate) fn estimate<'a>(
    task: FitTask<'a>,
    noise: &Arc<dyn Noise>,
    options: &FitOptions,
) -> Result<Option<Estimated<'a>>> {
    quiet_dimension(noise)?;
    let total = task.rows.total_weight();
    let rounds = Rounds { task, noise, options, must: options.draws == DrawKind::Quiet };
    match options.amount {
        Amount::Points(points) => rounds.fixed(points as f64).map(Some),
        Amount::Ratio(nu) => rounds.fixed(nu * total).map(Some),
        Amount::Auto { share, most_values } => {
            let most = most_values / task.model.coordinates().len();
            if task.rows.rows() <= SOME_ROWS {
                return rounds.enough(share, most);
            }
            // Of many rows some tell how much noise all of them need, so that those are passed over for one fit alone.
            let some = task.rows.spread(SOME_ROWS);
            let scale = total / some.data().total_weight();
            let part = FitTask { rows: DataRows::Memory(some.data()), ..task };
            let share = (share * share / scale).sqrt();
            let Some(pilot) = (Rounds { task: part, ..rounds }).enough(share, most)? else { return Ok(None) };
            rounds.like(&pilot.fit).map(Some)
        }
    }
}

/// A fit with more and more quiet noise.
#[derive(Clone, Copy)]
struct Rounds<'r, 'a> {
    task: FitTask<'a>,
    noise: &'r Arc<dyn Noise>,
    options: &'r FitOptions,
    /// Whether quiet noise was asked for.
    must: bool,
}

impl<'a> Rounds<'_, 'a> {
    fn against(
        &self,
        replicates: Replicates,
        ratio: Option<f64>,
        start: Option<&[f64]>,
    ) -> Result<Estimated<'a>> {
        let options = FitOptions { loss_ratio: ratio.or(self.options.loss_ratio), ..self.options.clone() };
        let against = Against::Quiet(self.noise.clone(), replicates);
        let mut found = estimate_against(self.task, &against, &options, start)?;
        drop_near_optima(&mut found.fit);
        Ok(found)
    }

    /// With other points or another ratio, from an estimate that is near.
    fn near(
        &self,
        replicates: Replicates,
        ratio: Option<f64>,
        near: &Estimated<'a>,
    ) -> Result<Estimated<'a>> {
        let options = FitOptions { loss_ratio: ratio.or(self.options.loss_ratio), ..self.options.clone() };
        let against = Against::Quiet(self.noise.clone(), replicates);
        let mut found = estimate_near(self.task, &against, &options, near)?;
        drop_near_optima(&mut found.fit);
        Ok(found)
    }

    /// With a given number of points.
    fn fixed(&self, points: f64) -> Result<Estimated<'a>> {
        let replicates = Replicates::nearest(points.round() as usize);
        let mut found = self.against(replicates, None, None)?;
        if let Some(ratio) = self.better_ratio(&mut found)? {
            let others = worse_optima(&found.fit);
            found = self.near(replicates, Some(ratio), &found)?;
            found.fit.remember(&others);
        }
        let (asked, drawn) = (points.round() as usize, replicates.rows());
        if asked != drawn {
            let finding = Finding::RoundedNoise { asked, drawn, replicates: replicates.count };
            found.notes.warnings.push(Warning::new(finding, [Remedy::PowerOfTwo]));
        }
        Ok(found)
    }

    /// As a fit of other rows was made, from where it ended.
    fn like(&self, pilot: &Fit) -> Result<Estimated<'a>> {
        let replicates = Replicates { count: REPLICATES, points: pilot.noise_points / REPLICATES };
        let mut found = self.against(replicates, pilot.loss_ratio, Some(&pilot.unknowns()))?;
        found.fit.remember(&worse_optima(pilot));
        found.fit.budget_spent = pilot.budget_spent;
        Ok(found)
    }

    /// Until the noise part of every standard error is small enough, or the budget ends; `None` where independent noise would
    /// do with not many more points.
    fn enough(&self, share: f64, most: usize) -> Result<Option<Estimated<'a>>> {
        let first = Replicates::first(self.task.model.coordinates().len(), most);
        if first.is_none() && !self.must {
            return Ok(None);
        }
        let mut replicates = first.unwrap_or(Replicates { count: REPLICATES, points: FEWEST });
        let mut found = self.against(replicates, None, None)?;
        let others = worse_optima(&found.fit);
        let (mut ratio, mut chosen) = (None, false);
        for _ in 0..ROUNDS {
            let excess = shortfall(&found.fit, share);
            let gain = found.fit.noise_gain.unwrap_or(1.0);
            if !found.fit.converged || (!self.must && !pays(gain, replicates, excess)) {
                return Ok(self.must.then_some(found));
            }
            let next = if excess > 1.0 { replicates.grown(excess) } else { replicates };
            if next.rows() > most {
                // That the noise part falls faster later on will not be seen: the gain must be there already.
                if !self.must && !pays(gain, replicates, 1.0) {
                    return Ok(None);
                }
                break;
            }
            if excess <= 1.0 {
                if chosen {
                    break;
                }
                (ratio, chosen) = (self.better_ratio(&mut found)?, true);
                if ratio.is_none() {
                    break;
                }
            }
            found = self.near(next, ratio, &found)?;
            replicates = next;
        }
        if let Basis::Noise(contrasted) = &found.basis
            && !self.must
            && contrasted.has_light_tails(&found.fit)?
        {
            return Ok(None);
        }
        found.fit.remember(&others);
        found.fit.budget_spent = found.fit.converged && shortfall(&found.fit, share) > 1.0;
        Ok(Some(found))
    }

    /// The ratio with the smallest variances, as the samples tell at the estimate, or the largest that is as good; `None` if it is the
    /// one that was used.
    fn better_ratio(&self, found: &mut Estimated<'a>) -> Result<Option<f64>> {
        let Basis::Noise(contrasted) = &mut found.basis else { return Ok(None) };
        let usual = self.options.loss_ratio.is_none() && self.task.loss.is_js();
        if !usual || !found.fit.converged {
            return Ok(None);
        }
        let nu = found.fit.nu;
        let of_its_own = RATIOS.iter().all(|ratio| (nu / ratio).log2().abs() > 1.0);
        let mut ratios: Vec<f64> = RATIOS.into_iter().chain(of_its_own.then_some(nu)).collect();
        if contrasted.weights_have_variance(&found.fit)? {
            ratios.push(f64::INFINITY);
        }
        ratios.sort_by(|a, b| b.total_cmp(a));
        let mut known: Vec<(f64, f64)> = Vec::with_capacity(ratios.len());
        let mut hessians: Vec<(f64, DMatrix<f64>)> = Vec::new();
        for ratio in ratios {
            // Towards smaller ratios the variances fall to the least and rise again: behind it nothing is looked at, which saves passes
            // over all points.
            let least = known.iter().map(|(_, variance)| *variance).fold(f64::INFINITY, f64::min);
            if ratio < USUAL_RATIO && known.last().is_some_and(|(_, last)| *last > least) {
                break;
            }
            let smooth = found.fit.curvature == Curvature::Observed;
            let variance = if ratio == USUAL_RATIO && smooth {
                1.0
            } else {
                let loss = self.task.loss.with_ratio(ratio, nu)?;
                let (variance, hessian) = self.relative_variance(contrasted, &found.fit, loss)?;
                hessians.extend(hessian.map(|hessian| (ratio, hessian)));
                variance
            };
            known.push((ratio, variance));
        }
        let least = known.iter().map(|(_, variance)| *variance).fold(f64::INFINITY, f64::min);
        let as_good = known.iter().filter(|(_, variance)| *variance <= least * (1.0 + AS_GOOD));
        let best = as_good.map(|(ratio, _)| *ratio).fold(0.0, f64::max);
        // The search with that ratio begins here, with the curvature that its loss has here.
        let better = (best > 0.0 && best != USUAL_RATIO).then_some(best);
        if let Some((_, hessian)) = hessians.into_iter().find(|(ratio, _)| Some(*ratio) == better) {
            contrasted.hessian = hessian;
        }
        Ok(better)
    }

    /// The mean over the unknowns of their variances with another loss, in units of those that they have, and its curvature.
    fn relative_variance(
        &self,
        contrasted: &mut Contrasted<'a>,
        fit: &Fit,
        loss: Loss,
    ) -> Result<(f64, Option<DMatrix<f64>>)> {
        let own = std::mem::replace(&mut contrasted.objective.loss, loss);
        let variances = self.variances(contrasted);
        contrasted.objective.loss = own;
        let Some((variances, hessian)) = variances? else { return Ok((f64::INFINITY, None)) };
        let free = (0..variances.len()).filter(|j| !contrasted.held[*j]);
        let ratios = free.map(|j| variances[j] / fit.covariance[(j, j)]);
        let known: Vec<f64> = ratios.filter(|x| !x.is_nan()).collect();
        Ok((known.iter().sum::<f64>() / known.len().max(1) as f64, Some(hessian)))
    }

    /// The variances of the unknowns at the estimate and the curvature; `None` where the loss has none there.
    fn variances(&self, contrasted: &Contrasted<'a>) -> Result<Option<(Vec<f64>, DMatrix<f64>)>> {
        let objective = &contrasted.objective;
        let at = contrasted.at.as_slice();
        let full = objective.full(at, Order::Meat)?;
        let free: Vec<usize> = (0..objective.size()).filter(|j| !contrasted.held[*j]).collect();
        let Some(hessian) = &full.evaluation.hessian else { return Ok(None) };
        let Ok(bread) = covariance::bread(objective, at, hessian, &free) else { return Ok(None) };
        let found = covariance::parts(objective, &full, &bread, at, self.task.rows, self.options)?;
        Ok(Some((found.whole().diagonal().iter().copied().collect(), hessian.clone())))
    }
}

/// Forgets minima within the errors of the best one: few noise points make such dents in the loss of a model with kinks, and they
/// are no other answers.
fn drop_near_optima(fit: &mut Fit) {
    let near: Vec<(f64, f64)> = fit.estimates().iter().map(|e| (e.estimate, NEAR * e.se)).collect();
    let is_near = |optimum: &Optimum| {
        let pairs = || optimum.at.iter().zip(&near);
        pairs().all(|(x, (best, reach))| reach.is_finite() && (x - best).abs() <= *reach)
    };
    let mut first = true;
    fit.optima.retain(|optimum| std::mem::take(&mut first) || !is_near(optimum));
}

/// Whether quiet noise needs few points beside independent noise: `excess` is by how much the noise part is too large, so
/// that of independent points, whose variances are `gain` times larger, as many times more would be needed.
fn pays(gain: f64, replicates: Replicates, excess: f64) -> bool {
    if excess <= 1.0 {
        return gain * PAYS >= 1.0;
    }
    let independent = replicates.rows() as f64 * gain * excess;
    replicates.grown(excess).rows() as f64 <= PAYS * independent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_powers_of_two_and_a_gain_must_halve_them() {
        let of = |points: usize| Replicates::nearest(points).points;
        assert_eq!([1, 512, 1000, 1100, 1500, 1_000_000].map(of), [2, 32, 64, 64, 128, 65536]);
        let first = |unknowns, most| Replicates::first(unknowns, most).map(|r| r.points);
        assert_eq!([first(5, 9999), first(40, 9999), first(40, 1000)], [Some(32), Some(128), Some(32)]);
        assert_eq!([first(5, 33), first(5, 31), first(5, 1)], [Some(2), None, None]);
        let replicates = Replicates { count: 16, points: 64 };
        assert_eq!([1.5, 4.0, 5.0, 64.0].map(|factor| replicates.grown(factor).points), [128, 128, 256, 512]);
        // Enough already: a gain of two. Four times too much noise: twice the points do, independent ones would be 4·gain.
        assert!(pays(2.0, replicates, 0.9) && !pays(1.9, replicates, 0.9));
        assert!(pays(1.0, replicates, 4.0) && !pays(0.9, replicates, 4.0));
    }
}
