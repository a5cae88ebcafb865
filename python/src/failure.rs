//! What goes wrong, as the exception that a Python user expects.

use noisewright::Error;
use pyo3::prelude::*;
use pyo3::types::PyType;

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
        let (class, sentence) = match self {
            Self::Library(error) => (class_of(&error), sentence(&error)),
            Self::Input(sentence) => ("InputError", sentence),
            Self::Broken(what) => {
                ("NoisewrightError", format!("noisewright broke down ({what}); please report it"))
            }
        };
        raise(py, class, sentence)
    }
}

/// An exception of ours by the name of its class.
fn raise(py: Python<'_>, class: &str, sentence: String) -> PyErr {
    let found = py.import("noisewright.errors").and_then(|errors| errors.getattr(class));
    match found.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, sentence),
        Err(error) => error,
    }
}

/// A wrong argument.
pub(crate) fn input_error(py: Python<'_>, sentence: impl Into<String>) -> PyErr {
    raise(py, "InputError", sentence.into())
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::NoVariables
        | Error::DuplicateName { .. }
        | Error::Domain { .. }
        | Error::Model { .. }
        | Error::ModelField { .. }
        | Error::Formula { .. }
        | Error::MissingValue { .. }
        | Error::ModelSyntax { .. }
        | Error::UnknownFamily { .. }
        | Error::NotNormalized { .. } => "ModelError",
        Error::Shape { .. }
        | Error::Noise { .. }
        | Error::NoiseRatio { .. }
        | Error::UnknownLoss { .. }
        | Error::UnknownParameter { .. }
        | Error::Parameter { .. }
        | Error::Price { .. }
        | Error::Efficiency { .. }
        | Error::Option { .. }
        | Error::Setting { .. }
        | Error::ChainLengths { .. }
        | Error::NoDraws { .. }
        | Error::LogDensity { .. }
        | Error::NoData
        | Error::Weight { .. }
        | Error::OutsideDomain { .. }
        | Error::NoStates
        | Error::NoStateDraws
        | Error::StateValue { .. }
        | Error::StateOwnDraw { .. }
        | Error::Target => "InputError",
        Error::Energy { .. } => "FunctionError",
        _ => "NoAnswerError",
    }
}

/// The error's sentence with arguments by their names in Python.
fn sentence(error: &Error) -> String {
    match error {
        Error::LogDensity { side, column, row, value, reason } => {
            format!("row {row} of `{column}_{side}` is {value}; {reason}")
        }
        Error::NoDraws { side } => format!("`log_f_{side}` is empty, and must have at least one draw"),
        Error::NoStates => "`log_f` is empty, and must have a row for at least one state".into(),
        Error::NoStateDraws => "`log_f` has no draws, and must have at least one".into(),
        Error::StateValue { .. } | Error::StateOwnDraw { .. } => format!("`log_f`: {error}"),
        Error::OutsideDomain { .. } | Error::NoData => format!("`data`: {error}"),
        Error::Weight { .. } => format!("`weights`: {error}"),
        Error::NoiseRatio { .. } => format!("`nu`: {error}"),
        Error::UnknownLoss { .. } => format!("`loss`: {error}"),
        _ => in_python(&error.render()),
    }
}

/// A sentence with the command's options and the model file's tables in Python's words.
fn in_python(sentence: &str) -> String {
    sentence
        .replace("give them with --data", "give them as `data`")
        .replace("under [parameters]", "to `parameters`")
}
