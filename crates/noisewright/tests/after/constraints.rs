//! Parameters that are fixed, tied or bound by equations, against models that are written without them.

use super::*;

const LINES: &str = "variables = ['x']\nlog_density = 'a*x - b*x^2/2 - d*x^4'\n";

fn model(parameters: &str) -> Model {
    Model::from_toml(&format!("{LINES}{parameters}")).unwrap()
}

fn refused(text: &str) -> String {
    Model::from_toml(&format!("{LINES}{text}")).unwrap_err().to_string()
}

fn data() -> Points {
    rows(0.3, 0.7, 400, 1)
}

#[test]
fn a_fixed_parameter_is_a_number_in_the_formula() {
    let held = model("[parameters]\na = 0.5\nb = { fixed = 2.0 }\nd = { start = 0.1, lower = 0 }");
    let written = Model::from_toml(
        "variables = ['x']\nlog_density = 'a*x - 2*x^2/2 - d*x^4'\n[parameters]\na = 0.5\nd = { start = 0.1, lower = 0 }",
    )
    .unwrap();
    assert_eq!(held.coordinates(), written.coordinates());
    for noise in [None, Some(Normal::with_variance(0.0, 1.0).unwrap())] {
        let fitted = |model: &Model| {
            let data = data();
            let builder = model.fit(&data).seed(3);
            match &noise {
                None => builder.exact().run().unwrap(),
                Some(noise) => builder.noise(noise.clone()).ratio(4.0).run().unwrap(),
            }
        };
        let (one, other) = (fitted(&held), fitted(&written));
        for name in ["a", "d", "log_normalizer"] {
            let (one, other) = (one.get(name).unwrap(), other.get(name).unwrap());
            assert!(
                (one.estimate - other.estimate).abs() < 1e-8 && (one.se - other.se).abs() < 1e-8,
                "{name}"
            );
        }
        let b = one.get("b").unwrap();
        assert_eq!((b.estimate, b.se, b.lower, b.upper, b.fixed), (2.0, 0.0, 2.0, 2.0, true));
        assert_eq!(one.covariance.shape(), (4, 4));
        // Functions and densities go on with all parameters.
        assert!((one.derive("b*a").unwrap().se - 2.0 * one.get("a").unwrap().se).abs() < 1e-12);
        let at = |fit: &Fit, model: &Model| fit.log_density(model, &[0.4][..]).unwrap()[0];
        assert!((at(&one, &held).value - at(&other, &written).value).abs() < 1e-8);
        assert!((at(&one, &held).se - at(&other, &written).se).abs() < 1e-8);
        assert_eq!(one.record(None).unwrap().free_parameters, 2);
    }
}

#[test]
fn tied_parameters_are_one() {
    let tied = model("[parameters]\na = 0.5\nb = { start = 1, lower = 0 }\nd = { same_as = 'b' }");
    let written = Model::from_toml(
        "variables = ['x']\nlog_density = 'a*x - b*x^2/2 - b*x^4'\n[parameters]\na = 0.5\nb = { start = 1, lower = 0 }",
    )
    .unwrap();
    let (one, other) = (exact(&tied, &data()), exact(&written, &data()));
    for name in ["b", "d"] {
        let (tied, written) = (one.get(name).unwrap(), other.get("b").unwrap());
        assert!((tied.estimate - written.estimate).abs() < 1e-8 && (tied.se - written.se).abs() < 1e-8);
        assert!(!tied.fixed);
    }
    assert!((one.covariance[(1, 2)] - one.covariance[(1, 1)]).abs() < 1e-14);
    assert!((one.record(None).unwrap().log_likelihood().unwrap().estimate + 400.0 * other.loss).abs() < 1e-6);
}

#[test]
fn equations_are_eliminated() {
    let bound = Model::from_toml(
        "variables = ['x']\nlog_density = 'a*x - b*x^2/2 - d*x^4'\nconstraints = ['2*a + b = 3', 'd = a - 0.25']\n\
         [parameters]\na = 0.5\nb = 1\nd = 0.1",
    )
    .unwrap();
    assert_eq!(bound.parameters().len(), 1);
    let fit = exact(&bound, &data());
    let at = |name: &str| fit.get(name).unwrap().estimate;
    assert!((2.0 * at("a") + at("b") - 3.0).abs() < 1e-12 && (at("d") - at("a") + 0.25).abs() < 1e-12);
    assert!((fit.get("b").unwrap().se / fit.get("a").unwrap().se - 2.0).abs() < 1e-9);
    // The same by hand: a x − (3 − 2a) x²/2 − (a − ¼) x⁴.
    let written = Model::from_toml(
        "variables = ['x']\nlog_density = 'a*x - (3 - 2*a)*x^2/2 - (a - 0.25)*x^4'\n[parameters]\na = 0.5",
    )
    .unwrap();
    let by_hand = exact(&written, &data());
    assert!((by_hand.get("a").unwrap().estimate - at("a")).abs() < 1e-8);
}

#[test]
fn features_are_bound_by_their_names_between_backquotes() {
    let free = Model::from_features(&["x", "x^2", "x^4"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let bound = free.clone().with_constraints(&["`x^2` = 2*`x^4`"]).unwrap();
    let fit = exact(&bound, &data());
    let at = |name: &str| fit.get(name).unwrap().estimate;
    assert!((at("x^2") - 2.0 * at("x^4")).abs() < 1e-12);
    let by_hand = Model::from_features(&["x", "2*x^2 + x^4"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    assert!((exact(&by_hand, &data()).get("x").unwrap().estimate - at("x")).abs() < 1e-8);
    // Without backquotes x^2 would be the square of the parameter x.
    let refused = free.with_constraints(&["x^2 = 2"]).unwrap_err().to_string();
    assert!(refused.contains("`constraints`") && refused.contains("between backquotes"), "{refused}");
}

#[test]
fn designs_are_of_the_free_parameters() {
    let held = model("[parameters]\na = 0.5\nb = { fixed = 2.0 }\nd = { start = 0.1, lower = 0 }");
    let written = Model::from_toml(
        "variables = ['x']\nlog_density = 'a*x - 2*x^2/2 - d*x^4'\n[parameters]\na = 0.5\nd = { start = 0.1, lower = 0 }",
    )
    .unwrap();
    let error = |model: &Model| {
        model.error(&[0.5, 0.1], Normal::with_std(0.0, 1.0).unwrap()).ratio(1.0).run().unwrap().error
    };
    assert!((error(&held) / error(&written) - 1.0).abs() < 1e-9);
}

#[test]
fn a_likelihood_ratio_tests_what_is_fixed() {
    let (free, held) = (
        "a = 0.5\nb = 1\nd = { start = 0.1, lower = 0 }",
        "a = 0.5\nb = { fixed = 1 }\nd = { start = 0.1, lower = 0 }",
    );
    let record = |parameters: &str| {
        let text = format!("{LINES}[parameters]\n{parameters}");
        exact(&Model::from_toml(&text).unwrap(), &data()).record(Some(&text)).unwrap()
    };
    let (small, large) = (record(held), record(free));
    let models = [small.model().unwrap(), large.model().unwrap()];
    let fits = [("held".to_owned(), &small), ("free".to_owned(), &large)];
    let found = noisewright::after::compare(&fits, &[Some(&models[0]), Some(&models[1])], false).unwrap();
    assert_eq!(found.tests.len(), 1);
    assert!(found.tests[0].statistic >= 0.0 && found.tests[0].degrees == 1);
}

#[test]
fn contradictions_and_mistakes_are_refused() {
    let three = "a = 0.5\nb = 1\nd = 0.1";
    assert!(
        refused(&format!("constraints = ['a + b = 1', 'a + b = 2']\n[parameters]\n{three}"))
            .contains("contradict")
    );
    assert!(refused(&format!("constraints = ['a*b = 1']\n[parameters]\n{three}")).contains("not linear"));
    assert!(refused(&format!("constraints = ['a + b']\n[parameters]\n{three}")).contains("no equation"));
    assert!(
        refused("constraints = ['a = 3']\n[parameters]\na = { fixed = 2 }\nb = 1\nd = 0.1")
            .contains("contradict")
    );
    assert!(refused("[parameters]\na = { fixed = 2, start = 1 }\nb = 1\nd = 0.1").contains("fixed"));
    assert!(refused("[parameters]\na = { fixed = 2, upper = 1 }\nb = 1\nd = 0.1").contains("at most 1"));
    assert!(refused("[parameters]\na = { same_as = 'q' }\nb = 1\nd = 0.1").contains("`q`"));
    assert!(refused("[parameters]\na = { same_as = 'a' }\nb = 1\nd = 0.1").contains("itself"));
    let bounded =
        "constraints = ['a + b + d = 1']\n[parameters]\na = 0.5\nb = 1\nd = { start = 0.1, lower = 0 }";
    assert!(refused(bounded).contains("bounds"));
}
