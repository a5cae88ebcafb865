//! Slow chains: autoregressions of Gaussian margins through `log_z`, many states, and `evidence`.

use std::error::Error;

use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, estimate};
use noisewright::normalizer::{Draws, LogZOptions, log_z_of_draws};
use noisewright::parts::EvidenceOptions;
use noisewright::{Space, View, batch_density, evidence};
use noisewright_numerics::random::{Stream, stream};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::{Run, heading, row};

#[derive(Clone, Copy)]
struct Cell {
    correlation: f64,
    draws: usize,
    dimension: usize,
    chains: usize,
}

impl Cell {
    fn truth(self) -> f64 {
        0.5 * self.dimension as f64 * std::f64::consts::TAU.ln()
    }

    fn lengths(self) -> Vec<usize> {
        vec![self.draws / self.chains; self.chains]
    }

    /// Chains with independent coordinates, one column per coordinate.
    fn autoregressions(self, correlation: f64, mean: f64, sd: f64, rng: &mut Stream) -> Vec<Vec<f64>> {
        let innovation = (1.0 - correlation * correlation).sqrt();
        let column = |rng: &mut Stream| {
            let mut column = Vec::with_capacity(self.draws);
            for length in self.lengths() {
                let mut z: f64 = rng.sample(StandardNormal);
                for _ in 0..length {
                    z = correlation * z + innovation * rng.sample::<f64, _>(StandardNormal);
                    column.push(mean + sd * z);
                }
            }
            column
        };
        (0..self.dimension).map(|_| column(rng)).collect()
    }
}

/// `−½ Σ ((x − mean)/sd)²` of every point.
fn quadratic(columns: &[Vec<f64>], mean: f64, sd: f64) -> Vec<f64> {
    let value = |i: usize| -0.5 * columns.iter().map(|c| ((c[i] - mean) / sd).powi(2)).sum::<f64>();
    (0..columns[0].len()).map(value).collect()
}

fn two_samples(cell: Cell, rng: &mut Stream) -> Result<Run, noisewright::Error> {
    const SD: f64 = 1.3;
    let data = cell.autoregressions(cell.correlation, 0.0, 1.0, rng);
    let noise = cell.autoregressions(0.0, 0.0, SD, rng);
    let constant = cell.dimension as f64 * SD.ln() + cell.truth();
    let log_noise =
        |x: &[Vec<f64>]| -> Vec<f64> { quadratic(x, 0.0, SD).iter().map(|q| q - constant).collect() };
    let (f, n) =
        ([quadratic(&data, 0.0, 1.0), quadratic(&noise, 0.0, 1.0)], [log_noise(&data), log_noise(&noise)]);
    let lengths = cell.lengths();
    let result = log_z_of_draws(
        Draws::new(&f[0], &n[0]).with_chains(&lengths),
        Draws::new(&f[1], &n[1]),
        &LogZOptions::default(),
    )?;
    let best = result.best();
    Ok(Run::new(cell.truth(), [best.log_z, best.se, best.lower, best.upper], !result.warnings.is_empty()))
}

fn many_states(cell: Cell, rng: &mut Stream) -> Result<Run, noisewright::Error> {
    const MEANS: [f64; 3] = [0.0, 0.5, 1.0];
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); cell.dimension];
    for mean in MEANS {
        let state = cell.autoregressions(cell.correlation, mean, 1.0, rng);
        columns.iter_mut().zip(&state).for_each(|(all, more)| all.extend(more));
    }
    let log_f = MEANS.map(|mean| quadratic(&columns, mean, 1.0));
    let slices: Vec<&[f64]> = log_f.iter().map(Vec::as_slice).collect();
    let rows = cell.draws / cell.chains * cell.chains;
    let labels: Vec<usize> =
        MEANS.iter().flat_map(|_| (0..rows).map(|i| i / (cell.draws / cell.chains))).collect();
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&[rows; 3]), chains: Some(&labels) };
    let result = estimate(&pooled, &StatesOptions::default())?;
    let (log_z, se) = result.difference(0, 2);
    let reach = 1.959_964 * se;
    Ok(Run::new(0.0, [log_z, se, log_z - reach, log_z + reach], !result.warnings().is_empty()))
}

fn integral(cell: Cell, rng: &mut Stream, seed: u64) -> Result<Run, noisewright::Error> {
    let columns = cell.autoregressions(cell.correlation, 0.0, 1.0, rng);
    let names: Vec<String> = (0..cell.dimension).map(|j| format!("x{j}")).collect();
    let density = batch_density(Space::real(&names)?, |points: View<'_>, out: &mut [f64]| {
        out.fill(0.0);
        for j in 0..points.columns() {
            out.iter_mut().zip(points.column(j)).for_each(|(o, x)| *o -= 0.5 * x * x);
        }
        Ok(())
    });
    let mut options = EvidenceOptions { chains: Some(cell.lengths()), ..EvidenceOptions::default() };
    options.log_z.seed = seed;
    let flat = columns.concat();
    let draws = View::new(cell.dimension, columns[0].len(), &flat);
    let result = evidence(&density, draws).options(options).run()?;
    let answer = [result.log_evidence, result.se, result.lower, result.upper];
    Ok(Run::new(cell.truth(), answer, !result.warnings.is_empty()))
}

pub(crate) fn table(runs: usize, only: &str) -> Result<(), Box<dyn Error>> {
    heading(
        "Slow chains",
        "Autoregressions of the given first autocorrelation with Gaussian margins, started in equilibrium, whose constant is known.",
    );
    for way in ["logz", "states", "evidence"] {
        for (correlation, draws, dimension, chains) in cells() {
            let name = format!("{way}, AR {correlation}, {draws} draws, {dimension} D, {chains} chains");
            if !name.contains(only) {
                continue;
            }
            let cell = Cell { correlation, draws, dimension, chains };
            let one = |run: usize| {
                let mut rng = stream(run as u64, 17);
                match way {
                    "logz" => two_samples(cell, &mut rng),
                    "states" => many_states(cell, &mut rng),
                    _ => integral(cell, &mut rng, run as u64),
                }
            };
            let results = (0..runs).into_par_iter().map(one).collect::<Result<Vec<Run>, _>>()?;
            row(&name, &results);
        }
    }
    Ok(())
}

fn cells() -> impl Iterator<Item = (f64, usize, usize, usize)> {
    [1, 2, 5].into_iter().flat_map(|dimension| {
        [1, 4].into_iter().flat_map(move |chains| {
            [0.9, 0.97, 0.99].into_iter().flat_map(move |correlation| {
                [500, 2000, 10_000].into_iter().map(move |draws| (correlation, draws, dimension, chains))
            })
        })
    })
}
