//! Wald's test of several hypotheses at once.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::special::{beta_inc, gamma_q};
use serde::Serialize;

use super::joint::JointEstimate;
use crate::{Error, Result};

/// Share of the variance of a hypothesis, beside the others, below which it follows from them.
const FOLLOWS: f64 = 1e-10;

/// A test that some functions of the parameters are zero.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WaldTest {
    /// The hypotheses as they were written.
    pub hypotheses: Vec<String>,
    /// `hᵀ (R V Rᵀ)⁻¹ h`, with h the functions at the estimate and R their slopes.
    pub statistic: f64,
    /// Number of hypotheses.
    pub degrees: usize,
    /// Degrees of freedom of the covariance, by which the statistic over `degrees` is compared with Fisher's distribution;
    /// infinite for the χ² distribution.
    pub degrees_denominator: f64,
    /// Probability of a statistic as large where all hypotheses hold.
    pub p_value: f64,
}

impl JointEstimate {
    /// Wald's test that all these hypotheses hold: `a = b`, or `a - b`, which says the same.
    ///
    /// # Errors
    /// As for [`Fit::wald`](crate::Fit::wald).
    pub fn wald<S: AsRef<str>>(&self, hypotheses: &[S]) -> Result<WaldTest> {
        const TEST: &str = "test";
        let texts: Vec<String> = hypotheses.iter().map(|h| h.as_ref().trim().to_owned()).collect();
        if texts.is_empty() {
            return Err(Error::option(TEST, "must name at least one hypothesis, such as a = b"));
        }
        if self.without_errors {
            let reason = "has no meaning after the lasso, whose selection leaves no standard errors: fit the selected \
                          parameters again without a penalty";
            return Err(Error::option(TEST, reason));
        }
        let mut values = DVector::zeros(texts.len());
        let mut slopes = DMatrix::zeros(texts.len(), self.values.len());
        for (i, text) in texts.iter().enumerate() {
            let function = self.linearized(TEST, &difference(text))?;
            values[i] = function.value;
            slopes.set_row(i, &function.slope.transpose());
        }
        let involved = |j: usize| slopes.column(j).iter().any(|s| *s != 0.0);
        self.refuse_bound(TEST, involved)?;
        let covariance = &slopes * (&self.covariance_data + &self.covariance_noise) * slopes.transpose();
        let statistic = quadratic(&covariance, &values)?;
        let (degrees, freedom) = (texts.len(), self.freedom(involved));
        let p_value = upper_tail(statistic, degrees, freedom);
        Ok(WaldTest { hypotheses: texts, statistic, degrees, degrees_denominator: freedom, p_value })
    }
}

/// `a = b` as `(a) - (b)`.
fn difference(text: &str) -> String {
    match text.split_once('=') {
        Some((left, right)) => format!("({left}) - ({right})"),
        None => text.to_owned(),
    }
}

/// `hᵀ C⁻¹ h` by a Cholesky factor of the correlations, in which a hypothesis that follows from others is no number.
fn quadratic(covariance: &DMatrix<f64>, values: &DVector<f64>) -> Result<f64> {
    let redundant = || {
        Error::option("test", "has hypotheses that follow from the others or have no error: leave them out")
    };
    let size = values.len();
    let unit: Vec<f64> = (0..size).map(|j| covariance[(j, j)].sqrt().recip()).collect();
    let correlation = DMatrix::from_fn(size, size, |i, j| covariance[(i, j)] * unit[i] * unit[j]);
    let standardized = DVector::from_fn(size, |j, _| values[j] * unit[j]);
    let factor = correlation.cholesky().ok_or_else(redundant)?;
    // The squared pivots are the shares of each variance that the hypotheses before leave.
    if !factor.l_dirty().diagonal().iter().all(|pivot| pivot * pivot > FOLLOWS) {
        return Err(redundant());
    }
    Ok(standardized.dot(&factor.solve(&standardized)))
}

/// `P(d·F > statistic)` for Fisher's F with (d, freedom) degrees of freedom, which is χ² where the freedom is endless.
fn upper_tail(statistic: f64, degrees: usize, freedom: f64) -> f64 {
    let half = 0.5 * degrees as f64;
    if freedom.is_finite() {
        return beta_inc(0.5 * freedom, half, freedom / (freedom + statistic));
    }
    gamma_q(half, 0.5 * statistic)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Values of `scipy.stats.f.sf(statistic/degrees, degrees, freedom)` and `scipy.stats.chi2.sf`.
    #[test]
    fn tails_are_those_of_fisher_and_chi_squared() {
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        close(upper_tail(4.0, 1, 10.0), 0.073_388_034_770_740_39);
        close(upper_tail(6.0, 2, f64::INFINITY), 0.049_787_068_367_863_944);
    }

    #[test]
    fn sides_of_an_equation_keep_their_signs() {
        assert_eq!(difference("a = b - 1"), "(a ) - ( b - 1)");
    }
}
