//! Random streams that nobody shares, and computations that end when they are told to.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use noisewright::design::{DesignOptions, DictionaryOptions, design_mixture};
use noisewright::fit::{FitOptions, Source, Visit, fit_stream};
use noisewright::internal;
use noisewright::internal::fit::{fit, ratio};
use noisewright::internal::run::Purpose;
use noisewright::nalgebra::DMatrix;
use noisewright::normalizer::{Draws, LogZOptions, log_z_of_draws};
use noisewright::parts::{ChainOptions, EvidenceOptions, PathOptions, Stage};
use noisewright::prelude::{
    Amount, Data, Energy, Model, ModelDensity, MultivariateNormal, NoiseChoice, Normal, Parameter, Points,
    Precision, Progress, Ratio, Result, View, density, evidence, path, sample, states,
};
use noisewright::run::Context;
use noisewright::try_sample;
use rand::Rng;

use super::run_support::{Job, Watch, cancel_everywhere, four_variables, hook, line, not_linear, others};

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
        Box::new(move |token, watch| {
            let options = FitOptions { cancel: token.clone(), progress: hook(watch), ..given.clone() };
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
    let of_two: Job<'_> = Box::new(|token, watch| {
        let options = FitOptions { cancel: token.clone(), progress: hook(watch), ..FitOptions::default() };
        ratio(&features, Data::from(&data), Data::from(&second), &options).map(drop)
    });
    cancel_everywhere("ratio", 12, 0, &of_two);
    let rows = Blocks(data.clone());
    let streamed: Job<'_> = Box::new(|token, watch| {
        let options =
            FitOptions { cancel: token.clone(), progress: hook(watch), ..plain(Amount::Ratio(2.0)) };
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
    let along: Job<'_> = Box::new(|token, watch| {
        let few = PathOptions { draws: 200, warm_up: 20, swarm: 100, ..PathOptions::default() };
        let options = PathOptions { cancel: token.clone(), progress: hook(watch), ..few };
        path(noise.clone(), &density).options(options).run().map(drop)
    });
    cancel_everywhere("path", 12, others(), &along);
    let chains: Job<'_> = Box::new(|token, watch| {
        let few = ChainOptions { draws: 400, warm_up: 50, ..ChainOptions::default() };
        let options = ChainOptions { cancel: token.clone(), progress: hook(watch), ..few };
        internal::chain::run(&density, &options).map(drop)
    });
    cancel_everywhere("chains", 12, others(), &chains);
    let draws = sample(&Normal::with_variance(5.0, 1.0).unwrap(), 4000, 1);
    // Ten times as many resamples as may come too late.
    let bootstrap = Some(10 * others());
    let integral: Job<'_> = Box::new(|token, watch| {
        let progress = hook(watch);
        let log_z = LogZOptions { cancel: token.clone(), progress, bootstrap, ..Default::default() };
        let options = EvidenceOptions { log_z, ..EvidenceOptions::default() };
        evidence(&density, &draws).options(options).run().map(drop)
    });
    cancel_everywhere("evidence", 6, others(), &integral);
    let log_noise: Vec<f64> = draws.values().iter().map(|x| -0.5 * (x - 5.2).powi(2)).collect();
    let log_f: Vec<f64> = draws.values().iter().map(|x| -0.5 * (x - 5.0).powi(2)).collect();
    let resampled: Job<'_> = Box::new(|token, watch| {
        let progress = hook(watch);
        let options = LogZOptions { cancel: token.clone(), progress, bootstrap, ..Default::default() };
        log_z_of_draws(Draws::new(&log_f, &log_noise), Draws::new(&log_f, &log_noise), &options).map(drop)
    });
    cancel_everywhere("log Z", 6, others(), &resampled);
}

/// A watch as builders take it.
fn told(watch: &Watch) -> impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static {
    let watch = Arc::clone(watch);
    move |progress| watch(progress)
}

#[test]
fn errors_and_designs_are_cancelled_in_every_stage() {
    let (model, theta) = (not_linear(), [0.0, 0.0]);
    let noise = Normal::with_variance(0.0, 2.0).unwrap();
    let error: Job<'_> = Box::new(|token, watch| {
        model.error(&theta, noise.clone()).cancel(token).progress(told(watch)).run().map(drop)
    });
    // In one variable a pass over the nodes is one block, and nothing goes on beside it.
    let stages = cancel_everywhere("error", 12, 0, &error);
    assert!([Stage::Integration, Stage::Errors].iter().all(|stage| stages.contains(stage)), "{stages:?}");
    let design: Job<'_> =
        Box::new(|token, watch| model.design(&theta).cancel(token).progress(told(watch)).run().map(drop));
    let stages = cancel_everywhere("design", 6, 0, &design);
    assert!([Stage::Integration, Stage::Design].iter().all(|stage| stages.contains(stage)), "{stages:?}");
    let normalized =
        Model::from_formula("-(x - m)^2/2 - log(2*pi)/2", line(), vec![Parameter::new("m", 0.0)], true);
    let normalized = normalized.unwrap();
    let from_several: Job<'_> = Box::new(|token, watch| {
        normalized.design(&[0.0]).ratio(1.0).cancel(token).progress(told(watch)).run().map(drop)
    });
    cancel_everywhere("design from several starts", 6, 0, &from_several);
    let mixed: Job<'_> = Box::new(|token, watch| {
        let precision = Precision {
            cancel: token.clone(),
            progress: hook(watch),
            relative: 1e-6,
            ..Precision::default()
        };
        let options = DesignOptions { precision, ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
        let few = DictionaryOptions { kernels: 4, shifts: vec![1.5], ..DictionaryOptions::default() };
        design_mixture(&model, &theta, &few, &options).map(drop)
    });
    cancel_everywhere("mixture", 3, 0, &mixed);
    // Blocks of several variables, and replicates of draws, side by side.
    let four = four_variables();
    let sampled: Job<'_> = Box::new(|token, watch| {
        let precision = Precision { draws: 1 << 14, ..Precision::default() };
        let noise = MultivariateNormal::new(&[0.0; 4], DMatrix::<f64>::identity(4, 4).scale(0.5).as_slice())?;
        let asked = four.error(&[0.1], noise).precision(precision);
        asked.cancel(token).progress(told(watch)).run().map(drop)
    });
    let stages = cancel_everywhere("error by sampling", 4, others(), &sampled);
    let rounds = stages.iter().filter(|stage| **stage == Stage::Integration).count();
    // Twice ten rounds of adaptation and sixteen replicates.
    assert_eq!(rounds, 36, "{stages:?}");
}

#[test]
fn states_are_cancelled_in_every_stage() {
    let widths = [1.0, 2.0, 4.0];
    let bell = |v: f64| density(line(), move |x: &[f64]| -0.5 * x[0] * x[0] / v);
    let bells: Vec<_> = widths.iter().map(|v| bell(*v)).collect();
    let draws: Vec<Points> = (1..)
        .zip(widths)
        .map(|(seed, v)| sample(&Normal::with_variance(0.0, v).unwrap(), 2000, seed))
        .collect();
    let combined: Job<'_> = Box::new(|token, watch| {
        states(&bells).draws(&draws).cancel(token).progress(told(watch)).run().map(drop)
    });
    let stages = cancel_everywhere("states", 12, others(), &combined);
    let all = [Stage::Prepare, Stage::Descent, Stage::Errors];
    assert!(all.iter().all(|stage| stages.contains(stage)), "{stages:?}");
    // Of the states' densities, of the start, of the errors as a whole and of every state's chains.
    let count = |of: Stage| stages.iter().filter(|stage| **stage == of).count();
    assert_eq!((count(Stage::Prepare), count(Stage::Errors)), (4, 4), "{stages:?}");
}
