//! The designed noise in practice: draw data and noise, fit, repeat, and compare with what the theory promised.
//!
//! 200 repeats by default; `NOISEWRIGHT_REPEATS=4000` for the full size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use nalgebra::{DMatrix, DVector};
use noisewright::design::{DesignOptions, Ratio};
use noisewright::internal::design::design;
use noisewright::parts::ModelNoise;
use noisewright::{Model, Noise, Points, Precision, sample};
use noisewright_numerics::gram::{Columns, weighted_gram, weighted_sum};
use noisewright_numerics::special::sigmoid;
use rayon::prelude::*;

/// Points in all.
const BUDGET: f64 = 20_000.0;

fn repeats() -> usize {
    std::env::var("NOISEWRIGHT_REPEATS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// One class of points with the log-density of the noise there.
struct Class {
    points: Points,
    log_noise: Vec<f64>,
}

impl Class {
    fn draw(source: &dyn Noise, noise: &dyn Noise, count: usize, seed: u64) -> Self {
        let points = sample(source, count, seed);
        let mut log_noise = vec![0.0; count];
        noise.log_density(points.view(), &mut log_noise);
        Self { points, log_noise }
    }

    /// Adds the gradient and the Gauss–Newton matrix of the JS loss; `sign` is −1 for data, 1 for noise.
    fn add(
        &self,
        model: &Model,
        beta: &[f64],
        log_nu: f64,
        sign: f64,
        scale: f64,
        sums: &mut (DVector<f64>, DMatrix<f64>),
    ) {
        let (rows, size, count) = (self.points.rows(), beta.len(), model.parameters().len());
        let mut value = vec![0.0; rows];
        let mut score = vec![0.0; rows * count];
        model.evaluate(&beta[..count], self.points.view(), &mut value, Some(&mut score)).unwrap();
        score.resize(rows * size, -1.0);
        let constant = if size > count { beta[count] } else { 0.0 };
        let (mut pull, mut doubt) = (vec![0.0; rows], vec![0.0; rows]);
        for i in 0..rows {
            let g = value[i] - constant - self.log_noise[i] - log_nu;
            pull[i] = scale * sign * sigmoid(sign * g);
            doubt[i] = scale * sigmoid(g) * sigmoid(-g);
        }
        let columns = Columns::new(&score, rows, size, rows);
        weighted_sum(columns, &pull, sums.0.as_mut_slice());
        weighted_gram(columns, &doubt, sums.1.as_mut_slice());
    }
}

/// A minimal fit: Gauss–Newton from the truth.
fn fit(model: &Model, start: &[f64], nu: f64, data: &Class, noise: &Class) -> Vec<f64> {
    let mut beta = start.to_vec();
    for _ in 0..60 {
        let mut sums = (DVector::zeros(beta.len()), DMatrix::zeros(beta.len(), beta.len()));
        data.add(model, &beta, nu.ln(), -1.0, 1.0 / data.points.rows() as f64, &mut sums);
        noise.add(model, &beta, nu.ln(), 1.0, nu / noise.points.rows() as f64, &mut sums);
        let step = sums.1.cholesky().expect("overlap").solve(&sums.0);
        beta.iter_mut().zip(step.iter()).for_each(|(b, s)| *b -= s);
        if step.amax() < 1e-9 {
            break;
        }
    }
    beta
}

/// Mean and standard error of T times the squared error of the fit.
fn simulate(model: &Model, truth: &[f64], noise: &dyn Noise, nu: f64) -> (f64, f64) {
    let parameters = &truth[..model.parameters().len()];
    let source = ModelNoise::data(model, parameters, &Precision::default()).unwrap();
    let data_count = (BUDGET / (1.0 + nu)).round() as usize;
    let noise_count = (nu * data_count as f64).round() as usize;
    let ratio = noise_count as f64 / data_count as f64;
    let errors: Vec<f64> = (0..repeats() as u64)
        .into_par_iter()
        .map(|i| {
            let data = Class::draw(&source, noise, data_count, 2 * i);
            let contrast = Class::draw(noise, noise, noise_count, 2 * i + 1);
            let beta = fit(model, truth, ratio, &data, &contrast);
            beta.iter().zip(truth).map(|(b, t)| BUDGET * (b - t).powi(2)).sum()
        })
        .collect();
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// Within 5 % beyond four standard errors of the simulation.
fn agrees(simulated: (f64, f64), predicted: f64) {
    let (mean, error) = simulated;
    let off = (mean - predicted).abs();
    assert!(off <= 0.05 * predicted + 4.0 * error, "{mean} ± {error} instead of {predicted}");
}

fn holds_in_practice(text: &str, nu: f64) {
    let model = Model::from_toml(text).unwrap();
    let options = DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() };
    let best = design(&model, &model.start(), &options).unwrap();
    let mut truth = model.start();
    if !model.is_normalized() {
        truth.push(best.population.log_normalizer());
    }
    let designed = simulate(&model, &truth, &best.noise, nu);
    agrees(designed, best.error);
    let equal = ModelNoise::data(&model, &model.start(), &Precision::default()).unwrap();
    let plain = simulate(&model, &truth, &equal, nu);
    agrees(plain, best.noise_equals_data);
    // The factor between the two, by the errors of both.
    let (factor, predicted) = (plain.0 / designed.0, best.noise_equals_data / best.error);
    let error = factor * ((plain.1 / plain.0).powi(2) + (designed.1 / designed.0).powi(2)).sqrt();
    assert!(
        (factor - predicted).abs() <= 0.05 * predicted + 4.0 * error,
        "{factor} ± {error}, not {predicted}"
    );
    println!(
        "{:.4} ± {:.4} for {:.4}; {:.4} ± {:.4} for {:.4}; factor {factor:.4} for {predicted:.4}",
        designed.0, designed.1, best.error, plain.0, plain.1, best.noise_equals_data
    );
}

#[test]
fn the_mean() {
    holds_in_practice(
        "variables = ['x']\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\nnormalized = true\n[parameters]\nm = 0",
        1.0,
    );
}

#[test]
fn the_variance() {
    holds_in_practice(
        "variables = ['x']\nlog_density = '-x^2/(2*v) - log(2*pi*v)/2'\nnormalized = true\n[parameters]\nv = 1",
        1.0,
    );
}

#[test]
fn a_quartic_with_two_parameters_and_a_free_constant() {
    holds_in_practice(
        "variables = ['x']\nlog_density = 'a*x^2/2 - b*x^4/4'\n[parameters]\na = 1\nb = 1",
        0.5,
    );
}
