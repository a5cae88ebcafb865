//! Which curvature the standard errors rest on: that of the loss at its minimum, or where a density has kinks one that
//! does not hang on the few rows nearest to them.
//!
//! The curvature of the loss is `H = E[s ψψᵀ] + E[f ∇²u]`, f and s the derivatives of its terms in the log ratio. The
//! second part is zero in the mean where the model is right, which leaves the information form `I_w = E[wψψᵀ]` (MATH §3).
//! For `|x − m|` the second derivatives are zero wherever they exist, and for `√((x − m)² + ε²)` those of the one row
//! within ε of m decide: the standard error of a Laplace location then is off by orders of magnitude.
//!
//! A kink shows in that H is not the change of the gradient over the width of a standard error. For a smooth loss the two
//! differ by a share of the order 1/n; at a kink by more than the sampling error of the rows within that width, of which
//! there are of the order √n, a share of n^(−1/4). There the information form is taken, or, where the gradient's change
//! over six standard errors differs from it by more than chance (the model is wrong), that change.

use nalgebra::{DMatrix, DVector};

use crate::Result;

/// What the standard errors rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Curvature {
    /// The second derivatives of the loss at the estimate.
    #[default]
    Observed,
    /// The information form `E[wψψᵀ]`: the loss has kinks at the estimate.
    Expected,
    /// The change of the gradient over the width of some standard errors: the loss has kinks, and the model does not fit.
    Smoothed,
}

impl Curvature {
    /// The name under which programs find it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Expected => "expected",
            Self::Smoothed => "smoothed",
        }
    }
}

/// Half of the width over which the gradient's change is compared with the curvature, in standard errors.
const HALF_WIDTH: f64 = 0.5;
/// Between which shares of what it was the difference lies after the width was halved, for a smooth loss: 1/4, and less by terms of the fourth
/// order in the width, which are a quarter as large at half of it. At a kink it does not fall but by the rows that are no longer within the
/// width, or to nothing where there are none. Next to the end of a parameter's range the terms of higher order may leave as little as nothing
/// of the first difference, but not of the second too.
const LEFT_AT_HALF: [(f64, f64); 2] = [(0.0, 0.375), (0.125, 0.375)];
/// Most parameters whose coordinates are looked along one by one; of more, some combinations.
const MOST_COORDINATES: usize = 8;
/// Combinations of all parameters that are looked along where there are many.
const COMBINATIONS: usize = 3;
/// Half of the width of the smoothed curvature in standard errors.
const SMOOTHED_HALF_WIDTH: f64 = 3.0;
/// In how many parts it is taken.
const SMOOTHED_PARTS: usize = 12;
/// Sampling errors by which the smoothed curvature differs from the information form where that cannot be right: the 0.2 %
/// quantile of Student's distribution with the eleven degrees of freedom that twelve parts leave.
const BEYOND_CHANCE: f64 = 4.0;

/// The curvature of a loss as seen from its minimum.
pub(crate) struct Seen<'s> {
    /// Second derivatives at the minimum.
    pub(crate) observed: &'s DMatrix<f64>,
    /// `E[wψψᵀ]`.
    pub(crate) expected: &'s DMatrix<f64>,
    pub(crate) at: &'s DVector<f64>,
    /// The unknowns that are not held at a bound.
    pub(crate) free: &'s [usize],
    /// Rows that the loss is an average over.
    pub(crate) rows: f64,
}

impl Seen<'_> {
    /// The matrix to trust; `gradient` is that of the loss, or nothing where the loss has no value.
    ///
    /// # Errors
    /// Those of `gradient`.
    pub(crate) fn trusted(
        &self,
        gradient: impl Fn(&DVector<f64>) -> Result<Option<DVector<f64>>>,
    ) -> Result<(DMatrix<f64>, Curvature)> {
        let observed = || (self.observed.clone(), Curvature::Observed);
        let sound = |j: &usize| self.expected[(*j, *j)] > 0.0 && self.expected[(*j, *j)].is_finite();
        if self.free.is_empty() || !self.free.iter().all(sound) || !self.has_kinks(&gradient)? {
            return Ok(observed());
        }
        match self.smoothed(&gradient)? {
            Some(smoothed) => Ok((smoothed, Curvature::Smoothed)),
            None => Ok((self.expected.clone(), Curvature::Expected)),
        }
    }

    /// A step of one standard error along a coordinate, the others held.
    fn unit(&self, j: usize) -> f64 {
        1.0 / (self.rows * self.expected[(j, j)]).sqrt()
    }

    /// By what share of the information curvatures of one loss may differ that has no kinks: between the 1/n of smooth losses and the
    /// n^(−1/4) of kinks.
    fn allowed(&self) -> f64 {
        (3.0 / self.rows.sqrt()).clamp(0.02, 0.3)
    }

    /// Whether the second derivatives are those at another place within a part of a standard error, where there were no kinks: a row that came next
    /// to a kink in between would show in them.
    pub(crate) fn agrees_with(&self, near: &DMatrix<f64>) -> bool {
        let apart = |i: usize, j: usize| {
            (self.observed[(i, j)] - near[(i, j)]).abs()
                / (self.expected[(i, i)] * self.expected[(j, j)]).sqrt()
        };
        let allowed = self.allowed();
        self.free.iter().all(|i| self.free.iter().all(|j| apart(*i, *j) <= allowed))
    }

    /// Whether the second derivatives are not those of the loss over the width of a standard error.
    ///
    /// # Errors
    /// Those of `gradient`.
    pub(crate) fn has_kinks(
        &self,
        gradient: &impl Fn(&DVector<f64>) -> Result<Option<DVector<f64>>>,
    ) -> Result<bool> {
        for direction in self.directions() {
            // In units of the information along the direction, which is 1/n for a standard error.
            let scale = direction.dot(&(self.expected * &direction));
            let bend = direction.dot(&(self.observed * &direction)) / scale;
            let change = |half: f64| -> Result<Option<f64>> {
                let step = &direction * half;
                let (Some(above), Some(below)) =
                    (gradient(&(self.at + &step))?, gradient(&(self.at - &step))?)
                else {
                    return Ok(None);
                };
                Ok(Some((above - below).dot(&direction) / (2.0 * half * scale)))
            };
            let Some(whole) = change(HALF_WIDTH)? else { continue };
            let apart = (bend - whole).abs();
            if apart.is_nan() {
                return Ok(true);
            }
            if apart > self.allowed() * whole.abs().max(1.0) && !falls_with_the_square(apart, bend, change)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Directions of the length of a standard error.
    fn directions(&self) -> Vec<DVector<f64>> {
        let size = self.at.len();
        let along = |share: &dyn Fn(usize) -> f64| {
            let mut direction = DVector::zeros(size);
            self.free.iter().enumerate().for_each(|(i, j)| direction[*j] = share(i) * self.unit(*j));
            direction
        };
        if self.free.len() <= MOST_COORDINATES {
            let one = |i: usize| along(&|l| if l == i { 1.0 } else { 0.0 });
            return (0..self.free.len()).map(one).collect();
        }
        let length = (self.free.len() as f64).sqrt();
        // Signs that alternate at different rates, so that no pair of parameters always moves together.
        let sign = |i: usize, rate: usize| if (i / rate).is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..COMBINATIONS).map(|k| along(&|i| sign(i, 1 << k) / length)).collect()
    }

    /// The change of the gradient over six standard errors along every coordinate, where it differs from the information
    /// form by more than chance; `None` where it does not, or is no curvature of a minimum.
    fn smoothed(
        &self,
        gradient: &impl Fn(&DVector<f64>) -> Result<Option<DVector<f64>>>,
    ) -> Result<Option<DMatrix<f64>>> {
        let mut matrix = self.expected.clone();
        let mut apart = false;
        for &j in self.free {
            let Some(parts) = self.changes(j, gradient)? else { return Ok(None) };
            let width = 2.0 * SMOOTHED_HALF_WIDTH * self.unit(j);
            let whole = parts.iter().fold(DVector::zeros(self.at.len()), |sum, part| sum + part) / width;
            // Parts of the width see different rows: their spread is the sampling error of their sum.
            let own: Vec<f64> = parts.iter().map(|part| part[j]).collect();
            let spread = noisewright_numerics::summation::mean_and_variance(&own).1;
            let count = own.len() as f64;
            let error = (spread * count * count / (count - 1.0)).sqrt() / width;
            apart |= (whole[j] - self.expected[(j, j)]).abs() > BEYOND_CHANCE * error;
            for &i in self.free {
                // Half from each side keeps the matrix symmetric.
                matrix[(i, j)] += 0.5 * (whole[i] - self.expected[(i, j)]);
                matrix[(j, i)] += 0.5 * (whole[i] - self.expected[(i, j)]);
            }
        }
        let part =
            DMatrix::from_fn(self.free.len(), self.free.len(), |i, j| matrix[(self.free[i], self.free[j])]);
        Ok((apart && part.cholesky().is_some()).then_some(matrix))
    }

    /// The change of the gradient over every part of the width along one coordinate.
    fn changes(
        &self,
        j: usize,
        gradient: &impl Fn(&DVector<f64>) -> Result<Option<DVector<f64>>>,
    ) -> Result<Option<Vec<DVector<f64>>>> {
        let mut places = Vec::with_capacity(SMOOTHED_PARTS + 1);
        for part in 0..=SMOOTHED_PARTS {
            let mut place = self.at.clone();
            place[j] +=
                SMOOTHED_HALF_WIDTH * self.unit(j) * (2.0 * part as f64 / SMOOTHED_PARTS as f64 - 1.0);
            let Some(there) = gradient(&place)? else { return Ok(None) };
            places.push(there);
        }
        Ok(Some(places.windows(2).map(|pair| &pair[1] - &pair[0]).collect()))
    }
}

/// Whether a difference of the curvature `bend` from the gradient's `change` over a width falls with the square of that width, when it is
/// halved and halved again.
fn falls_with_the_square(apart: f64, bend: f64, change: impl Fn(f64) -> Result<Option<f64>>) -> Result<bool> {
    let (mut before, mut half) = (apart, HALF_WIDTH);
    for (least, most) in LEFT_AT_HALF {
        half /= 2.0;
        let Some(change) = change(half)? else { return Ok(false) };
        let left = (bend - change).abs() / before;
        if !(least..=most).contains(&left) {
            return Ok(false);
        }
        before *= left;
    }
    Ok(true)
}
