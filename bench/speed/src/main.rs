//! Times the budgets of the asymptotic error and prints them as a Markdown table.
#![allow(clippy::print_stdout)]

mod clock;
mod design;
mod evidence;
mod fit;
mod grid;
mod limits;
mod normalizer;
mod states;
mod sweep;

use clock::{Seconds, fastest, time};
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{Loss, Noise, Normal, Precision, Result, Student, Target};
use noisewright_systems::{System, exponential_polynomial, gamma, gaussian_mean, gaussian_variance, quartic};

/// The errors and designs, or another part that is named: each in a process of its own, so that its memory is its own.
fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("fit") => fit::run(),
        Some("stream") => fit::run_stream(),
        Some("normalizer") => normalizer::run(),
        Some("evidence") => evidence::run(),
        Some("states") => states::run(),
        Some("limits") => {
            limits::run();
            Ok(())
        }
        _ => errors_and_designs(),
    }
}

fn errors_and_designs() -> Result<()> {
    let yardstick = plain_exp();
    println!("The yardstick, `f64::exp` in a plain loop over 10⁶ numbers: {}.\n", show(yardstick));
    single_errors(yardstick)?;
    grids()?;
    design::run()
}

/// A million exponentials in a plain loop, for ratios that survive a change of machine.
fn plain_exp() -> Seconds {
    let x: Vec<f64> = (0..1_000_000).map(|i| f64::from(i) * 1e-6 - 0.5).collect();
    fastest(5, 1, || x.iter().map(|x| x.exp()).sum::<f64>())
}

fn show(seconds: Seconds) -> String {
    let unit = |s: f64| if s < 0.1 { format!("{:.3} ms", 1e3 * s) } else { format!("{s:.2} s") };
    match seconds.cpu {
        Some(cpu) => format!("{} wall, {} CPU", unit(seconds.wall), unit(cpu)),
        None => format!("{} wall", unit(seconds.wall)),
    }
}

fn single_errors(yardstick: Seconds) -> Result<()> {
    let normal: Box<dyn Noise> = Box::new(Normal::with_variance(0.7, 1.5)?);
    let student: Box<dyn Noise> = Box::new(Student::new(5.0, 0.0, 1.0)?);
    let far: Box<dyn Noise> = Box::new(Normal::with_variance(13.0, 1.0)?);
    let cases: [(System, Box<dyn Noise>); 6] = [
        (gaussian_mean(0.0, true)?, normal),
        (gaussian_variance(1.0, false)?, student),
        (gaussian_mean(0.0, true)?, far),
        (quartic()?, Box::new(Normal::with_variance(0.0, 2.0)?)),
        (exponential_polynomial()?, Box::new(Normal::with_variance(0.0, 2.0)?)),
        (gamma(3.5, 2.0, true)?, Box::new(noisewright::Gamma::new(2.0, 1.0)?)),
    ];
    println!("## `asymptotic_error` on a 1-D model, budget 1 ms\n");
    println!("| model | noise | one call | yardsticks (CPU) | within budget |\n|---|---|---|---|---|");
    for (system, noise) in &cases {
        let contrast = Contrast { noise: &**noise, nu: 1.0, loss: &Loss::Js };
        let call = || {
            asymptotic_error(&system.model, &system.parameters, contrast, &Target::Mse, &Precision::default())
        };
        call()?;
        let seconds = fastest(5, 100, call);
        let within = if seconds.used() < 1e-3 { "yes" } else { "no" };
        let ratio = seconds.used() / yardstick.used();
        println!("| {} | {} | {} | {ratio:.3} | {within} |", system.name, noise.describe(), show(seconds));
    }
    println!();
    Ok(())
}

fn grids() -> Result<()> {
    println!("## Maps of the error over data parameter × noise parameter × ratio, budget 10 s on 2 cores\n");
    println!(
        "| model | designs | time | ns a design (CPU) | largest relative difference to `asymptotic_error` |"
    );
    println!("|---|---|---|---|---|");
    let (mut designs, mut wall, mut cpu) = (0, 0.0, 0.0);
    for grid in grid::grids() {
        let (errors, seconds) = time(|| grid.errors());
        let errors = errors?;
        let difference = grid.largest_difference(&errors, 997)?;
        let each = 1e9 * seconds.used() / grid.size() as f64;
        let shape = format!("{}×{}×41 = {}", grid.data.len(), grid.noises.len(), grid.size());
        println!("| {} | {shape} | {} | {each:.0} | {difference:.1e} |", grid.name, show(seconds));
        designs += grid.size();
        wall += seconds.wall;
        cpu += seconds.used();
    }
    let total = show(Seconds { wall, cpu: Some(cpu) });
    let within = if wall < 10.0 { "within" } else { "beyond" };
    println!("| all | {designs} | {total} ({within} budget, {} threads) | | |", rayon::current_num_threads());
    Ok(())
}
