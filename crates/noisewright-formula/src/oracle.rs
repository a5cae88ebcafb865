//! Derivatives by hyper-dual numbers, an independent way to what `derive` does symbolically (tests only).

use num_dual::{DualNum, HyperDual64};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::function::{Binary, Function};
use crate::graph::Node;
use crate::{Formula, Order, Symbols};

/// Where a kink has no derivative and only a subgradient.
fn is_tie(a: f64, b: f64) -> bool {
    // NaN counts as a tie: it must not vanish behind the other argument.
    let distance = (a - b).abs();
    distance.is_nan() || distance <= 1e-9 * (1.0 + a.abs())
}

fn call(function: Function, x: HyperDual64) -> HyperDual64 {
    match function {
        Function::Abs if is_tie(x.re, 0.0) => HyperDual64::from_re(f64::NAN),
        Function::Exp => x.exp(),
        Function::Log => x.ln(),
        Function::Log1p => x.ln_1p(),
        Function::Expm1 => x.exp_m1(),
        Function::Sqrt => x.sqrt(),
        Function::Abs => {
            if x.re < 0.0 {
                -x
            } else {
                x
            }
        }
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tan => x.tan(),
        Function::Tanh => x.tanh(),
        Function::Atan => x.atan(),
        Function::Sigmoid => ((-x).exp() + 1.0).recip(),
        Function::Softplus => x.exp().ln_1p(),
        Function::Logcosh => x.cosh().ln(),
        Function::Sign => HyperDual64::from_re(x.re.signum()),
        Function::Step => HyperDual64::from_re(f64::from(u8::from(x.re > 0.0))),
        Function::Lgamma | Function::Erf | Function::Polygamma(_) => HyperDual64::from_re(f64::NAN),
    }
}

fn binary(binary: Binary, a: HyperDual64, b: HyperDual64) -> HyperDual64 {
    match binary {
        Binary::Min | Binary::Max if is_tie(a.re, b.re) => HyperDual64::from_re(f64::NAN),
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply | Binary::MaskedProduct => a * b,
        Binary::Divide => a / b,
        Binary::Power if b.re.fract() == 0.0 && b.eps1 == 0.0 && b.eps2 == 0.0 => a.powi(b.re as i32),
        Binary::Power => (a.ln() * b).exp(),
        Binary::Min => {
            if a.re < b.re {
                a
            } else {
                b
            }
        }
        Binary::Max => {
            if a.re > b.re {
                a
            } else {
                b
            }
        }
    }
}

/// Value, first derivatives and all three second ones of a formula in two parameters.
fn oracle(formula: &Formula, [a, b]: [f64; 2], point: &[f64]) -> [f64; 6] {
    let evaluate = |first: [f64; 2], second: [f64; 2]| {
        let seed = |v: f64, i: usize| HyperDual64::new(v, first[i], second[i], 0.0);
        let mut values: Vec<HyperDual64> = Vec::new();
        for node in formula.nodes() {
            let of = |id: crate::graph::Id| values[id.index()];
            let value = match *node {
                Node::Number(number) => HyperDual64::from_re(number.value()),
                Node::Variable(index) => HyperDual64::from_re(point[index as usize]),
                Node::Parameter(index) => seed([a, b][index as usize], index as usize),
                Node::Negate(x) => -of(x),
                Node::Call(function, x) => call(function, of(x)),
                Node::Binary(operation, x, y) => binary(operation, of(x), of(y)),
            };
            values.push(value);
        }
        values.pop().unwrap()
    };
    let (aa, ab, bb) = (
        evaluate([1.0, 0.0], [1.0, 0.0]),
        evaluate([1.0, 0.0], [0.0, 1.0]),
        evaluate([0.0, 1.0], [0.0, 1.0]),
    );
    [aa.re, ab.eps1, ab.eps2, aa.eps1eps2, ab.eps1eps2, bb.eps1eps2]
}

fn symbols() -> Symbols {
    Symbols::new(&["x"], &["a", "b"]).unwrap()
}

fn tape(formula: &Formula, parameters: [f64; 2], x: f64) -> Vec<f64> {
    let tape = formula.compile(Order::Second);
    let mut values = vec![[0.0]; tape.outputs()];
    let mut out: Vec<&mut [f64]> = values.iter_mut().map(|v| &mut v[..]).collect();
    tape.evaluate(&parameters, &[&[x]], &mut out);
    values.into_iter().map(|[v]| v).collect()
}

fn smooth_text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["x", "a", "b", "2", "0.5", "1.5"]).prop_map(String::from);
    leaf.prop_recursive(5, 30, 2, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "/"]);
        let functions = vec![
            "exp", "log", "log1p", "expm1", "sqrt", "abs", "sin", "cos", "tan", "tanh", "atan", "sigmoid",
            "softplus", "logcosh",
        ];
        let power = prop::sample::select(vec!["2", "3", "0.5", "-1", "1.5", "-2", "a", "x"]);
        prop_oneof![
            5 => (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("({a}{o}{b})")),
            3 => (prop::sample::select(functions), inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            1 => (inner.clone(), power).prop_map(|(a, n)| format!("(({a})^({n}))")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("max({a},{b})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("(-min({a},{b}))")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6000, max_global_rejects: 100_000, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn symbolic_derivatives_agree_with_hyper_dual_numbers(
        text in smooth_text(), a in 0.2..2.0f64, b in 0.2..2.0f64, x in 0.2..3.0f64,
    ) {
        let formula = Formula::parse(&text, &symbols()).unwrap();
        let expected = oracle(&formula, [a, b], &[x]);
        let size = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        // Hyper-dual numbers lose their own way where a base is negative or numbers are huge.
        prop_assume!(expected.iter().all(|v| v.is_finite()) && size < 1e6);
        let near = oracle(&formula, [a * (1.0 + 1e-12), b * (1.0 - 1e-12)], &[x * (1.0 + 2e-12)]);
        for (i, found) in tape(&formula, [a, b], x).into_iter().enumerate() {
            let tolerance = 1e-9 * (1.0 + size) + 1e3 * (near[i] - expected[i]).abs();
            prop_assume!(!tolerance.is_nan());
            prop_assert!((found - expected[i]).abs() <= tolerance,
                "output {} of {}: {} not {}", i, formula, found, expected[i]);
        }
    }
}

#[test]
fn gamma_and_error_functions_agree_with_central_differences() {
    for text in [
        "lgamma(a*x)",
        "erf(a*x - b)",
        "digamma(a + x)",
        "trigamma(a*b)",
        "polygamma(3, a*x)",
        "lgamma(-a/x)",
    ] {
        let formula = Formula::parse(text, &symbols()).unwrap();
        let ([a, b], x, h) = ([1.3, 0.7], 1.9, 1e-5);
        let at = |a: f64| tape(&formula, [a, b], x);
        for (value, derivative) in [(0, 1), (1, 3), (2, 4)] {
            let difference = (at(a + h)[value] - at(a - h)[value]) / (2.0 * h);
            let exact = at(a)[derivative];
            assert!(
                (difference - exact).abs() <= 1e-7 * (1.0 + exact.abs()),
                "{text}: {exact} not {difference}"
            );
        }
    }
}
