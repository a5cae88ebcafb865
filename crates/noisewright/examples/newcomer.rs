//! A tour: four models of one's own, a formula and a family, constants, evidence and designs.
//!
//! Run it with `cargo run --example newcomer`.
#![allow(clippy::print_stdout)]

use noisewright::prelude::*;

fn show(name: &str, fit: &Fit) {
    let estimates = fit.estimates();
    let shown = estimates.iter().map(|e| format!("{} = {:.4} ± {:.4}", e.name, e.estimate, e.se));
    println!("{name}: {}", shown.collect::<Vec<_>>().join(", "));
}

/// Every truth is known: κ = 2, μ = 0.7; a = 2, b = 0.5; h = 0.2, j = 0.3; h = p = 1; log Z = ½ log 4π.
pub fn main() -> Result<()> {
    // Angles.
    let angles = sample(&VonMises::new(0.7, 2.0)?, 3000, 11);
    let circle = Space::product(&[("x", Domain::Circle)])?;
    let von_mises = Model::from_fn(&["kappa", "mu"], circle, |t, x| t[0] * (x[0] - t[1]).cos())?
        .with_start(&[("kappa", 1.0)])?
        .with_bounds(&[("kappa", 0.0, f64::INFINITY)])?;
    show("von Mises", &von_mises.fit(&angles).ratio(5.0).run()?);
    let family = Model::from_family("von-mises", &["x"], &FamilyOptions::default(), false)?;
    show("von Mises, the family", &family.fit(&angles).ratio(5.0).run()?);

    // Two wells, from chains of the model itself.
    let line = Space::real(&["x"])?;
    let quartic =
        Model::from_fn(&["a", "b"], line.clone(), |t, x| t[0] * x[0].powi(2) - t[1] * x[0].powi(4))?;
    let truth = [2.0, 0.5];
    let wells = chains(&quartic.density(&truth)?).seed(3).run()?;
    show("two wells", &quartic.fit(&wells.points).start(&[0.0, 1.0]).ratio(5.0).run()?);
    let formula = Model::from_features(&["x^2", "x^4"], line.clone(), vec![])?;
    show("two wells, by features", &formula.fit(&wells.points).ratio(5.0).run()?);

    // Ten spins on a ring.
    let spins: Vec<_> = (0..10).map(|i| (format!("s{i}"), Domain::States(vec![-1.0, 1.0]))).collect();
    let ring = Model::from_fn(&["h", "j"], Space::product(&spins)?, |t, s| {
        let pairs = s.iter().zip(s.iter().cycle().skip(1));
        t[0] * s.iter().sum::<f64>() + t[1] * pairs.map(|(a, b)| a * b).sum::<f64>()
    })?;
    let drawn = chains(&ring.density(&[0.2, 0.3])?).thin(5).run()?;
    show("ring", &ring.fit(&drawn.points).exact().run()?);

    // A Gaussian cut off at zero.
    let half = Space::product(&[("x", Domain::Positive)])?;
    let cut = Model::from_fn(&["h", "p"], half, |t, x| t[0] * x[0] - 0.5 * t[1] * x[0].powi(2))?;
    let positive = sample(&Truncated::new(Normal::with_std(1.0, 1.0)?, 0.0, f64::INFINITY)?, 3000, 5);
    show("cut off", &cut.fit(&positive).start(&[0.0, 1.0]).ratio(5.0).run()?);

    // Constants.
    let f = density(line.clone(), |x| -0.25 * (x[0] - 1.0).powi(2));
    let draws = sample(&Normal::with_variance(1.0, 2.0)?, 4000, 1);
    let z = log_z(&f, &draws).against(Normal::with_variance(0.0, 3.0)?, 4000).independent().run()?;
    let e = evidence(&f, &draws).run()?;
    println!("log Z: {:.4} ± {:.4} and {:.4} ± {:.4}", z.best().log_z, z.best().se, e.log_evidence, e.se);
    let bells = [1.0, 2.0, 4.0].map(|v| density(line.clone(), move |x| -0.5 * x[0].powi(2) / v));
    let from = |v: f64| -> Result<Points> { Ok(sample(&Normal::with_variance(0.0, v)?, 1000, v as u64)) };
    let mbar = states(&bells).draws(&[from(1.0)?, from(2.0)?, from(4.0)?]).run()?;
    println!("states: {:.4?} ± {:.4?}", mbar.log_z(), mbar.se());

    // Designs.
    let best = quartic.design(&truth).ratio(1.0).run()?;
    let cost = quartic.error(&truth, Normal::with_variance(0.0, 2.0)?).run()?;
    println!("the best noise: {:.4}; a normal one: {:.4}", best.error, cost.error);
    Ok(())
}
