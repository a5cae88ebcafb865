//! What ends a command early: one plain sentence and an exit status.

use std::io::Write;
use std::process::ExitCode;

use noisewright::Error;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command was called wrongly: status 2.
    Usage(String),
    /// The data or the model cannot give an answer: status 1.
    NoAnswer(String),
    /// Help or the version was asked for, or nothing at all.
    Help(clap::Error),
    /// Nobody reads our output any more.
    ClosedPipe,
}

/// Result of everything in the command.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// Says why on standard error; gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let (sentence, status) = match self {
            Self::Usage(sentence) => (sentence, 2),
            Self::NoAnswer(sentence) => (sentence, 1),
            Self::Help(error) => {
                // What was asked for goes to standard output and is no failure.
                let status = if error.use_stderr() { 2 } else { 0 };
                let _ = error.print();
                return ExitCode::from(status);
            }
            Self::ClosedPipe => return ExitCode::SUCCESS,
        };
        let _ = writeln!(std::io::stderr(), "error: {sentence}");
        ExitCode::from(status)
    }

    /// The same with the file it is about in front: what is wrong in a file is not wrong usage.
    pub(crate) fn in_file(self, file: &str) -> Self {
        match self {
            Self::Usage(sentence) | Self::NoAnswer(sentence) => Self::NoAnswer(format!("{file}: {sentence}")),
            other => other,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let sentence = error.to_string();
        match error {
            Error::UnknownLoss { .. }
            | Error::NoiseRatio { .. }
            | Error::UnknownParameter { .. }
            | Error::DuplicateName { .. }
            | Error::Noise { .. }
            | Error::Price { .. }
            | Error::Efficiency { .. }
            | Error::Option { .. }
            | Error::Setting { .. }
            | Error::Target => Self::Usage(sentence),
            _ => Self::NoAnswer(sentence),
        }
    }
}

impl Failure {
    /// The same with other words where a command has no such option.
    pub(crate) fn reworded(self, from: &str, to: &str) -> Self {
        match self {
            Self::NoAnswer(sentence) => Self::NoAnswer(sentence.replace(from, to)),
            Self::Usage(sentence) => Self::Usage(sentence.replace(from, to)),
            other => other,
        }
    }

    /// An error in a file of draws, none of which can be left out without changing what they are draws of.
    pub(crate) fn of_draws(error: noisewright_data::Error) -> Self {
        Self::from(error).reworded(" or leave such rows out with --drop-missing", "")
    }
}

impl From<noisewright_data::Error> for Failure {
    fn from(error: noisewright_data::Error) -> Self {
        use noisewright_data::Error::{Missing, NonFinite};
        let sentence = error.to_string();
        // The library speaks of dropping rows; here there is a flag for it.
        Self::NoAnswer(match error {
            Missing { .. } | NonFinite { .. } => {
                sentence.replace("have such rows dropped", "leave such rows out with --drop-missing")
            }
            _ => sentence,
        })
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::NoAnswer(format!("writing failed: {error}"))
        }
    }
}
