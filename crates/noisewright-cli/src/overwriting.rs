//! Files that cannot be what they are asked to be, refused before anything is computed: an output that is an input or
//! another output, one whose name promises a format that is not written, and standard input twice.

use std::path::{Path, PathBuf};

use noisewright::NoiseWords;
use noisewright_data::check_ending;

use crate::arguments::{Arguments, Command};
use crate::commands::is_fit_file;
use crate::failure::{Failure, Outcome};
use crate::inputs::is_same_file;

/// A file with what the user calls it.
type Named = (&'static str, PathBuf);

/// Refuses a command whose output is one of its inputs or another output, by whatever names and links.
pub(crate) fn refuse(asked: &Arguments) -> Outcome<()> {
    let (inputs, outputs) = (inputs(&asked.command), outputs(asked));
    if inputs.iter().filter(|(_, path)| path == Path::new("-")).count() > 1 {
        return Err(Failure::Usage(
            "standard input (`-`) is given twice, and can be read once: save it as a file".into(),
        ));
    }
    for (flag, path) in tables_of(&asked.command) {
        check_ending(path).map_err(|error| Failure::Usage(format!("{flag}: {error}")))?;
    }
    for (k, (flag, path)) in outputs.iter().enumerate() {
        if let Some((what, _)) = inputs.iter().find(|(_, input)| is_same_file(input, path)) {
            return Err(Failure::Usage(format!(
                "{flag} {} would overwrite {what}: give it another name",
                path.display()
            )));
        }
        if let Some((other, _)) = outputs[..k].iter().find(|(_, other)| is_same_output(other, path)) {
            return Err(Failure::Usage(format!(
                "{other} and {flag} both write {}: give each its own name",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Whether two outputs end in one file, be it there or yet to be made.
fn is_same_output(first: &Path, second: &Path) -> bool {
    is_same_file(first, second) || place(first).is_some_and(|first| place(second) == Some(first))
}

/// Where a file that is not there yet will be.
fn place(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().filter(|_| path != Path::new("-") && !path.exists())?;
    Some(std::fs::canonicalize(folder).ok()?.join(name))
}

/// The files that tables are to be written to, with their flags.
fn tables_of(command: &Command) -> Vec<(&'static str, &PathBuf)> {
    let (out, importance) = match command {
        Command::Fit(own) => (own.out.as_ref().filter(|path| !is_fit_file(path)), None),
        Command::Density(own) => (own.out.as_ref(), None),
        Command::Simulate(own) => (own.out.as_ref(), None),
        Command::Ratio(own) => (own.out.as_ref(), own.importance.as_ref()),
        Command::Sample(own) => (own.out.as_ref(), None),
        _ => (None, None),
    };
    let flagged = |flag, path: Option<_>| path.map(|path| (flag, path));
    flagged("--out", out).into_iter().chain(flagged("--importance", importance)).collect()
}

fn outputs(asked: &Arguments) -> Vec<Named> {
    let mut given: Vec<Named> = match &asked.command {
        Command::Design(own) => own.out.iter().map(|path| ("--out", path.clone())).collect(),
        Command::Fit(own) => own.out.iter().map(|path| ("--out", path.clone())).collect(),
        #[cfg(feature = "reproduce")]
        Command::Reproduce(own) => vec![("--out", own.out.join("index.html"))],
        command => tables_of(command).into_iter().map(|(flag, path)| (flag, path.clone())).collect(),
    };
    given.extend(asked.global.report.iter().map(|path| ("--report", path.clone())));
    given
}

fn inputs(command: &Command) -> Vec<Named> {
    const MODEL: &str = "the model file";
    const DATA: &str = "the data";
    const SAVED: &str = "the saved fit";
    let several = |what, paths: &[PathBuf]| paths.iter().map(|path| (what, path.clone())).collect::<Vec<_>>();
    let optional =
        |what, path: &Option<PathBuf>| path.iter().map(|path| (what, path.clone())).collect::<Vec<_>>();
    let modelled = |model: &PathBuf, data: &Option<PathBuf>, noise: &str| {
        [vec![(MODEL, model.clone())], optional(DATA, data), noise_files(noise)].concat()
    };
    match command {
        Command::Fit(own) => {
            [vec![(MODEL, own.model.clone())], several(DATA, &own.data), noise_files(&own.noise)].concat()
        }
        Command::Block(own) => [vec![(MODEL, own.fit.model.clone())], several(DATA, &own.fit.data)].concat(),
        Command::Ratio(own) => [
            vec![("the first sample", own.first.clone()), ("the second sample", own.second.clone())],
            optional("the points", &own.points),
        ]
        .concat(),
        Command::Information(own) => vec![(DATA, own.data.clone())],
        Command::Error(own) => modelled(&own.model.model, &own.model.data.data, &own.noise),
        Command::Design(own) => modelled(&own.model.model, &own.model.data.data, &own.noise),
        Command::Logz(own) => [
            optional("the draws", &own.data),
            optional("the draws of the noise", &own.noise_draws),
            optional(MODEL, &own.model),
            own.noise.as_deref().map_or_else(Vec::new, noise_files),
        ]
        .concat(),
        #[cfg(feature = "lab")]
        Command::Lab(own) => [optional(MODEL, &own.model), optional(DATA, &own.data)].concat(),
        Command::Sample(own) => [
            optional(MODEL, &own.model),
            optional("the design", &own.design),
            optional(DATA, &own.data.data),
            own.noise.as_deref().map_or_else(Vec::new, noise_files),
        ]
        .concat(),
        Command::Compare(own) => several(SAVED, &own.fits),
        Command::Density(own) => vec![(SAVED, own.fit.clone()), ("the points", own.points.clone())],
        Command::Simulate(own) => [
            vec![(SAVED, own.fit.clone())],
            optional("the covariates", &own.given),
            optional(DATA, &own.data),
        ]
        .concat(),
        Command::Evidence(own) => {
            [vec![(MODEL, own.model.clone())], several("the draws", &own.draws)].concat()
        }
        #[cfg(feature = "reproduce")]
        Command::Reproduce(_) => Vec::new(),
        Command::Examples(_) | Command::Families | Command::Completions { .. } | Command::Man { .. } => {
            Vec::new()
        }
    }
}

/// The files that noise words name; words that cannot be read are refused later, by the command.
fn noise_files(words: &str) -> Vec<Named> {
    let words = NoiseWords::parse(words);
    let files = words.iter().flat_map(NoiseWords::files);
    files.map(|file| ("the noise's file", Path::new(file).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::any::TypeId;
    use std::collections::BTreeSet;
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::*;
    use crate::arguments::parse_words;

    /// Every command with every file it takes, each by a name of its own.
    const LINES: &[&str] = &[
        "fit f1 f2 f3 --out f4.csv --noise file(\"f5\") --report f6",
        "ratio f1 f2 --points f3 --out f4.csv --importance f5.csv --report f6",
        "information f1 --between x --and y --report f2",
        "error f1 --data f2 --noise file(\"f3\") --report f4",
        "design f1 --data f2 --out f3 --report f4",
        "logz f1 f2 --report f3",
        "logz f1 --model f2 --noise file(\"f3\") --report f4",
        "sample 5 --noise file(\"f1\") --model f2 --data f3 --out f4.csv --report f5",
        "sample 5 --design f1 --out f2.csv --report f3",
        "compare f1 f2 --report f3",
        "density f1 f2 --out f3.csv --report f4",
        "simulate f1 5 --given f2 --data f3 --out f4.csv --report f5",
        "evidence f1 f2 f3 --report f4",
    ];

    /// A path that is read or written and stands in neither list would be overwritten.
    #[test]
    fn every_file_of_a_line_is_known() {
        for line in LINES {
            let words: Vec<OsString> =
                std::iter::once("noisewright").chain(line.split(' ')).map(OsString::from).collect();
            let asked = parse_words(&words).unwrap();
            let known: BTreeSet<PathBuf> =
                inputs(&asked.command).into_iter().chain(outputs(&asked)).map(|(_, path)| path).collect();
            let named: BTreeSet<PathBuf> = line
                .split([' ', '"'])
                .filter(|word| word.starts_with('f') && word[1..].starts_with(|c: char| c.is_ascii_digit()))
                .map(PathBuf::from)
                .collect();
            assert_eq!(known, named, "{line}");
        }
    }

    /// An argument that takes a path stands in a line above, so that it cannot be forgotten.
    #[test]
    fn every_argument_that_takes_a_path_is_in_a_line() {
        let elsewhere = [("reproduce", "out"), ("examples", "out"), ("lab", "model"), ("lab", "data")];
        for command in Arguments::command().get_subcommands().filter(|command| command.get_name() != "block")
        {
            let lines: Vec<&&str> =
                LINES.iter().filter(|line| line.split(' ').next() == Some(command.get_name())).collect();
            for argument in command.get_arguments() {
                let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
                if !is_path || elsewhere.contains(&(command.get_name(), argument.get_id().as_str())) {
                    continue;
                }
                let there = match argument.get_long() {
                    Some(long) => lines.iter().any(|line| line.contains(&format!("--{long} f"))),
                    None => !lines.is_empty(),
                };
                assert!(there, "{} {}", command.get_name(), argument.get_id());
            }
        }
    }
}
