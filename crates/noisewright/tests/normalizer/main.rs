//! Constants: log Z, states, paths, evidence, chains.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod chain;
mod common;
mod doubtful;
mod edges;
mod evidence;
mod path;
mod posteriors;
mod properties;
mod reweighting;
mod simulation;
mod states;
mod values;
