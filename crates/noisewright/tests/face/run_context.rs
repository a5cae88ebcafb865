//! Random streams that nobody shares, and computations that end when they are told to.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::design::{DesignOptions, DictionaryOptions, Prices, Ratio, design_mixture};
use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, Source, Visit, fit_stream};
use noisewright::internal::design::{DesignSpace, Problem, Question, best_histogram_1d, design};
use noisewright::internal::fit::{fit, ratio};
use noisewright::internal::normalizer::fit_noise;
use noisewright::internal::run::Purpose;
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::normalizer::states::{self, Origin, Pooled, StatesOptions};
use noisewright::normalizer::{Draws, LogZOptions, log_z_of_draws};
use noisewright::parts::{ChainOptions, EvidenceOptions, PathOptions, ProgressHook};
use noisewright::run::{CancelToken, Context};
use noisewright::{
    Energy, Error, Loss, Model, ModelDensity, Normal, Parameter, Points, Population, Precision, Result,
    Space, Target, View, evidence, path, sample, try_sample,
};
use noisewright::{chain, internal};
use rand::Rng;

fn purposes() -> Vec<Purpose> {
    let mut all = vec![
        Purpose::Sample,
        Purpose::FitNoise,
        Purpose::FitStarts,
        Purpose::FitPlaces,
        Purpose::FitOptimal,
        Purpose::FitRatioCheck,
        Purpose::Bootstrap,
        Purpose::PathNoise,
        Purpose::Tempering,
        Purpose::MissedModes,
        Purpose::PathNoiseFit,
        Purpose::ChainStarts,
        Purpose::Chain,
        Purpose::SphereCandidates,
        Purpose::DesignStarts,
        Purpose::DesignStandIn,
        Purpose::ModeProbe,
    ];
    for k in 0..4 {
        all.extend([
            Purpose::EvidenceNoise { stage: k },
            Purpose::PathMoves { stage: k },
            Purpose::PathResampling { stage: k },
            Purpose::TemperingStarts { state: k },
            Purpose::PopulationTails { kind: k },
            Purpose::IntegrabilityProbe { kind: k },
        ]);
        all.extend((0..3).map(|component| Purpose::PopulationProposal { stage: k, component }));
    }
    all
}

#[test]
fn no_two_of_seed_purpose_and_block_share_a_stream() {
    let mut seen: HashMap<[u64; 2], (u64, Purpose, u64)> = HashMap::new();
    for seed in [0, 1, 2, 3, u64::MAX] {
        for purpose in purposes() {
            for block in [0, 1, 2, u64::MAX] {
                let mut stream = purpose.stream(seed, block);
                let first = [stream.next_u64(), stream.next_u64()];
                let known = seen.insert(first, (seed, purpose, block));
                assert_eq!(known, None, "{seed} {purpose:?} {block}");
            }
        }
    }
}

/// The correlation of two columns.
fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (a, b) = (mean(x), mean(y));
    let dot = |u: &[f64], c: f64, v: &[f64], d: f64| -> f64 {
        u.iter().zip(v).map(|(p, q)| (p - c) * (q - d)).sum()
    };
    dot(x, a, y, b) / (dot(x, a, x, a) * dot(y, b, y, b)).sqrt()
}

#[test]
fn a_fit_is_honest_about_a_sample_of_the_same_seed() {
    // Data and noise are the same distribution: with noise equal to the data the variance of the slope is
    // (1 + 1/ν)/(n Var x) (MATH §3), and the estimate must vary by that, rather than be zero because the noise is the data.
    let normal = Normal::with_variance(0.0, 1.0).unwrap();
    let model = Model::from_formula("m*x - x^2/2", line(), vec![Parameter::new("m", 0.0)], false).unwrap();
    let rows = 2000;
    let expected = (2.0 / rows as f64).sqrt();
    let mut squares = 0.0;
    for seed in 0..20 {
        let points = sample(&normal, rows, seed);
        let options = FitOptions {
            noise: NoiseChoice::Given(Arc::new(normal.clone())),
            amount: Amount::Ratio(1.0),
            seed,
            ..FitOptions::default()
        };
        let slope = &fit(&model, Data::from(&points), &options).unwrap().parameters[0];
        assert!(slope.estimate.abs() > 1e-6 && (slope.se / expected - 1.0).abs() < 0.2, "{slope:?}");
        squares += (slope.estimate / slope.se).powi(2);
    }
    // χ² of 20: within its quantiles at one in ten thousand either side.
    assert!((5.2..51.0).contains(&squares), "{squares}");
}

#[test]
fn neighbouring_seeds_are_independent_replications() {
    // 4,000 pairs: |r| beyond 5/√4000 = 0.079 has probability 6e-7.
    let normal = Normal::with_variance(0.0, 1.0).unwrap();
    let draws: Vec<Points> = (0..4).map(|seed| sample(&normal, 4000, seed)).collect();
    for i in 0..4 {
        for j in 0..i {
            let r = correlation(draws[i].values(), draws[j].values());
            assert!(r.abs() < 0.079, "seeds {i} and {j}: {r}");
        }
    }
    let context = Context::seeded(2);
    assert_eq!(try_sample(&normal, 4000, &context).unwrap(), draws[2]);
}

/// A computation as a test runs it: with a token and a hook.
type Job<'a> = Box<dyn Fn(&CancelToken, Option<ProgressHook>) -> Result<()> + 'a>;

/// A hook that counts its calls and cancels at one of them, by breaking off or by the token.
fn counting(at: usize, token: Option<CancelToken>) -> (ProgressHook, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&calls);
    let hook = ProgressHook::new(move |_| {
        let call = own.fetch_add(1, Ordering::SeqCst) + 1;
        match &token {
            _ if call != at => ControlFlow::Continue(()),
            None => ControlFlow::Break(()),
            Some(token) => {
                token.cancel();
                ControlFlow::Continue(())
            }
        }
    });
    (hook, calls)
}

/// Cancels a computation at many of its steps, once each, by its hook and by its token: it must end, as cancelled, without
/// going on for more than `after` further steps.
fn cancel_everywhere(name: &str, places: usize, after: usize, job: &Job<'_>) {
    let (hook, calls) = counting(usize::MAX, None);
    job(&CancelToken::new(), Some(hook)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let all = calls.load(Ordering::SeqCst);
    assert!(all > 0, "{name} says nothing of its progress");
    for at in (1..=all).step_by(all.div_ceil(places)) {
        for by_token in [false, true] {
            let token = CancelToken::new();
            let (hook, calls) = counting(at, by_token.then(|| token.clone()));
            let outcome = job(&token, Some(hook));
            assert_eq!(outcome, Err(Error::Cancelled), "{name} at step {at} of {all}, token: {by_token}");
            let later = calls.load(Ordering::SeqCst) - at;
            assert!(later <= after, "{name} went on for {later} steps after {at} of {all}");
            assert_eq!(token.is_cancelled(), by_token, "a hook leaves the token alone");
        }
    }
}

fn line() -> Space {
    Space::real(&["x"]).unwrap()
}

fn not_linear() -> Model {
    let parameters = vec![Parameter::new("m", 0.0), Parameter::new("t", 0.0)];
    Model::from_formula("-(x - m)^2*exp(t)/2", line(), parameters, false).unwrap()
}

/// Rows in memory that are read a thousand at a time.
struct Blocks(Points);

impl Source for Blocks {
    fn dimension(&self) -> usize {
        1
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        let rows = self.0.rows();
        (0..rows)
            .step_by(1000)
            .try_for_each(|start| visit(self.0.view().slice(start..rows.min(start + 1000)), None))
    }
}

/// An energy without second derivatives, which is followed by gradients first.
struct Slope;

impl Energy for Slope {
    fn parameters(&self) -> Vec<String> {
        vec!["m".into()]
    }

    fn dimension(&self) -> usize {
        1
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        let x = points.column(0);
        value.iter_mut().zip(x).for_each(|(v, x)| *v = theta[0] * x - x * x / 2.0);
        if let Some(score) = score {
            score.copy_from_slice(x);
        }
        Ok(())
    }
}

#[test]
fn fits_are_cancelled_in_every_stage() {
    let data = sample(&Normal::with_variance(0.3, 1.0).unwrap(), 3000, 1);
    let features = Model::from_features(&["x", "x^2"], line(), vec![]).unwrap();
    let normalized = Model::from_toml(
        "variables = ['x']\nnormalized = true\nfamily = 'gaussian'\n[parameters]\nh0 = 0\nP00 = 1",
    )
    .unwrap();
    let own = Model::new(Arc::new(Slope), line(), vec![Parameter::new("m", 0.5)]).unwrap();
    let of = |model: Model, given: FitOptions| -> Job<'_> {
        let data = &data;
        Box::new(move |token, progress| {
            let options = FitOptions { cancel: token.clone(), progress, ..given.clone() };
            fit(&model, Data::from(data), &options).map(drop)
        })
    };
    let plain = |amount| FitOptions { amount, ..FitOptions::default() };
    let with = |noise| FitOptions { noise, ..plain(Amount::Ratio(2.0)) };
    let exact = FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() };
    let refit = FitOptions { refit_noise: true, ..plain(Amount::Ratio(2.0)) };
    for (name, job) in [
        ("features", of(features.clone(), plain(Amount::Ratio(5.0)))),
        ("features, dosed", of(features.clone(), plain(Amount::auto()))),
        ("normalized", of(normalized, plain(Amount::Ratio(2.0)))),
        ("not linear", of(not_linear(), plain(Amount::Ratio(2.0)))),
        ("gradients alone", of(own, plain(Amount::Ratio(2.0)))),
        ("exact", of(not_linear(), exact.clone())),
        ("exact, linear", of(features.clone(), exact)),
        ("optimal", of(not_linear(), with(NoiseChoice::Optimal))),
        ("refitted", of(features.clone(), refit)),
    ] {
        cancel_everywhere(name, 12, 0, &job);
    }
    let second = sample(&Normal::with_variance(0.0, 1.0).unwrap(), 2000, 2);
    let of_two: Job<'_> = Box::new(|token, progress| {
        let options = FitOptions { cancel: token.clone(), progress, ..FitOptions::default() };
        ratio(&features, Data::from(&data), Data::from(&second), &options).map(drop)
    });
    cancel_everywhere("ratio", 12, 0, &of_two);
    let rows = Blocks(data.clone());
    let streamed: Job<'_> = Box::new(|token, progress| {
        let options = FitOptions { cancel: token.clone(), progress, ..plain(Amount::Ratio(2.0)) };
        fit_stream(&features, &rows, &options).map(drop)
    });
    cancel_everywhere("streamed", 12, 0, &streamed);
}

#[test]
fn constants_are_cancelled_in_every_stage() {
    let model =
        Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 5").unwrap();
    let noise = Normal::with_variance(0.0, 1.0).unwrap();
    let density = ModelDensity::new(&model, &[5.0]).unwrap();
    let along: Job<'_> = Box::new(|token, progress| {
        let few = PathOptions { draws: 200, warm_up: 20, swarm: 100, ..PathOptions::default() };
        let options = PathOptions { cancel: token.clone(), progress, ..few };
        path(noise.clone(), &density).options(options).run().map(drop)
    });
    // Other chains may be about to report when one is cancelled.
    cancel_everywhere("path", 12, 4, &along);
    let chains: Job<'_> = Box::new(|token, progress| {
        let few = ChainOptions { draws: 400, warm_up: 50, ..ChainOptions::default() };
        internal::chain::run(&density, &ChainOptions { cancel: token.clone(), progress, ..few }).map(drop)
    });
    cancel_everywhere("chains", 12, 4, &chains);
    let draws = sample(&Normal::with_variance(5.0, 1.0).unwrap(), 4000, 1);
    let integral: Job<'_> = Box::new(|token, progress| {
        let log_z =
            LogZOptions { cancel: token.clone(), progress, bootstrap: Some(20), ..Default::default() };
        let options = EvidenceOptions { log_z, ..EvidenceOptions::default() };
        evidence(&density, &draws).options(options).run().map(drop)
    });
    // Resamples of other threads may be under way.
    cancel_everywhere("evidence", 12, 20, &integral);
    let log_noise: Vec<f64> = draws.values().iter().map(|x| -0.5 * (x - 5.2).powi(2)).collect();
    let log_f: Vec<f64> = draws.values().iter().map(|x| -0.5 * (x - 5.0).powi(2)).collect();
    let bootstrap: Job<'_> = Box::new(|token, progress| {
        let options =
            LogZOptions { cancel: token.clone(), progress, bootstrap: Some(50), ..Default::default() };
        log_z_of_draws(Draws::new(&log_f, &log_noise), Draws::new(&log_f, &log_noise), &options).map(drop)
    });
    cancel_everywhere("log Z", 12, 50, &bootstrap);
}

/// Computations that do not report: cancelled before they begin, and a little after.
#[test]
fn everything_else_ends_with_its_token() {
    let model = not_linear();
    let theta = [0.0, 0.0];
    let normal = Normal::with_variance(0.0, 2.0).unwrap();
    let three = Model::from_toml("variables = ['x', 'y', 'z', 'w']\nlog_density = '-x^2 - y^2 - z^2 - w^2 - a*x^4'\n[parameters]\na = 0.1").unwrap();
    let precision = |token: &CancelToken| Precision { cancel: token.clone(), ..Precision::default() };
    let options = |token: &CancelToken| DesignOptions {
        precision: precision(token),
        ratio: Ratio::Free,
        ..DesignOptions::default()
    };
    let columns = [vec![0.0; 4000], (0..4000).map(|i| 1e-3 * f64::from(i)).collect::<Vec<f64>>()];
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let edges: Vec<f64> = (0..=20).map(|i| -5.0 + 0.5 * f64::from(i)).collect();
    let contrast = Contrast { noise: &normal, nu: 1.0, loss: &Loss::Js };
    type Cancellable<'a> = Box<dyn Fn(&CancelToken) -> Result<()> + 'a>;
    let jobs: Vec<(&str, Cancellable<'_>)> = vec![
        ("sample", Box::new(|t| try_sample(&normal, 50_000, &Context::new(0, t, None)).map(drop))),
        ("population", Box::new(|t| Population::new(&model, &theta, &precision(t)).map(drop))),
        ("population by sampling", Box::new(|t| Population::new(&three, &[0.1], &precision(t)).map(drop))),
        (
            "error",
            Box::new(|t| asymptotic_error(&model, &theta, contrast, &Target::Mse, &precision(t)).map(drop)),
        ),
        ("design", Box::new(|t| design(&model, &theta, &options(t)).map(drop))),
        (
            "mixture",
            Box::new(|t| {
                design_mixture(&model, &theta, &DictionaryOptions::default(), &options(t)).map(drop)
            }),
        ),
        ("histogram", Box::new(|t| best_histogram_1d(&model, &theta, &edges, &options(t)).map(drop))),
        ("family", Box::new(|t| question(&model, &theta, t, "normal(?, ?)"))),
        ("given noise", Box::new(|t| question(&model, &theta, t, "normal(0, 2)"))),
        (
            "states",
            Box::new(|t| {
                let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&[2000, 2000]), chains: None };
                states::estimate(&pooled, &StatesOptions { cancel: t.clone(), ..Default::default() })
                    .map(drop)
            }),
        ),
        (
            "noise of a path",
            Box::new(|t| {
                let density = ModelDensity::new(&model, &theta)?;
                fit_noise(&density, chain::Moves::Auto, &Context::new(0, t, None)).map(drop)
            }),
        ),
    ];
    for (name, job) in jobs {
        job(&CancelToken::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let token = CancelToken::new();
        token.cancel();
        assert_eq!(job(&token), Err(Error::Cancelled), "{name}");
    }
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

/// A model that cancels its computation at its k-th evaluation, which happens in all stages: nothing that was left out
/// for it may pass for an answer.
struct Tripwire {
    model: Model,
    token: CancelToken,
    left: AtomicUsize,
}

impl Energy for Tripwire {
    fn parameters(&self) -> Vec<String> {
        self.model.energy().parameters()
    }

    fn dimension(&self) -> usize {
        self.model.energy().dimension()
    }

    fn evaluate(
        &self,
        theta: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.token.cancel();
        }
        self.model.energy().evaluate(theta, points, value, score)
    }
}

#[test]
fn a_token_cancelled_at_any_evaluation_is_seen() {
    const MANY: usize = 1 << 40;
    let data = sample(&Normal::with_variance(0.3, 1.0).unwrap(), 500, 1);
    let normal = Normal::with_variance(0.0, 2.0).unwrap();
    type Whole<'a> = Box<dyn Fn(&Model, &CancelToken) -> Result<()> + 'a>;
    let jobs: Vec<(&str, Whole<'_>)> = vec![
        (
            "fit",
            Box::new(|model, cancel| {
                let options = FitOptions {
                    amount: Amount::Ratio(1.0),
                    starts: 2,
                    cancel: cancel.clone(),
                    ..FitOptions::default()
                };
                fit(model, Data::from(&data), &options).map(drop)
            }),
        ),
        (
            "error",
            Box::new(|model, cancel| {
                let contrast = Contrast { noise: &normal, nu: 1.0, loss: &Loss::Js };
                let precision = Precision { cancel: cancel.clone(), relative: 1e-6, ..Precision::default() };
                asymptotic_error(model, &[0.0, 0.0], contrast, &Target::Mse, &precision).map(drop)
            }),
        ),
        (
            "design",
            Box::new(|model, cancel| {
                let precision = Precision { cancel: cancel.clone(), relative: 1e-6, ..Precision::default() };
                let options =
                    DesignOptions { precision, ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
                design(model, &[0.0, 0.0], &options).map(drop)
            }),
        ),
    ];
    for (name, job) in jobs {
        let run = |left: usize| {
            let token = CancelToken::new();
            let model = not_linear();
            let wire = Arc::new(Tripwire {
                model: model.clone(),
                token: token.clone(),
                left: AtomicUsize::new(left),
            });
            let parameters = model.parameters().to_vec();
            let wired = Model::new(wire.clone(), model.space().clone(), parameters).unwrap();
            (job(&wired, &token), wire.left.load(Ordering::SeqCst))
        };
        let (outcome, left) = run(MANY);
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        let all = MANY - left;
        for at in (1..=all).step_by(all.div_ceil(20)) {
            assert_eq!(run(at).0, Err(Error::Cancelled), "{name} at evaluation {at} of {all}");
        }
    }
}
