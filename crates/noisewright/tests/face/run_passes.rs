//! Computations that are told to stop in the middle of a pass: repeated fits, searches of every method, expectations and designs.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ops::ControlFlow;
use std::sync::Arc;

use noisewright::design::{DesignOptions, DictionaryOptions, design_mixture};
use noisewright::fit::{ChoiceSets, FitOptions, fit_choices};
use noisewright::internal::design::{DesignSpace, Problem, Question, best_histogram_1d, design};
use noisewright::internal::fit::{density_ratio, fit, mutual_information};
use noisewright::internal::normalizer::fit_noise;
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::parts::{RatioOptions, Stage};
use noisewright::prelude::*;
use noisewright::run::Context;
use noisewright::{Population, try_sample};

use super::run_support::{
    Job, TrippingNoise, Watch, WithModel, cancel_everywhere, four_variables, hook, line, not_linear, others,
    trip_everywhere,
};

/// A fit that repeats others, or one of a method of its own.
struct Case {
    name: &'static str,
    /// Steps that may be told of after it was told to stop: none where all are taken one after the other.
    after: usize,
    model: Model,
    options: FitOptions,
    run: fn(&Model, &FitOptions) -> Result<()>,
}

/// Rows of a normal density.
fn of_rows(model: &Model, options: &FitOptions) -> Result<()> {
    let rows = sample(&Normal::with_variance(0.3, 1.0)?, 300, 1);
    fit(model, &rows, options).map(drop)
}

/// Rows of two spins: x up in one of three, y in two of four, all four pairs with it.
fn of_spins(model: &Model, options: &FitOptions) -> Result<()> {
    let up = |is: bool| if is { 1.0 } else { -1.0 };
    let rows: Vec<[f64; 2]> = (0..120).map(|i| [up(i % 3 == 0), up(i % 4 < 2)]).collect();
    fit(model, &Points::from_rows(&["x", "y"], &rows)?, options).map(drop)
}

/// Rows on a line, y = 1 + 2 z and an error, at five values of z.
fn of_responses(model: &Model, options: &FitOptions) -> Result<()> {
    let errors = sample(&Normal::with_std(0.0, 1.0)?, 60, 2);
    let z = |i: usize| (i % 5) as f64 - 2.0;
    let rows: Vec<[f64; 2]> =
        errors.values().iter().enumerate().map(|(i, e)| [1.0 + 2.0 * z(i) + e, z(i)]).collect();
    fit(model, &Points::from_rows(&["y", "z"], &rows)?, options).map(drop)
}

/// Thirty pairs whose features differ by one, of which twenty chose the larger.
fn of_pairs(model: &Model, options: &FitOptions) -> Result<()> {
    let points = Points::from_columns(&["x"], &[[1.0, 0.0].repeat(30)])?;
    let strata: Vec<u64> = (0..60).map(|i| i / 2).collect();
    let chosen: Vec<bool> = (0..60).map(|i| (i % 2 == 0) == (i / 2 < 20)).collect();
    let sets = ChoiceSets { strata: &strata, chosen: &chosen, log_probability: None };
    fit_choices(model, &points, sets, options).map(drop)
}

/// Replicates of the bootstraps: more than may be under way when they are told to stop.
fn replicates() -> usize {
    20 + others()
}

fn cases() -> Vec<Case> {
    let features = Model::from_features(&["x", "x^2"], line(), vec![]).unwrap();
    let one = Model::from_features(&["x"], line(), vec![]).unwrap();
    let spin = || Domain::States(vec![-1.0, 1.0]);
    let pair = Space::product(&[("x", spin()), ("y", spin())]).unwrap();
    let spins = Model::from_features(&["x", "y", "x*y"], pair, vec![]).unwrap();
    let conditional = Model::from_toml(
        "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - a - b*z)^2/2'\n[parameters]\na = 0\nb = 0",
    )
    .unwrap();
    let default = FitOptions::default;
    let noise = || NoiseChoice::Given(Arc::new(Normal::with_variance(0.0, 4.0).unwrap()));
    let plain = || FitOptions { noise: noise(), amount: Amount::Ratio(2.0), ..default() };
    let case =
        |name, after, model: &Model, options, run| Case { name, after, model: model.clone(), options, run };
    let repeated = FitOptions { bootstrap: Some(replicates()), ..default() };
    let divided = FitOptions { cross_validate: Some(5), ..default() };
    let by = |method| FitOptions { method, ..default() };
    let lasso = FitOptions { penalty: Some("auto".parse().unwrap()), ..plain() };
    vec![
        case(
            "bootstrap",
            others(),
            &features,
            FitOptions { bootstrap: Some(replicates()), ..plain() },
            of_rows,
        ),
        case(
            "cross-validation",
            others(),
            &features,
            FitOptions { cross_validate: Some(5), ..plain() },
            of_rows,
        ),
        case(
            "profiles",
            0,
            &not_linear(),
            FitOptions { interval: IntervalKind::Profile, ..plain() },
            of_rows,
        ),
        case("penalty path", others(), &features, lasso, of_rows),
        case("score matching", 0, &not_linear(), by(FitMethod::ScoreMatching), of_rows),
        case("pseudo-likelihood", 0, &spins, by(FitMethod::PseudoLikelihood), of_spins),
        case("ranking", 0, &conditional, FitOptions { choices: Some(5), ..default() }, of_responses),
        case("conditional likelihood", 0, &conditional, by(FitMethod::Exact), of_responses),
        case("choices", 0, &one, default(), of_pairs),
        case("bootstrap of choices", others(), &one, repeated, of_pairs),
        case("cross-validation of choices", others(), &one, divided, of_pairs),
    ]
}

#[test]
fn repeated_fits_and_every_method_stop_when_their_hook_or_token_says_so() {
    for Case { name, after, model, options, run } in cases() {
        let job: Job<'_> = Box::new(move |token, watch| {
            run(&model, &FitOptions { cancel: token.clone(), progress: hook(watch), ..options.clone() })
        });
        let stages = cancel_everywhere(name, 6, after, &job);
        if name == "bootstrap" {
            // Every replicate tells of its own steps too: the hook can stop within one.
            let told = stages.iter().filter(|stage| **stage == Stage::Bootstrap).count();
            assert!(told > 2 * replicates(), "{told} for {} replicates", replicates());
        }
    }
}

#[test]
fn repeated_fits_and_every_method_stop_within_a_pass() {
    for Case { name, model, options, run, .. } in cases() {
        let job: WithModel<'_> = Box::new(move |model, token| {
            run(model, &FitOptions { cancel: token.clone(), ..options.clone() })
        });
        trip_everywhere(name, &model, 8, Some(others()), &job);
    }
}

/// Two samples in the plane, one of them a step to the side, and a pair of correlated columns.
fn planes() -> [Points; 3] {
    let one = [1.0, 0.0, 0.0, 1.0];
    let drawn = |mean: &[f64], covariance: &[f64], seed| {
        let normal = MultivariateNormal::new(mean, covariance).unwrap();
        sample(&normal, 300, seed).with_names(&["x", "y"]).unwrap()
    };
    [drawn(&[1.0, 0.0], &one, 1), drawn(&[0.0, 0.0], &one, 2), drawn(&[0.0, 0.0], &[1.0, 0.6, 0.6, 1.0], 3)]
}

#[test]
fn ratios_bridges_and_information_stop_too() {
    let [first, second, pairs] = planes();
    let watched = |token: &CancelToken, watch: &Watch| RatioOptions {
        cancel: token.clone(),
        progress: hook(watch),
        bridges: Bridges::Count(3),
        permutations: 10 * others(),
        ..RatioOptions::default()
    };
    let bridges: Job<'_> =
        Box::new(|token, watch| density_ratio(None, &first, &second, &watched(token, watch)).map(drop));
    cancel_everywhere("bridges", 6, others(), &bridges);
    let information: Job<'_> = Box::new(|token, watch| {
        mutual_information(None, &pairs, [&["x"], &["y"]], &watched(token, watch)).map(drop)
    });
    cancel_everywhere("information", 6, 0, &information);

    let plane = Space::real(&["x", "y"]).unwrap();
    let features = Model::from_features(&["x", "y", "x*y"], plane, vec![]).unwrap();
    let quiet = |token: &CancelToken| RatioOptions {
        cancel: token.clone(),
        bridges: Bridges::Count(2),
        permutations: 19,
        ..RatioOptions::default()
    };
    let of_features: WithModel<'_> =
        Box::new(|model, token| density_ratio(Some(model), &first, &second, &quiet(token)).map(drop));
    trip_everywhere("bridges of features", &features, 8, Some(others()), &of_features);
    let shared: WithModel<'_> = Box::new(|model, token| {
        mutual_information(Some(model), &pairs, [&["x"], &["y"]], &quiet(token)).map(drop)
    });
    trip_everywhere("information of features", &features, 8, Some(others()), &shared);
}

/// Expectations and designs: cancelled before they begin, and at their evaluations of the model. A designed noise evaluates the model
/// by itself, and a chain takes its step to the end, so that only the outcome counts for those.
#[test]
fn everything_else_ends_with_its_token() {
    let (flat, theta) = (not_linear(), [0.0, 0.0]);
    let normal = Normal::with_variance(0.0, 2.0).unwrap();
    let precision = |token: &CancelToken| Precision { cancel: token.clone(), ..Precision::default() };
    let free = |token: &CancelToken| DesignOptions {
        precision: precision(token),
        ratio: Ratio::Free,
        ..DesignOptions::default()
    };
    let edges: Vec<f64> = (0..=20).map(|i| -5.0 + 0.5 * f64::from(i)).collect();
    let contrast = Contrast { noise: &normal, nu: 1.0, loss: &Loss::Js };
    let few = DictionaryOptions { kernels: 4, shifts: vec![1.5], ..DictionaryOptions::default() };
    let fits: WithModel<'_> = Box::new(|m, t| {
        let amount = Amount::Ratio(1.0);
        let rows = sample(&Normal::with_variance(0.3, 1.0)?, 500, 1);
        let options = FitOptions { amount, starts: 2, cancel: t.clone(), ..FitOptions::default() };
        fit(m, &rows, &options).map(drop)
    });
    let counted = Some(others());
    let jobs: Vec<(&str, Option<usize>, WithModel<'_>)> = vec![
        ("fit", counted, fits),
        ("population", counted, Box::new(|m, t| Population::new(m, &theta, &precision(t)).map(drop))),
        (
            "error",
            counted,
            Box::new(|m, t| asymptotic_error(m, &theta, contrast, &Target::Mse, &precision(t)).map(drop)),
        ),
        ("mixture", counted, Box::new(|m, t| design_mixture(m, &theta, &few, &free(t)).map(drop))),
        ("histogram", counted, Box::new(|m, t| best_histogram_1d(m, &theta, &edges, &free(t)).map(drop))),
        ("design", None, Box::new(|m, t| design(m, &theta, &free(t)).map(drop))),
        ("family", None, Box::new(|m, t| question(m, &theta, t, "normal(?, ?)"))),
        ("given noise", None, Box::new(|m, t| question(m, &theta, t, "normal(0, 2)"))),
        (
            "noise of a path",
            None,
            Box::new(|m, t| {
                let density = ModelDensity::new(m, &theta)?;
                fit_noise(&density, Moves::Auto, &Context::new(0, t, None)).map(drop)
            }),
        ),
    ];
    for (name, after, job) in jobs {
        trip_everywhere(name, &flat, 8, after, &job);
    }
    let sampled: WithModel<'_> = Box::new(|model, token| {
        let few = Precision { draws: 1 << 14, ..precision(token) };
        Population::new(model, &[0.1], &few).map(drop)
    });
    trip_everywhere("population by sampling", &four_variables(), 8, counted, &sampled);
}

fn question(model: &Model, theta: &[f64], token: &CancelToken, words: &str) -> Result<()> {
    let mut problem = Problem::new(model, theta);
    problem.precision.cancel = token.clone();
    let question = Question {
        problem,
        files: &|_| Err("there are no files".into()),
        target: Target::Mse,
        ratio: Ratio::Fixed(1.0),
        prices: Prices::default(),
        efficiency: Some(0.9),
    };
    question.answer(&DesignSpace::parse(words).unwrap()).map(drop)
}

/// Draws are made 64 blocks at a time, side by side, and the token is looked at after them.
#[test]
fn draws_end_with_their_token() {
    const ROWS: usize = 600_000;
    let normal = Normal::with_variance(0.0, 2.0).unwrap();
    let run = |at: usize| {
        let token = CancelToken::new();
        let noise = TrippingNoise::new(&normal, &token, at);
        (try_sample(&noise, ROWS, &Context::new(0, &token, None)), noise.asked())
    };
    let (drawn, all) = run(usize::MAX);
    assert_eq!(drawn.unwrap(), sample(&normal, ROWS, 0));
    for at in (1..=all).step_by(all.div_ceil(6)) {
        let (drawn, asked) = run(at);
        assert_eq!(drawn.map(drop), Err(Error::Cancelled), "at block {at} of {all}");
        assert!(asked - at < 64, "{asked} blocks, cancelled at {at}");
    }
    let token = CancelToken::new();
    token.cancel();
    assert_eq!(try_sample(&normal, ROWS, &Context::new(0, &token, None)).map(drop), Err(Error::Cancelled));
}

/// A hook is asked whether to go on by every part of a computation, and none of them goes on after it said no: here the first word of a
/// bootstrap's replicates, which are fits of their own.
#[test]
fn a_hook_that_stops_a_replicate_stops_the_bootstrap() {
    let model = Model::from_features(&["x", "x^2"], line(), vec![]).unwrap();
    let rows = sample(&Normal::with_variance(0.3, 1.0).unwrap(), 300, 1);
    let watch = |progress: &Progress| match (progress.stage, progress.iteration) {
        (Stage::Bootstrap, 0) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    // No replicate is done yet: it is one of its steps that is told.
    let fitted = model.fit(&rows).ratio(2.0).bootstrap(200).progress(watch).run();
    assert_eq!(fitted.unwrap_err(), Error::Cancelled);
}
