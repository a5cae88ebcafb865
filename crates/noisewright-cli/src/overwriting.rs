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
    if let Some(path) = table_of(&asked.command) {
        check_ending(path).map_err(|error| Failure::Usage(format!("--out: {error}")))?;
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

/// The file that a table is to be written to.
fn table_of(command: &Command) -> Option<&PathBuf> {
    match command {
        Command::Fit(own) => own.out.as_ref().filter(|path| !is_fit_file(path)),
        Command::Density(own) => own.out.as_ref(),
        Command::Simulate(own) => own.out.as_ref(),
        Command::Ratio(own) => own.out.as_ref(),
        Command::Sample(own) => own.out.as_ref(),
        _ => None,
    }
}

fn outputs(asked: &Arguments) -> Vec<Named> {
    let out = match &asked.command {
        Command::Design(own) => own.out.clone(),
        Command::Fit(own) => own.out.clone(),
        #[cfg(feature = "reproduce")]
        Command::Reproduce(own) => Some(own.out.join("index.html")),
        command => table_of(command).cloned(),
    };
    let importance = match &asked.command {
        Command::Ratio(own) => own.importance.clone(),
        _ => None,
    };
    let given = [("--out", out), ("--importance", importance), ("--report", asked.global.report.clone())];
    given.into_iter().filter_map(|(flag, path)| Some((flag, path?))).collect()
}

fn inputs(command: &Command) -> Vec<Named> {
    const MODEL: &str = "the model file";
    const DATA: &str = "the data";
    const SAVED: &str = "the saved fit";
    let several = |what, paths: &[PathBuf]| paths.iter().map(|path| (what, path.clone())).collect::<Vec<_>>();
    let optional =
        |what, path: &Option<PathBuf>| path.iter().map(|path| (what, path.clone())).collect::<Vec<_>>();
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
        Command::Error(own) => [
            vec![(MODEL, own.model.model.clone())],
            optional(DATA, &own.model.data.data),
            noise_files(&own.noise),
        ]
        .concat(),
        Command::Design(own) => [
            vec![(MODEL, own.model.model.clone())],
            optional(DATA, &own.model.data.data),
            noise_files(&own.noise),
        ]
        .concat(),
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
        Command::Simulate(own) => vec![(SAVED, own.fit.clone())],
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
