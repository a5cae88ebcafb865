//! Programs as people write them, against closed forms.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use noisewright::fit::FitOptions;
use noisewright::normalizer::states::{
    Coordinate, Observable, Origin, Pooled, StatesOptions, SurfaceOptions, reweight,
};
use noisewright::normalizer::{Dependence, LogZOptions};
use noisewright::parts::Bins;
use noisewright::prelude::*;

/// Draws of exp(2x² − x⁴/2) by rejection from a uniform, as rows.
fn quartic_rows(count: usize) -> Vec<[f64; 1]> {
    let uniform = sample(&Uniform::new(-4.0, 4.0).unwrap(), 40 * count, 5);
    let height = sample(&Uniform::new(0.0, 1.0).unwrap(), 40 * count, 6);
    let density = |x: f64| 2.0 * x * x - 0.5 * x.powi(4) - 2.0;
    let pairs = uniform.values().iter().zip(height.values());
    let rows: Vec<[f64; 1]> =
        pairs.filter(|(x, u)| u.ln() < density(**x)).map(|(x, _)| [*x]).take(count).collect();
    assert_eq!(rows.len(), count);
    rows
}

fn quartic() -> Model {
    let space = Space::real(&["x"]).unwrap();
    Model::from_fn(&["a", "b"], space, |t: &[f64], x: &[f64]| t[0] * x[0].powi(2) - t[1] * x[0].powi(4))
        .unwrap()
}

/// log ∫ exp(2x² − x⁴/2) dx by Simpson's rule.
fn quartic_log_z() -> f64 {
    let (n, h) = (4000, 16.0 / 4000.0);
    let f = |i: usize| {
        let x = -8.0 + h * i as f64;
        (2.0 * x * x - 0.5 * x.powi(4)).exp()
    };
    let weight = |i: usize| {
        if i == 0 || i == n {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    ((0..=n).map(|i| weight(i) * f(i)).sum::<f64>() * h / 3.0).ln()
}

#[test]
fn a_closure_is_fitted_by_name_and_seed() {
    let data = Points::from_rows(&["x"], &quartic_rows(4000)).unwrap();
    let model = quartic();
    let fit = model.fit(&data).start(&[0.0, 1.0]).ratio(5.0).seed(1).threads(2).run().unwrap();
    let (a, b, z) = (fit.get("a").unwrap(), fit.get("b").unwrap(), fit.log_normalizer());
    assert!((a.estimate - 2.0).abs() < 4.0 * a.se && (b.estimate - 0.5).abs() < 4.0 * b.se, "{a:?} {b:?}");
    assert!((z.estimate - quartic_log_z()).abs() < 4.0 * z.se, "{z:?}");
    assert!(a.lower < a.estimate && a.estimate < a.upper && a.se < 0.2);
    let again = model.fit(&data).start(&[0.0, 1.0]).ratio(5.0).seed(1).threads(1).run().unwrap();
    assert_eq!(again.theta(), fit.theta());
    // The same model as a formula, whose score is exact.
    let parameters = vec![Parameter::new("a", 0.0), Parameter::new("b", 1.0)];
    let formula =
        Model::from_formula("a*x^2 - b*x^4", Space::real(&["x"]).unwrap(), parameters, false).unwrap();
    let same = formula.fit(&data).ratio(5.0).seed(1).run().unwrap();
    for (closure, formula) in fit.estimates().iter().zip(same.estimates()) {
        assert!((closure.estimate - formula.estimate).abs() < 1e-5 * formula.se, "{closure:?} {formula:?}");
        assert!((closure.se / formula.se - 1.0).abs() < 1e-6);
    }
    assert!(fit.get("c").unwrap_err().to_string().contains("`c` is not a parameter"));
}

#[test]
fn the_fit_of_a_closure_starts_anywhere() {
    // Zero for both is no density at all.
    let data = Points::from_rows(&["x"], &quartic_rows(2000)).unwrap();
    let fit = quartic().fit(&data).run().unwrap();
    assert!((fit.get("a").unwrap().estimate - 2.0).abs() < 4.0 * fit.get("a").unwrap().se);
}

#[test]
fn a_score_of_ones_own_is_compared() {
    let data = Points::from_rows(&["x"], &quartic_rows(500)).unwrap();
    let right = quartic().with_score(|_, x, s| (s[0], s[1]) = (x[0].powi(2), -x[0].powi(4)));
    right.check_score(&[2.0, 0.5], &data).unwrap();
    let wrong = quartic().with_score(|_, x, s| (s[0], s[1]) = (x[0].powi(2), x[0].powi(4)));
    let error = wrong.check_score(&[2.0, 0.5], &data).unwrap_err();
    assert!(matches!(&error, Error::Score { parameter, .. } if parameter == "b"), "{error}");
    assert_eq!(
        wrong.fit(&data).start(&[0.0, 1.0]).run().unwrap_err().to_string().get(..16),
        Some("the score of `b`")
    );
    let unwritten = quartic().with_score(|_, x, s| s[0] = x[0].powi(2));
    assert!(unwritten.check_score(&[2.0, 0.5], &data).unwrap_err().to_string().contains("`b`"));
}

#[test]
fn constants_by_every_door() {
    let truth = 0.5 * (2.0 * std::f64::consts::TAU).ln();
    let f = density(Space::real(&["x"]).unwrap(), |x: &[f64]| -0.25 * (x[0] - 1.0).powi(2));
    let draws = sample(&Normal::with_variance(1.0, 2.0).unwrap(), 2000, 1);
    let z = log_z(&f, &draws).against(Normal::with_variance(0.0, 3.0).unwrap(), 2000).seed(1).run().unwrap();
    assert!((z.best().log_z - truth).abs() < 4.0 * z.best().se && z.best().se < 0.05, "{:?}", z.best());
    let e = evidence(&f, &draws).seed(1).run().unwrap();
    assert!((e.log_evidence - truth).abs() < 4.0 * e.se && e.se < 0.05);
    let p = path(Normal::with_std(0.0, 1.0).unwrap(), &f).draws(400).seed(1).threads(2).run().unwrap();
    assert!((p.log_z - truth).abs() < 4.0 * p.se && p.se < 0.2);
    let c = chains(&f).draws(500).run().unwrap();
    let e = evidence(&f, &c.points).chains(&c.lengths).run().unwrap();
    assert!((e.log_evidence - truth).abs() < 4.0 * e.se);
    assert!(log_z(&f, &draws).run().unwrap_err().to_string().contains("against"));
}

#[test]
fn states_of_closures_of_three_types() {
    let space = || Space::real(&["x"]).unwrap();
    let f1 = density(space(), |x: &[f64]| -0.5 * x[0] * x[0]);
    let f2 = density(space(), |x: &[f64]| -0.25 * x[0] * x[0]);
    let f3 = density(space(), |x: &[f64]| -0.125 * x[0] * x[0]);
    let [d1, d2, d3] =
        [1.0, 2.0, 4.0].map(|v| sample(&Normal::with_variance(0.0, v).unwrap(), 1000, v as u64));
    let mbar = states(&[f1, f2, f3]).draws([&d1, &d2, &d3]).run().unwrap();
    for (k, v) in [1.0, 2.0, 4.0f64].into_iter().enumerate() {
        assert!((mbar.log_z()[k] - 0.5 * v.ln()).abs() <= 4.0 * mbar.se()[k], "{k}");
    }
}

#[test]
fn a_design_is_made_and_fitted_with() {
    let (model, theta) = (quartic(), [2.0, 0.5]);
    let best = model.design(&theta).ratio(1.0).run().unwrap();
    let cost = model.error(&theta, Normal::with_std(0.0, 1.5).unwrap()).ratio(1.0).run().unwrap();
    assert!(best.error < cost.error && best.error < best.noise_equals_data, "{} {}", best.error, cost.error);
    let optimal = model.error(&theta, best.noise.clone()).ratio(1.0).run().unwrap();
    assert!((optimal.error / best.error - 1.0).abs() < 1e-6);
    let data = Points::from_rows(&["x"], &quartic_rows(2000)).unwrap();
    let fit = model.fit(&data).noise(best.noise).run().unwrap();
    assert!((fit.get("b").unwrap().estimate - 0.5).abs() < 4.0 * fit.get("b").unwrap().se);
    model.check_score(&theta, &data).unwrap();
}

/// What a builder is told and cannot heed is refused, as in the other doors (tests/doors/options.json).
#[test]
fn settings_without_effect_are_refused() {
    let model = quartic();
    let rows = Points::from_rows(&["x"], &quartic_rows(200)).unwrap();
    let sentence = |result: Result<Fit>| result.unwrap_err().to_string();
    let parameter = || Target::Coordinates(vec!["a".into()]);
    let target = sentence(model.fit(&rows).target(parameter()).run());
    assert!(target.contains("`target` has no meaning without a noise that is designed"), "{target}");
    let normal = Normal::with_std(0.0, 2.0).unwrap();
    assert!(model.fit(&rows).noise(normal.clone()).target(parameter()).run().is_err());
    let nu = sentence(model.fit(&rows).exact().ratio(5.0).run());
    assert!(nu.contains("`nu` has no meaning with the noise exact"), "{nu}");

    let linear = Model::from_features(&["x"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let options = FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() };
    let ratio = noisewright::internal::fit::ratio(&linear, &rows, &rows, &options).unwrap_err().to_string();
    assert!(ratio.contains("`nu` has no meaning with noise that was drawn elsewhere"), "{ratio}");

    let basis = RatioBasis::Splines;
    let pairs = Points::from_columns(&["x", "y"], &[vec![0.0, 1.0, 0.5], vec![1.0, 0.2, 0.0]]).unwrap();
    let product = Model::from_features(&["x*y"], Space::real(&["x", "y"]).unwrap(), vec![]).unwrap();
    let found = information(&pairs, &["x"], &["y"]).model(&product).basis(basis).run().unwrap_err();
    let features = noisewright::ratio(&rows, &rows).model(&linear).basis(basis).run().unwrap_err();
    for refused in [found.to_string(), features.to_string()] {
        assert!(refused.contains("`basis` has no meaning beside a model"), "{refused}");
    }

    let f = density(Space::real(&["x"]).unwrap(), |x: &[f64]| -0.5 * x[0] * x[0]);
    let draws = sample(&normal, 100, 1);
    let chains = log_z(&f, &draws).against(normal.clone(), 100).independent().chains(&[50, 50]).run();
    assert!(chains.unwrap_err().to_string().contains("`chains` has no meaning with independent draws"));
    let options = LogZOptions { weight_by_ess: true, ..LogZOptions::default() };
    let by_ess = log_z(&f, &draws).against(normal, 100).options(options).independent().run();
    assert!(
        by_ess.unwrap_err().to_string().contains("`weight_by_ess` has no meaning with independent draws")
    );
}

/// Results print what the command prints: tables, and the sentences below them.
#[test]
fn results_print_their_tables() {
    let data = sample(&Normal::with_std(0.5, 1.0).unwrap(), 300, 1);
    let space = || Space::real(&["x"]).unwrap();
    let model = |features: &[&str]| Model::from_features(features, space(), vec![]).unwrap();
    let models = [model(&["x^2"]), model(&["x", "x^2"])];
    let fits = models.each_ref().map(|model| model.fit(&data).exact().run().unwrap());
    let records = fits.each_ref().map(|fit| fit.record(None).unwrap());
    let named = [("narrow".to_owned(), &records[0]), ("wide".to_owned(), &records[1])];
    let compared = noisewright::after::compare(&named, &models.each_ref().map(Some), true).unwrap();
    let shown = compared.to_string();
    assert!(shown.contains("2 models of the same 300 rows") && shown.contains("wide"), "{shown}");
    let x = fits[1].get("x").unwrap();
    let expected = format!("x = {:.4} ± {:.4} ({:.4} to {:.4})", x.estimate, x.se, x.lower, x.upper);
    assert_eq!(x.to_string(), expected);
    // What a program prints whose `main` returns the error.
    let error = format!("{:?}", fits[1].get("z").unwrap_err());
    assert!(error.starts_with("`z` is not a parameter") && error.ends_with("[unknown-parameter]"), "{error}");
    let test = fits[1].wald(&["`x` = 0"]).unwrap().to_string();
    assert!(test.starts_with("Wald test of `x` = 0: F = "), "{test}");

    // The tails of a normal noise are not those of a gamma density: two estimators are refused, and why is said.
    let positive = Space::product(&[("x", Domain::Positive)]).unwrap();
    let gamma = density(positive, |x: &[f64]| -x[0] + 0.2 * x[0].ln());
    let draws = sample(&Gamma::new(1.2, 1.0).unwrap(), 2000, 2);
    let result = evidence(&gamma, &draws).run().unwrap();
    let shown = result.to_string();
    for estimate in result.estimates.iter().filter(|e| e.method != result.recommended) {
        let said = shown.contains(&format!("{} is refused: ", estimate.method));
        assert_eq!(said, estimate.refused.is_some(), "{shown}");
    }
    assert!(shown.contains("Draws and noise overlap by "), "{shown}");

    let (wide, narrow) = ([-0.5, -0.125, 0.0], [0.0, -0.5, -2.0]);
    let (log_f, counts) = ([&wide[..], &narrow[..]], [2, 1]);
    let pooled = Pooled { log_f: &log_f, origin: Origin::Counts(&counts), chains: None };
    let options = StatesOptions { dependence: Dependence::Independent, ..StatesOptions::default() };
    let states = reweight(&pooled, &options).unwrap();
    let x = [1.0, 0.5, 0.0];
    let means = states.expectations(&[Observable::new("x", &x, 1)]).unwrap().to_string();
    assert!(
        means.contains("means under the states")
            && means.contains("Warning: a single draw")
            && means.contains("of state 1"),
        "{means}"
    );
}

/// The field of a JSON object as numbers.
fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn draws_are_shown_and_serialized() {
    let bell = density(Space::real(&["x"]).unwrap(), |x: &[f64]| -0.5 * (x[0] - 3.0).powi(2));
    let drawn = chains(&bell).chains(2).draws(500).seed(1).run().unwrap();
    let json = serde_json::to_value(&drawn).unwrap();
    let (x, convergence) = (numbers(&json["draws"]["x"]), &json["convergence"]["x"]);
    assert_eq!((x.len(), numbers(&json["log_density"]).len()), (1000, 1000));
    let mean = x.iter().sum::<f64>() / 1000.0;
    assert!((mean - 3.0).abs() < 5.0 / convergence["ess"].as_f64().unwrap().sqrt(), "{mean}");
    let peak = numbers(&json["log_density"]).into_iter().zip(&x).map(|(l, x)| l + 0.5 * (x - 3.0).powi(2));
    assert!(peak.into_iter().all(|zero| zero.abs() < 1e-12));
    assert_eq!((&json["lengths"], &json["moves"]), (&serde_json::json!([500, 500]), &"random-walk".into()));
    let shown = drawn.to_string();
    assert!(shown.contains("1000 draws of 2 chains") && shown.contains("log-density"), "{shown}");
    let row = shown.lines().find(|line| line.split_whitespace().any(|word| word == "x")).unwrap();
    let first: f64 = row.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    assert!((first - mean).abs() < 1e-4 && shown.contains("moves: random-walk"), "{shown}");

    let model =
        Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 3").unwrap();
    let simulated =
        noisewright::after::simulate(&model, &[3.0], 400, &noisewright::run::Context::seeded(1)).unwrap();
    let json = serde_json::to_value(&simulated).unwrap();
    assert_eq!((&json["rows"], &json["how"]), (&400.into(), &"exact".into()));
    assert_eq!(numbers(&json["draws"]["x"]), simulated.points.values());
    assert!(simulated.to_string().contains("400 independent draws"), "{simulated}");
    assert_eq!(simulated.how.to_string(), "exact");
}

/// Draws of N(0, 1) between its quartiles and beyond: half of a normal density lies within ±0.674 of its middle, a half beyond, so
/// that the free energies of the middle and of both sides together, over their widths, are known.
#[test]
fn surfaces_means_and_energies_are_serialized() {
    let draws = sample(&Normal::with_std(0.0, 1.0).unwrap(), 4000, 1);
    let x = draws.view().column(0);
    let log_f: Vec<f64> = x.iter().map(|x| -0.5 * x * x).collect();
    let pooled = Pooled { log_f: &[&log_f, &log_f], origin: Origin::Counts(&[2000, 2000]), chains: None };
    let options = StatesOptions { dependence: Dependence::Independent, ..StatesOptions::default() };
    let known = reweight(&pooled, &options).unwrap();
    let quartile = 0.674_489_750_196_081_7;
    let bins = vec![Bins::Edges(vec![-8.0, -quartile, quartile, 8.0])];
    let options = SurfaceOptions { bins, ..SurfaceOptions::default() };
    let surface = known.surface(&[Coordinate::new("x", x)], 1, &options).unwrap();
    let json = serde_json::to_value(&surface).unwrap();
    assert_eq!((&json["state"], &json["smoothing"]), (&"1".into(), &"histogram".into()));
    assert_eq!(json["edges"][0].as_array().unwrap().len(), 4);
    let (free, se) = (numbers(&json["free_energy"]), numbers(&json["se"]));
    // Densities ½/(2q) and ¼/(8 − q).
    let truth = (0.5 / (2.0 * quartile)).ln() - (0.25 / (8.0 - quartile)).ln();
    for side in [0, 2] {
        assert!((free[side] - free[1] - truth).abs() < 5.0 * se[side], "{free:?} ± {se:?}, {truth}");
    }
    let means = known.expectations(&[Observable::new("x", x, 1)]).unwrap();
    let json = serde_json::to_value(&means).unwrap();
    assert_eq!((&json["observables"][0], &json["states"][0]), (&"x".into(), &"1".into()));
    assert_eq!(numbers(&json["values"]), means.values());
    // ⟨x²/2⟩ is ½ in both states: no difference of energies or entropies.
    let energies = known.energies().unwrap().to_string();
    assert!(energies.contains("relative to the reference") && energies.contains("entropy"), "{energies}");
}

#[test]
fn mixtures_and_families_are_shown_and_serialized() {
    use noisewright::design::{DesignOptions, best_member, design_dictionary};
    use noisewright::parts::NoiseContext;
    let model =
        Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0").unwrap();
    let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
    let member =
        |m: f64| -> std::sync::Arc<dyn Noise> { std::sync::Arc::new(Normal::with_std(m, 1.0).unwrap()) };
    let best = design_dictionary(&model, &[0.0], &[member(-1.0), member(1.0)], &options).unwrap();
    let json = serde_json::to_value(&best).unwrap();
    // Mirror images weigh the same, by convexity; the error of half and half by a sum over 40,001 points in double precision.
    let weights = numbers(&json["weights"]);
    let error = json["error"].as_f64().unwrap();
    assert!((weights[0] - 0.5).abs() < 1e-3 && (error / 3.573_083_5 - 1.0).abs() < 1e-6, "{json}");
    assert_eq!(json["components"], serde_json::json!(["normal(-1, 1)", "normal(1, 1)"]));
    assert!(
        best.to_string().contains("normal(-1, 1)") && best.to_string().contains("above the exact optimum")
    );
    let normalized = Model::from_toml(
        "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\n[parameters]\nm = 0",
    )
    .unwrap();
    let words = noisewright::NoiseWords::parse("normal(?, 1)").unwrap();
    let build = |words: &noisewright::NoiseWords| words.build(&NoiseContext::new(normalized.space()));
    let found = best_member(&words, &build, &normalized, &[0.0], &options).unwrap();
    let json = serde_json::to_value(&found).unwrap();
    // MATH §6: the best normal noise for a mean is 1.42701 to either side of it.
    let value = json["minima"][0]["values"][0].as_f64().unwrap();
    assert!((value.abs() - 1.42701).abs() < 1e-5 && json["minima"].as_array().unwrap().len() == 2, "{json}");
    assert!(found.to_string().contains("3.69862"), "{found}");
}

#[test]
fn kinds_of_errors_are_told_apart_with_the_prelude_alone() {
    let model =
        Model::from_fn(&["m"], Space::real(&["x"]).unwrap(), |t: &[f64], x: &[f64]| t[0] * x[0]).unwrap();
    let rows = [0.5, 1.0, -0.5];
    let token = CancelToken::new();
    token.cancel();
    let kind = |outcome: Result<Fit>| outcome.unwrap_err().kind();
    assert_eq!(kind(model.fit(&rows[..]).ratio(-1.0).run()), ErrorKind::Input);
    assert_eq!(kind(model.fit(&rows[..]).cancel(&token).run()), ErrorKind::Cancelled);
    let missing = std::fs::read("a file that is not there").map_err(Error::external).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::External);
    assert!(std::error::Error::source(&missing).is_some_and(|source| source.is::<std::io::Error>()));
    assert_eq!(Error::NoMass.kind(), ErrorKind::NoAnswer);
}

/// Views of the same values in one slice and apart give the same fit, to the bit.
#[test]
fn columns_that_are_apart_are_fitted_where_they_are() {
    let [x, y] =
        [(1.0, 1), (-2.0, 2)].map(|(mean, seed)| sample(&Normal::with_std(mean, 1.0).unwrap(), 500, seed));
    let together = [x.values(), y.values()].concat();
    let apart = [x.values(), y.values()];
    let model =
        Model::from_features(&["x", "y", "x^2", "y^2"], Space::real(&["x", "y"]).unwrap(), vec![]).unwrap();
    let fit = |view: View<'_>| model.fit(view).ratio(3.0).seed(1).run().unwrap().unknowns();
    assert_eq!(fit(View::of_columns(&apart).unwrap()), fit(View::new(2, 500, &together)));
}

#[test]
fn json_of_very_many_parameters_has_no_matrices_unless_they_are_asked_for() {
    // Fifteen spins with all couplings, 120 parameters, none of which the lasso selects.
    let names: Vec<String> = (0..15).map(|j| format!("s{j}")).collect();
    let model = Model::from_family("ising", &names, &Default::default(), false).unwrap();
    let uniform = sample(&Uniform::new(-1.0, 1.0).unwrap(), 15 * 300, 1);
    let spins = uniform.values().iter().map(|u| u.signum()).collect();
    let data = Points::from_values(&names, 300, spins).unwrap();
    let noise = Product::of_shared((0..15).map(|_| spin()).collect()).unwrap();
    let penalty: Penalty = "lasso:10".parse().unwrap();
    let fitted = model.fit(&data).noise(noise).ratio(1.0).penalty(penalty).run().unwrap();
    let (short, whole) =
        (noisewright::to_json(&fitted).unwrap(), noisewright::parts::to_json_with_matrices(&fitted).unwrap());
    for name in ["covariance", "covariance_data", "covariance_noise"] {
        assert!(short.contains(&format!("\"{name}\": null")) && whole.contains(&format!("\"{name}\": [")));
    }
    // Three matrices of 121 rows.
    assert!(whole.len() - short.len() > 3 * 121 * 121 * 4, "{} {}", whole.len(), short.len());
    // Of few unknowns both are whole.
    let few = Model::from_features(&["s0", "s1"], model.space().clone(), vec![]).unwrap();
    let fitted = few.fit(&data).ratio(1.0).run().unwrap();
    let short = noisewright::to_json(&fitted).unwrap();
    assert!(
        short.contains("\"covariance\": [")
            && short == noisewright::parts::to_json_with_matrices(&fitted).unwrap()
    );
}

fn spin() -> std::sync::Arc<dyn Noise> {
    std::sync::Arc::new(noisewright::Categorical::new(&[-1.0, 1.0], &[0.5, 0.5]).unwrap())
}
