//! Noise words: what is read, printed back, filled in and built, and what is refused in which words.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use crate::support::{noise, space};
use noisewright::internal::words::{Argument, Call, Span, Weight};
use noisewright::parts::NoiseContext;
use noisewright::*;
use proptest::prelude::*;

fn parse(text: &str) -> NoiseWords {
    NoiseWords::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn refusal(text: &str) -> String {
    NoiseWords::parse(text).unwrap_err().to_string()
}

#[test]
fn everything_of_the_interface_is_read_and_printed_back() {
    for text in [
        "normal(0, 1)",
        "student(5, 0, 2)",
        "uniform(-1, 1)",
        "laplace(0, 1)",
        "logistic(0, 1)",
        "gamma(2, 3)",
        "beta(2, 3)",
        "lognormal(0, 1)",
        "von-mises(0, 2)",
        "poisson(4)",
        "negative-binomial(4, 2)",
        "bernoulli",
        "product",
        "product(normal(0, 1), 0.5*gamma(2, 1) + 0.5*uniform(0, 1))",
        "kde",
        "normal",
        "student(5)",
        "uniform",
        "normal([1, 2], [[1, 0.5], [0.5, 2]])",
        "student(5, [0, 0], [[1, 0], [0, 1]])",
        "von-mises-fisher([0, 0, 1], 10)",
        "0.7*normal(0, 1) + 0.3*student(5, 0, 2)",
        "?*normal(?, 1) + 0.3*student(5, 0, ?)",
        "data",
        "all-noise",
        "optimal",
        "auto",
        "histogram(20, -5, 5)",
        "model(a=1, b=-2.5e-7)",
        "model(\"x^2\"=1)",
        "file(\"a \\\"strange\\\" \\\\ name.json\")",
        "truncate(normal(0, 1), 0, inf)",
        "truncate(normal(0, 1), -inf, 3)",
        "categorical([-1, 1], [0.25, 0.75])",
    ] {
        let words = parse(text);
        assert_eq!(words.to_string(), text);
        assert_eq!(parse(&words.to_string()), words);
    }
    assert_eq!(parse("  normal( 0 ,1.50 )\t").to_string(), "normal(0, 1.5)");
    assert_eq!(parse("1*normal(0,1)"), parse("normal(0, 1)"));
    assert_eq!(parse("normal()"), parse("normal"));
    assert_eq!(parse("von-mises(-pi, 2)").to_string(), "von-mises(-3.141592653589793, 2)");
}

#[test]
fn long_texts_take_time_in_proportion() {
    let terms = 50_000;
    let text = vec!["0.00002*normal(0, 1)"; terms].join(" + ");
    let start = std::time::Instant::now();
    assert_eq!("kde".parse::<NoiseWords>().unwrap(), parse("kde"));
    assert_eq!(parse(&text).terms.len(), terms);
    // A megabyte; quadratic work would take minutes.
    assert!(start.elapsed().as_secs() < 10);
}

#[test]
fn the_tree_has_names_arguments_and_spans() {
    let words = parse("0.25*model(a=1, b=?) + 0.75*file(\"x\")");
    let (weight, call) = &words.terms[0];
    assert_eq!((*weight, call.name.as_str()), (Weight::Number(0.25), "model"));
    assert_eq!(call.span, Span { start: 5, end: 20 });
    assert_eq!(call.arguments[1], Argument::Named("b".into(), Box::new(Argument::Free)));
    assert_eq!(words.terms[1].1.arguments, [Argument::Text("x".into())]);
}

#[test]
fn question_marks_are_counted_and_filled_in_order() {
    let words = parse("0.5*normal(?, 1) + 0.5*truncate(normal([?, 2], ?), 0, ?)");
    assert_eq!(words.free_count(), 4);
    let filled = words.substitute(&[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(filled.to_string(), "0.5*normal(1, 1) + 0.5*truncate(normal([2, 2], 3), 0, 4)");
    assert_eq!(words.substitute(&[9.0]).free_count(), 3);
    // Free weights share what the fixed ones leave.
    let weights = parse("0.5*normal(0, 1) + ?*student(?, 0, 1) + ?*laplace(0, 1)");
    assert_eq!(weights.free_count(), 3);
    let filled = weights.substitute(&[3.0, 7.0, 1.0]);
    assert_eq!(filled.to_string(), "0.5*normal(0, 1) + 0.375*student(7, 0, 1) + 0.125*laplace(0, 1)");
    assert_eq!(parse(&filled.to_string()), filled);
}

#[test]
fn mistakes_are_pointed_at() {
    assert_eq!(refusal(""), "a noise is missing; write one such as `normal(0, 1)`");
    assert_eq!(refusal("norml(0, 1)"), "column 1: there is no noise `norml`, did you mean `normal`?");
    assert_eq!(refusal("gaussian"), "column 1: there is no noise `gaussian`, did you mean `normal`?");
    assert_eq!(refusal("zebra(1)"), "column 1: there is no noise `zebra`");
    assert_eq!(refusal("normal(0, 1"), "column 12: expected `,` or `)`, found the end");
    assert_eq!(
        refusal("normal(0; 1)"),
        "column 9: expected a noise, a number or a sign such as `(`, found `;`"
    );
    assert_eq!(
        refusal("normal(0,, 1)"),
        "column 10: expected a number, `?`, a list, a text or a noise, found `,`"
    );
    assert_eq!(
        refusal("0.5*normal(0,1) + 0.4*student(5,0,1)"),
        "column 1: the weights sum to 0.9; they must sum to 1"
    );
    assert_eq!(
        refusal("1.5*normal(0,1) + ?*student(5,0,1)"),
        "column 1: the weights sum to 1.5; the fixed ones must leave something for the free ones"
    );
    assert_eq!(
        refusal("0.5*normal(0,1) + student(5,0,1)"),
        "column 19: a part of a mixture needs a weight, as in `0.7*normal(0, 1)`"
    );
    assert_eq!(refusal("-0.5*normal(0,1) + 1.5*kde"), "column 1: the weight -0.5 is not a positive number");
    assert_eq!(refusal("normal(1.2.3, 1)"), "column 8: `1.2.3` is not a number");
    assert_eq!(refusal("file(\"abc)"), "column 6: the quotation mark is never closed");
    assert_eq!(refusal("normal(0, 1) kde"), "column 14: expected `+` or the end of the noise, found `kde`");
    assert!(refusal(&"truncate(".repeat(100_000)).contains("nested too deeply"));
    assert!(refusal(&format!("normal({}", "[".repeat(100_000))).contains("nested too deeply"));
    assert_eq!(refusal("ñandú(1)"), "column 1: there is no noise `ñandú`");
    let error = NoiseWords::parse("kdee").unwrap_err().in_text("kdee");
    assert_eq!(error.to_string(), "noise `kdee`: column 1: there is no noise `kdee`, did you mean `kde`?");
}

fn described(domain: &str, dimension: usize, words: &str) -> String {
    noise(domain, dimension, words).describe()
}

fn build_refusal(domain: &str, dimension: usize, words: &str) -> String {
    parse(words).build(&NoiseContext::new(&space(domain, dimension))).unwrap_err().to_string()
}

#[test]
fn noises_are_built_for_the_space() {
    assert_eq!(described("real", 1, "normal(0, 1)"), "normal(0, 1)");
    assert_eq!(described("real", 2, "normal(0, 1)"), "product(normal(0, 1), normal(0, 1))");
    assert_eq!(described("real", 2, "laplace([1, 2], 3)"), "product(laplace(1, 3), laplace(2, 3))");
    assert_eq!(described("positive", 1, "normal(0, 1)"), "truncate(normal(0, 1), 0, inf)");
    assert_eq!(described("positive", 1, "gamma(2, 1)"), "gamma(2, 1)");
    assert_eq!(described("[0, 2]", 1, "gamma(2, 1)"), "truncate(gamma(2, 1), 0, 2)");
    assert_eq!(described("[0, 2]", 1, "beta(2, 1)"), "beta(2, 1, 0, 2)");
    assert_eq!(described("[0, 2]", 1, "uniform"), "uniform(0, 2)");
    assert_eq!(described("circle", 1, "uniform"), "von-mises(0, 0)");
    assert_eq!(described("spins", 1, "uniform"), "categorical([-1, 1], [0.5, 0.5])");
    assert_eq!(described("spins", 1, "bernoulli(0.25)"), "categorical([-1, 1], [0.75, 0.25])");
    assert_eq!(described("sphere", 3, "uniform"), "uniform");
    assert_eq!(described("sphere", 3, "von-mises-fisher([0, 0, 2], 3)"), "von-mises-fisher([0, 0, 1], 3)");
    assert_eq!(described("counts", 1, "truncate(poisson(3), 1, inf)"), "truncate(poisson(3), 1, inf)");
    assert_eq!(
        described("real", 2, "product(normal(0, 1), 0.5*laplace(0, 1) + 0.5*normal(0, 1))"),
        "product(normal(0, 1), 0.5*laplace(0, 1) + 0.5*normal(0, 1))"
    );
    // P(X > 0) is ½ for the first part and 1 for the second.
    let mixture = described("positive", 1, "0.5*normal(0, 1) + 0.5*gamma(2, 1)");
    assert_eq!(parse(&mixture).terms.len(), 2);
    let Weight::Number(weight) = parse(&mixture).terms[0].0 else { panic!("{mixture}") };
    assert!((weight - 1.0 / 3.0).abs() < 1e-15);
}

#[test]
fn descriptions_are_words_that_build_the_same_noise() {
    for (domain, dimension, words) in [
        ("real", 1, "0.3*normal(1e-7, 1e20) + 0.7*student(3.3, 0.1, 2)"),
        ("positive", 1, "normal(0.5, 2)"),
        ("[-1, 4]", 2, "product(beta(2, 3), truncate(laplace(0, 1), 0, 1))"),
        ("real", 2, "normal([1, 2], [[1, 0.5], [0.5, 2]])"),
        ("real", 2, "student(5, [1, 2], [[1, 0.5], [0.5, 2]])"),
        ("sphere", 3, "0.5*uniform + 0.5*von-mises-fisher([0, 0.6, 0.8], 3)"),
        ("counts", 1, "negative-binomial(3, 0.5)"),
        ("spins", 2, "bernoulli([0.25, 0.5])"),
    ] {
        let first = noise(domain, dimension, words);
        let second = noise(domain, dimension, &first.describe());
        let draws = sample(first.as_ref(), 100, 1);
        let (mut a, mut b) = (vec![0.0; 100], vec![0.0; 100]);
        first.log_density(draws.view(), &mut a);
        second.log_density(draws.view(), &mut b);
        for (a, b) in a.iter().zip(&b) {
            assert!(a.is_finite() && (a - b).abs() < 1e-12 * a.abs().max(1.0), "{words}: {a} {b}");
        }
    }
}

#[test]
fn noises_are_fitted_to_the_data() {
    let data = [0.5, 1.5, 2.0, 4.0, 1.0, 0.0, 3.0, 2.0];
    let build = |domain: &str, columns: usize, words: &str| {
        let space = space(domain, columns);
        let view = View::new(columns, 8 / columns, &data);
        parse(words).build(&NoiseContext::new(&space).with_data(view)).map(|noise| noise.describe())
    };
    assert_eq!(
        build("real", 1, "normal").unwrap(),
        Normal::fit(View::new(1, 8, &data), None).unwrap().describe()
    );
    let joint = MultivariateNormal::fit(View::new(2, 4, &data), None).unwrap();
    assert_eq!(build("real", 2, "normal").unwrap(), joint.describe());
    let student = MultivariateStudent::fit_with_dof(7.0, View::new(2, 4, &data), None).unwrap();
    assert_eq!(build("real", 2, "student(7)").unwrap(), student.describe());
    assert_eq!(build("real", 2, "kde").unwrap(), "kde");
    assert_eq!(build("[0, 5]", 2, "kde").unwrap(), "kde");
    assert!(build("real", 2, "product").unwrap().starts_with("product(normal(2, 1.625), normal("));
    assert!(build("real", 2, "product(student(4), kde)").unwrap().starts_with("product(student(4, 2, "));
    assert!(build("[0, 5]", 1, "product").unwrap().starts_with("beta("));
    assert!(build("circle", 1, "product").unwrap().starts_with("von-mises("));
    let normal = build("[0, 5]", 2, "normal").unwrap_err().to_string();
    assert!(
        normal.ends_with("its mass within bounds is not known; use product of noises of one variable"),
        "{normal}"
    );
    let positive = build("positive", 1, "gamma").unwrap_err().to_string();
    assert!(positive.contains("row 6 of the data is 0, which is not positive"), "{positive}");
}

#[test]
fn a_mixture_in_a_mixture_is_described_by_all_its_parts() {
    let data = [0.5, 1.5, 2.0, 4.0, 1.0, 0.0, 3.0, 2.0];
    let inner = noise("real", 1, "0.75*normal(1, 2) + 0.25*student(5, 1, 2)");
    let first: Mixture =
        Mixture::of_shared(vec![(0.5, noise("real", 1, "normal(0, 1)")), (0.5, inner)]).unwrap();
    let words = first.describe();
    assert!(
        words.starts_with("0.5*normal(0, 1) + 0.375") && words.ends_with(" + 0.125*student(5, 1, 2)"),
        "{words}"
    );
    let second = noise("real", 1, &words);
    let (mut a, mut b) = ([0.0; 8], [0.0; 8]);
    first.log_density(View::new(1, 8, &data), &mut a);
    second.log_density(View::new(1, 8, &data), &mut b);
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

#[test]
fn spins_are_fitted_with_half_a_count_each() {
    let data = [1.0, 1.0, 1.0, 1.0];
    let space = space("spins", 1);
    let context = NoiseContext::new(&space).with_data(View::new(1, 4, &data));
    for words in ["bernoulli", "product"] {
        let noise = parse(words).build(&context).unwrap();
        let mut out = [0.0];
        noise.log_density(View::new(1, 1, &[-1.0]), &mut out);
        assert!((out[0] - 0.1f64.ln()).abs() < 1e-15, "{words}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_advice() {
    let advice = [
        (
            "circle",
            1,
            "normal(0, 1)",
            "`x0` is an angle; use von-mises(mean, concentration), or uniform without arguments",
        ),
        ("real", 1, "von-mises(0, 1)", "it is for angles and `x0` is none; use normal or student"),
        ("spins", 1, "normal(0, 1)", "`x0` has finitely many states; use bernoulli, product or uniform"),
        ("counts", 1, "gamma(2, 1)", "`x0` is a count; use poisson or negative-binomial"),
        ("real", 1, "poisson(3)", "it is discrete and `x0` is continuous; use normal or student"),
        ("sphere", 3, "normal(0, 1)", "the points are unit vectors; use von-mises-fisher or uniform"),
        ("real", 3, "von-mises-fisher([0, 0, 1], 1)", "it is for unit vectors"),
        ("real", 1, "normal", "it is fitted to data, and there are none"),
        ("real", 1, "kde", "it is fitted to data, and there are none"),
        ("real", 1, "uniform", "the domain of `x0` is unbounded; give the ends, as in uniform(0, 1)"),
        ("real", 1, "normal(0)", "it takes (mean, variance), not 1 argument"),
        ("real", 1, "normal(?, 1)", "a `?` is left"),
        ("real", 1, "?*normal(0, 1) + 0.5*kde", "a `?` is left"),
        ("real", 1, "optimal", "it is made from a model or a design, which is not given here"),
        ("positive", 1, "uniform(-3, -1)", "it has no mass between 0 and inf"),
        ("[5, 6]", 1, "beta(2, 2, 0, 1)", "it has no mass between 5 and 6"),
        ("real", 2, "product(normal(0, 1))", "it needs one noise for each of the 2 variables, not 1"),
        ("real", 2, "normal([1, 2, 3], 1)", "`[1, 2, 3]` must have one number for each of the 2 variables"),
        ("real", 2, "normal([1, 2], [[1, 0]])", "`[[1, 0]]` must be a 2 by 2 matrix"),
        ("real", 2, "normal([1, 2], [[1, 2], [2, 1]])", "positive definite"),
        ("real", 2, "normal([1, 2], [[1, 0.5], [0.4, 1]])", "symmetric"),
        (
            "real",
            1,
            "normal(0, -1)",
            "the variance of normal = -1 is not allowed: it must be a positive number",
        ),
        ("real", 1, "normal(kde, 1)", "`kde` must be a number"),
        ("real", 1, "truncate(normal(0, 1), 3, 2)", "it must be above the lower end"),
        ("spins", 1, "categorical([0, 1], [0.5, 0.5])", "0 is not a value of `x0`"),
        ("circle", 1, "truncate(von-mises(0, 1), -1, 1)", "a noise on the circle cannot be truncated"),
        ("[0, 1]", 2, "truncate(kde, 0, 1)", "it is fitted to data, and there are none"),
    ];
    for (domain, dimension, words, expected) in advice {
        let found = build_refusal(domain, dimension, words);
        assert!(found.contains(expected), "{words} on {domain}: {found}");
    }
}

#[test]
fn designed_noises_are_asked_for() {
    let space = space("real", 1);
    let designer = |call: &Call| -> Option<Result<Arc<dyn Noise>>> {
        match (call.name.as_str(), &call.arguments[..]) {
            ("model", [Argument::Named(name, value)]) if name == "a" => {
                let Argument::Number(mean) = **value else { return None };
                Some(Normal::with_variance(mean, 1.0).map(|noise| Arc::new(noise) as Arc<dyn Noise>))
            }
            _ => None,
        }
    };
    let context = NoiseContext { designed: Some(&designer), ..NoiseContext::new(&space) };
    let mixture = parse("0.5*model(a=3) + 0.5*student(5, 0, 1)").build(&context).unwrap();
    assert_eq!(mixture.describe(), "0.5*normal(3, 1) + 0.5*student(5, 0, 1)");
    assert!(parse("data").build(&context).is_err());
    assert!(parse("model(a=3)").build(&context).is_ok());
}

/// A noise of the user's own, in two variables.
struct Diagonal;

impl Noise for Diagonal {
    fn dimension(&self) -> usize {
        2
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        for (o, (x, y)) in out.iter_mut().zip(points.column(0).iter().zip(points.column(1))) {
            *o = if (0.0..=1.0).contains(x) && (0.0..=1.0).contains(y) { 0.0 } else { f64::NEG_INFINITY };
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        Uniform::new(0.0, 1.0).unwrap().draw(stream, 2 * rows, out);
    }

    fn describe(&self) -> String {
        "file(\"diagonal\")".into()
    }
}

#[test]
fn a_noise_of_ones_own_joins_mixtures_and_is_checked_for_its_dimension() {
    let designer = |_: &Call| -> Option<Result<Arc<dyn Noise>>> { Some(Ok(Arc::new(Diagonal))) };
    let build = |dimension: usize| {
        let space = space("real", dimension);
        let context = NoiseContext { designed: Some(&designer), ..NoiseContext::new(&space) };
        parse("0.5*file(\"diagonal\") + 0.5*normal(0, 1)").build(&context)
    };
    let mut out = [0.0];
    build(2).unwrap().log_density(View::new(2, 1, &[0.0, 0.0]), &mut out);
    assert!((out[0] - (0.5 + 0.25 / std::f64::consts::PI).ln()).abs() < 1e-15);
    assert_eq!(build(1).unwrap_err().to_string(), "expected 1 variables of the noise, found 2");
}

/// Random words: any tree that can be written.
fn any_words() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(|x| format!("{x:?}")),
        Just("?".to_owned()),
        Just("-inf".to_owned()),
        (-100..100i32).prop_map(|x| x.to_string()),
    ];
    let name = prop::sample::select(vec![
        "normal",
        "von-mises",
        "all-noise",
        "product",
        "truncate",
        "model",
        "file",
    ]);
    let text =
        "[a-z \"\\\\é]{0,6}".prop_map(|t| format!("\"{}\"", t.replace('\\', "\\\\").replace('"', "\\\"")));
    let list =
        prop::collection::vec(number.clone(), 0..4).prop_map(|entries| format!("[{}]", entries.join(",")));
    let named = ("[a-z_][a-z0-9_]{0,4}", number.clone()).prop_map(|(n, v)| format!("\"{n}\" = {v}"));
    let leaf = prop_oneof![number, text, list, named];
    let call = |argument: BoxedStrategy<String>, name: BoxedStrategy<&'static str>| {
        (name, prop::collection::vec(argument, 0..4)).prop_map(|(n, a)| format!("{n}({})", a.join(" , ")))
    };
    let name = name.boxed();
    let first = call(leaf.boxed(), name.clone());
    first.prop_recursive(3, 20, 3, move |inner| {
        let mixture = (inner.clone(), inner.clone(), 0.01..0.99f64).prop_map(|(a, b, w)| {
            if a.contains('*') || b.contains('*') { a } else { format!("{w}*{a}+{}*{b}", 1.0 - w) }
        });
        prop_oneof![call(inner.boxed(), name.clone()), mixture]
    })
}

proptest! {
    #[test]
    fn words_survive_printing(text in any_words()) {
        let words = NoiseWords::parse(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        let printed = words.to_string();
        prop_assert_eq!(&NoiseWords::parse(&printed).unwrap(), &words, "{}", printed);
        let filled = words.substitute(&vec![0.5; words.free_count()]);
        prop_assert_eq!(filled.free_count(), 0);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = NoiseWords::parse(&text);
    }

    #[test]
    fn any_sequence_of_parts_is_read_or_refused(parts in prop::collection::vec(prop::sample::select(vec![
        "normal", "(", ")", "[", "]", ",", "+", "*", "=", "?", "1", "-", "1e", "e5", ".", "\"", "\\", "kde", " ", "inf", "é",
        "truncate", "product", "0.5", "student", "-inf", "uniform", "bernoulli",
    ]), 0..30)) {
        if let Ok(words) = NoiseWords::parse(&parts.concat()) {
            // Building refuses or succeeds; it never panics.
            for (domain, dimension) in [("real", 1), ("[0, 1]", 2), ("spins", 1), ("circle", 1), ("sphere", 3)] {
                let _ = words.build(&NoiseContext::new(&space(domain, dimension)));
            }
            prop_assert_eq!(&NoiseWords::parse(&words.to_string()).unwrap(), &words);
        }
    }
}

#[test]
fn every_noise_that_is_fitted_counts_rows_by_their_weights() {
    // A row that counts twice is two rows, and one that counts for nothing is none, wherever it is. Sums differ by the order
    // of their terms: a few dozen roundings, and 1e-9 for families whose parameters are iterated to a tolerance.
    let weights: Vec<f64> = (0..24).map(|i| f64::from(i % 4)).collect();
    let repeat = |column: &[f64]| -> Vec<f64> {
        column.iter().zip(&weights).flat_map(|(x, w)| std::iter::repeat_n(*x, *w as usize)).collect()
    };
    let wave = |i: usize, j: usize| (1.3 * i as f64 + 2.1 * j as f64).sin() + 0.1 * i as f64;
    let one = ["normal", "student", "student(4)", "laplace", "logistic", "product"];
    type Case<'a> = (&'a str, usize, &'a [&'a str], fn(f64) -> f64);
    let cases: [Case<'_>; 10] = [
        ("real", 1, &one, |x| x),
        ("positive", 1, &["gamma", "lognormal", "product"], |x| (0.5 * x).exp()),
        ("[0, 1]", 1, &["beta", "product"], |x| 0.5 + 0.1 * x.sin()),
        ("circle", 1, &["von-mises", "product"], |x| 0.5 * x.sin()),
        ("counts", 1, &["poisson", "negative-binomial", "product"], |x| (x * x).floor()),
        ("spins", 1, &["bernoulli", "categorical", "product"], |x| if x > 1.0 { 1.0 } else { -1.0 }),
        ("real", 2, &["normal", "student", "product"], |x| x),
        ("real", 1, &["0.5*normal + 0.5*student", "0.9*laplace + 0.1*normal(0, 9)"], |x| x),
        ("positive", 2, &["product", "product(gamma, lognormal)"], |x| (0.5 * x).exp()),
        ("spins", 3, &["product"], |x| if x > 1.0 { 1.0 } else { -1.0 }),
    ];
    for (domain, dimension, all, value) in cases {
        let space = space(domain, dimension);
        let column = |j: usize| (0..24).map(|i| value(wave(i, j))).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = (0..dimension).map(column).collect();
        let once = columns.concat();
        let several: Vec<f64> = columns.iter().flat_map(|column| repeat(column)).collect();
        let rows = several.len() / dimension;
        for words in all {
            let build = |data: View<'_>, weights: Option<&[f64]>| {
                parse(words).build(&NoiseContext::new(&space).with_data(data).with_weights(weights)).unwrap()
            };
            let weighted = build(View::new(dimension, 24, &once), Some(&weights));
            let repeated = build(View::new(dimension, rows, &several), None);
            let plain = build(View::new(dimension, 24, &once), None);
            let at = |noise: &Arc<dyn Noise>| {
                let mut out = vec![0.0; 24];
                noise.log_density(View::new(dimension, 24, &once), &mut out);
                out
            };
            let (a, b, c) = (at(&weighted), at(&repeated), at(&plain));
            let near = |a: &f64, b: &f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
            assert!(a.iter().zip(&b).all(|(a, b)| near(a, b)), "{domain} {dimension} {words}: {a:?} {b:?}");
            assert!(!a.iter().zip(&c).all(|(a, c)| near(a, c)), "{domain} {dimension} {words}: no weights");
        }
    }
}

#[test]
fn kernels_count_rows_by_their_weights_and_are_as_wide_as_the_rows_are_many() {
    let rows = [0.3, -1.0, 2.0, 0.9];
    let fit = |values: &[f64], weights: Option<&[f64]>, bandwidth: Bandwidth| {
        let kernels = KernelDensity::fit(View::new(1, values.len(), values), weights, bandwidth).unwrap();
        let mut out = [0.0; 4];
        kernels.log_density(View::new(1, 4, &rows), &mut out);
        out
    };
    let same = |a: [f64; 4], b: [f64; 4]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    let repeated = [0.3, -1.0, -1.0, 0.9, 0.9, 0.9];
    let half = Bandwidth::Factor(0.5);
    assert!(same(fit(&rows, Some(&[1.0, 2.0, 0.0, 3.0]), half), fit(&repeated, None, half)));
    // Counts are no more places: the width of kernels goes by the effective number of rows.
    let counted = fit(&rows, Some(&[1e6; 4]), Bandwidth::Silverman);
    assert!(same(counted, fit(&rows, None, Bandwidth::Silverman)));
}
