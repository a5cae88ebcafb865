//! Checks of the numbers that a distribution is made from.

use crate::tolerance::SUM_OF_PROBABILITIES;
use crate::{Error, Result};

/// `value` when it is finite.
pub(super) fn finite(parameter: &str, value: f64) -> Result<f64> {
    require(value.is_finite(), parameter, value, "it must be a finite number")
}

/// `value` when it is finite and above zero.
pub(super) fn positive(parameter: &str, value: f64) -> Result<f64> {
    require(value > 0.0 && value.is_finite(), parameter, value, "it must be a positive number")
}

/// Degrees of freedom of a Student distribution whose draws are numbers: one in 10¹⁵ is beyond 10³⁰⁸ at the fewest.
pub(super) fn degrees_of_freedom(value: f64) -> Result<f64> {
    let name = "the degrees of freedom of student";
    positive(name, value)?;
    require(value >= 0.05, name, value, "it must be at least 0.05, or draws are too large for numbers")
}

/// The exponent `a` of a density like `x^(a−1)` at zero whose draws are numbers: at the least, one in a thousand is below 10⁻³⁰⁸.
pub(super) fn exponent_at_zero(parameter: &str, value: f64) -> Result<f64> {
    positive(parameter, value)?;
    require(value >= 0.01, parameter, value, "it must be at least 0.01, or draws are too small for numbers")
}

/// `value` when it is finite and not below zero.
pub(super) fn non_negative(parameter: &str, value: f64) -> Result<f64> {
    require(value >= 0.0 && value.is_finite(), parameter, value, "it must be zero or a positive number")
}

/// `value` when `holds`, otherwise an error that says what it must be.
pub(super) fn require(holds: bool, parameter: &str, value: f64, reason: &str) -> Result<f64> {
    if holds {
        return Ok(value);
    }
    Err(Error::Parameter { parameter: parameter.to_owned(), value, reason: reason.to_owned() })
}

/// Probabilities: at least one, none negative, summing to one within 1e-9; scaled unless they do so within rounding.
///
/// What sums to one already stays as it was written, so that words read back are the words that were written.
pub(super) fn probabilities(parameter: &str, values: &[f64]) -> Result<Vec<f64>> {
    for &value in values {
        non_negative(parameter, value)?;
    }
    let sum: f64 = values.iter().sum();
    require(
        (sum - 1.0).abs() <= SUM_OF_PROBABILITIES,
        &format!("the sum of {parameter}"),
        sum,
        "it must be 1",
    )?;
    let rounding = f64::EPSILON * values.len() as f64;
    let scale = if (sum - 1.0).abs() <= rounding { 1.0 } else { sum };
    Ok(values.iter().map(|value| value / scale).collect())
}

/// Whether the edges of bins are finite and increase, at least two of them.
pub(super) fn edges(edges: &[f64]) -> Result<()> {
    let increasing = edges.windows(2).all(|pair| pair[0] < pair[1]) && edges.iter().all(|e| e.is_finite());
    if edges.len() < 2 || !increasing {
        return Err(Error::Noise {
            noise: "histogram".into(),
            reason: "it needs at least two edges, finite and increasing".into(),
        });
    }
    Ok(())
}
