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

use crate::arguments::{Arguments, Command, Global};
use crate::failure::{Failure, Outcome};
use crate::output;

/// Threads that are started for each core, at most.
const MOST_PER_CORE: usize = 4;

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
        Command::Families => families(global),
        Command::Completions { shell } => {
            global.refuse_output("completions")?;
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "noisewright", &mut text);
            output::print(&String::from_utf8_lossy(&text))
        }
        Command::Man => {
            global.refuse_output("man")?;
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
    // Results do not depend on the number: beyond a few threads per core more of them only get in each other's way.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    rayon::ThreadPoolBuilder::new()
        .num_threads(count.min(MOST_PER_CORE * cores))
        .build_global()
        .map_err(|error| Failure::NoAnswer(format!("the threads cannot be started: {error}")))
}

fn families(global: &Global) -> Outcome<()> {
    global.refuse_page("families")?;
    if global.json {
        let family = |family: &noisewright::energy::FamilyInfo| {
            serde_json::json!({
                "name": family.name,
                "description": family.description,
                "domain": family.domain,
                "options": family.options,
                "parameters": family.parameters,
            })
        };
        let list: Vec<serde_json::Value> = noisewright::families().iter().map(family).collect();
        return output::print_json(&serde_json::json!({ "families": list }));
    }
    let list: Vec<String> = noisewright::families().iter().map(|family| format!("{family}\n")).collect();
    output::print(&list.concat())
}
