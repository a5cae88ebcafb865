//! What goes wrong, as the exception that a Python user expects.

use std::error::Error as _;

use noisewright::Error;
use noisewright_bindings::Class;
pub(crate) use noisewright_bindings::{Failure, Outcome};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::file::file_sentence;

/// A failure as an exception.
pub(crate) trait Raise {
    /// The exception, of a class in `noisewright.errors`.
    fn exception(self, py: Python<'_>) -> PyErr;
}

impl Raise for Failure {
    fn exception(self, py: Python<'_>) -> PyErr {
        if let Self::Library(error) = &self
            && let Some(file) = file_error(error)
        {
            return raise(py, "InputError", file_sentence(file), error.code());
        }
        let exception = raise(py, class_name(self.class()), self.sentence(), self.code());
        if let Self::Library(error) = &self
            && let Some(row) = row_of(error)
        {
            // For whoever knows from which file the row came.
            let _ = exception.value(py).setattr("row", row);
        }
        exception
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

/// The class of exceptions that a failure is raised as.
fn class_name(class: Class) -> &'static str {
    match class {
        Class::Input => "InputError",
        Class::Model => "ModelError",
        Class::Function => "FunctionError",
        Class::NoAnswer => "NoAnswerError",
        Class::Internal => "NoisewrightError",
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
