//! The examples, compiled as they stand and run.
#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

#[path = "../../examples/design.rs"]
mod design;
#[path = "../../examples/fit.rs"]
mod fit;
#[path = "../../examples/log_z.rs"]
mod log_z;
#[path = "../../examples/newcomer.rs"]
mod newcomer;

/// Lines of a program's body: between the braces of `main`.
fn body(source: &str) -> usize {
    let main = source.find("pub fn main").unwrap();
    let after = source[main..].lines().skip(1);
    after.take_while(|line| *line != "}").filter(|line| !line.trim().is_empty()).count()
}

#[test]
fn the_short_programs_run() {
    fit::main().unwrap();
    log_z::main().unwrap();
    design::main().unwrap();
}

#[test]
fn the_tour_runs() {
    newcomer::main().unwrap();
}

#[test]
fn a_main_job_takes_ten_lines() {
    for source in [
        include_str!("../../examples/fit.rs"),
        include_str!("../../examples/log_z.rs"),
        include_str!("../../examples/design.rs"),
    ] {
        assert!(body(source) <= 10, "{} lines", body(source));
    }
}
