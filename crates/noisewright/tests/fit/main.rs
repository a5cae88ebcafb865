//! Fits from end to end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod batches;
mod comparators;
mod conditional;
mod conditional_nets;
mod conditional_repeats;
mod density_ratio;
mod diagnostics;
mod distributed;
mod extremes;
mod fitted_noise;
mod hard_use;
mod kinks;
mod many_rows;
mod offsets;
mod optimal;
mod penalized;
mod properties;
mod quiet;
mod quiet_rows;
mod runaway;
mod small_samples;
mod statistics;
mod values;
mod weights;
mod without_noise;
