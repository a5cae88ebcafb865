//! The best noise for a model, what another one costs, and a fit with the best.
//!
//! Run it with `cargo run --example design`.
#![allow(clippy::print_stdout)]

use noisewright::prelude::*;

/// The mean and the precision of a Gaussian whose constant is taken as unknown.
pub fn main() -> Result<()> {
    let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
    let theta = [0.5, -0.5];
    let best = model.design(&theta).ratio(1.0).run()?;
    let cost = model.error(&theta, Normal::with_std(0.0, 1.5)?).ratio(1.0).run()?;
    println!("the best noise: {:.3}; a normal one: {:.3}", best.error, cost.error);
    let data = sample(&Normal::with_std(0.5, 1.0)?, 4000, 1);
    let fit = model.fit(&data).noise(best.noise).ratio(1.0).run()?;
    println!("x = {:.3} ± {:.3}", fit.get("x")?.estimate, fit.get("x")?.se);
    Ok(())
}
