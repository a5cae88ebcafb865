//! Dictionaries of noises against scipy, and questions against the delta method.

use std::sync::Arc;

use noisewright::design::{DesignOptions, Prices, Ratio, design_dictionary};
use noisewright::internal::design::{DesignSpace, Problem, Question};
use noisewright::internal::{Contrast, asymptotic_error, cramer_rao_covariance};
use noisewright::{Loss, Model, Noise, Normal, Precision, Target};

const QUARTIC: &str = "variables = ['x']\nlog_density = 'a*x^2/2 - b*x^4'\n[parameters]\na = 1\nb = 0.1";
const TRUTH: [f64; 2] = [1.0, 0.1];

fn reference() -> serde_json::Value {
    let path = format!("{}/tests/references/dictionary.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn weights_of_37_normals_are_those_of_scipy() {
    let reference = reference();
    let members: Vec<Arc<dyn Noise>> = reference["normals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| {
            Arc::new(Normal::with_std(pair[0].as_f64().unwrap(), pair[1].as_f64().unwrap()).unwrap())
                as Arc<dyn Noise>
        })
        .collect();
    assert_eq!(members.len(), 37);
    let model = Model::from_toml(QUARTIC).unwrap();
    let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
    let best = design_dictionary(&model, &TRUTH, &members, &options).unwrap();
    println!("{} gap {:e} scipy {}", best.error, best.gap, reference["error"]);
    assert!(best.convex && best.gap < 1e-9, "{}", best.gap);
    // Between the unrestricted optimum and noise equal to the data.
    assert!(best.error > 41.68119 && best.error < 51.06783, "{}", best.error);
    assert!((best.error / reference["error"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{}", best.error);
    // The mixture as it stands has that error.
    let contrast = Contrast { noise: best.noise.as_ref(), nu: 1.0, loss: &Loss::Js };
    let report = asymptotic_error(&model, &TRUTH, contrast, &Target::Mse, &Precision::default()).unwrap();
    assert!((report.error / best.error - 1.0).abs() < 1e-6, "{}", report.error);
}

fn question(model: &Model, target: &str, noise: &str) -> noisewright::internal::design::Answer {
    Question {
        problem: Problem::new(model, &TRUTH),
        files: &|_| Err("there are no files".into()),
        target: Target::parse(target),
        ratio: Ratio::Fixed(1.0),
        prices: Prices::default(),
        efficiency: None,
    }
    .answer(&DesignSpace::parse(noise).unwrap())
    .unwrap()
}

#[test]
fn dictionaries_in_words_and_questions() {
    let model = Model::from_toml(QUARTIC).unwrap();
    let words = "dictionary(normal(-2, 0.5), normal(0, 0.5), normal(2, 0.5), normal(0, 4))";
    let plain = question(&model, "mse", words);
    assert!(plain.gap.unwrap() < 1e-8);
    // A question is answered with a smaller error by a noise that is designed for it, and the exact optimum is a bound.
    let text = "density(1.2) - density(0.3)";
    let [designed, optimal] = [words, "optimal"].map(|noise| question(&model, text, noise));
    let contrast = Contrast { noise: plain.noise.as_ref(), nu: 1.0, loss: &Loss::Js };
    let elsewhere = asymptotic_error(&model, &TRUTH, contrast, &Target::parse(text), &Precision::default())
        .unwrap()
        .error;
    assert!(designed.error < elsewhere && optimal.error <= designed.error * (1.0 + 1e-9));
    // Noise equal to the data has (1+ν)²/ν hᵀΣh with h the slope of the question, by differences of log Z.
    let bound = cramer_rao_covariance(&optimal.population).unwrap();
    let log_z = |a: f64, b: f64| {
        let shape = Model::from_toml(QUARTIC).unwrap();
        Problem::new(&shape, &[a, b]).log_normalizer().unwrap()
    };
    let log_z = log_z(1.0, 0.1);
    let slope = |x: f64| {
        let p = (0.5 * x * x - 0.1 * x.powi(4) - log_z).exp();
        [p * 0.5 * x * x, -p * x.powi(4), -p]
    };
    let h: Vec<f64> = slope(1.2).iter().zip(slope(0.3)).map(|(a, b)| a - b).collect();
    let mut expected = 0.0;
    for i in 0..3 {
        for j in 0..3 {
            expected += 4.0 * h[i] * bound[(i, j)] * h[j];
        }
    }
    assert!(
        (optimal.noise_equals_data / expected - 1.0).abs() < 1e-6,
        "{} {expected}",
        optimal.noise_equals_data
    );
}

#[test]
fn what_a_dictionary_and_a_question_refuse() {
    let model = Model::from_toml(QUARTIC).unwrap();
    let ask = |target: &str, noise: &str| {
        Question {
            problem: Problem::new(&model, &TRUTH),
            files: &|_| Err("there are no files".into()),
            target: Target::parse(target),
            ratio: Ratio::Fixed(1.0),
            prices: Prices::default(),
            efficiency: None,
        }
        .answer(&DesignSpace::parse(noise).unwrap())
        .map(|answer| answer.error)
        .map_err(|error| error.to_string())
    };
    assert!(ask("density(1, 2)", "optimal").unwrap_err().contains("1 coordinate"));
    assert!(ask("density(1) + nope", "optimal").is_err());
    assert!(
        ask("mse", "0.5*dictionary(normal(0, 1)) + 0.5*normal(0, 4)").unwrap_err().contains("dictionary")
    );
    assert!(ask("mse", "dictionary(3)").is_err());
}
