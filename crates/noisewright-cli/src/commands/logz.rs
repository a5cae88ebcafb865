//! `noisewright logz`: the logarithm of a normalizing constant from two samples, many states or a path.

mod draws;
mod page;
mod path;
mod reweighted;
mod states;
mod ways;
mod wildcard;

use noisewright::Error;
use noisewright::internal::normalizer::alpha_formula;
use noisewright::internal::show::{log_z_sentences, log_z_table};
use noisewright::normalizer::{Dependence, LogZ, LogZOptions, Prices, log_z_of_draws, log_z_with_alpha};
use noisewright_report::{Cell, Column, Table, Value};

use crate::arguments::{Global, LogzArguments};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;

use draws::Pair;
use ways::Way;

/// A formula for α that cannot be read.
fn wrong_alpha(error: &Error) -> String {
    match error {
        Error::Formula { source, .. } => format!("--alpha: {source}"),
        other => format!("--alpha: {other}"),
    }
}

/// Probability that intervals are to cover, where none is asked for.
const CONFIDENCE: f64 = 0.95;

/// Everything the command shows.
struct Answer<'a> {
    pair: &'a Pair,
    result: &'a LogZ,
    options: &'a LogZOptions,
    /// Both densities are unnormalized.
    ratio: bool,
}

pub(crate) fn run(arguments: &LogzArguments, global: &Global) -> Outcome<()> {
    match Way::of(arguments)? {
        Way::States => return states::run(arguments, global),
        Way::Path => return path::run(arguments, global),
        Way::Columns | Way::Points => {}
    }
    let options = options(arguments, global);
    options.check_effects(false)?;
    let log_alpha = arguments.alpha.as_deref().map(alpha_formula).transpose();
    let log_alpha = log_alpha.map_err(|error| Failure::Usage(wrong_alpha(&error)))?;
    let progress = Progress::new(global.quiet || global.json, "estimating log Z");
    let pair = Pair::read(arguments, global)?;
    let (data, noise) = (pair.data.draws(), pair.noise.draws());
    let result = match &log_alpha {
        None => log_z_of_draws(data, noise, &options),
        Some(alpha) => log_z_with_alpha(data, noise, alpha.as_ref(), &options),
    };
    let result = result.map_err(|error| pair.named(error))?;
    pair.refuse_same(arguments)?;
    drop(progress);
    let answer = Answer { pair: &pair, result: &result, options: &options, ratio: arguments.ratio };
    let json = answer.json()?;
    output::write_report(global, || answer.page(), &json)?;
    if global.json {
        if !global.quiet {
            answer.warn();
        }
        output::print_json(&json)?;
    } else {
        output::print(&answer.text())?;
    }
    answered(result.best().refused.as_ref())
}

/// The failure of a result that is shown but has no answer in it.
pub(in crate::commands) fn answered(refused: Option<impl std::fmt::Display>) -> Outcome<()> {
    match refused {
        None => Ok(()),
        Some(why) => Err(Failure::NoAnswer(format!("no estimate can be trusted: {why}"))),
    }
}

/// Warnings on standard error, as the object alone is on standard output.
fn warn(global: &Global, warnings: &[String]) {
    warnings.iter().filter(|_| !global.quiet).for_each(|warning| output::warn(warning));
}

fn options(arguments: &LogzArguments, global: &Global) -> LogZOptions {
    let asked =
        arguments.price_data.is_some() || arguments.price_noise.is_some() || arguments.budget.is_some();
    let prices = asked.then(|| Prices {
        data: arguments.price_data.unwrap_or(1.0),
        noise: arguments.price_noise.unwrap_or(1.0),
        budget: arguments.budget,
    });
    LogZOptions {
        confidence: arguments.confidence.unwrap_or(CONFIDENCE),
        dependence: if arguments.independent { Dependence::Independent } else { Dependence::Chains },
        weight_by_ess: arguments.weight_by_ess,
        bootstrap: arguments.bootstrap,
        powers: arguments.power.clone(),
        prices,
        seed: global.seed,
        ..LogZOptions::default()
    }
}

impl Answer<'_> {
    /// What is estimated, in words.
    fn quantity(&self) -> &'static str {
        if self.ratio { "log of the ratio of the two constants" } else { "log Z" }
    }

    /// Warnings on standard error, as the object alone is on standard output.
    fn warn(&self) {
        self.result.warnings.iter().for_each(|warning| output::warn(&warning.to_string()));
    }

    fn json(&self) -> Outcome<Value> {
        let mut value = output::value(self.result)?;
        value.set("ratio", self.ratio);
        value.set("dependence", dependence(self.options.dependence));
        value.set("noise_words", self.pair.noise_words.as_deref());
        Ok(value)
    }

    fn text(&self) -> String {
        let mut text = output::table(&self.table());
        if let Some(table) = self.allocation_table() {
            text.push('\n');
            text.push_str(&output::table(&table));
        }
        text.push('\n');
        for sentence in self.sentences() {
            text.push_str(&sentence);
            text.push('\n');
        }
        text
    }

    fn table(&self) -> Table {
        log_z_table(self.result, self.quantity())
    }

    fn allocation_table(&self) -> Option<Table> {
        if self.result.allocations.is_empty() {
            return None;
        }
        let mut table = Table::new("What the budget should buy")
            .column(Column::text("estimator"))
            .column(Column::number("data draws").significant(6))
            .column(Column::number("noise draws").significant(6))
            .column(Column::number("predicted std. error").significant(3));
        for a in &self.result.allocations {
            table.push_row([
                Cell::from(a.method.to_string().as_str()),
                a.data_draws.floor().into(),
                a.noise_draws.floor().into(),
                a.predicted_se.into(),
            ]);
        }
        Some(table)
    }

    fn sentences(&self) -> Vec<String> {
        log_z_sentences(self.result)
    }
}

/// Whether draws were taken as Markov chains or as independent, in one word.
fn dependence(dependence: Dependence) -> &'static str {
    if dependence == Dependence::Chains { "chains" } else { "independent" }
}
