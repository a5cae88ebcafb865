//! Fitted log-densities against their closed-form errors, and draws of fitted models.

use super::*;
use noisewright::after::{Simulation, simulate};
use noisewright::run::Context;

#[test]
fn the_error_of_a_gaussian_log_density_is_known() {
    let data = rows(0.3, 1.2, 500, 1);
    let (mean, variance) = moments(&data);
    let model = gaussian();
    let fit = exact(&model, &data);
    let places = [-2.0, 0.3, 1.0, 4.0];
    for (x, there) in places.iter().zip(fit.log_density(&model, &places[..]).unwrap()) {
        let z2 = (x - mean).powi(2) / variance;
        let value = -0.5 * (std::f64::consts::TAU * variance).ln() - 0.5 * z2;
        assert!((there.value - value).abs() < 1e-8, "{x}");
        // With Var μ̂ = σ²/n and Var σ̂² = 2σ⁴/n: z²/n + (z² − 1)²/2n.
        let se = ((z2 + 0.5 * (z2 - 1.0).powi(2)) / 500.0).sqrt();
        assert!((there.se / se - 1.0).abs() < 1e-5, "{x}: {} {se}", there.se);
    }
}

#[test]
fn a_normalized_model_has_the_same_errors_as_one_that_is_not() {
    let data = rows(0.3, 1.2, 500, 2);
    let (free, known) =
        (gaussian(), Model::from_family("gaussian", &["x"], &FamilyOptions::default(), true).unwrap());
    let places = [-2.0, 0.3, 4.0];
    let of = |model: &Model| exact(model, &data).log_density(model, &places[..]).unwrap();
    for (one, other) in of(&free).iter().zip(of(&known)) {
        assert!((one.value - other.value).abs() < 1e-7 && (one.se / other.se - 1.0).abs() < 1e-5);
    }
}

#[test]
fn outside_the_domain_there_is_no_density_and_no_error() {
    let model =
        Model::from_toml("variables = ['x']\nlog_density = '-a*x'\ndomain = 'positive'\n[parameters]\na = 1")
            .unwrap();
    let data = sample(&Gamma::new(1.0, 2.0).unwrap(), 300, 3);
    let fit = model.fit(&data).exact().run().unwrap();
    let there = fit.log_density(&model, &[-1.0, 1.0][..]).unwrap();
    assert_eq!((there[0].value, there[0].se), (f64::NEG_INFINITY, 0.0));
    assert!(there[1].se > 0.0);
}

/// Five standard errors around the moments of n draws.
fn check_moments(values: &[f64], mean: f64, variance: f64, effective: f64) {
    let n = values.len() as f64;
    let found = values.iter().sum::<f64>() / n;
    let spread = values.iter().map(|x| (x - found).powi(2)).sum::<f64>() / n;
    assert!((found - mean).abs() < 5.0 * (variance / effective).sqrt(), "mean {found}");
    assert!((spread / variance - 1.0).abs() < 5.0 * (2.0 / effective).sqrt(), "variance {spread}");
}

#[test]
fn draws_of_few_variables_are_exact() {
    let drawn = simulate(&gaussian(), &[2.0, 4.0], 5000, &Context::seeded(1)).unwrap();
    assert_eq!((drawn.how, drawn.points.names()), (Simulation::Exact, &["x".to_owned()][..]));
    check_moments(drawn.points.values(), 0.5, 0.25, 5000.0);
    let again = simulate(&gaussian(), &[2.0, 4.0], 5000, &Context::seeded(1)).unwrap();
    assert_eq!(drawn.points.values(), again.points.values());
    // The draws of `sample` at the same seed are others.
    let other = sample(&Normal::with_std(0.5, 0.5).unwrap(), 5000, 1);
    assert_ne!(drawn.points.values(), other.values());
}

#[test]
fn draws_of_states_are_exact() {
    let model = Model::from_toml("variables = ['a', 'b']\nfamily = 'ising'\nstates = [-1, 1]").unwrap();
    let theta = model.at(&[("J01", 0.8)]).unwrap();
    let drawn = simulate(&model, &theta, 4000, &Context::seeded(1)).unwrap();
    let (a, b) = (drawn.points.view().column(0), drawn.points.view().column(1));
    let mean = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / 4000.0;
    // E ab = tanh J, Var = 1 − tanh² J.
    let truth = 0.8_f64.tanh();
    assert!((mean - truth).abs() < 5.0 * ((1.0 - truth * truth) / 4000.0).sqrt(), "{mean}");
}

#[test]
fn draws_of_many_variables_come_from_chains() {
    let names = ["x0", "x1", "x2", "x3", "x4"];
    let model = Model::from_family("gaussian", &names, &FamilyOptions::default(), false).unwrap();
    let theta = model.at(&[("h0", 2.0), ("P00", 4.0)]).unwrap();
    let drawn = simulate(&model, &theta, 1500, &Context::seeded(1)).unwrap();
    assert_eq!((drawn.how, drawn.points.rows()), (Simulation::Chains, 1500));
    check_moments(drawn.points.view().column(0), 0.5, 0.25, drawn.effective);
    check_moments(drawn.points.view().column(3), 0.0, 1.0, drawn.effective);
}
