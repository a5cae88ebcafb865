//! How the variance of a fit compares with maximum likelihood's, if the fitted model is true.

use crate::fit::Fit;
use crate::{Asymptotics, Contrast, Loss, Model, Points, Population, Precision, cramer_rao_covariance};

/// Least variance of the constant, times the rows, against which a share means something.
const LEAST: f64 = 0.01;
/// Most states that are summed over.
const STATES: u64 = 1 << 16;

/// Cramér–Rao bound over asymptotic variance (MATH §3) of every unknown where it means something, constant last; nothing for
/// a fit without noise.
///
/// Both are the model's own, so that a wrong model, which the robust errors show, does not count against the noise. Where
/// integrals are dear, averages over `data` stand in for them. The fit's budget of errors, whose efficiency is the sample's
/// estimate of the same share, takes over these numbers: one name, one number.
pub fn record_efficiency(
    model: &Model,
    fit: &mut Fit,
    loss: &Loss,
    data: Option<&Points>,
) -> Option<Vec<Option<f64>>> {
    let all = efficiencies(model, fit, loss, data)?;
    for (budget, efficiency) in fit.diagnostics.error_budget.iter_mut().zip(&all) {
        budget.efficiency = *efficiency;
    }
    Some(all)
}

fn efficiencies(model: &Model, fit: &Fit, loss: &Loss, data: Option<&Points>) -> Option<Vec<Option<f64>>> {
    let noise = fit.noise.as_deref().filter(|_| fit.nu.is_finite())?;
    let population = population(model, fit, Contrast { noise, nu: fit.nu, loss }, data)?;
    let asymptotics = Asymptotics::at(&population, &population.log_noise(noise).ok()?, fit.nu, loss).ok()?;
    let bound = cramer_rao_covariance(&population).ok()?;
    // A constant that hardly depends on the parameters costs maximum likelihood nothing: no noise compares with that.
    let is_constant = |j: usize| !model.is_normalized() && j + 1 == bound.nrows();
    let one = |j: usize| {
        let ratio = bound[(j, j)] / asymptotics.covariance[(j, j)] * refit_gain(fit, j);
        let known = ratio.is_finite() && ratio >= 0.0 && !(is_constant(j) && bound[(j, j)] < LEAST);
        known.then_some(ratio)
    };
    Some((0..bound.nrows()).map(one).collect())
}

/// How many times larger a variance was before the noise was fitted to its own draws.
fn refit_gain(fit: &Fit, index: usize) -> f64 {
    let before = fit.diagnostics.two_step.as_ref().and_then(|report| report.se_without.get(index));
    let now = fit.estimates().get(index).map(|estimate| estimate.se);
    before.zip(now).map_or(1.0, |(before, now)| (before / now).powi(2))
}

/// Integrated over where that is cheap, the data themselves otherwise.
fn population(model: &Model, fit: &Fit, contrast: Contrast<'_>, data: Option<&Points>) -> Option<Population> {
    let theta = fit.theta();
    let space = model.space();
    let cheap = match space.state_count() {
        Some(states) => states <= STATES,
        None => space.dimension() == 1,
    };
    let population = if cheap {
        let precision = Precision { relative: 1e-6, ..Precision::default() };
        Population::for_contrast(model, &theta, contrast, &precision).ok()?
    } else {
        let log_z = match &fit.log_normalizer {
            Some(constant) => constant.estimate,
            None => model.log_normalizer(&theta, &mut vec![0.0; theta.len()])?,
        };
        Population::from_sample(model, &theta, log_z, data?).ok()?
    };
    population.divergent().is_none().then_some(population)
}
