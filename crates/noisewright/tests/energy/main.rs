//! Models: values, scores, curvatures and normalizers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod common;
mod derivatives;
mod families;
mod formula;
mod normalizers;
mod references;
