//! Many states: the log-normalizers of 50 states from 10⁴ draws of each, in time and memory.

use noisewright::normalizer::Dependence;
use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, estimate};
use noisewright::{Normal, Result, sample};

use crate::clock::time;
use crate::show;

const STATES: usize = 50;
const DRAWS: usize = 10_000;

/// Times one estimate and prints it with the peak of the memory.
pub(crate) fn run() -> Result<()> {
    let columns = columns()?;
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let counts = [DRAWS; STATES];
    let pooled = Pooled { log_f: &slices, origin: Origin::Counts(&counts), chains: None };
    let input = (STATES * STATES * DRAWS * 8) as f64 / 1e6;
    let before = peak_megabytes();
    println!("\n## {STATES} states × {DRAWS} draws, budget 2 s CPU and 400 MB\n");
    println!(
        "| draws | time | within budget | input | peak memory before, after | over all draws | log-ratio of the ends, truth 0 |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, dependence) in [("independent", Dependence::Independent), ("chains", Dependence::Chains)] {
        let (result, seconds) =
            time(|| estimate(&pooled, &StatesOptions { dependence, ..StatesOptions::default() }));
        let result = result?;
        let (value, error) = result.difference(0, STATES - 1);
        let within = if seconds.used() < 2.0 { "yes" } else { "no" };
        let memory = |m: Option<f64>| m.map_or("unknown".into(), |m| format!("{m:.0} MB"));
        println!(
            "| {name} | {} | {within} | {input:.0} MB | {}, {} | {} times | {value:.4} ± {error:.4} |",
            show(seconds),
            memory(before),
            memory(peak_megabytes()),
            result.evaluations(),
        );
    }
    println!();
    Ok(())
}

/// Log-densities of unit Gaussians 0.6 apart, up to constants, at the draws of all of them.
fn columns() -> Result<Vec<Vec<f64>>> {
    let mean = |k: usize| 0.6 * k as f64;
    let mut x = Vec::with_capacity(STATES * DRAWS);
    for k in 0..STATES {
        x.extend_from_slice(sample(&Normal::with_variance(mean(k), 1.0)?, DRAWS, k as u64).values());
    }
    Ok((0..STATES).map(|k| x.iter().map(|x| -0.5 * (x - mean(k)).powi(2)).collect()).collect())
}

/// The largest resident memory of this process so far, where Linux tells it.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}
