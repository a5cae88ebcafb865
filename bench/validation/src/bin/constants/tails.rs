//! Weights with heavy tails: importance sampling and its reverse where their variance is infinite, and what is recommended.

use std::error::Error;

use noisewright::normalizer::{Dependence, Draws, LogZ, LogZOptions, Method, log_z_of_draws};
use noisewright::parts::NormalizerEstimate;
use noisewright_numerics::random::{Stream, stream};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::{Run, heading, row};

/// N(0, 1) data with autocorrelation against N(mean, sd²) noise.
#[derive(Clone, Copy)]
struct Cell {
    draws: usize,
    mean: f64,
    sd: f64,
    correlation: f64,
}

fn run(cell: Cell, rng: &mut Stream) -> Result<LogZ, noisewright::Error> {
    let mut z: f64 = rng.sample(StandardNormal);
    let innovation = (1.0 - cell.correlation * cell.correlation).sqrt();
    let mut normal = || rng.sample::<f64, _>(StandardNormal);
    let data: Vec<f64> = (0..cell.draws)
        .map(|_| {
            z = cell.correlation * z + innovation * normal();
            z
        })
        .collect();
    let noise: Vec<f64> = (0..cell.draws).map(|_| cell.mean + cell.sd * normal()).collect();
    let log_f = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| -0.5 * x * x).collect() };
    let constant = cell.sd.ln() + 0.5 * std::f64::consts::TAU.ln();
    let log_noise = |x: &[f64]| -> Vec<f64> {
        x.iter().map(|x| -0.5 * ((x - cell.mean) / cell.sd).powi(2) - constant).collect()
    };
    let dependence = if cell.correlation > 0.0 { Dependence::Chains } else { Dependence::Independent };
    log_z_of_draws(
        Draws::new(&log_f(&data), &log_noise(&data)),
        Draws::new(&log_f(&noise), &log_noise(&noise)),
        &LogZOptions { dependence, ..LogZOptions::default() },
    )
}

pub(crate) fn table(runs: usize, only: &str) -> Result<(), Box<dyn Error>> {
    heading(
        "Heavy tails",
        "Draws of N(0, 1), those of a chain where AR is not 0, against independent draws of the noise that is named: the \
         variance of `is` is infinite for noises of deviation below 0.71, that of `revis` for deviations above 1.41.",
    );
    let truth = 0.5 * std::f64::consts::TAU.ln();
    for (mean, sd, correlation) in [
        (0.5, 1.5, 0.0),
        (0.0, 2.0, 0.0),
        (0.0, 3.0, 0.0),
        (0.0, 0.7, 0.0),
        (0.0, 0.6, 0.0),
        (0.0, 0.7, 0.99),
    ] {
        for draws in [200, 1000, 5000] {
            let cell = Cell { draws, mean, sd, correlation };
            let name = format!("N({mean}, {sd}²), AR {correlation}, {draws} draws");
            if !name.contains(only) {
                continue;
            }
            let one = |run: usize| self::run(cell, &mut stream(run as u64, 23));
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
