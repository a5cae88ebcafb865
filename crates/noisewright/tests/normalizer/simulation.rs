//! The claimed errors of log Z against the true ones: z-scores and coverage over replications.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use crate::common::{Pair, independent, repeats, run};
use noisewright::normalizer::{LogZOptions, Method};
use noisewright::parts::NormalizerEstimate;
use rayon::prelude::*;

/// What replications say about one estimator.
#[derive(Clone, Copy, Debug)]
struct Score {
    /// Standard deviation of (estimate − truth)/se about zero, where not refused.
    z: f64,
    /// Share of all intervals that cover, a refusal counted as covering.
    covered: f64,
    /// The same among those not refused, for the eye.
    #[allow(dead_code)]
    covered_when_given: f64,
    given: usize,
}

/// The scores of some estimators over the same replications.
fn simulate<const K: usize>(
    pair: &Pair,
    options: &LogZOptions,
    methods: [Method; K],
    count: usize,
) -> [Score; K] {
    let truth = pair.truth();
    let row = |e: &NormalizerEstimate| {
        ((e.log_z - truth) / e.se, e.lower <= truth && truth <= e.upper, e.refused.is_none())
    };
    let rows: Vec<[(f64, bool, bool); K]> = (0..count)
        .into_par_iter()
        .map(|seed| {
            let result = run(&pair.sample(1000 + seed as u64), options);
            methods.map(|method| row(result.get(method).unwrap()))
        })
        .collect();
    std::array::from_fn(|k| Score::new(&rows.iter().map(|r| r[k]).collect::<Vec<_>>()))
}

impl Score {
    /// From z-scores, whether the interval covers, and whether there is one.
    fn new(rows: &[(f64, bool, bool)]) -> Self {
        let given: Vec<_> = rows.iter().filter(|r| r.2).collect();
        let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
        Self {
            z: (given.iter().map(|r| r.0 * r.0).sum::<f64>() / given.len().max(1) as f64).sqrt(),
            covered: share(rows.iter().filter(|r| r.1).count(), rows.len()),
            covered_when_given: share(given.iter().filter(|r| r.1).count(), given.len()),
            given: given.len(),
        }
    }
}

/// What a standard deviation of z-scores may be: by the requirement at full size, by its own sampling error (four of
/// its standard deviations 1/√2R) at less.
fn assert_unit(score: &Score, what: &str) {
    println!("{what}: {score:?}");
    let slack = if score.given >= 1000 { 0.07 } else { 4.0 / (2.0 * score.given.max(1) as f64).sqrt() };
    assert!((score.z - 1.0).abs() <= slack, "{what}: {score:?}");
}

/// How often the bridge must be given. It is refused where a chain seems worth fewer than 30 draws. The estimated
/// autocorrelation time of n draws has the relative error √(2(2M + 1)/n) with a window M of three times itself (Sokal 1997):
/// one half for τ = 20 and n = 1,000, worth 50 draws, where a time 1.67 times too long is ln 1.67 / 0.5 = 1.02 standard deviations
/// off, 15 %; from n = 10,000 on it never is. (An average of unbounded weights is refused wherever the shape of its tail may
/// reach ½, and is judged where it is given.)
fn assert_given(score: &Score, count: usize, worth: f64, what: &str) {
    let (n, refused) = (count as f64, if worth < 100.0 { 0.154 } else { 0.0 });
    let fewest = n * (1.0 - refused) - 4.0 * (n * refused * (1.0 - refused)).sqrt();
    assert!(score.given as f64 >= fewest, "{what}: {score:?}, at least {fewest}");
}

/// Four dimensions with poor overlap (Bhattacharyya coefficient 0.61), ten noise draws to a data draw.
#[test]
fn z_scores_of_independent_draws() {
    let count = repeats(150);
    let pair = Pair::new(4, [1000, 10_000], 1.0, 1.0);
    for (name, options) in [("independent", independent()), ("chains", LogZOptions::default())] {
        let methods = [Method::Nce, Method::IsRevis];
        for (method, score) in methods.into_iter().zip(simulate(&pair, &options, methods, count)) {
            assert_unit(&score, &format!("{name} {method}"));
            if method == Method::Nce {
                assert_given(&score, count, 1000.0, name);
            }
        }
    }
}

/// AR(1) with autocorrelation time 20, as data and as both; a thousand draws are worth fifty.
#[test]
#[ignore = "long: ./test.sh --all"]
fn z_scores_of_chains() {
    let count = repeats(150);
    for (draws, correlation) in [(1000, [0.905, 0.0]), (10_000, [0.905, 0.0]), (10_000, [0.905, 0.905])] {
        let pair = Pair { correlation, ..Pair::new(1, [draws, draws], 1.0, 1.0) };
        let methods = [Method::Nce, Method::IsRevis];
        for (method, score) in
            methods.into_iter().zip(simulate(&pair, &LogZOptions::default(), methods, count))
        {
            assert_unit(&score, &format!("{draws} in chains {correlation:?} {method}"));
            if method == Method::Nce {
                assert_given(&score, count, draws as f64 / 20.0, "chains");
            }
            // Intervals cover, and those of independent draws do not.
            let slack = 4.0 * (0.95 * 0.05 / count as f64).sqrt();
            assert!((score.covered - 0.95).abs() < slack, "{score:?}");
        }
        let [naive] = simulate(&pair, &independent(), [Method::Nce], count);
        println!("taken as independent: {naive:?}");
        assert!(naive.covered < 0.7, "{naive:?}");
    }
}

/// N(0, 1) against N(μ, 0.25), the 0.25 read as variance and as standard deviation, 1,000 draws each, 200 repeats.
#[test]
#[ignore = "long: ./test.sh --all"]
fn intervals_cover_or_are_refused_as_the_overlap_falls() {
    for sd in [0.5, 0.25] {
        for mean in [3.0, 4.0, 5.0, 6.0, 8.0] {
            let pair = Pair::new(1, [1000, 1000], mean, sd);
            let methods = [Method::Is, Method::Revis, Method::IsRevis, Method::Nce];
            for (method, score) in methods.into_iter().zip(simulate(&pair, &independent(), methods, 200)) {
                println!("sd {sd}, μ {mean}, {method}: {score:?}");
                assert!(score.covered >= 0.93, "sd {sd}, μ {mean}, {method}: {score:?}");
            }
            let [chains] = simulate(&pair, &LogZOptions::default(), [Method::Nce], 200);
            assert!(chains.covered >= 0.93, "sd {sd}, μ {mean}, chains: {chains:?}");
        }
    }
}

/// A side of one to fifty draws: its own spread is unknown or hardly known.
#[test]
fn few_draws_on_one_side() {
    let count = repeats(200);
    for data in [1, 2, 5, 15, 50] {
        for (mean, sd) in [(0.5, 1.3), (1.5, 1.0)] {
            let pair = Pair::new(1, [data, 1000], mean, sd);
            let [score] = simulate(&pair, &independent(), [Method::Nce], count);
            println!("{data} data draws, N({mean}, {sd}²): {score:?}");
            let slack = 4.0 * (0.95 * 0.05 / count as f64).sqrt();
            assert!(score.covered > 0.95 - slack, "{data} {mean}: {score:?}");
        }
    }
}
