//! Derivatives, linearity and the edges of the number line, by closed forms.
#![allow(clippy::unwrap_used, clippy::panic)]

use noisewright_formula::{Formula, Order, Symbols};

fn parse(text: &str) -> Formula {
    Formula::parse(text, &Symbols::new(&["x"], &["a", "b"]).unwrap()).unwrap()
}

fn all(text: &str, parameters: [f64; 2], x: f64) -> Vec<f64> {
    let tape = parse(text).compile(Order::Second);
    let mut values = vec![[0.0]; tape.outputs()];
    let mut out: Vec<&mut [f64]> = values.iter_mut().map(|v| &mut v[..]).collect();
    tape.evaluate(&parameters, &[&[x]], &mut out);
    values.into_iter().map(|[v]| v).collect()
}

#[test]
fn derivatives_are_simplified() {
    let cases = [
        ("a*x", "x"),
        ("-a*x^2/2", "-0.5*x^2"),
        ("a*log(x)", "log(x)"),
        ("x/a", "-(x/a/a)"),
        ("(x - a)^2", "-2*(x - a)"),
        ("exp(a*x)", "x*exp(a*x)"),
        ("log(a*x)", "1/a"),
        ("x", "0"),
        ("lgamma(a)", "digamma(a)"),
        ("digamma(a*x)", "mul0(x, trigamma(a*x))"),
        ("trigamma(a)", "polygamma(2, a)"),
        ("softplus(a*x)", "x*sigmoid(a*x)"),
        ("logcosh(a)", "tanh(a)"),
        ("x^a", "mul0(x^a, log(x))"),
        ("max(a, x)", "step(a - x)"),
        ("abs(a)", "sign(a)"),
        ("b*exp(x)", "0"),
        ("a^2 - a^2", "0"),
    ];
    for (text, derivative) in cases {
        assert_eq!(parse(text).derivative(0).to_string(), derivative, "{text}");
    }
}

#[test]
fn precedence_is_that_of_mathematics() {
    for (text, value) in [
        ("-2^2", -4.0),
        ("2^-3", 0.125),
        ("2^3^2", 512.0),
        ("-2^-2", -0.25),
        ("2 - 3 - 4", -5.0),
        ("12/3/2", 2.0),
        ("2*-3", -6.0),
        ("--3", 3.0),
        ("+3", 3.0),
        ("(-8)^3", -512.0),
        ("1 + 2*3^2", 19.0),
        ("min(3, 1, 2) + max(1, 5, 4, 2)", 6.0),
        ("cos(pi)", -1.0),
        ("2 − 3·4", -10.0),
    ] {
        assert_eq!(parse(text).evaluate_at(&[0.0; 2], &[0.0]), value, "{text}");
        assert_eq!(all(text, [0.0; 2], 0.0)[0], value, "{text}");
    }
}

#[test]
fn linear_formulas_are_seen_through_their_brackets() {
    for (text, features, offset) in [
        ("-0.5*a*(x-1)^2 + b*log(x)", ["-0.5*(x - 1)^2", "log(x)"], "0"),
        ("(a*x+b*x^2)/3", ["x/3", "x^2/3"], "0"),
        ("-(a+b)*x", ["-x", "-x"], "0"),
        ("a*x", ["x", "0"], "0"),
        ("x^2", ["0", "0"], "x^2"),
        ("(a + x)^2 - a^2 + b", ["2*x", "1"], "x^2"),
        ("a*(b + x) - b*a", ["x", "0"], "0"),
        ("a*exp(x)*2/(1 + x^2)", ["2*(exp(x)/(x^2 + 1))", "0"], "0"),
        ("2^x*a - 1", ["2^x", "0"], "-1"),
    ] {
        let linear = parse(text).linear().unwrap_or_else(|| panic!("{text} is linear"));
        let found: Vec<String> = linear.features.iter().map(ToString::to_string).collect();
        assert_eq!((found, linear.offset.to_string()), (features.map(String::from).to_vec(), offset.into()));
    }
    for text in ["a*b*x", "a^2*x", "exp(a)*x", "x/a", "abs(a)*x", "a*x + a*b", "x^a", "max(a, b)"] {
        assert!(parse(text).linear().is_none(), "{text}");
    }
}

#[test]
fn a_linear_formula_equals_its_parts() {
    let formula = parse("x - 3*(a*x - 2*b*sin(x))/4 + (a - b)*(x + 1)");
    let linear = formula.linear().unwrap();
    for x in [-2.5, 0.0, 0.3, 7.0] {
        let [a, b] = [1.7, -0.4];
        let part = |f: &Formula| f.evaluate_at(&[a, b], &[x]);
        let sum = part(&linear.offset) + a * part(&linear.features[0]) + b * part(&linear.features[1]);
        assert!((sum - formula.evaluate_at(&[a, b], &[x])).abs() < 1e-14);
    }
}

#[test]
fn names_in_use_are_known() {
    let symbols = Symbols::new(&["x", "y"], &["a", "b", "c"]).unwrap();
    let formula = Formula::parse("b*x", &symbols).unwrap();
    assert!(formula.uses_variable() && formula.uses_parameter(1) && !formula.uses_parameter(0));
    assert_eq!(formula.unused_parameters(), ["a", "c"]);
    assert_eq!(formula.unused_variables(), ["y"]);
    assert!(!Formula::parse("b", &symbols).unwrap().uses_variable());
}

/// Each value is finite, so no derivative may be NaN: outputs are u, u_a, u_b, u_aa, u_ab, u_bb.
#[test]
fn finite_values_have_derivatives_that_are_not_nan() {
    for (text, parameters, x, expected) in [
        ("sqrt(a*x^2)", [2.0, 0.0], 0.0, [0.0; 6]),
        ("x^a", [2.0, 0.0], 0.0, [0.0; 6]),
        ("x^a", [0.5, 0.0], 0.0, [0.0; 6]),
        ("(x/a)^b", [2.0, 0.5], 0.0, [0.0; 6]),
        ("exp(a*log(x))", [2.0, 0.0], 0.0, [0.0; 6]),
        ("softplus(a*log(x))", [2.0, 0.0], 0.0, [0.0; 6]),
        ("max(a*log(x), -50)", [2.0, 0.0], 0.0, [-50.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        ("abs(a*x)", [0.0, 0.0], 3.0, [0.0; 6]),
        ("max(a*x, b*x)", [1.0, 1.0], 2.0, [2.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        ("(a*x)^3", [-1.0, 0.0], 2.0, [-8.0, 24.0, 0.0, -48.0, 0.0, 0.0]),
        ("(-a)^2*x", [3.0, 0.0], 1.0, [9.0, 6.0, 0.0, 2.0, 0.0, 0.0]),
        ("softplus(a*x)", [800.0, 0.0], 1.0, [800.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        ("tanh(a)*x", [400.0, 0.0], 1.0, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ] {
        assert_eq!(all(text, parameters, x), expected, "{text}");
    }
    let slope = all("sqrt(a)", [0.0, 0.0], 0.0)[1];
    assert_eq!(slope, f64::INFINITY, "a slope that is infinite stays so");
}

#[test]
fn infinite_and_undefined_values_stay_what_they_are() {
    assert_eq!(all("a*log(x)", [1.0, 0.0], 0.0)[..2], [f64::NEG_INFINITY, f64::NEG_INFINITY]);
    for (text, x) in
        [("log(x)", -1.0), ("0*log(x)", 0.0), ("x/x", 0.0), ("log(x) - log(x)", 0.0), ("x^0.5", -1.0)]
    {
        assert!(all(text, [0.0; 2], x)[0].is_nan(), "{text}");
        assert!(parse(text).evaluate_at(&[0.0; 2], &[x]).is_nan(), "{text}");
    }
    assert_eq!(all("lgamma(x)", [0.0; 2], -3.0)[0], f64::INFINITY);
    assert_eq!(all("x/exp(a)", [-720.0, 0.0], 1e-10)[0], 1e-10 / (-720f64).exp());
}

#[test]
fn factors_whose_sum_overflows_stay_apart() {
    for (formula, a, x) in [("1e308*x + 1e308*x", 0.0, 0.1), ("a*(1e308*x) + 1e308*(a*x)", 0.1, 1.0)] {
        let value = all(formula, [a, 0.0], x)[0];
        assert!((value / 2e307 - 1.0).abs() < 4.0 * f64::EPSILON, "{formula} {value}");
    }
}

#[test]
fn nested_products_stay_small() {
    let nested =
        |levels: usize| (0..levels).fold("a*x + b".to_owned(), |text, _| format!("sin({text})*(a + x)"));
    let operations = |levels: usize| parse(&nested(levels)).compile(Order::Second).operations();
    // Written out, a second derivative of n factors has n² terms; with shared parts every level adds as many operations as
    // the one before.
    let steps = [20, 40, 60].map(operations);
    assert!(10 * (steps[2] - steps[1]) <= 11 * (steps[1] - steps[0]), "{steps:?}");
    assert!(all(&nested(60), [0.3, 0.2], 0.5).iter().all(|v| v.is_finite()));
}

#[test]
fn many_parameters_do_not_alias() {
    let names: Vec<String> = (0..130).map(|i| format!("p{i}")).collect();
    let terms: Vec<String> = (0..130).map(|i| format!("p{i}^2*{i}")).collect();
    let formula = Formula::parse(&terms.join("+"), &Symbols::new(&["x"], &names).unwrap()).unwrap();
    assert_eq!(formula.derivative(3).to_string(), "6*p3");
    assert_eq!(formula.derivative(67).to_string(), "134*p67");
    assert_eq!(formula.derivative(67).derivative(3).to_string(), "0");
}

#[test]
fn powers_by_products_and_roots_are_powers() {
    for half in -70..=70 {
        let exponent = f64::from(half) / 2.0;
        for x in [0.7f64, 1.9, -1.3, 0.0] {
            let (found, expected) = (all(&format!("x^({exponent})"), [0.0; 2], x)[0], x.powf(exponent));
            let close = (found - expected).abs() <= 1e-14 * expected.abs();
            assert!(
                close || found == expected || (found.is_nan() && expected.is_nan()),
                "{x}^{exponent} = {found}"
            );
        }
    }
}
