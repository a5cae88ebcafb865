//! log Z against closed forms, stored values of other programs, and what no sample may change.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use noisewright::normalizer::{Dependence, Draws, LogZ, Method, Options, log_z};
use noisewright_numerics::random::stream;
use rand::RngExt;
use rand_distr::StandardNormal;

const METHODS: [Method; 4] = [Method::Is, Method::Revis, Method::IsRevis, Method::Nce];

/// Two log-densities at draws of one side.
struct Side {
    log_f: Vec<f64>,
    log_noise: Vec<f64>,
}

impl Side {
    fn draws(&self) -> Draws<'_> {
        Draws::new(&self.log_f, &self.log_noise)
    }
}

fn log_normal(x: &[f64], mean: f64, sd: f64) -> f64 {
    let d = x.len() as f64;
    let squares: f64 = x.iter().map(|x| ((x - mean) / sd).powi(2)).sum();
    -0.5 * squares - d * (sd.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln())
}

/// Draws of N(0, I) with `f = e^(−x²/2)`, and of the noise N(mean, sd²) in every coordinate.
fn gaussians(dimension: usize, counts: [usize; 2], mean: f64, sd: f64, seed: u64) -> [Side; 2] {
    let make = |count: usize, mu: f64, sigma: f64, block: u64| {
        let mut rng = stream(seed, block);
        let mut side = Side { log_f: vec![], log_noise: vec![] };
        for _ in 0..count {
            let x: Vec<f64> =
                (0..dimension).map(|_| mu + sigma * rng.sample::<f64, _>(StandardNormal)).collect();
            side.log_f.push(-0.5 * x.iter().map(|x| x * x).sum::<f64>());
            side.log_noise.push(log_normal(&x, mean, sd));
        }
        side
    };
    [make(counts[0], 0.0, 1.0, 0), make(counts[1], mean, sd, 1)]
}

fn independent() -> Options {
    Options { dependence: Dependence::Independent, ..Options::default() }
}

fn run(sides: &[Side; 2], options: &Options) -> LogZ {
    log_z(sides[0].draws(), sides[1].draws(), options).unwrap()
}

#[test]
fn gaussians_in_one_to_fifty_dimensions() {
    for (dimension, sd) in [(1, 1.3), (4, 1.2), (10, 1.15), (50, 1.05)] {
        let sides = gaussians(dimension, [20_000, 20_000], 0.05, sd, 3);
        let truth = dimension as f64 * 0.5 * (2.0 * std::f64::consts::PI).ln();
        for options in [independent(), Options::default()] {
            let result = run(&sides, &options);
            for method in METHODS {
                let e = result.get(method).unwrap();
                println!(
                    "{dimension} {method}: {} ± {} vs {truth}, ess {:.0} k {:?} {:?}",
                    e.log_z, e.se, e.ess, e.pareto_k, e.refused
                );
                assert!((e.log_z - truth).abs() < 4.0 * e.se && e.se < 0.1, "{dimension} {e:?}");
            }
        }
    }
}
