//! Energies from closures: the score by differences, or by a closure of its own.

use std::sync::Arc;

use super::forward;
use crate::{Energy, Result, View};

/// Step of the five-point differences relative to the parameter (or to one): the fifth root of the rounding error, at which
/// truncation and rounding are equal, and the derivative is good to about twelve digits.
const STEP: f64 = 7e-4;

/// A log-density of one point, as one of a batch of points.
pub(crate) fn per_point(
    log_density: impl Fn(&[f64], &[f64]) -> f64,
) -> impl Fn(&[f64], View<'_>, &mut [f64]) -> Result<()> {
    move |parameters: &[f64], points: View<'_>, out: &mut [f64]| {
        let mut x = vec![0.0; points.columns()];
        for (row, out) in out.iter_mut().enumerate() {
            points.copy_row(row, &mut x);
            *out = log_density(parameters, &x);
        }
        Ok(())
    }
}

/// A log-density as a function of the parameters and of a batch of points.
pub(crate) struct BatchEnergy<F> {
    names: Vec<String>,
    dimension: usize,
    log_density: F,
}

impl<F> BatchEnergy<F> {
    pub(crate) fn new(names: Vec<String>, dimension: usize, log_density: F) -> Self {
        Self { names, dimension, log_density }
    }
}

impl<F: Fn(&[f64], View<'_>, &mut [f64]) -> Result<()> + Send + Sync> Energy for BatchEnergy<F> {
    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let at = |parameters: &[f64], out: &mut [f64]| {
            out.fill(f64::NAN);
            (self.log_density)(parameters, points, out)
        };
        at(parameters, value)?;
        score.map_or(Ok(()), |score| differences(parameters, value, score, at))
    }
}

/// The score by differences in one parameter after the other: five points, or three on one side where the log-density is
/// not a number on the other, as at the end of what a parameter may be.
fn differences(
    parameters: &[f64],
    value: &[f64],
    score: &mut [f64],
    at: impl Fn(&[f64], &mut [f64]) -> Result<()>,
) -> Result<()> {
    let rows = value.len();
    let mut moved = parameters.to_vec();
    let mut shifted = [(); 4].map(|()| vec![0.0; rows]);
    for (j, column) in score.chunks_mut(rows.max(1)).enumerate() {
        let step = STEP * parameters[j].abs().max(1.0);
        for (shift, out) in [-2.0, -1.0, 1.0, 2.0].into_iter().zip(&mut shifted) {
            moved[j] = parameters[j] + shift * step;
            // A side on which the parameter is not allowed has no numbers.
            if at(&moved, out).is_err() {
                out.fill(f64::NAN);
            }
        }
        moved[j] = parameters[j];
        for (row, slope) in column.iter_mut().enumerate() {
            *slope = derivative(value[row], shifted.each_ref().map(|side| side[row]), step);
        }
    }
    Ok(())
}

/// The derivative from the values at `−2h, −h, h, 2h` around one; zero where there is no density.
fn derivative(here: f64, [far_below, below, above, far_above]: [f64; 4], step: f64) -> f64 {
    if here == f64::NEG_INFINITY {
        return 0.0;
    }
    let five = (8.0 * (above - below) - (far_above - far_below)) / (12.0 * step);
    if five.is_finite() {
        return five;
    }
    let forward = (4.0 * above - far_above - 3.0 * here) / (2.0 * step);
    let backward = (far_below - 4.0 * below + 3.0 * here) / (2.0 * step);
    if forward.is_finite() { forward } else { backward }
}

/// An energy with another score, a function of the parameters and of one point.
pub(crate) struct ScoredEnergy<F> {
    energy: Arc<dyn Energy>,
    score: F,
}

impl<F> ScoredEnergy<F> {
    pub(crate) fn new(energy: Arc<dyn Energy>, score: F) -> Self {
        Self { energy, score }
    }
}

impl<F: Fn(&[f64], &[f64], &mut [f64]) + Send + Sync> Energy for ScoredEnergy<F> {
    forward! { self => self.energy;
        parameters dimension point_gradient canonical constants is_linear prefers_batches log_normalizer
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        self.energy.evaluate(parameters, points, value, None)?;
        let Some(score) = score else { return Ok(()) };
        let (mut x, mut slopes) = (vec![0.0; points.columns()], vec![0.0; parameters.len()]);
        for row in 0..points.rows() {
            points.copy_row(row, &mut x);
            slopes.fill(f64::NAN);
            (self.score)(parameters, &x, &mut slopes);
            slopes.iter().enumerate().for_each(|(j, slope)| score[j * points.rows() + row] = *slope);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_good_to_eleven_digits() {
        let names = || vec!["a".to_owned(), "b".to_owned()];
        let log_density = |t: &[f64], x: &[f64]| (t[0] * x[0]).sin() - t[1].exp() * x[0];
        let energy = BatchEnergy::new(names(), 1, per_point(log_density));
        let points = View::new(1, 2, &[0.7, -1.3]);
        let (mut value, mut score) = ([0.0; 2], [0.0; 4]);
        energy.evaluate(&[1.2, 0.4], points, &mut value, Some(&mut score)).unwrap();
        for (i, x) in [0.7f64, -1.3].into_iter().enumerate() {
            assert!((score[i] - x * (1.2 * x).cos()).abs() < 1e-11, "{score:?}");
            assert!((score[2 + i] + 0.4f64.exp() * x).abs() < 1e-11, "{score:?}");
        }
    }

    #[test]
    fn a_side_without_numbers_leaves_the_other() {
        let log_density = |t: &[f64], x: &[f64]| x[0] * t[0].powf(1.5) + t[0].ln() * 0.0;
        let energy = BatchEnergy::new(vec!["s".into()], 1, per_point(log_density));
        let (mut value, mut score) = ([0.0], [0.0]);
        energy.evaluate(&[5e-4], View::new(1, 1, &[1.0]), &mut value, Some(&mut score)).unwrap();
        // Forward differences of t^1.5 at a step of about t.
        assert!((score[0] - 1.5 * 5e-4f64.sqrt()).abs() < 0.02, "{score:?}");
    }
}
