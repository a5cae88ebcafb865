//! What a choice costs: MATH §3 against closed forms, quadrature and simulation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod common;
mod domains;
mod extremes;
mod properties;
mod simulation;
mod space;
mod values;
