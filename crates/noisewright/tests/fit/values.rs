//! Fits against answers that were not computed here: closed forms, other software, published values.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::fit::{Amount, CovarianceKind, Data, DrawKind, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::parts::Draws;
use noisewright::{Estimate, FamilyOptions, Fit, Model, Normal, Points, Space, sample};

/// The rows of a CSV file with a header, by column.
fn read(path: &str) -> Points {
    let text = std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').map(|n| n.trim_matches('"')).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for line in lines {
        for (column, value) in columns.iter_mut().zip(line.split(',')) {
            column.push(value.parse().unwrap());
        }
    }
    Points::from_columns(&names, &columns).unwrap()
}

fn example(name: &str) -> Model {
    let path = format!("{}/../../examples/{name}/model.toml", env!("CARGO_MANIFEST_DIR"));
    Model::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn exact() -> FitOptions {
    FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() }
}

/// Precision times mean, and precisions, of four standardised measurements of irises.
const IRIS: [f64; 14] = [
    0.0,
    0.0,
    0.0,
    0.0,
    3.990112789512452,
    -0.9590278082413461,
    -4.047876041544914,
    1.506845452851938,
    1.7219537585608633,
    0.7246248342093236,
    -1.0022088646228513,
    7.252446651447873,
    -3.9783068242155064,
    3.9483542367121283,
];

/// Biases and couplings of five items of a test.
const LSAT: [f64; 15] = [
    1.6030518316843898,
    -0.32864361224444494,
    -1.2545573736245461,
    0.07800419936462494,
    0.9751627993934704,
    0.4636661436982905,
    0.6758455080602029,
    0.2416376556161431,
    0.10787892308971073,
    0.4484347125749494,
    0.2094572560265277,
    0.46596677522295593,
    0.4607073946531813,
    0.20259949595791396,
    0.5689529033137639,
];

/// The five cases: data, model, the maximum-likelihood estimates and log Z of independent software.
fn cases() -> Vec<(&'static str, Points, Model, Vec<f64>, f64)> {
    let gaussian = Model::from_family("gaussian", &["a", "b", "c", "d"], &FamilyOptions::default(), false);
    vec![
        (
            "ozone",
            read("../../examples/ozone/ozone.csv"),
            example("ozone"),
            vec![1.6992772511682352, 0.040334798677207954],
            5.359640543727619,
        ),
        (
            "faithful",
            read("../../examples/old-faithful/faithful.csv"),
            example("old-faithful"),
            vec![0.975594006026866, 1.351029067635483, -0.6591423876527825, -0.7572419373297158],
            1.492666216219217,
        ),
        (
            "wind",
            read("../../examples/wind/wind.csv"),
            example("wind"),
            vec![1.6929428162858955, 0.5091970422832527],
            2.5046148259845076,
        ),
        ("iris", read("tests/references/iris4.csv"), gaussian.unwrap(), IRIS.to_vec(), 2.2175212630053496),
        ("lsat", read("../../examples/lsat/lsat6.csv"), example("lsat"), LSAT.to_vec(), 6.134034757655987),
    ]
}

/// Largest difference from the reference in the given unit of each estimate.
fn farthest(fitted: &Fit, theta: &[f64], log_z: f64, unit: impl Fn(&Estimate) -> f64) -> f64 {
    let all = fitted.estimates();
    assert_eq!(all.len(), theta.len() + 1);
    let expected = theta.iter().chain([&log_z]);
    all.iter().zip(expected).map(|(e, x)| (e.estimate - x).abs() / unit(e)).fold(0.0, f64::max)
}

#[test]
fn the_cases_with_the_default_noise() {
    for (name, data, model, theta, log_z) in cases() {
        let fitted = fit(&model, Data::from(&data), &FitOptions::default()).unwrap();
        assert!(fitted.converged, "{name}");
        println!(
            "{name}: ν = {:.1}, {} noise points, {} steps, share {:.3}",
            fitted.nu,
            fitted.noise_points,
            fitted.iterations,
            fitted.noise_share()
        );
        if name == "lsat" {
            // All 32 states: no noise at all.
            assert_eq!((fitted.noise_points, fitted.nu), (0, f64::INFINITY));
            assert!(farthest(&fitted, &theta, log_z, |_| 1.0) < 1e-6);
            continue;
        }
        let off = farthest(&fitted, &theta, log_z, |e| e.se_noise);
        println!("{name}: {off:.2} noise-part standard errors");
        assert!(off < 4.0, "{name}: {off} noise-part standard errors");
        assert!(fitted.noise_share() <= 0.1, "{name}: share {}", fitted.noise_share());
    }
}

#[test]
fn the_cases_without_noise() {
    for (name, data, model, theta, log_z) in cases() {
        if name == "iris" {
            let refused = fit(&model, Data::from(&data), &exact()).unwrap_err().to_string();
            assert!(refused.contains("at most three variables"), "{refused}");
            continue;
        }
        let fitted = fit(&model, Data::from(&data), &exact()).unwrap();
        let off = farthest(&fitted, &theta, log_z, |_| 1.0);
        assert!(fitted.converged && off < 1e-6, "{name}: off by {off}");
        assert_eq!(fitted.covariance_noise.amax(), 0.0);
    }
}

#[test]
fn exact_fits_of_a_gaussian_are_its_moments() {
    let data = sample(&Normal::with_variance(3.0, 0.25).unwrap(), 500, 4);
    let x = data.view().column(0);
    let mean = x.iter().sum::<f64>() / 500.0;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 500.0;
    let free = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let fitted = fit(&free, Data::from(&data), &exact()).unwrap();
    assert!((fitted.parameters[0].estimate - mean / variance).abs() < 1e-8 * mean / variance);
    assert!((fitted.parameters[1].estimate + 0.5 / variance).abs() < 1e-8 / variance);
    let log_z = 0.5 * (std::f64::consts::TAU * variance).ln() + 0.5 * mean * mean / variance;
    assert!((fitted.log_normalizer.as_ref().unwrap().estimate - log_z).abs() < 1e-7);

    let file = "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/(2*v) - log(2*pi*v)/2'\n[parameters]\nm = 0\nv = { start = 1, lower = 0 }";
    let known = Model::from_toml(file).unwrap();
    for errors in [CovarianceKind::Robust, CovarianceKind::ModelBased] {
        let fitted = fit(&known, Data::from(&data), &FitOptions { errors, ..exact() }).unwrap();
        assert!((fitted.parameters[0].estimate - mean).abs() < 1e-10);
        assert!((fitted.parameters[1].estimate - variance).abs() < 1e-10);
        assert!(fitted.log_normalizer.is_none() && fitted.optima.len() == 1, "{:?}", fitted.optima);
        // The mean's standard error is √(v/n); from the rows themselves with each square over one less its leverage.
        let squares = match errors {
            CovarianceKind::Robust => corrected_squares(x, mean, variance),
            _ => 500.0 * variance,
        };
        assert!((fitted.parameters[0].se - squares.sqrt() / 500.0).abs() < 1e-8 * fitted.parameters[0].se);
    }
}

/// `Σ (x − m)²/(1 − t)`, t the leverage of a row in the scores `x − m` and `(x − m)² − v` of mean and variance (HC2).
fn corrected_squares(x: &[f64], mean: f64, variance: f64) -> f64 {
    let terms: Vec<[f64; 2]> = x.iter().map(|x| [x - mean, (x - mean).powi(2) - variance]).collect();
    let sum = |i: usize, j: usize| terms.iter().map(|t| t[i] * t[j]).sum::<f64>();
    let (a, b, c) = (sum(0, 0), sum(0, 1), sum(1, 1));
    let length = |t: &[f64; 2]| (c * t[0] * t[0] - 2.0 * b * t[0] * t[1] + a * t[1] * t[1]) / (a * c - b * b);
    let leverage = |t: &[f64; 2]| 1.0 / x.len() as f64 + length(t);
    terms.iter().map(|t| t[0] * t[0] / (1.0 - leverage(t))).sum()
}

/// The points of `references/fit_logistic.py`.
fn logistic() -> (Points, Arc<Draws>) {
    let data: Vec<f64> =
        (0..60).map(f64::from).map(|i| 1.5 * (1.3 * i).sin() + 0.3 * (0.7 * i).cos() + 0.2).collect();
    let noise: Vec<f64> = (0..90).map(f64::from).map(|j| 2.0 * (2.1 * j).sin() + (0.9 * j).cos()).collect();
    let log_density = |x: &[f64]| -> Vec<f64> {
        x.iter().map(|x| -0.5 * x * x / 4.0 - 0.5 * (std::f64::consts::TAU * 4.0).ln()).collect()
    };
    let draws = Draws {
        log_density: log_density(&noise),
        log_density_at_data: log_density(&data),
        points: Points::unnamed(1, 90, noise),
    };
    (Points::unnamed(1, 60, data), Arc::new(draws))
}

fn assert_estimates(fitted: &Fit, params: [f64; 3], se_data: [f64; 3], se_noise: [f64; 3]) {
    for (k, e) in fitted.estimates().into_iter().enumerate() {
        assert!((e.estimate - params[k]).abs() < 1e-9, "{e:?} {}", params[k]);
        assert!((e.se_data - se_data[k]).abs() < 1e-9, "{e:?} {}", se_data[k]);
        assert!((e.se_noise - se_noise[k]).abs() < 1e-9, "{e:?} {}", se_noise[k]);
        assert!((e.se.powi(2) - e.se_data.powi(2) - e.se_noise.powi(2)).abs() < 1e-14);
        let reach = (e.upper - e.estimate) / e.se;
        let below = noisewright_numerics::special::student_cdf(e.degrees_of_freedom, reach);
        assert!((below - 0.975).abs() < 1e-9, "{e:?}");
    }
}

#[test]
fn logistic_regression_with_an_offset_is_the_same_fit() {
    let (data, draws) = logistic();
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let options = FitOptions { noise: NoiseChoice::Draws(draws), ..FitOptions::default() };
    let fitted = fit(&model, Data::from(&data), &options).unwrap();
    assert_estimates(
        &fitted,
        [0.08908012081296403, -0.4930300946320143, 0.982985518251325],
        [0.11452210226638522, 0.05990009921924376, 0.08241888247269451],
        [0.07715369901524442, 0.061372612212845325, 0.13769966215724747],
    );
    let weights: Vec<f64> = (0..60).map(|i| f64::from(i % 3 + 1)).collect();
    let weighted = fit(&model, Data::from(&data).with_weights(&weights), &options).unwrap();
    assert_estimates(
        &weighted,
        [0.1217033393287627, -0.5291815052858962, 0.9287792335195015],
        [0.0765680299619158, 0.04091517445889591, 0.05454599095936955],
        [0.07359488389290618, 0.06521305639024538, 0.14590649200065156],
    );
    // With the constant free, logistic regression's own errors are the model-based ones for θ, and for c they are
    // too large by 1/T_d + 1/T_n (MATH §3).
    let naive = [0.14575160241346388, 0.11234975187494822, 0.24249537502877977];
    let based = fit(&model, Data::from(&data), &FitOptions { errors: CovarianceKind::ModelBased, ..options })
        .unwrap();
    let se: Vec<f64> = based.estimates().iter().map(|e| e.se).collect();
    assert!((se[0] - naive[0]).abs() < 1e-8 && (se[1] - naive[1]).abs() < 1e-8, "{se:?}");
    assert!((se[2].powi(2) - (naive[2].powi(2) - 1.0 / 60.0 - 1.0 / 90.0)).abs() < 1e-8, "{se:?}");
}

#[test]
fn a_formula_gives_the_same_fit_as_its_features() {
    let (data, draws) = logistic();
    let linear = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let file = "variables = ['x']\nlog_density = '-(x - m)^2/(2*v)'\n[parameters]\nm = 0.5\nv = { start = 2, lower = 0 }";
    let curved = Model::from_toml(file).unwrap();
    for loss in ["js", "kl", "reverse-kl", "hellinger", "pearson", "power:0.3"] {
        let options = FitOptions {
            noise: NoiseChoice::Draws(draws.clone()),
            loss: loss.parse().unwrap(),
            ..FitOptions::default()
        };
        let a = fit(&linear, Data::from(&data), &options).unwrap();
        let b = fit(&curved, Data::from(&data), &options).unwrap();
        let (m, v) = (b.parameters[0].estimate, b.parameters[1].estimate);
        assert!((a.parameters[0].estimate - m / v).abs() < 1e-7, "{loss} {a:?} {b:?}");
        assert!((a.parameters[1].estimate + 0.5 / v).abs() < 1e-7, "{loss}");
        // −x²/(2v) has a variance that the delta method carries over.
        let se = b.parameters[1].se / (2.0 * v * v);
        assert!((a.parameters[1].se - se).abs() < 1e-6 * se, "{loss}: {} {se}", a.parameters[1].se);
    }
}

#[test]
fn amounts_and_seeds() {
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 1000, 9);
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let with = |amount, seed| {
        fit(&model, Data::from(&data), &FitOptions { amount, seed, ..FitOptions::default() }).unwrap()
    };
    assert_eq!(with(Amount::Ratio(2.5), 0).noise_points, 2500);
    assert_eq!(with(Amount::Points(777), 0).noise_points, 777);
    let (a, b) = (with(Amount::Points(777), 1), with(Amount::Points(777), 1));
    assert_eq!(a.parameters, b.parameters);
    assert_ne!(a.parameters, with(Amount::Points(777), 2).parameters);
    let auto = with(Amount::Auto { share: 0.05, most_values: 1 << 25 }, 0);
    assert!(auto.noise_share() <= 0.05 && !auto.budget_spent, "{}", auto.noise_share());
    // Quiet noise would reach that.
    let (amount, draws) = (Amount::Auto { share: 0.01, most_values: 1 << 16 }, DrawKind::Random);
    let options = FitOptions { amount, draws, ..FitOptions::default() };
    let poor = fit(&model, Data::from(&data), &options).unwrap();
    assert!(poor.budget_spent && poor.noise_points * 3 <= 1 << 16);
}
