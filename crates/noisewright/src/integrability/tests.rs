//! Densities that have no integral, and those that have.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::{FamilyOptions, Parameter};

fn found(formula: &str, domain: &str) -> Option<NotNormalizable> {
    let text = format!("variables = ['x', 'y', 'z', 'w']\nlog_density = '{formula}'\n{domain}");
    let model = Model::from_toml(&text).unwrap();
    let mut random = noisewright_numerics::random::stream(5, 0);
    let values: Vec<f64> = (0..4 * 100)
        .map(|_| -> f64 { StandardNormal.sample(&mut random) })
        .map(|z| if domain.is_empty() { z } else { z.exp() })
        .collect();
    let near = of_model(&model, &[], View::new(4, 100, &values), NEAR);
    assert_eq!(
        near.is_some(),
        of_model(&model, &[], View::new(4, 100, &values), BEYOND).is_some(),
        "{formula}"
    );
    near
}

#[test]
fn densities_without_an_integral_are_seen() {
    assert_eq!(found("-(x^2 + y^2 + z^2)/2 + w^2/1000", "").unwrap().variable.as_deref(), Some("w"));
    assert_eq!(found("-(x^2 + y^2 + z^2)/2 + tanh(w)", "").unwrap().variable.as_deref(), Some("w"));
    // A flat direction that no axis shows, and one bad direction in a Gaussian.
    let flat = found("-((x - y)^2 + (y - z)^2 + (z - w)^2)/2", "").unwrap();
    let direction = flat.direction.unwrap();
    assert!(flat.variable.is_none() && direction.iter().all(|v| (v / direction[0] - 1.0).abs() < 0.5));
    assert!(found("-(x^2 + y^2 + z^2 + w^2)/2 - 1.01*x*y", "").is_some());
    assert!(found("-(x^2 + y^2 + z^2 + w^2)/2 - 0.7*x*y - 0.7*z*w - 0.7*x*w + 0.5*y*z", "").is_some());
    // Integrable along every line, but not in four dimensions.
    assert!(found("-1.5*log(1 + x^2 + y^2 + z^2 + w^2)", "").is_some());
    assert!(
        found(
            "-x - y - z - log(w)",
            "domain = { x = 'positive', y = 'positive', z = 'positive', w = 'positive' }"
        )
        .is_some()
    );
}

#[test]
fn densities_with_an_integral_are_left_alone() {
    for formula in [
        "-(x^2 + y^2 + z^2 + w^2)/2",
        "-((x - y)^2 + (y - z)^2 + (z - w)^2 + 1e-4*w^2)/2",
        "-(x^2 + y^2 + z^2 + w^2)/2 - 0.99*x*y",
        "-x^4 + 3*x^2*y - y^4 - abs(z) - 2.5*log(1 + w^2)",
        "-2.5*log(1 + x^2 + y^2 + z^2 + w^2)",
        "log(exp(-(x - 10)^2/2) + exp(-(x + 10)^2/2)) - (y^2 + z^2 + w^2)/2",
        // Funnels, which some directions enter only far out.
        "-x^2 - y^2*exp(-x) - z^2 - w^2 - x/2",
        "-x^2/18 - (y^2 + z^2 + w^2)*exp(-x)/2 - 1.5*x",
    ] {
        assert_eq!(found(formula, ""), None, "{formula}");
    }
    let positive = "domain = { x = 'positive', y = 'positive', z = 'positive', w = 'positive' }";
    assert_eq!(found("-x - y - z - w - 0.9*log(w)", positive), None);
}

/// The verdict of a fit whose data are spread like normal ones around a center.
fn fitted(model: &Model, theta: &[f64], (center, scale): &(Vec<f64>, Vec<f64>)) -> Option<NotNormalizable> {
    let mut random = noisewright_numerics::random::stream(6, 0);
    let place = |(axis, domain): (usize, &Domain), z: f64| {
        let x = center[axis] + scale[axis] * z;
        match domain {
            Domain::Counts => x.max(0.0).round(),
            Domain::Positive => x.abs(),
            Domain::Interval(lo, hi) => x.clamp(*lo, *hi),
            _ => x,
        }
    };
    let columns = model.space().domains().iter().enumerate();
    let x: Vec<f64> = columns
        .flat_map(|axis| {
            (0..100).map(|_| place(axis, StandardNormal.sample(&mut random))).collect::<Vec<_>>()
        })
        .collect();
    of_fitted(model, theta, View::new(center.len(), 100, &x))
}

fn around(center: &[f64], scale: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (center.to_vec(), scale.to_vec())
}

#[test]
fn a_gaussian_of_ten_variables_with_one_bad_direction_is_refused_along_it() {
    let variables: Vec<String> = (0..10).map(|j| format!("x{j}")).collect();
    let model = Model::from_family("gaussian", &variables, &FamilyOptions::default(), false).unwrap();
    let mut theta = model.start();
    // P01 = 1.01 between two unit precisions: the direction (1, −1)/√2 has the precision −0.01.
    theta[model.index_of("P01").unwrap()] = 1.01;
    let found = fitted(&model, &theta, &around(&[0.3; 10], &[1.0; 10])).unwrap();
    let d = found.direction.unwrap();
    assert!(d.iter().map(|v| v * v).sum::<f64>() + 2.0 * 1.01 * d[0] * d[1] < 0.0, "{d:?}");
    theta[model.index_of("P01").unwrap()] = 0.99;
    assert_eq!(fitted(&model, &theta, &around(&[0.3; 10], &[1.0; 10])), None);
}

#[test]
fn the_leading_power_decides_on_the_line() {
    let model = Model::from_features(&["x^2", "x^4"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let at = |theta: [f64; 2]| fitted(&model, &theta, &around(&[0.0], &[1.0]));
    assert_eq!(at([1.0, -0.1]), None);
    assert_eq!(at([-1.0, 1e-3]).unwrap().variable.as_deref(), Some("x"));
    assert_eq!(at([-1.0, 0.0]), None);
    assert!(at([1.0, 0.0]).is_some());
}

#[test]
fn counts_with_negative_dispersion_do_not_sum() {
    let space = Space::product(&[("x", Domain::Counts)]).unwrap();
    let names = vec![Parameter::new("rate", 0.0), Parameter::new("dispersion", 0.0)];
    let model = Model::from_features(&["x", "-lgamma(x + 1)"], space, names).unwrap();
    let at = |theta: [f64; 2]| fitted(&model, &theta, &around(&[3.0], &[2.0]));
    let found = at([0.5, -0.05]).unwrap();
    assert_eq!((found.variable.as_deref(), found.towards.as_str()), (Some("x"), "∞"));
    assert_eq!(at([0.5, 0.3]), None);
    assert!(at([0.1, 0.0]).is_some());
    assert_eq!(at([-0.1, 0.0]), None);
}

#[test]
fn a_quartic_of_the_plane_that_rises_along_a_diagonal_or_a_narrow_cone_is_refused() {
    let features = ["x^2", "y^2", "x^4", "y^4", "x^2*y^2", "x^3*y"];
    let model = Model::from_features(&features, Space::real(&["x", "y"]).unwrap(), vec![]).unwrap();
    let at = |theta: [f64; 6]| fitted(&model, &theta, &around(&[0.2, -0.1], &[1.0, 2.0]));
    // −x⁴ − y⁴ + k x²y² falls everywhere for k < 2 and rises along both diagonals above.
    assert_eq!(at([1.0, 1.0, -1.0, -1.0, 1.9, 0.0]), None);
    let found = at([-1.0, -1.0, -1.0, -1.0, 2.1, 0.0]).unwrap();
    let direction = found.direction.unwrap();
    assert!((direction[0].abs() / direction[1].abs() - 1.0).abs() < 0.3, "{direction:?}");
    // A cone of two degrees: −(y − 3x)²(x² + y²) + ε x⁴ along y = 3x.
    let narrow = |e: f64| fitted(&cone(), &[1.0, e], &around(&[0.0; 2], &[1.0; 2]));
    assert!(narrow(1e-2).is_some() && narrow(-1e-2).is_none());
}

fn cone() -> Model {
    let parameters = vec![Parameter::new("a", 1.0), Parameter::new("e", 0.0)];
    let formula = "-a*(y - 3*x)^2*(x^2 + y^2) + e*x^4";
    Model::from_formula(formula, Space::real(&["x", "y"]).unwrap(), parameters, false).unwrap()
}

#[test]
fn four_variables_of_which_two_are_unbounded_are_followed_along_those_alone() {
    let domains = [
        ("a", Domain::Interval(0.0, 1.0)),
        ("x", Domain::Real),
        ("y", Domain::Positive),
        ("k", Domain::Circle),
    ];
    let space = Space::product(&domains).unwrap();
    let model = Model::from_features(&["-x^4 - y^4", "x^2*y^2", "a", "cos(k)"], space, vec![]).unwrap();
    let at = |theta: [f64; 4]| fitted(&model, &theta, &around(&[0.5, 0.0, 1.0, 0.0], &[0.3, 1.0, 1.0, 1.0]));
    let found = at([1.0, 2.5, 1.0, 0.5]).unwrap().direction.unwrap();
    assert!(found[0] == 0.0 && found[3] == 0.0 && found[2] > 0.0, "{found:?}");
    assert_eq!(at([1.0, 1.5, 1.0, 0.5]), None);
}
