//! What comes after a fit: functions of parameters, tests, densities, draws, comparisons, saved fits, constraints.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod choice_repeats;
mod choices;
mod comparison;
mod constraints;
mod density;
mod functions;
mod records;

use noisewright::fit::CovarianceKind;
use noisewright::prelude::*;

/// `log p = m x − p x²/2 − c`: a Gaussian of mean m/p and variance 1/p.
const GAUSSIAN: &str = "variables = ['x']\nlog_density = 'm*x - p*x^2/2'\n[parameters]\nm = 0\np = 1";

fn gaussian() -> Model {
    Model::from_toml(GAUSSIAN).unwrap()
}

fn rows(mean: f64, sd: f64, count: usize, seed: u64) -> Points {
    sample(&Normal::with_std(mean, sd).unwrap(), count, seed).with_names(&["x"]).unwrap()
}

fn exact(model: &Model, data: &Points) -> Fit {
    model.fit(data).exact().errors(CovarianceKind::ModelBased).run().unwrap()
}

/// Mean and maximum-likelihood variance.
fn moments(data: &Points) -> (f64, f64) {
    let (x, n) = (data.values(), data.rows() as f64);
    let mean = x.iter().sum::<f64>() / n;
    (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
}

/// The largest distance between the distribution of p-values and the uniform one, times the root of their number:
/// Kolmogorov's limit law has `P(> 1.95) = 0.001`.
fn kolmogorov(mut p_values: Vec<f64>) -> f64 {
    p_values.sort_by(f64::total_cmp);
    let n = p_values.len() as f64;
    let distance = |(i, p): (usize, &f64)| ((i as f64 + 1.0) / n - p).max(p - i as f64 / n);
    n.sqrt() * p_values.iter().enumerate().map(distance).fold(0.0, f64::max)
}
