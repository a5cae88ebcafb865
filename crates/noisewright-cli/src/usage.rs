//! What the option parser refuses, as one plain sentence: what is wrong, and what would be right.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;

/// The failure that an error of the option parser is, given what was typed; help and version are printed by the parser
/// itself.
pub(crate) fn failure(error: clap::Error, typed: &[OsString]) -> Failure {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Failure::Help(error),
        _ => Failure::Usage(sentence(&error, typed)),
    }
}

/// The sentence about an error of the option parser.
fn sentence(error: &clap::Error, typed: &[OsString]) -> String {
    let command = command(error, typed);
    let see = format!("see `{command} --help`");
    match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(error, &command, &see),
        ErrorKind::InvalidSubcommand => unknown_command(error, &see),
        ErrorKind::MissingRequiredArgument => missing(error, &command, &see, typed),
        ErrorKind::MissingSubcommand => format!("`{command}` needs a command; {see}"),
        ErrorKind::InvalidValue => wrong_value(error, &see),
        ErrorKind::ValueValidation => unreadable_value(error, &see),
        ErrorKind::ArgumentConflict => conflict(error, &see),
        ErrorKind::TooManyValues => format!("{} takes no value; {see}", option(error)),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{} needs more values; {see}", option(error))
        }
        ErrorKind::NoEquals => format!("{} needs its value after an equals sign; {see}", option(error)),
        ErrorKind::InvalidUtf8 => format!("an argument is not text in UTF-8; {see}"),
        _ => format!("{}; {see}", first_line(error)),
    }
}

/// What is always needed, or what the options given cannot do without.
fn missing(error: &clap::Error, command: &str, see: &str, typed: &[OsString]) -> String {
    let names: Vec<String> = words(error, ContextKind::InvalidArg).iter().map(|word| bare(word)).collect();
    let has_options = typed.iter().any(|word| word.to_string_lossy().starts_with("--"));
    let subject = if has_options && names.iter().all(|name| name.starts_with('-')) {
        format!("with the options given `{command}`")
    } else {
        format!("`{command}`")
    };
    format!("{subject} needs {}; {see}", listed(&names, "and"))
}

fn unknown_argument(error: &clap::Error, command: &str, see: &str) -> String {
    let given = word(error, ContextKind::InvalidArg);
    if !given.starts_with('-') {
        return format!("`{given}` is one argument too many for `{command}`; {see}");
    }
    match words(error, ContextKind::SuggestedArg).first() {
        Some(near) => format!("`{command}` has no option `{given}`; did you mean `{}`?", bare(near)),
        None => format!("`{command}` has no option `{given}`; {see}"),
    }
}

fn unknown_command(error: &clap::Error, see: &str) -> String {
    let given = word(error, ContextKind::InvalidSubcommand);
    match words(error, ContextKind::SuggestedSubcommand).as_slice() {
        [] => format!("there is no command `{given}`; {see}"),
        near => {
            let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
            format!("there is no command `{given}`; did you mean {}?", listed(&near, "or"))
        }
    }
}

/// A value that is none of those that there are, or none at all.
fn wrong_value(error: &clap::Error, see: &str) -> String {
    let (option, given) = (option(error), word(error, ContextKind::InvalidValue));
    let known = words(error, ContextKind::ValidValue);
    let known = if known.is_empty() { String::new() } else { listed(&known, "or") };
    match (given.is_empty(), known.is_empty()) {
        (true, true) => format!("{option} needs a value; {see}"),
        (true, false) => format!("{option} needs a value: {known}"),
        (false, true) => format!("{option} cannot be `{given}`; {see}"),
        (false, false) => format!("{option} must be {known}, not `{given}`"),
    }
}

/// A value that is not the kind of thing that it has to be.
fn unreadable_value(error: &clap::Error, see: &str) -> String {
    let (option, given) = (option(error), word(error, ContextKind::InvalidValue));
    let Some(source) = error.source() else { return format!("{option} cannot be `{given}`; {see}") };
    let expected = if source.is::<std::num::ParseFloatError>() {
        "a number"
    } else if source.is::<std::num::ParseIntError>() || source.to_string().contains("is not in") {
        "a whole number from 0"
    } else {
        return format!("{option} cannot be `{given}`: {source}");
    };
    format!("{option} must be {expected}, not `{given}`")
}

fn conflict(error: &clap::Error, see: &str) -> String {
    let (first, others) = (option(error), words(error, ContextKind::PriorArg));
    let others: Vec<String> = others.iter().map(|other| bare(other)).collect();
    match others.as_slice() {
        [] => format!("{first} cannot be combined with the other options given; {see}"),
        [same] if *same == first => format!("{first} can be given only once"),
        [one] => format!("{first} and {one} exclude each other: leave out one of them"),
        many => format!("{first} cannot be given together with {}", listed(many, "and")),
    }
}

/// `noisewright fit`, from the line that says how it is used, or from what was typed.
fn command(error: &clap::Error, typed: &[OsString]) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let names: Vec<&str> =
        usage.trim_start_matches("Usage:").split_whitespace().take_while(is_name).collect();
    if !names.is_empty() {
        return names.join(" ");
    }
    let known = crate::arguments::command();
    let typed =
        typed.iter().filter_map(|word| word.to_str()).find(|word| known.find_subcommand(word).is_some());
    typed.map_or("noisewright".into(), |name| format!("noisewright {name}"))
}

/// The argument that the error is about, without its value.
fn option(error: &clap::Error) -> String {
    bare(&word(error, ContextKind::InvalidArg))
}

/// `--noise` for `--noise <NOISE>`, and `DATA` for `<DATA>...`.
fn bare(argument: &str) -> String {
    let first = argument.split_whitespace().next().unwrap_or(argument);
    let first = first.split('=').next().unwrap_or(first);
    first.trim_matches(|c: char| matches!(c, '<' | '>' | '[' | ']' | '.')).to_owned()
}

fn word(error: &clap::Error, kind: ContextKind) -> String {
    words(error, kind).into_iter().next().unwrap_or_default()
}

fn words(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => Vec::new(),
    }
}

/// `a, b and c`.
fn listed(names: &[String], last: &str) -> String {
    match names.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(arguments: &str) -> String {
        let typed: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        let error = crate::arguments::command().try_get_matches_from(&typed).unwrap_err();
        match failure(error, &typed) {
            Failure::Usage(sentence) => sentence,
            other => panic!("{arguments}: {other:?}"),
        }
    }

    #[test]
    fn one_sentence_each() {
        let cases = [
            ("noisewright fitt", "there is no command `fitt`; did you mean `fit`?"),
            ("noisewright fit", "`noisewright fit` needs MODEL and DATA; see `noisewright fit --help`"),
            (
                "noisewright fit m.toml d.csv --nose auto",
                "`noisewright fit` has no option `--nose`; did you mean `--noise`?",
            ),
            ("noisewright fit m.toml d.csv --noise", "--noise needs a value; see `noisewright fit --help`"),
            ("noisewright fit m.toml d.csv --covariance x", "--covariance must be robust or model, not `x`"),
            ("noisewright error m.toml --nu two", "--nu must be a number, not `two`"),
            ("noisewright error m.toml --accuracy ten", "--accuracy must be a number, not `ten`"),
            ("noisewright error m.toml --threads -1", "--threads must be a whole number from 0, not `-1`"),
            ("noisewright error m.toml --nu 1 --nu 2", "--nu can be given only once"),
            (
                "noisewright sample 10 --noise data --design d.json",
                "--noise and --design exclude each other: leave out one of them",
            ),
            ("noisewright sample 10", "`noisewright sample` needs --noise; see `noisewright sample --help`"),
            ("noisewright fit m.toml d.csv --json=3", "--json takes no value; see `noisewright fit --help`"),
            (
                "noisewright error m.toml --format csv",
                "with the options given `noisewright error` needs --data; see `noisewright error --help`",
            ),
            (
                "noisewright error m.toml other.toml",
                "`other.toml` is one argument too many for `noisewright error`; see `noisewright error --help`",
            ),
        ];
        for (arguments, expected) in cases {
            assert_eq!(refused(arguments), expected, "{arguments}");
        }
    }
}
