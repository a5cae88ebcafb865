//! The best members of parametric families against the values of MATH §6 and §7.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::design::{DesignOptions, Ratio, best_member};
use noisewright::internal::words::Argument;
use noisewright::parts::NoiseContext;
use noisewright::parts::{FamilyOptimum, ModelNoise};
use noisewright::{Model, Noise, NoiseWords, Precision, Result};

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

fn correlation() -> Model {
    Model::from_toml(
        "variables = ['x', 'y']\nnormalized = true\n\
         log_density = '-(x^2 - 2*rho*x*y + y^2)/(2*(1 - rho^2)) - log(2*pi) - log(1 - rho^2)/2'\n\
         [parameters]\nrho = 0.3",
    )
    .unwrap()
}

fn fixed(nu: f64) -> DesignOptions {
    DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() }
}

/// The minima of a family, with `model(…)` made from the model.
fn minima(model: &Model, at: &[f64], words: &str, options: &DesignOptions) -> Result<FamilyOptimum> {
    let designed = |call: &noisewright::internal::words::Call| -> Option<Result<Arc<dyn Noise>>> {
        let mut theta = at.to_vec();
        for argument in &call.arguments {
            if let Argument::Named(name, value) = argument
                && let Argument::Number(x) = value.as_ref()
            {
                theta[model.index_of(name).unwrap()] = *x;
            }
        }
        let noise = ModelNoise::data(model, &theta, &Precision::default());
        Some(noise.map(|noise| Arc::new(noise) as Arc<dyn Noise>))
    };
    let context = NoiseContext { designed: Some(&designed), ..NoiseContext::new(model.space()) };
    let words = NoiseWords::parse(words).unwrap();
    best_member(&words, &|words: &NoiseWords| words.build(&context), model, at, options)
}

fn close(value: f64, expected: f64, digits: i32) {
    assert!((value - expected).abs() <= 0.6 * 10f64.powi(-digits), "{value} against {expected}");
}

#[test]
fn the_mean_has_two_mirror_images() {
    let found = minima(&mean(), &[0.0], "normal(?, 1)", &fixed(1.0)).unwrap();
    assert_eq!(found.minima.len(), 2, "{found:?}");
    for member in &found.minima {
        close(member.values[0].abs(), 1.42701, 5);
        close(member.error, 3.69862, 5);
        assert!(!member.at_edge && member.nu == 1.0);
    }
    assert!(found.minima[0].values[0] * found.minima[1].values[0] < 0.0);
    assert_eq!(found.minima[0].words.to_string(), found.minima[0].noise.describe());
}

#[test]
fn the_variance_has_two_minima() {
    let found = minima(&variance(), &[1.0], "normal(0, ?)", &fixed(1.0)).unwrap();
    assert_eq!(found.minima.len(), 2, "{found:?}");
    close(found.minima[0].values[0], 4.24226, 5);
    close(found.minima[0].error, 5.51086, 5);
    // By Simpson's rule on 20,001 nodes outside this library.
    close(found.minima[1].values[0], 0.14807, 5);
    close(found.minima[1].error, 10.60349, 5);
}

#[test]
fn the_best_proportion_with_it() {
    let shift = minima(&mean(), &[0.0], "normal(?, 1)", &DesignOptions::default()).unwrap();
    let best = &shift.minima[0];
    close(best.values[0].abs(), 1.49830, 5);
    close(100.0 * best.nu / (1.0 + best.nu), 25.10, 2);
    close(best.error, 3.07109, 5);
    let wide = minima(&variance(), &[1.0], "normal(0, ?)", &DesignOptions::default()).unwrap();
    let best = &wide.minima[0];
    close(best.values[0], 5.18849, 5);
    close(100.0 * best.nu / (1.0 + best.nu), 28.32, 2);
    close(best.error, 4.79704, 5);
}

#[test]
fn the_correlation_of_a_model_noise() {
    let model = correlation();
    for (rho, at_one, error, jointly, percent, joint_error) in [
        (0.3, -0.2332, Some(2.6129), -0.4911, 32.61, Some(2.40279)),
        (0.9, 0.5967, None, 0.5116, 28.44, None),
    ] {
        let found = minima(&model, &[rho], "model(rho=?)", &fixed(1.0)).unwrap();
        close(found.minima[0].values[0], at_one, 4);
        if let Some(error) = error {
            close(found.minima[0].error, error, 4);
        }
        let found = minima(&model, &[rho], "model(rho=?)", &DesignOptions::default()).unwrap();
        let best = &found.minima[0];
        close(best.values[0], jointly, 4);
        close(100.0 * best.nu / (1.0 + best.nu), percent, 2);
        if let Some(error) = joint_error {
            close(best.error, error, 5);
        }
    }
}

#[test]
fn several_free_numbers_at_once() {
    // More freedom can only help: mean and variance, then two means of a mixture, against the best single shift.
    let single = minima(&mean(), &[0.0], "normal(?, 1)", &fixed(1.0)).unwrap().minima[0].error;
    let both = minima(&mean(), &[0.0], "normal(?, ?)", &fixed(1.0)).unwrap();
    assert!(both.minima[0].error < single, "{both:?}");
    let mirrored: Vec<_> = both.minima.iter().filter(|m| m.error < both.minima[0].error * 1.00001).collect();
    assert_eq!(mirrored.len(), 2, "{both:?}");
    let pair = minima(&mean(), &[0.0], "0.5*normal(?, 1) + 0.5*normal(?, 1)", &fixed(1.0)).unwrap();
    assert!(pair.minima[0].error <= single * (1.0 + 1e-9), "{pair:?}");
    // The order of equal parts does not make another minimum.
    for (i, a) in pair.minima.iter().enumerate() {
        for b in &pair.minima[..i] {
            let swapped = (a.values[0] - b.values[1]).abs() + (a.values[1] - b.values[0]).abs();
            assert!(swapped > 1e-2, "{pair:?}");
        }
    }
}

#[test]
fn free_weights_are_weights() {
    let words = "?*normal(0, 1) + 0.2*student(5, 0, 2) + ?*normal(0, 6)";
    let found = minima(&variance(), &[1.0], words, &fixed(1.0)).unwrap();
    let best = &found.minima[0];
    assert!((best.values.iter().sum::<f64>() - 0.8).abs() < 1e-12, "{best:?}");
    // Beside the Student, the narrow one is best left out.
    assert!(best.values.iter().all(|w| *w >= 0.0), "{best:?}");
    // A single free weight is what the fixed ones leave.
    let only = minima(&variance(), &[1.0], "?*normal(0, 4) + 0.4*normal(0, 5)", &fixed(1.0)).unwrap();
    assert_eq!(only.minima.len(), 1);
    close(only.minima[0].values[0], 0.6, 12);
}

#[test]
fn the_order_and_units_of_the_data_do_not_matter() {
    // x → 1000 + 0.01 x: the best noise moves with the data, the error of the mean scales with its square.
    let model = Model::from_toml(
        "variables = ['x']\nnormalized = true\n\
         log_density = '-(x - m)^2/2e-4 - log(2*pi*1e-4)/2'\n[parameters]\nm = 1000",
    )
    .unwrap();
    let found = minima(&model, &[1000.0], "normal(?, 1e-4)", &fixed(1.0)).unwrap();
    assert_eq!(found.minima.len(), 2, "{found:?}");
    close((found.minima[0].values[0] - 1000.0).abs() * 100.0, 1.42701, 4);
    close(found.minima[0].error * 1e4, 3.69862, 5);
}

#[test]
fn heavy_tails_run_to_the_edge() {
    // For the variance wider is better and the tails of a wide normal serve best: the degrees of freedom grow.
    let found = minima(&variance(), &[1.0], "student(?, 0, 2.0597)", &fixed(1.0)).unwrap();
    let best = &found.minima[0];
    assert!(best.at_edge && best.values[0] > 100.0, "{found:?}");
    close(best.error, 5.511, 2);
}

#[test]
fn other_domains() {
    let positive = Model::from_toml(
        "variables = ['x']\ndomain = { x = 'positive' }\nlog_density = 'log(r) - r*x'\nnormalized = true\n[parameters]\nr = 2",
    )
    .unwrap();
    let found = minima(&positive, &[2.0], "gamma(?, ?)", &fixed(1.0)).unwrap();
    let equal = 4.0 * 4.0; // (1 + ν)²/ν times the inverse information r²
    assert!(found.minima[0].error < 0.9 * equal, "{found:?}");
    let circle =
        Model::from_family("von-mises", &["x"], &noisewright::FamilyOptions::default(), false).unwrap();
    let found = minima(&circle, &circle.start(), "von-mises(?, ?)", &fixed(1.0)).unwrap();
    assert!(found.minima[0].error.is_finite() && found.minima[0].error > 0.0);
}

#[test]
fn a_question_mark_that_cannot_be_answered() {
    let refuse = |words: &str| minima(&mean(), &[0.0], words, &fixed(1.0)).unwrap_err().to_string();
    for words in ["histogram(?, -5, 5)", "kde(?)", "file(?)", "0.5*normal(?, 1) + 0.5*histogram(20, ?, 5)"] {
        assert!(refuse(words).contains("a `?` cannot be optimised there"), "{}", refuse(words));
    }
    assert!(refuse("normal([0, 0], [[1, ?], [?, 1]])").contains("beside the diagonal"));
    assert!(refuse("model(rho=?)").contains("`rho` is not a parameter"));
    let nothing = minima(&mean(), &[0.0], "normal(?, 1)", &fixed(0.0)).unwrap_err();
    assert!(nothing.to_string().contains("noise ratio"), "{nothing}");
}
