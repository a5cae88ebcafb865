//! Special functions of one, two or three real variables, in the log domain where the plain value would overflow.
//!
//! Unless a function says otherwise its relative error is about 1e-14; a logarithm that passes through zero keeps
//! that accuracy absolutely there, because the argument of a logarithm is what is known to so many digits. A
//! `NaN` argument, or one outside the stated domain, gives `NaN`. Reference values are in `tests/references`.

mod bessel;
mod gamma;
mod incomplete;
mod logistic;
mod normal;
mod polygamma;
mod tables;

pub use bessel::{bessel_ratio, ln_bessel_i, ln_bessel_i_scaled};
pub use gamma::{digamma, ln_beta, ln_choose, ln_factorial, ln_gamma, trigamma};
pub use incomplete::{beta_inc, gamma_p, gamma_q, ln_poisson, student_cdf};
pub use logistic::{ln_1m_exp, ln_add_exp, ln_cosh, ln_sigmoid, ln_sub_exp, sigmoid, softplus};
pub use normal::{erf, erfc, ln_normal_cdf, normal_cdf, normal_quantile, normal_quantile_log};
pub use polygamma::polygamma;

/// `ln √(2π)`.
pub const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// Polynomial with coefficients in ascending powers.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, &c| sum.mul_add(x, c))
}
