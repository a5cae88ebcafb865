//! Quiet noise in a fit (MATH §8): how many points, which ratio inside the loss, and whether it pays.

pub(crate) mod replicates;

use std::sync::Arc;

use super::covariance;
use super::data_rows::{DataRows, SOME_ROWS};
use super::estimate::{Basis, Contrasted, Estimated, FitTask};
use super::fit_against_noise::{Against, estimate_against};
use super::noise_choice::{shortfall, worse_optima};
use super::objective::Order;
use super::options::{Amount, DrawKind, FitOptions, NoiseChoice};
use super::result::Fit;
use crate::noise::quiet::quiet_dimension;
use crate::{Loss, Noise, Result};

/// Independent scrambles: the variance between so many has a relative error of √(2/15) = 37 %, and Student's quantile with
/// 15 degrees of freedom is 9 % above the normal one.
const REPLICATES: usize = 16;
/// Points of a replicate in the first round, at least, and per unknown: all replicates together have 32 points per unknown.
const FIRST_POINTS: (usize, usize) = (32, 2);
/// The power of the number of points like which the noise part of a variance is taken to fall in one round: between 1 for
/// independent points and 3 for smooth functions of few variables. Where it falls less, another round follows.
const RATE: f64 = 2.0;
/// Rounds in which points are added.
const ROUNDS: usize = 6;
/// Quiet noise pays where it needs at most this share of the points that independent noise would need.
const PAYS: f64 = 0.5;
/// M that is taken before anything is known, and kept unless another one is better by this share of the variances.
pub(crate) const USUAL_RATIO: f64 = 10.0;
const BETTER: f64 = 0.02;
/// Ratios that are tried beside ν. KL, M = ∞, is left to those who ask for it: its weights p/p_n are unbounded, and an infinite
/// variance does not show in a sample.
const RATIOS: [f64; 4] = [1.0, 3.0, USUAL_RATIO, 30.0];

/// Replicates of quiet noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replicates {
    /// Independent scrambles.
    pub(crate) count: usize,
    /// Points of each.
    pub(crate) points: usize,
}

impl Replicates {
    /// All points.
    pub(crate) fn rows(self) -> usize {
        self.count * self.points
    }

    /// As many points as asked for, to the nearest power of two of each replicate.
    fn nearest(points: f64) -> Self {
        let exponent = (points / REPLICATES as f64).log2().round().clamp(1.0, 32.0);
        Self { count: REPLICATES, points: 1 << exponent as u32 }
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
        // A given amount is kept to the point, and a designed noise is designed for independent draws.
        DrawKind::Auto => {
            matches!(options.amount, Amount::Auto { .. })
                && options.loss.is_js()
                && !options.refit_noise
                && !matches!(options.noise, NoiseChoice::Optimal)
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
        estimate_against(self.task, &Against::Quiet(self.noise.clone(), replicates), &options, start)
    }

    /// With a given number of points.
    fn fixed(&self, points: f64) -> Result<Estimated<'a>> {
        let replicates = Replicates::nearest(points);
        let mut found = self.against(replicates, None, None)?;
        let Some(ratio) = self.better_ratio(&mut found)? else { return Ok(found) };
        let others = worse_optima(&found.fit);
        let mut found = self.against(replicates, Some(ratio), Some(&found.fit.unknowns()))?;
        found.fit.remember(&others);
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
        let first = FIRST_POINTS.0.max(FIRST_POINTS.1 * self.task.model.coordinates().len());
        let mut replicates = Replicates { count: REPLICATES, points: first.next_power_of_two() };
        if replicates.rows() > most {
            replicates.points = ((most / REPLICATES).max(2) + 1).next_power_of_two() / 2;
        }
        let mut found = self.against(replicates, None, None)?;
        let others = worse_optima(&found.fit);
        let (mut ratio, mut chosen) = (None, false);
        for _ in 0..ROUNDS {
            let excess = shortfall(&found.fit, share);
            if !found.fit.converged
                || (!self.must && !pays(found.fit.noise_gain.unwrap_or(1.0), replicates, excess))
            {
                return Ok(self.must.then_some(found));
            }
            let next = if excess > 1.0 { replicates.grown(excess) } else { replicates };
            if next.rows() > most {
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
            replicates = next;
            found = self.against(replicates, ratio, Some(&found.fit.unknowns()))?;
        }
        found.fit.remember(&others);
        found.fit.budget_spent = found.fit.converged && shortfall(&found.fit, share) > 1.0;
        Ok(Some(found))
    }

    /// The ratio with the smallest variances, as the samples tell at the estimate, if it is much better than the one that
    /// was used.
    fn better_ratio(&self, found: &mut Estimated<'a>) -> Result<Option<f64>> {
        let Basis::Noise(contrasted) = &mut found.basis else { return Ok(None) };
        let usual = self.options.loss_ratio.is_none() && self.task.loss.is_js();
        if !usual || !found.fit.converged {
            return Ok(None);
        }
        let mut best = (1.0 - BETTER, None);
        for ratio in RATIOS.into_iter().chain([found.fit.nu]).filter(|m| *m != USUAL_RATIO) {
            let loss = self.task.loss.with_ratio(ratio, found.fit.nu)?;
            let relative = self.relative_variance(contrasted, &found.fit, loss)?;
            if relative < best.0 {
                best = (relative, Some(ratio));
            }
        }
        Ok(best.1)
    }

    /// The mean over the unknowns of their variances with another loss, in units of those that they have.
    fn relative_variance(&self, contrasted: &mut Contrasted<'a>, fit: &Fit, loss: Loss) -> Result<f64> {
        let own = std::mem::replace(&mut contrasted.objective.loss, loss);
        let variances = self.variances(contrasted);
        contrasted.objective.loss = own;
        let Some(variances) = variances? else { return Ok(f64::INFINITY) };
        let free = (0..variances.len()).filter(|j| !contrasted.held[*j]);
        let ratios = free.map(|j| variances[j] / fit.covariance[(j, j)]);
        let known: Vec<f64> = ratios.filter(|x| !x.is_nan()).collect();
        Ok(known.iter().sum::<f64>() / known.len().max(1) as f64)
    }

    /// The variances of the unknowns at the estimate; `None` where the loss has no curvature there.
    fn variances(&self, contrasted: &Contrasted<'a>) -> Result<Option<Vec<f64>>> {
        let objective = &contrasted.objective;
        let at = contrasted.at.as_slice();
        let full = objective.full(at, Order::Meat)?;
        let free: Vec<usize> = (0..objective.size()).filter(|j| !contrasted.held[*j]).collect();
        let Some(hessian) = &full.evaluation.hessian else { return Ok(None) };
        let Ok(bread) = covariance::bread(objective, at, hessian, &free) else { return Ok(None) };
        let found = covariance::parts(objective, &full, &bread, at, self.task.rows.whole(), self.options)?;
        Ok(Some(found.whole().diagonal().iter().copied().collect()))
    }
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
        let of = |points: f64| Replicates::nearest(points).points;
        assert_eq!([1.0, 512.0, 1000.0, 1100.0, 1500.0, 1e6].map(of), [2, 32, 64, 64, 128, 65536]);
        let replicates = Replicates { count: 16, points: 64 };
        assert_eq!([1.5, 4.0, 5.0, 64.0].map(|factor| replicates.grown(factor).points), [128, 128, 256, 512]);
        // Enough already: a gain of two. Four times too much noise: twice the points do, independent ones would be 4·gain.
        assert!(pays(2.0, replicates, 0.9) && !pays(1.9, replicates, 0.9));
        assert!(pays(1.0, replicates, 4.0) && !pays(0.9, replicates, 4.0));
    }
}
