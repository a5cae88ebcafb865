//! Noise words turned into noises: those that need a model, data, a design or a file as well.

use std::path::Path;
use std::sync::Arc;

use noisewright::design::Record;
use noisewright::internal::words::Weight;
use noisewright::parts::NoiseContext;
use noisewright::parts::WordsError;
use noisewright::{Error, Noise, NoiseWords, Space};

use crate::arguments::DataArguments;
use crate::failure::{Failure, Outcome};
use crate::inputs::{Problem, read_text};

pub(crate) use noisewright::internal::design::Purpose;

/// Reads noise words; an error points at the column.
pub(crate) fn parse(text: &str) -> Outcome<NoiseWords> {
    NoiseWords::parse(text).map_err(|error| wrong_words(&error))
}

/// Words that are no noise.
pub(crate) fn wrong_words(error: &WordsError) -> Failure {
    Failure::Usage(format!("--noise: {error}"))
}

/// Refuses data that no part of the words is fitted to.
pub(crate) fn refuse_unused_data(words: &NoiseWords, arguments: &DataArguments) -> Outcome<()> {
    if arguments.data.is_some() && !words.is_fitted() {
        return Err(Failure::Usage(format!(
            "--data is for noises that are fitted, and `{words}` has all its numbers: leave out one of the two"
        )));
    }
    Ok(())
}

/// The noise of a problem in words.
pub(crate) fn build(problem: &Problem, text: &str, purpose: Purpose<'_>) -> Outcome<Arc<dyn Noise>> {
    let words = parse(text)?;
    let noise = problem.question().noise(&words, purpose, &from_file);
    noise.map_err(|error| failure(error, &words, problem.model.space()))
}

/// The failure of a noise in words.
pub(crate) fn failure(error: Error, words: &NoiseWords, space: &Space) -> Failure {
    wrong_number(error, words, space).unwrap_or_else(Failure::from)
}

/// A number that the words cannot take is wrong usage, unless a fit to data found it; any other error as it was.
pub(crate) fn wrong_number(error: Error, words: &NoiseWords, space: &Space) -> Result<Failure, Error> {
    match error {
        Error::Parameter { .. } if has_wrong_number(words, space) => {
            Ok(Failure::Usage(format!("--noise: {error}")))
        }
        other => Err(other),
    }
}

/// Whether some part is refused for its own numbers, whatever the data.
fn has_wrong_number(words: &NoiseWords, space: &Space) -> bool {
    words.terms.iter().any(|(_, call)| {
        let alone = NoiseWords { terms: vec![(Weight::Number(1.0), call.clone())] };
        // The model at other parameters has no numbers but those that are written.
        call.name == "model" || matches!(alone.build(&NoiseContext::new(space)), Err(Error::Parameter { .. }))
    })
}

/// `file("design.json")`.
pub(crate) fn from_file(path: &str) -> Result<Arc<dyn Noise>, String> {
    load(Path::new(path)).map(|(_, noise)| noise).map_err(|failure| match failure {
        Failure::NoAnswer(reason) | Failure::Usage(reason) => reason,
        Failure::Help(_) | Failure::ClosedPipe => "it cannot be read".into(),
    })
}

/// A designed noise saved by `design --out`, with the names of its variables.
pub(crate) fn load(path: &Path) -> Outcome<(Vec<String>, Arc<dyn Noise>)> {
    let name = path.display().to_string();
    let text = read_text(path)?;
    let record: Record = serde_json::from_str(&text)
        .map_err(|error| Failure::NoAnswer(format!("{name}: this is not a saved design: {error}")))?;
    let noise = record.noise().map_err(|error| Failure::from(error).in_file(&name))?;
    Ok((record.variables, noise))
}
