//! Data for a fit: the columns of the variables, how often each row counts, and which rows belong together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use noisewright::fit::{Data, Dependence};
use noisewright::{Points, Space};
use noisewright_data::{Format, Options, Table, expand};

use crate::arguments::RowArguments;
use crate::failure::{Failure, Outcome};
use crate::inputs;
use noisewright_report::format_given;

/// Rows of one or several files, read whole.
pub(crate) struct Rows {
    /// The files, in order.
    pub(crate) files: Vec<String>,
    pub(crate) points: Points,
    pub(crate) weights: Option<Vec<f64>>,
    groups: Groups,
    /// Rows left out for a missing value.
    pub(crate) dropped: usize,
    origins: Vec<Origin>,
}

/// The rows of one file, for messages.
struct Origin {
    rows: usize,
    /// Their numbers in the file, where they are not simply 1, 2, ….
    numbers: Option<Vec<usize>>,
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
        let paths = expand(paths)?;
        for path in &paths {
            reading.add(wanted.read(path)?)?;
        }
        reading.finish(paths.len() > 1)
    }

    /// As the library takes them, the columns by their names.
    pub(crate) fn data(&self) -> Data<'_> {
        self.described(Data::from(&self.points))
    }

    /// The same in the order of the space by which they were read: where a model stands in other names for those that formulas cannot
    /// read.
    pub(crate) fn data_in_order(&self) -> Data<'_> {
        self.described(Data::new(self.points.view()))
    }

    /// With their weights, and which rows belong together.
    fn described<'d>(&'d self, data: Data<'d>) -> Data<'d> {
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
        for (file, origin) in self.files.iter().zip(&self.origins) {
            if row < before + origin.rows {
                let own = row - before;
                return format!("{file}, row {}", origin.numbers.as_ref().map_or(own + 1, |all| all[own]));
            }
            before += origin.rows;
        }
        format!("row {}", row + 1)
    }

    /// The failure of a fit, with the file where the library knows only the row.
    pub(crate) fn failure(&self, error: noisewright::Error) -> Failure {
        in_rows(error, &self.files.join(", "), |row| self.place(row))
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
}

/// The failure of a fit whose error is about a row or a column: with the file, and the row as the file numbers it.
pub(crate) fn in_rows(error: noisewright::Error, files: &str, place: impl Fn(usize) -> String) -> Failure {
    use noisewright::Error as E;
    let at = |row: usize| place(row.saturating_sub(1));
    Failure::NoAnswer(match error {
        E::OutsideDomain { row, column, value, domain } => {
            format!("{}: `{column}` = {} is not {domain}", at(row), format_given(value))
        }
        E::NotUnit { row, length } => {
            format!("{}: a direction must have length 1, not {}", at(row), format_given(length))
        }
        E::NoiseMissesData { row } => {
            format!(
                "the noise has no density at {}; choose a noise whose support covers all data, or mix this one with such a noise: \
                 --noise \"0.9*NOISE + 0.1*auto\"",
                at(row)
            )
        }
        E::DataWithoutDensity { row, point } => format!(
            "{}: {point} has no density under the model, or an infinite one; leave that row out, or change the model or its \
             domain",
            at(row)
        ),
        error @ E::ConstantColumn { .. } => format!("{files}, {error}"),
        other => return other.into(),
    })
}

impl RowArguments {
    /// How files are read, whatever the columns.
    pub(crate) fn options(&self) -> Outcome<Options> {
        let options = inputs::reading().drop_missing(self.read.drop_missing);
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
        Ok(noisewright_data::read(path, &self.options)?)
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
    origins: Vec<Origin>,
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

    fn add(&mut self, table: Table) -> Outcome<()> {
        let arguments = self.wanted.arguments;
        if let Some(name) = &arguments.weights {
            self.weights.extend_from_slice(table.weights(name)?);
        }
        if let Some(name) = &arguments.cluster {
            self.clusters.extend_from_slice(table.column(name)?);
        }
        match &arguments.chain_column {
            Some(name) => self.chains.extend(runs(&table, name)?),
            None => self.chains.extend(table.chains().unwrap_or(&[table.rows()])),
        }
        self.is_chain |= table.chains().is_some();
        self.dropped += table.dropped();
        self.origins.push(Origin { rows: table.rows(), numbers: table.row_numbers().map(<[usize]>::to_vec) });
        self.files.push(table.source().to_owned());
        for (column, more) in self.columns.iter_mut().zip(table.into_columns()) {
            // The columns of the only file stay where they are.
            if column.is_empty() {
                *column = more;
            } else {
                column.extend(more);
            }
        }
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
pub(crate) fn numbered(values: &[f64]) -> Vec<u64> {
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
