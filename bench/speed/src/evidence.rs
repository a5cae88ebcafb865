//! Evidence of Gaussian posteriors in 10 and 50 dimensions from 10⁵ draws: everything but reading the file.

use noisewright::evidence;
use noisewright::{FamilyOptions, Model, MultivariateNormal, Result, sample};

use crate::clock::fastest;
use crate::show;

const DRAWS: usize = 100_000;

pub(crate) fn run() -> Result<()> {
    println!("\n## `evidence` of a Gaussian posterior from 10⁵ draws, budget 0.2 and 0.6 CPU seconds\n");
    println!("| dimensions | time | log evidence | exact | se | within budget |\n|---|---|---|---|---|---|");
    for (dimension, budget) in [(10, 0.2), (50, 0.6)] {
        one(dimension, budget)?;
    }
    Ok(())
}

/// A covariance with unit variances and correlations of 0.3, from independent draws taken as a chain.
fn one(dimension: usize, budget: f64) -> Result<()> {
    let names: Vec<String> = (0..dimension).map(|j| format!("x{j}")).collect();
    let options = FamilyOptions { parametrization: Some("moments".into()), ..FamilyOptions::default() };
    let model = Model::from_family("gaussian", &names, &options, false)?;
    let entry = |i: usize, j: usize| if i == j { 1.0 } else { 0.3 };
    let mut parameters = vec![0.0; dimension];
    parameters.extend((0..dimension).flat_map(|i| (i..dimension).map(move |j| entry(i, j))));
    let covariance: Vec<f64> =
        (0..dimension * dimension).map(|at| entry(at / dimension, at % dimension)).collect();
    let draws = sample(&MultivariateNormal::new(&vec![0.0; dimension], &covariance)?, DRAWS, 1);
    let density = model.density(&parameters)?;
    let run = || evidence(&density, &draws).run();
    let result = run()?;
    let seconds = fastest(5, 1, run);
    let exact = model.log_normalizer(&parameters, &mut vec![0.0; parameters.len()]).unwrap_or(f64::NAN);
    let within = if seconds.used() < budget { "yes" } else { "no" };
    println!(
        "| {dimension} | {} | {:.5} | {exact:.5} | {:.5} | {within} |",
        show(seconds),
        result.log_evidence,
        result.se
    );
    Ok(())
}
