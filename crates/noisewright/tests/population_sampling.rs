//! Populations by sampling, against closed forms.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright::energy::{Gaussian, Ising, VonMisesFisher as VonMisesFisherEnergy};
use noisewright::*;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|j| format!("x{j}")).collect()
}

fn precision(seed: u64) -> Precision {
    Precision { seed, ..Precision::default() }
}

/// A model of an energy, parameters starting at zero.
fn model_of(energy: impl Energy + 'static, space: Space) -> Model {
    let parameters = energy.parameters().into_iter().map(|name| Parameter::new(name, 0.0)).collect();
    Model::new(Arc::new(energy), space, parameters).unwrap()
}

/// A Gaussian whose precision matrix has neighbours coupled and whose mean is away from the origin.
fn gaussian(dimension: usize) -> (Model, Vec<f64>) {
    let energy = Gaussian::new(dimension).unwrap();
    let precision = DMatrix::from_fn(dimension, dimension, |i, j| match i.abs_diff(j) {
        0 => 1.0 + 0.3 * i as f64,
        1 => 0.4,
        _ => 0.0,
    });
    let mean = DVector::from_fn(dimension, |i, _| 0.5 - 0.2 * i as f64);
    let h = &precision * mean;
    let mut theta = h.as_slice().to_vec();
    (0..dimension).for_each(|i| (i..dimension).for_each(|j| theta.push(precision[(i, j)])));
    (model_of(energy, Space::real(&names(dimension)).unwrap()), theta)
}

fn check_log_z(population: &Population, exact: f64, most: f64) {
    let Accuracy { method, relative_error, points } = population.accuracy();
    let off = population.log_normalizer() - exact;
    println!("log Z off by {off:.2e}, claimed {relative_error:.2e}, {points} points");
    assert_eq!(method, Method::Sampling);
    assert!(off.abs() < 3.0 * relative_error, "off by {off:.3e}, claimed {relative_error:.3e}");
    assert!(relative_error < most, "claimed {relative_error:.3e}");
}

#[test]
fn gaussians_in_4_6_and_10_dimensions() {
    for (dimension, most) in [(4, 1e-3), (6, 2e-3), (10, 6e-3)] {
        let (model, theta) = gaussian(dimension);
        let start = std::time::Instant::now();
        let population = Population::new(&model, &theta, &precision(0)).unwrap();
        println!("{dimension}: {:?}", start.elapsed());
        let mut gradient = vec![0.0; theta.len()];
        let exact = model.log_normalizer(&theta, &mut gradient).unwrap();
        check_log_z(&population, exact, most);
        assert!((population.log_normalizer() - exact).abs() < 1e-3);
    }
}
