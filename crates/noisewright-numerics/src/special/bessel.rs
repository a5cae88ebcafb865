//! Modified Bessel functions of the first kind, in the log domain, and the ratio of neighbours.
//!
//! Four expansions share the quadrant: the power series for small arguments, Hankel's expansion for arguments beyond
//! the square of the order, Debye's expansion (uniform in the argument) for orders above [`DEBYE_FROM`], and, for what
//! is left, Debye's at a higher order followed by the recurrence downwards, which is stable and has no cancellation.

use std::f64::consts::PI;

use super::gamma::ln_gamma_1p;
use super::polynomial;
use super::tables::{DEBYE_U, DEBYE_V};

/// Orders from which Debye's expansion, cut where the tables end, is exact to rounding.
const DEBYE_FROM: f64 = 30.0;

/// Arguments below which series and continued fraction are quick whatever the order.
const SMALL_ARGUMENT: f64 = 30.0;

/// `ln I_order(x)` for real `order ≥ 0` and `x ≥ 0`.
///
/// The error is a few units in the last place of the largest of `|ln I|`, `order` and 1, and `ln I_0(x) ≈ x²/4` keeps
/// its relative accuracy for small `x`.
///
/// ```
/// use noisewright_numerics::special::ln_bessel_i;
/// // I_½(x) = √(2/(πx)) sinh x
/// let exact = (2.0 / (std::f64::consts::PI * 3.0)).sqrt() * 3.0_f64.sinh();
/// assert!((ln_bessel_i(0.5, 3.0) - exact.ln()).abs() < 1e-15);
/// ```
#[must_use]
pub fn ln_bessel_i(order: f64, x: f64) -> f64 {
    if outside(order, x) {
        return f64::NAN;
    }
    if x == 0.0 {
        return if order == 0.0 { 0.0 } else { f64::NEG_INFINITY };
    }
    if x == f64::INFINITY {
        return f64::INFINITY;
    }
    if 0.25 * x * x <= order + 1.0 || (x < SMALL_ARGUMENT && order < DEBYE_FROM) {
        ln_power_series(order, x)
    } else if hankel_holds(order, x) {
        x + ln_hankel(order, x)
    } else if order >= DEBYE_FROM {
        ln_debye(order, x)
    } else {
        ln_from_above(order, x)
    }
}

/// `ln I_order(x) − x` for real `order ≥ 0` and `x ≥ 0`, which does not cancel for large `x`.
///
/// ```
/// use noisewright_numerics::special::ln_bessel_i_scaled;
/// // I_½(x) = √(2/(πx)) sinh x
/// let x = 1e12;
/// assert!((ln_bessel_i_scaled(0.5, x) + 0.5 * (2.0 * std::f64::consts::PI * x).ln()).abs() < 1e-14);
/// ```
#[must_use]
pub fn ln_bessel_i_scaled(order: f64, x: f64) -> f64 {
    if !outside(order, x) && x.is_finite() && hankel_holds(order, x) {
        ln_hankel(order, x)
    } else {
        ln_bessel_i(order, x) - x
    }
}

/// `ln I_order(x) − x` by Hankel's expansion.
fn ln_hankel(order: f64, x: f64) -> f64 {
    hankel_sum_m1(order, x).ln_1p() - 0.5 * (2.0 * PI * x).ln()
}

/// `I_{order+1}(x) / I_order(x)` for real `order ≥ 0` and `x ≥ 0`: 0 at 0, increasing to 1.
///
/// For directions in `d` dimensions, order `d/2 − 1`, it is the mean resultant length of the von Mises–Fisher
/// distribution with concentration `x`.
///
/// ```
/// use noisewright_numerics::special::bessel_ratio;
/// // I_{3/2}/I_{1/2} = coth x − 1/x
/// assert!((bessel_ratio(0.5, 2.0) - (1.0 / 2.0_f64.tanh() - 0.5)).abs() < 1e-15);
/// ```
#[must_use]
pub fn bessel_ratio(order: f64, x: f64) -> f64 {
    if outside(order, x) {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return 1.0;
    }
    if x < 1e-8 {
        // The next term of the series is relatively below 1e-17.
        return x / (2.0 * (order + 1.0));
    }
    if x < SMALL_ARGUMENT || x < 2.0 * order {
        ratio_by_fraction(order, x)
    } else if hankel_holds(order + 1.0, x) {
        (1.0 + hankel_sum_m1(order + 1.0, x)) / (1.0 + hankel_sum_m1(order, x))
    } else {
        ratio_from_above(order, x).0
    }
}

fn outside(order: f64, x: f64) -> bool {
    !(0.0..f64::INFINITY).contains(&order) || x.is_nan() || x < 0.0
}

fn hankel_holds(order: f64, x: f64) -> bool {
    x >= SMALL_ARGUMENT && x >= order * order
}

/// `I_order(x) = (x/2)^order / Γ(order+1) · Σ_k (x²/4)^k / (k! (order+1)_k)`, all terms positive.
fn ln_power_series(order: f64, x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut term, mut sum) = (1.0, 0.0);
    let mut k = 1.0;
    loop {
        term *= quarter / (k * (order + k));
        sum += term;
        if term <= f64::EPSILON * 0.01 * sum {
            break;
        }
        k += 1.0;
    }
    // A product of 0 and −∞ would arise from an argument so small that its half underflows.
    let prefix =
        if order == 0.0 { 0.0 } else { order * (x.ln() - std::f64::consts::LN_2) - ln_gamma_1p(order) };
    prefix + sum.ln_1p()
}

/// The sum of `I_order(x) √(2πx) e^−x = 1 − (4ν²−1)/(8x) + (4ν²−1)(4ν²−9)/(2!(8x)²) − …`, less its leading one
/// (DLMF 10.40.1). The cut is where the terms stop falling or no longer count.
fn hankel_sum_m1(order: f64, x: f64) -> f64 {
    let four_squares = 4.0 * order * order;
    let (mut term, mut sum) = (1.0_f64, 0.0_f64);
    for k in 1..200 {
        let k = f64::from(k);
        let odd = 2.0 * k - 1.0;
        let next = term * -(four_squares - odd * odd) / (8.0 * k * x);
        if next.abs() <= f64::EPSILON * 0.01 || (odd > 2.0 * order && next.abs() > term.abs()) {
            break;
        }
        term = next;
        sum += term;
    }
    sum
}

/// `Σ_k≥1 c_k(t) / order^k` for a table of Debye polynomials.
fn debye_sum(table: &[&[f64]], order: f64, t: f64) -> f64 {
    let (step, square) = (t / order, t * t);
    let mut power = 1.0;
    let mut sum = 0.0;
    for coefficients in table {
        power *= step;
        sum += power * polynomial(coefficients, square);
    }
    sum
}

/// Debye's expansion of `ln I_order(order·z)` (DLMF 10.41.3).
fn ln_debye(order: f64, x: f64) -> f64 {
    let z = x / order;
    let root = 1.0_f64.hypot(z);
    let exponent = order * (root - (1.0 / z).asinh());
    exponent - 0.5 * (2.0 * PI * order * root).ln() + debye_sum(&DEBYE_U, order, 1.0 / root).ln_1p()
}

/// The ratio from Debye's expansions of `I` and `I'`: `I_{ν+1}/I_ν = I'_ν/I_ν − ν/x`, for `x ≥ 2·order`, where the
/// difference loses nothing.
fn ratio_by_debye(order: f64, x: f64) -> f64 {
    let z = x / order;
    let root = 1.0_f64.hypot(z);
    let u = debye_sum(&DEBYE_U, order, 1.0 / root);
    let v = debye_sum(&DEBYE_V, order, 1.0 / root);
    (root * ((1.0 + v) / (1.0 + u)) - 1.0) / z
}

/// `I_{order+1}/I_order` by recurrence from an order of Debye's range, with the number of steps down and the product
/// of all the ratios from `order` up to that range, `I_{order+steps}/I_order`.
fn ratio_from_above(order: f64, x: f64) -> (f64, f64, f64) {
    let steps = (DEBYE_FROM - order).max(0.0).ceil();
    let top = order + steps;
    let mut ratio = if x >= 2.0 * top { ratio_by_debye(top, x) } else { ratio_by_fraction(top, x) };
    let mut product = 1.0;
    for j in (0..steps as u32).rev() {
        // I_{μ−1} = I_{μ+1} + (2μ/x) I_μ
        ratio = 1.0 / (2.0 * (order + f64::from(j) + 1.0) / x + ratio);
        product *= ratio;
    }
    (ratio, steps, product)
}

fn ln_from_above(order: f64, x: f64) -> f64 {
    let (_, steps, product) = ratio_from_above(order, x);
    ln_debye(order + steps, x) - product.ln()
}

/// The ratio as `1/(b₁ + 1/(b₂ + …))`, `b_j = 2(order+j)/x`, all terms positive, by Lentz's algorithm.
fn ratio_by_fraction(order: f64, x: f64) -> f64 {
    let denominator = |j: f64| 2.0 * (order + j) / x;
    let mut c = denominator(1.0);
    let mut d = 0.0;
    let mut value = c;
    let mut j = 2.0;
    loop {
        let b = denominator(j);
        c = b + 1.0 / c;
        d = 1.0 / (b + d);
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < f64::EPSILON {
            return 1.0 / value;
        }
        j += 1.0;
    }
}
