//! The error function and the normal distribution: distribution function, its logarithm and its inverse.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

use super::{LN_SQRT_2PI, ln_1m_exp, polynomial};

/// The error function.
#[must_use]
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// `1 − erf(x)`, accurate in the right tail.
#[must_use]
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// The standard normal distribution function Φ, to full relative accuracy in the left tail.
///
/// ```
/// use noisewright_numerics::special::normal_cdf;
/// assert_eq!(normal_cdf(0.0), 0.5);
/// ```
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    if x.is_infinite() {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    // Rounding x/√2 alone would cost x² units in the last place of the tail; its remainder is put back.
    const LOW: f64 = -4.833_646_656_726_457e-17;
    const TWO_OVER_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
    let z = -x * FRAC_1_SQRT_2;
    let remainder = (-x).mul_add(FRAC_1_SQRT_2, -z) - x * LOW;
    0.5 * (libm::erfc(z) - TWO_OVER_SQRT_PI * (-z * z).exp() * remainder)
}

/// `ln Φ(x)`, also where Φ(x) itself underflows.
///
/// ```
/// use noisewright_numerics::special::ln_normal_cdf;
/// assert!((ln_normal_cdf(-40.0) + 804.608_442_013_754).abs() < 1e-12);
/// ```
#[must_use]
pub fn ln_normal_cdf(x: f64) -> f64 {
    if x > 0.0 {
        (-normal_cdf(-x)).ln_1p()
    } else if x > -12.0 {
        normal_cdf(x).ln()
    } else {
        // Φ(x) = φ(x)/|x| · (1 − 1/x² + 3/x⁴ − …); at 12 thirty terms are exact to rounding.
        let step = (1.0 / x) / x;
        let (mut term, mut sum) = (1.0, 0.0);
        for k in 1..30 {
            term *= -f64::from(2 * k - 1) * step;
            sum += term;
        }
        -0.5 * x * x - LN_SQRT_2PI - (-x).ln() + sum.ln_1p()
    }
}

/// The inverse of [`normal_cdf`]: −∞ at 0, +∞ at 1, `NaN` outside.
///
/// Wichura's algorithm AS 241.
///
/// ```
/// use noisewright_numerics::special::normal_quantile;
/// assert_eq!(normal_quantile(0.5), 0.0);
/// assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-15);
/// ```
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let from_median = p - 0.5;
    if from_median.abs() <= 0.425 {
        return central_quantile(from_median);
    }
    let tail = if from_median < 0.0 { p } else { 1.0 - p };
    upper_quantile(-tail.ln()).copysign(from_median)
}

/// The inverse of [`ln_normal_cdf`], for probabilities too small for a double: `normal_quantile(e^ln_p)`.
///
/// ```
/// use noisewright_numerics::special::{ln_normal_cdf, normal_quantile_log};
/// assert!((normal_quantile_log(ln_normal_cdf(-1e4)) + 1e4).abs() < 1e-11);
/// ```
#[must_use]
pub fn normal_quantile_log(ln_p: f64) -> f64 {
    if ln_p.is_nan() || ln_p > 0.0 {
        return f64::NAN;
    }
    if ln_p > -LN_2 {
        let upper_tail = -ln_p.exp_m1();
        return if upper_tail < 0.075 {
            upper_quantile(-ln_1m_exp(ln_p))
        } else {
            central_quantile(0.5 - upper_tail)
        };
    }
    if ln_p > -2.5 { normal_quantile(ln_p.exp()) } else { -upper_quantile(-ln_p) }
}

/// The quantile of `½ + q`, |q| ≤ 0.425.
fn central_quantile(q: f64) -> f64 {
    const TOP: [f64; 8] = [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ];
    const BOTTOM: [f64; 8] = [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ];
    let r = 0.180_625 - q * q;
    q * polynomial(&TOP, r) / polynomial(&BOTTOM, r)
}

/// The quantile, positive, whose upper tail has probability `e^−minus_ln_tail`, for tails of at most 0.08.
fn upper_quantile(minus_ln_tail: f64) -> f64 {
    const TOP: [f64; 8] = [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ];
    const BOTTOM: [f64; 8] = [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ];
    let r = minus_ln_tail.sqrt();
    if r <= 5.0 {
        polynomial(&TOP, r - 1.6) / polynomial(&BOTTOM, r - 1.6)
    } else {
        far_quantile(minus_ln_tail)
    }
}

/// The same for tails below e^−25: Newton's iteration on `ln Φ`, which is nearly a parabola there.
fn far_quantile(minus_ln_tail: f64) -> f64 {
    if minus_ln_tail == f64::INFINITY {
        return f64::INFINITY;
    }
    let twice = 2.0 * minus_ln_tail;
    let mut x = (twice - twice.ln() - 2.0 * LN_SQRT_2PI).sqrt();
    for _ in 0..4 {
        let ln_tail = ln_normal_cdf(-x);
        let ln_density = -0.5 * x * x - LN_SQRT_2PI;
        x += (ln_tail + minus_ln_tail) * (ln_tail - ln_density).exp();
    }
    x
}
