//! Special functions against mpmath (`tests/references/special.py`) and at the edges of their domains.

// Helpers outside #[test] functions may fail loudly too.
#![allow(clippy::unwrap_used, clippy::panic)]

use noisewright_numerics::special::*;
use proptest::prelude::*;

const TABLE: &str = include_str!("references/special.csv");

struct Reference {
    function: &'static str,
    arguments: Vec<f64>,
    value: f64,
}

fn references() -> Vec<Reference> {
    let parse = |line: &'static str| {
        let fields: Vec<&str> = line.split(',').collect();
        let arguments = fields[1..4].iter().filter(|f| !f.is_empty()).map(|f| f.parse().unwrap()).collect();
        Reference { function: fields[0], arguments, value: fields[4].parse().unwrap() }
    };
    TABLE.lines().skip(1).map(parse).collect()
}

/// The function's value and the error it may make: relative to the value, or for logarithms also to the scale at which
/// the argument's own rounding acts.
fn evaluate(r: &Reference) -> (f64, f64) {
    let a = &r.arguments;
    let relative = |value: f64, digits: f64| (value, digits * r.value.abs());
    let logarithm = |value: f64, scale: f64| (value, 1e-14 * r.value.abs().max(scale));
    match r.function {
        "erf" => relative(erf(a[0]), 1e-15),
        "erfc" => relative(erfc(a[0]), 1e-15),
        "ln_gamma" => logarithm(ln_gamma(a[0]), if a[0] > 0.0 { 0.0 } else { 1.0 }),
        "ln_factorial" => relative(ln_factorial(a[0]), 1e-14),
        "digamma" if a[0] > 0.0 => relative(digamma(a[0]), 1e-14),
        // The reflection's two terms may cancel, and near a pole the argument's rounding is what is seen.
        "digamma" => logarithm(digamma(a[0]), 3.0),
        "trigamma" => relative(trigamma(a[0]), 1e-14),
        "ln_beta" => logarithm(ln_beta(a[0], a[1]), 1.0),
        "ln_choose" => relative(ln_choose(a[0], a[1]), 1e-14),
        "ln_bessel_i" if a[0] == 0.0 => relative(ln_bessel_i(a[0], a[1]), 1e-14),
        "ln_bessel_i" => (ln_bessel_i(a[0], a[1]), 2e-15 * r.value.abs().max(a[0]).max(1.0)),
        "bessel_ratio" => relative(bessel_ratio(a[0], a[1]), 1e-14),
        "normal_cdf" => relative(normal_cdf(a[0]), 1e-15),
        "ln_normal_cdf" => relative(ln_normal_cdf(a[0]), 1e-15),
        "normal_quantile" => relative(normal_quantile(a[0]), 2e-15),
        "normal_quantile_log" => relative(normal_quantile_log(a[0]), 4e-15),
        "ln_1m_exp" => relative(ln_1m_exp(a[0]), 1e-15),
        "softplus" => relative(softplus(a[0]), 1e-15),
        "sigmoid" => relative(sigmoid(a[0]), 1e-15),
        "ln_sigmoid" => relative(ln_sigmoid(a[0]), 1e-15),
        "ln_cosh" => relative(ln_cosh(a[0]), 2e-15),
        "ln_add_exp" => relative(ln_add_exp(a[0], a[1]), 1e-15),
        "ln_sub_exp" => relative(ln_sub_exp(a[0], a[1]), 1e-15),
        "gamma_p" => relative(gamma_p(a[0], a[1]), 1e-12),
        "gamma_q" => relative(gamma_q(a[0], a[1]), 1e-12),
        "beta_inc" => relative(beta_inc(a[0], a[1], a[2]), 1e-12),
        "student_cdf" => relative(student_cdf(a[0], a[1]), 1e-12),
        other => panic!("no function {other}"),
    }
}

#[test]
fn values_agree_with_mpmath() {
    let mut failures = Vec::new();
    for r in references() {
        let (value, allowed) = evaluate(&r);
        let error = (value - r.value).abs();
        if error.is_nan() || error > allowed {
            failures.push(format!(
                "{}{:?} = {value:e}, reference {:e}, off by {error:.1e}, allowed {allowed:.1e}",
                r.function, r.arguments, r.value
            ));
        }
    }
    assert!(failures.is_empty(), "{} of the values:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn table_covers_every_function() {
    let names: std::collections::BTreeSet<_> = references().iter().map(|r| r.function).collect();
    assert_eq!(names.len(), 25);
}

#[test]
fn edges_of_the_gamma_family() {
    assert_eq!(digamma(0.0), f64::NEG_INFINITY);
    assert_eq!(digamma(-0.0), f64::INFINITY);
    assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
    assert!(digamma(-3.0).is_nan() && digamma(f64::NEG_INFINITY).is_nan() && digamma(f64::NAN).is_nan());
    assert_eq!(trigamma(-3.0), f64::INFINITY);
    assert_eq!(trigamma(0.0), f64::INFINITY);
    assert_eq!(trigamma(f64::INFINITY), 0.0);
    assert!(trigamma(f64::NAN).is_nan() && trigamma(f64::NEG_INFINITY).is_nan());
    assert_eq!(ln_gamma(-4.0), f64::INFINITY);
    assert_eq!(ln_beta(0.0, 2.0), f64::INFINITY);
    assert_eq!(ln_beta(f64::INFINITY, 2.0), f64::NEG_INFINITY);
    assert!(ln_beta(-1.0, 2.0).is_nan() && ln_beta(f64::NAN, 2.0).is_nan());
    assert_eq!(ln_choose(4.0, 5.0), f64::NEG_INFINITY);
    assert_eq!(ln_choose(4.0, -1.0), f64::NEG_INFINITY);
    assert!(ln_choose(-1.0, 0.0).is_nan());
    assert_eq!(ln_choose(7.0, 0.0), 0.0);
}

#[test]
fn edges_of_the_bessel_functions() {
    assert_eq!(ln_bessel_i(0.0, 0.0), 0.0);
    assert_eq!(ln_bessel_i(1.0, 0.0), f64::NEG_INFINITY);
    assert_eq!(ln_bessel_i(1.0, f64::INFINITY), f64::INFINITY);
    assert!(
        ln_bessel_i(-1.0, 1.0).is_nan()
            && ln_bessel_i(1.0, -1.0).is_nan()
            && ln_bessel_i(0.0, f64::NAN).is_nan()
    );
    assert_eq!(bessel_ratio(0.0, 0.0), 0.0);
    assert_eq!(bessel_ratio(3.0, f64::INFINITY), 1.0);
    assert!(bessel_ratio(f64::NAN, 1.0).is_nan());
    // The smallest double, whose half is zero.
    let tiny = f64::from_bits(1);
    assert!((ln_bessel_i(1.0, tiny) - (tiny.ln() - 2.0_f64.ln())).abs() < 1e-12);
}

#[test]
fn edges_of_the_normal_distribution() {
    for (x, p) in [(f64::NEG_INFINITY, 0.0), (f64::INFINITY, 1.0), (0.0, 0.5)] {
        assert_eq!(normal_cdf(x), p);
        assert_eq!(normal_quantile(p), x);
        assert_eq!(ln_normal_cdf(x), p.ln());
        assert_eq!(normal_quantile_log(p.ln()), x);
    }
    assert!(normal_cdf(f64::NAN).is_nan() && ln_normal_cdf(f64::NAN).is_nan());
    assert!(
        normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan() && normal_quantile_log(0.1).is_nan()
    );
}

#[test]
fn edges_of_the_logistic_family() {
    let (inf, low) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!((softplus(inf), softplus(low)), (inf, 0.0));
    assert_eq!((sigmoid(inf), sigmoid(low)), (1.0, 0.0));
    assert_eq!((ln_sigmoid(inf), ln_sigmoid(low)), (0.0, low));
    assert_eq!((ln_cosh(inf), ln_cosh(low), ln_cosh(0.0)), (inf, inf, 0.0));
    assert_eq!((ln_1m_exp(0.0), ln_1m_exp(low)), (low, 0.0));
    assert!(ln_1m_exp(1e-3).is_nan());
    assert_eq!((ln_add_exp(low, low), ln_add_exp(inf, inf), ln_add_exp(inf, low)), (low, inf, inf));
    assert!(ln_add_exp(f64::NAN, 1.0).is_nan() && ln_add_exp(1.0, f64::NAN).is_nan());
    assert_eq!((ln_sub_exp(2.0, 2.0), ln_sub_exp(2.0, low), ln_sub_exp(low, low)), (low, 2.0, low));
    assert!(ln_sub_exp(1.0, 2.0).is_nan() && ln_sub_exp(inf, inf).is_nan());
}

#[test]
fn edges_of_the_incomplete_functions() {
    assert_eq!((gamma_p(2.0, 0.0), gamma_q(2.0, 0.0)), (0.0, 1.0));
    assert_eq!((gamma_p(2.0, f64::INFINITY), gamma_q(2.0, f64::INFINITY)), (1.0, 0.0));
    assert!(gamma_p(-1.0, 1.0).is_nan() && gamma_p(1.0, -1.0).is_nan() && gamma_p(1.0, f64::NAN).is_nan());
    assert_eq!((beta_inc(2.0, 3.0, 0.0), beta_inc(2.0, 3.0, 1.0)), (0.0, 1.0));
    assert!(beta_inc(2.0, 3.0, 1.5).is_nan() && beta_inc(0.0, 3.0, 0.5).is_nan());
    assert_eq!((student_cdf(3.0, f64::NEG_INFINITY), student_cdf(3.0, f64::INFINITY)), (0.0, 1.0));
    assert_eq!(student_cdf(f64::INFINITY, -2.0), normal_cdf(-2.0));
    assert!(student_cdf(0.0, 1.0).is_nan() && student_cdf(2.0, f64::NAN).is_nan());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recurrences_hold(x in 0.01..100.0_f64, order in 0.0..600.0_f64, exponent in -5.0..7.0_f64) {
        prop_assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-14 * (5.0 + 2.0 / x));
        prop_assert!((trigamma(x) - trigamma(x + 1.0) - x.powi(-2)).abs() < 1e-14 * trigamma(x));
        let argument = 10.0_f64.powf(exponent);
        // I_{ν}/I_{ν+1} = 2(ν+1)/x + I_{ν+2}/I_{ν+1}
        let left = 1.0 / bessel_ratio(order, argument);
        let right = 2.0 * (order + 1.0) / argument + bessel_ratio(order + 1.0, argument);
        prop_assert!((left / right - 1.0).abs() < 2e-14, "{left} {right}");
        let logs = ln_bessel_i(order + 1.0, argument) - ln_bessel_i(order, argument);
        let scale = ln_bessel_i(order, argument).abs().max(order).max(1.0);
        prop_assert!((logs + left.ln()).abs() < 1e-14 * scale, "{logs} {}", -left.ln());
    }

    #[test]
    fn quantiles_invert(x in -37.0..8.0_f64, far in -1e6..-30.0_f64) {
        // In the right tail the rounding of p near 1 is all that is left of x.
        let allowed = 4e-15 * x.abs().max(0.1) + 2.3e-16 * (0.5 * x * x).exp() * if x > 0.0 { 3.0 } else { 0.0 };
        prop_assert!((normal_quantile(normal_cdf(x)) - x).abs() <= allowed);
        prop_assert!((normal_quantile_log(ln_normal_cdf(far)) / far - 1.0).abs() < 4e-15);
    }

    #[test]
    fn complements_add_up(a in -8.0..9.0_f64, b in -8.0..6.0_f64, x in 0.0..1.0_f64, spread in -10.0..10.0_f64) {
        let (a, b) = (10.0_f64.powf(a), 10.0_f64.powf(b));
        let point = (a + spread * a.sqrt()).abs();
        prop_assert!((gamma_p(a, point) + gamma_q(a, point) - 1.0).abs() < 1e-12);
        let a = a.min(1e6);
        // 1 − x is exact for x at least one half.
        let x = 0.5 + 0.5 * x;
        prop_assert!((beta_inc(a, b, x) + beta_inc(b, a, 1.0 - x) - 1.0).abs() < 1e-12);
        prop_assert!((student_cdf(a, spread) + student_cdf(a, -spread) - 1.0).abs() < 1e-12);
    }
}
