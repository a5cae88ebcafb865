//! What the tests of the asymptotic error share: short ways to ask for one, and the plain formula to compare with.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::parts::NoiseContext;
use noisewright::{ErrorReport, Loss, Model, Noise, NoiseWords, Precision, Result, Target};
use noisewright_systems::System;

/// The report of a design, with the default precision.
pub(crate) fn report(
    model: &Model,
    at: &[f64],
    noise: &dyn Noise,
    nu: f64,
    loss: &Loss,
) -> Result<ErrorReport> {
    asymptotic_error(model, at, Contrast { noise, nu, loss }, &Target::Mse, &Precision::default())
}

/// The error of a system against a noise.
pub(crate) fn error(system: &System, noise: &dyn Noise, nu: f64, loss: &Loss) -> f64 {
    report(&system.model, &system.parameters, noise, nu, loss)
        .unwrap_or_else(|e| panic!("{} against {}: {e}", system.name, noise.describe()))
        .error
}

/// A noise in words, for a model's space.
pub(crate) fn words(model: &Model, text: &str) -> Arc<dyn Noise> {
    NoiseWords::parse(text).unwrap().build(&NoiseContext::new(model.space())).unwrap()
}

pub(crate) fn loss(name: &str) -> Loss {
    name.parse().unwrap()
}

pub(crate) fn close(got: f64, want: f64, relative: f64) -> bool {
    (got - want).abs() <= relative * want.abs()
}

pub(crate) fn assert_close(got: f64, want: f64, relative: f64, what: &str) {
    assert!(close(got, want, relative), "{what}: {got:.16e} instead of {want:.16e}");
}

/// Largest difference between two matrices, relative to the geometric mean of the diagonals.
pub(crate) fn distance(got: &DMatrix<f64>, want: &DMatrix<f64>) -> f64 {
    let scale = |i: usize| want[(i, i)].abs().sqrt();
    let entries = (0..want.nrows()).flat_map(|i| (0..want.ncols()).map(move |j| (i, j)));
    entries.map(|(i, j)| (got[(i, j)] - want[(i, j)]).abs() / (scale(i) * scale(j))).fold(0.0, f64::max)
}

/// One point of a plain sum: its weight in the base measure, both log-densities and the score.
pub(crate) struct Term {
    pub(crate) measure: f64,
    pub(crate) log_data: f64,
    pub(crate) log_noise: f64,
    pub(crate) score: Vec<f64>,
}

/// MATH §3 as it stands, by sums over points.
pub(crate) fn plain_covariance(terms: &[Term], nu: f64, weight: impl Fn(f64) -> f64) -> DMatrix<f64> {
    let size = terms[0].score.len();
    let (mut mean, mut bread, mut meat) =
        (DVector::zeros(size), DMatrix::zeros(size, size), DMatrix::zeros(size, size));
    for term in terms {
        let score = DVector::from_row_slice(&term.score);
        let r = (term.log_data - term.log_noise).exp() / nu;
        let (p, w) = (term.measure * term.log_data.exp(), weight(r));
        mean += p * w * &score;
        bread += p * w * &score * score.transpose();
        meat += p * w * w * (1.0 + r) * &score * score.transpose();
    }
    let inverse = bread.try_inverse().unwrap();
    &inverse * (meat - (1.0 + 1.0 / nu) * &mean * mean.transpose()) * &inverse
}

/// The JS weight.
pub(crate) fn js(r: f64) -> f64 {
    1.0 / (1.0 + r)
}
