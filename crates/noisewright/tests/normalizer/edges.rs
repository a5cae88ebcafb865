//! Constants at the edges: short and slow chains, heavy tails, few crossings, states with hardly any draws.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{Pair, independent, run};
use noisewright::normalizer::states::{Origin, Pooled, StatesEstimate, StatesOptions, estimate};
use noisewright::normalizer::{Dependence, LogZOptions, Method};
use noisewright::parts::{EvidenceOptions, StatesWarning};
use noisewright::{Space, View, batch_density, evidence};
use noisewright_numerics::random::stream;
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;

fn normals(count: usize, mean: f64, sd: f64, seed: u64, number: u64) -> Vec<f64> {
    let mut rng = stream(seed, number);
    (0..count).map(|_| mean + sd * rng.sample::<f64, _>(StandardNormal)).collect()
}

/// How many of these intervals miss: at most what 5 % of them and four binomial standard deviations allow, and one.
fn assert_covers(covered: &[bool], what: &str) {
    let answered = covered.len() as f64;
    let missed = covered.iter().filter(|c| !**c).count() as f64;
    let most = 0.05 * answered + 4.0 * (0.05 * 0.95 * answered).sqrt() + 1.0;
    assert!(missed <= most, "{what}: {missed} of {answered} intervals miss");
}

/// Draws of an autoregression against independent noise.
fn slow(correlation: f64, draws: usize) -> Pair {
    Pair { correlation: [correlation, 0.0], ..Pair::new(1, [draws, draws], 0.0, 1.3) }
}

#[test]
fn what_is_answered_of_slow_chains_covers() {
    let mut answered = Vec::new();
    for (correlation, draws) in [(0.9, 500), (0.97, 500), (0.99, 500), (0.99, 1000), (0.97, 2000)] {
        let pair = slow(correlation, draws);
        let covered: Vec<bool> = (0..60_u64)
            .into_par_iter()
            .filter_map(|seed| {
                let result = run(&pair.sample(seed), &LogZOptions::default());
                let best = result.best();
                best.se.is_finite().then_some(best.lower <= pair.truth() && pair.truth() <= best.upper)
            })
            .collect();
        assert_covers(&covered, &format!("AR {correlation}, {draws} draws"));
        answered.push(covered.len());
    }
    // Worth 26, 8, 2.5, 5 and 30 independent draws: at least half of the chains are long enough where the draws are.
    assert!(answered[0] >= 30 && answered[4] >= 30, "{answered:?}");
    assert!(answered[1..4].iter().all(|count| *count <= 3), "{answered:?}");
}

#[test]
fn a_chain_too_short_to_know_its_error_says_so() {
    let result = run(&slow(0.99, 500).sample(3), &LogZOptions::default());
    let best = result.best();
    assert_eq!((best.se, best.lower, best.upper), (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY));
    assert!(result.reason.to_string().contains("independent ones"), "{}", result.reason);
    // The same numbers said to be independent are answered.
    assert!(run(&slow(0.99, 500).sample(3), &independent()).best().se.is_finite());
}

/// A chain that has stayed where the weights of `revis` hardly vary looks fast to these alone: of 200 such chains 20 were
/// answered, and 7 of their intervals covered.
#[test]
fn a_chain_too_short_for_the_bridge_is_too_short_for_its_parts() {
    let pair = Pair { correlation: [0.99, 0.0], ..Pair::new(1, [1000, 1000], 0.0, 0.7) };
    let mut short = 0;
    for seed in 0..60 {
        let result = run(&pair.sample(seed), &LogZOptions::default());
        let refused = |method: Method| result.get(method).unwrap().refused.clone();
        if refused(Method::Nce).is_some_and(|why| why.code() == "short-chain") {
            short += 1;
            assert!(refused(Method::Revis).is_some() && refused(Method::IsRevis).is_some(), "{seed}");
        }
    }
    // A thousand draws are worth ten in x² where thirty are needed.
    assert!(short >= 40, "{short}");
}

#[test]
fn a_chain_that_never_moved_is_refused() {
    let pair = Pair::new(1, [500, 500], 0.0, 1.3);
    let mut sides = pair.sample(1);
    sides[0].log_f = vec![sides[0].log_f[0]; 500];
    sides[0].log_noise = vec![sides[0].log_noise[0]; 500];
    let result = run(&sides, &LogZOptions::default());
    assert_eq!(result.best().se, f64::INFINITY);
    assert!(result.reason.to_string().contains("does not move"), "{}", result.reason);
}

#[test]
fn chains_in_different_modes_are_refused_by_evidence() {
    let modes = [-6.0, 6.0, 6.0, 6.0];
    let draws: Vec<f64> =
        (0..4).flat_map(|chain| normals(500, modes[chain as usize], 1.0, 5, chain)).collect();
    let density = batch_density(Space::real(&["x"]).unwrap(), |points: View<'_>, out: &mut [f64]| {
        for (o, x) in out.iter_mut().zip(points.column(0)) {
            *o = (0.9 * (-0.5 * (x + 6.0_f64).powi(2)).exp() + 0.1 * (-0.5 * (x - 6.0_f64).powi(2)).exp())
                .ln();
        }
        Ok(())
    });
    for weight_by_ess in [false, true] {
        let options = EvidenceOptions {
            chains: Some(vec![500; 4]),
            log_z: LogZOptions { weight_by_ess, ..LogZOptions::default() },
            ..EvidenceOptions::default()
        };
        let result = evidence(&density, View::new(1, 2000, &draws)).options(options).run().unwrap();
        assert_eq!(
            (result.se, result.lower, result.upper),
            (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY)
        );
    }
}

/// One estimator over independent draws of a pair: z-scores of what is answered, and whether the interval covers.
fn answered(pair: &Pair, method: Method, runs: u64) -> Vec<(f64, bool)> {
    let one = |seed: u64| {
        let result = run(&pair.sample(seed), &independent());
        let e = result.get(method).unwrap();
        e.se.is_finite()
            .then(|| ((e.log_z - pair.truth()) / e.se, e.lower <= pair.truth() && pair.truth() <= e.upper))
    };
    (0..runs).into_par_iter().filter_map(one).collect()
}

/// p_n/p_d of N(0.5, 1.5²) over N(0, 1) has moments up to 1/0.556 only, p_d/p_n of N(0, 0.7²) up to 1/0.51: no variance. The
/// weights' own tail lets 4 % through, those whose tail was not drawn, and half of their intervals missed; the draws of the
/// other side, which know nothing of that luck, stop seven of eight of these.
#[test]
fn an_average_without_a_variance_has_no_interval() {
    for (method, mean, sd, draws) in
        [(Method::Revis, 0.5, 1.5, 1000), (Method::Is, 0.0, 0.7, 200), (Method::Is, 0.0, 0.7, 1000)]
    {
        let given = answered(&Pair::new(1, [draws, draws], mean, sd), method, 800);
        let expected = 800.0 * 0.04 / 8.0;
        assert!(
            (given.len() as f64) < expected + 4.0 * f64::sqrt(expected),
            "{method} {sd}: {}",
            given.len()
        );
    }
}

/// The square root of a density ratio has a variance whatever the densities: its second moment is at most one. The tail of its
/// fourth moment may be infinite (N(0, 2²), N(0, 3²): moments up to 1/0.375 and 1/0.444), so that its variance is not
/// to be had from the weights: taken from them, the few that were answered (three in ten, and one in fifteen) had
/// z-scores of 1.25 to 1.29.
#[test]
fn the_product_of_both_is_answered_with_the_variance_that_it_has() {
    for (mean, sd, draws) in [(0.0, 2.0, 200), (0.0, 2.0, 1000), (0.0, 3.0, 1000), (0.5, 1.5, 200)] {
        let given = answered(&Pair::new(1, [draws, draws], mean, sd), Method::IsRevis, 400);
        let what = format!("N({mean}, {sd}²), {draws} draws");
        let count = given.len() as f64;
        assert!(count >= 0.9 * 400.0, "{what}: {count}");
        let rms = (given.iter().map(|(z, _)| z * z).sum::<f64>() / count).sqrt();
        assert!((rms - 1.0).abs() < 4.0 / (2.0 * count).sqrt(), "{what}: {rms}");
        assert_covers(&given.iter().map(|(_, covered)| *covered).collect::<Vec<_>>(), &what);
    }
}

/// A thousand draws of such a chain are worth five to ten: of 800, 22 seemed worth twenty and were answered, and five of
/// their intervals missed.
#[test]
fn chains_that_look_faster_than_they_are_are_refused() {
    let pair = Pair { correlation: [0.99, 0.0], ..Pair::new(1, [1000, 1000], 0.0, 0.7) };
    let given = |seed: &u64| run(&pair.sample(*seed), &LogZOptions::default()).best().se.is_finite();
    let count = (0..800_u64).into_par_iter().filter(given).count();
    // One in four hundred, and four of its standard deviations.
    assert!(count <= 7, "{count}");
}

/// Choosing by what the same draws promise picks the lucky ones: of 400 such runs 218 took importance sampling, and 87 % of
/// those covered.
#[test]
fn the_bridge_is_recommended_whatever_the_draws_look_like() {
    let pair = Pair { correlation: [0.9, 0.0], ..Pair::new(1, [2000, 2000], 0.0, 0.7) };
    let far = Pair::new(1, [200, 200], 9.0, 1.0);
    for seed in 0..20 {
        assert_eq!(run(&pair.sample(seed), &LogZOptions::default()).recommended, Method::Nce);
        let refused = run(&far.sample(seed), &independent());
        assert_eq!((refused.recommended, refused.best().se), (Method::Nce, f64::INFINITY));
    }
}

/// With 48 crossings and densities that are nearly the same, the interval is that of the standard error.
#[test]
fn few_crossings_with_good_overlap_do_not_widen_the_interval() {
    let pair = Pair::new(1, [1000, 50], 0.05, 1.0);
    for seed in 0..20 {
        let result = run(&pair.sample(seed), &independent());
        let best = result.best();
        assert!(result.expected_crossings < 60.0);
        for reach in [best.upper - best.log_z, best.log_z - best.lower] {
            assert!(reach < 3.0 * best.se, "{seed}: {reach} {}", best.se);
        }
    }
}

fn gaussian_states(states: &[(f64, f64)], counts: &[usize], seed: u64) -> StatesEstimate {
    let x: Vec<f64> = states
        .iter()
        .zip(counts)
        .enumerate()
        .flat_map(|(k, ((mean, sd), count))| normals(*count, *mean, *sd, seed, k as u64))
        .collect();
    let log_f: Vec<Vec<f64>> =
        states.iter().map(|(m, s)| x.iter().map(|x| -0.5 * ((x - m) / s).powi(2)).collect()).collect();
    let slices: Vec<&[f64]> = log_f.iter().map(Vec::as_slice).collect();
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(counts), chains: None };
    let options = StatesOptions { dependence: Dependence::Independent, ..StatesOptions::default() };
    estimate(&pooled, &options).unwrap()
}

#[test]
fn a_state_with_a_few_draws_is_answered_as_one_with_none() {
    let states = [(0.0, 1.0), (0.3, 1.0), (0.6, 1.0)];
    let none = gaussian_states(&states, &[2000, 0, 2000], 7).se()[1];
    for few in 1..=12 {
        let result = gaussian_states(&states, &[2000, few, 2000], 7);
        assert!((result.se()[1] / none - 1.0).abs() < 0.2, "{few}: {} {none}", result.se()[1]);
        assert_eq!(result.groups().len(), 1, "{few}");
    }
    // One that is far away is not.
    let far = gaussian_states(&[(0.0, 1.0), (20.0, 1.0), (0.6, 1.0)], &[2000, 3, 2000], 7);
    assert_eq!(far.se()[1], f64::INFINITY);
}

/// The weights of a state two and a half times as wide have no variance; what 600 draws show of their tail may look light.
#[test]
fn a_wide_state_without_draws_is_judged_by_its_largest_weight_too() {
    let states = [(0.0, 1.0), (0.0, 1.2), (0.0, 2.5)];
    let results: Vec<StatesEstimate> =
        (0..400_u64).into_par_iter().map(|seed| gaussian_states(&states, &[300, 300, 0], seed)).collect();
    let off = |result: &&StatesEstimate| ((result.log_z()[2] - 2.5_f64.ln()) / result.se()[2]).abs() > 4.0;
    assert_eq!(results.iter().filter(off).count(), 0);
    let one = |w: &StatesWarning| matches!(w, StatesWarning::LargestWeight { .. });
    assert!(results.iter().any(|result| result.warnings().iter().any(one)));
}
