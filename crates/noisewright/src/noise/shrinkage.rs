//! Correlations shrunk towards zero by as much as chance has made of them.

use crate::View;

/// Rows from which the variance of the products of two variables is taken.
const LOOKED_AT: usize = 20_000;

/// Multiplies the correlations in a covariance matrix of these points (row after row) by `1 − λ`.
///
/// # Formula
/// `λ = Σ Var(r_ij) / Σ r_ij²` over all pairs, at most 1, which makes the expected squared error of the correlations smallest
/// (Schäfer and Strimmer 2005). Where variables depend on one another it is of the order of one over the number of points; where
/// they do not, all correlations are chance, and nearly nothing is left of them.
pub(super) fn shrink_correlations(points: View<'_>, mean: &[f64], covariance: &mut [f64]) {
    let d = mean.len();
    let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let (mut by_chance, mut all) = (0.0, 0.0);
    for (i, j) in &pairs {
        let scale = (covariance[i * d + i] * covariance[j * d + j]).sqrt();
        let correlation = covariance[i * d + j] / scale;
        let product =
            |row: usize| (points.get(row, *i) - mean[*i]) * (points.get(row, *j) - mean[*j]) / scale;
        by_chance += variance_of_mean(product, correlation, points.rows());
        all += correlation * correlation;
    }
    let left = 1.0 - by_chance / all;
    // Without correlations there is nothing to shrink, and where a variable does not vary they are no numbers.
    if left.is_finite() {
        for (i, j) in pairs {
            covariance[i * d + j] *= left.max(0.0);
            covariance[j * d + i] *= left.max(0.0);
        }
    }
}

/// The variance of the mean of a term over so many rows, from an even selection of them.
fn variance_of_mean(term: impl Fn(usize) -> f64, mean: f64, rows: usize) -> f64 {
    let step = rows.div_ceil(LOOKED_AT).max(1);
    let squares: f64 = (0..rows).step_by(step).map(|row| (term(row) - mean).powi(2)).sum();
    squares / rows.div_ceil(step) as f64 / rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::whitening::mean_and_covariance;
    use crate::{MultivariateNormal, sample};

    /// What is left of the correlations of normal draws with correlation ρ between all pairs.
    fn left(dimension: usize, rho: f64, rows: usize) -> f64 {
        let entry = |at: usize| if at / dimension == at % dimension { 1.0 } else { rho };
        let matrix: Vec<f64> = (0..dimension * dimension).map(entry).collect();
        let draws = sample(&MultivariateNormal::new(&vec![0.0; dimension], &matrix).unwrap(), rows, 8);
        let (mean, before) = mean_and_covariance("normal", draws.view(), None).unwrap();
        let mut after = before.clone();
        shrink_correlations(draws.view(), &mean, &mut after);
        assert!((0..dimension).all(|i| after[i * (dimension + 1)] == before[i * (dimension + 1)]));
        assert!((after[1] - after[dimension]).abs() <= 1e-15 * after[1].abs());
        after[1] / before[1]
    }

    #[test]
    fn correlations_by_chance_are_shrunk_and_others_stay() {
        // Σ r² over 45 pairs of independent variables is χ²₄₅/n, of mean Σ Var(r) = 45/n and relative deviation √(2/45) = 0.21, here
        // at most four times.
        assert!(left(10, 0.0, 2000) < 1.0 - 1.0 / (1.0 + 4.0 * 0.21));
        // The variance of a product is 1 + ρ², so λ = (1 + ρ²)/(n ρ²), which is 0.0025 for ρ = 1/2. The sample's ρ² is off by
        // 2(1 − ρ²)/(ρ√n) = 7 % and the variance by about as much: four times √2 · 7 % of λ.
        assert!((left(10, 0.5, 2000) - 0.9975).abs() < 0.001);
    }

    #[test]
    fn without_correlations_nothing_changes() {
        // Four corners of a square: the covariance is zero exactly.
        let corners = [-1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0];
        let mut covariance = [1.0, 0.0, 0.0, 1.0];
        shrink_correlations(View::new(2, 4, &corners), &[0.0, 0.0], &mut covariance);
        assert_eq!(covariance, [1.0, 0.0, 0.0, 1.0]);
    }
}
