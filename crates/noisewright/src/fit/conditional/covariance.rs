//! The covariance of an estimate from what every row says of the parameters.

use nalgebra::{DMatrix, DVector};

use crate::fit::covariance::Covariance;
use crate::fit::data::{Data, Dependence, total};
use crate::fit::dependence::{self, Influences, Worth};
use crate::fit::leverage::satterthwaite;
use crate::fit::options::CovarianceKind;
use crate::moments::sandwich;

/// The covariance of all sources together, with the degrees of freedom of every variance and what chains are worth.
pub(crate) struct Whole {
    pub(crate) covariance: DMatrix<f64>,
    pub(crate) freedom: Vec<f64>,
    pub(crate) worth: Worth,
}

/// What rows say of the parameters, row after row.
#[derive(Clone, Copy)]
pub(crate) struct RowTerms<'s> {
    /// The gradients of their losses.
    pub(crate) slopes: &'s [f64],
    /// What they add to the estimate, corrected for their leverage; empty where the mean leverage is to correct the variance.
    pub(crate) influences: &'s [f64],
}

/// `H⁻¹/T_d`, or the sandwich by row, cluster or chain; `bread` is `H⁻¹`.
pub(crate) fn by_row(
    terms: RowTerms<'_>,
    bread: &DMatrix<f64>,
    data: Data<'_>,
    kind: CovarianceKind,
) -> Whole {
    let (size, total) = (bread.nrows(), data.total_weight());
    let most = (total - size as f64).max(1.0);
    if data.dependence != Dependence::Independent {
        return of_dependent(terms.slopes, bread, data.weights, data.dependence);
    }
    if kind == CovarianceKind::ModelBased {
        return Whole { covariance: bread / total, freedom: vec![most; size], worth: Worth::Independent };
    }
    let covariance = if terms.influences.is_empty() {
        let squares = squares(terms.slopes, size, data.weights);
        sandwich(bread, &(squares * (total / most / (total * total))))
    } else {
        squares(terms.influences, size, data.weights)
    };
    let freedom = freedom(terms.slopes, bread, data, most);
    Whole { covariance, freedom, worth: Worth::Independent }
}

/// `Σ w a aᵀ` of rows of so many numbers.
fn squares(rows: &[f64], size: usize, weights: Option<&[f64]>) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(size, size);
    for (row, values) in rows.chunks_exact(size.max(1)).enumerate() {
        let (values, weight) = (DVector::from_column_slice(values), weights.map_or(1.0, |w| w[row]));
        // What does not count may have no number.
        if weight > 0.0 {
            sum.ger(weight, &values, &values, 1.0);
        }
    }
    sum
}

/// The degrees of freedom of every variance, which is a sum of the squares of what the rows add to the estimate.
fn freedom(slopes: &[f64], bread: &DMatrix<f64>, data: Data<'_>, most: f64) -> Vec<f64> {
    let size = bread.nrows();
    let (mut second, mut fourth) = (DVector::zeros(size), DVector::zeros(size));
    for (row, slope) in slopes.chunks_exact(size.max(1)).enumerate() {
        let weight = data.weights.map_or(1.0, |w| w[row]);
        if weight == 0.0 {
            continue;
        }
        let square = (bread * DVector::from_column_slice(slope)).map(|a| a * a);
        second.axpy(weight, &square, 1.0);
        fourth.axpy(weight, &square.component_mul(&square), 1.0);
    }
    let total = data.total_weight();
    let each = second.iter().zip(fourth.iter());
    each.map(|(second, fourth)| satterthwaite(*second, *fourth, total).min(most)).collect()
}

/// The sandwich by cluster or chain, of rows (or strata) whose losses have these gradients.
pub(crate) fn of_dependent(
    slopes: &[f64],
    bread: &DMatrix<f64>,
    weights: Option<&[f64]>,
    dependence: Dependence<'_>,
) -> Whole {
    let size = bread.nrows();
    let rows = slopes.chunks_exact(size.max(1)).enumerate();
    let count = slopes.len() / size.max(1);
    let values: Vec<f64> = rows
        .flat_map(|(row, slope)| {
            let influence = bread * DVector::from_column_slice(slope) * weights.map_or(1.0, |w| w[row]);
            influence.iter().copied().collect::<Vec<f64>>()
        })
        .collect();
    let influences = Influences { values: &values, size, total: weights.map_or(count as f64, total) };
    let found = dependence::covariance(&influences, weights, dependence);
    Whole { covariance: found.covariance, freedom: found.freedom, worth: found.worth }
}

impl Whole {
    /// The whole in its two parts: `once` is the noise's part of the covariance where a row of weight w is w rows with noise of
    /// their own, and `shared` where they share it.
    pub(crate) fn in_parts(self, once: &DMatrix<f64>, shared: DMatrix<f64>) -> Covariance {
        Covariance {
            data: without_negative(&(self.covariance - once)),
            noise: shared,
            freedom: self.freedom,
            worth: self.worth,
            noise_gain: None,
        }
    }
}

/// The nearest matrix without negative variances: a difference of two estimates may have some.
fn without_negative(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let size = matrix.nrows();
    let scale: Vec<f64> = (0..size).map(|j| matrix[(j, j)].abs().sqrt()).collect();
    let unit = |j: usize| if scale[j] > 0.0 { 1.0 / scale[j] } else { 0.0 };
    let scaled = DMatrix::from_fn(size, size, |i, j| matrix[(i, j)] * unit(i) * unit(j));
    if !scaled.iter().all(|x| x.is_finite()) {
        return matrix.clone();
    }
    let mut eigen = scaled.symmetric_eigen();
    if eigen.eigenvalues.iter().all(|value| *value >= 0.0) {
        return matrix.clone();
    }
    eigen.eigenvalues.iter_mut().for_each(|value| *value = value.max(0.0));
    let back = eigen.recompose();
    DMatrix::from_fn(size, size, |i, j| back[(i, j)] * scale[i] * scale[j])
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::{Distribution, StandardNormal};

    use super::super::RowLeverage;
    use super::*;
    use crate::run::Purpose;

    const TRUTH: [f64; 3] = [1.0, 2.0, 0.5];

    /// Maximum likelihood of log p = −p (y − a − bz)²/2 + ½ log p, in closed form: whether the intervals hold the truth.
    fn held(y: &[f64], z: &[f64]) -> [bool; 3] {
        let n = z.len() as f64;
        let (mean, square) = (z.iter().sum::<f64>() / n, z.iter().map(|z| z * z).sum::<f64>() / n);
        let (level, product) =
            (y.iter().sum::<f64>() / n, y.iter().zip(z).map(|(y, z)| y * z).sum::<f64>() / n);
        let b = (product - mean * level) / (square - mean * mean);
        let a = level - b * mean;
        let residuals: Vec<f64> = y.iter().zip(z).map(|(y, z)| y - a - b * z).collect();
        let p = n / residuals.iter().map(|e| e * e).sum::<f64>();
        let bend = 0.5 / (p * p);
        let information =
            |z: f64| DMatrix::from_row_slice(3, 3, &[p, p * z, 0.0, p * z, p * z * z, 0.0, 0.0, 0.0, bend]);
        let hessian = z.iter().fold(DMatrix::zeros(3, 3), |sum, z| sum + information(*z)) / n;
        let bread = hessian.try_inverse().unwrap();
        let data = Data::from(y);
        let leverage = RowLeverage::of(&bread, data, CovarianceKind::Robust).unwrap();
        let (mut slopes, mut influences) = (Vec::new(), Vec::new());
        for (e, z) in residuals.iter().zip(z) {
            let slope = DVector::from_vec(vec![-p * e, -p * e * z, 0.5 * (e * e - 1.0 / p)]);
            influences.extend(leverage.influence(&slope, &information(*z)).iter());
            slopes.extend(slope.iter());
        }
        let terms = RowTerms { slopes: &slopes, influences: &influences };
        let found = by_row(terms, &bread, data, CovarianceKind::Robust);
        let reach =
            |j: usize| crate::normalizer::two_sided(0.95, found.freedom[j]) * found.covariance[(j, j)].sqrt();
        [a, b, p]
            .iter()
            .enumerate()
            .map(|(j, e)| (e - TRUTH[j]).abs() <= reach(j))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()
    }

    #[test]
    fn intervals_from_few_rows_hold_the_truth_as_often_as_they_say() {
        // 95 % within four standard errors of 4,000 sets, 1.4 %, and what is left of second order in leverages of a tenth on the average,
        // half their square. With leverages in the metric of the slopes they hold it in 98.1, 97.6 and 98.2 % (an independent program).
        let (sets, rows) = (4000, 30);
        let mut stream = Purpose::Sample.stream(17, 0);
        let mut held_by = [0.0; 3];
        for _ in 0..sets {
            let z: Vec<f64> = (0..rows).map(|_| stream.random::<f64>() * 3.0 - 1.5).collect();
            let mut error = || -> f64 { StandardNormal.sample(&mut stream) };
            let y: Vec<f64> = z.iter().map(|z| TRUTH[0] + TRUTH[1] * z + error() / TRUTH[2].sqrt()).collect();
            let held = held(&y, &z);
            (0..3).for_each(|j| held_by[j] += f64::from(u8::from(held[j])) / f64::from(sets));
        }
        assert!(held_by.iter().all(|share| (share - 0.95).abs() < 0.019), "{held_by:?}");
    }
}
