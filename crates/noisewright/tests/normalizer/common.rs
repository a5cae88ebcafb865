//! Pairs of Gaussian samples with known log Z, shared by the tests of the normalizer.
#![allow(dead_code)]

use noisewright::normalizer::{Dependence, Draws, LogZ, LogZOptions, log_z_of_draws};
use noisewright_numerics::random::stream;
use rand::RngExt;
use rand_distr::StandardNormal;

/// Two log-densities at draws of one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) log_f: Vec<f64>,
    pub(crate) log_noise: Vec<f64>,
}

impl Side {
    pub(crate) fn draws(&self) -> Draws<'_> {
        Draws::new(&self.log_f, &self.log_noise)
    }
}

/// `f = e^(−x²/2)` in every coordinate against N(mean, sd²) noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) dimension: usize,
    pub(crate) counts: [usize; 2],
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    /// Autocorrelation of neighbouring draws in each coordinate, data and noise.
    pub(crate) correlation: [f64; 2],
}

impl Pair {
    pub(crate) fn new(dimension: usize, counts: [usize; 2], mean: f64, sd: f64) -> Self {
        Self { dimension, counts, mean, sd, correlation: [0.0; 2] }
    }

    pub(crate) fn truth(&self) -> f64 {
        self.dimension as f64 * 0.5 * (2.0 * std::f64::consts::PI).ln()
    }

    pub(crate) fn sample(&self, seed: u64) -> [Side; 2] {
        [self.side(0, 0.0, 1.0, seed), self.side(1, self.mean, self.sd, seed)]
    }

    fn side(&self, which: usize, mean: f64, sd: f64, seed: u64) -> Side {
        let mut rng = stream(seed, which as u64);
        let rho = self.correlation[which];
        let mut z: Vec<f64> = (0..self.dimension).map(|_| rng.sample(StandardNormal)).collect();
        let mut side = Side::default();
        for _ in 0..self.counts[which] {
            for z in &mut z {
                *z = rho * *z + (1.0 - rho * rho).sqrt() * rng.sample::<f64, _>(StandardNormal);
            }
            let x: Vec<f64> = z.iter().map(|z| mean + sd * z).collect();
            side.log_f.push(-0.5 * x.iter().map(|x| x * x).sum::<f64>());
            side.log_noise.push(log_normal(&x, self.mean, self.sd));
        }
        side
    }
}

pub(crate) fn log_normal(x: &[f64], mean: f64, sd: f64) -> f64 {
    let d = x.len() as f64;
    let squares: f64 = x.iter().map(|x| ((x - mean) / sd).powi(2)).sum();
    -0.5 * squares - d * (sd.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln())
}

pub(crate) fn independent() -> LogZOptions {
    LogZOptions { dependence: Dependence::Independent, ..LogZOptions::default() }
}

pub(crate) fn run(sides: &[Side; 2], options: &LogZOptions) -> LogZ {
    log_z_of_draws(sides[0].draws(), sides[1].draws(), options).unwrap()
}

/// Replications: few by default, all that the requirement names with NOISEWRIGHT_REPEATS.
pub(crate) fn repeats(usual: usize) -> usize {
    std::env::var("NOISEWRIGHT_REPEATS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
