//! `noisewright design`: the noise and the proportion that minimise the error.

mod kinds;
mod show;

use noisewright::design::{Prices, Ratio};
use noisewright::fit::{Data, FitOptions};
use noisewright::internal;
use noisewright::internal::design::{DesignSpace, Question};
use noisewright::{Points, Target};

use crate::arguments::{DesignArguments, Global};
use crate::failure::{Failure, Outcome};
use crate::inputs::Problem;
use crate::noises;
use crate::output;
use crate::progress::Progress;

/// What is asked for, and of which model.
pub(super) struct Asked<'a> {
    pub(super) problem: &'a Problem,
    pub(super) question: Question<'a>,
    pub(super) place: Place,
}

/// Where the parameters come from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// `--at`.
    Given,
    /// The model file's start values.
    Start,
    /// A fit to the data.
    Fitted,
}

pub(crate) fn run(arguments: &DesignArguments, global: &Global) -> Outcome<()> {
    let (ratio, prices) = (ratio(&arguments.nu)?, prices(arguments)?);
    if let Some(value) = arguments.efficiency.filter(|e| !(*e > 0.0 && *e < 1.0)) {
        return Err(Failure::Usage(format!("--efficiency must be a number between 0 and 1, not {value}")));
    }
    let sought = DesignSpace::parse(&arguments.noise).map_err(|error| noises::wrong_words(&error))?;
    let mut problem = Problem::read(&arguments.model, global)?;
    let progress = Progress::new(problem.quiet, "searching for the best noise");
    let (place, constant) = settle(&mut problem, arguments)?;
    let question = Question {
        problem: on_data(&problem, constant)?,
        files: &noises::from_file,
        target: Target::parse(&arguments.target),
        ratio,
        prices,
        efficiency: arguments.efficiency,
    };
    let answer = question.answer(&sought).map_err(|error| failure(error, &sought, &problem))?;
    drop(progress);
    let asked = Asked { problem: &problem, question, place };
    let json = show::json(&asked, &answer)?;
    if let Some(path) = &arguments.out {
        let record = asked.question.record(&answer, &problem.text)?;
        // A file that cannot be read back is worse than none.
        record.noise().map_err(unsaved)?;
        let text = serde_json::to_string_pretty(&record)
            .map_err(|error| Failure::NoAnswer(format!("the design cannot be written: {error}")))?;
        output::write_file(path, text.as_bytes())?;
    }
    output::write_report(global, || show::page(&asked, &answer), &json)?;
    if global.json { output::print_json(&json) } else { output::print(&show::text(&asked, &answer)) }
}

/// Where the model is taken to be true: where `--at` says, else where a fit puts it if there are data, else at its start
/// values. A fit knows the constant too.
fn settle(problem: &mut Problem, arguments: &DesignArguments) -> Outcome<(Place, Option<f64>)> {
    if arguments.model.at.is_some() {
        return Ok((Place::Given, None));
    }
    let Some(data) = &problem.data else { return Ok((Place::Start, None)) };
    let (theta, constant) = fitted(problem, data)?;
    problem.parameters = theta;
    Ok((Place::Fitted, constant))
}

/// The parameters that the data want, and the constant where it is estimated.
fn fitted(problem: &Problem, data: &Points) -> Outcome<(Vec<f64>, Option<f64>)> {
    let refused = |reason: &dyn std::fmt::Display| {
        Failure::NoAnswer(format!(
            "the model cannot be fitted to the data: {reason}; or give its parameters with --at"
        ))
    };
    let options = FitOptions { seed: problem.precision.seed, ..FitOptions::default() };
    let fit =
        internal::fit::fit(&problem.model, Data::from(data), &options).map_err(|error| refused(&error))?;
    match fit.diagnostics.no_answer() {
        Some(warning) => Err(refused(warning)),
        None => Ok((
            problem.model.own_values(&fit.theta()),
            fit.log_normalizer.as_ref().map(|constant| constant.estimate),
        )),
    }
}

/// The problem with expectations over the data where there are any; log Z is then computed once and for all, or taken
/// from the fit where no integral reaches.
fn on_data(problem: &Problem, constant: Option<f64>) -> Outcome<internal::design::Problem<'_>> {
    let question = problem.question();
    if problem.data.is_none() {
        return Ok(question);
    }
    let log_normalizer = question.log_normalizer().or_else(|error| constant.ok_or(error))?;
    Ok(internal::design::Problem { on_data: true, log_normalizer: Some(log_normalizer), ..question })
}

/// The failure of a search: a number in the words that no noise can take is wrong usage.
fn failure(error: noisewright::Error, sought: &DesignSpace, problem: &Problem) -> Failure {
    match sought {
        DesignSpace::Words(words) => noises::failure(error, words, problem.model.space()),
        DesignSpace::Optimal | DesignSpace::Mixture | DesignSpace::Dictionary(_) => error.into(),
    }
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
