//! The fit of a ten-dimensional Gaussian against noise, with standard errors: time and memory.

use noisewright::fit::{Amount, Data, FitOptions, NoiseChoice, Source, Visit, fit_stream};
use noisewright::internal::fit::fit;
use noisewright::{
    FamilyOptions, Model, MultivariateNormal, Noise, Normal, Result, Space, View, fit_auto, sample,
};
use noisewright_numerics::random::stream;

use crate::clock::{fastest, time};
use crate::show;

const DIMENSION: usize = 10;
const ROWS: usize = 100_000;

/// Prints the time of one fit and the largest memory that the process has had.
pub(crate) fn run() -> Result<()> {
    let names: Vec<String> = (0..DIMENSION).map(|j| format!("x{j}")).collect();
    let model = Model::from_family("gaussian", &names, &FamilyOptions::default(), false)?;
    let covariance: Vec<f64> = (0..DIMENSION * DIMENSION)
        .map(|at| 0.3f64.powf((at / DIMENSION).abs_diff(at % DIMENSION) as f64))
        .collect();
    let density = MultivariateNormal::new(&[0.0; DIMENSION], &covariance)?;
    let points = sample(&density, ROWS, 1);
    let base = peak_megabytes();
    let noise = fit_auto(model.space(), points.view(), None)?;
    println!(
        "## Fit of 65 quadratic features and the constant, 10⁵ data and 10⁵ noise points, budget 0.3 CPU-seconds and 200 MB\n"
    );
    println!("| what | time | steps | converged |\n|---|---|---|---|");
    for (what, choice) in
        [("noise `auto`", NoiseChoice::Auto), ("noise given", NoiseChoice::Given(noise.clone()))]
    {
        let options = FitOptions { noise: choice, amount: Amount::Points(ROWS), ..FitOptions::default() };
        let once = || fit(&model, Data::from(&points), &options);
        let fitted = once()?;
        let seconds = fastest(5, 1, once);
        println!("| {what} | {} | {} | {} |", show(seconds), fitted.iterations, fitted.converged);
    }
    let (_, drawing) = time(|| sample(noise.as_ref(), ROWS, 2));
    println!("| drawing the noise alone | {} | | |", show(drawing));
    match (base, peak_megabytes()) {
        (Some(base), Some(peak)) => {
            println!("\nMost memory of the process: {peak:.0} MB ({base:.0} MB before the first fit).\n")
        }
        _ => println!(),
    }
    Ok(())
}

/// Rows that are drawn anew in every pass: a file of 10⁷ rows without the file.
struct Endless {
    noise: Normal,
    rows: usize,
}

impl Source for Endless {
    fn dimension(&self) -> usize {
        1
    }

    fn for_each_block(&self, visit: Visit<'_>) -> Result<()> {
        const BLOCK: usize = 1 << 16;
        let mut values = vec![0.0; BLOCK];
        for (block, start) in (0..self.rows).step_by(BLOCK).enumerate() {
            let rows = BLOCK.min(self.rows - start);
            self.noise.draw(&mut stream(3, block as u64), rows, &mut values[..rows]);
            visit(View::new(1, rows, &values[..rows]), None)?;
        }
        Ok(())
    }
}

/// Prints the time of a fit of a stream, and the memory it takes.
pub(crate) fn run_stream() -> Result<()> {
    let model = Model::from_features(&["x", "x^2", "x^3", "x^4"], Space::real(&["x"])?, vec![])?;
    let source = Endless { noise: Normal::with_variance(0.2, 1.3)?, rows: 10_000_000 };
    let options = FitOptions { amount: Amount::Ratio(1.0), ..FitOptions::default() };
    let (fitted, seconds) = time(|| fit_stream(&model, &source, &options));
    let fitted = fitted?;
    println!("## Fit of a stream, four features of one variable, 10⁷ data and 10⁷ noise points\n");
    println!("| time | passes of the descent | converged | most memory |\n|---|---|---|---|");
    let memory = peak_megabytes().map_or("unknown".into(), |m| format!("{m:.0} MB"));
    println!("| {} | {} | {} | {memory} |\n", show(seconds), fitted.iterations, fitted.converged);
    Ok(())
}

/// The largest resident size of this process so far, where the system tells.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
