//! What cannot be attempted, as data. Not converging is a report, not an error.

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two things that belong together have different sizes.
    #[error("expected {expected} {what}, found {found}")]
    Shape {
        /// What is counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A model without variables.
    #[error("a model needs at least one variable")]
    NoVariables,
    /// A name used twice.
    #[error("the name `{name}` is used twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A domain that cannot be.
    #[error("the domain of `{variable}` is wrong: {reason}")]
    Domain {
        /// The variable.
        variable: String,
        /// What is wrong with its domain.
        reason: String,
    },
    /// A parameter value that the model cannot take.
    #[error("{parameter} = {value} is not allowed: {reason}")]
    Parameter {
        /// The parameter.
        parameter: String,
        /// The value given.
        value: f64,
        /// What it must be.
        reason: String,
    },
    /// A noise that cannot be built or used here.
    #[error("noise `{noise}`: {reason}")]
    Noise {
        /// The noise as it was written.
        noise: String,
        /// What is wrong.
        reason: String,
    },
    /// A model that cannot be built.
    #[error("model: {reason}")]
    Model {
        /// What is wrong.
        reason: String,
    },
    /// A model of the caller's own failed to evaluate.
    #[error("the model's own function failed: {reason}")]
    Energy {
        /// What it said.
        reason: String,
    },
}
