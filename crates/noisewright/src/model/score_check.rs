//! A score of the caller's own compared with differences of the log-density, once, when a model is first used.

use std::sync::atomic::Ordering;

use super::Model;
use crate::fit::Data;
use crate::points::Points;
use crate::{Error, Result, View};

/// Points at which the score is compared.
const PLACES: usize = 8;
/// First step of the differences, relative to the parameter (or one): the cube root of the rounding error, at which both
/// the truncation and the rounding of central differences are smallest.
const STEP: f64 = 6e-6;
/// Relative change of the differences with half the step, beyond which there is no derivative to compare with: a kink, or
/// a function in single precision.
const SMOOTH: f64 = 1e-2;
/// Relative difference that differences of a smooth function cannot explain: their own error is below 1e-6.
const WRONG: f64 = 1e-3;
/// How far the parameters are moved for a second look, relative to them (or to one): a derivative may vanish at the first.
const SHIFT: f64 = 0.1;

impl Model {
    /// Compares the score with central differences of the log-density at some of the points, and a claim to be linear with
    /// scores elsewhere. A kink at a point is passed over; what most points contradict is an error.
    ///
    /// Models of one's own are compared so when they are first used; this is for tests.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let space = Space::real(&["x"])?;
    /// let model = Model::from_fn(&["m"], space, |t: &[f64], x: &[f64]| -0.5 * (x[0] - t[0]).powi(2))?;
    /// let points = sample(&Normal::with_std(0.0, 1.0)?, 100, 1);
    /// model.check_score(&[0.5], &points)?;
    /// let wrong = model.with_score(|t, x, score| score[0] = 2.0 * (x[0] - t[0]));
    /// assert!(wrong.check_score(&[0.5], &points).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Score`] or [`Error::NotLinear`], which name the parameter and the point; otherwise as for
    /// [`Model::evaluate`].
    pub fn check_score<'a>(&self, parameters: &[f64], points: impl Into<Data<'a>>) -> Result<()> {
        self.check(parameters)?;
        points.into().in_order_of(self.space(), |data| {
            let places = spread(data.points);
            self.compare(parameters, places.view())
        })
    }

    /// The same where it was not done yet.
    pub(crate) fn check_score_once(&self, parameters: &[f64], points: View<'_>) -> Result<()> {
        if self.score_checked.load(Ordering::Relaxed) || self.parameters.is_empty() {
            return Ok(());
        }
        match self.compare(parameters, spread(points).view()) {
            Ok(()) => self.score_checked.store(true, Ordering::Relaxed),
            Err(error @ (Error::Score { .. } | Error::NotLinear { .. } | Error::NotANumber { .. })) => {
                return Err(error);
            }
            // Whoever asked finds that out for itself, and says it in its own words.
            Err(_) => {}
        }
        Ok(())
    }

    fn compare(&self, parameters: &[f64], places: View<'_>) -> Result<()> {
        let first = self.look(parameters, places)?;
        let elsewhere = self.moved(parameters);
        // Where the model cannot be evaluated there is nothing to be learnt.
        let second = self.look(&elsewhere, places).ok();
        for look in [Some(&first), second.as_ref()].into_iter().flatten() {
            self.compare_score(look, places)?;
        }
        match second.filter(|_| self.energy.is_linear()) {
            Some(second) => self.compare_linear(&first, &second, places),
            None => Ok(()),
        }
    }

    /// Parameters nearby, within their bounds.
    fn moved(&self, parameters: &[f64]) -> Vec<f64> {
        let shift = |(j, value): (usize, &f64)| {
            let (lower, upper) = (self.parameters[j].lower, self.parameters[j].upper);
            // Not the same for all, so that a difference of two parameters changes too.
            let step = SHIFT * value.abs().max(1.0) * (1.0 + 0.3 * (j % 3) as f64);
            let above = value + step;
            if above <= upper { above } else { (value - step).max(lower) }
        };
        parameters.iter().enumerate().map(shift).collect()
    }

    /// The value and the score at the places.
    fn look(&self, parameters: &[f64], places: View<'_>) -> Result<Look> {
        let rows = places.rows();
        let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * parameters.len()]);
        self.evaluate(parameters, places, &mut value, Some(&mut score))?;
        Ok(Look { parameters: parameters.to_vec(), value, score })
    }

    fn compare_score(&self, look: &Look, places: View<'_>) -> Result<()> {
        let rows = places.rows();
        for j in 0..look.parameters.len() {
            let given = &look.score[j * rows..(j + 1) * rows];
            let Some(found) = self.differences(look, j, places) else { continue };
            let scale = found.iter().flatten().fold(0.0, |scale: f64, d| scale.max(d.slope.abs()));
            let judged = |row: usize| found[row].as_ref().map(|d| d.contradicts(given[row], scale));
            let verdicts: Vec<bool> = (0..rows).filter_map(judged).collect();
            let wrong = verdicts.iter().filter(|wrong| **wrong).count();
            if 2 * wrong <= verdicts.len() {
                continue;
            }
            let worst = (0..rows).find(|row| judged(*row) == Some(true)).unwrap_or(0);
            return Err(Error::Score {
                parameter: self.parameters[j].name.clone(),
                point: self.describe(&look.parameters, places, worst),
                given: given[worst],
                differences: found[worst].as_ref().map_or(f64::NAN, |d| d.slope),
            });
        }
        Ok(())
    }

    /// Central differences in one parameter with two steps, at the places where they agree; `None` where the model cannot be
    /// evaluated on both sides.
    fn differences(&self, look: &Look, j: usize, places: View<'_>) -> Option<Vec<Option<Difference>>> {
        let rows = places.rows();
        let step = STEP * look.parameters[j].abs().max(1.0);
        let at = |shift: f64| {
            let mut moved = look.parameters.clone();
            moved[j] += shift;
            let mut value = vec![0.0; rows];
            self.evaluate(&moved, places, &mut value, None).ok().map(|()| value)
        };
        let slopes = |h: f64| {
            let (above, below) = (at(h)?, at(-h)?);
            Some(above.iter().zip(&below).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<f64>>())
        };
        let (whole, half) = (slopes(2.0 * step)?, slopes(step)?);
        let rounding = |row: usize| 8.0 * f64::EPSILON * look.value[row].abs() / step;
        let difference = |row: usize| Difference::new(whole[row], half[row], rounding(row));
        Some((0..rows).map(difference).collect())
    }

    fn compare_linear(&self, first: &Look, second: &Look, places: View<'_>) -> Result<()> {
        let rows = places.rows();
        for (j, parameter) in self.parameters.iter().enumerate() {
            let (a, b) = (&first.score[j * rows..(j + 1) * rows], &second.score[j * rows..(j + 1) * rows]);
            let scale = a.iter().chain(b).fold(0.0, |scale: f64, s| scale.max(s.abs()));
            let changes = |row: &usize| (a[*row] - b[*row]).abs() > 1e-6 * scale;
            if let Some(row) = (0..rows).filter(|row| first.value[*row].is_finite()).find(changes) {
                let point = self.describe(&first.parameters, places, row);
                return Err(Error::NotLinear { parameter: parameter.name.clone(), point });
            }
        }
        Ok(())
    }
}

/// A model at some places.
struct Look {
    parameters: Vec<f64>,
    value: Vec<f64>,
    score: Vec<f64>,
}

/// A derivative from differences, with what is uncertain about it.
struct Difference {
    slope: f64,
    error: f64,
}

impl Difference {
    /// From two steps; `None` where they disagree, so that there is no derivative to be seen.
    fn new(whole: f64, half: f64, rounding: f64) -> Option<Self> {
        let error = (whole - half).abs() + rounding;
        let smooth = error <= SMOOTH * whole.abs().max(half.abs()) || error <= 1e-8;
        (half.is_finite() && whole.is_finite() && smooth).then_some(Self { slope: half, error })
    }

    /// Whether a score is another number than this, beyond any error of the differences; `scale` is the size of the
    /// derivative at other points.
    fn contradicts(&self, given: f64, scale: f64) -> bool {
        let size = self.slope.abs().max(given.abs()).max(1e-3 * scale);
        (given - self.slope).abs() > WRONG * size + 10.0 * self.error
    }
}

/// A few of the points, evenly spread over the rows.
fn spread(points: View<'_>) -> Points {
    let count = points.rows().min(PLACES);
    let row = |i: usize| i * points.rows() / count.max(1);
    let column = |j: usize| (0..count).map(move |i| points.get(row(i), j));
    Points::unnamed(points.columns(), count, (0..points.columns()).flat_map(column).collect())
}
