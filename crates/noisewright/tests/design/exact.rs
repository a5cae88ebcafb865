//! The exact optimal noise against the values of MATH §6, its certificate, and the limits of MATH §5.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use noisewright::design::{DesignOptions, Prices, Ratio};
use noisewright::internal::design::{all_data_points, all_noise_limit, design};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{Loss, Model, Population, Precision, Target};

fn mean(normalized: bool) -> Model {
    model("-(x - t)^2/2 - log(2*pi)/2", "t = 0", normalized)
}

/// Unnormalized without its `log t`, as in MATH §6: what the constant then means changes its own error.
fn variance(normalized: bool) -> Model {
    let formula = if normalized { "-x^2/(2*t) - log(2*pi*t)/2" } else { "-x^2/(2*t)" };
    model(formula, "t = { start = 1, lower = 0 }", normalized)
}

fn model(formula: &str, parameter: &str, normalized: bool) -> Model {
    let text = format!(
        "variables = ['x']\nlog_density = '{formula}'\nnormalized = {normalized}\n[parameters]\n{parameter}"
    );
    Model::from_toml(&text).unwrap()
}

fn at(nu: f64) -> DesignOptions {
    DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() }
}

#[test]
fn the_optima_of_the_mathematics() {
    let cases = [
        (mean(true), 1.0, 2.99387),
        (variance(true), 1.0, 4.43526),
        (variance(true), 0.1, 2.98157),
        (mean(false), 1.0, 3.50813),
        (variance(false), 1.0, 7.85537),
        (mean(false), 1.0 / 99.0, 31.0009),
        (variance(false), 1.0 / 99.0, 56.0387),
        (mean(false), 10.0, 11.9070),
        (variance(false), 10.0, 29.2962),
    ];
    for (model, nu, expected) in cases {
        let best = design(&model, &model.start(), &at(nu)).unwrap();
        let digit = 10f64.powi(f64::log10(expected).floor() as i32 - 5);
        assert!(
            (best.error - expected).abs() < 0.51 * digit.max(1e-5),
            "{} instead of {expected}",
            best.error
        );
        if model.is_normalized() {
            assert_eq!(best.gap(), None);
        } else {
            assert!(best.gap().unwrap() < 1e-6);
        }
        assert!(best.error < best.noise_equals_data);
    }
}

#[test]
fn the_joint_optima() {
    for (model, error, share) in [(mean(true), 2.20686, 0.1768), (variance(true), 2.94610, 0.1278)] {
        let best = design(&model, &model.start(), &DesignOptions::default()).unwrap();
        assert!((best.error - error).abs() < 5.1e-6, "{}", best.error);
        assert!((best.noise_proportion() - share).abs() < 5.1e-5, "{}", best.noise_proportion());
    }
}

#[test]
fn the_designed_noise_has_the_error_that_the_design_promises() {
    for (model, nu) in [(mean(true), 1.0), (variance(false), 0.1), (mean(false), 10.0)] {
        let best = design(&model, &model.start(), &at(nu)).unwrap();
        let contrast = Contrast { noise: &best.noise, nu, loss: &Loss::Js };
        let report =
            asymptotic_error(&model, &model.start(), contrast, &Target::Mse, &Precision::default()).unwrap();
        assert!((report.error / best.error - 1.0).abs() < 1e-8, "{} {}", report.error, best.error);
    }
}

#[test]
fn the_symmetric_and_the_one_sided_stationary_points_of_the_mean_are_told_apart() {
    let best = design(&mean(true), &[0.0], &at(1.0)).unwrap();
    assert_eq!(best.optimum.stationary_points, 3);
}

#[test]
fn prices_move_the_proportion_the_right_way() {
    let dear = DesignOptions { prices: Prices { data: 10.0, noise: 1.0 }, ..DesignOptions::default() };
    let (even, dear) = (
        design(&mean(false), &[0.0], &DesignOptions::default()).unwrap(),
        design(&mean(false), &[0.0], &dear).unwrap(),
    );
    assert!(dear.nu > 1.5 * even.nu, "{} {}", dear.nu, even.nu);
    let wrong = DesignOptions { prices: Prices { data: 0.0, noise: 1.0 }, ..DesignOptions::default() };
    assert!(design(&mean(false), &[0.0], &wrong).is_err());
}

#[test]
fn the_all_noise_limit_is_approached_and_the_gaps_of_the_theorem_hold() {
    for model in [mean(true), variance(true)] {
        let nu = 1e4;
        let best = design(&model, &model.start(), &at(nu)).unwrap();
        let limit = all_noise_limit(&best.population, &Target::Mse).unwrap();
        // Errors times T, less the (1 + ν) tr J⁻¹ that all share.
        let bound = best.cramer_rao;
        let above = best.error - bound;
        assert!((above / limit.mean.powi(2) - 1.0).abs() < 1e-3, "{above} {}", limit.mean.powi(2));
        let between = best.noise_equals_data - best.error;
        assert!((between / limit.variance - 1.0).abs() < 1e-3, "{between} {}", limit.variance);
    }
}

#[test]
fn the_all_data_points_of_mean_and_variance() {
    let precision = Precision::default();
    let population = Population::new(&mean(true), &[0.0], &precision).unwrap();
    let points = all_data_points(&mean(true), &[0.0], &population, &Target::Mse).unwrap();
    assert_eq!(points.len(), 2);
    assert!(
        points.iter().all(|p| (p.x.abs() - 2f64.sqrt()).abs() < 1e-6) && points[0].group != points[1].group
    );
    let population = Population::new(&variance(true), &[1.0], &precision).unwrap();
    let points = all_data_points(&variance(true), &[1.0], &population, &Target::Mse).unwrap();
    assert!(
        points.iter().all(|p| (p.x.abs() - 5f64.sqrt()).abs() < 1e-6 && p.group == 0) && points.len() == 2
    );
}

/// At these ratios the fixed point was missed, and a noise a hundred times worse than p_n = p_d was called optimal.
#[test]
fn a_little_noise_is_designed_as_well_as_much() {
    let model =
        Model::from_toml("variables = ['x']\nlog_density = '-a*x^2/2 - b*x^4'\n[parameters]\na = 1\nb = 0.1")
            .unwrap();
    let mut before = f64::INFINITY;
    for nu in [3e-4, 1e-4, 3e-5, 1e-5, 1e-6] {
        let options = DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() };
        let best = design(&model, &[1.0, 0.1], &options).unwrap();
        assert!(best.gap().unwrap() < 1e-4, "ν = {nu}: gap {}", best.gap().unwrap());
        // An error of order 1/ν, with a factor that falls towards that of the all-data points.
        let factor = best.error * nu;
        assert!(factor < before && factor > 2.0, "ν = {nu}: {factor}");
        before = factor;
        let contrast = Contrast { noise: &best.noise, nu, loss: &Loss::Js };
        let again =
            asymptotic_error(&model, &[1.0, 0.1], contrast, &Target::Mse, &Precision::default()).unwrap();
        assert!((again.error / best.error - 1.0).abs() < 1e-3, "ν = {nu}: {} {}", again.error, best.error);
    }
}
