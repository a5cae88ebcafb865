//! Sums and differences of exponentials, and the logistic function, without overflow or cancellation.

use std::f64::consts::LN_2;

/// `ln(1 − e^x)` for `x ≤ 0`, accurate at both ends; −∞ at 0.
///
/// ```
/// use noisewright_numerics::special::ln_1m_exp;
/// assert_eq!(ln_1m_exp(-1e-300), 1e-300_f64.ln());
/// assert_eq!(ln_1m_exp(-700.0), -(-700.0_f64).exp());
/// ```
#[must_use]
pub fn ln_1m_exp(x: f64) -> f64 {
    // Mächler (2012): the switch at ln 2 is where neither form has lost a digit.
    if x > -LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// `ln(e^a + e^b)`; infinities behave as limits.
///
/// ```
/// use noisewright_numerics::special::ln_add_exp;
/// assert_eq!(ln_add_exp(1000.0, 1000.0), 1000.0 + 2.0_f64.ln());
/// assert_eq!(ln_add_exp(f64::NEG_INFINITY, -3.0), -3.0);
/// ```
#[must_use]
pub fn ln_add_exp(a: f64, b: f64) -> f64 {
    if a == b {
        return a + LN_2;
    }
    let gap = (a - b).abs();
    if gap.is_nan() { f64::NAN } else { a.max(b) + (-gap).exp().ln_1p() }
}

/// `ln(e^a − e^b)` for `a ≥ b`; −∞ where they are equal and finite or both −∞, `NaN` for `a < b` or both +∞.
#[must_use]
pub fn ln_sub_exp(a: f64, b: f64) -> f64 {
    match (a == b, a == f64::INFINITY) {
        (true, true) => f64::NAN,
        (true, false) => f64::NEG_INFINITY,
        _ => a + ln_1m_exp(b - a),
    }
}

/// `ln(1 + e^x)`: grows like `x`, decays like `e^x`.
///
/// ```
/// use noisewright_numerics::special::softplus;
/// assert_eq!(softplus(800.0), 800.0);
/// assert_eq!(softplus(-700.0), (-700.0_f64).exp());
/// ```
#[must_use]
pub fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

/// `1 / (1 + e^−x)`, to full relative accuracy in the left tail too.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// `ln(1 / (1 + e^−x)) = −softplus(−x)`.
#[must_use]
pub fn ln_sigmoid(x: f64) -> f64 {
    // Not a plain minus sign: the logarithm of 1 is +0.
    0.0 - softplus(-x)
}

/// `ln cosh x`, accurate near 0 (where it is `x²/2`) and for any size of `x`.
///
/// ```
/// use noisewright_numerics::special::ln_cosh;
/// assert_eq!(ln_cosh(800.0), 800.0 - 2.0_f64.ln());
/// assert_eq!(ln_cosh(1e-9), 0.5e-18);
/// ```
#[must_use]
pub fn ln_cosh(x: f64) -> f64 {
    let size = x.abs();
    if size < 1.0 {
        let s = size.sinh();
        0.5 * (s * s).ln_1p()
    } else {
        // Beyond 20 the last term vanishes; it would turn ∞ into ∞ − ln 2 + 0 all the same.
        size - LN_2 + (-2.0 * size).exp().ln_1p()
    }
}
