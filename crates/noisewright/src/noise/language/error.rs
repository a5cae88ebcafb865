//! What is wrong with a noise in words, and where.

use crate::Error;

/// Why a text is not a noise; columns count characters from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WordsError {
    /// Nothing but blanks.
    #[error("a noise is missing; write one such as `normal(0, 1)`")]
    Empty,
    /// Something else than what must come here.
    #[error("column {column}: expected {expected}, found {found}")]
    Unexpected {
        /// Where.
        column: usize,
        /// What would be right.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A name that no noise has.
    #[error("column {column}: there is no noise `{name}`{}", suggestion_text(.suggestion))]
    UnknownName {
        /// Where.
        column: usize,
        /// The name.
        name: String,
        /// The nearest known name, when one is near.
        suggestion: Option<String>,
    },
    /// A number that cannot be read.
    #[error("column {column}: `{text}` is not a number")]
    Number {
        /// Where.
        column: usize,
        /// What is written.
        text: String,
    },
    /// A text without its closing quotation mark.
    #[error("column {column}: the quotation mark is never closed")]
    OpenText {
        /// Where it opens.
        column: usize,
    },
    /// A part of a mixture without a weight.
    #[error("column {column}: a part of a mixture needs a weight, as in `0.7*normal(0, 1)`")]
    MissingWeight {
        /// Where the part begins.
        column: usize,
    },
    /// A weight that is not positive.
    #[error("column {column}: the weight {weight} is not a positive number")]
    Weight {
        /// Where.
        column: usize,
        /// The weight.
        weight: f64,
    },
    /// Weights that do not sum to one.
    #[error("column {column}: the weights sum to {sum}; {}", weight_advice(*.free))]
    WeightSum {
        /// Where the mixture begins.
        column: usize,
        /// Their sum.
        sum: f64,
        /// Whether other weights are free.
        free: bool,
    },
    /// Noises within noises, or lists within lists, beyond what is read.
    #[error("column {column}: this is nested too deeply, at most {limit} levels are read")]
    TooDeep {
        /// Where.
        column: usize,
        /// The number of levels.
        limit: usize,
    },
}

fn suggestion_text(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

fn weight_advice(free: bool) -> &'static str {
    if free { "the fixed ones must leave something for the free ones" } else { "they must sum to 1" }
}

impl WordsError {
    /// The same as an error of this crate, with the text that was read.
    #[must_use]
    pub fn in_text(self, text: &str) -> Error {
        Error::Noise { noise: text.to_owned(), reason: self.to_string() }
    }
}
