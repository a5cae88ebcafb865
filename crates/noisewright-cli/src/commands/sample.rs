//! `noisewright sample`: draws from a noise, with their log-density.

use std::path::Path;
use std::sync::Arc;

use noisewright::internal::design::noise_on;
use noisewright::internal::words::space_of;
use noisewright::internal::{check_count, quiet_blocks, sample_blocks};
use noisewright::run::Context;
use noisewright::{Noise, NoiseWords, Points, Precision, Target};
use noisewright_data::{Format, write, write_csv_blocks};
use noisewright_report::Value;

use crate::arguments::{Global, SampleArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs::{Problem, read_data};
use crate::noises::{self, Purpose};
use crate::output;

pub(crate) fn run(arguments: &SampleArguments, global: &Global) -> Outcome<()> {
    global.refuse_page("sample")?;
    let (mut names, noise) = noise(arguments, global)?;
    output::refuse_column(&names, "log_density")?;
    names.push("log_density".into());
    if arguments.count > MOST_ROWS {
        let count = arguments.count;
        return Err(Failure::Usage(format!("{count} draws fit on no disk: ask for at most {MOST_ROWS}")));
    }
    let context = Context::seeded(global.seed);
    let quiet = is_quiet(arguments, global, noise.as_ref())?;
    let wanted = Wanted { noise: noise.as_ref(), count: arguments.count, context, quiet };
    let file = arguments.out.as_deref().filter(|path| *path != Path::new("-"));
    match file {
        Some(path) if Format::of_name(&path.to_string_lossy()) == Some(Format::Parquet) => {
            write(path, &names, &wanted.all(names.len(), BYTES_OF_NUMBER)?)?;
        }
        Some(path) => wanted.write(path, &names)?,
        None => {}
    }
    if global.json {
        return output::print_json(&wanted.object(&names, file)?);
    }
    if file.is_some() { Ok(()) } else { wanted.write(Path::new("-"), &names) }
}

/// Whether draws are quiet: asked for by `--draws quiet`, or by `--quiet` where the noise allows.
fn is_quiet(arguments: &SampleArguments, global: &Global, noise: &dyn Noise) -> Outcome<bool> {
    let asked = match arguments.draws.as_deref() {
        Some("random") => return Ok(false),
        Some(_) => true,
        None => global.quiet,
    };
    if asked && noise.uniforms().is_none() {
        if arguments.draws.is_some() {
            quiet_blocks(noise, 1, &Context::seeded(0)).map(drop)?;
        }
        output::warn(&format!("{} cannot be drawn quietly: its draws are independent", noise.describe()));
        return Ok(false);
    }
    if asked && !arguments.count.is_power_of_two() {
        let (count, above) = (arguments.count, arguments.count.next_power_of_two());
        output::warn(&format!("{count} quiet draws are less even than {above}: powers of two are best"));
    }
    Ok(asked)
}

/// Rows that are written at the most: at some forty bytes each, more than the disks of today hold.
const MOST_ROWS: usize = 1 << 40;

/// Bytes that a number takes in memory.
const BYTES_OF_NUMBER: usize = 8;

/// Bytes that a number takes as a value of JSON and then as text.
const BYTES_OF_JSON: usize = 64;

/// The draws that are asked for.
struct Wanted<'a> {
    noise: &'a dyn Noise,
    count: usize,
    context: Context,
    /// Whether by scrambled Sobol points.
    quiet: bool,
}

impl Wanted<'_> {
    /// Blocks of draws, the columns of the variables and their log-density.
    fn blocks(&self) -> Outcome<impl Iterator<Item = Outcome<Vec<Vec<f64>>>> + '_> {
        let draws: Box<dyn Iterator<Item = noisewright::Result<Points>>> = if self.quiet {
            Box::new(quiet_blocks(self.noise, self.count, &self.context)?)
        } else {
            Box::new(sample_blocks(self.noise, self.count, &self.context))
        };
        Ok(draws.map(|draws| {
            let draws = draws?;
            self.check_finite(draws.values())?;
            let view = draws.view();
            let mut columns: Vec<Vec<f64>> = (0..draws.columns()).map(|j| view.column(j).to_vec()).collect();
            let mut log_density = vec![0.0; draws.rows()];
            self.noise.log_density(view, &mut log_density);
            columns.push(log_density);
            Ok(columns)
        }))
    }

    /// Refuses draws that are too large for a number.
    fn check_finite(&self, values: &[f64]) -> Outcome<()> {
        if values.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let noise = self.noise.describe();
        Err(Failure::NoAnswer(format!(
            "some draws of {noise} are too large for a number: choose lighter tails"
        )))
    }

    /// Writes them down as they come, into a file or to standard output (`-`).
    fn write(&self, path: &Path, names: &[String]) -> Outcome<()> {
        let mut failure = None;
        let blocks = self.blocks()?.map(|block| {
            block.map_err(|error| {
                failure = Some(error);
                std::io::Error::other("there are no more draws")
            })
        });
        let written = write_csv_blocks(path, names, blocks);
        match (failure, written) {
            (Some(failure), _) => Err(failure),
            (None, written) => written.map_err(Failure::from),
        }
    }

    /// All of them, where they fit in memory at so many bytes a number.
    fn all(&self, width: usize, bytes: usize) -> Outcome<Vec<Vec<f64>>> {
        check_count("draws", self.count, width * (1 + bytes / BYTES_OF_NUMBER)).map_err(Failure::of_count)?;
        let mut columns = vec![Vec::with_capacity(self.count); width];
        for block in self.blocks()? {
            columns.iter_mut().zip(block?).for_each(|(column, more)| column.extend(more));
        }
        Ok(columns)
    }

    /// The draws for a program, or where they are.
    fn object(&self, names: &[String], file: Option<&Path>) -> Outcome<Value> {
        let mut value = Value::Map(Vec::new());
        value.set("noise", self.noise.describe());
        value.set("rows", self.count);
        value.set("draws_kind", if self.quiet { "quiet" } else { "random" });
        match file {
            Some(path) => value.set("out", path.display().to_string()),
            None => {
                let columns = self.all(names.len(), BYTES_OF_JSON)?;
                let draws = names.iter().cloned().zip(columns.into_iter().map(Value::Numbers));
                value.set("draws", Value::Map(draws.collect()));
            }
        }
        Ok(value)
    }
}

/// The noise and the names of its variables.
fn noise(arguments: &SampleArguments, global: &Global) -> Outcome<(Vec<String>, Arc<dyn Noise>)> {
    if let Some(path) = &arguments.design {
        return noises::load(path);
    }
    let text = arguments.noise.as_deref().unwrap_or("auto");
    let words = noises::parse(text)?;
    let Some(model) = &arguments.model else { return without_model(arguments, &words) };
    let nu = ratio(arguments, &words)?;
    refuse_unused_parameters(arguments, &words)?;
    let precision = Precision { seed: global.seed, ..Precision::default() };
    let problem = Problem::new(model, arguments.at.as_deref(), &arguments.data, precision, global)?;
    noises::refuse_unused_data(&words, &arguments.data)?;
    let noise = noises::build(&problem, text, Purpose { nu, target: &Target::Mse })?;
    Ok((problem.model.space().names().to_vec(), noise))
}

/// The ratio that a designed noise is to be best for; no other noise has one.
fn ratio(arguments: &SampleArguments, words: &NoiseWords) -> Outcome<f64> {
    let Some(nu) = arguments.nu else { return Ok(1.0) };
    if !(nu > 0.0 && nu.is_finite()) {
        return Err(noisewright::Error::NoiseRatio { value: nu }.into());
    }
    if !(words.mentions("optimal") || words.mentions("histogram")) {
        return Err(Failure::Usage(format!(
            "--nu is for the noises optimal and histogram, and `{words}` is the same for every ratio: leave it out"
        )));
    }
    Ok(nu)
}

/// Refuses parameter values beside a noise that does not come from the model.
fn refuse_unused_parameters(arguments: &SampleArguments, words: &NoiseWords) -> Outcome<()> {
    let of_model = ["data", "model", "all-noise", "optimal", "auto", "histogram", "dictionary"];
    if arguments.at.is_some() && !of_model.iter().any(|name| words.mentions(name)) {
        return Err(Failure::Usage(format!(
            "--at is for noises that come from the model, and `{words}` is the same wherever that is: leave it out"
        )));
    }
    Ok(())
}

/// Words alone: variables such as they speak of, fitted to the columns of the data where they ask for it.
fn without_model(arguments: &SampleArguments, words: &NoiseWords) -> Outcome<(Vec<String>, Arc<dyn Noise>)> {
    let space = space_of(words)?;
    let data = read_data(&arguments.data, &space)?;
    noises::refuse_unused_data(words, &arguments.data)?;
    let noise = noise_on(&space, data.as_ref(), words, &noises::from_file).map_err(|error| {
        let misplaced = matches!(error, noisewright::Error::Noise { .. });
        let failure = noises::failure(error, words, &space);
        if misplaced { with_model(failure) } else { failure }
    })?;
    Ok((space.names().to_vec(), noise))
}

/// A noise that stands on no space that its words could tell.
fn with_model(failure: Failure) -> Failure {
    let advised =
        |reason: String| format!("{reason}, or give --model FILE, which says what the variables are");
    match failure {
        Failure::NoAnswer(reason) => Failure::NoAnswer(advised(reason)),
        Failure::Usage(reason) => Failure::Usage(advised(reason)),
        other => other,
    }
}
