//! The command `noisewright`.

mod allocation;
mod arguments;
mod commands;
mod failure;
mod inputs;
mod noises;
mod output;
mod overwriting;
mod progress;
mod rows;
mod streamed;
mod usage;
mod workers;

use std::process::ExitCode;

fn main() -> ExitCode {
    match arguments::parse().and_then(|arguments| commands::run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
