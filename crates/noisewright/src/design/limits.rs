//! The paper's limits (MATH §5): all noise with the gaps of its theorem, and the points of all data.

use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::optimize::minimize_bracketed;

use super::criterion::{Criterion, Sensitivity};
use crate::asymptotics::{collinear, trace_product};
use crate::{
    DesignFault, Error, Model, Population, Result, Target, View, asymptotics::cramer_rao_covariance,
};

/// `‖I⁻¹ψ‖_M` at the points, scaled to a noise ratio that integrates to one: the optimum as ν → ∞.
pub(crate) fn all_noise_ratio(criterion: &Criterion<'_>) -> Result<Vec<f64>> {
    let sensitivity = all_noise_sensitivity(criterion)?;
    let sizes = criterion.sensitivities(&sensitivity).iter().map(|a| a.max(0.0).sqrt()).collect();
    criterion.normalize(sizes)
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

/// What the limit ν → ∞ leaves: with `w₁ = ‖I⁻¹ψ‖_M`, the optimal noise is `p_d w₁ / E w₁`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AllNoiseLimit {
    /// `E_d w₁`; its square is `T (error(optimum) − Cramér–Rao)` for normalized models.
    pub mean: f64,
    /// `Var_d w₁ = T (error(p_d) − error(optimum))`.
    pub variance: f64,
    /// `tr(I⁻¹M)`, less the constant's part where it is free: the Cramér–Rao bound per data point.
    pub bound: f64,
}

/// The moments of the all-noise limit for a target.
///
/// # Errors
/// When the scores are collinear.
pub fn all_noise_limit(population: &Population, target: &Target) -> Result<AllNoiseLimit> {
    let criterion = Criterion::new(population, target)?;
    let sensitivity = all_noise_sensitivity(&criterion)?;
    let square = criterion.sensitivities(&sensitivity);
    let mean = criterion.mean_root(&sensitivity);
    let second: f64 = square.iter().zip(&criterion.weights).map(|(a, q)| a * q).sum();
    let bound = trace_product(&cramer_rao_covariance(population)?, criterion.target());
    Ok(AllNoiseLimit { mean, variance: second - mean * mean, bound })
}

/// A point that carries all noise mass in the limit ν → 0.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AllDataPoint {
    /// The point.
    pub x: f64,
    /// The score there: only points of one score can share the mass.
    pub score: f64,
    /// The group of points with the same score, from 0.
    pub group: usize,
}

/// The maximisers of `p_d ψ²` (mean squared error) or `p_d |ψ|` (Kullback–Leibler), for one parameter of a
/// normalized model in one variable, grouped by their score.
///
/// # Errors
/// When the model has more than one coordinate or variable.
pub fn all_data_points(
    model: &Model,
    parameters: &[f64],
    population: &Population,
    target: &Target,
) -> Result<Vec<AllDataPoint>> {
    let scalar = population.coordinates().len() == 1 && !population.has_constant();
    if !scalar || model.space().dimension() != 1 || model.space().domains()[0].is_discrete() {
        return Err(Error::Design(DesignFault::AllDataLimit));
    }
    let power = if *target == Target::Kl { 1.0 } else { 2.0 };
    let mean = population.mean_of_derivatives(model, parameters)?[0];
    let height = |x: f64| -> (f64, f64) {
        let (mut value, mut score) = ([0.0], [0.0]);
        let outcome = model.evaluate(parameters, View::new(1, 1, &[x]), &mut value, Some(&mut score));
        let score = score[0] - mean;
        let height = value[0] + power * score.abs().ln();
        (if outcome.is_ok() { height } else { f64::NEG_INFINITY }, score)
    };
    let mut nodes = population.points().view().column(0).to_vec();
    nodes.sort_by(f64::total_cmp);
    let heights: Vec<f64> = nodes.iter().map(|x| height(*x).0).collect();
    let mut peaks: Vec<(f64, f64, f64)> = (1..nodes.len().saturating_sub(1))
        .filter(|&i| heights[i] >= heights[i - 1] && heights[i] > heights[i + 1])
        .map(|i| {
            let top = minimize_bracketed(nodes[i - 1], nodes[i + 1], |x| -height(x).0);
            (top.at[0], -top.value, height(top.at[0]).1)
        })
        .collect();
    let best = peaks.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    peaks.retain(|p| p.1 > best - 1e-7);
    Ok(grouped(&peaks))
}

fn grouped(peaks: &[(f64, f64, f64)]) -> Vec<AllDataPoint> {
    let mut scores: Vec<f64> = Vec::new();
    peaks
        .iter()
        .map(|&(x, _, score)| {
            let known = scores.iter().position(|s| (s - score).abs() <= 1e-5 * score.abs());
            let group = known.unwrap_or_else(|| {
                scores.push(score);
                scores.len() - 1
            });
            AllDataPoint { x, score, group }
        })
        .collect()
}
