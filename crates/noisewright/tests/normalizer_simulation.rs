//! The claimed errors of log Z against the true ones: z-scores and coverage over replications.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod normalizer_common;

use noisewright::normalizer::{Method, Options};
use normalizer_common::{Pair, independent, repeats, run};
use rayon::prelude::*;

/// What replications say about one estimator.
#[derive(Clone, Copy, Debug)]
struct Score {
    /// Standard deviation of (estimate − truth)/se about zero, where not refused.
    z: f64,
    /// Share of all intervals that cover, a refusal counted as covering.
    covered: f64,
    /// The same among those not refused.
    covered_when_given: f64,
    given: usize,
}

fn simulate(pair: &Pair, options: &Options, method: Method, count: usize) -> Score {
    let truth = pair.truth();
    let rows: Vec<(f64, bool, bool)> = (0..count)
        .into_par_iter()
        .map(|seed| {
            let result = run(&pair.sample(1000 + seed as u64), options);
            let e = result.get(method).unwrap();
            ((e.log_z - truth) / e.se, e.lower <= truth && truth <= e.upper, e.refused.is_none())
        })
        .collect();
    let given: Vec<_> = rows.iter().filter(|r| r.2).collect();
    let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
    Score {
        z: (given.iter().map(|r| r.0 * r.0).sum::<f64>() / given.len().max(1) as f64).sqrt(),
        covered: share(rows.iter().filter(|r| r.1).count(), rows.len()),
        covered_when_given: share(given.iter().filter(|r| r.1).count(), given.len()),
        given: given.len(),
    }
}

#[test]
#[ignore]
fn explore() {
    let n = repeats(200);
    for sd in [0.5, 0.25] {
        for mean in [2.0, 2.5, 3.0, 3.5, 4.0, 4.2] {
            let pair = Pair::new(1, [1000, 1000], mean, sd);
            for (name, options) in [("iid", independent()), ("chain", Options::default())] {
                for m in [Method::Nce, Method::Is] {
                    let s = simulate(&pair, &options, m, n);
                    println!(
                        "sd {sd} mu {mean} {name} {m}: z {:.3} cov {:.3} when given {:.3} given {}",
                        s.z, s.covered, s.covered_when_given, s.given
                    );
                }
            }
        }
    }
}

#[test]
#[ignore]
fn explore_poor() {
    let n = repeats(200);
    for (mean, sd) in [(1.0, 1.0), (0.5, 1.5), (1.2, 1.2), (1.0, 0.7)] {
        for counts in [[1000, 10_000], [1000, 1000]] {
            let pair = Pair::new(4, counts, mean, sd);
            for (name, options) in [("iid", independent()), ("chain", Options::default())] {
                for m in [Method::Nce, Method::IsRevis] {
                    let s = simulate(&pair, &options, m, n);
                    println!("4d {mean} {sd} {counts:?} {name} {m}: {s:?}");
                }
            }
        }
    }
}

#[test]
#[ignore]
fn explore_chain() {
    let n = repeats(200);
    for (mean, sd) in [(0.5, 1.3), (2.0, 1.0)] {
        for (counts, correlation) in [
            ([1000, 1000], [0.9, 0.0]),
            ([10_000, 10_000], [0.9, 0.0]),
            ([10_000, 10_000], [0.9, 0.9]),
            ([40_000, 40_000], [0.9, 0.0]),
        ] {
            let pair = Pair { correlation, ..Pair::new(1, counts, mean, sd) };
            for (name, options) in [("iid", independent()), ("chain", Options::default())] {
                let m = Method::Nce;
                let s = simulate(&pair, &options, m, n);
                println!("ar {mean} {sd} {counts:?} {correlation:?} {name} {m}: {s:?}");
            }
        }
    }
}

#[test]
#[ignore]
fn explore_small() {
    let n = repeats(500);
    for (mean, sd) in [(0.0, 1.0), (0.5, 1.3), (2.5, 1.0)] {
        for counts in [[1, 1000], [2, 1000], [3, 3], [10, 10], [15, 1000], [30, 1000], [50, 1000]] {
            let pair = Pair::new(1, counts, mean, sd);
            for (name, options) in [("iid", independent()), ("chain", Options::default())] {
                for m in [Method::Nce, Method::IsRevis] {
                    let s = simulate(&pair, &options, m, n);
                    println!("small {mean} {sd} {counts:?} {name} {m}: {s:?}");
                }
            }
        }
    }
}
