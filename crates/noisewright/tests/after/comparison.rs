//! Likelihoods, criteria and likelihood-ratio tests against closed forms of the Gaussian.

use super::*;
use noisewright::after::{FitRecord, compare};
use noisewright::parts::Comparison;

/// A Gaussian of mean zero.
const CENTRED: &str = "variables = ['x']\nlog_density = '-p*x^2/2'\n[parameters]\np = 1";

fn record(text: &str, fit: &Fit) -> FitRecord {
    fit.record(Some(text)).unwrap()
}

fn compared(records: &[&FitRecord], nested: bool) -> Result<Comparison> {
    let models: Vec<Model> = records.iter().map(|record| record.model().unwrap()).collect();
    let models: Vec<Option<&Model>> = models.iter().map(Some).collect();
    let named: Vec<(String, &FitRecord)> =
        records.iter().enumerate().map(|(k, record)| (format!("model {k}"), *record)).collect();
    compare(&named, &models, nested)
}

fn both(data: &Points) -> Comparison {
    let small = record(CENTRED, &exact(&Model::from_toml(CENTRED).unwrap(), data));
    let large = record(GAUSSIAN, &exact(&gaussian(), data));
    compared(&[&small, &large], false).unwrap()
}

#[test]
fn criteria_of_exact_fits_are_closed_forms() {
    let data = rows(0.1, 1.3, 300, 1);
    let (mean, variance) = moments(&data);
    let found = both(&data);
    let likelihood = |variance: f64| -150.0 * ((std::f64::consts::TAU * variance).ln() + 1.0);
    let expected = [likelihood(variance + mean * mean), likelihood(variance)];
    for (k, (model, expected)) in found.models.iter().zip(expected).enumerate() {
        let parameters = k as f64 + 1.0;
        assert!((model.log_likelihood.estimate - expected).abs() < 1e-6 && model.log_likelihood.se == 0.0);
        assert!((model.aic - (2.0 * parameters - 2.0 * expected)).abs() < 1e-6);
        assert!((model.bic - (parameters * 300_f64.ln() - 2.0 * expected)).abs() < 1e-6);
        // With errors that trust the model tr(J⁻¹K) is the number of parameters.
        assert!((model.tic.unwrap() - model.aic).abs() < 1e-6);
    }
    let [test] = found.tests.as_slice() else { panic!("{:?}", found.tests) };
    assert!((test.statistic - 300.0 * ((variance + mean * mean) / variance).ln()).abs() < 1e-6);
    assert_eq!((test.degrees, test.smaller.as_str(), test.larger.as_str()), (1, "model 0", "model 1"));
}

#[test]
fn takeuchi_is_the_trace_of_both_informations() {
    // A unit-variance model of the mean: J = 1, K = the variance of the rows.
    let text = "variables = ['x']\nlog_density = 'm*x - x^2/2'\n[parameters]\nm = 0";
    let data = rows(1.0, 2.0, 5000, 2);
    let fit = Model::from_toml(text).unwrap().fit(&data).exact().run().unwrap();
    let found =
        compared(&[&record(text, &fit), &record(GAUSSIAN, &exact(&gaussian(), &data))], false).unwrap();
    let penalty = 0.5 * (found.models[0].tic.unwrap() + 2.0 * found.models[0].log_likelihood.estimate);
    // Robust errors divide by 1 − leverage: a few parts in 5,000 more.
    assert!((penalty / moments(&data).1 - 1.0).abs() < 2e-3, "{penalty}");
    assert_eq!(found.tests.len(), 1);
}

#[test]
fn p_values_of_likelihood_ratios_are_uniform() {
    let p_value = |seed: u64| both(&rows(0.0, 1.0, 400, 1000 + seed)).tests[0].p_value.unwrap();
    let far = kolmogorov((0..200).map(p_value).collect());
    assert!(far < 1.95, "{far}");
}

#[test]
fn the_monte_carlo_error_of_a_likelihood_is_what_seeds_show() {
    let data = rows(0.5, 1.0, 500, 3);
    let truth = |fit: &Fit| {
        // log Z of the Gaussian at the fitted parameters.
        let (m, p) = (fit.get("m").unwrap().estimate, fit.get("p").unwrap().estimate);
        let log_z = 0.5 * (std::f64::consts::TAU / p).ln() + m * m / (2.0 * p);
        data.values().iter().map(|x| m * x - p * x * x / 2.0 - log_z).sum::<f64>()
    };
    let z2 = |seed: u64| {
        let fit = gaussian()
            .fit(&data)
            .noise(Normal::with_variance(0.0, 4.0).unwrap())
            .ratio(4.0)
            .seed(seed)
            .run()
            .unwrap();
        let found = record(GAUSSIAN, &fit).log_likelihood().unwrap();
        ((found.estimate - truth(&fit)) / found.se).powi(2)
    };
    let mean = (0..100).map(z2).sum::<f64>() / 100.0;
    // Of 100 squares of standard normals: mean 1, standard deviation √(2/100); four of them.
    assert!((mean - 1.0).abs() < 4.0 * 0.02_f64.sqrt(), "{mean}");
}

#[test]
fn a_noisy_ratio_has_no_p_value() {
    let data = rows(0.5, 1.0, 2000, 4);
    let fitted = |text: &str| {
        let model = Model::from_toml(text).unwrap();
        record(text, &model.fit(&data).ratio(1.0).run().unwrap())
    };
    let found = compared(&[&fitted(CENTRED), &fitted(GAUSSIAN)], false).unwrap();
    let test = &found.tests[0];
    assert!(
        test.statistic_se > 0.4 && test.p_value.is_none() && test.reason.unwrap().contains("Monte-Carlo")
    );
    // Of a right model the penalty is near the number of parameters.
    for model in &found.models {
        let penalty = 0.5 * (model.tic.unwrap() - model.aic) + model.parameters as f64;
        assert!((penalty / model.parameters as f64 - 1.0).abs() < 0.25, "{} {penalty}", model.name);
    }
}

#[test]
fn models_that_are_not_nested_are_not_tested() {
    let data = rows(3.0, 0.3, 200, 5);
    let fitted = |text: &str| record(text, &exact(&Model::from_toml(text).unwrap(), &data));
    let normal =
        "variables = ['x']\nlog_density = 'm*x - p*x^2/2'\ndomain = 'positive'\n[parameters]\nm = 0\np = 1";
    let exponential =
        "variables = ['x']\nlog_density = '-p*log(x)^2'\ndomain = 'positive'\n[parameters]\np = 1";
    let pair = [&fitted(exponential), &fitted(normal)];
    assert!(compared(&pair, false).unwrap().tests.is_empty());
    assert_eq!(compared(&pair, true).unwrap().tests.len(), 1);
}

#[test]
fn few_different_rows_do_not_make_models_nested() {
    // On the values 0, 1, 2 every function is a combination of three others, but not on all counts.
    let x: Vec<f64> = (0..90).map(|i| [0.0, 1.0, 0.0, 2.0, 1.0, 0.0][i % 6]).collect();
    let data = Points::from_columns(&["x"], &[x]).unwrap();
    let fitted = |text: &str| record(text, &exact(&Model::from_toml(text).unwrap(), &data));
    let head = "variables = ['x']\ndomain = 'counts'\n";
    let small = fitted(&format!("{head}log_density = '-a*x^2'\n[parameters]\na = 0.5"));
    let large = fitted(&format!(
        "{head}log_density = 'a*x + b*log(x + 1) - lgamma(x + 1)'\n[parameters]\na = 0\nb = 0"
    ));
    assert!(compared(&[&small, &large], false).unwrap().tests.is_empty());
}

#[test]
fn nested_models_that_are_not_linear_are_found() {
    let data = rows(0.0, 1.0, 300, 6);
    let fitted = |text: &str| record(text, &exact(&Model::from_toml(text).unwrap(), &data));
    let small = "variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0";
    let large = "variables = ['x']\nlog_density = '-s*(x - m)^2/2'\n[parameters]\nm = 0\ns = { start = 2, lower = 0 }";
    assert_eq!(compared(&[&fitted(small), &fitted(large)], false).unwrap().tests.len(), 1);
    // The same parameters in another place are another model.
    let other = "variables = ['x']\nlog_density = '-(x - s)^4/4 - (x - m)^2'\n[parameters]\nm = 0\ns = 0";
    assert!(compared(&[&fitted(small), &fitted(other)], false).unwrap().tests.is_empty());
}

#[test]
fn fits_of_other_rows_are_refused() {
    let data = rows(0.0, 1.0, 100, 7);
    let fitted = |data: &Points| record(GAUSSIAN, &exact(&gaussian(), data));
    let mut reversed = data.values().to_vec();
    reversed.reverse();
    let reversed = Points::from_columns(&["x"], &[reversed]).unwrap();
    assert!(compared(&[&fitted(&data), &fitted(&reversed)], false).is_ok());
    let code = |records: &[&FitRecord]| compared(records, false).unwrap_err().code();
    assert_eq!(code(&[&fitted(&data), &fitted(&rows(0.0, 1.0, 100, 8))]), "incomparable-fits");
    assert_eq!(code(&[&fitted(&data), &fitted(&rows(0.0, 1.0, 101, 7))]), "incomparable-fits");
    assert_eq!(code(&[&fitted(&data)]), "incomparable-fits");
}
