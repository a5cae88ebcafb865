//! Expectations under a model: modes, quadrature, chains.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod modes;
mod sampling;
