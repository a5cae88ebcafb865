//! Fits of autoregressions: coverage of mean and variance over all data sets that are answered (MATH §15).
//!
//! `fit_chains [SETS [ROWS]]`: simulated chains for each autocorrelation (default 2,000), and their rows (1,000).
#![allow(clippy::print_stdout)]

use noisewright::fit::{Data, Dependence, FitOptions, NoiseChoice};
use noisewright::internal::fit::fit;
use noisewright::{Fit, Model, Normal, Points, Result, sample};
use rayon::prelude::*;

/// A chain of standard normal values, begun where it has forgotten its start.
fn chain(phi: f64, rows: usize, seed: u64) -> Result<Points> {
    let before = 2000;
    let innovations = sample(&Normal::with_variance(0.0, 1.0 - phi * phi)?, rows + before, seed);
    let mut x = 0.0;
    let steps = innovations.view().column(0).iter().map(|e| {
        x = phi * x + e;
        x
    });
    let values = steps.skip(before).collect();
    Points::from_values(&["x"], rows, values)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let given: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse()).collect::<std::result::Result<_, _>>()?;
    let (sets, rows) = (given.first().copied().unwrap_or(2000), given.get(1).copied().unwrap_or(1000));
    let model = Model::from_toml("variables = ['x']\nfamily = 'gaussian'\nnormalized = true")?;
    let options = FitOptions { noise: NoiseChoice::Exact, ..FitOptions::default() };
    // The natural parameters of a standard normal density.
    let truth = [0.0, 1.0];
    println!("| autocorrelation | answered | mean | variance |\n|---|---|---|---|");
    for phi in [0.5, 0.8, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99] {
        let lengths = [rows];
        let one = |seed: u64| -> Result<Fit> {
            let points = chain(phi, rows, seed)?;
            fit(&model, Data::from(&points).with_dependence(Dependence::Chains(&lengths)), &options)
        };
        let fits: Vec<Fit> = (0..sets as u64).into_par_iter().map(one).collect::<Result<_>>()?;
        let answered: Vec<&Fit> = fits.iter().filter(|f| f.diagnostics.no_answer().is_none()).collect();
        let covered = |j: usize| {
            let inside = |f: &&&Fit| f.parameters[j].lower <= truth[j] && truth[j] <= f.parameters[j].upper;
            answered.iter().filter(inside).count() as f64 / answered.len() as f64
        };
        println!("| {phi} | {} | {:.3} | {:.3} |", answered.len(), covered(0), covered(1));
    }
    Ok(())
}
