//! Weights with heavy tails: importance sampling and its reverse where their variance is infinite, and what is recommended.

use std::error::Error;

use noisewright::normalizer::{Dependence, Draws, LogZ, LogZOptions, Method, log_z_of_draws};
use noisewright::parts::NormalizerEstimate;
use noisewright_numerics::random::{Stream, stream};
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use rayon::prelude::*;

use super::{Run, heading, row};

/// What is drawn, and of which noise.
#[derive(Clone, Copy)]
enum Pair {
    /// N(0, 1) with autocorrelation against N(mean, sd²).
    Normal { mean: f64, sd: f64, correlation: f64 },
    /// Exp(1) against Exp(rate): weights e^((rate − 1)x) with the tail shape 1 − 1/rate.
    Exponential { rate: f64 },
}

/// Draws and their densities.
struct Sides {
    data: Vec<f64>,
    noise: Vec<f64>,
    log_f: Box<dyn Fn(f64) -> f64>,
    log_noise: Box<dyn Fn(f64) -> f64>,
}

impl Pair {
    fn name(self) -> String {
        match self {
            Self::Normal { mean, sd, correlation } => format!("N({mean}, {sd}²), AR {correlation}"),
            Self::Exponential { rate } => format!("Exp({rate}) for Exp(1)"),
        }
    }

    /// The logarithm of the integral of the density.
    fn truth(self) -> f64 {
        match self {
            Self::Normal { .. } => 0.5 * std::f64::consts::TAU.ln(),
            Self::Exponential { .. } => 0.0,
        }
    }

    fn dependence(self) -> Dependence {
        match self {
            Self::Normal { correlation, .. } if correlation > 0.0 => Dependence::Chains,
            _ => Dependence::Independent,
        }
    }

    fn sides(self, draws: usize, rng: &mut Stream) -> Sides {
        match self {
            Self::Normal { mean, sd, correlation } => normals(mean, sd, correlation, draws, rng),
            Self::Exponential { rate } => {
                let mut unit = || rng.sample::<f64, _>(Exp1);
                let data = (0..draws).map(|_| unit()).collect();
                let noise = (0..draws).map(|_| unit() / rate).collect();
                let log_noise = Box::new(move |x: f64| rate.ln() - rate * x);
                Sides { data, noise, log_f: Box::new(|x| -x), log_noise }
            }
        }
    }
}

fn normals(mean: f64, sd: f64, correlation: f64, draws: usize, rng: &mut Stream) -> Sides {
    let mut z: f64 = rng.sample(StandardNormal);
    let innovation = (1.0 - correlation * correlation).sqrt();
    let mut normal = || rng.sample::<f64, _>(StandardNormal);
    let data = (0..draws)
        .map(|_| {
            z = correlation * z + innovation * normal();
            z
        })
        .collect();
    let noise = (0..draws).map(|_| mean + sd * normal()).collect();
    let constant = sd.ln() + 0.5 * std::f64::consts::TAU.ln();
    let log_noise = Box::new(move |x: f64| -0.5 * ((x - mean) / sd).powi(2) - constant);
    Sides { data, noise, log_f: Box::new(|x| -0.5 * x * x), log_noise }
}

fn run(pair: Pair, draws: usize, rng: &mut Stream) -> Result<LogZ, noisewright::Error> {
    let sides = pair.sides(draws, rng);
    let of = |f: &dyn Fn(f64) -> f64, x: &[f64]| -> Vec<f64> { x.iter().map(|x| f(*x)).collect() };
    log_z_of_draws(
        Draws::new(&of(&*sides.log_f, &sides.data), &of(&*sides.log_noise, &sides.data)),
        Draws::new(&of(&*sides.log_f, &sides.noise), &of(&*sides.log_noise, &sides.noise)),
        &LogZOptions { dependence: pair.dependence(), ..LogZOptions::default() },
    )
}

pub(crate) fn table(runs: usize, only: &str) -> Result<(), Box<dyn Error>> {
    heading(
        "Heavy tails",
        "Draws of N(0, 1), those of a chain where AR is not 0, against independent draws of the noise that is named: the \
         variance of `is` is infinite for noises of deviation below 0.71, that of `revis` for deviations above 1.41. Draws of \
         Exp(1) against Exp(2.5): the weights of `is` have a tail of shape 0.6, and no variance.",
    );
    let normal = |mean, sd, correlation| Pair::Normal { mean, sd, correlation };
    for pair in [
        normal(0.5, 1.5, 0.0),
        normal(0.0, 2.0, 0.0),
        normal(0.0, 3.0, 0.0),
        normal(0.0, 0.7, 0.0),
        normal(0.0, 0.6, 0.0),
        normal(0.0, 0.7, 0.99),
        Pair::Exponential { rate: 2.5 },
    ] {
        let truth = pair.truth();
        for draws in [200, 1000, 5000] {
            let name = format!("{}, {draws} draws", pair.name());
            if !name.contains(only) {
                continue;
            }
            let one = |run: usize| self::run(pair, draws, &mut stream(run as u64, 23));
            let all = (0..runs).into_par_iter().map(one).collect::<Result<Vec<LogZ>, _>>()?;
            let of = |e: &NormalizerEstimate| Run::new(truth, [e.log_z, e.se, e.lower, e.upper], false);
            for method in [Method::Is, Method::Revis, Method::IsRevis] {
                let estimates = all.iter().filter_map(|result| result.get(method));
                row(&format!("{method}, {name}"), &estimates.map(of).collect::<Vec<_>>());
            }
            row(&format!("recommended, {name}"), &all.iter().map(|r| of(r.best())).collect::<Vec<_>>());
        }
    }
    Ok(())
}
