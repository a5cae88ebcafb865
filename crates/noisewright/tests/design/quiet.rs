//! What a design says of quiet draws of its noise (MATH §8).

use noisewright::design::{Prices, Ratio};
use noisewright::fit::{Amount, Data, DrawKind, FitOptions, NoiseChoice};
use noisewright::internal::design::{Answer, DesignSpace, Problem, Question};
use noisewright::internal::fit::fit;
use noisewright::{Model, Target, sample};

fn quartic() -> Model {
    let file = "variables = ['x']\nlog_density = 'a*x^2/2 - b*x^4'\n[parameters]\na = 1\nb = 0.1";
    Model::from_toml(file).unwrap()
}

fn designed(model: &Model, words: &str, nu: f64) -> Answer {
    let theta = [1.0, 0.1];
    let question = Question {
        problem: Problem::new(model, &theta),
        files: &|_| Err("there are no files".into()),
        target: Target::parse("a"),
        ratio: Ratio::Fixed(nu),
        prices: Prices::default(),
        efficiency: None,
    };
    question.answer(&DesignSpace::parse(words).unwrap()).unwrap()
}

/// In MATH §8's table 1,024 independent points of N(0, 4) have T_d·MSE(a) = 18.9 and 64 quiet ones 9.70: 128 of 16 scrambles, whose nets
/// are shorter, do in any case. Beside ten points nothing is to be gained.
#[test]
fn quiet_draws_of_a_given_noise_need_few_points() {
    let model = quartic();
    let quiet = designed(&model, "normal(0, 4)", 1.0).quiet.unwrap();
    assert_eq!((quiet.rows, quiet.independent_points, quiet.replicates), (1000.0, 1000.0, 16));
    assert!(quiet.points.unwrap() <= 128 && quiet.relative_error.unwrap() <= 1.0, "{quiet:?}");
    assert_eq!(designed(&model, "normal(0, 4)", 0.01).quiet.unwrap().points, None);
}

/// Fits of data of the model with so many quiet points of the best normal noise have the variance that was foretold, within the
/// √(2/60)·4 = 73 % of a mean over 60 fits.
#[test]
fn what_is_said_of_quiet_draws_holds_in_fits() {
    let model = quartic();
    let optimum = designed(&model, "optimal", 1.0);
    assert!(optimum.quiet.as_ref().unwrap().points.unwrap() <= 500, "{:?}", optimum.quiet);
    assert!(optimum.remarks().iter().any(|remark| remark.contains("quiet draws")));
    let answer = designed(&model, "normal(0, ?)", 1.0);
    let quiet = answer.quiet.clone().unwrap();
    let points = quiet.points.unwrap();
    // The error is times T = (1 + ν) T_d: T_d·Var is half of it.
    let foretold = quiet.relative_error.unwrap() * answer.error / 2.0;
    let source = designed(&model, "data", 1.0).noise;
    let runs = 60;
    let mean = (0..runs).map(|seed| {
        let data = sample(source.as_ref(), 1000, seed);
        let options = FitOptions {
            noise: NoiseChoice::Given(answer.noise.clone()),
            amount: Amount::Points(points),
            draws: DrawKind::Quiet,
            loss_ratio: Some(quiet.loss_ratio),
            seed,
            ..FitOptions::default()
        };
        let found = fit(&model, Data::from(&data), &options).unwrap();
        1000.0 * (found.parameters[0].estimate - 1.0).powi(2)
    });
    let mean = mean.sum::<f64>() / runs as f64;
    assert!(mean < 1.73 * foretold && mean > 0.27 * foretold, "{mean} {foretold}");
}
