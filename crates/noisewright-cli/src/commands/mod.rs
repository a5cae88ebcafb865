//! One file per command.

pub(crate) mod block;
mod compare;
mod density;
mod design;
mod error;
mod evidence;
mod examples;
mod fit;
mod information;
#[cfg(feature = "lab")]
mod lab;
mod logz;
mod pictures;
mod ratio;
#[cfg(feature = "reproduce")]
mod reproduce;
mod sample;
mod saved;
mod simulate;

pub(crate) use self::saved::is_fit_file;
use crate::arguments::{self, Arguments, Command, Global};
use crate::failure::{Failure, Outcome};
use crate::{output, overwriting};

/// Threads that are started for each core, at most.
const MOST_PER_CORE: usize = 4;

/// Runs the command that was asked for.
pub(crate) fn run(asked: &Arguments) -> Outcome<()> {
    overwriting::refuse(asked)?;
    set_threads(asked.global.threads)?;
    dispatch(asked)
}

/// Hands over to the command's own file.
fn dispatch(asked: &Arguments) -> Outcome<()> {
    let global = &asked.global;
    match &asked.command {
        Command::Fit(own) => fit::run(own, global),
        Command::Block(own) => block::run(&own.fit, own.rows, global),
        Command::Ratio(own) => ratio::run(own, global),
        Command::Information(own) => information::run(own, global),
        Command::Error(own) => error::run(own, global),
        Command::Design(own) => design::run(own, global),
        Command::Logz(own) => logz::run(own, global),
        Command::Sample(own) => sample::run(own, global),
        Command::Compare(own) => compare::run(own, global),
        Command::Density(own) => density::run(own, global),
        Command::Simulate(own) => simulate::run(own, global),
        Command::Evidence(own) => evidence::run(own, global),
        #[cfg(feature = "reproduce")]
        Command::Reproduce(own) => reproduce::run(own, global),
        #[cfg(feature = "lab")]
        Command::Lab(own) => lab::run(own, global),
        Command::Examples(own) => examples::run(own, global),
        Command::Families => families(global),
        Command::Completions { shell } => {
            global.refuse_output("completions")?;
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut arguments::command(), "noisewright", &mut text);
            output::print(&String::from_utf8_lossy(&text))
        }
        Command::Man { command } => {
            global.refuse_output("man")?;
            output::print(&manual(command.as_deref())?)
        }
    }
}

/// The manual page of a command, or of all.
fn manual(name: Option<&str>) -> Outcome<String> {
    let mut all = arguments::command();
    all.build();
    let page = match name {
        None => all,
        Some(name) => {
            let Some(own) = all.find_subcommand(name) else {
                let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
                return Err(Failure::Usage(format!(
                    "there is no command `{name}`; the commands are {}",
                    names.join(", ")
                )));
            };
            own.clone()
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
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

/// The built-in families for a program.
#[derive(serde::Serialize)]
struct Families {
    families: &'static [noisewright::parts::FamilyInfo],
}

fn families(global: &Global) -> Outcome<()> {
    global.refuse_page("families")?;
    if global.json {
        return output::print_json(&output::value(&Families { families: noisewright::families() })?);
    }
    let list: Vec<String> = noisewright::families().iter().map(|family| format!("{family}\n")).collect();
    output::print(&list.concat())
}
