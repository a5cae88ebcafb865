//! Draws that are not what they are said to be: of another density, of another state, not independent, there twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{Pair, Side, independent, run};
use noisewright::normalizer::LogZOptions;
use noisewright::normalizer::states::{Origin, Pooled, StatesEstimate, StatesOptions, estimate};
use noisewright::normalizer::{Dependence, Evidence};
use noisewright::parts::{EvidenceOptions, LogZWarning};
use noisewright::{Space, View, batch_density, evidence};
use noisewright_numerics::random::stream;
use rand::RngExt;
use rand_distr::StandardNormal;

fn normals(count: usize, mean: f64, sd: f64, seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, 0);
    (0..count).map(|_| mean + sd * rng.sample::<f64, _>(StandardNormal)).collect()
}

fn codes(warnings: &[LogZWarning]) -> Vec<&'static str> {
    warnings.iter().map(LogZWarning::code).collect()
}

/// Draws of normals at 0, ½ and 1, each under all three, with a sign before the log-densities and labels moved on.
fn three(seed: u64, sign: f64, moved: usize, chains: bool) -> StatesEstimate {
    let means = [0.0, 0.5, 1.0];
    let x: Vec<f64> = (0..3)
        .flat_map(|k| {
            let z = normals(501, 0.0, 1.0, 10 * seed + k as u64);
            // Neighbours with a correlation of ½ where they are to be chains.
            let next = |pair: &[f64]| (pair[0] + pair[1]) / 2.0_f64.sqrt();
            let chain: Vec<f64> = if chains { z.windows(2).map(next).collect() } else { z[1..].to_vec() };
            chain.into_iter().map(move |z| means[(k + moved) % 3] + z)
        })
        .collect();
    states(&x, &means, sign, Dependence::Independent)
}

fn states(x: &[f64], means: &[f64], sign: f64, dependence: Dependence) -> StatesEstimate {
    let columns: Vec<Vec<f64>> =
        means.iter().map(|m| x.iter().map(|x| -sign * 0.5 * (x - m).powi(2)).collect()).collect();
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let counts = vec![x.len() / means.len(); means.len()];
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&counts), chains: None };
    estimate(&pooled, &StatesOptions { dependence, ..StatesOptions::default() }).unwrap()
}

fn says(result: &StatesEstimate, code: &str) -> bool {
    result.warnings().iter().any(|warning| warning.code() == code)
}

/// Energies in the place of log-densities gave −0.235 ± 0.013 for 0, and draws under the labels of other states an answer,
/// both without a word.
#[test]
fn states_that_their_draws_contradict_are_told() {
    for seed in 0..5 {
        assert!(says(&three(seed, -1.0, 0, false), "contradiction"), "{seed}");
        assert!(says(&three(seed, 1.0, 1, false), "contradiction"), "{seed}");
    }
    for seed in 0..40 {
        let right = three(seed, 1.0, 0, false);
        assert!(right.warnings().is_empty(), "{:?}", right.warnings());
    }
}

#[test]
fn states_whose_draws_depend_on_each_other_or_are_copies_are_told() {
    for seed in 0..5 {
        assert!(says(&three(seed, 1.0, 0, true), "not-independent"), "{seed}");
        let once = [normals(250, 0.0, 1.0, seed), normals(250, 0.5, 1.0, seed + 90)];
        let twice: Vec<f64> = once.iter().flat_map(|x| x.repeat(2)).collect();
        assert!(says(&states(&twice, &[0.0, 0.5], 1.0, Dependence::Chains), "repeated-draws"), "{seed}");
    }
}

/// Numbers around 1e15 are known to a tenth and their sums to some units; the error said 0.02.
#[test]
fn an_error_is_not_below_the_rounding_of_what_it_is_of() {
    let x = [normals(500, 0.0, 1.0, 1), normals(500, 0.5, 1.0, 2)].concat();
    let first: Vec<f64> = x.iter().map(|x| -0.5 * x * x).collect();
    let second: Vec<f64> = x.iter().map(|x| 1e15 - 0.5 * (x - 0.5).powi(2)).collect();
    let pooled = Pooled { log_f: &[&first, &second], origin: Origin::Counts(&[500, 500]), chains: None };
    let result = estimate(&pooled, &StatesOptions::default()).unwrap();
    assert!(result.se()[1] > 1.0 && (result.log_z()[1] - 1e15).abs() < 4.0 * result.se()[1]);
}

#[test]
fn draws_that_are_there_twice_are_told() {
    let pair = Pair::new(1, [300, 900], 0.0, 1.3);
    for seed in 0..5 {
        let [data, noise] = pair.sample(seed);
        let again = Side { log_f: data.log_f.repeat(3), log_noise: data.log_noise.repeat(3) };
        for options in [independent(), LogZOptions::default()] {
            let told = codes(&run(&[again.clone(), noise.clone()], &options).warnings);
            assert_eq!(told, ["repeated-draws"], "{seed}");
            assert!(run(&[data.clone(), noise.clone()], &options).warnings.is_empty(), "{seed}");
        }
    }
}

#[test]
fn a_handful_of_draws_is_told() {
    let pair = Pair::new(1, [10, 500], 0.0, 1.3);
    assert_eq!(codes(&run(&pair.sample(1), &LogZOptions::default()).warnings), ["few-draws"]);
}

/// An autoregression of 0.9 said to be independent had a third of its error.
#[test]
fn a_chain_said_to_be_independent_is_told() {
    let pair = Pair { correlation: [0.9, 0.0], ..Pair::new(1, [2000, 2000], 0.0, 1.3) };
    for seed in 0..5 {
        assert!(codes(&run(&pair.sample(seed), &independent()).warnings).contains(&"not-independent"));
        assert!(run(&pair.sample(seed), &LogZOptions::default()).warnings.is_empty());
    }
}

/// A draw at 50 of a normal density has a probability below e^−1250.
#[test]
fn one_impossible_draw_is_enough_to_be_refused() {
    let pair = Pair::new(1, [2000, 2000], 0.0, 1.3);
    let mut sides = pair.sample(1);
    sides[0].log_f[700] = -1250.0;
    sides[0].log_noise[700] = crate::common::log_normal(&[50.0], 0.0, 1.3);
    let result = run(&sides, &LogZOptions::default());
    assert_eq!(result.best().refused.as_ref().map(|why| why.code()), Some("contradiction"));
}

fn integral(draws: &[f64], seed: u64) -> Evidence {
    let density = batch_density(Space::real(&["x"]).unwrap(), |points: View<'_>, out: &mut [f64]| {
        out.iter_mut().zip(points.column(0)).for_each(|(o, x)| *o = -0.5 * x * x);
        Ok(())
    });
    let mut options = EvidenceOptions::default();
    options.log_z.seed = seed;
    evidence(&density, View::new(1, draws.len(), draws)).options(options).run().unwrap()
}

/// Draws of a narrower density (σ = 0.8): halves of 1,000 draws contradict their noise by about five standard errors each, both
/// together by seven. Copies of half of the draws are in different halves, neither of which sees them.
#[test]
fn both_halves_of_an_evidence_see_what_neither_sees_alone() {
    let refused = (0..10).filter(|seed| integral(&normals(2000, 0.0, 0.8, *seed), *seed).se.is_infinite());
    let refused = refused.count();
    assert!(refused >= 9, "{refused}");
    for seed in 0..10 {
        let once = normals(2000, 0.0, 1.0, seed);
        let right = integral(&once, seed);
        assert!(right.se.is_finite() && right.warnings.is_empty(), "{:?}", right.warnings);
        assert_eq!(codes(&integral(&once[..1000].repeat(2), seed).warnings), ["repeated-draws"]);
    }
}
