//! How the variance of a fit compares with maximum likelihood's, if the fitted model is true.

use noisewright::{Asymptotics, Contrast, Population, Precision, cramer_rao_covariance};

use super::Answer;

/// Most states that are summed over.
const STATES: u64 = 1 << 16;

/// Cramér–Rao bound over asymptotic variance (MATH §3) of every unknown; nothing for a fit without noise.
///
/// Both are the model's own, so that a wrong model, which the robust errors show, does not count against the noise.
pub(super) fn efficiencies(answer: &Answer) -> Option<Vec<f64>> {
    let fit = &answer.fit;
    let noise = fit.noise.as_deref().filter(|_| fit.nu.is_finite())?;
    let contrast = Contrast { noise, nu: fit.nu, loss: &answer.loss };
    let population = population(answer, contrast)?;
    let asymptotics =
        Asymptotics::at(&population, &population.log_noise(noise), fit.nu, &answer.loss).ok()?;
    let bound = cramer_rao_covariance(&population).ok()?;
    let ratios: Vec<f64> = bound
        .diagonal()
        .iter()
        .zip(asymptotics.covariance.diagonal().iter())
        .map(|(bound, variance)| bound / variance)
        .collect();
    ratios.iter().all(|ratio| ratio.is_finite() && *ratio >= 0.0).then_some(ratios)
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
