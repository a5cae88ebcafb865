//! What a program that uses the library meets: builders, examples, misuse, model files, the run context.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod builders;
mod examples;
mod misuse;
mod misuse_counts;
mod misuse_more;
mod misuse_support;
mod model_file;
mod not_a_number;
mod run_context;
mod run_passes;
mod run_support;
mod work;
