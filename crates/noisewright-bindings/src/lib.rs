//! What the packages for other languages share: settings as plain data, the calls of the library that they stand for, results as
//! values, and computations in a thread of their own.
//!
//! A package converts its language's objects into the settings here and the values from here into its objects; it decides nothing.
//! The settings are read by serde (R's lists), and from Python's dictionaries with the feature `python`.

mod after;
mod failure;
mod fit;
mod noise;
mod normalizer;
mod pool;
mod problem;
mod space;
mod states;
mod task;

pub use after::{Kept, SavedFit, at_points, points_by_row};
pub use failure::{Class, Failure, Outcome};
pub use fit::{FitSettings, Reading, Rows, check_settings, fit_rows, fit_value, fitted_grid};
pub use noise::{Request, noise_of_record, wrong_words};
pub use normalizer::{EvidenceSettings, LogZSettings, Sides, evidence, log_z};
pub use pool::pool;
pub use problem::{DesignSettings, ErrorSettings, Problem, QuestionSettings};
pub use space::{DomainWords, domain_words, space};
pub use states::{Cells, Pool, equilibration, log_z_neighbours, log_z_states};
pub use task::{Monitor, caught};

pub use rayon::ThreadPool;

use noisewright_report::Value;
use serde::Serialize;

/// A result of the library under the names of its serialization.
///
/// # Errors
/// Only where a field's name is no text, which none is.
pub fn value(result: &(impl Serialize + ?Sized)) -> Outcome<Value> {
    Value::of(result).map_err(|error| Failure::Broken(error.to_string()))
}

/// Sentences as a list.
#[must_use]
pub fn texts(sentences: impl IntoIterator<Item = String>) -> Value {
    Value::List(sentences.into_iter().map(Value::Text).collect())
}
