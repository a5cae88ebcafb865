//! A normalizing constant from draws, by a bridge, by evidence, and by many states at once.
//!
//! Run it with `cargo run --example log_z`.
#![allow(clippy::print_stdout)]

use noisewright::prelude::*;

/// Gaussians of known integrals, taken as unknown: log Z of the second is ½ log 4π = 1.2655.
pub fn main() -> Result<()> {
    let bell = |v: f64| Ok(density(Space::real(&["x"])?, move |x: &[f64]| -0.5 * x[0].powi(2) / v));
    let fs = [1.0, 2.0, 4.0].map(bell).into_iter().collect::<Result<Vec<_>>>()?;
    let noise = |v: f64| Normal::with_variance(0.0, v);
    let draws = [sample(&noise(1.0)?, 2000, 1), sample(&noise(2.0)?, 2000, 2), sample(&noise(4.0)?, 2000, 3)];
    let z = log_z(&fs[1], &draws[1]).against(noise(3.0)?, 2000).seed(1).run()?;
    let e = evidence(&fs[1], &draws[1]).seed(1).run()?;
    println!("log Z: {:.4} ± {:.4} and {:.4} ± {:.4}", z.best().log_z, z.best().se, e.log_evidence, e.se);
    let mbar = states(&fs).draws(&draws).run()?;
    println!("log Z relative to the first: {:.4?} ± {:.4?}", mbar.log_z(), mbar.se());
    Ok(())
}
