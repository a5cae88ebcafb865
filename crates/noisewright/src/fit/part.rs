//! A part of both samples, held in memory: what a search begins with, wherever all the rows are.

use std::ops::Range;

use super::data_rows::held_rows;
use super::loss_terms::Class;
use super::objective::Objective;
use super::sample_blocks::{HeldPoints, RowSource, SampleBlocks};
use crate::noise::sample_for;
use crate::run::Purpose;
use crate::{Noise, Points, Result, View};

/// Rows of both samples.
pub(crate) struct Part {
    data: Points,
    weights: Option<Vec<f64>>,
    data_log_noise: Vec<f64>,
    noise: Points,
    noise_log_noise: Vec<f64>,
}

impl Part {
    /// So many rows of data and of noise, spread over each sample; `None` where none of those rows counts. Of rows that are
    /// drawn the first are taken, of rows that are read anew some of those that are held.
    pub(crate) fn of(objective: &Objective<'_>, (data_rows, noise_rows): (usize, usize)) -> Option<Self> {
        let (data, weights, data_log_noise) = match &objective.data.feed {
            RowSource::Memory { points, weights, log_noise } => {
                // The rows that would be taken if only those were held that are of a stream.
                let (data, rows) =
                    picked(points.view(), thinned_of(&held_rows(points.view().rows()), data_rows));
                let log_noise = rows.iter().map(|i| log_noise[*i]).collect();
                (data, weights.map(|w| rows.iter().map(|i| w[*i]).collect::<Vec<f64>>()), log_noise)
            }
            RowSource::Elsewhere { noise, some, .. } => {
                let (data, rows) = thinned(some.points, data_rows);
                let log_noise = density_or_zero(noise.as_deref(), &data);
                (data, some.weights.map(|w| rows.iter().map(|i| w[*i]).collect()), log_noise)
            }
            RowSource::Drawn { .. } => return None,
        };
        if weights.as_ref().is_some_and(|w| w.iter().all(|x| *x == 0.0)) {
            return None;
        }
        let (noise, noise_log_noise) = match &objective.noise.feed {
            // Draws that are held are those that would be drawn again where there is no room for them.
            RowSource::Memory { points: HeldPoints::Owned(points), log_noise, .. } => {
                let first: Vec<usize> = (0..noise_rows.min(points.rows())).collect();
                let (noise, rows) = picked(points.view(), first);
                (noise, rows.iter().map(|i| log_noise[*i]).collect())
            }
            RowSource::Memory { points, log_noise, .. } => {
                let (noise, rows) =
                    picked(points.view(), thinned_of(&held_rows(points.view().rows()), noise_rows));
                (noise, rows.iter().map(|i| log_noise[*i]).collect())
            }
            RowSource::Drawn { noise, context, quiet } => {
                let rows = noise_rows.min(objective.noise.rows);
                let points = match quiet {
                    Some(quiet) => Points::unnamed(noise.dimension(), rows, quiet.draw(0..rows)),
                    None => sample_for(noise.as_ref(), rows, context, Purpose::FitNoise).ok()?,
                };
                let log_noise = density_or_zero(Some(noise.as_ref()), &points);
                (points, log_noise)
            }
            RowSource::Elsewhere { noise, some, .. } => {
                let (points, _) = thinned(some.points, noise_rows);
                let log_noise = density_or_zero(noise.as_deref(), &points);
                (points, log_noise)
            }
        };
        Some(Self { data, weights, data_log_noise, noise, noise_log_noise })
    }

    /// The two samples.
    fn sides(&self) -> (SampleBlocks<'_>, SampleBlocks<'_>) {
        let (points, log) = (HeldPoints::Borrowed(self.data.view()), self.data_log_noise.clone());
        let data = SampleBlocks::memory(Class::Data, points, self.weights.as_deref(), log);
        let (points, log) = (HeldPoints::Borrowed(self.noise.view()), self.noise_log_noise.clone());
        (data, SampleBlocks::memory(Class::Noise, points, None, log))
    }

    /// The loss over these rows, in the coordinates and with the ratio of the whole.
    pub(crate) fn objective<'p>(&'p self, whole: &Objective<'p>) -> Result<Objective<'p>> {
        let (data, noise) = self.sides();
        whole.over(data, noise)
    }

    /// The loss over these rows as if there were no others.
    pub(crate) fn alone<'p>(&'p self, whole: &Objective<'p>) -> Result<Objective<'p>> {
        let (data, noise) = self.sides();
        let nu = noise.rows as f64 / data.total;
        let loss = whole.loss.at_other_nu(whole.nu, nu);
        Objective::new(whole.model, &loss, nu, data, noise, self.data.view(), false)
    }
}

/// The log-density of the noise at some points; zero where there is none.
fn density_or_zero(noise: Option<&dyn Noise>, points: &Points) -> Vec<f64> {
    let mut log_noise = vec![0.0; points.rows()];
    if let Some(noise) = noise {
        noise.log_density(points.view(), &mut log_noise);
    }
    log_noise
}

/// Rows spread evenly over all, and which they are.
fn thinned(points: View<'_>, most: usize) -> (Points, Vec<usize>) {
    picked(points, thinned_of(std::slice::from_ref(&(0..points.rows())), most))
}

/// Numbers spread evenly over ranges of them.
fn thinned_of(ranges: &[Range<usize>], most: usize) -> Vec<usize> {
    let total: usize = ranges.iter().map(Range::len).sum();
    let count = total.min(most);
    let mut ranges = ranges.iter();
    let (mut range, mut before) = (ranges.next().cloned().unwrap_or(0..0), 0);
    let place = |i: usize| {
        let at = i * total / count;
        while at - before >= range.len() {
            before += range.len();
            range = ranges.next().cloned().unwrap_or(0..usize::MAX);
        }
        range.start + at - before
    };
    (0..count).map(place).collect()
}

/// Some rows, and which they are.
fn picked(points: View<'_>, rows: Vec<usize>) -> (Points, Vec<usize>) {
    let values = (0..points.columns()).flat_map(|j| rows.iter().map(move |i| points.column(j)[*i])).collect();
    (Points::unnamed(points.columns(), rows.len(), values), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn rows_are_spread_over_ranges() {
        assert_eq!(thinned_of(&[0..10], 4), [0, 2, 5, 7]);
        assert_eq!(thinned_of(&[0..3, 10..13, 20..24], 5), [0, 2, 11, 20, 22]);
        assert_eq!(thinned_of(&[4..6], 9), [4, 5]);
        assert!(thinned_of(&[], 3).is_empty());
    }
}
