//! The covariance of an estimate from what every row says of the parameters.

use nalgebra::{DMatrix, DVector};

use crate::fit::covariance::Covariance;
use crate::fit::data::{Data, Dependence, total};
use crate::fit::dependence::{self, Influences, Worth};
use crate::fit::leverage::{self, Leverages};
use crate::fit::options::CovarianceKind;
use crate::moments::sandwich;

/// The covariance of all sources together, with the degrees of freedom of every variance and what chains are worth.
pub(crate) struct Whole {
    pub(crate) covariance: DMatrix<f64>,
    pub(crate) freedom: Vec<f64>,
    pub(crate) worth: Worth,
}

/// `H⁻¹/T_d`, or the sandwich by row, cluster or chain. `slopes` are the gradients of the rows' losses, row after row, and
/// `bread` is `H⁻¹`.
pub(crate) fn by_row(slopes: &[f64], bread: &DMatrix<f64>, data: Data<'_>, kind: CovarianceKind) -> Whole {
    let (size, total) = (bread.nrows(), data.total_weight());
    let weight = |row: usize| data.weights.map_or(1.0, |w| w[row]);
    if data.dependence != Dependence::Independent {
        return of_dependent(slopes, bread, data.weights, data.dependence);
    }
    if kind == CovarianceKind::ModelBased {
        let freedom = vec![(total - size as f64).max(1.0); size];
        return Whole { covariance: bread / total, freedom, worth: Worth::Independent };
    }
    let rows = data.points.rows();
    let terms = DMatrix::from_row_slice(rows, size, slopes);
    let (mut squares, mut sums) = (DMatrix::zeros(size, size), DVector::zeros(size));
    for (row, slope) in slopes.chunks_exact(size.max(1)).enumerate() {
        let slope = DVector::from_column_slice(slope);
        squares.ger(weight(row), &slope, &slope, 1.0);
        sums.axpy(weight(row), &slope, 1.0);
    }
    if !leverage::is_worth(rows, size) {
        let correction = total / (total - size as f64).max(1.0);
        let covariance = sandwich(bread, &(squares * (correction / (total * total))));
        return Whole { covariance, freedom: vec![f64::INFINITY; size], worth: Worth::Independent };
    }
    let leverages = Leverages::new(&squares, &sums, total, bread.clone());
    let mut found = leverages.sums();
    leverages.add(&mut found, terms, data.weights);
    let found = leverages.finish(&found);
    Whole { covariance: sandwich(bread, &found.meat), freedom: found.freedom, worth: Worth::Independent }
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
