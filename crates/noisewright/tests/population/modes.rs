//! Populations of densities with several peaks: none is lost, however narrow, that something points to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use noisewright::internal::Contrast;
use noisewright::{Domain, Error, Loss, Model, MultivariateNormal, Normal, Population, Precision, Space};

/// log Z against wide noise.
fn log_z(file: &str, at: f64) -> Result<f64, Error> {
    let model = Model::from_toml(file).unwrap();
    let precision = Precision::default();
    let (line, plane) = (Normal::with_variance(0.0, 8000.0).unwrap(), |d: usize| {
        let covariance: Vec<f64> = (0..d * d).map(|i| if i % (d + 1) == 0 { 80.0 } else { 0.0 }).collect();
        MultivariateNormal::new(&vec![0.0; d], &covariance).unwrap()
    });
    let population = if model.space().dimension() == 1 {
        let contrast = Contrast { noise: &line, nu: 1.0, loss: &Loss::Js };
        Population::for_contrast(&model, &[at], contrast, &precision)
    } else {
        let noise = plane(model.space().dimension());
        let contrast = Contrast { noise: &noise, nu: 1.0, loss: &Loss::Js };
        Population::for_contrast(&model, &[at], contrast, &precision)
    };
    population.map(|p| p.log_normalizer())
}

/// Two peaks on a line of mass √(2π) each.
fn on_a_line(d: f64, s: f64, second: &str) -> String {
    format!(
        "variables = ['x']\nlog_density = 'log(exp(-(x - a)^2/2) + exp(-({second})^2/(2*{s}^2))/{s})'\n[parameters]\na = {d}"
    )
}

#[test]
fn a_narrow_second_peak_at_a_constant_of_the_formula_is_integrated() {
    let truth = (2.0 * (2.0 * std::f64::consts::PI).sqrt()).ln();
    for d in [5.0, 20.0, 100.0, 1000.0] {
        for s in [0.1, 0.01, 0.001] {
            let found = log_z(&on_a_line(d, s, &format!("x + {d}")), d).unwrap();
            assert!((found - truth).abs() < 1e-8, "{d} {s}: {found} for {truth}");
        }
    }
}

#[test]
fn a_peak_of_a_hundredth_of_the_width_is_integrated_wherever_it_is() {
    let truth = (2.0 * (2.0 * std::f64::consts::PI).sqrt()).ln();
    for place in ["x + exp(3.1)", "x - exp(5.7)", "x + exp(4.4)"] {
        let found = log_z(&on_a_line(20.0, 0.01, place), 20.0).unwrap();
        assert!((found - truth).abs() < 1e-8, "{place}: {found} for {truth}");
    }
}

#[test]
fn a_narrow_second_peak_in_a_plane_is_integrated() {
    let truth = (4.0 * std::f64::consts::PI).ln();
    for (d, s) in [(8.0, 0.1), (20.0, 0.2), (5.0, 0.05)] {
        for (x, y) in
            [(format!("x + {d}"), format!("y - {d}")), ("x + exp(2.1)".into(), "y - exp(1.3)".into())]
        {
            let file = format!(
                "variables = ['x', 'y']\nlog_density = 'log(exp(-((x - a)^2 + y^2)/2) + \
                 exp(-(({x})^2 + ({y})^2)/(2*{s}^2))/{s}^2)'\n[parameters]\na = {d}"
            );
            if s < 0.1 && x.contains("exp") {
                continue; // nothing points to it
            }
            let found = log_z(&file, d).unwrap();
            assert!((found - truth).abs() < 1e-6, "{x}, {y}, {s}: {found} for {truth}");
        }
    }
}

#[test]
fn a_model_that_says_it_is_normalized_and_is_not_is_refused_against_any_noise() {
    let file = |factor: f64| {
        format!(
            "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/2 - log(2*pi)/2 + log({factor})'\n\
             [parameters]\nm = 0"
        )
    };
    assert!(log_z(&file(1.0), 0.0).unwrap().abs() < 1e-9);
    for factor in [0.6, 1.001] {
        let refused = log_z(&file(factor), 0.0);
        assert!(matches!(refused, Err(Error::NotNormalized { .. })), "{refused:?}");
    }
}

#[test]
fn a_needle_that_nothing_points_to_is_missed_by_a_normalized_model_only_with_a_refusal() {
    let file = "variables = ['x']\nnormalized = true\nlog_density = 'log(p*exp(-x^2/2) + \
                (1 - p)*exp(-(x - exp(3.3))^2/(2*0.0001^2))/0.0001) - log(2*pi)/2'\n[parameters]\np = 0.6";
    // The contrast's own integrals are inaccurate here, which is no excuse for the mass.
    match log_z(file, 0.6) {
        Ok(found) => assert!(found.abs() < 1e-6, "{found}"),
        Err(refused) => assert!(matches!(refused, Error::NotNormalized { .. }), "{refused}"),
    }
}

#[test]
fn normal_densities_on_a_quadrant_have_their_integrals_wherever_their_peaks_are() {
    // Peaks inside of the quadrant, on an edge of it, and beyond, which climbs reach at the same time or not: log Z is the sum of
    // log(√(2π) s Φ(m/s)) + m²/(2s²).
    use noisewright::Scalar;
    let space = Space::product(&[("x", Domain::Positive), ("y", Domain::Positive)]).unwrap();
    let model = Model::from_features(&["x", "y", "x^2", "x*y", "y^2"], space, vec![]).unwrap();
    let standard = Normal::with_variance(0.0, 1.0).unwrap();
    for i in (0..24).step_by(2) {
        let place =
            |j: f64| ((1.7 * f64::from(i) + j).sin(), (0.7 * (2.3 * f64::from(i) + 3.0 * j).cos()).exp());
        let places = [place(0.0), place(1.0)];
        let [(a, s), (b, t)] = places;
        let theta = [a / (s * s), b / (t * t), -0.5 / (s * s), 0.0, -0.5 / (t * t)];
        let found = Population::new(&model, &theta, &Precision::default()).unwrap().log_normalizer();
        let one = |(m, s): (f64, f64)| {
            0.5 * std::f64::consts::TAU.ln() + s.ln() + standard.cdf(m / s).ln() + m * m / (2.0 * s * s)
        };
        let truth: f64 = places.into_iter().map(one).sum();
        assert!((found - truth).abs() < 1e-8, "{places:?}: {found} for {truth}");
    }
}
