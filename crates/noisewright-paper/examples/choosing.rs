//! Draws the pictures of the chapter on choices into the folder given as argument.
//!
//! `cargo run --release -p noisewright-paper --example choosing -- docs/src/pictures`

use std::path::Path;

use noisewright::design::{DesignOptions, Ratio};
use noisewright::internal::design::design;
use noisewright::internal::{Contrast, asymptotic_error};
use noisewright::{Loss, Model, Noise, Normal, Precision, Result, Target, View};
use noisewright_report::{Axis, Band, Figure, Line, Panel, Reference};

/// Two wells, the model of `examples/quartic`.
fn quartic() -> Result<Model> {
    Model::from_toml("variables = ['x']\nlog_density = 'a*x^2/2 - b*x^4'\n[parameters]\na = 1.0\nb = 0.1")
}

const AT: [f64; 2] = [1.0, 0.1];

fn error(model: &Model, noise: &dyn Noise, nu: f64, loss: &Loss) -> Result<f64> {
    let contrast = Contrast { noise, nu, loss };
    Ok(asymptotic_error(model, &AT, contrast, &Target::Mse, &Precision::default())?.error)
}

/// The best noise at a ratio, with its error.
fn best(model: &Model, nu: f64) -> Result<noisewright::design::Design> {
    design(model, &AT, &DesignOptions { ratio: Ratio::Fixed(nu), ..DesignOptions::default() })
}

fn steps(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..=count).map(move |i| low + (high - low) * i as f64 / count as f64)
}

/// The error against the width of normal noise, one line per loss.
fn widths(model: &Model) -> Result<Figure> {
    let losses =
        [("js", Loss::Js), ("kl", Loss::Kl), ("hellinger", Loss::Hellinger), ("pearson", Loss::Pearson)];
    let mut panel = Panel::new(
        Axis::linear("standard deviation of normal noise"),
        Axis::log("error × T").range(25.0, 400.0),
    )
    .title("Half noise, half data: width and loss");
    for (name, loss) in losses {
        let curve: Result<Vec<(f64, f64)>> = steps(0.5, 5.0, 90)
            .map(|sd| Ok((sd, error(model, &Normal::with_variance(0.0, sd * sd)?, 1.0, &loss)?)))
            .collect();
        panel.push(Line::new(name, curve?));
    }
    let optimum = best(model, 1.0)?;
    panel.push(Reference::horizontal(optimum.error, "the best noise"));
    panel.push(Reference::horizontal(optimum.cramer_rao, "Cramér–Rao"));
    Ok(Figure::from(panel)
        .description("Error of the quartic model against the width of normal noise for four losses"))
}

/// The error against the proportion of noise, one line per noise.
fn proportions(model: &Model) -> Result<Figure> {
    let of = |f: &dyn Fn(f64) -> Result<f64>| -> Result<Vec<(f64, f64)>> {
        steps(0.04, 0.96, 46).map(|share| Ok((share, f(share / (1.0 - share))?))).collect()
    };
    let panel =
        Panel::new(Axis::linear("proportion of noise").percent(), Axis::log("error × T").range(25.0, 400.0))
            .title("How much noise")
            .with(Line::new("noise = data", of(&|nu| Ok(best(model, nu)?.noise_equals_data))?))
            .with(Line::new(
                "normal(0, 4)",
                of(&|nu| error(model, &Normal::with_variance(0.0, 4.0)?, nu, &Loss::Js))?,
            ))
            .with(Line::new("the best noise", of(&|nu| Ok(best(model, nu)?.error))?))
            .with(Line::new("Cramér–Rao", of(&|nu| Ok(best(model, nu)?.cramer_rao))?));
    Ok(Figure::from(panel)
        .description("Error of the quartic model against the proportion of noise for three noises"))
}

/// The density of the data and of the best noise at three ratios.
fn shapes(model: &Model) -> Result<Figure> {
    let x: Vec<f64> = steps(-5.0, 5.0, 500).collect();
    let density = |noise: &dyn Noise| -> Vec<(f64, f64)> {
        let mut log_density = vec![0.0; x.len()];
        noise.log_density(View::new(1, x.len(), &x), &mut log_density);
        x.iter().zip(&log_density).map(|(x, d)| (*x, d.exp())).collect()
    };
    let little = best(model, 0.1)?;
    let log_z = little.population.log_normalizer();
    let data: Vec<(f64, f64)> =
        x.iter().map(|x| (*x, (AT[0] * x * x / 2.0 - AT[1] * x.powi(4) - log_z).exp())).collect();
    let panel = Panel::new(Axis::linear("x"), Axis::linear("density").include(0.0))
        .title("Data, and the best noise for them")
        .with(Band::under("data", data).color(5))
        .with(Line::new("ν = 0.1", density(&little.noise)))
        .with(Line::new("ν = 1", density(&best(model, 1.0)?.noise)))
        .with(Line::new("ν = 20", density(&best(model, 20.0)?.noise)));
    Ok(Figure::from(panel).description("Density of the quartic model and of its best noise at three ratios"))
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("give the folder for the pictures")?;
    let model = quartic()?;
    let pictures =
        [("widths", widths(&model)?), ("proportions", proportions(&model)?), ("shapes", shapes(&model)?)];
    for (name, figure) in pictures {
        std::fs::write(Path::new(&folder).join(format!("{name}.svg")), figure.to_svg_standalone())?;
    }
    Ok(())
}
