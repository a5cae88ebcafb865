//! Weighted samples as the fits see them: checked once, then averaged.

use crate::{Error, Result, View};

/// One variable's values with their weights, checked: not empty, finite, weights not negative.
pub(super) struct Sample<'a> {
    noise: &'static str,
    pub(super) values: &'a [f64],
    weights: Option<&'a [f64]>,
    total: f64,
}

impl<'a> Sample<'a> {
    /// The only column of `points`.
    pub(super) fn scalar(noise: &'static str, points: View<'a>, weights: Option<&'a [f64]>) -> Result<Self> {
        if points.columns() != 1 {
            return Err(Error::Shape { what: "variables", expected: 1, found: points.columns() });
        }
        Self::column(noise, points, weights, 0)
    }

    /// One column of `points`.
    pub(super) fn column(
        noise: &'static str,
        points: View<'a>,
        weights: Option<&'a [f64]>,
        column: usize,
    ) -> Result<Self> {
        let values = points.column(column);
        let total = total_weight(noise, points.rows(), weights)?;
        if let Some(row) = values.iter().position(|v| !v.is_finite()) {
            return Err(unfitted(noise, &format!("row {} of the data is not a finite number", row + 1)));
        }
        Ok(Self { noise, values, weights, total })
    }

    /// The weight of one value.
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[row])
    }

    /// The sum of the weights.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The weighted average of `f`.
    pub(super) fn mean_of(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.values.iter().enumerate().map(|(i, &x)| self.weight(i) * f(x)).sum::<f64>() / self.total
    }

    /// Mean and variance (divided by the total weight); the variance must be positive.
    pub(super) fn moments(&self) -> Result<(f64, f64)> {
        let mean = self.mean_of(|x| x);
        // The mean of equal values is off by rounding, and so are they from it.
        let (least, most) = self.range();
        let variance = if least == most { 0.0 } else { self.mean_of(|x| (x - mean) * (x - mean)) };
        if variance > 0.0 && variance.is_finite() {
            Ok((mean, variance))
        } else {
            let reason = if variance == 0.0 { "do not vary" } else { "are too far apart for their squares" };
            Err(self.failed(&format!("the data {reason}, so no scale can be fitted")))
        }
    }

    /// Smallest and largest value of positive weight.
    pub(super) fn range(&self) -> (f64, f64) {
        let kept = self.values.iter().enumerate().filter(|(i, _)| self.weight(*i) > 0.0);
        kept.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, &x)| (lo.min(x), hi.max(x)))
    }

    /// The value below which the fraction `p` of the weight lies; halfway between two when it falls between.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let mut order: Vec<usize> = (0..self.values.len()).filter(|&i| self.weight(i) > 0.0).collect();
        order.sort_by(|&a, &b| self.values[a].total_cmp(&self.values[b]));
        let target = p * self.total;
        let mut below = 0.0;
        for (k, &i) in order.iter().enumerate() {
            below += self.weight(i);
            if below == target && k + 1 < order.len() {
                return f64::midpoint(self.values[i], self.values[order[k + 1]]);
            }
            if below > target {
                return self.values[i];
            }
        }
        order.last().map_or(f64::NAN, |&i| self.values[i])
    }

    /// An error when a value does not satisfy `allowed`.
    pub(super) fn require(&self, allowed: impl Fn(f64) -> bool, what: &str) -> Result<()> {
        match self.values.iter().position(|&x| !allowed(x)) {
            None => Ok(()),
            Some(row) => {
                let value = self.values[row];
                Err(self.failed(&format!("row {} of the data is {value}, which is not {what}", row + 1)))
            }
        }
    }

    /// The error of a fit that cannot be made.
    pub(super) fn failed(&self, reason: &str) -> Error {
        unfitted(self.noise, reason)
    }
}

/// Checks the weights and sums them; the number of rows when there are none.
pub(super) fn total_weight(noise: &'static str, rows: usize, weights: Option<&[f64]>) -> Result<f64> {
    if rows == 0 {
        return Err(unfitted(noise, "there are no data to fit it to"));
    }
    let Some(weights) = weights else { return Ok(rows as f64) };
    if weights.len() != rows {
        return Err(Error::Shape { what: "weights", expected: rows, found: weights.len() });
    }
    let total: f64 = weights.iter().sum();
    if weights.iter().all(|w| *w >= 0.0) && total > 0.0 && total.is_finite() {
        Ok(total)
    } else {
        Err(failed(noise, "weights must be zero or positive, with a positive finite sum"))
    }
}

/// The error of a fit that cannot be made.
pub(super) fn unfitted(noise: &str, reason: &str) -> Error {
    Error::Fit { noise: noise.to_owned(), reason: reason.to_owned() }
}

/// A noise that cannot be built.
pub(super) fn failed(noise: &str, reason: &str) -> Error {
    Error::Noise { noise: noise.to_owned(), reason: reason.to_owned() }
}
