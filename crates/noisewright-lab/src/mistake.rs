//! What is wrong with a question, in the command's words, and where in its text.

use noisewright::Error;
use noisewright::parts::WordsError;
use serde::Serialize;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Mistake {
    /// One plain sentence.
    pub message: String,
    /// The field of the question that it is about: `model`, `noise`, `data` or none of them.
    pub field: Option<&'static str>,
    /// The part of that field's text that is wrong, in characters: the first, and one past the last.
    pub place: Option<(usize, usize)>,
    /// Whether a newer question took its place.
    pub cancelled: bool,
}

impl Mistake {
    /// A sentence that is about no field.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), field: None, place: None, cancelled: false }
    }

    /// A sentence about the data.
    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self { field: Some("data"), ..Self::new(message) }
    }

    /// What is wrong with a model file, and where in its text.
    pub(crate) fn in_model(error: &Error, text: &str) -> Self {
        Self { field: Some("model"), place: place_in_model(error, text), ..Self::from(error) }
    }

    /// Words that are no noise.
    pub(crate) fn in_noise(error: &WordsError, text: &str) -> Self {
        let sentence = error.to_string();
        let column = sentence.strip_prefix("column ").and_then(|rest| rest.split(':').next()?.parse().ok());
        let place = column.map(|column: usize| word_at(text, column.saturating_sub(1)));
        Self { field: Some("noise"), place, ..Self::new(sentence) }
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<&Error> for Mistake {
    fn from(error: &Error) -> Self {
        let field = match error {
            Error::Noise { .. } | Error::Fit { .. } | Error::NoiseNeedsData { .. } => Some("noise"),
            Error::OutsideDomain { .. } | Error::ConstantColumn { .. } => Some("data"),
            _ => None,
        };
        Self { field, cancelled: *error == Error::Cancelled, ..Self::new(error.to_string()) }
    }
}

impl From<Error> for Mistake {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

/// Where a model file is wrong.
fn place_in_model(error: &Error, text: &str) -> Option<(usize, usize)> {
    match error {
        Error::Formula { field, text: formula, source } => {
            in_formula(text, formula, source.column()).or_else(|| key(text, field))
        }
        Error::MissingValue { text: formula, column, .. } => in_formula(text, formula, Some(*column)),
        Error::ModelSyntax { line, column, .. } => {
            let before: usize =
                text.lines().take(line.saturating_sub(1)).map(|l| l.chars().count() + 1).sum();
            Some(word_at(text, before + column.saturating_sub(1)))
        }
        Error::ModelField { field, .. } => key(text, field),
        Error::Domain { .. } => key(text, "domain"),
        Error::Parameter { parameter, .. } => key(text, parameter),
        _ => None,
    }
}

/// The place of a column of a formula in the text that it stands in.
fn in_formula(text: &str, formula: &str, column: Option<usize>) -> Option<(usize, usize)> {
    let start = text[..text.find(formula)?].chars().count();
    let Some(column) = column else { return Some((start, start + formula.chars().count().max(1))) };
    Some(word_at(text, start + column.saturating_sub(1)))
}

/// The field's name at the beginning of a line.
fn key(text: &str, field: &str) -> Option<(usize, usize)> {
    let field = field.split(['.', '[']).next().unwrap_or(field);
    let mut before = 0;
    for line in text.split('\n') {
        let trimmed = line.trim_start();
        let rest = trimmed.strip_prefix('[').unwrap_or(trimmed);
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if rest.strip_prefix(field).is_some_and(ends) {
            let start = before + line.chars().count() - rest.chars().count();
            return Some((start, start + field.chars().count()));
        }
        before += line.chars().count() + 1;
    }
    None
}

/// The name or number that begins at a character, or that character alone; at the end of a line the one before.
fn word_at(text: &str, start: usize) -> (usize, usize) {
    let inside = |c: &char| c.is_alphanumeric() || *c == '_' || *c == '.';
    let length = text.chars().skip(start).take_while(inside).count();
    let at_end = text.chars().nth(start).is_none_or(|c| c == '\n');
    if at_end && start > 0 { (start - 1, start) } else { (start, start + length.max(1)) }
}

#[cfg(test)]
mod tests {
    use noisewright::{Model, NoiseWords};

    use super::*;

    fn wrong(text: &str) -> (String, String) {
        let error = Model::from_toml(text).map(|_| ()).unwrap_err();
        let mistake = Mistake::in_model(&error, text);
        let (from, to) = mistake.place.unwrap();
        (text.chars().skip(from).take(to - from).collect(), mistake.message)
    }

    #[test]
    fn the_wrong_part_of_a_model_file_is_found() {
        let file = |formula: &str| {
            format!("# μ\nvariables = [\"x\"]\nlog_density = \"{formula}\"\n[parameters]\na = 1\n")
        };
        assert_eq!(wrong(&file("a*x^2 + bogus")).0, "bogus");
        assert_eq!(wrong(&file("a*x +* 2")).0, "*");
        assert_eq!(wrong(&file("exq(a*x)")).0, "exq");
        assert_eq!(wrong("variables = ['x']\nlog_density = '-x^2'\nfoo = 3\n").0, "foo");
        let (part, sentence) = wrong("variables = ['x'\nlog_density = '-x^2'\n");
        assert_eq!(part, "log_density");
        assert!(sentence.starts_with("line 2, column 1 of the model file is not TOML"), "{sentence}");
    }

    #[test]
    fn the_wrong_part_of_a_noise_is_found() {
        let words = "0.5*normal(0, 1) + 0.5*nrmal(0, 2)";
        let mistake = Mistake::in_noise(&NoiseWords::parse(words).unwrap_err(), words);
        assert_eq!(mistake.place, Some((23, 28)));
    }
}
