//! Simulates fits of conditional models (MATH §11): the coverage of intervals, and what ranking costs at q = p.
//!
//! `conditional coverage [SETS [NAME]]` (default 2,000 data sets; only models with NAME in their name), `conditional all [SETS [NAME]]`
//! (maximum likelihood and errors that trust the model too) or `conditional cost [SETS]`.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use noisewright::after::simulate_given;
use noisewright::fit::{CovarianceKind, NoiseChoice};
use noisewright::internal::run::Purpose;
use noisewright::run::Context;
use noisewright::{ConditionalNoise, Model, NoiseWords, Points, Space, View};
use rand::RngExt;
use rayon::prelude::*;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_default();
    let sets = arguments.next().map_or(Ok(2000), |text| text.parse::<u64>())?;
    let name = arguments.next().unwrap_or_default();
    match kind.as_str() {
        "coverage" => coverage(sets, &name, false),
        "all" => coverage(sets, &name, true),
        "cost" => cost(sets),
        _ => Err("ask for coverage, all or cost".into()),
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
    /// Data sets whose covariates are drawn, too, evenly from their values.
    fn data(&self, sets: u64) -> Outcome<Vec<Points>> {
        let (from, to) = self.range;
        let place = |k: usize| from + (to - from) * k as f64 / (self.values - 1) as f64;
        let chosen = |set: u64| -> Vec<usize> {
            let mut stream = Purpose::Sample.stream(set, 0);
            (0..self.rows).map(|_| stream.random_range(0..self.values)).collect()
        };
        let chosen: Vec<Vec<usize>> = (0..sets).map(chosen).collect();
        let mut counts = vec![0_usize; self.values];
        chosen.iter().flatten().for_each(|k| counts[*k] += 1);
        // All draws at one value at once, since each is an integral.
        let drawn = counts.iter().enumerate().map(|(k, count)| {
            let context = Context::seeded(k as u64);
            let drawn = simulate_given(
                &self.model,
                &self.truth,
                View::new(1, 1, &[place(k)]),
                (*count).max(1),
                &context,
            )?;
            Ok(drawn.points.view().column(0).to_vec())
        });
        let drawn = drawn.collect::<Outcome<Vec<Vec<f64>>>>()?;
        let mut used = vec![0; self.values];
        let mut next = |k: usize| {
            used[k] += 1;
            drawn[k][used[k] - 1]
        };
        let one = |rows: &Vec<usize>| {
            let y: Vec<f64> = rows.iter().map(|k| next(*k)).collect();
            let z = rows.iter().map(|k| place(*k)).collect();
            Ok(Points::from_columns(&["y", "z"], &[y, z])?)
        };
        chosen.iter().map(one).collect()
    }
}

/// How many nominal 95 % intervals contain the truth, robust and trusting the model, by ranking and by maximum likelihood.
fn coverage(sets: u64, name: &str, all: bool) -> Outcome<()> {
    println!(
        "| model | way | errors | coverage, % | mean squared z | noise share |\n|---|---|---|---|---|---|"
    );
    for case in cases()?.into_iter().filter(|case| case.name.contains(name)) {
        let data = case.data(sets)?;
        for exact in [false, true].into_iter().filter(|exact| all || !exact) {
            let kinds = [CovarianceKind::Robust, CovarianceKind::ModelBased];
            for errors in kinds.into_iter().filter(|kind| all || *kind == CovarianceKind::Robust) {
                let one = |seed: u64| -> Outcome<(Vec<f64>, f64)> {
                    let fit = case.model.fit(&data[seed as usize]).seed(seed).errors(errors);
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

/// The variance of the estimates of a line over that of least squares, with noise equal to the density: 1 + 1/K. Least squares are
/// efficient, so that what the estimates differ from them is uncorrelated with them, and its variance adds.
fn cost(sets: u64) -> Outcome<()> {
    let text = "variables = ['y']\ncovariates = ['z']\nlog_density = '-(y - a - b*z)^2/2'\n[parameters]\na = 0\nb = 0";
    let model = Model::from_toml(text)?;
    let words = NoiseWords::parse_given("normal(1 + 2*z, 1)", &["z"])?;
    let noise = Arc::new(ConditionalNoise::from_words(&words, &Space::real(&["y"])?, &["z"])?);
    let case =
        Case { name: "line", model, truth: vec![1.0, 2.0], rows: 1000, range: (-1.5, 1.5), values: 31 };
    let data = case.data(sets)?;
    println!("| K | variance over least squares' | 1 + 1/K | ratio |\n|---|---|---|---|");
    for choices in [1_usize, 2, 4, 16] {
        let one = |seed: u64| -> Outcome<f64> {
            let data = &data[seed as usize];
            let noise = NoiseChoice::Conditional(Arc::clone(&noise));
            let fit = case.model.fit(data).noise(noise).choices(choices).seed(seed).run()?;
            let (y, z) = (data.view().column(0), data.view().column(1));
            let (n, sum) = (z.len() as f64, z.iter().sum::<f64>());
            let squares: f64 = z.iter().map(|z| z * z).sum();
            let total: f64 = y.iter().sum();
            let products: f64 = y.iter().zip(z).map(|(y, z)| y * z).sum();
            let det = n * squares - sum * sum;
            let best = [(squares * total - sum * products) / det, (n * products - sum * total) / det];
            let least = [squares / det, n / det];
            let each = fit.parameters.iter().zip(best).zip(least);
            Ok(each.map(|((e, best), least)| (e.estimate - best).powi(2) / least).sum::<f64>() / 2.0)
        };
        let found = (0..sets).into_par_iter().map(one).collect::<Outcome<Vec<f64>>>()?;
        let mean = 1.0 + found.iter().sum::<f64>() / sets as f64;
        let expected = 1.0 + 1.0 / choices as f64;
        println!("| {choices} | {mean:.4} | {expected:.4} | {:.4} |", mean / expected);
    }
    Ok(())
}
