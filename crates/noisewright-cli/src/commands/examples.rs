//! The examples that ship, inside the command: listed, run, or copied into a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use noisewright_report::{Cell, Column, Table};
use serde::Serialize;

use crate::arguments::{ExamplesArguments, Global, parse_words};
use crate::failure::{Failure, Outcome};
use crate::output;

/// A folder of `examples/` with the command that is run in it.
#[derive(Serialize)]
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// What is typed after `noisewright`, from the folder above `examples`.
    pub(super) command: &'static str,
    #[serde(skip)]
    pub(super) files: &'static [(&'static str, &'static [u8])],
}

/// Examples for a program, and the folder that they were copied to.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    examples: Vec<&'a Example>,
}

/// A file of an example, read when the command is built.
macro_rules! file {
    ($example:literal, $file:literal) => {
        ($file, include_bytes!(concat!("../../shipped/", $example, "/", $file)) as &[u8])
    };
}

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        name: "old-faithful",
        about: "waiting times with two modes: an exponential polynomial",
        command: "fit examples/old-faithful/model.toml examples/old-faithful/faithful.csv",
        files: &[file!("old-faithful", "model.toml"), file!("old-faithful", "faithful.csv")],
    },
    Example {
        name: "wind",
        about: "directions on the circle: von Mises",
        command: "fit examples/wind/model.toml examples/wind/wind.csv",
        files: &[file!("wind", "model.toml"), file!("wind", "wind.csv")],
    },
    Example {
        name: "ozone",
        about: "positive concentrations: gamma",
        command: "fit examples/ozone/model.toml examples/ozone/ozone.csv",
        files: &[file!("ozone", "model.toml"), file!("ozone", "ozone.csv")],
    },
    Example {
        name: "iris",
        about: "four measurements of 100 irises: a Gaussian by its precision",
        command: "fit examples/iris/model.toml examples/iris/iris.csv",
        files: &[file!("iris", "model.toml"), file!("iris", "iris.csv")],
    },
    Example {
        name: "lsat",
        about: "answers to five items of a test: Ising, by enumeration",
        command: "fit examples/lsat/model.toml examples/lsat/lsat6.csv",
        files: &[file!("lsat", "model.toml"), file!("lsat", "lsat6.csv"), file!("lsat", "patterns.csv")],
    },
    Example {
        name: "ica",
        about: "four mixed sources: independent components, a density with kinks",
        command: "fit examples/ica/model.toml examples/ica/mixtures.csv --starts 1 --nu 20",
        files: &[file!("ica", "model.toml"), file!("ica", "mixtures.csv")],
    },
    Example {
        name: "freight",
        about: "broken ampules given transfers: Conway–Maxwell–Poisson regression",
        command: "fit examples/freight/model.toml examples/freight/freight.csv --noise exact",
        files: &[file!("freight", "model.toml"), file!("freight", "freight.csv")],
    },
    Example {
        name: "periwinkles",
        about: "directions given distances: von Mises regression",
        command: "fit examples/periwinkles/model.toml examples/periwinkles/periwinkles.csv --noise exact",
        files: &[file!("periwinkles", "model.toml"), file!("periwinkles", "periwinkles.csv")],
    },
    Example {
        name: "quartic",
        about: "two wells: the best noise of all, certified",
        command: "design examples/quartic/model.toml",
        files: &[file!("quartic", "model.toml")],
    },
    Example {
        name: "correlation",
        about: "two correlated variables: what a noise costs",
        command: "error examples/correlation/model.toml --noise normal([0,0],[[1,-0.2332],[-0.2332,1]])",
        files: &[file!("correlation", "model.toml")],
    },
    Example {
        name: "free-energy",
        about: "log Z of a harmonic well, 0.225791, from two samples",
        command: "logz examples/free-energy/data.csv examples/free-energy/noise.csv --bootstrap 100",
        files: &[file!("free-energy", "data.csv"), file!("free-energy", "noise.csv")],
    },
    Example {
        name: "umbrella",
        about: "log Z of five wells from pooled draws",
        command: "logz examples/umbrella/draws.csv --states u_* --independent",
        files: &[file!("umbrella", "draws.csv")],
    },
    Example {
        name: "windows",
        about: "the free energy along x of a double well from umbrella windows",
        command: "logz examples/windows/draws.csv --states u_* --observable x --surface x --surface-state u_free --bins 24",
        files: &[file!("windows", "draws.csv")],
    },
    Example {
        name: "evidence-beta-binomial",
        about: "the evidence of a binomial model, 1/11, from draws",
        command: "evidence examples/evidence-beta-binomial/model.toml examples/evidence-beta-binomial/draws.csv --independent",
        files: &[file!("evidence-beta-binomial", "model.toml"), file!("evidence-beta-binomial", "draws.csv")],
    },
    Example {
        name: "evidence-regression",
        about: "the evidence of a regression, -17.0055, from four Stan chains",
        command: "evidence examples/evidence-regression/model.toml examples/evidence-regression/chain_1.csv \
                  examples/evidence-regression/chain_2.csv examples/evidence-regression/chain_3.csv \
                  examples/evidence-regression/chain_4.csv",
        files: &[
            file!("evidence-regression", "model.toml"),
            file!("evidence-regression", "chain_1.csv"),
            file!("evidence-regression", "chain_2.csv"),
            file!("evidence-regression", "chain_3.csv"),
            file!("evidence-regression", "chain_4.csv"),
        ],
    },
];

impl Example {
    fn find(name: &str) -> Outcome<&'static Self> {
        let known = || EXAMPLES.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
        EXAMPLES.iter().find(|e| e.name == name).ok_or_else(|| {
            Failure::Usage(format!("there is no example `{name}`; the examples are {}", known()))
        })
    }

    /// Where its files are in a folder.
    fn within(&self, folder: &Path) -> PathBuf {
        folder.join("examples").join(self.name)
    }

    /// Refuses to copy over files that somebody has changed.
    fn refuse_changed(&self, folder: &Path) -> Outcome<()> {
        let target = self.within(folder);
        for (name, bytes) in self.files {
            let path = target.join(name);
            if std::fs::read(&path).is_ok_and(|there| there != *bytes) {
                return Err(Failure::Usage(format!(
                    "--out {}: {} is there already and is not as it ships: give another folder, or move it",
                    folder.display(),
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Writes the files to `examples/NAME` in a folder.
    fn copy(&self, folder: &Path) -> Outcome<()> {
        let target = self.within(folder);
        std::fs::create_dir_all(&target)
            .map_err(|error| Failure::NoAnswer(format!("{}: cannot be made: {error}", target.display())))?;
        self.files.iter().try_for_each(|(name, bytes)| output::write_file(&target.join(name), bytes))
    }
}

/// Lists the examples, runs the one named, or copies it.
pub(crate) fn run(arguments: &ExamplesArguments, global: &Global) -> Outcome<()> {
    match (&arguments.name, &arguments.out) {
        (Some(name), None) => run_one(Example::find(name)?, global),
        (Some(name), Some(folder)) => copy(&[Example::find(name)?], folder, global),
        (None, Some(folder)) => copy(&EXAMPLES.iter().collect::<Vec<_>>(), folder, global),
        (None, None) => list(global),
    }
}

fn list(global: &Global) -> Outcome<()> {
    refuse_page(global)?;
    if global.json {
        let entries = EXAMPLES.iter().collect();
        return output::print_json(&output::value(&Listed { folder: None, examples: entries })?);
    }
    let mut table = Table::new("Examples").column(Column::text("name")).column(Column::text("what it is"));
    for example in EXAMPLES {
        table.push_row([Cell::from(example.name), Cell::from(example.about)]);
    }
    let table = table.note("`noisewright examples NAME` runs one, `--out FOLDER` copies its files.");
    output::print(&output::table(&table))
}

/// A page is of a result, which only an example that runs has.
fn refuse_page(global: &Global) -> Outcome<()> {
    match &global.report {
        Some(_) => Err(Failure::Usage("--report needs the name of an example to run, and no --out".into())),
        None => Ok(()),
    }
}

fn copy(examples: &[&Example], folder: &Path, global: &Global) -> Outcome<()> {
    refuse_page(global)?;
    examples.iter().try_for_each(|example| example.refuse_changed(folder))?;
    examples.iter().try_for_each(|example| example.copy(folder))?;
    if global.json {
        let entries = examples.to_vec();
        return output::print_json(&output::value(&Listed {
            folder: Some(folder.display().to_string()),
            examples: entries,
        })?);
    }
    if global.quiet {
        return Ok(());
    }
    let line = |example: &&Example| format!("in {}: noisewright {}\n", folder.display(), example.command);
    output::print(&examples.iter().map(line).collect::<String>())
}

/// Runs the example's command on its files in a folder of its own, which is removed afterwards.
fn run_one(example: &Example, global: &Global) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    example.copy(folder.path())?;
    let mut words = vec!["noisewright".to_owned()];
    words.extend(example.command.split_whitespace().map(str::to_owned));
    words.extend(repeated(global)?);
    if !global.quiet && !global.json {
        output::print(&format!("$ noisewright {}\n\n", example.command))?;
    }
    let inner = parse_words(&words.into_iter().map(OsString::from).collect::<Vec<_>>())?;
    let here = std::env::current_dir()?;
    std::env::set_current_dir(folder.path())?;
    let outcome = super::dispatch(&inner);
    // The folder can be removed only from outside.
    std::env::set_current_dir(here)?;
    outcome
}

/// The options of this call that its example's command is to have too; a report's path no longer depends on the folder.
fn repeated(global: &Global) -> Outcome<Vec<String>> {
    let mut words = vec!["--seed".to_owned(), global.seed.to_string()];
    if global.json {
        words.push("--json".to_owned());
    }
    if global.quiet {
        words.push("--quiet".to_owned());
    }
    if let Some(report) = &global.report {
        let absolute: PathBuf = std::path::absolute(report)?;
        words.extend(["--report".to_owned(), absolute.display().to_string()]);
    }
    Ok(words)
}
