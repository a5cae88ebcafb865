//! Noises: densities, draws, words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod auto;
mod density;
mod evenness;
mod quiet;
mod sampling;
mod support;
mod words;
