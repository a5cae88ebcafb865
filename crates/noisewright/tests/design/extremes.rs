//! Designs at their limits: tiny variances, errors of zero, free weights that vanish, ratios far from one, counts that no
//! memory holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use noisewright::design::{Prices, Ratio};
use noisewright::internal::design::{Answer, DesignSpace, Problem, Question};
use noisewright::{
    Error, FamilyOptions, Gamma, Model, Noise, Normal, Points, Population, Precision, Student, Target, View,
    VonMisesFisher, sample,
};

/// The mean of a Gaussian of this standard deviation, with a free constant.
fn mean_of(sd: f64) -> Model {
    let file = format!("variables = ['x']\nlog_density = '-(x - m)^2/(2*{sd:e}^2)'\n[parameters]\nm = 0");
    Model::from_toml(&file).unwrap()
}

fn normalized_mean() -> Model {
    let file = "variables = ['x']\nnormalized = true\nlog_density = '-(x - m)^2/2 - log(2*pi)/2'\n[parameters]\nm = 0";
    Model::from_toml(file).unwrap()
}

fn question<'a>(model: &'a Model, ratio: Ratio) -> Question<'a> {
    Question {
        problem: Problem::new(model, &[0.0]),
        files: &|_| Err("there are no files".into()),
        target: Target::Mse,
        ratio,
        prices: Prices::default(),
        efficiency: None,
    }
}

fn answer(question: &Question<'_>, words: &str) -> Answer {
    question.answer(&DesignSpace::parse(words).unwrap()).unwrap()
}

#[test]
fn the_error_of_a_tiny_parameter_beside_the_constant_does_not_drown() {
    // The constant is free of error where p_n = p_d, so the optimum is 4 sd² up to terms of order sd⁴.
    for sd in [1e-4, 1e-6, 1e-7, 1e-8] {
        for ratio in [Ratio::Fixed(1.0), Ratio::Free] {
            let found = answer(&question(&mean_of(sd), ratio), "optimal");
            assert!(
                (found.error / (4.0 * sd * sd) - 1.0).abs() < 1e-6,
                "{sd:e} {ratio:?}: {:e}",
                found.error
            );
            assert!((found.nu - 1.0).abs() < 1e-2, "{sd:e}: ν = {}", found.nu);
            assert!((found.conventional / (4.0 * sd * sd) - 1.0).abs() < 1e-9, "{sd:e}");
        }
    }
    // Where both count the same, as ever.
    let found = answer(&question(&mean_of(1.0), Ratio::Fixed(1.0)), "optimal");
    assert!((found.error - 3.50813).abs() < 1e-5 && found.gap.unwrap() < 1e-9);
}

#[test]
fn a_constant_that_no_parameter_moves_is_free_of_error_against_the_data_themselves() {
    let model = mean_of(1.0);
    let target = Target::parse("log_normalizer");
    for ratio in [Ratio::Fixed(1.0), Ratio::Fixed(0.2), Ratio::Free] {
        let asked = Question { target: target.clone(), ..question(&model, ratio) };
        let found = answer(&asked, "optimal");
        assert_eq!(found.error, 0.0, "{ratio:?}");
        assert!(found.remarks()[0].contains("data's own distribution"), "{:?}", found.remarks());
        let mut density = [0.0];
        found.noise.log_density(View::new(1, 1, &[0.7]), &mut density);
        assert!((density[0] + 0.5 * (0.49 + std::f64::consts::TAU.ln())).abs() < 1e-9);
    }
}

#[test]
fn how_much_noise_is_enough_is_asked_of_the_member_that_is_best_at_each_ratio() {
    for model in [mean_of(1.0), normalized_mean()] {
        let asked = Question { efficiency: Some(0.95), ..question(&model, Ratio::Fixed(1.0)) };
        let enough = |words: &str| answer(&asked, words).enough.unwrap().nu;
        let given = enough("normal(0, 2)");
        let best = enough("normal(?, ?)");
        assert!(best <= given * 1.000_001, "{best} for {given}");
        // p_n = p_d has the efficiency 1/(1 + 1/ν).
        assert!(enough("normal(?, 1)") <= 19.0001);
        assert!(best >= enough("optimal") * 0.999_999);
        assert!(enough("mixture") <= 19.0);
    }
}

#[test]
fn the_optimum_on_data_claims_no_certificate() {
    let model = mean_of(1.0);
    let data = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 500, 1);
    let data = Points::from_values(&["x".to_owned()], 500, data.values().to_vec()).unwrap();
    let mut asked = question(&model, Ratio::Fixed(1.0));
    asked.problem.data = Some(&data);
    asked.problem.on_data = true;
    let found = answer(&asked, "optimal");
    assert_eq!(found.gap, None);
    assert!(found.remarks()[0].contains("no certificate"), "{:?}", found.remarks());
    asked.problem.on_data = false;
    assert!(answer(&asked, "optimal").gap.unwrap() < 1e-9);
}

#[test]
fn families_on_half_of_the_data_with_ends_and_with_parts_to_leave_out_are_searched_to_their_minima() {
    let (free, normalized) = (mean_of(1.0), normalized_mean());
    let at_one = |model: &Model, words: &str| answer(&question(model, Ratio::Fixed(1.0)), words);
    let given = at_one(&normalized, "gamma(3.38, 2.81)").error;
    assert!(at_one(&normalized, "gamma(?, ?)").error <= given && given < 3.0065, "{given}");
    let given = at_one(&free, "gamma(0.8424, 0.9415)").error;
    assert!(at_one(&free, "gamma(?, ?)").error <= given && given < 27.21, "{given}");
    let given = at_one(&free, "uniform(-2.58324, 2.58324)").error;
    let found = at_one(&free, "uniform(?, ?)").error;
    assert!(found <= given * (1.0 + 1e-7) && given < 4.26473, "{found} for {given}");
    let (both, one) = ("?*normal(-1.4, 0.5) + ?*normal(1.4, 0.5)", "normal(1.4, 0.5)");
    let joint = question(&normalized, Ratio::Free);
    let (found, given) = (answer(&joint, both), answer(&joint, one));
    assert!(found.error <= given.error * (1.0 + 1e-9), "{} for {}", found.error, given.error);
    assert!(!found.noise.describe().contains('+'), "{}", found.noise.describe());
}

#[test]
fn the_best_ratio_is_found_over_many_decades() {
    // (1 + νP)(1 + 1/ν) is least at ν = 1/√P.
    let model = normalized_mean();
    for price in [1e12, 1e-12, 1.0] {
        let asked = Question { prices: Prices { data: 1.0, noise: price }, ..question(&model, Ratio::Free) };
        for words in ["normal(0, 1)", "normal(0, ?)"] {
            let found = answer(&asked, words);
            let least = (1.0 + price.sqrt()).powi(2);
            assert!(found.error <= least * (1.0 + 1e-9), "{words} at {price:e}: {} for {least}", found.error);
        }
        let found = answer(&asked, "normal(0, 1)");
        assert!((found.nu * price.sqrt() - 1.0).abs() < 1e-4, "{price:e}: ν = {:e}", found.nu);
    }
    let free = Question { prices: Prices { data: 1.0, noise: 1e-40 }, ..question(&model, Ratio::Free) };
    let remarks = answer(&free, "normal(0, 1)").remarks();
    assert!(remarks.iter().any(|remark| remark.contains("end of the range")), "{remarks:?}");
}

#[test]
fn counts_that_no_memory_holds_and_numbers_that_overflow_are_refused() {
    let names: Vec<String> = (0..6).map(|i| format!("x{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let model = Model::from_family("gaussian", &names, &FamilyOptions::default(), false).unwrap();
    let precision = Precision { draws: 100_000_000_000_000, ..Precision::default() };
    let refused = Population::new(&model, &model.start(), &precision).map(|_| ());
    assert!(matches!(&refused, Err(Error::Option { option, .. }) if option == "draws"), "{refused:?}");
    assert!(Student::new(0.001, 0.0, 1.0).is_err() && Student::new(0.1, 0.0, 1.0).is_ok());
    assert!(Gamma::new(1e308, 1.0).is_err() && Gamma::new(1e6, 1e-3).is_ok());
}

#[test]
fn off_the_sphere_there_is_no_density() {
    let noise = VonMisesFisher::new(&[0.0, 0.0, 1.0], 2.0).unwrap();
    let mut out = [0.0; 3];
    let points = [0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0, 1.0, 2.0, 1.0];
    noise.log_density(View::new(3, 3, &points), &mut out);
    assert!(out[0].is_finite() && out[1] == f64::NEG_INFINITY && out[2] == f64::NEG_INFINITY, "{out:?}");
}
