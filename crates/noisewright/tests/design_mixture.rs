//! Designed mixtures against the exact optimum, and their weights against a brute-force search.

use std::sync::Arc;

use noisewright::design::{
    DictionaryOptions, Options, Ratio, best_mixture, design, design_mixture, design_mixture_on_sample,
};
use noisewright::{
    Contrast, FamilyOptions, Loss, Model, MultivariateNormal, Noise, Normal, Population, Precision, Student,
    Target, asymptotic_error, sample,
};

fn parse(text: &str) -> Model {
    Model::parse_file(text).unwrap()
}

fn fixed(nu: f64) -> Options {
    Options { ratio: Ratio::Fixed(nu), ..Options::default() }
}

#[test]
fn one_dimension_comes_close_to_the_exact_optimum() {
    let gauss = "variables = ['x']\nnormalized = true\n";
    let cases = [
        (parse("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0"), 0.0, 3.50813),
        (parse("variables = ['x']\nlog_density = '-x^2/(2*v)'\n[parameters]\nv = 1"), 1.0, 7.85537),
        (
            parse(&format!("{gauss}log_density = '-(x - m)^2/2 - log(2*pi)/2'\n[parameters]\nm = 0")),
            0.0,
            2.99387,
        ),
        (
            parse(&format!("{gauss}log_density = '-x^2/(2*v) - log(2*pi*v)/2'\n[parameters]\nv = 1")),
            1.0,
            4.43526,
        ),
    ];
    for (model, at, optimum) in cases {
        let clock = std::time::Instant::now();
        let best = design_mixture(&model, &[at], &DictionaryOptions::default(), &fixed(1.0)).unwrap();
        println!(
            "{optimum} {} {} {} {} {} {:?}",
            best.error,
            best.exact_error,
            best.gap,
            best.stationary_points,
            best.weights.iter().filter(|w| **w > 0.0).count(),
            clock.elapsed()
        );
        assert!(best.error > optimum - 1e-5 && best.error < 1.01 * optimum, "{best:?}");
        assert!((best.exact_error / optimum - 1.0).abs() < 1e-3 && best.gap < 1e-5, "{best:?}");
        assert_eq!(best.convex, !model.is_normalized());
        let contrast = Contrast { noise: best.noise.as_ref(), nu: 1.0, loss: &Loss::Js };
        let report = asymptotic_error(&model, &[at], contrast, &Target::Mse, &Precision::default()).unwrap();
        assert!((report.error / best.error - 1.0).abs() < 1e-7, "{} {}", report.error, best.error);
    }
}
