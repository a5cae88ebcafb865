//! Whether the errors that fits report are the errors that they make, by simulation with derived bounds.
//!
//! `NOISEWRIGHT_REPEATS=2000 cargo test --release --test fit_statistics` runs the full number of repeats.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::fit::{Amount, CovarianceKind, Data, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::nalgebra::{Matrix3, Vector3};
use noisewright::{Fit, Loss, Model, Noise, Normal, Precision, Space, Target, Uniform, sample};
use rayon::prelude::*;

/// Repeats of a simulation, unless the environment asks for another number.
fn repeats(usual: usize) -> usize {
    std::env::var("NOISEWRIGHT_REPEATS").ok().and_then(|r| r.parse().ok()).unwrap_or(usual)
}

fn gaussian_features() -> Model {
    Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap()
}

fn gaussian_normalized() -> Model {
    let file = "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/(2*v) - log(2*pi*v)/2'\n[parameters]\nm = 0\nv = { start = 1, lower = 0 }";
    Model::from_toml(file).unwrap()
}

/// A simulation: where data come from, what is fitted, and what it should find.
struct Study<'a> {
    name: &'a str,
    source: &'a dyn Noise,
    model: Model,
    truth: Vec<f64>,
    errors: CovarianceKind,
}

impl Study<'_> {
    /// Fits of `rows` fresh data against fresh noise, each repeat with seeds of its own.
    fn fits(&self, rows: usize, nu: f64, count: usize) -> Vec<Fit> {
        let noise: Arc<dyn Noise> = Arc::new(Normal::with_variance(0.3, 2.0).unwrap());
        (0..count as u64)
            .into_par_iter()
            .map(|repeat| {
                let data = sample(self.source, rows, 2 * repeat + 1);
                let options = FitOptions {
                    noise: NoiseChoice::Given(noise.clone()),
                    amount: Amount::Ratio(nu),
                    errors: self.errors,
                    seed: 1_000_000 + repeat,
                    starts: 1,
                    ..FitOptions::default()
                };
                fit(&self.model, Data::from(&data), &options).unwrap()
            })
            .collect()
    }

    /// Checks the share of intervals that cover the truth against 95 %.
    fn check_coverage(&self, nu: f64) {
        let count = repeats(250);
        let fits = self.fits(1500, nu, count);
        // Four binomial standard errors, since a dozen shares are looked at: 5.5 points at 250 repeats, 1.9 at 2,000.
        let bound = 4.0 * (0.95 * 0.05 / count as f64).sqrt();
        for (j, truth) in self.truth.iter().enumerate() {
            let covered = fits.iter().filter(|f| {
                let e = f.estimates()[j];
                e.lower <= *truth && *truth <= e.upper
            });
            let share = covered.count() as f64 / count as f64;
            let name = fits[0].estimates()[j].name.clone();
            println!("{} ν = {nu} {name}: {:.2} % of {count}", self.name, 100.0 * share);
            assert!((share - 0.95).abs() < bound, "{} ν = {nu} {name}: {share}", self.name);
        }
    }
}

/// What a fit of the Gaussian features to data that are uniform on (−1.5, 2.5) tends to at this ν: the minimum of the expected
/// loss `E_d log(1 + e^−g) + ν E_n log(1 + e^g)`, by midpoint sums and Newton's method, with nothing of the library.
fn limit_of_uniform(nu: f64) -> Vec<f64> {
    let (mean, variance) = (0.3f64, 2.0f64);
    let log_noise = |x: f64| -0.5 * ((x - mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln());
    let midpoints = |from: f64, to: f64, density: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        let step = (to - from) / 20_000.0;
        (0..20_000).map(|i| from + (f64::from(i) + 0.5) * step).map(|x| (x, density(x) * step)).collect()
    };
    let data = midpoints(-1.5, 2.5, &|_| 0.25);
    let noise = midpoints(mean - 17.0, mean + 17.0, &|x| nu * log_noise(x).exp());
    // Starts where the model is the noise.
    let log_z = 0.5 * (std::f64::consts::TAU * variance).ln() + 0.5 * mean * mean / variance;
    let mut at = Vector3::new(mean / variance, -0.5 / variance, log_z);
    for _ in 0..50 {
        let (mut gradient, mut hessian) = (Vector3::zeros(), Matrix3::zeros());
        for (points, is_data) in [(&data, true), (&noise, false)] {
            for (x, weight) in points {
                let score = Vector3::new(*x, x * x, -1.0);
                let g = at.dot(&score) - log_noise(*x) - nu.ln();
                let of_data = 1.0 / (1.0 + (-g).exp());
                gradient += score * (weight * if is_data { of_data - 1.0 } else { of_data });
                hessian += score * score.transpose() * (weight * of_data * (1.0 - of_data));
            }
        }
        let step = hessian.try_inverse().unwrap() * gradient;
        at -= step * (1.0 / step.amax().max(1.0));
        if step.amax() < 1e-12 {
            return at.iter().copied().collect();
        }
    }
    panic!("no limit at ν = {nu}");
}

#[test]
fn intervals_cover_an_unnormalized_model() {
    let source = Normal::with_variance(0.5, 1.2).unwrap();
    let log_z = 0.5 * (std::f64::consts::TAU * 1.2).ln() + 0.5 * 0.25 / 1.2;
    let truth = vec![0.5 / 1.2, -0.5 / 1.2, log_z];
    for errors in [CovarianceKind::Robust, CovarianceKind::ModelBased] {
        let (model, truth) = (gaussian_features(), truth.clone());
        let study = Study { name: "unnormalized", source: &source, model, truth, errors };
        [0.5, 1.0, 5.0].into_iter().for_each(|nu| study.check_coverage(nu));
    }
}

#[test]
fn intervals_cover_a_normalized_model() {
    let source = Normal::with_variance(0.5, 1.2).unwrap();
    let (model, truth, errors) = (gaussian_normalized(), vec![0.5, 1.2], CovarianceKind::Robust);
    let study = Study { name: "normalized", source: &source, model, truth, errors };
    [0.5, 1.0, 5.0].into_iter().for_each(|nu| study.check_coverage(nu));
}

#[test]
fn intervals_cover_the_limit_of_a_misspecified_model() {
    // As far from a Gaussian as can be without tails, whose own slow convergence would be what is seen.
    let source = Uniform::new(-1.5, 2.5).unwrap();
    for nu in [0.5, 1.0, 5.0] {
        let (model, truth, errors) = (gaussian_features(), limit_of_uniform(nu), CovarianceKind::Robust);
        Study { name: "misspecified", source: &source, model, truth, errors }.check_coverage(nu);
    }
}

/// Mean and standard deviation.
fn moments(x: &[f64]) -> (f64, f64) {
    let (mean, variance) = noisewright_numerics::summation::mean_and_variance(x);
    (mean, variance.sqrt())
}

#[test]
fn seeds_spread_as_the_noise_part_says() {
    // The standard deviation of R values is known to 1/√(2(R−1)) of itself; four of those, which for 800 are 10 %.
    let count = repeats(800);
    let bound = 4.0 / (2.0 * (count as f64 - 1.0)).sqrt();
    let data = sample(&Normal::with_variance(0.5, 1.2).unwrap(), 500, 77);
    let model = gaussian_features();
    for nu in [1.0, 6.0] {
        let fits: Vec<Fit> = (0..count as u64)
            .into_par_iter()
            .map(|seed| {
                let options = FitOptions { amount: Amount::Ratio(nu), seed, ..FitOptions::default() };
                fit(&model, Data::from(&data), &options).unwrap()
            })
            .collect();
        for j in 0..3 {
            let of = |f: &dyn Fn(&noisewright::Estimate) -> f64| -> Vec<f64> {
                fits.iter().map(|fitted| f(fitted.estimates()[j])).collect()
            };
            let (_, spread) = moments(&of(&|e| e.estimate));
            let (reported, _) = moments(&of(&|e| e.se_noise));
            println!("ν = {nu}, {j}: spread over seeds / noise part = {:.4}", spread / reported);
            assert!((spread / reported - 1.0).abs() < bound, "ν = {nu}, {j}: {spread} {reported}");
        }
    }
}

#[test]
#[ignore = "long: ./test.sh --all"]
fn losses_err_as_the_theory_says() {
    // The mean of R squared errors is known to √(2/R) of itself; at T_d = 2000 terms of order 1/T_d add about 1 %.
    let count = repeats(1000);
    let bound = 4.0 * (2.0 / count as f64).sqrt() + 0.01;
    let file = "variables = ['x']\nlog_density = 'm*x - x^2/2'\n[parameters]\nm = 0";
    let model = Model::from_toml(file).unwrap();
    let (source, noise) =
        (Normal::with_variance(0.0, 1.0).unwrap(), Arc::new(Normal::with_variance(0.3, 1.3).unwrap()));
    let (rows, nu) = (2000, 1.0);
    let log_z = 0.5 * std::f64::consts::TAU.ln();
    for loss in [Loss::Js, Loss::Kl, Loss::Hellinger, Loss::ReverseKl] {
        let contrast = Contrast { noise: noise.as_ref(), nu, loss: &loss };
        let theory = asymptotic_error(&model, &[0.0], contrast, &Target::Mse, &Precision::default()).unwrap();
        let predicted = theory.covariance.diagonal() / rows as f64;
        let errors: Vec<[f64; 2]> = (0..count as u64)
            .into_par_iter()
            .map(|repeat| {
                let data = sample(&source, rows, 2 * repeat + 1);
                let options = FitOptions {
                    noise: NoiseChoice::Given(noise.clone()),
                    amount: Amount::Ratio(nu),
                    loss: loss.clone(),
                    seed: 1_000_000 + repeat,
                    ..FitOptions::default()
                };
                let found = fit(&model, Data::from(&data), &options).unwrap().unknowns();
                [found[0].powi(2), (found[1] - log_z).powi(2)]
            })
            .collect();
        for j in 0..2 {
            let mse = errors.iter().map(|e| e[j]).sum::<f64>() / count as f64;
            println!("{loss} {j}: MSE / theory = {:.4}", mse / predicted[j]);
            assert!((mse / predicted[j] - 1.0).abs() < bound, "{loss} {j}: {mse} {}", predicted[j]);
        }
    }
}
