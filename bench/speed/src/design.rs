//! Times of designs: the exact optimum in one dimension, jointly with the proportion, families, and ten dimensions.

use noisewright::design::{DesignOptions, Ratio, best_member, design_on_sample};
use noisewright::internal::design::design;
use noisewright::parts::NoiseContext;
use noisewright::{FamilyOptions, Model, MultivariateNormal, NoiseWords, Result, sample};
use noisewright_systems::{gaussian_mean, gaussian_variance, quartic};

use crate::clock::{fastest, time};
use crate::show;

pub(crate) fn run() -> Result<()> {
    println!("## Designs\n");
    println!("| what | time | budget | within | error × T | gap |\n|---|---|---|---|---|---|");
    one_dimension()?;
    family()?;
    ten_dimensions()?;
    println!();
    Ok(())
}

fn one_dimension() -> Result<()> {
    for system in [
        gaussian_mean(0.0, true)?,
        gaussian_mean(0.0, false)?,
        gaussian_variance(1.0, true)?,
        gaussian_variance(1.0, false)?,
        quartic()?,
    ] {
        for (what, ratio, repeats, budget) in
            [("ν = 1", Ratio::Fixed(1.0), 20, 5e-3), ("joint with ν", Ratio::Free, 2, 0.1)]
        {
            let options = DesignOptions { ratio, ..DesignOptions::default() };
            let call = || design(&system.model, &system.parameters, &options);
            let best = call()?;
            let seconds = fastest(5, repeats, call);
            let within = if seconds.used() < budget { "yes" } else { "no" };
            let gap = best.gap().map_or("–".into(), |gap| format!("{gap:.0e}"));
            println!(
                "| {}, exact, {what} | {} | {} ms | {within} | {:.6} | {gap} |",
                system.name,
                show(seconds),
                1e3 * budget,
                best.error
            );
        }
    }
    Ok(())
}

fn family() -> Result<()> {
    let system = gaussian_mean(0.0, true)?;
    let build = |words: &NoiseWords| words.build(&NoiseContext::new(system.model.space()));
    for text in ["normal(?, 1)", "normal(?, ?)"] {
        let words = NoiseWords::parse(text).map_err(|error| error.in_text(text))?;
        let call =
            || best_member(&words, &build, &system.model, &system.parameters, &DesignOptions::default());
        let best = call()?;
        let seconds = fastest(3, 1, call);
        println!(
            "| {}, {text}, joint with ν | {} | | | {:.6} | – |",
            system.name,
            show(seconds),
            best.minima[0].error
        );
    }
    Ok(())
}

/// Mean and precision of ten variables, 65 parameters and the constant, from 20,000 points.
fn ten_dimensions() -> Result<()> {
    let names: Vec<String> = (0..10).map(|j| format!("x{j}")).collect();
    let model = Model::from_family("gaussian", &names, &FamilyOptions::default(), false)?;
    let identity: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i % 11 == 0))).collect();
    let points = sample(&MultivariateNormal::new(&[0.0; 10], &identity)?, 20_000, 1);
    let start = model.start();
    let log_z = model.log_normalizer(&start, &mut vec![0.0; start.len()]).unwrap_or_default();
    let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
    let (best, seconds) = time(|| design_on_sample(&model, &start, log_z, &points, &options));
    let best = best?;
    let within = if seconds.wall < 30.0 { "yes" } else { "no" };
    println!(
        "| ten-dimensional Gaussian, 20,000 points, exact, ν = 1 | {} | 30 s | {within} | {:.4} | {:.0e} |",
        show(seconds),
        best.error,
        best.optimum.gap
    );
    Ok(())
}
