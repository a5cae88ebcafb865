//! Data whose tails are too heavy for moments: Student's distribution by maximum likelihood.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::special::ln_gamma;

use super::fitting::{Sample, unfitted};
use crate::{Result, View};

/// Times the standard deviation may exceed the one that the quartiles give before moments say nothing about where the data
/// are: 1 for normal data, 1.2 for five degrees of freedom, 1.5 for three, without limit for two and fewer.
const SPREAD: f64 = 2.0;
/// Degrees of freedom that are tried.
const DEGREES: [f64; 8] = [0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0];
/// Rounds of the EM algorithm for each, which converges to a thousandth within a few dozen.
const ROUNDS: usize = 60;

/// The distance between the quartiles of a standard normal distribution.
const NORMAL_QUARTILES: f64 = 1.348_979_500_392_163_5;

/// Whether the moments of a sample are decided by a few far values.
pub(super) fn shows(sample: &Sample<'_>) -> bool {
    let Ok((_, variance)) = sample.moments() else { return false };
    let quartiles = sample.quantile(0.75) - sample.quantile(0.25);
    quartiles > 0.0 && variance.sqrt() > SPREAD * quartiles / NORMAL_QUARTILES
}

/// A fitted Student distribution.
pub(super) struct StudentFit {
    pub(super) dof: f64,
    pub(super) location: Vec<f64>,
    /// The matrix of its scale, row after row.
    pub(super) matrix: Vec<f64>,
}

/// Maximum likelihood over location, scale and some degrees of freedom, by the EM algorithm that weighs every row by
/// `(dof + d)/(dof + its squared distance)` (Liu and Rubin 1995).
///
/// # Errors
/// When the rows do not determine a scale.
pub(super) fn fit_student(noise: &str, data: View<'_>, weights: Option<&[f64]>) -> Result<StudentFit> {
    let rows = DMatrix::from_fn(data.rows(), data.columns(), |i, j| data.get(i, j));
    let start = Place::from_quartiles(data, weights)?;
    let mut best: Option<(f64, f64, Place)> = None;
    for dof in DEGREES {
        let mut place = start.clone();
        for _ in 0..ROUNDS {
            let Some(next) = place.distances(&rows).and_then(|far| place.next(&rows, weights, dof, &far))
            else {
                break;
            };
            place = next;
        }
        let Some(likelihood) = place.log_likelihood(&rows, weights, dof) else { continue };
        if best.as_ref().is_none_or(|known| likelihood > known.0) {
            best = Some((likelihood, dof, place));
        }
    }
    let Some((_, dof, place)) = best else {
        return Err(unfitted(noise, "the data do not determine a scale of Student's distribution"));
    };
    let matrix = place.matrix.transpose().as_slice().to_vec();
    Ok(StudentFit { dof, location: place.location.as_slice().to_vec(), matrix })
}

/// Location and scale.
#[derive(Clone)]
struct Place {
    location: DVector<f64>,
    matrix: DMatrix<f64>,
}

impl Place {
    /// Medians and the scales that quartiles give.
    fn from_quartiles(data: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let (mut location, mut scale) = (Vec::new(), Vec::new());
        for axis in 0..data.columns() {
            let sample = Sample::column("auto", data, weights, axis)?;
            location.push(sample.quantile(0.5));
            let quartiles = (sample.quantile(0.75) - sample.quantile(0.25)) / NORMAL_QUARTILES;
            let fallback = sample.moments()?.1;
            scale.push(if quartiles > 0.0 { quartiles * quartiles } else { fallback });
        }
        Ok(Self {
            location: DVector::from_vec(location),
            matrix: DMatrix::from_diagonal(&DVector::from_vec(scale)),
        })
    }

    /// Squared distances of the rows in the metric of the scale; `None` where that is singular.
    fn distances(&self, rows: &DMatrix<f64>) -> Option<Vec<f64>> {
        let factor = self.matrix.clone().cholesky()?;
        let mut centred = rows.transpose();
        for mut column in centred.column_iter_mut() {
            column -= &self.location;
        }
        let whitened = factor.l().solve_lower_triangular(&centred)?;
        let far: Vec<f64> = whitened.column_iter().map(|column| column.norm_squared()).collect();
        far.iter().all(|x| x.is_finite()).then_some(far)
    }

    /// A round of the EM algorithm.
    fn next(&self, rows: &DMatrix<f64>, weights: Option<&[f64]>, dof: f64, far: &[f64]) -> Option<Self> {
        let (count, size) = rows.shape();
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let share = |i: usize| weight(i) * (dof + size as f64) / (dof + far[i]);
        let total: f64 = (0..count).map(share).sum();
        let rows_total: f64 = (0..count).map(weight).sum();
        let mut location = DVector::zeros(size);
        for i in 0..count {
            location += rows.row(i).transpose() * (share(i) / total);
        }
        let mut matrix = DMatrix::zeros(size, size);
        for i in 0..count {
            let off = rows.row(i).transpose() - &location;
            // A row far out weighs little, but its square may be beyond all numbers.
            matrix += &off * (off.transpose() * (share(i) / rows_total));
        }
        matrix.iter().all(|x| x.is_finite()).then_some(Self { location, matrix })
    }

    fn log_likelihood(&self, rows: &DMatrix<f64>, weights: Option<&[f64]>, dof: f64) -> Option<f64> {
        let far = self.distances(rows)?;
        let size = rows.ncols() as f64;
        let root = self.matrix.clone().cholesky()?.l().diagonal().iter().map(|d| d.ln()).sum::<f64>();
        let constant = ln_gamma(0.5 * (dof + size))
            - ln_gamma(0.5 * dof)
            - 0.5 * size * (dof * std::f64::consts::PI).ln()
            - root;
        let term = |x: &f64| constant - 0.5 * (dof + size) * (x / dof).ln_1p();
        let value = far.iter().enumerate().map(|(i, x)| weights.map_or(1.0, |w| w[i]) * term(x)).sum::<f64>();
        value.is_finite().then_some(value)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{MultivariateStudent, Student, sample};

    #[test]
    fn a_cauchy_sample_gives_its_own_location_and_scale() {
        let points = sample(&Student::new(1.0, 3.0, 2.0).unwrap(), 2000, 4);
        assert!(shows(&Sample::scalar("auto", points.view(), None).unwrap()));
        let found = fit_student("auto", points.view(), None).unwrap();
        // Both have the information 1/(2 scale²) a row: four standard errors are 4·2·√(2/2000).
        assert_eq!(found.dof, 1.0);
        assert!((found.location[0] - 3.0).abs() < 0.26, "{:?}", found.location);
        assert!((found.matrix[0].sqrt() - 2.0).abs() < 0.26, "{:?}", found.matrix);
    }

    #[test]
    fn tails_that_moments_can_bear_do_not_show() {
        for dof in [5.0, 8.0, 50.0] {
            let points = sample(&Student::new(dof, 0.0, 1.0).unwrap(), 500, 1);
            assert!(!shows(&Sample::scalar("auto", points.view(), None).unwrap()), "{dof}");
        }
    }

    #[test]
    fn correlations_survive_heavy_tails() {
        let truth = MultivariateStudent::new(1.5, &[0.0, 5.0], &[1.0, 0.8, 0.8, 4.0]).unwrap();
        let found = fit_student("auto", sample(&truth, 3000, 2).view(), None).unwrap();
        let correlation = found.matrix[1] / (found.matrix[0] * found.matrix[3]).sqrt();
        // A correlation of about 0.4 from 3,000 rows of this distribution is known to about 0.025.
        assert!((correlation - 0.4).abs() < 0.1 && (found.location[1] - 5.0).abs() < 0.3, "{correlation}");
    }
}
