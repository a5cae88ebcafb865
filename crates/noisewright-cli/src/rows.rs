//! Data for a fit: the columns of the variables, how often each row counts, and which rows belong together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use noisewright::fit::{Data, Dependence};
use noisewright::{Domain, Points, Space};
use noisewright_data::{Format, Options, Table};

use crate::arguments::RowArguments;
use crate::failure::{Failure, Outcome};
use crate::output::spoken;

/// Rows of one or several files, read whole.
pub(crate) struct Rows {
    /// The files, in order.
    pub(crate) files: Vec<String>,
    pub(crate) points: Points,
    pub(crate) weights: Option<Vec<f64>>,
    groups: Groups,
    /// Rows left out for a missing value.
    pub(crate) dropped: usize,
    /// Where each row came from: file and row in it, for messages.
    origins: Vec<(usize, Vec<usize>)>,
}

/// Which rows belong together.
enum Groups {
    Independent,
    Clusters(Vec<u64>),
    Chains(Vec<usize>),
}

impl Rows {
    /// Reads the columns of the space, and those that the arguments name.
    pub(crate) fn read(paths: &[PathBuf], space: &Space, arguments: &RowArguments) -> Outcome<Self> {
        let wanted = Wanted::new(space, arguments)?;
        let mut reading = Reading::new(&wanted);
        for path in paths {
            reading.add(&wanted.read(path)?)?;
        }
        reading.finish(paths.len() > 1)
    }

    /// As the library takes them.
    pub(crate) fn data(&self) -> Data<'_> {
        let data = Data::from(&self.points);
        let data = match &self.weights {
            Some(weights) => data.with_weights(weights),
            None => data,
        };
        match &self.groups {
            Groups::Independent => data,
            Groups::Clusters(ids) => data.with_dependence(Dependence::Clusters(ids)),
            Groups::Chains(lengths) => data.with_dependence(Dependence::Chains(lengths)),
        }
    }

    /// `faithful.csv, row 3` for a row counted from 0.
    pub(crate) fn place(&self, row: usize) -> String {
        let mut before = 0;
        for (file, numbers) in &self.origins {
            if row < before + numbers.len() {
                return format!("{}, row {}", self.files[*file], numbers[row - before]);
            }
            before += numbers.len();
        }
        format!("row {}", row + 1)
    }

    /// The failure of a fit, with the file where the library knows only the row.
    pub(crate) fn failure(&self, error: noisewright::Error) -> Failure {
        match error {
            noisewright::Error::NoiseMissesData { row } => Failure::NoAnswer(format!(
                "the noise has no density at {}; choose a noise whose support covers all data",
                self.place(row.saturating_sub(1))
            )),
            noisewright::Error::NoDensity { row } => self.without_density(row),
            noisewright::Error::DataWithoutDensity { row, .. } => self.without_density(row),
            other => other.into(),
        }
    }

    /// The sentence about a row, counted from 1, that the model gives no density.
    fn without_density(&self, row: usize) -> Failure {
        let row = row.saturating_sub(1);
        let view = self.points.view();
        let value = |(j, name): (usize, &String)| format!("`{name}` = {}", view.get(row, j));
        let values: Vec<String> = self.points.names().iter().enumerate().map(value).collect();
        Failure::NoAnswer(format!(
            "{}: {} has no density under the model, or an infinite one; leave that row out, or change the model or its domain",
            self.place(row),
            values.join(", ")
        ))
    }

    /// What is known of the rows' dependence, in words; nothing if they are independent.
    pub(crate) fn dependence(&self) -> Option<String> {
        match &self.groups {
            Groups::Independent => None,
            Groups::Clusters(ids) => {
                let count = ids.iter().max().map_or(0, |largest| largest + 1);
                Some(format!("{count} clusters"))
            }
            Groups::Chains(lengths) if lengths.len() == 1 => Some("1 Markov chain".into()),
            Groups::Chains(lengths) => Some(format!("{} Markov chains", lengths.len())),
        }
    }

    /// A variable that never varies says nothing, and no noise can be fitted to it.
    pub(crate) fn refuse_constant(&self) -> Outcome<()> {
        let counts = |row: usize| self.weights.as_ref().is_none_or(|weights| weights[row] > 0.0);
        for (j, name) in self.points.names().iter().enumerate() {
            let column = self.points.view().column(j);
            let mut values = column.iter().enumerate().filter(|(row, _)| counts(*row)).map(|(_, x)| *x);
            let Some(first) = values.next() else { continue };
            if values.all(|x| x == first) {
                return Err(constant(&self.files.join(", "), name, first));
            }
        }
        Ok(())
    }
}

/// The sentence about a column that never varies.
pub(crate) fn constant(file: &str, name: &str, value: f64) -> Failure {
    Failure::NoAnswer(format!(
        "{file}, column `{name}`: every value is {}, and a variable that never varies cannot be fitted; leave it out \
         of the model",
        spoken(value)
    ))
}

impl RowArguments {
    /// How files are read, whatever the columns.
    pub(crate) fn options(&self) -> Outcome<Options> {
        let options = Options::default().drop_missing(self.read.drop_missing);
        let Some(format) = &self.read.format else { return Ok(options) };
        let format: Format = format.parse().map_err(|error| Failure::Usage(format!("--format: {error}")))?;
        Ok(options.format(format))
    }
}

/// Which columns are read, and how.
pub(crate) struct Wanted<'a> {
    pub(crate) space: &'a Space,
    pub(crate) options: Options,
    arguments: &'a RowArguments,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(space: &'a Space, arguments: &'a RowArguments) -> Outcome<Self> {
        let mut names = space.names().to_vec();
        let extra = [&arguments.weights, &arguments.cluster, &arguments.chain_column];
        for (flag, name) in ["--weights", "--cluster", "--chain-column"].iter().zip(extra) {
            let Some(name) = name else { continue };
            if names.contains(name) {
                return Err(Failure::Usage(format!("{flag}: column `{name}` is in use already")));
            }
            names.push(name.clone());
        }
        let options = arguments.options()?.columns(&names).names(&names);
        Ok(Self { space, options, arguments })
    }

    fn read(&self, path: &Path) -> Outcome<Table> {
        let table = noisewright_data::read(path, &self.options)?;
        let columns: Vec<&[f64]> = table.columns().iter().map(Vec::as_slice).collect();
        check_domains(self.space, &columns, table.source(), |row| table.row_number(row))?;
        Ok(table)
    }
}

/// Refuses the first value outside its domain, by name.
pub(crate) fn check_domains(
    space: &Space,
    columns: &[&[f64]],
    file: &str,
    row_number: impl Fn(usize) -> usize,
) -> Outcome<()> {
    if space.is_sphere() {
        return check_sphere(columns, file, row_number);
    }
    for ((column, domain), name) in columns.iter().zip(space.domains()).zip(space.names()) {
        if let Some(row) = column.iter().position(|x| !domain.contains(*x)) {
            return Err(Failure::NoAnswer(format!(
                "{file}, row {}: `{name}` = {} is outside its domain, {}",
                row_number(row),
                spoken(column[row]),
                words(domain)
            )));
        }
    }
    Ok(())
}

/// A domain, as the end of a sentence.
fn words(domain: &Domain) -> String {
    match domain {
        Domain::Real => "the real numbers".into(),
        Domain::Positive => "the positive numbers".into(),
        Domain::Interval(lo, hi) => format!("[{lo}, {hi}]"),
        Domain::Circle => "the angles".into(),
        Domain::Counts => "0, 1, 2, …".into(),
        Domain::States(states) => {
            let shown: Vec<String> = states.iter().take(10).map(f64::to_string).collect();
            format!("{}{}", shown.join(", "), if states.len() > 10 { ", …" } else { "" })
        }
    }
}

/// Directions have length one, within what a file's digits leave.
fn check_sphere(columns: &[&[f64]], file: &str, row_number: impl Fn(usize) -> usize) -> Outcome<()> {
    let rows = columns.first().map_or(0, |column| column.len());
    let length = |row: usize| columns.iter().map(|column| column[row] * column[row]).sum::<f64>().sqrt();
    match (0..rows).find(|row| (length(*row) - 1.0).abs() > 1e-4) {
        None => Ok(()),
        Some(row) => Err(Failure::NoAnswer(format!(
            "{file}, row {}: a direction must have length 1, not {}",
            row_number(row),
            length(row)
        ))),
    }
}

/// Rows on their way from files into one batch.
struct Reading<'a> {
    wanted: &'a Wanted<'a>,
    files: Vec<String>,
    columns: Vec<Vec<f64>>,
    weights: Vec<f64>,
    clusters: Vec<f64>,
    chains: Vec<usize>,
    /// Whether some file says by itself that its rows are a chain.
    is_chain: bool,
    dropped: usize,
    origins: Vec<(usize, Vec<usize>)>,
}

impl<'a> Reading<'a> {
    fn new(wanted: &'a Wanted<'a>) -> Self {
        let columns = vec![Vec::new(); wanted.space.dimension()];
        Self {
            wanted,
            files: Vec::new(),
            columns,
            weights: Vec::new(),
            clusters: Vec::new(),
            chains: Vec::new(),
            is_chain: false,
            dropped: 0,
            origins: Vec::new(),
        }
    }

    fn add(&mut self, table: &Table) -> Outcome<()> {
        let arguments = self.wanted.arguments;
        for (column, more) in self.columns.iter_mut().zip(table.columns()) {
            column.extend_from_slice(more);
        }
        if let Some(name) = &arguments.weights {
            self.weights.extend_from_slice(table.weights(name)?);
        }
        if let Some(name) = &arguments.cluster {
            self.clusters.extend_from_slice(table.column(name)?);
        }
        match &arguments.chain_column {
            Some(name) => self.chains.extend(runs(table, name)?),
            None => self.chains.extend(table.chains().unwrap_or(&[table.rows()])),
        }
        self.is_chain |= table.chains().is_some();
        self.dropped += table.dropped();
        let numbers = (0..table.rows()).map(|row| table.row_number(row)).collect();
        self.origins.push((self.files.len(), numbers));
        self.files.push(table.source().to_owned());
        Ok(())
    }

    fn finish(self, several: bool) -> Outcome<Rows> {
        let arguments = self.wanted.arguments;
        let points = Points::from_columns(self.wanted.space.names(), &self.columns)?;
        let groups = if arguments.cluster.is_some() {
            Groups::Clusters(numbered(&self.clusters))
        } else if arguments.chains || arguments.chain_column.is_some() || self.is_chain {
            Groups::Chains(self.chains)
        } else {
            Groups::Independent
        };
        let repeated = several && self.files.iter().any(|file| file == "standard input");
        if repeated {
            return Err(Failure::Usage("standard input can only be the one data file".into()));
        }
        Ok(Rows {
            files: self.files,
            points,
            weights: arguments.weights.is_some().then_some(self.weights),
            groups,
            dropped: self.dropped,
            origins: self.origins,
        })
    }
}

/// Numbers 0, 1, 2, … for values in the order in which they are met first.
fn numbered(values: &[f64]) -> Vec<u64> {
    let mut known = HashMap::new();
    values
        .iter()
        .map(|value| {
            let next = known.len() as u64;
            // Zero is one cluster, whatever its sign.
            *known.entry((value + 0.0).to_bits()).or_insert(next)
        })
        .collect()
}

/// Lengths of the runs of equal values; a value that comes back is a mistake.
fn runs(table: &Table, name: &str) -> Outcome<Vec<usize>> {
    let column = table.column(name)?;
    let mut lengths: Vec<usize> = Vec::new();
    let (mut seen, mut last) = (HashMap::new(), None);
    for (row, value) in column.iter().enumerate() {
        if last == Some(*value) {
            if let Some(length) = lengths.last_mut() {
                *length += 1;
            }
            continue;
        }
        if seen.insert(value.to_bits(), row).is_some() {
            return Err(Failure::NoAnswer(format!(
                "{}, row {}: chain {value} of column `{name}` goes on after another chain; the rows of a chain must stand \
                 together",
                table.source(),
                table.row_number(row)
            )));
        }
        last = Some(*value);
        lengths.push(1);
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_numbered_as_they_come() {
        assert_eq!(numbered(&[7.0, 7.0, -1.0, 0.0, 7.0, -0.0]), [0, 0, 1, 2, 0, 2]);
    }

    #[test]
    fn chains_are_runs_of_equal_numbers() {
        let table = |values: Vec<f64>| Table::new("d.csv", vec!["c".into()], vec![values]);
        let lengths = runs(&table(vec![1.0, 1.0, 2.0, 5.0, 5.0]).unwrap(), "c").unwrap();
        assert_eq!(lengths, [2, 1, 2]);
        assert!(runs(&table(vec![1.0, 2.0, 1.0]).unwrap(), "c").is_err());
    }
}
