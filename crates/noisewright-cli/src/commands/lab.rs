//! `noisewright lab`: the page on which the noise is moved by hand.

use std::path::Path;
use std::process::{Command, Stdio};

use noisewright::Model;
use noisewright_lab::{DataFile, Example, Lab, Server, ServerError, Started};

use super::examples::EXAMPLES;
use crate::arguments::{Global, LabArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs::read_text;
use crate::output;

pub(crate) fn run(arguments: &LabArguments, global: &Global) -> Outcome<()> {
    global.refuse_output("lab")?;
    let model = arguments.model.as_deref().map(named_text).transpose()?;
    let data = arguments.data.as_deref().map(read_data).transpose()?;
    let lab = Lab::new(Started { model, data, examples: examples(), ..Started::default() });
    let server = Server::bind(lab, arguments.port)?;
    let address = server.address();
    output::print(&format!("{address}\n"))?;
    if !global.quiet {
        output::say("The lab is open at this address until Ctrl-C.");
    }
    if !arguments.no_open && !open(&address) && !global.quiet {
        output::say("No browser could be opened: open the address yourself.");
    }
    Ok(server.run()?)
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        Self::NoAnswer(error.to_string())
    }
}

/// A model file that can be read, whether or not its model can be: the page says what is wrong with it.
fn named_text(path: &Path) -> Outcome<(String, String)> {
    Ok((path.display().to_string(), read_text(path)?))
}

fn read_data(path: &Path) -> Outcome<DataFile> {
    let name = path.display().to_string();
    let bytes =
        std::fs::read(path).map_err(|error| Failure::NoAnswer(format!("{name}: cannot be read: {error}")))?;
    Ok(DataFile::new(name, bytes))
}

/// The examples with a model of its own constant: what is said of log Z alone, or given covariates, has no noise to move.
fn examples() -> Vec<Example> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let example = |example: &super::examples::Example| {
        let verb = example.command.split_whitespace().next()?;
        let (_, model) = example.files.iter().find(|(name, _)| *name == "model.toml")?;
        let model = text(model);
        let moves = matches!(verb, "fit" | "design" | "error")
            && Model::from_toml(&model).is_ok_and(|model| model.covariates().is_empty());
        let folder = format!("examples/{}", example.name);
        let data = example
            .files
            .iter()
            .find(|(name, _)| example.command.contains(&format!("{folder}/{name}")) && *name != "model.toml");
        moves.then(|| Example {
            name: example.name.to_owned(),
            about: example.about.to_owned(),
            model,
            data: data.map(|(name, bytes)| DataFile::new(format!("{folder}/{name}"), bytes.to_vec())),
        })
    };
    EXAMPLES.iter().filter_map(example).collect()
}

/// Opens the address in the browser of the desktop; says whether that could be tried.
fn open(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[address])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler", address])
    } else {
        ("xdg-open", &[address])
    };
    let quiet = || Stdio::null();
    Command::new(program).args(arguments).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_ok()
}
