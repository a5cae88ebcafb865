//! Evidences in ten dimensions: fewer and fewer quiet noise draws beside four times as many independent ones of the same two noises.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::normalizer::{Evidence, Method};
use noisewright::{
    Density, Gamma, Noise, Normal, Points, Result, Space, Stream, View, density, evidence, sample,
};
use rayon::prelude::*;

use crate::Outcome;

const DIMENSION: usize = 10;
/// Draws of a posterior.
const DRAWS: usize = 4000;
/// Quiet noise draws; as many noise draws as draws are the default.
const NOISE_DRAWS: [usize; 3] = [1024, 2048, 4096];
/// Independent noise draws for each quiet one.
const TIMES: usize = 4;

/// Ten independent variables of one distribution.
struct Posterior {
    name: &'static str,
    density: Box<dyn Density>,
    log_z: f64,
    draw: Box<dyn Fn(u64) -> Vec<f64> + Sync>,
}

fn posteriors() -> Result<[Posterior; 2]> {
    let names: Vec<String> = (0..DIMENSION).map(|j| format!("x{j}")).collect();
    let (space, d) = (Space::real(&names)?, DIMENSION as f64);
    let (gamma, normal) = (Gamma::new(4.0, 1.0)?, Normal::with_variance(0.0, 1.0)?);
    let of = move |noise: &dyn Noise, seed: u64| sample(noise, DRAWS * DIMENSION, seed).into_values();
    let log_gamma = Posterior {
        name: "log-gamma of shape 4, with warped noise",
        density: Box::new(density(space.clone(), |x: &[f64]| x.iter().map(|x| 4.0 * x - x.exp()).sum())),
        log_z: d * 6f64.ln(),
        draw: Box::new(move |seed| of(&gamma, seed).iter().map(|x| x.ln()).collect()),
    };
    let normal = Posterior {
        name: "normal, with normal noise",
        density: Box::new(density(space, |x: &[f64]| -0.5 * x.iter().map(|x| x * x).sum::<f64>())),
        log_z: 0.5 * d * std::f64::consts::TAU.ln(),
        draw: Box::new(move |seed| of(&normal, seed)),
    };
    Ok([log_gamma, normal])
}

/// A noise without its map from the unit cube, which is drawn independently.
struct Independent(Arc<dyn Noise>);

impl Noise for Independent {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        self.0.log_density(points, out);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        self.0.draw(stream, rows, out);
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}

/// An evidence with noises that are fitted already.
fn with_noises(
    posterior: &Posterior,
    draws: &Points,
    noises: [Arc<dyn Noise>; 2],
    count: usize,
    seed: u64,
) -> Result<Evidence> {
    let fits = AtomicUsize::new(0);
    let next = move |_: View<'_>| Ok(Arc::clone(&noises[fits.fetch_add(1, Ordering::Relaxed) % 2]));
    evidence(posterior.density.as_ref(), draws).noise_fitter(next).noise_draws(count).seed(seed).run()
}

/// Standard error, squared error, whether the interval has the truth in it, the noise's share of the variance, and the gain.
fn numbers(found: &Evidence, truth: f64) -> [f64; 5] {
    let inside = found.lower <= truth && truth <= found.upper;
    let part = |of: fn(f64, f64) -> f64| -> f64 {
        let bridges = found.halves.iter().filter_map(|half| half.get(Method::Nce));
        bridges.map(|bridge| of(bridge.se_data, bridge.se_noise).powi(2)).sum()
    };
    let share = part(|_, noise| noise) / part(f64::hypot);
    [
        found.se,
        (found.log_evidence - truth).powi(2),
        f64::from(inside),
        share,
        found.noise_gain.unwrap_or(1.0),
    ]
}

/// For every number of noise draws the numbers of quiet and of independent ones.
type Run = [[[f64; 5]; 2]; 3];

fn one(posterior: &Posterior, seed: u64) -> Result<Run> {
    let draws = Points::unnamed(DIMENSION, DRAWS, (posterior.draw)(seed));
    let first = evidence(posterior.density.as_ref(), &draws).noise_draws(NOISE_DRAWS[0]).seed(seed).run()?;
    let noises = || first.noises.each_ref().map(Arc::clone);
    let independent = || noises().map(|noise| Arc::new(Independent(noise)) as Arc<dyn Noise>);
    let mut out = Run::default();
    for (pair, count) in out.iter_mut().zip(NOISE_DRAWS) {
        let quiet = with_noises(posterior, &draws, noises(), count, seed)?;
        let random = with_noises(posterior, &draws, independent(), TIMES * count, seed)?;
        *pair = [quiet, random].map(|found| numbers(&found, posterior.log_z));
    }
    Ok(out)
}

pub(crate) fn tables(runs: u64) -> Outcome<()> {
    println!(
        "Ten independent variables, {runs} data sets of {DRAWS} draws; one standard deviation of a coverage of 95 % is {:.1} %",
        100.0 * (0.0475 / runs as f64).sqrt()
    );
    for posterior in &posteriors()? {
        println!("\nThe posterior is {}:\n", posterior.name);
        println!(
            "| noise draws | mean se | error, root mean square | coverage, % | noise's share of the variance, % | gain | se over that of {TIMES} times as many independent ones |"
        );
        println!("|---|---|---|---|---|---|---|");
        let found = (0..runs).into_par_iter().map(|seed| one(posterior, seed));
        table(&found.collect::<Result<Vec<Run>>>()?);
    }
    Ok(())
}

fn table(found: &[Run]) {
    let mean = |size: usize, kind: usize| {
        [0, 1, 2, 3, 4].map(|k| found.iter().map(|run| run[size][kind][k]).sum::<f64>() / found.len() as f64)
    };
    for (size, count) in NOISE_DRAWS.iter().enumerate() {
        let ratio = mean(size, 0)[0] / mean(size, 1)[0];
        for (kind, name) in
            [format!("{count} quiet"), format!("{} independent", TIMES * count)].iter().enumerate()
        {
            let [se, square, inside, share, gain] = mean(size, kind);
            let last = if kind == 0 { format!("{gain:.2} | {ratio:.3}") } else { " | ".into() };
            println!(
                "| {name} | {se:.5} | {:.5} | {:.1} | {:.0} | {last} |",
                square.sqrt(),
                100.0 * inside,
                100.0 * share
            );
        }
    }
}
