//! The two samples of `noisewright logz`: log-densities as they stand in files, or computed at points by a model.

use std::path::Path;
use std::sync::Arc;

use noisewright::normalizer::Draws;
use noisewright::run::Context;
use noisewright::{Error, Noise, Points, Precision, Target, try_sample};
use noisewright_data::{Format, Table};

use crate::arguments::{DataArguments, Global, LogzArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs::{self, Problem};
use crate::noises::{self, Purpose};

/// One side's log-densities, its chains and the file they came from.
pub(super) struct Side {
    name: String,
    pub(super) log_f: Vec<f64>,
    pub(super) log_noise: Vec<f64>,
    chains: Option<Vec<usize>>,
    /// Row in the file of each draw, where they were gathered by chain.
    rows: Option<Vec<usize>>,
}

impl Side {
    pub(super) fn draws(&self) -> Draws<'_> {
        let draws = Draws::new(&self.log_f, &self.log_noise);
        match &self.chains {
            Some(lengths) => draws.with_chains(lengths),
            None => draws,
        }
    }
}

/// Both sides.
pub(super) struct Pair {
    pub(super) data: Side,
    pub(super) noise: Side,
    /// The noise in words, where it is not only a column.
    pub(super) noise_words: Option<String>,
}

impl Pair {
    pub(super) fn read(arguments: &LogzArguments, global: &Global) -> Outcome<Self> {
        if arguments.model.is_some() && arguments.noise.is_none() {
            return Err(Failure::Usage(
                "--model needs --noise, the noise in words whose draws are compared".into(),
            ));
        }
        let standard_input = Some(Path::new("-"));
        let both_standard_input =
            |path: &Path| arguments.data.as_deref() == standard_input && path == Path::new("-");
        if arguments.noise_draws.as_deref().is_some_and(both_standard_input) {
            return Err(Failure::Usage("only one of DATA and NOISE can be standard input".into()));
        }
        match &arguments.model {
            Some(model) => Self::by_model(arguments, model, global),
            None => Self::by_columns(arguments),
        }
    }

    fn by_columns(arguments: &LogzArguments) -> Outcome<Self> {
        let named = |name: &Option<String>, usual: &str| name.clone().unwrap_or_else(|| usual.to_owned());
        let columns = [named(&arguments.log_f, "log_f"), named(&arguments.log_noise, "log_noise")];
        let read = |path: &Path, chain: Option<&String>| {
            let (table, chains, rows) = read(path, &columns, chain, arguments)?;
            let name = table.source().to_owned();
            let mut columns = table.into_columns().into_iter();
            let (log_f, log_noise) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
            Ok::<_, Failure>(Side { name, log_f, log_noise, chains, rows })
        };
        let noise_draws = arguments
            .noise_draws
            .as_deref()
            .ok_or_else(|| Failure::Usage("give the file with the noise draws after DATA".into()))?;
        Ok(Self {
            data: read(data(arguments)?, arguments.chain.as_ref())?,
            noise: read(noise_draws, arguments.noise_chain.as_ref())?,
            noise_words: None,
        })
    }

    fn by_model(arguments: &LogzArguments, model: &Path, global: &Global) -> Outcome<Self> {
        // No data are given to the noise: one fitted to the draws it is compared with would be biased.
        let nothing = DataArguments { data: None, format: None, drop_missing: false };
        let precision = Precision { seed: global.seed, ..Precision::default() };
        let problem = Problem::new(model, arguments.at.as_deref(), &nothing, precision, global)?;
        let words = arguments.noise.as_deref().unwrap_or("auto");
        let words = noises::parse(words)?;
        let purpose = Purpose { nu: 1.0, target: &Target::Mse };
        let noise = problem.question().noise(&words, purpose, &noises::from_file).map_err(|error| match error {
            Error::NoiseNeedsData { noise } => Failure::Usage(format!(
                "noise `{noise}`: fitted to these draws it would be biased: give its numbers, or use `noisewright \
                 evidence`, which fits it to one half of the draws"
            )),
            other => noises::failure(other, &words, problem.model.space()),
        })?;
        let names = problem.model.space().names().to_vec();
        let read = |path: &Path, chain: Option<&String>| {
            let (table, chains, rows) = read(path, &names, chain, arguments)?;
            let points = Points::from_columns(&names, table.columns())?;
            evaluated(&problem, &noise, table.source(), &points, chains, rows)
        };
        let data = read(data(arguments)?, arguments.chain.as_ref())?;
        let noise_side = match &arguments.noise_draws {
            Some(path) => read(path, arguments.noise_chain.as_ref())?,
            None => {
                let count = arguments.draws.unwrap_or(data.log_f.len());
                let points = try_sample(noise.as_ref(), count, &Context::seeded(global.seed))?;
                let alone = (0..count).map(|_| 1).collect();
                evaluated(&problem, &noise, "the noise draws", &points, Some(alone), None)?
            }
        };
        Ok(Self { data, noise: noise_side, noise_words: Some(noise.describe()) })
    }

    /// Refuses one sample given as both: draws of one density are no draws of the other.
    pub(super) fn refuse_same(&self, arguments: &LogzArguments) -> Outcome<()> {
        let paths = (arguments.data.as_deref(), arguments.noise_draws.as_deref());
        if let (Some(data), Some(noise)) = paths
            && inputs::is_same_file(data, noise)
        {
            return Err(Failure::Usage(format!(
                "{} is given as the draws of both densities: give the draws of the noise as the second file",
                data.display()
            )));
        }
        let (data, noise) = (&self.data, &self.noise);
        let first = data.log_f.first().zip(data.log_noise.first()).map(|(f, n)| f - n);
        let mut ratios = data.log_f.iter().zip(&data.log_noise).map(|(f, n)| f - n);
        // Densities that are the same up to a constant may have the same draws.
        let varies = ratios
            .any(|ratio| first.is_some_and(|first| (ratio - first).abs() > 1e-12 * first.abs().max(1.0)));
        if varies && data.log_f == noise.log_f && data.log_noise == noise.log_noise {
            return Err(Failure::NoAnswer(format!(
                "{} and {} hold the same draws: one must be draws of the density, the other draws of the noise",
                data.name, noise.name
            )));
        }
        Ok(())
    }

    /// An error with the file that it is about, and the row as the file counts it.
    pub(super) fn named(&self, error: Error) -> Failure {
        let Error::LogDensity { side, column, row, value, reason } = error else { return error.into() };
        let from = if side == "data" { &self.data } else { &self.noise };
        let row = from.rows.as_ref().and_then(|rows| rows.get(row - 1)).map_or(row, |r| r + 1);
        Failure::from(Error::LogDensity { side, column, row, value, reason }).in_file(&from.name)
    }
}

/// The file with the data draws.
fn data(arguments: &LogzArguments) -> Outcome<&Path> {
    arguments.data.as_deref().ok_or_else(|| Failure::Usage("give the file with the data draws".into()))
}

/// Both log-densities at points.
fn evaluated(
    problem: &Problem,
    noise: &Arc<dyn Noise>,
    name: &str,
    points: &Points,
    chains: Option<Vec<usize>>,
    rows: Option<Vec<usize>>,
) -> Outcome<Side> {
    let (mut log_f, mut log_noise) = (vec![0.0; points.rows()], vec![0.0; points.rows()]);
    problem
        .model
        .evaluate(&problem.parameters, points.view(), &mut log_f, None)
        .map_err(|error| Failure::from(error).in_file(name))?;
    noise.log_density(points.view(), &mut log_noise);
    Ok(Side { name: name.to_owned(), log_f, log_noise, chains, rows })
}

/// Columns of a file with the draws of each chain together, the chains' lengths, and the rows the draws had.
type Gathered = (Table, Option<Vec<usize>>, Option<Vec<usize>>);

fn read(
    path: &Path,
    columns: &[String],
    chain: Option<&String>,
    arguments: &LogzArguments,
) -> Outcome<Gathered> {
    let mut wanted = columns.to_vec();
    wanted.extend(chain.cloned());
    let mut options = inputs::reading().columns(&wanted).names(&wanted).minus_infinity(true);
    options.labels = chain.cloned();
    if let Some(format) = &arguments.format {
        let format: Format = format.parse().map_err(|error| Failure::Usage(format!("--format: {error}")))?;
        options = options.format(format);
    }
    let table = noisewright_data::read(path, &options).map_err(|error| Failure::of_draws(&error))?;
    let Some(chain) = chain else {
        let chains = table.chains().map(<[usize]>::to_vec);
        return Ok((table, chains, None));
    };
    gather(&table, columns, table.column(chain)?)
}

/// The draws of each chain together, chains in the order in which they first occur.
fn gather(table: &Table, columns: &[String], labels: &[f64]) -> Outcome<Gathered> {
    let mut chains: Vec<(f64, Vec<usize>)> = Vec::new();
    for (row, &label) in labels.iter().enumerate() {
        match chains.iter_mut().rev().find(|(known, _)| *known == label) {
            Some((_, rows)) => rows.push(row),
            None => chains.push((label, vec![row])),
        }
    }
    let lengths = chains.iter().map(|(_, rows)| rows.len()).collect();
    let rows: Vec<usize> = chains.into_iter().flat_map(|(_, rows)| rows).collect();
    let picked = (0..columns.len()).map(|j| rows.iter().map(|&i| table.columns()[j][i]).collect()).collect();
    let gathered = Table::new(table.source(), columns.to_vec(), picked)?;
    Ok((gathered, Some(lengths), Some(rows)))
}
