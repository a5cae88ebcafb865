//! What goes wrong, as the exception that a Python user expects.

use std::error::Error as _;

use noisewright::{Error, ErrorKind, ErrorSubject};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::file::file_sentence;

/// Why a computation gave no result.
pub(crate) enum Failure {
    /// The library cannot attempt it.
    Library(Error),
    /// An argument is wrong: a sentence that names it.
    Input(String),
    /// The computation broke down, which it never should.
    Broken(String),
}

/// Result of everything that runs without the interpreter.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl Failure {
    /// The exception, of a class in `noisewright.errors`.
    pub(crate) fn exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Library(error) => {
                let exception = raise(py, class_of(&error), sentence(&error), error.code());
                if let Some(row) = row_of(&error) {
                    // For whoever knows from which file the row came.
                    let _ = exception.value(py).setattr("row", row);
                }
                exception
            }
            Self::Input(sentence) => input_error(py, sentence),
            Self::Broken(what) => {
                let sentence = format!("noisewright broke down ({what}); please report it");
                raise(py, "NoisewrightError", sentence, "internal")
            }
        }
    }
}

/// An exception of ours by the name of its class, with the code under which programs find it.
fn raise(py: Python<'_>, class: &str, sentence: String, code: &str) -> PyErr {
    let found = py.import("noisewright.errors").and_then(|errors| errors.getattr(class));
    let made = found.and_then(|class| Ok(class.cast_into::<PyType>()?)).and_then(|class| {
        let exception = PyErr::from_type(class, sentence);
        exception.value(py).setattr("code", code)?;
        Ok(exception)
    });
    made.unwrap_or_else(|error| error)
}

/// A wrong argument.
pub(crate) fn input_error(py: Python<'_>, sentence: impl Into<String>) -> PyErr {
    raise(py, "InputError", sentence.into(), "input")
}

/// The class of exceptions that an error is raised as.
fn class_of(error: &Error) -> &'static str {
    match (error.kind(), error.subject()) {
        (ErrorKind::Input, Some(ErrorSubject::Model)) => "ModelError",
        (ErrorKind::Input, _) => "InputError",
        (ErrorKind::External, _) if file_error(error).is_some() => "InputError",
        (ErrorKind::External, _) => "FunctionError",
        (ErrorKind::Internal, _) => "NoisewrightError",
        _ => "NoAnswerError",
    }
}

/// The row of the data that an error is about, counted from 1.
fn row_of(error: &Error) -> Option<usize> {
    match error {
        Error::NoDensity { row }
        | Error::DataWithoutDensity { row, .. }
        | Error::Weight { row, .. }
        | Error::OutsideDomain { row, .. }
        | Error::NotUnit { row, .. }
        | Error::NoiseMissesData { row } => Some(*row),
        _ => None,
    }
}

/// The error of a file that was read in the course of a computation.
fn file_error(error: &Error) -> Option<&noisewright_data::Error> {
    error.source()?.downcast_ref()
}

/// The error's sentence with arguments by their names in Python.
fn sentence(error: &Error) -> String {
    match error {
        Error::External { source } => file_error(error).map_or_else(|| source.to_string(), file_sentence),
        Error::LogDensity { side, column, row, value, reason } => {
            format!("row {row} of `{column}_{side}` is {value}; {reason}")
        }
        Error::NoDraws { side } => format!("`log_f_{side}` is empty, and must have at least one draw"),
        Error::BridgeApart { .. } => error.to_string().replace("bridges auto", "bridges=\"auto\""),
        Error::NoStates => "`log_f` is empty, and must have a row for at least one state".into(),
        Error::NoStateDraws => "`log_f` has no draws, and must have at least one".into(),
        Error::StateValue { .. } | Error::StateOwnDraw { .. } => format!("`log_f`: {error}"),
        Error::OutsideDomain { .. } | Error::NoData => format!("`data`: {error}"),
        Error::Weight { .. } => format!("`weights`: {error}"),
        Error::NoiseRatio { .. } => format!("`nu`: {error}"),
        Error::UnknownLoss { .. } => format!("`loss`: {error}"),
        Error::NoiseNeedsData { noise } => {
            format!("noise `{noise}`: it is fitted to data; give them as `data`")
        }
        Error::Option { option, fault } => match option.as_ref() {
            "share" => format!("`noise_share` {fault}"),
            _ => error.to_string(),
        },
        _ => error.render(),
    }
}
