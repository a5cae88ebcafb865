//! Special functions of one or two real variables.
/// Natural logarithm of the absolute value of the gamma function.
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}
