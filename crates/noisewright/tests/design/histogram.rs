//! Histogram noises against the values of MATH §7 item 11 and against the exact optimum.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use noisewright::design::{DesignOptions, Ratio};
use noisewright::internal::design::{best_histogram_1d, best_histogram_2d, design};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{Loss, Model, Precision, Target, equal_edges};

fn mean() -> Model {
    Model::from_toml(
        "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\n[parameters]\nm = 0",
    )
    .unwrap()
}

fn variance() -> Model {
    Model::from_toml(
        "variables = ['x']\nnormalized = true\nlog_density = '-x^2/(2*v) - log(2*pi*v)/2'\n[parameters]\nv = 1",
    )
    .unwrap()
}

fn at_proportion(percent: f64) -> DesignOptions {
    let share = percent / 100.0;
    DesignOptions { ratio: Ratio::Fixed(share / (1.0 - share)), ..DesignOptions::default() }
}

#[test]
fn twenty_bins_reach_the_properly_minimised_values() {
    let edges = equal_edges(20, -5.0, 5.0);
    let known = [
        (mean(), [0.0], [(10.0, 2.384), (50.0, 3.044), (90.0, 10.719)]),
        (variance(), [1.0], [(10.0, 3.030), (50.0, 4.488), (90.0, 21.054)]),
    ];
    for (model, at, values) in known {
        for (percent, expected) in values {
            let best = best_histogram_1d(&model, &at, &edges, &at_proportion(percent)).unwrap();
            assert!(best.error <= expected + 5e-4, "{percent} %: {} against {expected}", best.error);
            assert!(best.gap < 1e-6, "{percent} %: gap {}", best.gap);
            let exact = design(&model, &at, &at_proportion(percent)).unwrap();
            assert!(best.error > exact.error, "no histogram beats the exact optimum {}", exact.error);
            let contrast = Contrast { noise: &best.noise, nu: best.nu, loss: &Loss::Js };
            let report =
                asymptotic_error(&model, &at, contrast, &Target::Mse, &Precision::default()).unwrap();
            assert!((report.error / best.error - 1.0).abs() < 1e-8, "{} {}", report.error, best.error);
        }
    }
}

#[test]
fn the_proportion_is_found_with_the_histogram() {
    let edges = equal_edges(20, -5.0, 5.0);
    let joint = best_histogram_1d(&variance(), &[1.0], &edges, &DesignOptions::default()).unwrap();
    let exact = design(&variance(), &[1.0], &DesignOptions::default()).unwrap();
    assert!(joint.error > exact.error && joint.error < 1.03 * exact.error, "{}", joint.error);
    for factor in [0.9, 1.1] {
        let options = DesignOptions { ratio: Ratio::Fixed(factor * joint.nu), ..DesignOptions::default() };
        let beside = best_histogram_1d(&variance(), &[1.0], &edges, &options).unwrap();
        assert!(beside.error > joint.error, "{factor}: {} against {}", beside.error, joint.error);
    }
}

#[test]
fn a_model_with_a_free_constant_has_one_optimum_with_a_certificate() {
    let model =
        Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0").unwrap();
    let options = at_proportion(50.0);
    let exact = design(&model, &[0.0], &options).unwrap();
    let mut last = f64::INFINITY;
    // Each grid refines the one before, so the errors fall towards the exact optimum.
    for bins in [10, 20, 40, 80] {
        let best = best_histogram_1d(&model, &[0.0], &equal_edges(bins, -6.0, 6.0), &options).unwrap();
        assert!(best.stationary_points == 1 && best.gap < 1e-7, "{bins} bins: gap {}", best.gap);
        assert!(best.error < last && best.error > exact.error, "{bins} bins: {}", best.error);
        last = best.error;
    }
    assert!(last / exact.error - 1.0 < 1e-3, "{last} against {}", exact.error);
}

#[test]
fn two_variables_in_cells() {
    // Two independent means: with the noise of one variable fixed, each is the problem of one variable, and no
    // histogram beats the exact optimum.
    let model = Model::from_toml(
        "variables = ['x', 'y']\nlog_density = '-(x - a)^2/2 - (y - b)^2/2'\n[parameters]\na = 0\nb = 0",
    )
    .unwrap();
    let edges = equal_edges(10, -5.0, 5.0);
    let options = DesignOptions {
        ratio: Ratio::Fixed(1.0),
        precision: Precision { relative: 1e-8, ..Precision::default() },
        ..DesignOptions::default()
    };
    let best = best_histogram_2d(&model, &[0.0, 0.0], [&edges, &edges], &options).unwrap();
    let exact = design(&model, &[0.0, 0.0], &options).unwrap();
    assert!(best.gap < 1e-6, "gap {}", best.gap);
    assert!(best.error > exact.error && best.error < 1.1 * exact.error, "{} {}", best.error, exact.error);
    // The problem is symmetric under x → −x, y → −y and x ↔ y, and convex: so is its optimum.
    let p = best.noise.probabilities();
    for (i, j) in [(0, 9), (3, 5), (2, 7), (4, 4)] {
        let value = p[i * 10 + j];
        for other in [p[j * 10 + i], p[(9 - i) * 10 + j], p[i * 10 + 9 - j]] {
            assert!((value - other).abs() < 1e-4, "cell ({i}, {j}): {value} {other}");
        }
    }
}

#[test]
fn histograms_that_cannot_be() {
    let edges = equal_edges(4, -5.0, 5.0);
    let options = at_proportion(50.0);
    let two = best_histogram_2d(&mean(), &[0.0], [&edges, &edges], &options);
    assert!(two.unwrap_err().to_string().contains("two continuous variables"));
    assert!(best_histogram_1d(&mean(), &[0.0], &[1.0, 0.0], &options).is_err());
    assert!(best_histogram_1d(&mean(), &[0.0], &[], &options).is_err());
    let nowhere = DesignOptions { ratio: Ratio::Fixed(-1.0), ..DesignOptions::default() };
    assert!(best_histogram_1d(&mean(), &[0.0], &edges, &nowhere).is_err());
}
