//! Averages of the energy and its derivatives over the data.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram, weighted_sum};
use noisewright_numerics::summation::blocked;

use super::whitening::Frame;
use crate::fit::Data;
use crate::fit::leverage::{LeverageSums, Leverages, SampleVariance};
use crate::fit::sample_blocks::{BLOCK, CHUNK};
use crate::memory::check_count;
use crate::{Error, Model, Result, View};

/// The data and, for a linear model, its averages once and for all.
pub(super) struct Means<'a> {
    model: &'a Model,
    data: Data<'a>,
    total: f64,
    /// Mean energy at θ = 0 and mean features.
    linear: Option<(f64, DVector<f64>)>,
}

/// Averages at one θ.
pub(super) struct Mean {
    pub(super) energy: f64,
    pub(super) score: DVector<f64>,
    /// Of the second derivatives, if the model gives them.
    pub(super) curvature: Option<DMatrix<f64>>,
}

/// What a chunk of rows looks like at one θ.
struct ChunkView<'s> {
    points: View<'s>,
    energy: &'s [f64],
    score: Columns<'s>,
    weights: &'s [f64],
}

impl<'a> Means<'a> {
    pub(super) fn new(model: &'a Model, data: Data<'a>) -> Result<Self> {
        let mut means = Self { model, data, total: data.total_weight(), linear: None };
        if model.energy().is_linear() {
            let zero = vec![0.0; model.parameters().len()];
            let Some(mean) = means.sum(&zero, false)? else { return Err(means.first_without_density(&zero)) };
            means.linear = Some((mean.energy, mean.score));
        }
        Ok(means)
    }

    /// The averages; `None` where a row has no density.
    pub(super) fn at(&self, theta: &[f64], curvature: bool) -> Result<Option<Mean>> {
        let Some((base, features)) = &self.linear else {
            return match self.sum(theta, curvature) {
                Err(Error::Parameter { .. } | Error::NotANumber { .. }) => Ok(None),
                other => other,
            };
        };
        let energy = base + features.iter().zip(theta).map(|(t, p)| t * p).sum::<f64>();
        let size = theta.len();
        Ok(Some(Mean { energy, score: features.clone(), curvature: Some(DMatrix::zeros(size, size)) }))
    }

    fn sum(&self, theta: &[f64], curvature: bool) -> Result<Option<Mean>> {
        let size = theta.len();
        let add = |total: &mut (f64, DVector<f64>, Option<DMatrix<f64>>), seen: ChunkView<'_>| {
            let terms = seen.energy.iter().zip(seen.weights);
            total.0 += terms.map(|(u, w)| if *w == 0.0 { 0.0 } else { u * w }).sum::<f64>();
            weighted_sum(seen.score, seen.weights, total.1.as_mut_slice());
            if let Some(matrix) = total.2.as_mut().filter(|_| curvature) {
                let energy = self.model.energy();
                if !energy.add_curvature(theta, seen.points, seen.weights, matrix.as_mut_slice())? {
                    total.2 = None;
                }
            }
            Ok(())
        };
        let start = || (0.0, DVector::zeros(size), Some(DMatrix::zeros(size, size)));
        let join = |a: (f64, DVector<f64>, Option<DMatrix<f64>>),
                    b: (f64, DVector<f64>, Option<DMatrix<f64>>)| {
            (a.0 + b.0, a.1 + b.1, a.2.zip(b.2).map(|(x, y)| x + y))
        };
        let (energy, score, matrix) = self.fold(theta, start, add, join)?;
        let total = self.total;
        let mean =
            Mean { energy: energy / total, score: score / total, curvature: matrix.map(|m| m / total) };
        Ok(mean.energy.is_finite().then_some(mean))
    }

    /// The covariance of the score over the data, centred, in the coordinates of a frame.
    pub(super) fn spread(&self, theta: &[f64], frame: &Frame) -> Result<DMatrix<f64>> {
        let size = theta.len();
        let Some(mean) = self.at(theta, false)? else { return Err(Error::NoMass) };
        let add = |total: &mut DMatrix<f64>, seen: ChunkView<'_>| {
            let rows = seen.weights.len();
            let score: Vec<f64> = (0..size).flat_map(|j| seen.score.column(j)).copied().collect();
            let centred = frame.centred(&score, rows, &mean.score);
            weighted_gram(Columns::new(&centred, rows, size, rows), seen.weights, total.as_mut_slice());
            Ok(())
        };
        Ok(self.fold(theta, || DMatrix::zeros(size, size), add, |a, b| a + b)? / self.total)
    }

    /// The covariance of the mean score, corrected for leverage, with the degrees of freedom of every unknown;
    /// `outer_bread` carries a frame's statistics to the unknowns.
    pub(super) fn variance(
        &self,
        theta: &[f64],
        outer_bread: &DMatrix<f64>,
        frame: &Frame,
    ) -> Result<SampleVariance> {
        let size = theta.len();
        let Some(mean) = self.at(theta, false)? else { return Err(Error::NoMass) };
        let squares = self.spread(theta, frame)? * self.total;
        let leverages = Leverages::new(&squares, &DVector::zeros(size), self.total, outer_bread.clone());
        let add = |total: &mut LeverageSums, seen: ChunkView<'_>| {
            let rows = seen.weights.len();
            let score: Vec<f64> = (0..size).flat_map(|j| seen.score.column(j)).copied().collect();
            let centred = frame.centred(&score, rows, &mean.score);
            leverages.add(total, DMatrix::from_vec(rows, size, centred), Some(seen.weights));
            Ok(())
        };
        let sums = self.fold(theta, || leverages.sums(), add, LeverageSums::join)?;
        Ok(leverages.finish(&sums))
    }

    /// What each row adds to the unknowns, times its weight, row after row; `outer_bread` is for a frame's statistics.
    pub(super) fn influences(
        &self,
        theta: &[f64],
        outer_bread: &DMatrix<f64>,
        frame: &Frame,
    ) -> Result<Vec<f64>> {
        // Twice, since parts are joined.
        check_count("rows", self.data.points.rows(), 2 * theta.len())?;
        let Some(mean) = self.at(theta, false)? else { return Err(Error::NoMass) };
        let add = |values: &mut Vec<f64>, seen: ChunkView<'_>| {
            for row in 0..seen.weights.len() {
                let off = DVector::from_fn(theta.len(), |j, _| seen.score.column(j)[row] - mean.score[j]);
                values.extend((outer_bread * frame.apply(off) * seen.weights[row]).iter());
            }
            Ok(())
        };
        self.fold(theta, Vec::new, add, |mut a, b| {
            a.extend_from_slice(&b);
            a
        })
    }

    fn fold<T: Send>(
        &self,
        theta: &[f64],
        start: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, ChunkView<'_>) -> Result<()> + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        let size = theta.len();
        let leaf = |range: std::ops::Range<usize>| -> Result<T> {
            let mut total = start();
            for first in range.clone().step_by(CHUNK) {
                let rows = first..range.end.min(first + CHUNK);
                let points = self.data.points.slice(rows.clone());
                let mut energy = vec![0.0; rows.len()];
                let mut score = vec![0.0; rows.len() * size];
                self.model.evaluate(theta, points, &mut energy, Some(&mut score))?;
                let ones;
                let weights = match self.data.weights {
                    Some(weights) => &weights[rows.clone()],
                    None => {
                        ones = vec![1.0; rows.len()];
                        &ones
                    }
                };
                let score = Columns::new(&score, rows.len(), size, rows.len());
                add(&mut total, ChunkView { points, energy: &energy, score, weights })?;
            }
            Ok(total)
        };
        let joined = blocked(self.data.points.rows(), BLOCK, leaf, |a, b| Ok(join(a?, b?)));
        joined.unwrap_or_else(|| Ok(start()))
    }

    /// The first row that has no density or no score, as an error; what else is wrong if there is none.
    pub(super) fn first_without_density(&self, theta: &[f64]) -> Error {
        let (points, rows) = (self.data.points, self.data.points.rows());
        let (mut energy, mut score) = (vec![0.0; rows], vec![0.0; rows * theta.len()]);
        if let Err(error) = self.model.evaluate(theta, points, &mut energy, Some(&mut score)) {
            return error;
        }
        let counts = |row: usize| self.data.weights.is_none_or(|w| w[row] > 0.0);
        if let Some(row) = (0..rows).find(|row| !energy[*row].is_finite() && counts(*row)) {
            return Error::NoDensity { row: row + 1 };
        }
        match score.iter().position(|s| !s.is_finite()) {
            Some(at) => self.model.not_a_score(theta, points, at % rows),
            None => Error::NoMass,
        }
    }
}
