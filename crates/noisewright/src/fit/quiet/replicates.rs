//! The noise part of the variance of a fit against quiet noise: from the spread between its replicates.

use nalgebra::{DMatrix, DVector};

use super::super::distributed::partial_fields;
use super::super::evaluate::{ChunkView, ParameterPoint};
use super::super::leverage::SampleVariance;
use super::super::loss_terms::{Class, Terms};
use super::super::objective::Objective;
use crate::{Error, Result};

/// The covariance of the mean of `w r ψ` over all noise points, from the means of the replicates (MATH §8); `None` for noise
/// that has none.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(crate) fn replicate_variance(objective: &Objective<'_>, at: &[f64]) -> Result<Option<SampleVariance>> {
    let Some(points) = objective.noise.replicate_points else { return Ok(None) };
    let Some(place) = ParameterPoint::new(objective, at) else { return Err(Error::NoMass) };
    let size = objective.size();
    let sums = || ReplicateSums::new(objective.noise.rows / points, points, size);
    let add = |(total, terms): &mut (ReplicateSums, Terms), seen: &ChunkView<'_>| {
        terms.fill(&objective.loss, Class::Noise, seen.log_ratio);
        let columns = (0..size).map(|j| seen.score.column(j));
        total.add(seen.first_row, &terms.first, columns);
        Ok(())
    };
    let join = |a: (ReplicateSums, Terms), b: (ReplicateSums, Terms)| (a.0.join(&b.0), a.1);
    let start = || (sums(), Terms::default());
    let (total, _) = objective.fold(&objective.noise, &place, start, add, join)?;
    let freedom = vec![total.count as f64 - 1.0; size];
    Ok(Some(SampleVariance { meat: total.covariance_of_mean(), freedom }))
}

/// Sums of weighted columns over the points of every replicate.
#[derive(Clone, Debug)]
pub(crate) struct ReplicateSums {
    count: usize,
    /// Points of each replicate.
    points: usize,
    size: usize,
    /// Replicate after replicate.
    sums: Vec<f64>,
}

partial_fields!(ReplicateSums { count, points, size, sums });

impl ReplicateSums {
    pub(crate) fn new(count: usize, points: usize, size: usize) -> Self {
        Self { count, points, size, sums: vec![0.0; count * size] }
    }

    /// Adds rows from number `first` on.
    pub(crate) fn add<'c>(
        &mut self,
        first: usize,
        weights: &[f64],
        columns: impl Iterator<Item = &'c [f64]>,
    ) {
        for (j, column) in columns.enumerate() {
            let mut row = 0;
            while row < weights.len() {
                let replicate = (first + row) / self.points;
                let end = ((replicate + 1) * self.points - first).min(weights.len());
                let terms = weights[row..end].iter().zip(&column[row..end]);
                self.sums[replicate * self.size + j] += terms.map(|(w, x)| w * x).sum::<f64>();
                row = end;
            }
        }
    }

    pub(crate) fn join(mut self, other: &Self) -> Self {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self
    }

    /// The covariance over the replicates of their means, divided by their number.
    pub(crate) fn covariance_of_mean(&self) -> DMatrix<f64> {
        let mean_of = |replicate: &[f64]| DVector::from_column_slice(replicate) / self.points as f64;
        let means: Vec<DVector<f64>> = self.sums.chunks(self.size.max(1)).map(mean_of).collect();
        let count = self.count as f64;
        let mean = means.iter().fold(DVector::zeros(self.size), |sum, m| sum + m) / count;
        let spread = means.iter().fold(DMatrix::zeros(self.size, self.size), |sum, m| {
            let off = m - &mean;
            sum + &off * off.transpose()
        });
        spread / ((count - 1.0) * count)
    }
}
