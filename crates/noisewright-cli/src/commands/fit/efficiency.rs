//! How the variance of a fit compares with maximum likelihood's, if the fitted model is true.

use noisewright::{Asymptotics, Contrast, Population, Precision, cramer_rao_covariance};

use super::Answer;

/// Least variance of the constant, times the rows, against which a share means something.
const LEAST: f64 = 0.01;
/// Most states that are summed over.
const STATES: u64 = 1 << 16;

/// Cramér–Rao bound over asymptotic variance (MATH §3) of every unknown where it means something; nothing for a fit without noise.
///
/// Both are the model's own, so that a wrong model, which the robust errors show, does not count against the noise.
pub(super) fn efficiencies(answer: &Answer) -> Option<Vec<Option<f64>>> {
    let fit = &answer.fit;
    let noise = fit.noise.as_deref().filter(|_| fit.nu.is_finite())?;
    let contrast = Contrast { noise, nu: fit.nu, loss: &answer.loss };
    let population = population(answer, contrast)?;
    let asymptotics =
        Asymptotics::at(&population, &population.log_noise(noise), fit.nu, &answer.loss).ok()?;
    let bound = cramer_rao_covariance(&population).ok()?;
    let pairs = (0..bound.nrows()).map(|j| (bound[(j, j)], asymptotics.covariance[(j, j)]));
    // A constant that hardly depends on the parameters costs maximum likelihood nothing: no noise compares with that.
    let is_constant = |index: usize| !answer.model().is_normalized() && index + 1 == bound.nrows();
    let ratio = |(index, (bound, variance)): (usize, (f64, f64))| {
        let ratio = bound / variance;
        let known = ratio.is_finite() && ratio >= 0.0 && !(is_constant(index) && bound < LEAST);
        known.then_some(ratio)
    };
    Some(pairs.enumerate().map(ratio).collect())
}

/// Integrated over where that is cheap, the data themselves otherwise.
fn population(answer: &Answer, contrast: Contrast<'_>) -> Option<Population> {
    let (model, theta) = (answer.model(), answer.fit.theta());
    let space = model.space();
    let cheap = match space.state_count() {
        Some(states) => states <= STATES,
        None => space.dimension() == 1,
    };
    let population = if cheap {
        let precision = Precision { relative: 1e-6, ..Precision::default() };
        Population::for_contrast(model, &theta, contrast, &precision).ok()?
    } else {
        Population::from_sample(model, &theta, answer.log_z()?, answer.points()?).ok()?
    };
    population.divergent().is_none().then_some(population)
}
