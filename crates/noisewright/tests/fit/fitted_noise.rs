//! Noise that was fitted to the very rows: tests of right models, errors of wrong ones, and data that are hard to fit it to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, WarningKind};
use noisewright::internal::fit::fit;
use noisewright::{
    Bandwidth, Domain, Gamma, KernelDensity, Laplace, Mixture, Model, MultivariateNormal, Noise, Normal,
    Points, Space, Student, View, fit_auto, sample,
};
use rayon::prelude::*;

fn options(noise: NoiseChoice, nu: f64) -> FitOptions {
    FitOptions { noise, amount: Amount::Ratio(nu), ..FitOptions::default() }
}

/// e^−x on the unit square, by the inverse distribution function along x.
fn exponential_square(rows: usize, seed: u64) -> Points {
    let uniform = sample(&noisewright::Uniform::new(0.0, 1.0).unwrap(), 2 * rows, seed);
    let u = uniform.view().column(0);
    let x = u[..rows].iter().map(|u| -(1.0 - u * (1.0 - (-1f64).exp())).ln());
    Points::unnamed(2, rows, x.chain(u[rows..].iter().copied()).collect())
}

#[test]
fn a_right_model_is_not_rejected_for_its_fitted_noise() {
    // The test that takes a histogram fitted to the same 4,000 rows as given rejects every time at 1 %.
    let unit = Domain::Interval(0.0, 1.0);
    let space = Space::product(&[("x", unit.clone()), ("y", unit)]).unwrap();
    let model = Model::from_features(&["x", "y", "x*y"], space, vec![]).unwrap();
    let one = |seed: u64| {
        let points = exponential_square(4000, seed);
        let found = fit(&model, Data::from(&points), &options(NoiseChoice::Auto, 4.0)).unwrap();
        found.diagnostics.has(WarningKind::Misspecified)
    };
    let rejected = (0..20u64).into_par_iter().map(one).filter(|rejected| *rejected).count();
    // At 1 % of 20, three or more have the probability 0.001.
    assert!(rejected <= 2, "{rejected} of 20");
}

#[test]
fn a_right_model_is_not_rejected_for_a_histogram_on_its_interval() {
    // A normal distribution on [−1, 2]: the test that takes the histogram as given rejected 82 of 100.
    let space = Space::product(&[("x", Domain::Interval(-1.0, 2.0))]).unwrap();
    let model = Model::from_features(&["x", "x^2"], space, vec![]).unwrap();
    let normal = Normal::with_variance(0.0, 1.0).unwrap();
    let one = |seed: u64| {
        let drawn = sample(&normal, 8000, 500 + seed).into_values();
        let mut inside: Vec<f64> = drawn.into_iter().filter(|x| *x > -1.0 && *x < 2.0).collect();
        inside.truncate(4000);
        assert_eq!(inside.len(), 4000);
        let points = Points::unnamed(1, 4000, inside);
        let options = FitOptions { seed, ..options(NoiseChoice::Auto, 4.0) };
        fit(&model, Data::from(&points), &options).unwrap().diagnostics.has(WarningKind::Misspecified)
    };
    let rejected = (0..60u64).into_par_iter().map(one).filter(|rejected| *rejected).count();
    println!("rejected {rejected} of 60");
    // At 1 % of 60, five or more have the probability 0.0003.
    assert!(rejected <= 4, "{rejected} of 60");
}

#[test]
fn a_right_model_of_many_variables_is_not_rejected_for_a_noise_with_more_moments() {
    // Ten independent normals against the normal distribution with their covariance: the test that takes it as given rejects all.
    let names: Vec<String> = (0..10).map(|j| format!("x{j}")).collect();
    let features: Vec<String> = names.iter().cloned().chain(names.iter().map(|n| format!("{n}^2"))).collect();
    let model = Model::from_features(&features, Space::real(&names).unwrap(), vec![]).unwrap();
    let one = |seed: u64| {
        let drawn = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 10 * 1000, 900 + seed);
        let points = Points::unnamed(10, 1000, drawn.into_values());
        let noise: Arc<dyn Noise> = Arc::new(MultivariateNormal::fit(points.view(), None).unwrap());
        let rejects = |noise: Arc<dyn Noise>| {
            let options = FitOptions { seed, ..options(NoiseChoice::Given(noise), 4.0) };
            let found = fit(&model, Data::from(&points), &options).unwrap();
            found.diagnostics.has(WarningKind::Misspecified)
        };
        // The same density as a mixture of two equal parts, which nothing fits to other rows.
        let parts = vec![(0.5, noise.clone()), (0.5, noise.clone())];
        let as_given: Arc<dyn Noise> = Arc::new(Mixture::of_shared(parts).unwrap());
        (rejects(noise), seed < 5 && rejects(as_given))
    };
    let found: Vec<(bool, bool)> = (0..40u64).into_par_iter().map(one).collect();
    let [rejected, as_given] = [found.iter().filter(|f| f.0).count(), found.iter().filter(|f| f.1).count()];
    println!("rejected {rejected} of 40, as given {as_given} of 5");
    // At 1 % of 40, four or more have the probability 0.0007.
    assert!(rejected <= 3 && as_given == 5, "{rejected} of 40, {as_given} of 5");
}

#[test]
fn a_right_model_is_not_rejected_for_kernels_at_its_rows() {
    // The test whose halves changed places, every second row, rejected 8 of 60 where the rows were sorted.
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    for sorted in [false, true] {
        let one = |seed: u64| {
            let mut values =
                sample(&Normal::with_variance(1.0, 4.0).unwrap(), 500, 7000 + seed).view().column(0).to_vec();
            if sorted {
                values.sort_by(f64::total_cmp);
            }
            let points = Points::unnamed(1, values.len(), values);
            let kernels = KernelDensity::fit(points.view(), None, Bandwidth::Silverman).unwrap();
            let options = FitOptions { seed, ..options(NoiseChoice::Given(Arc::new(kernels)), 5.0) };
            fit(&model, Data::from(&points), &options).unwrap().diagnostics.has(WarningKind::Misspecified)
        };
        let rejected = (0..100u64).into_par_iter().map(one).filter(|rejected| *rejected).count();
        println!("sorted: {sorted}, rejected {rejected} of 100");
        // At 1 % of 100, six or more have the probability 0.0005.
        assert!(rejected <= 5, "sorted: {sorted}, {rejected} of 100");
    }
}

#[test]
fn a_wrong_model_is_still_rejected() {
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let points = sample(&Laplace::new(0.0, 1.0).unwrap(), 4000, 3);
    let found = fit(&model, Data::from(&points), &options(NoiseChoice::Auto, 4.0)).unwrap();
    assert!(found.diagnostics.has(WarningKind::Misspecified), "{:?}", found.diagnostics.information_test);
}

#[test]
fn heavy_tails_in_a_normal_model_are_seen_against_kernels() {
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let one = |seed: u64| {
        let points = sample(&Student::new(3.0, 0.0, 1.0).unwrap(), 3000, 8000 + seed);
        let kernels = KernelDensity::fit(points.view(), None, Bandwidth::Silverman).unwrap();
        let options = FitOptions { seed, ..options(NoiseChoice::Given(Arc::new(kernels)), 1.0) };
        fit(&model, Data::from(&points), &options).unwrap().diagnostics.has(WarningKind::Misspecified)
    };
    let rejected = (0..20u64).into_par_iter().map(one).filter(|rejected| *rejected).count();
    println!("rejected {rejected} of 20");
    // With a power of 95 % fewer than 16 have the probability 0.003.
    assert!(rejected >= 16, "{rejected} of 20");
}

#[test]
fn the_errors_of_a_wrong_model_know_that_its_noise_was_fitted() {
    // Laplace data in a normal model, ν = 1, noise normal(mean, variance of the rows): the standard deviation of the
    // coefficient of x² over samples is 0.0275, the errors that take the noise as given 0.0178. A standard deviation from
    // 300 samples is known to 4 %.
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let one = |seed: u64| {
        let points = sample(&Laplace::new(0.0, 1.0).unwrap(), 500, 1000 + seed);
        let noise: Arc<dyn Noise> = Arc::new(Normal::fit(points.view(), None).unwrap());
        let options = FitOptions { seed, ..options(NoiseChoice::Given(noise), 1.0) };
        let found = fit(&model, Data::from(&points), &options).unwrap();
        (found.parameters[1].estimate, found.parameters[1].se)
    };
    let found: Vec<(f64, f64)> = (0..300u64).into_par_iter().map(one).collect();
    let estimates: Vec<f64> = found.iter().map(|f| f.0).collect();
    let deviation = noisewright_numerics::summation::mean_and_variance(&estimates).1.sqrt();
    let error = found.iter().map(|f| f.1).sum::<f64>() / 300.0;
    println!("{deviation} against {error}");
    assert!((error / deviation - 1.0).abs() < 0.16, "{error} against {deviation}");
}

#[test]
fn the_errors_of_a_wrong_model_know_that_its_noise_was_fitted_before_its_refit() {
    // Exponential data in a normal model, ν = 1, noise normal(mean, variance of the rows) fitted once more to its own draws, which
    // move with the rows as it does. Intervals of x² covered 0.78 where that was left out, and the median error was 0.62 of the
    // deviation over samples. A share of 300 near 0.95 is known to 0.0126, four of which are allowed; a deviation from 300
    // samples is known to 4 %, and the median of errors with so long a tail lies a few per cent from their mean square.
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let one = |seed: u64| {
        let points = sample(&Gamma::new(1.0, 1.0).unwrap(), 500, 3000 + seed);
        let noise: Arc<dyn Noise> = Arc::new(Normal::fit(points.view(), None).unwrap());
        let options = FitOptions { seed, refit_noise: true, ..options(NoiseChoice::Given(noise), 1.0) };
        let found = fit(&model, Data::from(&points), &options).unwrap();
        [0, 1].map(|j| (found.parameters[j].estimate, found.parameters[j].se))
    };
    let found: Vec<[(f64, f64); 2]> = (0..300u64).into_par_iter().map(one).collect();
    for j in 0..2 {
        let estimates: Vec<f64> = found.iter().map(|f| f[j].0).collect();
        let (mean, variance) = noisewright_numerics::summation::mean_and_variance(&estimates);
        let covered = found.iter().filter(|f| (f[j].0 - mean).abs() < 1.96 * f[j].1).count();
        let mut errors: Vec<f64> = found.iter().map(|f| f[j].1).collect();
        errors.sort_by(f64::total_cmp);
        println!("{j}: covered {covered} of 300, {} against {}", errors[150], variance.sqrt());
        assert!(covered >= 270, "{j}: {covered} of 300");
        let ratio = errors[150] / variance.sqrt();
        assert!((0.8..1.3).contains(&ratio), "{j}: {ratio}");
    }
}

#[test]
fn noise_round_heavy_tails_is_where_the_data_are() {
    for (dof, seed) in [(1.0, 1), (0.7, 2), (1.5, 3)] {
        let points = sample(&Student::new(dof, 0.0, 2.0).unwrap(), 200, seed);
        let noise = fit_auto(&Space::real(&["x"]).unwrap(), points.view(), None).unwrap();
        // Half of the draws within the quartiles of the data, up to the widening: between a quarter and 60 %.
        let mut sorted = points.view().column(0).to_vec();
        sorted.sort_by(f64::total_cmp);
        let draws = sample(noise.as_ref(), 4000, 9);
        let inside = draws.view().column(0).iter().filter(|x| **x > sorted[50] && **x < sorted[150]).count();
        assert!((1000..2400).contains(&inside), "{dof}: {} {inside}", noise.describe());
    }
    let columns = [
        sample(&Student::new(1.0, 0.0, 2.0).unwrap(), 300, 5),
        sample(&Normal::with_variance(0.0, 1.0).unwrap(), 300, 6),
    ];
    let values = columns.iter().flat_map(|c| c.view().column(0).to_vec()).collect::<Vec<f64>>();
    let noise = fit_auto(&Space::real(&["x", "y"]).unwrap(), View::new(2, 300, &values), None).unwrap();
    let draws = sample(noise.as_ref(), 4000, 9);
    let near = draws.view().column(1).iter().filter(|y| y.abs() < 1.0).count();
    assert!(near > 1000, "{near}");
}

#[test]
fn noise_for_a_density_with_a_pole_does_not_reach_the_end_of_the_numbers() {
    // Features log x and x of gamma(0.1, 1): the log-normal part reached 1e24, which looked like separation.
    let space = Space::product(&[("x", Domain::Positive)]).unwrap();
    let model = Model::from_features(&["log(x)", "x"], space.clone(), vec![]).unwrap();
    for seed in 0..4 {
        let points = sample(&Gamma::new(0.1, 1.0).unwrap(), 500, seed);
        let exact = fit(
            &model,
            Data::from(&points),
            &FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() },
        );
        let found = fit(&model, Data::from(&points), &FitOptions { seed, ..FitOptions::default() }).unwrap();
        assert!(
            found.converged && found.diagnostics.no_answer().is_none(),
            "{:?}",
            found.diagnostics.warnings
        );
        let exact = exact.unwrap();
        for (a, b) in found.parameters.iter().zip(&exact.parameters) {
            // Only the noise part lies between the two, which have the data in common.
            assert!(
                (a.estimate - b.estimate).abs() < 4.0 * a.se_noise + 0.3 * a.se,
                "{} {} {}",
                a.estimate,
                b.estimate,
                a.se
            );
        }
    }
}

#[test]
fn cells_are_laid_over_the_data() {
    // N(0, 1) on ever wider domains takes no more noise.
    let points = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 600, 2);
    let mut needed = Vec::new();
    for width in [10.0, 1000.0, 1e6] {
        let space = Space::product(&[("x", Domain::Interval(-width, width))]).unwrap();
        let model = Model::from_features(&["x", "x^2"], space, vec![]).unwrap();
        let found = fit(&model, Data::from(&points), &FitOptions::default()).unwrap();
        assert!(found.converged && !found.budget_spent, "{width}");
        assert!((found.parameters[1].estimate + 0.5).abs() < 4.0 * found.parameters[1].se, "{width}");
        needed.push(found.noise_points);
    }
    println!("{needed:?}");
    assert!(needed[2] <= 4 * needed[0], "{needed:?}");
}

#[test]
fn a_chain_of_many_spins_is_fitted_by_its_tree() {
    // 50 spins in a chain, J = 0.7, log Z = 50 log 2 + 49 log cosh 0.7: independent noise had log Z off by 2.1 ± 0.8.
    let spins = 50;
    let count = 500;
    let uniform = sample(&noisewright::Uniform::new(0.0, 1.0).unwrap(), spins * count, 8);
    let same = 1.0 / (1.0 + (-1.4f64).exp());
    let mut values = vec![0.0; spins * count];
    for row in 0..count {
        let mut spin = 1.0;
        for j in 0..spins {
            let u = uniform.view().column(0)[j * count + row];
            let keep = if j == 0 { 0.5 } else { same };
            spin *= if u < keep { 1.0 } else { -1.0 };
            values[j * count + row] = spin;
        }
    }
    let names: Vec<String> = (0..spins).map(|j| format!("'x{j}'")).collect();
    let edges: Vec<String> = (1..spins).map(|j| format!("[{}, {j}]", j - 1)).collect();
    let file = format!(
        "variables = [{}]\nfamily = 'ising'\nstates = [-1, 1]\nedges = [{}]",
        names.join(", "),
        edges.join(", ")
    );
    let model = Model::from_toml(&file).unwrap();
    let points = Points::unnamed(spins, count, values);
    let found = fit(&model, Data::from(&points), &options(NoiseChoice::Auto, 10.0)).unwrap();
    let constant = found.log_normalizer.as_ref().unwrap();
    let truth = 50.0 * 2f64.ln() + 49.0 * 0.7f64.cosh().ln();
    println!("{} ± {} against {truth}, {:?}", constant.estimate, constant.se, found.diagnostics.overlap);
    assert!(found.converged && !found.diagnostics.has(WarningKind::LittleOverlap));
    assert!((constant.estimate - truth).abs() < 4.0 * constant.se, "{} ± {}", constant.estimate, constant.se);
    assert!(found.diagnostics.overlap.unwrap().overlap > 0.5);
}
