//! Designed mixtures against the exact optimum, and their weights against a brute-force search.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;

use noisewright::design::{DesignOptions, DictionaryOptions, Ratio, design_mixture};
use noisewright::internal::design::{best_mixture, design, design_mixture_on_sample};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{
    FamilyOptions, Loss, Model, MultivariateNormal, Noise, Normal, Population, Precision, Student, Target,
    sample,
};

fn parse(text: &str) -> Model {
    Model::from_toml(text).unwrap()
}

fn fixed(nu: f64) -> DesignOptions {
    DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() }
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
        let best = design_mixture(&model, &[at], &DictionaryOptions::default(), &fixed(1.0)).unwrap();
        assert!(best.error > optimum - 1e-5 && best.error < 1.01 * optimum, "{best:?}");
        assert!((best.exact_error / optimum - 1.0).abs() < 1e-3 && best.gap < 1e-5, "{best:?}");
        assert_eq!(best.convex, !model.is_normalized());
        let contrast = Contrast { noise: best.noise.as_ref(), nu: 1.0, loss: &Loss::Js };
        let report = asymptotic_error(&model, &[at], contrast, &Target::Mse, &Precision::default()).unwrap();
        assert!((report.error / best.error - 1.0).abs() < 1e-7, "{} {}", report.error, best.error);
    }
}

#[test]
fn the_weights_of_two_components_are_those_of_a_search() {
    let model = parse("variables = ['x']\nlog_density = '-x^2/(2*v)'\n[parameters]\nv = 1");
    let parts: Vec<Arc<dyn Noise>> = vec![
        Arc::new(Normal::with_variance(0.0, 6.0).unwrap()),
        Arc::new(Normal::with_variance(0.0, 0.3).unwrap()),
    ];
    let population = Population::new(&model, &[1.0], &Precision::default()).unwrap();
    let best = best_mixture(&population, &parts, &fixed(0.5)).unwrap();
    let error = |share: f64| {
        let words = format!("{share}*normal(0, 6) + {}*normal(0, 0.3)", 1.0 - share);
        let noise = noisewright::NoiseWords::parse(&words).unwrap();
        let noise = noise.build(&noisewright::parts::NoiseContext::new(model.space())).unwrap();
        let contrast = Contrast { noise: noise.as_ref(), nu: 0.5, loss: &Loss::Js };
        asymptotic_error(&model, &[1.0], contrast, &Target::Mse, &Precision::default()).unwrap().error
    };
    assert!((best.error / error(best.weights[0]) - 1.0).abs() < 1e-6, "{best:?}");
    let searched = (1..200).map(|i| error(f64::from(i) / 200.0)).fold(f64::INFINITY, f64::min);
    assert!(best.error <= searched * (1.0 + 1e-6) && best.gap < 1e-8, "{searched} {best:?}");
    // One component leaves nothing to choose, and a useless one is left out.
    let only = best_mixture(&population, &parts[..1], &fixed(0.5)).unwrap();
    assert_eq!(only.noise.describe(), "normal(0, 6)");
    let far: Arc<dyn Noise> = Arc::new(Normal::with_variance(100.0, 1.0).unwrap());
    let with_far =
        best_mixture(&population, &[parts[0].clone(), parts[1].clone(), far], &fixed(0.5)).unwrap();
    assert!(with_far.weights[2] == 0.0 && (with_far.error / best.error - 1.0).abs() < 1e-9, "{with_far:?}");
}

#[test]
fn the_proportion_is_found_with_the_weights() {
    let model = parse("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0");
    let joint =
        design_mixture(&model, &[0.0], &DictionaryOptions::default(), &DesignOptions::default()).unwrap();
    let exact = design(&model, &[0.0], &DesignOptions::default()).unwrap();
    assert!(joint.error > exact.error * (1.0 - 1e-9) && joint.error < 1.001 * exact.error, "{joint:?}");
    assert!((joint.nu / exact.nu - 1.0).abs() < 0.05, "{} {}", joint.nu, exact.nu);
}

#[test]
fn two_dimensions_by_quadrature() {
    let model = Model::from_family("gaussian", &["x", "y"], &FamilyOptions::default(), false).unwrap();
    let at = model.start();
    let options =
        DesignOptions { precision: Precision { relative: 1e-7, ..Precision::default() }, ..fixed(1.0) };
    let best = design_mixture(&model, &at, &DictionaryOptions::default(), &options).unwrap();
    assert!(best.convex && best.gap < 1e-5, "{}", best.gap);
    assert!(best.excess() > -1e-6 && best.excess() < 0.02, "{}", best.excess());
    let contrast = Contrast { noise: best.noise.as_ref(), nu: 1.0, loss: &Loss::Js };
    let report = asymptotic_error(&model, &at, contrast, &Target::Mse, &options.precision).unwrap();
    assert!((report.error / best.error - 1.0).abs() < 1e-5, "{} {}", report.error, best.error);
    assert!(best.error < 0.9 * report.noise_equals_data, "{} {}", best.error, report.noise_equals_data);
}

#[test]
fn many_dimensions_from_a_sample() {
    let names: Vec<String> = (0..5).map(|i| format!("x{i}")).collect();
    let model = Model::from_family("gaussian", &names, &FamilyOptions::default(), false).unwrap();
    let at = model.start();
    let identity: Vec<f64> = (0..25).map(|i| f64::from(u8::from(i % 6 == 0))).collect();
    let truth = MultivariateNormal::new(&[0.0; 5], &identity).unwrap();
    let drawn = sample(&truth, 4000, 1);
    let log_z = 2.5 * std::f64::consts::TAU.ln();
    let best =
        design_mixture_on_sample(&model, &at, log_z, &drawn, &DictionaryOptions::default(), &fixed(1.0))
            .unwrap();
    assert!(best.convex && best.gap < 2e-4, "{}", best.gap);
    // The exact optimum, which no mixture reaches, lies below; noise equal to the data above: on a fresh sample.
    let fresh = sample(&truth, 20_000, 2);
    let population = Population::from_sample(&model, &at, log_z, &fresh).unwrap();
    let on_fresh = |noise: &dyn Noise| {
        let log_noise = population.log_noise(noise).unwrap();
        noisewright::internal::error_report(&population, &log_noise, 1.0, &Loss::Js, &Target::Mse)
            .unwrap()
            .error
    };
    let (mixed, equal) = (on_fresh(best.noise.as_ref()), on_fresh(&truth));
    assert!(mixed < 0.95 * equal, "{mixed} against {equal}");
    assert!(best.excess() < 0.1, "{}", best.excess());
    let student: Arc<dyn Noise> = Arc::new(Student::new(5.0, 0.0, 1.0).unwrap());
    assert!(best_mixture(&population, &[student], &fixed(1.0)).is_err(), "one variable is not five");
}

#[test]
fn states_counts_angles_directions_and_bounds() {
    let spins: Vec<String> = (0..4).map(|i| format!("s{i}")).collect();
    let ising = Model::from_family("ising", &spins, &FamilyOptions::default(), false).unwrap();
    let mut couplings = ising.start();
    couplings.iter_mut().enumerate().for_each(|(i, c)| *c = 0.1 * (i % 3) as f64);
    let cases = [
        (ising, couplings),
        (
            parse(
                "variables = ['n']\ndomain = { n = 'counts' }\nlog_density = 'n*a - lgamma(n + 1)'\n[parameters]\na = 1",
            ),
            vec![1.0],
        ),
        (
            parse(
                "variables = ['t']\ndomain = { t = 'circle' }\nlog_density = 'k*cos(t)'\n[parameters]\nk = 1",
            ),
            vec![1.0],
        ),
        (
            parse(
                "variables = ['x']\ndomain = { x = 'positive' }\nlog_density = '-r*x'\n[parameters]\nr = 2",
            ),
            vec![2.0],
        ),
        (
            parse("variables = ['x']\ndomain = { x = [0, 1] }\nlog_density = 'a*x'\n[parameters]\na = 1"),
            vec![1.0],
        ),
    ];
    for (model, at) in cases {
        let best = design_mixture(&model, &at, &DictionaryOptions::default(), &fixed(1.0)).unwrap();
        assert!(
            best.excess() > -1e-6 && best.excess() < 0.25 && best.gap < 1e-4,
            "{:?}: {best:?}",
            model.space()
        );
        let contrast = Contrast { noise: best.noise.as_ref(), nu: 1.0, loss: &Loss::Js };
        let report = asymptotic_error(&model, &at, contrast, &Target::Mse, &Precision::default()).unwrap();
        assert!((report.error / best.error - 1.0).abs() < 1e-6, "{} {best:?}", report.error);
    }
    let options = FamilyOptions::default();
    let sphere = Model::from_family("von-mises-fisher", &["x", "y", "z"], &options, false).unwrap();
    let best = design_mixture(&sphere, &[2.0, 0.0, 0.0], &DictionaryOptions::default(), &fixed(1.0)).unwrap();
    assert!(best.excess() > -1e-6 && best.excess() < 0.05, "{best:?}");
}
