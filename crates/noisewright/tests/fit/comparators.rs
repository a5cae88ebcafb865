//! Score matching, pseudo-likelihood and Brier's loss against theory, and their standard errors against simulation.

use noisewright::fit::{Data, Dependence, FitMethod, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::parts::Draws;
use noisewright::{
    Fit, Loss, Mixture, Model, Noise, Normal, Points, Population, Precision, Scalar, Target, sample,
};
use std::sync::Arc;

const QUARTIC: &str =
    "variables = ['x']\nlog_density = 'a*x^2/2 - b*x^4'\n[parameters]\na = 1\nb = { start = 0.1, lower = 0 }";
const TRUTH: [f64; 2] = [1.0, 0.1];

fn score_matching(model: &Model, data: Data<'_>) -> Fit {
    fit(model, data, &FitOptions { method: FitMethod::ScoreMatching, ..FitOptions::default() }).unwrap()
}

/// The model's own quadrature nodes as rows with weights: the limit of the estimate, and the asymptotic variance.
#[test]
fn the_error_of_score_matching_is_that_of_theory() {
    let model = Model::from_toml(QUARTIC).unwrap();
    let population = Population::new(&model, &TRUTH, &Precision::default()).unwrap();
    let rows = 1e9;
    let weights: Vec<f64> = population.log_weights().iter().map(|w| rows * w.exp()).collect();
    let found = score_matching(&model, Data::from(population.points()).with_weights(&weights));
    for (estimate, truth) in found.parameters.iter().zip(TRUTH) {
        assert!((estimate.estimate - truth).abs() < 1e-8, "{estimate:?}");
    }
    // MATH §13 by independent quadrature.
    for (j, expected) in [14.45128, 0.08453].into_iter().enumerate() {
        let variance = found.covariance[(j, j)] * rows;
        assert!((variance - expected).abs() < 1e-5, "{variance}");
    }
}

/// Draws of the quartic by the inverse of its distribution function on a fine grid.
fn quartic_draws(rows: usize, seed: u64) -> Points {
    let grid: Vec<f64> = (0..=8000).map(|i| -6.0 + 12.0 * f64::from(i) / 8000.0).collect();
    let density: Vec<f64> = grid.iter().map(|x| (0.5 * x * x - 0.1 * x.powi(4)).exp()).collect();
    let mut cumulated = vec![0.0; grid.len()];
    for i in 1..grid.len() {
        cumulated[i] = cumulated[i - 1] + 0.5 * (density[i] + density[i - 1]);
    }
    let uniform = noisewright::Uniform::new(0.0, cumulated[grid.len() - 1]).unwrap();
    let at = |u: &f64| {
        let i = cumulated.partition_point(|c| c < u).max(1);
        let share = (u - cumulated[i - 1]) / (cumulated[i] - cumulated[i - 1]);
        grid[i - 1] + share * (grid[i] - grid[i - 1])
    };
    Points::unnamed(1, rows, sample(&uniform, rows, seed).view().column(0).iter().map(at).collect())
}

#[test]
fn intervals_of_score_matching_cover_and_errors_are_the_spread() {
    const REPEATS: usize = 400;
    let model = Model::from_toml(QUARTIC).unwrap();
    let (mut covered, mut squares) = ([0usize; 3], [0.0; 2]);
    for seed in 0..REPEATS as u64 {
        let data = quartic_draws(600, seed);
        let found = score_matching(&model, Data::from(&data));
        // log Z by trapezoids, as independent of ours as it is simple.
        let step = 12.0 / 8000.0;
        let truth_z = (0..=8000)
            .map(|i| -6.0 + step * f64::from(i))
            .map(|x: f64| (0.5 * x * x - 0.1 * x.powi(4)).exp() * step)
            .sum::<f64>()
            .ln();
        let estimates = found.estimates();
        for (j, truth) in [1.0, 0.1, truth_z].into_iter().enumerate() {
            covered[j] += usize::from(estimates[j].lower <= truth && truth <= estimates[j].upper);
        }
        for (j, square) in squares.iter_mut().enumerate() {
            *square += (estimates[j].estimate - TRUTH[j]).powi(2) * 600.0 / REPEATS as f64;
        }
    }
    // Four standard deviations of a share of 400, and of a mean of 400 squares.
    for covered in covered {
        let share = covered as f64 / REPEATS as f64;
        assert!((share - 0.95).abs() < 4.0 * (0.95 * 0.05 / REPEATS as f64).sqrt(), "{covered:?}");
    }
    for (square, expected) in squares.iter().zip([14.45128, 0.08453]) {
        assert!((square / expected - 1.0).abs() < 4.0 * (2.0 / REPEATS as f64).sqrt() + 0.05, "{squares:?}");
    }
}

/// Weights count rows, and clusters of one row are rows.
#[test]
fn weights_and_clusters_of_comparators() {
    let model = Model::from_toml(QUARTIC).unwrap();
    let once = quartic_draws(50, 1);
    let x = once.view().column(0);
    let twice = Points::unnamed(1, 100, x.iter().chain(x).copied().collect());
    let weights = [2.0; 50];
    let (repeated, weighted) = (
        score_matching(&model, Data::from(&twice)),
        score_matching(&model, Data::from(&once).with_weights(&weights)),
    );
    let clusters: Vec<u64> = (0..50).chain(0..50).collect();
    let clustered =
        score_matching(&model, Data::from(&twice).with_dependence(Dependence::Clusters(&clusters)));
    let plain = score_matching(&model, Data::from(&once));
    for j in 0..2 {
        assert!((repeated.parameters[j].estimate - weighted.parameters[j].estimate).abs() < 1e-12);
        assert!((repeated.parameters[j].se / weighted.parameters[j].se - 1.0).abs() < 1e-9);
        // G/(G − 1) · (n − 1)/(n − p) with n = 100 rows and the three unknowns, over the plain sandwich of 50.
        let factor = 50.0 / 49.0 * 99.0 / 97.0;
        assert!(((clustered.parameters[j].se / plain.parameters[j].se).powi(2) / factor - 1.0).abs() < 1e-6);
    }
}

const MEAN: &str = "variables = ['x']\nlog_density = 'm*x - x^2/2'\n[parameters]\nm = 0";

/// Quantiles, which stand for a sample without its chance.
fn quantiles(of: &dyn Scalar, count: usize) -> Vec<f64> {
    (0..count).map(|i| of.quantile((i as f64 + 0.5) / count as f64)).collect()
}

/// MATH §10: the limits of the estimated mean with 5 % of the data at 8 ± 0.1, noise N(0, 4), ν = 1; the data as a trapezoidal rule.
#[test]
fn limits_with_outliers() {
    let rows = 20_000;
    let step = 0.01;
    let data: Vec<f64> = (0..1700).map(|i| -8.0 + step * f64::from(i)).collect();
    let bell = |x: f64, s: f64| (-0.5 * x * x / (s * s)).exp() / (s * std::f64::consts::TAU.sqrt());
    let density = |x: &f64| 0.95 * bell(*x, 1.0) + 0.05 * bell(*x - 8.0, 0.1);
    let weights: Vec<f64> = data.iter().map(|x| density(x) * step * rows as f64).collect();
    let noise = Normal::with_variance(0.0, 4.0).unwrap();
    let draws = quantiles(&noise, rows);
    let log_density = |x: &[f64]| {
        let mut out = vec![0.0; x.len()];
        Noise::log_density(&noise, noisewright::View::new(1, x.len(), x), &mut out);
        out
    };
    let drawn = Draws {
        log_density: log_density(&draws),
        log_density_at_data: log_density(&data),
        points: Points::unnamed(1, rows, draws),
    };
    let model = Model::from_toml(MEAN).unwrap();
    let data = Points::unnamed(1, data.len(), data);
    let limit = |loss: Loss| {
        let noise = NoiseChoice::Draws(Arc::new(drawn.clone()));
        fit(
            &model,
            Data::from(&data).with_weights(&weights),
            &FitOptions { noise, loss, ..FitOptions::default() },
        )
        .unwrap()
    };
    for (loss, expected) in [(Loss::Js, 0.6976), (Loss::Hellinger, 2.1356), (Loss::Brier, 0.0)] {
        let found = limit(loss.clone());
        println!("{loss}: {:?}", found.parameters[0].estimate);
        assert!((found.parameters[0].estimate - expected).abs() < 1e-3, "{loss}: {:?}", found.parameters[0]);
        if matches!(loss, Loss::Brier) {
            let share = found.clean_share.clone().unwrap();
            assert!((share.estimate - 0.95).abs() < 1e-3, "{share:?}");
        } else {
            assert!(found.clean_share.is_none());
        }
    }
}

/// MATH §10: T_d·Var without outliers.
#[test]
fn the_error_of_brier_is_that_of_theory() {
    let model = Model::from_toml(MEAN).unwrap();
    let noise = Normal::with_variance(0.0, 4.0).unwrap();
    for (loss, expected) in [(Loss::Brier, 1.877), (Loss::Js, 1.720)] {
        let contrast = Contrast { noise: &noise, nu: 1.0, loss: &loss };
        let report = asymptotic_error(&model, &[0.0], contrast, &Target::Mse, &Precision::default()).unwrap();
        println!("{loss}: {}", report.covariance);
        assert!((report.covariance[(0, 0)] - expected).abs() < 1e-3, "{loss}: {}", report.covariance);
    }
}

#[test]
fn intervals_of_brier_cover_and_outliers_do_not_move_them() {
    const REPEATS: usize = 300;
    const ROWS: usize = 400;
    let model = Model::from_toml(MEAN).unwrap();
    let clean: Arc<dyn Noise> = Arc::new(Normal::with_std(0.0, 1.0).unwrap());
    let outliers: Arc<dyn Noise> = Arc::new(Normal::with_std(8.0, 0.1).unwrap());
    let dirty = Mixture::<dyn Noise>::of_shared(vec![(0.95, Arc::clone(&clean)), (0.05, outliers)]).unwrap();
    let noise = Normal::with_variance(0.0, 4.0).unwrap();
    let one = |data: &Points, seed: u64| {
        let fitted =
            model.fit(data).noise(noise.clone()).ratio(1.0).loss(Loss::Brier).seed(seed).run().unwrap();
        let mean = &fitted.parameters[0];
        (mean.lower <= 0.0 && 0.0 <= mean.upper, mean.estimate, fitted.clean_share.unwrap().estimate)
    };
    let (mut covered, mut square, mut share) = (0, 0.0, 0.0);
    for seed in 0..REPEATS as u64 {
        let (covers, estimate, _) = one(&sample(clean.as_ref(), ROWS, seed), seed);
        covered += usize::from(covers);
        square += estimate * estimate * ROWS as f64 / REPEATS as f64;
        if seed < 40 {
            let (_, estimate, clean_share) = one(&sample(&dirty, ROWS, seed), seed);
            assert!(estimate.abs() < 5.0 * (1.877f64 / 380.0).sqrt(), "{estimate}");
            share += clean_share / 40.0;
        }
    }
    let bound = 4.0 * (0.95 * 0.05 / REPEATS as f64).sqrt();
    assert!((covered as f64 / REPEATS as f64 - 0.95).abs() < bound, "{covered}");
    assert!((square / 1.877 - 1.0).abs() < 4.0 * (2.0 / REPEATS as f64).sqrt() + 0.05, "{square}");
    // Of 40 shares each with an error of about √(T_d·Var(log Ẑ − ĉ)/400) ≈ 0.07.
    assert!((share - 0.95).abs() < 4.0 * 0.07 / 40f64.sqrt(), "{share}");
}
