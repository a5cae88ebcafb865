//! What ends a command early: one plain sentence and an exit status.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use noisewright::Error;
use noisewright::parts::ErrorSubject;

use crate::arguments::Arguments;

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
                // What was asked for goes to standard output and is no failure, unless that is full.
                let status = if error.use_stderr() { 2 } else { 0 };
                return match error.print().map_err(Self::from) {
                    Err(failure @ Self::NoAnswer(_)) if status == 0 => failure.report(),
                    _ => ExitCode::from(status),
                };
            }
            Self::ClosedPipe => return ExitCode::SUCCESS,
        };
        let _ = writeln!(std::io::stderr(), "error: {}", printable(&sentence));
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

/// Text as it can be shown: names of files may hold line breaks and codes that move the cursor of a terminal. Only what points to a
/// place in a formula stands on lines of its own, which begin with a space.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let points = c == '\n' && rest.peek() == Some(&' ');
        if c.is_control() && c != '\t' && !points { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let sentence = sentence(&error);
        match error.subject() {
            Some(ErrorSubject::Argument) => Self::Usage(sentence),
            _ => Self::NoAnswer(sentence),
        }
    }
}

/// What is left to rows that do not fit in memory.
const IN_BLOCKS: &str = "a fit reads them in blocks with --stream";

/// The error in the words of the command: options as they are typed.
fn sentence(error: &Error) -> String {
    match error {
        Error::Option { option, fault } => match flag(option) {
            Some(flag) => format!("--{flag} {fault}"),
            None => error.to_string(),
        },
        Error::BridgeApart { .. } => format!("{error} (--bridges auto places them)"),
        Error::OutOfMemory { what, .. } if what == "rows" => format!("{error} ({IN_BLOCKS})"),
        Error::NoiseNeedsData { noise } => {
            format!("noise `{noise}`: it is fitted to data; give them with --data")
        }
        _ => error.to_string(),
    }
}

/// Options of the library whose flag has another name.
const RENAMED: [(&str, &str); 12] = [
    ("bandwidths", "bandwidth"),
    ("check_ratio", "check-nu"),
    ("coordinates", "surface"),
    ("errors", "covariance"),
    ("most_values", "max-noise"),
    ("noise exact", "noise exact"),
    ("parts", "convergence"),
    ("powers", "power"),
    ("relative", "accuracy"),
    ("share", "noise-share"),
    ("state", "surface-state"),
    ("states", "path-states"),
];

/// The flag of an option of the library, where there is one: its name with hyphens, if some command takes that.
fn flag(option: &str) -> Option<String> {
    if let Some((_, flag)) = RENAMED.iter().find(|(known, _)| *known == option) {
        return Some((*flag).to_owned());
    }
    let flag = option.replace('_', "-");
    let command = Arguments::command();
    let mut arguments =
        command.get_arguments().chain(command.get_subcommands().flat_map(clap::Command::get_arguments));
    arguments.any(|argument| argument.get_long() == Some(&flag)).then_some(flag)
}

impl Failure {
    /// An error of a command whose number of draws is the argument N and no option.
    pub(crate) fn of_count(error: Error) -> Self {
        match &error {
            Error::Option { option, fault } if option == "draws" => Self::Usage(format!("N {fault}")),
            _ => error.into(),
        }
    }

    /// An error in a file of draws, none of which can be left out without changing what they are draws of.
    pub(crate) fn of_draws(error: &noisewright_data::Error) -> Self {
        Self::NoAnswer(error.advising(None))
    }
}

impl From<noisewright_data::Error> for Failure {
    fn from(error: noisewright_data::Error) -> Self {
        let sentence = error.advising(Some("leave such rows out with --drop-missing"));
        match error {
            noisewright_data::Error::OutOfMemory { .. } => {
                Self::NoAnswer(format!("{sentence} ({IN_BLOCKS})"))
            }
            // The reader, not the disk, has had enough.
            noisewright_data::Error::Write { reason, .. } if reason.contains("Broken pipe") => {
                Self::ClosedPipe
            }
            _ => Self::NoAnswer(sentence),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_on_one_line() {
        assert_eq!(
            printable("a\nb\r\u{1b}[31m.csv: unknown\n  -a*x\n   ^"),
            "a\\nb\\r\\u{1b}[31m.csv: unknown\n  -a*x\n   ^"
        );
    }

    /// The library's names of options are the command's flags, as they are or as the list says.
    #[test]
    fn options_are_named_by_their_flags() {
        for (option, wanted) in [
            ("warm_up", "warm-up"),
            ("noise_points", "noise-points"),
            ("errors", "covariance"),
            ("threads", "threads"),
        ] {
            assert_eq!(flag(option).as_deref(), Some(wanted));
        }
        assert_eq!(flag("swarm"), None);
        let command = Arguments::command();
        for (_, renamed) in RENAMED {
            let long = renamed.split(' ').next();
            let known = |c: &clap::Command| c.get_arguments().any(|argument| argument.get_long() == long);
            assert!(command.get_subcommands().any(known), "{renamed}");
        }
    }
}
