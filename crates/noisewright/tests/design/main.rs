//! The best noise: MATH §5 and §6.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod dictionary;
mod exact;
mod extremes;
mod family;
mod histogram;
mod mixture;
mod practice;
mod quiet;
