//! Independent components with Laplacian sources, `log p = −√2 Σ |bᵢ·x| − c` (Gutmann and Hyvärinen 2012): coverage and efficiency.
//!
//! `ica [SETS [DIMENSION [ROWS [ν]]]]`: simulated data sets (default 200), components (4), rows (10,000), noise points
//! per row (10). Every search starts at the truth: the loss is the same for every order and sign of the components, and
//! this is one of those minima.
#![allow(clippy::print_stdout)]

use nalgebra::DMatrix;
use noisewright::fit::{Amount, Data, FitOptions};
use noisewright::internal::fit::fit;
use noisewright::{Laplace, Model, Parameter, Points, Result, Space, sample};
use rayon::prelude::*;

/// The model, started at the truth, the truth with log Z, and the mixing matrix.
fn model(size: usize) -> Result<(Model, Vec<f64>, DMatrix<f64>)> {
    let off = |i: usize, j: usize| 0.3 * ((3 * i + 7 * j) as f64).sin() / (1.0 + i.abs_diff(j) as f64);
    let unmixing = DMatrix::from_fn(size, size, |i, j| if i == j { 1.0 } else { off(i, j) });
    let row = |i: usize| (0..size).map(|j| format!("b{i}_{j}*x{j}")).collect::<Vec<_>>().join(" + ");
    let terms = (0..size).map(|i| format!("abs({})", row(i))).collect::<Vec<_>>().join(" + ");
    let places = || (0..size).flat_map(|i| (0..size).map(move |j| (i, j)));
    let parameters = places().map(|(i, j)| Parameter::new(format!("b{i}_{j}"), unmixing[(i, j)])).collect();
    let names: Vec<String> = (0..size).map(|j| format!("x{j}")).collect();
    let model = Model::from_formula(&format!("-sqrt(2)*({terms})"), Space::real(&names)?, parameters, false)?;
    let mut truth: Vec<f64> = places().map(|place| unmixing[place]).collect();
    truth.push(0.5 * size as f64 * 2f64.ln() - unmixing.determinant().abs().ln());
    let singular = || noisewright::Error::external(std::io::Error::other("the mixing matrix has no inverse"));
    Ok((model, truth, unmixing.try_inverse().ok_or_else(singular)?))
}

/// Rows of mixed sources of variance one.
fn data(mixing: &DMatrix<f64>, rows: usize, seed: u64) -> Result<Points> {
    let size = mixing.nrows();
    let sources = sample(&Laplace::new(0.0, 0.5f64.sqrt())?, rows * size, seed);
    let sources = DMatrix::from_column_slice(rows, size, sources.view().column(0));
    let names: Vec<String> = (0..size).map(|j| format!("x{j}")).collect();
    Points::from_values(&names, rows, (sources * mixing.transpose()).as_slice().to_vec())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let given: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse()).collect::<std::result::Result<_, _>>()?;
    let [sets, size, rows, nu] = [200, 4, 10_000, 10]
        .into_iter()
        .enumerate()
        .map(|(i, usual)| given.get(i).copied().unwrap_or(usual))
        .collect::<Vec<_>>()[..]
    else {
        unreachable!("four numbers")
    };
    let (model, truth, mixing) = model(size)?;
    let one = |seed: u64| -> Result<(usize, bool, Option<f64>)> {
        let options =
            FitOptions { starts: 1, amount: Amount::Ratio(nu as f64), seed, ..FitOptions::default() };
        let points = data(&mixing, rows, seed)?;
        let found = fit(&model, Data::from(&points), &options)?;
        let all = found.estimates();
        let covered = all.iter().zip(&truth).filter(|(e, t)| e.lower <= **t && **t <= e.upper).count();
        let efficiencies = found.diagnostics.error_budget.iter().filter_map(|b| b.efficiency);
        Ok((covered, found.converged, efficiencies.reduce(f64::min)))
    };
    let found: Vec<_> = (0..sets as u64).into_par_iter().map(one).collect::<Result<_>>()?;
    let covered = found.iter().map(|f| f.0).sum::<usize>() as f64 / (sets * truth.len()) as f64;
    let converged = found.iter().filter(|f| f.1).count();
    let efficiencies: Vec<f64> = found.iter().filter_map(|f| f.2).collect();
    println!("{size} components, {rows} rows, ν = {nu}, {sets} data sets");
    println!("converged {converged}; intervals of 95 % cover {:.1} %", 100.0 * covered);
    if !efficiencies.is_empty() {
        let mean = efficiencies.iter().sum::<f64>() / efficiencies.len() as f64;
        println!("efficiency of the worst unknown, on average: {:.0} %", 100.0 * mean);
    }
    Ok(())
}
