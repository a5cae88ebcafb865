//! `noisewright design`: the noise and the proportion that minimise the error.

mod kinds;
mod show;

use noisewright::design::{Prices, Ratio};
use noisewright::{Population, Target};

use crate::arguments::{DesignArguments, Global};
use crate::failure::{Failure, Outcome};
use crate::inputs::Problem;
use crate::output;
use crate::progress::Progress;

/// What is asked for.
pub(super) struct Question<'a> {
    pub(super) problem: &'a Problem,
    pub(super) target: Target,
    pub(super) ratio: Ratio,
    pub(super) prices: Prices,
    pub(super) efficiency: Option<f64>,
}

pub(crate) fn run(arguments: &DesignArguments, global: &Global) -> Outcome<()> {
    let ratio = ratio(&arguments.nu)?;
    let prices = prices(arguments)?;
    if let Some(value) = arguments.efficiency.filter(|e| !(*e > 0.0 && *e < 1.0)) {
        return Err(noisewright::Error::Efficiency { value }.into());
    }
    let problem = Problem::read(&arguments.model, global)?;
    let question = Question {
        problem: &problem,
        target: Target::parse(&arguments.target),
        ratio,
        prices,
        efficiency: arguments.efficiency,
    };
    let progress = Progress::new(problem.quiet, "searching for the best noise");
    let answer = kinds::answer(&question, &arguments.noise)?;
    drop(progress);
    let json = show::json(&question, &answer);
    if let Some(path) = &arguments.out {
        // A file that cannot be read back is worse than none.
        answer.record.noise().map_err(unsaved)?;
        let text = serde_json::to_string_pretty(&answer.record)
            .map_err(|error| Failure::NoAnswer(format!("the design cannot be written: {error}")))?;
        output::write_file(path, text.as_bytes())?;
    }
    output::write_report(global, || show::page(&question, &answer), &json)?;
    if global.json { output::print_json(&json) } else { output::print(&show::text(&question, &answer)) }
}

/// Words that need data or a model of their own cannot be read back.
fn unsaved(error: noisewright::Error) -> Failure {
    Failure::NoAnswer(match error {
        noisewright::Error::Noise { noise, .. } => {
            format!("--out: `{noise}` cannot be saved; use these words with the same files again instead")
        }
        other => format!("--out: this noise cannot be saved: {other}"),
    })
}

/// `auto`, or a positive number.
fn ratio(text: &str) -> Outcome<Ratio> {
    if text == "auto" {
        return Ok(Ratio::Free);
    }
    match text.parse::<f64>() {
        Ok(nu) if nu > 0.0 && nu.is_finite() => Ok(Ratio::Fixed(nu)),
        _ => Err(Failure::Usage(format!("--nu must be a positive number or auto, not {text}"))),
    }
}

fn prices(arguments: &DesignArguments) -> Outcome<Prices> {
    for (flag, name, price) in
        [("--price-data", "data", arguments.price_data), ("--price-noise", "noise", arguments.price_noise)]
    {
        if !(price > 0.0 && price.is_finite()) {
            return Err(Failure::Usage(format!(
                "{flag}: the price of a {name} point must be a positive number, not {price}"
            )));
        }
    }
    Ok(Prices { data: arguments.price_data, noise: arguments.price_noise })
}

/// The population that the question is about: the data where there are any, the model's own otherwise.
pub(super) fn population(problem: &Problem) -> Outcome<Population> {
    let Problem { model, parameters, precision, .. } = problem;
    let Some(data) = &problem.data else { return Ok(Population::new(model, parameters, precision)?) };
    let log_normalizer = log_normalizer(problem)?;
    Ok(Population::from_sample(model, parameters, log_normalizer, data)?)
}

/// log Z of the model: in closed form, or integrated.
pub(super) fn log_normalizer(problem: &Problem) -> Outcome<f64> {
    let Problem { model, parameters, precision, .. } = problem;
    let mut gradient = vec![0.0; parameters.len()];
    match model.log_normalizer(parameters, &mut gradient) {
        Some(log_z) => Ok(log_z),
        None => Ok(Population::new(model, parameters, precision)?.log_normalizer()),
    }
}
