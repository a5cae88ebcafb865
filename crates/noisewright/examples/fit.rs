//! Fits a log-density of one's own, written as a closure, to rows of data.
//!
//! Run it with `cargo run --example fit`.
#![allow(clippy::print_stdout)]

use noisewright::prelude::*;

/// Two wells: `log p = a x² − b x⁴ − log Z`, with the constant and all errors estimated.
pub fn main() -> Result<()> {
    let rows = include!("two_wells.in");
    let data = Points::from_rows(&["x"], &rows)?;
    let model = Model::from_fn(&["a", "b"], Space::real(&["x"])?, |t: &[f64], x: &[f64]| {
        t[0] * x[0].powi(2) - t[1] * x[0].powi(4)
    })?;
    let fit = model.fit(&data).start(&[0.0, 1.0]).ratio(5.0).seed(1).threads(2).run()?;
    println!("{fit}");
    Ok(())
}
