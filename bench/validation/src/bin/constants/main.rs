//! Simulates normalizing constants where they are hard: slow chains, heavy tails, paths to curved and multimodal densities.
//!
//! `constants chains|tails|paths [RUNS [NAME]]` prints a table of what was answered and how often the interval covers the
//! truth; only rows with NAME in their name.
#![allow(clippy::print_stdout)]

mod chains;
mod paths;
mod tails;

use std::error::Error;

/// The beginning of the page that `bench/validate-constants` writes.
const INTRODUCTION: &str = "# Normalizing constants where they are hard\n\n\
    Written by `bench/validate-constants`; every line says over how many runs, which differ in their seed alone. *Answered* are runs with \
    a finite interval, *without a warning* those of them beside which nothing is said; coverage is that of the 95 % interval, and \
    *rms z* the root of the mean square of error over standard error of what is answered.\n";

/// One run: whether it was answered, and how many standard errors and whether outside of the interval the truth is.
#[derive(Clone, Copy, Debug)]
struct Run {
    answered: bool,
    /// Whether something was said beside the answer.
    warned: bool,
    covered: bool,
    /// Error over standard error.
    z: f64,
}

impl Run {
    fn new(truth: f64, [log_z, se, lower, upper]: [f64; 4], warned: bool) -> Self {
        let covered = lower <= truth && truth <= upper;
        Self { answered: se.is_finite(), warned, covered, z: (log_z - truth) / se }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_default();
    let runs = arguments.next().map_or(Ok(100), |text| text.parse::<usize>())?;
    let name = arguments.next().unwrap_or_default();
    if kind == "paths" && name.is_empty() {
        print!("{INTRODUCTION}");
    }
    match kind.as_str() {
        "chains" => chains::table(runs, &name),
        "tails" => tails::table(runs, &name),
        "paths" => paths::table(runs, &name),
        _ => Err("ask for chains, tails or paths".into()),
    }
}

/// The title of a table, what it shows, and the heads of its columns.
fn heading(title: &str, words: &str) {
    println!("\n## {title}\n\n{words}\n");
    println!("| | runs | answered | without a warning | coverage of these | of all answered | rms z |");
    println!("|---|---|---|---|---|---|---|");
}

fn row(name: &str, runs: &[Run]) {
    let answered: Vec<&Run> = runs.iter().filter(|run| run.answered).collect();
    let quiet: Vec<&Run> = answered.iter().copied().filter(|run| !run.warned).collect();
    let coverage = |some: &[&Run]| match some.len() {
        0 => "-".to_owned(),
        count => format!("{:.1} %", 100.0 * some.iter().filter(|r| r.covered).count() as f64 / count as f64),
    };
    let squares = answered.iter().map(|r| r.z * r.z).sum::<f64>();
    let rms = match answered.len() {
        0 => "-".to_owned(),
        count => format!("{:.2}", (squares / count as f64).sqrt()),
    };
    println!(
        "| {name} | {} | {} | {} | {} | {} | {rms} |",
        runs.len(),
        answered.len(),
        quiet.len(),
        coverage(&quiet),
        coverage(&answered)
    );
}
