//! The gamma function's logarithm and derivatives, and the beta function and binomial coefficients built on it.

use std::f64::consts::PI;

use super::tables::{BERNOULLI, DIGAMMA_AT_ROOT, DIGAMMA_ROOT, ZETA_MINUS_ONE};
use super::{LN_SQRT_2PI, polynomial};

/// From here on the asymptotic series of this file are exact to rounding.
const LARGE: f64 = 10.0;

/// Terms of those series.
const TERMS: usize = 9;

/// Coefficients `B_2k / (2k (2k − 1))` of `n^(1−2k)` in Stirling's series of `ln Γ`.
const STIRLING: [f64; TERMS] = stirling();

/// Coefficients `−B_2k / 2k` of `x^(−2k)` in the asymptotic series of digamma.
const DIGAMMA_TAIL: [f64; TERMS] = digamma_tail();

const fn stirling() -> [f64; TERMS] {
    let mut series = digamma_tail();
    let mut k = 0;
    while k < TERMS {
        series[k] /= -(2.0 * k as f64 + 1.0);
        k += 1;
    }
    series
}

const fn digamma_tail() -> [f64; TERMS] {
    let mut series = [0.0; TERMS];
    let mut k = 0;
    while k < TERMS {
        series[k] = -BERNOULLI[k] / (2.0 * k as f64 + 2.0);
        k += 1;
    }
    series
}

/// `ln |Γ(x)|`; +∞ at the poles 0, −1, −2, … Near the zeros at negative `x` the error is absolute.
///
/// ```
/// use noisewright_numerics::special::ln_gamma;
/// assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-15);
/// ```
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// `ln Γ(1 + x)`, to full relative accuracy for small `x` where `1 + x` would lose digits.
pub(super) fn ln_gamma_1p(x: f64) -> f64 {
    const ONE_MINUS_EULER: f64 = 0.422_784_335_098_467_14;
    if x.abs() > 0.5 {
        return ln_gamma(1.0 + x);
    }
    // ln Γ(1+x) = −ln(1+x) + (1−γ)x + Σ_{k≥2} (ζ(k)−1)(−x)^k/k
    let mut power = -x;
    let mut sum = ONE_MINUS_EULER * x;
    for (k, zeta) in (2..).zip(ZETA_MINUS_ONE) {
        power *= -x;
        sum += zeta * power / f64::from(k);
    }
    sum - x.ln_1p()
}

/// Digamma, `ψ(x) = d ln Γ(x) / dx`.
///
/// The limits at 0± are ∓∞; the other poles −1, −2, … give `NaN`, as the sign is undecided there. Relative accuracy
/// holds at the positive zero 1.4616…; near the negative zeros the error is absolute.
///
/// ```
/// use noisewright_numerics::special::digamma;
/// assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-15);
/// ```
#[must_use]
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -f64::INFINITY.copysign(x);
    }
    if x < 0.0 {
        let offset = x - x.round();
        return if offset == 0.0 || x.is_infinite() {
            f64::NAN
        } else {
            digamma_positive(1.0 - x) - PI / (PI * offset).tan()
        };
    }
    digamma_positive(x)
}

fn digamma_positive(x: f64) -> f64 {
    let from_root = (x - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1];
    if from_root.abs() < 0.4 {
        return from_root * polynomial(&DIGAMMA_AT_ROOT, from_root);
    }
    // ψ(x) = ψ(x+n) − Σ 1/(x+j); the sum runs from its small terms to its large ones.
    let steps = (LARGE - x).max(0.0).ceil();
    let y = x + steps;
    let mut shift = 0.0;
    for j in (0..steps as u32).rev() {
        shift += 1.0 / (x + f64::from(j));
    }
    let square = (1.0 / y) / y;
    y.ln() - (0.5 / y - square * polynomial(&DIGAMMA_TAIL, square)) - shift
}

/// Trigamma, `ψ'(x) = d² ln Γ(x) / dx²`; +∞ at its poles 0, −1, −2, …
///
/// ```
/// use noisewright_numerics::special::trigamma;
/// assert!((trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
/// ```
#[must_use]
pub fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        let sine = (PI * (x - x.round())).sin();
        return if x.is_infinite() {
            f64::NAN
        } else if sine == 0.0 {
            f64::INFINITY
        } else {
            (PI / sine).powi(2) - trigamma(1.0 - x)
        };
    }
    let steps = (LARGE - x).max(0.0).ceil();
    let mut sum = 0.0;
    for j in (0..steps as u32).rev() {
        sum += (x + f64::from(j)).powi(-2);
    }
    let inverse = 1.0 / (x + steps);
    let square = inverse * inverse;
    sum + inverse * (square.mul_add(polynomial(&BERNOULLI[..TERMS], square), 1.0) + 0.5 * inverse)
}

/// `ln Γ(n+1) − [(n+½) ln n − n + ln √(2π)]`: what Stirling's formula misses.
pub(super) fn stirling_error(n: f64) -> f64 {
    if n >= LARGE {
        let inverse = 1.0 / n;
        inverse * polynomial(&STIRLING, inverse * inverse)
    } else {
        ln_gamma_1p(n) - (n + 0.5) * n.ln() + n - LN_SQRT_2PI
    }
}

/// `ln B(a, b) = ln Γ(a) + ln Γ(b) − ln Γ(a+b)` for `a, b > 0`, without the cancellation of that formula for large
/// arguments; +∞ where either is 0.
///
/// ```
/// use noisewright_numerics::special::ln_beta;
/// // B(1, b) = 1/b
/// assert!((ln_beta(1.0, 1e15) + 1e15_f64.ln()).abs() < 1e-14);
/// ```
#[must_use]
pub fn ln_beta(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() || a < 0.0 || b < 0.0 {
        return f64::NAN;
    }
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if small == 0.0 {
        return if large == f64::INFINITY { f64::NAN } else { f64::INFINITY };
    }
    if large == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    ln_beta_ordered(small, large)
}

/// [`ln_beta`] for `0 < small ≤ large < ∞`.
fn ln_beta_ordered(small: f64, large: f64) -> f64 {
    let total = small + large;
    // Γ(x) = √(2π) x^(x−½) e^(−x+ε(x)) where ε(x) = stirling_error(x) for x of the size of LARGE at least.
    if small >= LARGE {
        let correction = stirling_error(small) + stirling_error(large) - stirling_error(total);
        let fraction = small / total;
        LN_SQRT_2PI - 0.5 * large.ln()
            + correction
            + (small - 0.5) * fraction.ln()
            + large * (-fraction).ln_1p()
    } else if large >= LARGE {
        let correction = stirling_error(large) - stirling_error(total);
        ln_gamma(small) + correction + small - small * total.ln() + (large - 0.5) * (-small / total).ln_1p()
    } else if small > 0.01 {
        (libm::tgamma(small) / libm::tgamma(total) * libm::tgamma(large)).ln()
    } else {
        // Γ(small) = Γ(1+small)/small, and the two gammas that differ by little are subtracted.
        -small.ln() + ln_gamma_1p(small) + (ln_gamma(large) - ln_gamma(total))
    }
}

/// `ln(n choose k)` for real `0 ≤ k ≤ n`, −∞ for `k` outside, `NaN` for `n < 0`.
///
/// ```
/// use noisewright_numerics::special::ln_choose;
/// assert_eq!(ln_choose(52.0, 5.0), 2_598_960.0_f64.ln());
/// ```
#[must_use]
pub fn ln_choose(n: f64, k: f64) -> f64 {
    if n.is_nan() || k.is_nan() || n < 0.0 {
        return f64::NAN;
    }
    if k < 0.0 || k > n {
        return f64::NEG_INFINITY;
    }
    let few = k.min(n - k);
    if few <= 30.0 && few.fract() == 0.0 {
        let ways = (1..=few as u32).map(f64::from).fold(1.0, |ways, j| ways * (n - few + j) / j);
        if ways.is_finite() {
            return ways.ln();
        }
    }
    -n.ln_1p() - ln_beta(n - k + 1.0, k + 1.0)
}

/// `ln n! = ln Γ(n + 1)`.
///
/// ```
/// use noisewright_numerics::special::ln_factorial;
/// assert_eq!(ln_factorial(0.0), 0.0);
/// assert!((ln_factorial(10.0) - 3_628_800.0_f64.ln()).abs() < 1e-14);
/// ```
#[must_use]
pub fn ln_factorial(n: f64) -> f64 {
    ln_gamma_1p(n)
}
