//! Simulates fits over models × noises × losses × ratios; prints predicted over empirical error and coverage.
//!
//! `noisewright-validation [REPEATS [MODEL]]`: the number of simulated data sets of each cell (default 2,000); only models
//! with this in their name.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cells;
mod simulate;

use cells::Cell;
use noisewright::Result;
use simulate::{DOUBTFUL, FEWER, MORE, Outcome, simulate};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let repeats = std::env::args().nth(1).map_or(Ok(2000), |text| text.parse::<usize>())?;
    let model = std::env::args().nth(2).unwrap_or_default();
    let cells: Vec<(usize, Cell)> = cells::all()?.into_iter().enumerate().collect();
    let cells: Vec<(usize, Cell)> =
        cells.into_iter().filter(|(_, c)| c.system.name.contains(&model)).collect();
    let count = cells.len();
    let one = |(index, cell): (usize, Cell)| {
        eprint!("\rcell {} of {count}", index + 1);
        simulate(index, &cell, repeats).map(|outcome| (cell, outcome))
    };
    let results: Vec<(Cell, Outcome)> = cells.into_iter().map(one).collect::<Result<_>>()?;
    eprintln!();
    print_table(&results, repeats);
    Ok(())
}

fn print_table(results: &[(Cell, Outcome)], repeats: usize) {
    // The spread of a ratio of variances from so many repeats.
    let noise = (2.0 / repeats as f64).sqrt();
    let within = |o: &&Outcome| (0.9..=1.1).contains(&o.ratio);
    let applies = || results.iter().filter(|(_, o)| o.applies).map(|(_, o)| o);
    let (count, good) = (applies().count(), applies().filter(within).count());
    let worst = applies().map(|o| o.ratio.ln().abs()).fold(0.0, f64::max).exp();
    println!(
        "{repeats} data sets a cell, all different, so that a ratio is known to about {:.1} % (one standard deviation, or less). \
         Where it then is more than {} % off, {MORE} times as many (not for the correlation, whose fits take long); a {FEWER}th where the \
         asymptotics do not apply.\n",
        100.0 * noise,
        100.0 * DOUBTFUL
    );
    println!(
        "- cells where the asymptotics apply: {count} of {}; between 0.9 and 1.1: {good}; the worst is off by a factor {worst:.3}",
        results.len()
    );
    let coverage = || applies().flat_map(|o| o.coverage.iter().copied());
    println!(
        "- coverage of nominal 95 % intervals there: {:.1} % to {:.1} %\n",
        100.0 * coverage().fold(1.0, f64::min),
        100.0 * coverage().fold(0.0, f64::max)
    );
    println!(
        "| model | noise | loss | ν | data | error × T, predicted | predicted / empirical | coverage | data sets | without answer | applies |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (cell, outcome) in results {
        let coverage: Vec<String> = outcome.coverage.iter().map(|c| format!("{:.1}", 100.0 * c)).collect();
        let why = if outcome.applies { "yes".to_owned() } else { outcome.why.clone() };
        println!(
            "| {} | {} | {} | {} | {} | {:.4} | {:.3} | {} | {} | {} | {why} |",
            cell.system.name,
            cell.noise.describe(),
            cell.loss,
            cell.nu,
            cell.rows,
            outcome.predicted,
            outcome.ratio,
            coverage.join(" "),
            outcome.repeats,
            outcome.refused
        );
    }
}
