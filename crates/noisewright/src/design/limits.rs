//! The paper's limits as noises (MATH §5): all noise, all data, and the gaps of its theorem.

use noisewright_numerics::linalg::{Inverse, invert};

use super::criterion::{Criterion, Sensitivity};
use crate::Result;
use crate::asymptotics::collinear;

/// `‖I⁻¹ψ‖_M` at the points, scaled to a noise ratio that integrates to one: the optimum as ν → ∞.
pub(crate) fn all_noise_ratio(criterion: &Criterion<'_>) -> Result<Vec<f64>> {
    let sizes = all_noise_sizes(criterion)?;
    criterion.normalize(sizes)
}

/// `‖I⁻¹ψ‖_M` at the points: w₁ of the paper for M = identity, w₃ for M = I.
pub(crate) fn all_noise_sizes(criterion: &Criterion<'_>) -> Result<Vec<f64>> {
    let sensitivity = all_noise_sensitivity(criterion)?;
    Ok(criterion.sensitivities(&sensitivity).iter().map(|a| a.max(0.0).sqrt()).collect())
}

/// `ψᵀ I⁻¹ M I⁻¹ ψ` as a quadratic in the score.
pub(crate) fn all_noise_sensitivity(criterion: &Criterion<'_>) -> Result<Sensitivity> {
    let population = criterion.population();
    let inverse = match invert(&population.information()) {
        Inverse::Regular(inverse) => inverse,
        Inverse::Singular(direction) => return Err(collinear(population, &direction)),
    };
    let quadratic = &inverse * criterion.target() * &inverse;
    let linear = nalgebra::DVector::zeros(quadratic.nrows());
    Ok(Sensitivity { quadratic, linear })
}
