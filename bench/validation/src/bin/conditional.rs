//! Simulates fits of conditional models (MATH §11): the coverage of intervals, and what ranking costs at q = p.
//!
//! `conditional coverage [SETS [NAME]]` (default 2,000 data sets; only models with NAME in their name) or `conditional cost [SETS]`.
#![allow(clippy::print_stdout)]

use std::error::Error;

use noisewright::fit::{CovarianceKind, NoiseChoice};
use noisewright::run::{Context, Purpose};
use noisewright::{ConditionalNoise, Model, NoiseWords, Points, Space, View, after::simulate_given};
use rand::RngExt;
use rayon::prelude::*;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_default();
    let sets = arguments.next().map_or(Ok(2000), |text| text.parse::<u64>())?;
    let name = arguments.next().unwrap_or_default();
    match kind.as_str() {
        "coverage" => coverage(sets, &name),
        "cost" => cost(sets),
        _ => Err("ask for coverage or cost".into()),
    }
}

/// A model, where it is true, its rows, and the range of its covariate.
struct Case {
    name: &'static str,
    model: Model,
    truth: Vec<f64>,
    rows: usize,
    /// Values of the covariate, evenly spread.
    range: (f64, f64),
    values: usize,
}

fn cases() -> Outcome<Vec<Case>> {
    let gaussian = "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - a - b*z)^2*p/2'\n\
                    [parameters]\na = 0\nb = 0\np = { start = 1, lower = 0 }";
    let com_poisson = "variables = ['y']\ncovariates = ['z']\nfamily = 'com-poisson'\n\
                       [parameters]\nlog_rate = 'b0 + b1*z'\nb0 = 1\nb1 = 0";
    let von_mises = "variables = ['y']\ncovariates = ['z']\nfamily = 'von-mises'\nparametrization = 'polar'\n\
                     [parameters]\nmean = 'm + 2*atan(b*z)'\nm = 0\nb = 0\nconcentration = { start = 1, lower = 0 }";
    Ok(vec![
        Case {
            name: "Gaussian",
            model: Model::from_toml(gaussian)?,
            truth: vec![1.0, 2.0, 0.5],
            rows: 200,
            range: (-1.5, 1.5),
            values: 21,
        },
        Case {
            name: "COM-Poisson",
            model: Model::from_toml(com_poisson)?,
            truth: vec![2.5, 0.8, 1.5],
            rows: 200,
            range: (0.0, 2.0),
            values: 9,
        },
        Case {
            name: "von Mises",
            model: Model::from_toml(von_mises)?,
            truth: vec![2.5, -0.8, 3.0],
            rows: 200,
            range: (0.0, 2.0),
            values: 21,
        },
    ])
}

impl Case {
    fn data(&self, seed: u64) -> Outcome<Points> {
        let (from, to) = self.range;
        let mut stream = Purpose::Sample.stream(seed, 0);
        // How many rows every value of the covariate has is a draw too.
        let mut counts = vec![0_usize; self.values];
        (0..self.rows).for_each(|_| counts[stream.random_range(0..self.values)] += 1);
        let mut columns = [Vec::new(), Vec::new()];
        for (k, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let z = from + (to - from) * k as f64 / (self.values - 1) as f64;
            let context = Context::seeded(seed * 1000 + k as u64);
            let drawn = simulate_given(&self.model, &self.truth, View::new(1, 1, &[z]), count, &context)?;
            (0..2).for_each(|j| columns[j].extend_from_slice(drawn.points.view().column(j)));
        }
        Ok(Points::from_columns(&["y", "z"], &columns)?)
    }
}

/// How many nominal 95 % intervals contain the truth, robust and trusting the model, by ranking and by maximum likelihood.
fn coverage(sets: u64, name: &str) -> Outcome<()> {
    println!(
        "| model | way | errors | coverage, % | mean squared z | noise share |\n|---|---|---|---|---|---|"
    );
    for case in cases()?.into_iter().filter(|case| case.name.contains(name)) {
        for exact in [false, true] {
            for errors in [CovarianceKind::Robust, CovarianceKind::ModelBased] {
                let one = |seed: u64| -> Outcome<(Vec<f64>, f64)> {
                    let data = case.data(seed)?;
                    let fit = case.model.fit(&data).seed(seed).errors(errors);
                    let fit = if exact { fit.exact() } else { fit };
                    let fit = fit.run()?;
                    let each = fit.parameters.iter().zip(&case.truth);
                    let scores = each.flat_map(|(e, truth)| {
                        let covers = e.lower <= *truth && *truth <= e.upper;
                        [f64::from(u8::from(covers)), ((e.estimate - truth) / e.se).powi(2)]
                    });
                    Ok((scores.collect(), fit.noise_share()))
                };
                let found = (0..sets).into_par_iter().map(one).collect::<Outcome<Vec<_>>>()?;
                let mean = |k: usize| found.iter().map(|(scores, _)| scores[k]).sum::<f64>() / sets as f64;
                let listed = |k: usize, factor: f64, digits: usize| {
                    let numbers =
                        (0..case.truth.len()).map(|j| format!("{:.digits$}", factor * mean(2 * j + k)));
                    numbers.collect::<Vec<_>>().join(" ")
                };
                let share = found.iter().map(|(_, share)| *share).sum::<f64>() / sets as f64;
                println!(
                    "| {} | {} | {errors:?} | {} | {} | {share:.3} |",
                    case.name,
                    if exact { "exact" } else { "ranking" },
                    listed(0, 100.0, 1),
                    listed(1, 1.0, 3)
                );
            }
        }
    }
    Ok(())
}

/// The variance of the estimates of a line over that of least squares, with noise equal to the density: 1 + 1/K.
fn cost(sets: u64) -> Outcome<()> {
    let text = "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - a - b*z)^2/2'\n[parameters]\na = 0\nb = 0";
    let model = Model::from_toml(text)?;
    let words = NoiseWords::parse_given("normal(1 + 2*z, 1)", &["z"])?;
    let noise = ConditionalNoise::from_words(&words, &Space::real(&["y"])?, &["z"])?;
    let case = Case { name: "line", model, truth: vec![1.0, 2.0], rows: 400, range: (-1.5, 1.5), values: 31 };
    println!("| K | variance over least squares' | 1 + 1/K | ratio |\n|---|---|---|---|");
    for choices in [1_usize, 2, 4, 16] {
        let one = |seed: u64| -> Outcome<f64> {
            let data = case.data(seed)?;
            let noise = NoiseChoice::Conditional(std::sync::Arc::new(noise.clone()));
            let fit = case.model.fit(&data).noise(noise).choices(choices).seed(seed).run()?;
            let z = data.view().column(1);
            let (n, sum) = (z.len() as f64, z.iter().sum::<f64>());
            let squares: f64 = z.iter().map(|z| z * z).sum();
            let det = n * squares - sum * sum;
            let least = [squares / det, n / det];
            let each = fit.parameters.iter().zip(&case.truth).zip(least);
            Ok(each.map(|((e, truth), least)| (e.estimate - truth).powi(2) / least).sum::<f64>() / 2.0)
        };
        let found = (0..sets).into_par_iter().map(one).collect::<Outcome<Vec<f64>>>()?;
        let mean = found.iter().sum::<f64>() / sets as f64;
        let expected = 1.0 + 1.0 / choices as f64;
        println!("| {choices} | {mean:.4} | {expected:.4} | {:.4} |", mean / expected);
    }
    Ok(())
}
