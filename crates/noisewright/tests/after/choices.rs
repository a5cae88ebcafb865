//! The conditional logit against statsmodels, and choices that cannot be fitted.

use super::*;
use noisewright::fit::{ChoiceSets, FitOptions, fit_choices};

/// Which alternative of each of 20 strata was chosen.
const CHOSEN: [usize; 20] = [0, 0, 2, 1, 0, 2, 1, 0, 0, 2, 2, 1, 0, 1, 0, 0, 0, 2, 1, 1];

fn points() -> Points {
    let fraction = |i: usize, step: f64| (i as f64 * step).fract();
    let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
    let x: Vec<f64> = (0..60).map(|i| rounded(fraction(i, 0.618_034) * 4.0 - 2.0)).collect();
    let z: Vec<f64> = (0..60).map(|i| rounded(fraction(i, 0.414_214) * 2.0)).collect();
    Points::from_columns(&["x", "z"], &[x, z]).unwrap()
}

fn model() -> Model {
    Model::from_toml("variables = ['x', 'z']\nlog_density = 'a*x + b*z'\n[parameters]\na = 0\nb = 0").unwrap()
}

fn strata() -> Vec<u64> {
    (0..60).map(|i| i / 3).collect()
}

fn chosen() -> Vec<bool> {
    (0..60).map(|i| CHOSEN[i / 3] == i % 3).collect()
}

fn options() -> FitOptions {
    FitOptions { errors: CovarianceKind::ModelBased, ..FitOptions::default() }
}

fn check(fit: &Fit, estimates: [f64; 2], errors: [f64; 2], log_likelihood: f64) {
    for (j, parameter) in fit.parameters.iter().enumerate() {
        assert!((parameter.estimate - estimates[j]).abs() < 1e-6, "{}", parameter.estimate);
        assert!((parameter.se - errors[j]).abs() < 1e-6, "{}", parameter.se);
    }
    assert!(fit.log_normalizer.is_none() && fit.converged);
    assert!((fit.record(None).unwrap().log_likelihood().unwrap().estimate - log_likelihood).abs() < 1e-8);
}

/// `statsmodels.discrete.conditional_models.ConditionalLogit` 0.14 on the same rows.
#[test]
fn estimates_and_errors_are_those_of_statsmodels() {
    let (strata, chosen) = (strata(), chosen());
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let fit = fit_choices(&model(), &points(), sets, &options()).unwrap();
    check(
        &fit,
        [0.633_117_050_527, -0.243_793_582_479],
        [0.250_445_559_886, 0.493_193_836_888],
        -18.164_499_774_195,
    );
    let offset: Vec<f64> = (0..60).map(|i| ((i as f64 * 0.3247).fract() * 1000.0).round() / 1000.0).collect();
    let sets = ChoiceSets { log_probability: Some(&offset), ..sets };
    let fit = fit_choices(&model(), &points(), sets, &options()).unwrap();
    check(
        &fit,
        [0.682_533_949_963, -0.223_241_110_595],
        [0.249_469_568_391, 0.487_825_894_829],
        -19.280_930_291_957,
    );
}

/// Which rows were chosen of ten strata of six: one to all of them.
const SEVERAL: [u8; 60] = [
    0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0,
    0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1,
];

/// `ConditionalLogit` of statsmodels 0.15, which sums over all sets of as many alternatives; the score solved to 1e-15, the errors
/// from differences of it.
#[test]
fn several_choices_in_a_stratum_are_those_of_statsmodels() {
    let strata: Vec<u64> = (0..60).map(|i| i / 6).collect();
    let chosen: Vec<bool> = SEVERAL.iter().map(|mark| *mark == 1).collect();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let fit = fit_choices(&model(), &points(), sets, &options()).unwrap();
    check(
        &fit,
        [0.415_079_881_909, 0.125_070_005_589],
        [0.267_667_696_789, 0.526_932_378_973],
        -20.841_184_080_817,
    );
    let offset: Vec<f64> = (0..60).map(|i| ((i as f64 * 0.3247).fract() * 1000.0).round() / 1000.0).collect();
    let sets = ChoiceSets { log_probability: Some(&offset), ..sets };
    let fit = fit_choices(&model(), &points(), sets, &options()).unwrap();
    check(
        &fit,
        [0.427_994_054_286, 0.120_773_426_268],
        [0.264_842_319_565, 0.531_080_039_602],
        -21.657_590_320_687,
    );
    // A sandwich by stratum needs more strata than parameters.
    let two: Vec<u64> = (0..60).map(|i| i / 30).collect();
    let sets = ChoiceSets { strata: &two, ..sets };
    let error = fit_choices(&model(), &points(), sets, &FitOptions::default()).unwrap_err().to_string();
    assert!(error.contains("2 strata beside 2 parameters"), "{error}");
    assert!(fit_choices(&model(), &points(), sets, &options()).unwrap().converged);
}

/// A formula without second derivatives of its own has those of the features.
#[test]
fn several_choices_of_a_formula_are_those_of_the_features() {
    let strata: Vec<u64> = (0..60).map(|i| i / 6).collect();
    let chosen: Vec<bool> = SEVERAL.iter().map(|mark| *mark == 1).collect();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let bent = Model::from_toml(
        "variables = ['x', 'z']\nlog_density = 'exp(l)*x + b*z'\n[parameters]\nl = -1\nb = 0",
    );
    let fit = fit_choices(&bent.unwrap(), &points(), sets, &options()).unwrap();
    let slope = fit.get("l").unwrap();
    assert!((slope.estimate.exp() - 0.415_079_881_909).abs() < 1e-6, "{slope:?}");
    // The delta method: se(l) = se(a)/a.
    assert!((slope.se - 0.267_667_696_789 / 0.415_079_881_909).abs() < 1e-5, "{slope:?}");
}

/// Where all who could be chosen were, nothing is told; and no finite estimate is one where the chosen are all above the others.
#[test]
fn sets_that_say_nothing_or_too_much() {
    let points = points();
    let x = points.view().column(0);
    let strata: Vec<u64> = (0..60).map(|i| i / 6).collect();
    let all = [true; 60];
    let sets = ChoiceSets { strata: &strata, chosen: &all, log_probability: None };
    assert!(fit_choices(&model(), &points, sets, &options()).is_err());
    let above: Vec<bool> = (0..60).map(|i| (0..6).filter(|k| x[i / 6 * 6 + k] > x[i]).count() < 2).collect();
    let sets = ChoiceSets { chosen: &above, ..sets };
    let error = fit_choices(&model(), &points, sets, &options()).unwrap_err().to_string();
    assert!(error.contains("no finite estimate of `a`"), "{error}");
}

#[test]
fn the_order_of_rows_and_the_labels_of_strata_do_not_matter() {
    let (strata, chosen, points) = (strata(), chosen(), points());
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let fit = fit_choices(&model(), &points, sets, &options()).unwrap();
    let order: Vec<usize> = (0..60).map(|i| (i * 7) % 60).collect();
    let column = |j: usize| order.iter().map(|i| points.view().get(*i, j)).collect::<Vec<f64>>();
    let moved = Points::from_columns(&["x", "z"], &[column(0), column(1)]).unwrap();
    let labels: Vec<u64> = order.iter().map(|i| 1000 - strata[*i] * 3).collect();
    let marks: Vec<bool> = order.iter().map(|i| chosen[*i]).collect();
    let sets = ChoiceSets { strata: &labels, chosen: &marks, log_probability: None };
    let again = fit_choices(&model(), &moved, sets, &options()).unwrap();
    for (one, other) in fit.parameters.iter().zip(&again.parameters) {
        assert!((one.estimate - other.estimate).abs() < 1e-10 && (one.se - other.se).abs() < 1e-10);
    }
    let print = |fit: &Fit| fit.record(None).unwrap().fingerprint;
    assert_eq!(print(&fit), print(&again));
}

#[test]
fn robust_errors_are_a_sandwich_by_stratum() {
    // Pairs whose features differ by one: the score of a stratum is ±(1 − p), and the sandwich is p(1 − p) again.
    let model = Model::from_features(&["x"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let points = Points::from_columns(&["x"], &[[1.0, 0.0].repeat(30)]).unwrap();
    let strata: Vec<u64> = (0..60).map(|i| i / 2).collect();
    // Twenty of thirty chose the larger.
    let chosen: Vec<bool> = (0..60).map(|i| (i % 2 == 0) == (i / 2 < 20)).collect();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let robust = fit_choices(&model, &points, sets, &FitOptions::default()).unwrap();
    assert!((robust.parameters[0].estimate - 2_f64.ln()).abs() < 1e-8);
    // J = p(1 − p) = 2/9; the mean of the squared scores is p(1 − p)² + (1 − p)p² = 2/9 as well.
    assert!((robust.parameters[0].se - (4.5_f64 / 30.0).sqrt()).abs() < 1e-8);
}

#[test]
fn fixed_parameters_hold_for_choices_too() {
    let (strata, chosen) = (strata(), chosen());
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    let held = model().with_fixed(&[("b", 0.0)]).unwrap();
    let fit = fit_choices(&held, &points(), sets, &options()).unwrap();
    assert!(fit.get("b").unwrap().fixed);
    let alone =
        Model::from_toml("variables = ['x', 'z']\nlog_density = 'a*x + 0*z'\n[parameters]\na = 0").unwrap();
    let other = fit_choices(&alone, &points(), sets, &options()).unwrap();
    assert!((fit.get("a").unwrap().estimate - other.get("a").unwrap().estimate).abs() < 1e-10);
}

#[test]
fn choices_that_cannot_be_are_refused() {
    let (strata, chosen) = (strata(), chosen());
    let refused = |model: &Model, strata: &[u64], chosen: &[bool]| {
        let sets = ChoiceSets { strata, chosen, log_probability: None };
        let error = fit_choices(model, &points(), sets, &options()).unwrap_err();
        assert_eq!(error.code(), "choice-sets");
        error.to_string()
    };
    let mut none = chosen.clone();
    none[4..6].copy_from_slice(&[false, false]);
    none[3] = false;
    assert!(refused(&model(), &strata, &none).contains("row 4: no alternative"));
    // Every stratum's largest x is chosen: no finite slope.
    let points = points();
    let x = points.view().column(0);
    let largest: Vec<bool> = (0..60).map(|i| (0..3).all(|k| x[i] >= x[i / 3 * 3 + k])).collect();
    assert!(refused(&model(), &strata, &largest).contains("no finite estimate of `a`"));
    // Whatever is the same within a stratum cancels.
    let level = Model::from_toml(
        "variables = ['x', 'z']\nlog_density = 'a*x + b*(0*z + 1)'\n[parameters]\na = 0\nb = 0",
    );
    assert!(refused(&level.unwrap(), &strata, &chosen).contains("`b`"));
    let record = {
        let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
        fit_choices(&model(), &points, sets, &options()).unwrap().record(None).unwrap()
    };
    assert_eq!(record.log_density(&model(), points.view()).unwrap_err().code(), "saved-fit");
}
