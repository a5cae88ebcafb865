//! Adapting the proposal: expectation–maximisation on importance weights (Cappé et al. 2008), tempered at first.

use noisewright_numerics::parallel::try_map;
use noisewright_numerics::summation::log_sum_exp;

use super::landscape::{Height, Landscape};
use super::proposal::{Batch, Component, Densities, Proposal, Round};
use crate::run::{Context, Stage};
use crate::{Error, Result};

/// Rounds of adaptation.
const ROUNDS: u64 = 10;

/// Smallest share of a component that guards the tails.
const GUARD: f64 = 0.05;

/// Components with a smaller share are given up.
const SMALL: f64 = 0.002;

/// Effective draws, for each dimension, below which weights are tempered.
const ENOUGH: f64 = 15.0;

/// Adapts to the functions of a landscape over a few rounds of draws; returns the last estimate of log Z beside.
///
/// The first function is the density itself.
pub(super) fn adapt<'a>(
    mut proposal: Proposal<'a>,
    landscape: Landscape<'a>,
    heights: &[Height],
    draws: usize,
    context: &Context,
    stage: u64,
    mut log_z: f64,
) -> Result<(Proposal<'a>, f64)> {
    for round in 0..ROUNDS {
        context.report(Stage::Integration, round as usize, Some(ROUNDS as usize))?;
        let batch = proposal.draw(draws, Round { seed: context.seed(), stage, number: round });
        let energy = landscape.energy(&batch.x, draws)?;
        let log_noise = landscape.log_noise(&batch.x, draws);
        let densities = proposal.log_density(&batch, log_noise.as_deref(), draws);
        let mut weights = vec![0.0; draws];
        for which in heights {
            let height = |i: usize| {
                let noise = log_noise.as_ref().map_or(f64::NEG_INFINITY, |n| n[i]);
                landscape.height(*which, energy[i], log_z, noise) - densities.total[i]
            };
            let log_weights: Vec<f64> = (0..draws).map(height).collect();
            if *which == Height::Density {
                log_z = log_sum_exp(&log_weights) - (draws as f64).ln();
                if !log_z.is_finite() {
                    return Err(Error::NoMass);
                }
            }
            add_tempered(
                &log_weights,
                ENOUGH * (4.0 + proposal.coordinates.dimension() as f64),
                &mut weights,
            );
        }
        proposal = refitted(&proposal, &batch, &densities, &weights)?;
    }
    Ok((proposal, log_z))
}

/// Adds `w^t / Σ w^t` with the largest t ≤ 1 that leaves enough effective draws.
fn add_tempered(log_weights: &[f64], enough: f64, out: &mut [f64]) {
    let (mut low, mut high) = (0.0, 1.0);
    if effective(log_weights, 1.0) < enough {
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if effective(log_weights, middle) < enough { high = middle } else { low = middle }
        }
    } else {
        low = 1.0;
    }
    let tempered: Vec<f64> = log_weights.iter().map(|w| scaled(*w, low)).collect();
    let total = log_sum_exp(&tempered);
    if total.is_finite() {
        out.iter_mut().zip(tempered).for_each(|(o, w)| *o += (w - total).exp());
    }
}

/// `t w`, with no density staying none.
fn scaled(log_weight: f64, t: f64) -> f64 {
    if log_weight == f64::NEG_INFINITY { log_weight } else { t * log_weight }
}

/// `(Σ w^t)² / Σ w^{2t}`.
pub(super) fn effective(log_weights: &[f64], t: f64) -> f64 {
    let once: Vec<f64> = log_weights.iter().map(|w| scaled(*w, t)).collect();
    let twice: Vec<f64> = once.iter().map(|w| 2.0 * w).collect();
    (2.0 * log_sum_exp(&once) - log_sum_exp(&twice)).exp()
}

/// Every component moved to the points it is responsible for, with the share of weight there.
fn refitted<'a>(
    proposal: &Proposal<'a>,
    batch: &Batch,
    densities: &Densities,
    weights: &[f64],
) -> Result<Proposal<'a>> {
    let total: f64 = weights.iter().sum();
    let moved = |(component, part): (&Component, &Vec<f64>)| -> Result<(f64, Component)> {
        // The noise is no component that could be moved: its part of a point's density goes to none.
        let responsible = |i: usize| weights[i] * (part[i] - densities.total[i]).exp();
        let mine: Vec<f64> =
            (0..weights.len()).map(|i| if weights[i] > 0.0 { responsible(i) } else { 0.0 }).collect();
        Ok((mine.iter().sum::<f64>() / total, component.refit(batch, &mine)?))
    };
    let updates = try_map(proposal.components.iter().zip(&densities.parts), moved)?;
    let (mut shares, mut components) = (Vec::new(), Vec::new());
    let moving = updates.len() - proposal.guards;
    for (k, (share, component)) in updates.into_iter().enumerate() {
        let guard = k >= moving;
        if guard || share >= SMALL {
            shares.push(if guard { share.max(GUARD) } else { share });
            components.push(component);
        }
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|s| *s /= sum);
    Ok(Proposal { shares, components, ..proposal.clone() })
}
