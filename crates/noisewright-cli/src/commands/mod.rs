//! One file per command.

mod bins;
mod classifier;
mod design;
mod error;
mod evidence;
mod examples;
mod fit;
mod logz;
mod pictures;
mod ratio;
mod reproduce;
mod sample;

use clap::CommandFactory;

use crate::arguments::{Arguments, Command};
use crate::failure::{Failure, Outcome};
use crate::output;

/// Runs the command that was asked for.
pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    set_threads(arguments.global.threads)?;
    dispatch(arguments)
}

/// Hands over to the command's own file.
fn dispatch(arguments: &Arguments) -> Outcome<()> {
    let global = &arguments.global;
    match &arguments.command {
        Command::Fit(own) => fit::run(own, global),
        Command::Ratio(own) => ratio::run(own, global),
        Command::Error(own) => error::run(own, global),
        Command::Design(own) => design::run(own, global),
        Command::Logz(own) => logz::run(own, global),
        Command::Sample(own) => sample::run(own, global),
        Command::Evidence(own) => evidence::run(own, global),
        Command::Reproduce(own) => reproduce::run(own, global),
        Command::Examples(own) => examples::run(own, global),
        Command::Families => families(),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "noisewright", &mut text);
            output::print(&String::from_utf8_lossy(&text))
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut text)?;
            output::print(&String::from_utf8_lossy(&text))
        }
    }
}

fn set_threads(threads: Option<usize>) -> Outcome<()> {
    let Some(count) = threads else { return Ok(()) };
    if count == 0 {
        return Err(Failure::Usage("--threads must be at least 1".into()));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build_global()
        .map_err(|error| Failure::NoAnswer(format!("the threads cannot be started: {error}")))
}

fn families() -> Outcome<()> {
    let list: Vec<String> = noisewright::families().iter().map(|family| format!("{family}\n")).collect();
    output::print(&list.concat())
}
