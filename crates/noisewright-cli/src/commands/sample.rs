//! `noisewright sample`: draws from a noise, with their log-density.

use std::sync::Arc;

use noisewright::{Context, Noise, Points, Precision, Space, Target, sample};
use noisewright_data::{write, write_csv_to};
use serde_json::json;

use crate::arguments::{Global, SampleArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs::{Problem, read_data};
use crate::noises::{self, Purpose};
use crate::output::{self, numbers};

pub(crate) fn run(arguments: &SampleArguments, global: &Global) -> Outcome<()> {
    let (mut names, noise) = noise(arguments, global)?;
    let draws = sample(noise.as_ref(), arguments.count, global.seed);
    let mut columns: Vec<Vec<f64>> = (0..names.len()).map(|j| draws.view().column(j).to_vec()).collect();
    let mut log_density = vec![0.0; draws.rows()];
    noise.log_density(draws.view(), &mut log_density);
    names.push("log_density".into());
    columns.push(log_density);
    if global.json {
        let object: serde_json::Map<_, _> =
            names.iter().zip(&columns).map(|(n, c)| (n.clone(), numbers(c.iter().copied()))).collect();
        return output::print_json(&json!({ "noise": noise.describe(), "draws": object }));
    }
    match &arguments.out {
        Some(path) if path.as_os_str() != "-" => write(path, &names, &columns).map_err(Failure::from),
        _ => match write_csv_to(std::io::stdout().lock(), "standard output", &names, &columns) {
            Err(error) if error.to_string().contains("Broken pipe") => Err(Failure::ClosedPipe),
            other => other.map_err(Failure::from),
        },
    }
}

/// The noise and the names of its variables.
fn noise(arguments: &SampleArguments, global: &Global) -> Outcome<(Vec<String>, Arc<dyn Noise>)> {
    if let Some(path) = &arguments.design {
        return noises::load(path);
    }
    let words = arguments.noise.as_deref().unwrap_or("auto");
    let Some(model) = &arguments.model else { return without_model(arguments, words) };
    let precision = Precision { seed: global.seed, ..Precision::default() };
    let problem = Problem::new(model, arguments.at.as_deref(), &arguments.data, precision, global)?;
    let purpose = Purpose { nu: arguments.nu, target: &Target::Mse };
    let noise = noises::build(&problem, words, purpose)?;
    Ok((problem.model.space().names().to_vec(), noise))
}

/// Words alone: one real variable `x`, fitted to the column `x` of the data where they ask for it.
fn without_model(arguments: &SampleArguments, words: &str) -> Outcome<(Vec<String>, Arc<dyn Noise>)> {
    let space = Space::real(&["x"])?;
    let data = read_data(&arguments.data, &space)?;
    let context = Context { space: &space, data: data.as_ref().map(Points::view), designed: None };
    let noise =
        noises::parse(words)?.build(&context).map_err(|error| Failure::of_words(error, data.is_some()))?;
    Ok((vec!["x".into()], noise))
}
