//! What goes wrong: its class, its code and its sentence, with arguments by the names that the packages give them.

use noisewright::parts::ErrorSubject;
use noisewright::{Error, ErrorKind};

/// Why a computation gave no result.
pub enum Failure {
    /// The library cannot attempt it.
    Library(Error),
    /// An argument is wrong: a sentence that names it.
    Input(String),
    /// The computation broke down, which it never should.
    Broken(String),
}

/// Result of everything that runs outside of the other language.
pub type Outcome<T> = Result<T, Failure>;

/// The class of errors that a failure belongs to in every package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An argument cannot be used.
    Input,
    /// A model cannot be built as it was written.
    Model,
    /// A function of the user failed.
    Function,
    /// The data or the model cannot give an answer.
    NoAnswer,
    /// The package itself broke down.
    Internal,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl Failure {
    /// What kind of failure it is.
    #[must_use]
    pub fn class(&self) -> Class {
        let error = match self {
            Self::Library(error) => error,
            Self::Input(_) => return Class::Input,
            Self::Broken(_) => return Class::Internal,
        };
        match (error.kind(), error.subject()) {
            (ErrorKind::Input, Some(ErrorSubject::Model)) => Class::Model,
            (ErrorKind::Input, _) => Class::Input,
            (ErrorKind::External, _) => Class::Function,
            (ErrorKind::Internal, _) => Class::Internal,
            _ => Class::NoAnswer,
        }
    }

    /// The name under which programs find it.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Library(error) => error.code(),
            Self::Input(_) => "input",
            Self::Broken(_) => "internal",
        }
    }

    /// What is wrong and what would be right.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Library(error) => sentence(error),
            Self::Input(sentence) => sentence.clone(),
            Self::Broken(what) => format!("noisewright broke down ({what}); please report it"),
        }
    }
}

/// The error's sentence with the arguments' names, which the packages have in common.
fn sentence(error: &Error) -> String {
    match error {
        Error::External { source } => source.to_string(),
        Error::LogDensity { side, column, row, value, reason } => {
            format!("row {row} of `{column}_{side}` is {value}; {reason}")
        }
        Error::NoDraws { side } => format!("`log_f_{side}` is empty, and must have at least one draw"),
        Error::BridgeApart { .. } => format!("{error} (bridges=\"auto\" places them)"),
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
