//! The noise and the proportion that minimise the error (MATH §5 and §6).

mod criterion;
mod exact;
mod limits;

pub use criterion::Sensitivity;
pub use exact::OptimalNoise;

/// The exact optimal noise at one ν on the points of a population.
///
/// # Errors
/// When the scores are collinear.
pub fn optimal_noise(
    population: &crate::Population,
    target: &crate::Target,
    nu: f64,
) -> crate::Result<OptimalNoise> {
    exact::optimal_noise(&criterion::Criterion::new(population, target)?, nu, None)
}
