//! A noise as an argument: words, with noises that are built already beside them.

use std::path::Path;
use std::sync::Arc;

use noisewright::design::Record;
use noisewright::internal::design::Purpose;
use noisewright::parts::WordsError;
use noisewright::{Noise, NoiseWords};

use crate::{Failure, Outcome, Problem};

/// Words, in which `file("built:0")` stands for the first of the noises beside them.
#[derive(Clone)]
pub struct Request {
    /// The words.
    pub words: String,
    /// The noises that they may refer to.
    pub built: Vec<Arc<dyn Noise>>,
}

impl Request {
    /// The words, read.
    ///
    /// # Errors
    /// Words that are no noise.
    pub fn parse(&self) -> Outcome<NoiseWords> {
        NoiseWords::parse(&self.words).map_err(wrong_words)
    }

    /// The noise on a problem.
    ///
    /// # Errors
    /// Words that are no noise, and noises that cannot be on this problem.
    pub fn build(&self, problem: &Problem, purpose: Purpose<'_>) -> Outcome<Arc<dyn Noise>> {
        Ok(problem.question().noise(&self.parse()?, purpose, &|path| self.file(path))?)
    }

    /// The noise of `file("design.json")`, or one of those that are built.
    ///
    /// # Errors
    /// A file that cannot be read, or is no saved design.
    pub fn file(&self, path: &str) -> Result<Arc<dyn Noise>, String> {
        let index = path.strip_prefix("built:").and_then(|index| index.parse::<usize>().ok());
        match index.and_then(|index| self.built.get(index)) {
            Some(noise) => Ok(Arc::clone(noise)),
            None => load(Path::new(path)),
        }
    }
}

/// Words that are no noise.
#[must_use]
#[allow(clippy::needless_pass_by_value, reason = "it is a function for `map_err`")]
pub fn wrong_words(error: WordsError) -> Failure {
    Failure::Input(format!("noise: {error}"))
}

/// A noise saved by `design --out` or by a designed noise's `save`.
fn load(path: &Path) -> Result<Arc<dyn Noise>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let record: Record =
        serde_json::from_str(&text).map_err(|error| format!("this is not a saved design: {error}"))?;
    record.noise().map_err(|error| error.to_string())
}

/// The noise of a saved design, from its text.
///
/// # Errors
/// A text that is no saved design.
pub fn noise_of_record(text: &str) -> Outcome<Arc<dyn Noise>> {
    let record: Record = serde_json::from_str(text)
        .map_err(|error| Failure::Input(format!("this is not a saved design: {error}")))?;
    Ok(record.noise()?)
}
