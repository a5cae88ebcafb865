//! Rows between two samples: waymarks `c + √(1 − α²)(x₀ − c) + α(x₁ − c)` of pairs of rows (Rhodes, Xu and Gutmann 2020), and where
//! to put them so that neighbours are equally far apart.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};

use crate::{Points, View};

/// Places at which the length of a path is measured.
const GRID: usize = 64;
/// Share of every variance that is added to a covariance, so that it has an inverse.
const JITTER: f64 = 1e-9;

/// Two samples, and how their rows belong together.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) first: View<'a>,
    pub(super) second: View<'a>,
    /// How many pairs further rows still depend on each other, where the i-th rows of both samples are a pair.
    pub(super) lag: usize,
    /// Whether the i-th rows are taken as pairs; otherwise the samples are independent of each other.
    pub(super) paired: bool,
}

impl Samples<'_> {
    /// Number of pairs: rows of the smaller sample are used again.
    pub(super) fn pairs(&self) -> usize {
        self.first.rows().max(self.second.rows())
    }

    /// Number of independent units: rows of the smaller sample, with all pairs that they are in.
    pub(super) fn units(&self) -> usize {
        self.first.rows().min(self.second.rows())
    }

    /// The mean of both samples' means, around which waymarks are combinations.
    pub(super) fn center(&self) -> Vec<f64> {
        let mean = |view: View<'_>, j: usize| noisewright_numerics::summation::mean(view.column(j));
        (0..self.first.columns()).map(|j| f64::midpoint(mean(self.first, j), mean(self.second, j))).collect()
    }

    /// The waymarks of some pairs at α.
    pub(super) fn waymark(&self, alpha: f64, center: &[f64], pairs: Range<usize>) -> Points {
        let (keep, take) = ((1.0 - alpha * alpha).max(0.0).sqrt(), alpha);
        let columns = self.first.columns();
        let mut values = Vec::with_capacity(columns * pairs.len());
        for (j, c) in center.iter().enumerate() {
            let (first, second) = (self.first.column(j), self.second.column(j));
            values.extend(pairs.clone().map(|i| {
                let (x, y) = (first[i % first.len()], second[i % second.len()]);
                match alpha {
                    // The ends are the samples themselves, to the bit.
                    0.0 => x,
                    1.0 => y,
                    _ => c + keep * (x - c) + take * (y - c),
                }
            }));
        }
        Points::unnamed(columns, pairs.len(), values)
    }
}

/// Lengths of the stretches of a path from 0 to 1 between neighbouring places.
pub(super) struct Path {
    places: Vec<f64>,
    lengths: Vec<f64>,
}

impl Path {
    /// The lengths if both samples were normal with their means and covariances: the root of Jeffreys' divergence of neighbouring
    /// waymarks, which adds up along a path as its parts become short.
    pub(super) fn of_normals(samples: &Samples<'_>) -> Self {
        let moments = [moments(samples.first), moments(samples.second)];
        let center = DVector::from_vec(samples.center());
        let places: Vec<f64> = (0..=GRID).map(|i| i as f64 / GRID as f64).collect();
        let at = |alpha: f64| {
            let keep = 1.0 - alpha * alpha;
            let mean = &center + (&moments[0].0 - &center) * keep.sqrt() + (&moments[1].0 - &center) * alpha;
            (mean, &moments[0].1 * keep + &moments[1].1 * (alpha * alpha))
        };
        let all: Vec<_> = places.iter().map(|alpha| Normal::new(at(*alpha))).collect();
        let lengths = all.windows(2).map(|pair| pair[0].divergence(&pair[1]).max(0.0).sqrt()).collect();
        Self { places, lengths }
    }

    /// The lengths that were measured between places.
    pub(super) fn measured(places: Vec<f64>, divergences: &[f64]) -> Self {
        Self { places, lengths: divergences.iter().map(|d| d.max(0.0).sqrt()).collect() }
    }

    pub(super) fn length(&self) -> f64 {
        self.lengths.iter().sum()
    }

    /// The longest stretch over the mean one.
    pub(super) fn unevenness(&self) -> f64 {
        let longest = self.lengths.iter().copied().fold(0.0, f64::max);
        longest * self.lengths.len() as f64 / self.length().max(f64::MIN_POSITIVE)
    }

    /// So many stretches of equal length.
    pub(super) fn equal(&self, stretches: usize) -> Vec<f64> {
        let total = self.length();
        if !(total > 0.0 && total.is_finite()) {
            return (0..=stretches).map(|i| i as f64 / stretches as f64).collect();
        }
        let mut out = vec![0.0];
        let (mut before, mut stretch) = (0.0, 0);
        for i in 1..stretches {
            let wanted = total * i as f64 / stretches as f64;
            while stretch + 1 < self.lengths.len() && before + self.lengths[stretch] < wanted {
                before += self.lengths[stretch];
                stretch += 1;
            }
            let share = ((wanted - before) / self.lengths[stretch].max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            out.push(self.places[stretch] + share * (self.places[stretch + 1] - self.places[stretch]));
        }
        out.push(1.0);
        out
    }
}

/// Mean and covariance of some rows.
pub(super) fn moments(view: View<'_>) -> (DVector<f64>, DMatrix<f64>) {
    let (rows, columns) = (view.rows(), view.columns());
    let all = (0..columns).flat_map(|j| view.column(j).iter().copied());
    let mut matrix = DMatrix::from_iterator(rows, columns, all);
    let mean = matrix.row_mean();
    for (mut column, m) in matrix.column_iter_mut().zip(mean.iter()) {
        column.add_scalar_mut(-m);
    }
    let mut covariance = matrix.tr_mul(&matrix) / rows as f64;
    for j in 0..columns {
        covariance[(j, j)] += JITTER * covariance[(j, j)].max(f64::MIN_POSITIVE);
    }
    (mean.transpose(), covariance)
}

struct Normal {
    mean: DVector<f64>,
    covariance: DMatrix<f64>,
    precision: DMatrix<f64>,
}

impl Normal {
    fn new((mean, covariance): (DVector<f64>, DMatrix<f64>)) -> Self {
        let precision = match invert(&covariance) {
            Inverse::Regular(inverse) => inverse,
            // Without an inverse variances alone are compared.
            Inverse::Singular(_) => {
                DMatrix::from_diagonal(&covariance.diagonal().map(|v| if v > 0.0 { 1.0 / v } else { 0.0 }))
            }
        };
        Self { mean, covariance, precision }
    }

    /// Jeffreys' divergence, `KL(p, q) + KL(q, p)`.
    fn divergence(&self, other: &Self) -> f64 {
        let traces = self.precision.dot(&other.covariance) + other.precision.dot(&self.covariance);
        let apart = &self.mean - &other.mean;
        let shift = apart.dot(&((&self.precision + &other.precision) * &apart));
        0.5 * (traces - 2.0 * self.mean.len() as f64 + shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_of_equal_length() {
        let path = Path { places: vec![0.0, 0.5, 1.0], lengths: vec![3.0, 1.0] };
        let places = path.equal(4);
        let expected = [0.0, 1.0 / 6.0, 1.0 / 3.0, 0.5, 1.0];
        assert!(places.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{places:?}");
    }

    #[test]
    fn the_divergence_of_normals_is_the_textbook_one() {
        // KL(N(0,1), N(1,4)) + KL(N(1,4), N(0,1)) by hand: ½(1/4 + 1/4 − 1 + ln 4) + ½(4 + 1 − 1 − ln 4) = 1.75.
        let normal =
            |m: f64, v: f64| Normal::new((DVector::from_element(1, m), DMatrix::from_element(1, 1, v)));
        assert!((normal(0.0, 1.0).divergence(&normal(1.0, 4.0)) - 1.75).abs() < 1e-12);
    }
}
