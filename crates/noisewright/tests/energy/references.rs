//! Published data sets at their maximum-likelihood estimates: log Z of each family against the reference, which was
//! obtained by a closed form, quadrature or enumeration outside this library.
#![allow(clippy::unwrap_used, clippy::excessive_precision, clippy::approx_constant)]

use crate::common::value;
use noisewright::internal::energy::{ExponentialPolynomial, Ising};
use noisewright::{FamilyOptions, Model, Points};

fn log_z(family: &str, variables: &[&str], theta: &[f64]) -> f64 {
    let model = Model::from_family(family, variables, &FamilyOptions::default(), true).unwrap();
    model.check(theta).unwrap();
    model.log_normalizer(theta, &mut vec![0.0; theta.len()]).unwrap()
}

/// Ozone in the air of New York, gamma; the reference's first parameter is shape − 1.
#[test]
fn gamma_of_ozone() {
    let theta = [0.6992772511682352 + 1.0, 0.040334798677207954];
    assert!((log_z("gamma", &["ozone"], &theta) - 5.359640543727619).abs() < 1e-12);
}

/// Wind directions at Col de la Roa, von Mises.
#[test]
fn von_mises_of_wind() {
    let theta = [1.6929428162858955, 0.5091970422832527];
    assert!((log_z("von-mises", &["direction"], &theta) - 2.5046148259845076).abs() < 1e-12);
}

/// Four measurements of irises, standardised, Gaussian.
#[test]
fn gaussian_of_irises() {
    let theta = [
        1.686788360720485e-14,
        -8.520720185716333e-15,
        -1.4769352854555338e-14,
        5.686170306998713e-15,
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
    assert!((log_z("gaussian", &["a", "b", "c", "d"], &theta) - 2.2175212630053496).abs() < 1e-12);
}

/// Five items of the Law School Admission Test, Ising with states 0 and 1, over all 32 answers.
#[test]
fn ising_of_a_test() {
    let theta = [
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
    let bits: Vec<f64> = (0..5).flat_map(|j| (0..32).map(move |s| f64::from((s >> j) & 1))).collect();
    let answers = Points::unnamed(5, 32, bits);
    let energy = Ising::new(5, [0.0, 1.0]).unwrap();
    let total: f64 = value(&energy, &theta, answers.view()).iter().map(|u| u.exp()).sum();
    assert!((total.ln() - 6.134034757655987).abs() < 1e-12);
}

/// Waiting times of the Old Faithful geyser, standardised, a quartic.
#[test]
fn quartic_of_a_geyser() {
    let theta = [0.975594006026866, 1.351029067635483, -0.6591423876527825, -0.7572419373297158];
    let energy = ExponentialPolynomial::new(4).unwrap();
    // The trapezoidal rule is exact to rounding for so smooth a density on the whole line.
    let grid: Vec<f64> = (-4000..=4000).map(|i| f64::from(i) / 500.0).collect();
    let points = Points::unnamed(1, grid.len(), grid);
    let total: f64 = value(&energy, &theta, points.view()).iter().map(|u| u.exp()).sum();
    assert!(((total / 500.0).ln() - 1.492666216219217).abs() < 1e-10);
}
