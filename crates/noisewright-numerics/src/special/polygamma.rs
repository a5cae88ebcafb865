//! The derivatives of the digamma function, by recurrence, asymptotic series and reflection.

use std::f64::consts::PI;

use super::gamma::{digamma, trigamma};
use super::tables::BERNOULLI;

/// The derivative of order `order + 1` of `ln Γ`: digamma for 0, trigamma for 1, …
///
/// At the poles 0, −1, −2, …: NaN for even orders (the sides disagree), +∞ for odd ones.
///
/// ```
/// use noisewright_numerics::special::polygamma;
/// // ψ₃(1) = π⁴/15
/// assert!((polygamma(3, 1.0) - std::f64::consts::PI.powi(4) / 15.0).abs() < 1e-14);
/// ```
#[must_use]
pub fn polygamma(order: u8, x: f64) -> f64 {
    if x <= 0.0 && (x.floor() == x || x.is_infinite()) {
        return if order % 2 == 1 && x.is_finite() { f64::INFINITY } else { f64::NAN };
    }
    match order {
        0 => return digamma(x),
        1 => return trigamma(x),
        _ => {}
    }
    if x < 0.0 {
        // ψₙ(x) = (−1)ⁿ ψₙ(1−x) − π dⁿ/dxⁿ cot(πx)
        let mirrored = polygamma(order, 1.0 - x);
        let mirrored = if order.is_multiple_of(2) { mirrored } else { -mirrored };
        return mirrored - cotangent_derivative(order, x);
    }
    higher(order, x)
}

/// Polygamma of order ≥ 2 for `x > 0`: all terms have one sign, so nothing cancels.
///
/// Every term is divided by `(n−1)!`, which comes back at the end.
fn higher(order: u8, x: f64) -> f64 {
    let n = f64::from(order);
    let mut shifted = x;
    let mut sum = 0.0;
    while shifted < 10.0 + n {
        sum += n / shifted.powf(n + 1.0);
        shifted += 1.0;
    }
    let inverse_square = 1.0 / (shifted * shifted);
    let mut series = 1.0 + 0.5 * n / shifted;
    // (2k + n − 1)! / ((2k)! (n − 1)!) x^(−2k), from one k to the next
    let mut coefficient = 1.0;
    for (k, bernoulli) in BERNOULLI.iter().enumerate() {
        let twice = 2.0 * k as f64 + 2.0;
        coefficient *= (twice + n - 2.0) * (twice + n - 1.0) / ((twice - 1.0) * twice) * inverse_square;
        series += bernoulli * coefficient;
    }
    sum += series / shifted.powf(n);
    let factorial: f64 = (1..order).map(f64::from).product();
    if order % 2 == 1 { sum * factorial } else { -sum * factorial }
}

/// `π dⁿ/dxⁿ cot(πx) = π^(n+1) Pₙ(cot πx)` with `P₀ = c`, `Pₙ₊₁ = −(1 + c²) Pₙ'`.
fn cotangent_derivative(order: u8, x: f64) -> f64 {
    // cot has period 1; the remainder is exact, so no digits are lost for large |x|.
    let angle = PI * (x - x.round());
    let cotangent = 1.0 / angle.tan();
    let mut polynomial = vec![0.0, 1.0];
    for _ in 0..order {
        let mut next = vec![0.0; polynomial.len() + 1];
        for (power, coefficient) in polynomial.iter().enumerate().skip(1) {
            let slope = coefficient * power as f64;
            next[power - 1] -= slope;
            next[power + 1] -= slope;
        }
        polynomial = next;
    }
    let value = polynomial.iter().rev().fold(0.0, |sum, c| sum * cotangent + c);
    PI.powi(i32::from(order) + 1) * value
}

#[cfg(test)]
// References carry more digits than a double, as they were computed.
#[allow(clippy::excessive_precision)]
mod tests {
    use super::*;

    #[test]
    fn values_agree_with_twenty_digits() {
        for (order, x, expected) in REFERENCE {
            let value = polygamma(order, x);
            let tolerance = if x < 0.0 { 1e-13 } else { 1e-14 };
            assert!(
                (value - expected).abs() <= tolerance * expected.abs(),
                "ψ{order}({x}) = {value}, not {expected}"
            );
        }
    }

    #[test]
    fn poles_and_infinities() {
        assert!(polygamma(0, 0.0).is_nan() && polygamma(0, -2.0).is_nan());
        assert_eq!(polygamma(1, -2.0), f64::INFINITY);
        assert_eq!(polygamma(0, f64::INFINITY), f64::INFINITY);
        assert_eq!(polygamma(1, f64::INFINITY), 0.0);
        assert!(polygamma(0, f64::NEG_INFINITY).is_nan() && polygamma(1, f64::NAN).is_nan());
    }

    /// mpmath 1.3 at 40 digits: (order, x, value).
    const REFERENCE: [(u8, f64, f64); 82] = [
        (0, 1e-09, -1000000000.577215601),
        (0, 0.1, -10.423754940411076232),
        (0, 0.5, -1.9635100260214234794),
        (0, 1.0, -0.57721566490153286061),
        (0, 1.3, -0.16919088886679960526),
        (0, 1.4616, -0.000031106251230341649658),
        (0, 1.7, 0.20854787487349392145),
        (0, 2.0, 0.42278433509846713939),
        (0, 3.75, 1.1825373886117962286),
        (0, 9.9, 2.2411803166063814365),
        (0, 10.1, 2.2622143570941481236),
        (0, 33.0, 3.4812795305349872422),
        (0, 1000000.0, 13.815510057964190771),
        (0, -0.25, 2.9141391202135278304),
        (0, -3.6, 0.39267528447471196651),
        (0, -1234.375, 8.4200153412571125854),
        (1, 1e-09, 999999999999999877.08),
        (1, 0.1, 101.4332991507927477),
        (1, 0.5, 4.9348022005446793094),
        (1, 1.0, 1.6449340668482264365),
        (1, 1.3, 1.1342534349966193011),
        (1, 1.4616, 0.96770071146508354512),
        (1, 1.7, 0.79323283016399840877),
        (1, 2.0, 0.64493406684822643647),
        (1, 3.75, 0.30533985269025307549),
        (1, 9.9, 0.10628304162874059193),
        (1, 10.1, 0.10407283129749604449),
        (1, 33.0, 0.030766804020302090127),
        (1, 1000000.0, 1.0000005000001666667e-6),
        (1, -0.25, 18.541879647671606498),
        (1, -3.6, 10.66884885621737793),
        (1, -1234.375, 11.562151007283562495),
        (2, 1e-09, -1.9999999999999996263e+27),
        (2, 0.1, -2001.8614573783436732),
        (2, 0.5, -16.828796644234319996),
        (2, 1.0, -2.4041138063191885708),
        (2, 1.3, -1.1984625146519564861),
        (2, 1.4616, -0.88557619679990336532),
        (2, 1.7, -0.60408908410345902771),
        (2, 2.0, -0.4041138063191885708),
        (2, 3.75, -0.092546338515899269635),
        (2, 9.9, -0.011285526423707164172),
        (2, 10.1, -0.010821444164374195925),
        (2, 33.0, -0.00094652160396409073922),
        (2, 1000000.0, -1.0000010000005e-12),
        (2, -0.25, 122.69736678366236037),
        (2, -3.6, -22.334929639394156609),
        (2, -1234.375, 30.093536459100859455),
        (3, 1e-09, 5.9999999999999985052e+36),
        (3, 0.1, 60004.512876790253384),
        (3, 0.5, 97.409091034002437236),
        (3, 1.0, 6.4939394022668291491),
        (3, 1.3, 2.401023914308926311),
        (3, 1.4616, 1.5511250508129751645),
        (3, 1.7, 0.88956200662431640742),
        (3, 2.0, 0.4939394022668291491),
        (3, 3.75, 0.055705260745394508779),
        (3, 9.9, 0.0023944512637461598733),
        (3, 10.1, 0.0022484116342180353716),
        (3, 33.0, 0.000058233708879538799577),
        (3, 1000000.0, 2.000003000002e-18),
        (3, -0.25, 1555.7633125348505998),
        (3, -3.6, 283.57410304858164526),
        (3, -1234.375, 345.72498014374032545),
        (4, 1e-09, -2.3999999999999992526e+46),
        (4, 0.1, -2400015.6072031951988),
        (4, 0.5, -771.47424982666722519),
        (4, 1.0, -24.886266123440878232),
        (4, 1.3, -6.9253456204446362831),
        (4, 1.4616, -3.9350408775602428505),
        (4, 1.7, -1.9106098041479516308),
        (4, 2.0, -0.88626612344087823195),
        (4, 3.75, -0.049957849016555110714),
        (4, 9.9, -0.00076134350223221843405),
        (4, 10.1, -0.00070012095586368403398),
        (4, 33.0, -5.3737248996980262702e-6),
        (4, 1000000.0, -6.00001200001e-24),
        (4, -0.25, 24473.199394184582527),
        (4, -3.6, -2037.4187914021678213),
        (4, -1234.375, 2987.5994565936180429),
        (17, 2.5, 24500551.82189332335),
        (60, 40.0, -2.0171001213402937028e-16),
    ];
}
