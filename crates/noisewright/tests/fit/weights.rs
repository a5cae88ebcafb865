//! Weights are counts: rows that stand for thousands of observations cost no more than rows, and say as much as they count.
#![allow(clippy::unwrap_used)]

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, WarningKind};
use noisewright::internal::fit::fit;
use noisewright::parts::Remedy;
use noisewright::{Fit, Model, MultivariateNormal, Normal, Points, Space, Student, sample};

#[test]
fn counts_are_fitted_without_noise() {
    let data = sample(&Normal::with_variance(0.5, 1.0).unwrap(), 2000, 1);
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let x = data.values();
    let mean = x.iter().sum::<f64>() / 2000.0;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2000.0;
    let once = model.fit(&data).exact().run().unwrap();
    for count in [1e3, 1e6, 1e9] {
        let weights = vec![count; 2000];
        let fitted = model.fit(&data).weights(&weights).run().unwrap();
        assert!(fitted.converged && fitted.noise_points == 0, "{count}: {}", fitted.noise_description);
        // Maximum likelihood, −1/(2σ²) and μ/σ², to a hundredth of the small standard error or as rounding allows.
        for (estimate, truth) in fitted.parameters.iter().zip([mean / variance, -0.5 / variance]) {
            let off = (estimate.estimate - truth).abs();
            assert!(off < 1e-2 * estimate.se + 1e-10, "{count}: {estimate:?} {truth}");
        }
        // Rows that count once have the correction for their leverage, a share of about 3/2000 each, which counts hardly have.
        for (many, one) in fitted.estimates().iter().zip(once.estimates()) {
            assert!((many.se * count.sqrt() / one.se - 1.0).abs() < 0.01, "{count}: {many:?} {one:?}");
        }
    }
}

#[test]
fn weights_that_may_be_no_counts_are_said_to_be_the_reason_of_a_misfit() {
    let data = sample(&Normal::with_variance(0.5, 1.0).unwrap(), 2000, 1);
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    let remedies = |weight: f64, data: &Points| {
        let fitted = model.fit(data).weights(&vec![weight; data.rows()]).exact().run().unwrap();
        let warning = fitted.diagnostics.warnings.into_iter().find(|w| w.kind == WarningKind::Misspecified);
        warning.map(|warning| warning.remedies)
    };
    // A right model: two thousand observations do not reject it, and two thousand million at two thousand places do.
    assert_eq!(remedies(1.0, &data), None);
    assert_eq!(remedies(1e6, &data), Some(vec![Remedy::ScaleWeights, Remedy::ExtendModel]));
    // A wrong one, whatever the weights.
    let heavy = sample(&Student::new(3.0, 0.0, 1.0).unwrap(), 2000, 1);
    for weight in [1.0, 1e6] {
        assert_eq!(remedies(weight, &heavy), Some(vec![Remedy::ExtendModel]), "{weight}");
    }
}

#[test]
fn counts_in_a_family_are_fitted_without_noise() {
    let data = sample(&Student::new(4.0, 1.0, 2.0).unwrap(), 500, 3);
    let family =
        |more: &str| Model::from_toml(&format!("variables = ['x']\nfamily = 'student'\n{more}")).unwrap();
    let weights = vec![1e3; 500];
    let fitted = family("dof = 4").fit(&data).weights(&weights).run().unwrap();
    assert!(fitted.converged && fitted.noise_points == 0, "{}", fitted.noise_description);
    // The constant in closed form, which is taken there, is the one that a normalized model has.
    let normalized = family("dof = 4\nnormalized = true").fit(&data).weights(&weights).exact().run().unwrap();
    for (one, other) in fitted.parameters.iter().zip(&normalized.parameters) {
        assert!((one.estimate - other.estimate).abs() < 1e-3 * one.se, "{one:?} {other:?}");
    }
}

#[test]
fn counts_in_many_variables_keep_to_the_budget_of_noise() {
    let (names, zero) = (["a", "b", "c", "d"], [0.0; 4]);
    let unit: Vec<f64> = (0..16).map(|i| if i % 5 == 0 { 1.0 } else { 0.0 }).collect();
    let data = sample(&MultivariateNormal::new(&zero, &unit).unwrap(), 1000, 1);
    let features = ["a", "b", "c", "d", "a^2 + b^2 + c^2 + d^2"];
    let model = Model::from_features(&features, Space::real(&names).unwrap(), vec![]).unwrap();
    let (weights, most_values) = (vec![1e9; 1000], 1 << 19);
    let options = FitOptions { amount: Amount::Auto { share: 0.1, most_values }, ..FitOptions::default() };
    let fitted = fit(&model, Data::from(&data).with_weights(&weights), &options).unwrap();
    assert!(fitted.converged && fitted.budget_spent, "{:?}", fitted.stop);
    assert!(fitted.noise_points * 6 <= most_values, "{}", fitted.noise_points);
    // With next to no noise per observation another weighting of the thousand rows is fitted: near, by the rows' own errors.
    let once = fit(&model, Data::from(&data), &options).unwrap();
    for (many, one) in fitted.estimates().iter().zip(once.estimates()) {
        assert!(
            (many.estimate - one.estimate).abs() < 4.0 * (one.se.powi(2) + many.se.powi(2)).sqrt(),
            "{many:?} {one:?}"
        );
    }
    let centre = &fitted.parameters[0];
    assert!(centre.se_noise > 10.0 * centre.se_data, "{centre:?}");
}

/// A fit to rows that count, and one to as many rows.
fn weighted_and_repeated(model: &Model, columns: &[Vec<f64>], weights: &[f64], noise: &str) -> [Fit; 2] {
    let repeat = |column: &Vec<f64>| -> Vec<f64> {
        column.iter().zip(weights).flat_map(|(x, w)| std::iter::repeat_n(*x, *w as usize)).collect()
    };
    let files: noisewright::parts::NoiseFiles = std::sync::Arc::new(|_| Err("there are no files".into()));
    let noise = NoiseChoice::parse(noise, files).unwrap();
    let options = FitOptions { noise, amount: Amount::Ratio(2.0), seed: 3, ..FitOptions::default() };
    let once = Points::unnamed(columns.len(), weights.len(), columns.concat());
    let several: Vec<Vec<f64>> = columns.iter().map(repeat).collect();
    let several = Points::unnamed(columns.len(), several[0].len(), several.concat());
    [
        fit(model, Data::from(&once).with_weights(weights), &options).unwrap(),
        fit(model, Data::from(&several), &options).unwrap(),
    ]
}

#[test]
fn a_named_noise_and_the_efficiency_know_the_weights() {
    // Counts of a normal distribution on a grid: without the weights `normal` was as wide as the grid. The same noise has the same
    // draws, so that fits differ by the rounding of sums and the end of their searches.
    let grid: Vec<f64> = (0..25).map(|i| 1.1 + 0.075 * f64::from(i)).collect();
    let counts: Vec<f64> =
        grid.iter().map(|x| (60.0 * (-0.5 * ((x - 2.0) / 0.3).powi(2)).exp()).round()).collect();
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
    for noise in ["normal", "student", "logistic", "laplace", "product"] {
        let [weighted, repeated] = weighted_and_repeated(&model, std::slice::from_ref(&grid), &counts, noise);
        same_fits(&weighted, &repeated, noise);
    }
    // In the plane and in space the efficiency is computed on the rows themselves.
    let wave = |i: usize, j: usize| (1.3 * i as f64 + 2.1 * j as f64).sin() + (0.7 * i as f64).cos();
    let counts: Vec<f64> = (0..150).map(|i| f64::from(1 + i % 4)).collect();
    for names in [&["x", "y"][..], &["x", "y", "z"]] {
        let squares = names.iter().map(|name| format!("{name}^2"));
        let features: Vec<String> = names.iter().map(|name| (*name).to_owned()).chain(squares).collect();
        let model = Model::from_features(&features, Space::real(names).unwrap(), vec![]).unwrap();
        let column = |j: usize| (0..150).map(|i| wave(i, j)).collect();
        let columns: Vec<Vec<f64>> = (0..names.len()).map(column).collect();
        let [weighted, repeated] = weighted_and_repeated(&model, &columns, &counts, "normal");
        same_fits(&weighted, &repeated, "normal");
        assert!(weighted.diagnostics.error_budget.iter().all(|budget| budget.efficiency.is_some()));
    }
}

fn same_fits(weighted: &Fit, repeated: &Fit, noise: &str) {
    for (a, b) in weighted.parameters.iter().zip(&repeated.parameters) {
        assert!((a.estimate - b.estimate).abs() < 1e-6 * b.se, "{noise}: {a:?} {b:?}");
    }
    let efficiencies = |fit: &Fit| -> Vec<f64> {
        fit.diagnostics.error_budget.iter().filter_map(|budget| budget.efficiency).collect()
    };
    let (a, b) = (efficiencies(weighted), efficiencies(repeated));
    let near = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < 1e-6;
    assert!(a.len() == b.len() && a.iter().zip(&b).all(near), "{noise}: {a:?} {b:?}");
}
