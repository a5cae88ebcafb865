//! Regularised incomplete gamma and beta functions, and Student's distribution function.

use std::f64::consts::PI;

use super::gamma::{ln_beta, ln_gamma_1p, stirling_error};
use super::{erfc, normal_cdf, polynomial};

/// Shapes from which the uniform expansion of the incomplete gamma functions is used.
const UNIFORM_FROM: f64 = 1e8;

/// The smallest step of Lentz's algorithm, in place of an exact zero.
const TINY: f64 = 1e-300;

/// A continued fraction or series that has not settled by then never will (the count grows like the root of the
/// larger parameter).
const MAX_TERMS: u32 = 20_000_000;

/// The regularised lower incomplete gamma function, `P(a, x) = ∫_0^x t^{a−1} e^{−t} dt / Γ(a)`, for `a > 0`, `x ≥ 0`.
///
/// The relative error is below 1e-12. It is the distribution function of a gamma variable of shape `a`.
///
/// ```
/// use noisewright_numerics::special::gamma_p;
/// assert!((gamma_p(1.0, 2.0) - (1.0 - (-2.0_f64).exp())).abs() < 1e-15);
/// ```
#[must_use]
pub fn gamma_p(a: f64, x: f64) -> f64 {
    gamma_pair(a, x).0
}

/// `Q(a, x) = 1 − P(a, x)`, to the same relative accuracy.
#[must_use]
pub fn gamma_q(a: f64, x: f64) -> f64 {
    gamma_pair(a, x).1
}

/// `(P, Q)`: whichever is small is the one computed.
fn gamma_pair(a: f64, x: f64) -> (f64, f64) {
    if a.is_nan() || a <= 0.0 || a == f64::INFINITY || x.is_nan() || x < 0.0 {
        return (f64::NAN, f64::NAN);
    }
    if x == 0.0 {
        return (0.0, 1.0);
    }
    if x == f64::INFINITY {
        return (1.0, 0.0);
    }
    if a < 1.0 && x < 1.5 {
        return gamma_pair_small(a, x);
    }
    if a >= UNIFORM_FROM {
        return gamma_pair_uniform(a, x);
    }
    if x < a + 1.0 {
        let p = poisson_density(a, x) * gamma_series(a, x);
        (p, 1.0 - p)
    } else {
        let q = poisson_density(a, x) * a * gamma_fraction(a, x);
        (1.0 - q, q)
    }
}

/// Both functions for `a < 1`, `x < 1.5`, where Q may be tiny although `x` is small (DLMF 8.7.1).
fn gamma_pair_small(a: f64, x: f64) -> (f64, f64) {
    let ln_prefix = a * x.ln() - ln_gamma_1p(a);
    let prefix = ln_prefix.exp();
    let (mut power, mut sum) = (1.0, 0.0);
    for k in 1..40 {
        let k = f64::from(k);
        power *= -x / k;
        sum += power / (a + k);
    }
    let q = -ln_prefix.exp_m1() - prefix * a * sum;
    (prefix * gamma_series(a, x) * (-x).exp(), q)
}

/// Both functions for large `a` by Temme's uniform expansion (DLMF 8.12.3) with the first coefficient: the next is below
/// 1e-14 of the result. Series and fraction would take about √a terms.
fn gamma_pair_uniform(a: f64, x: f64) -> (f64, f64) {
    // a η²/2, and η with the sign of x − a
    let exponent = deviance(a, x);
    let eta = (2.0 * exponent / a).sqrt().copysign(x - a);
    if eta.abs() > 0.1 {
        // The exponent is above 5e5.
        return if eta > 0.0 { (1.0, 0.0) } else { (0.0, 1.0) };
    }
    // 1/(x/a − 1) − 1/η as a series in η
    let coefficient = polynomial(&[-1.0 / 3.0, 1.0 / 12.0, -2.0 / 135.0, 1.0 / 864.0, 1.0 / 2835.0], eta);
    let correction = (-exponent).exp() / (2.0 * PI * a).sqrt() * coefficient;
    let z = exponent.sqrt().copysign(eta);
    (0.5 * erfc(-z) - correction, 0.5 * erfc(z) + correction)
}

/// `Σ_k x^k / (a+1)_k`.
fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..MAX_TERMS {
        term *= x / (a + f64::from(k));
        sum += term;
        if term < 0.1 * f64::EPSILON * sum {
            break;
        }
    }
    sum
}

/// The continued fraction of `Γ(a, x) e^x x^−a` (DLMF 8.9.2 contracted), by Lentz's algorithm.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut value = d;
    for k in 1..MAX_TERMS {
        let k = f64::from(k);
        let numerator = -k * (k - a);
        b += 2.0;
        d = 1.0 / away_from_zero(numerator.mul_add(d, b));
        c = away_from_zero(b + numerator / c);
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

fn away_from_zero(x: f64) -> f64 {
    if x.abs() < TINY { TINY } else { x }
}

/// `x^a e^−x / Γ(a+1)`.
fn poisson_density(a: f64, x: f64) -> f64 {
    ln_poisson(a, x).exp()
}

/// `ln(x^a e^−x / Γ(a+1))` for `a, x > 0`, by Loader's saddle-point form, which does not cancel for large `a ≈ x`.
///
/// ```
/// use noisewright_numerics::special::ln_poisson;
/// // At its mean a Poisson density of mean m is 1/√(2πm) but for 1/(12m).
/// let m = 1e12;
/// assert!((ln_poisson(m, m) + 0.5 * (2.0 * std::f64::consts::PI * m).ln()).abs() < 1e-12);
/// ```
#[must_use]
pub fn ln_poisson(a: f64, x: f64) -> f64 {
    if a < 10.0 {
        a * x.ln() - x - ln_gamma_1p(a)
    } else {
        -stirling_error(a) - deviance(a, x) - 0.5 * (2.0 * PI * a).ln()
    }
}

/// `a ln(a/m) + m − a`, without cancellation where `a ≈ m` (Loader 2000).
fn deviance(a: f64, m: f64) -> f64 {
    let difference = a - m;
    if difference.abs() >= 0.1 * (a + m) {
        return a * (a / m).ln() - difference;
    }
    // ln(a/m) = 2 artanh(v)
    let v = difference / (a + m);
    let (mut term, mut sum) = (2.0 * a * v, difference * v);
    let mut odd = 3.0;
    loop {
        term *= v * v;
        let next = sum + term / odd;
        if next == sum {
            return sum;
        }
        sum = next;
        odd += 2.0;
    }
}

/// The regularised incomplete beta function `I_x(a, b)` for `a, b > 0`, `0 ≤ x ≤ 1`: the distribution function of a
/// beta variable. The relative error is below 1e-12.
///
/// ```
/// use noisewright_numerics::special::beta_inc;
/// // I_x(a, 1) = x^a
/// assert!((beta_inc(3.0, 1.0, 0.25) - 0.25_f64.powi(3)).abs() < 1e-16);
/// ```
#[must_use]
pub fn beta_inc(a: f64, b: f64, x: f64) -> f64 {
    beta_with_complement(a, b, x, 1.0 - x)
}

/// [`beta_inc`] for callers that know both `x` and `y = 1 − x` exactly.
fn beta_with_complement(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let proper = |v: f64| v > 0.0 && v < f64::INFINITY;
    if !proper(a) || !proper(b) || !(0.0..=1.0).contains(&x) {
        return f64::NAN;
    }
    if x == 0.0 || y == 0.0 {
        return x;
    }
    if x * (a + b + 2.0) <= a + 1.0 {
        beta_prefix(a, b, x, y) / beta_fraction(a, b, x, y)
    } else {
        1.0 - beta_prefix(b, a, y, x) / beta_fraction(b, a, y, x)
    }
}

/// `x^a y^b / B(a, b)`.
fn beta_prefix(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    if a.min(b) < 10.0 {
        // Of two complements the larger carries the rounding; it is the one whose logarithm is taken of the other.
        let ln_x = if x > 0.5 { (-y).ln_1p() } else { x.ln() };
        let ln_y = if y > 0.5 { (-x).ln_1p() } else { y.ln() };
        return (a * ln_x + b * ln_y - ln_beta(a, b)).exp();
    }
    let correction = stirling_error(n) - stirling_error(a) - stirling_error(b);
    let exponent = correction - deviance(a, n * x) - deviance(b, n * y);
    exponent.exp() * (a * (b / n) / (2.0 * PI)).sqrt()
}

/// The continued fraction of `x^a y^b / (B(a, b) I_x(a, b))`, by Lentz's algorithm.
///
/// This is the even part of DLMF 8.17.22 (Didonato and Morris 1992), in which `1 − x` appears only as `y`: the plain
/// fraction loses five digits of Student's tail with a million degrees of freedom.
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let balance = a * y - b * x + 1.0;
    let partial_denominator = |m: f64| {
        m + m * (b - m) * x / (a + 2.0 * m - 1.0) + (a + m) * (balance + m * (1.0 + y)) / (a + 2.0 * m + 1.0)
    };
    // For m = 0 the middle term is 0/(a−1), without meaning at a = 1.
    let mut value = away_from_zero(a * balance / (a + 1.0));
    let (mut c, mut d) = (value, 0.0);
    for m in 1..MAX_TERMS {
        let m = f64::from(m);
        let scale = a + 2.0 * m - 1.0;
        let numerator = (m * (a + m - 1.0) / scale) * ((a + b + m - 1.0) / scale) * (b - m) * x * x;
        let denominator = partial_denominator(m);
        d = 1.0 / away_from_zero(numerator.mul_add(d, denominator));
        c = away_from_zero(denominator + numerator / c);
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

/// The distribution function of Student's t with `dof > 0` degrees of freedom, at `x`; `dof = ∞` is the normal.
///
/// The relative error is below 1e-12, in the left tail too.
///
/// ```
/// use noisewright_numerics::special::student_cdf;
/// // One degree of freedom is Cauchy.
/// assert!((student_cdf(1.0, 1.0) - 0.75).abs() < 1e-15);
/// ```
#[must_use]
pub fn student_cdf(dof: f64, x: f64) -> f64 {
    if dof == f64::INFINITY {
        return normal_cdf(x);
    }
    if dof.is_nan() || dof <= 0.0 || x.is_nan() {
        return f64::NAN;
    }
    // x²/(dof + x²) and its complement, neither of them by subtraction or with a square that overflows.
    let t = x.abs() / dof.sqrt();
    if t > 1e100 {
        // The leading term of the tail; below, the square of 1/t would underflow although t^−dof need not.
        let ln_t = x.abs().ln() - 0.5 * dof.ln();
        let tail = (-dof * ln_t - ln_beta(0.5 * dof, 0.5)).exp() / dof;
        return if x < 0.0 { tail } else { 1.0 - tail };
    }
    let (outer, inner) = if t > 1.0 {
        let inverse = (1.0 / t) * (1.0 / t);
        (1.0 / (1.0 + inverse), inverse / (1.0 + inverse))
    } else {
        (t * t / (1.0 + t * t), 1.0 / (1.0 + t * t))
    };
    if x < 0.0 {
        0.5 * beta_with_complement(0.5 * dof, 0.5, inner, outer)
    } else {
        0.5 + 0.5 * beta_with_complement(0.5, 0.5 * dof, outer, inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_expansion_meets_series_and_fraction() {
        let a = 0.9e8;
        for deviations in [-20.0, -5.0, -1.0, -0.1, 0.0, 0.01, 0.3, 2.0, 7.0, 30.0] {
            let x = a + deviations * f64::sqrt(a);
            let (p, q) = gamma_pair(a, x);
            let (uniform_p, uniform_q) = gamma_pair_uniform(a, x);
            assert!((uniform_p / p - 1.0).abs() < 2e-12, "P at {deviations}: {uniform_p:e}, {p:e}");
            assert!((uniform_q / q - 1.0).abs() < 2e-12, "Q at {deviations}: {uniform_q:e}, {q:e}");
        }
    }
}
