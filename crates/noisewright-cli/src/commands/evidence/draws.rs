//! Draws from one or several files, as chains.

use std::path::PathBuf;

use noisewright::{Error, Points, Space};
use noisewright_data::{Format, Table, read_chains};

use crate::arguments::EvidenceArguments;
use crate::failure::{Failure, Outcome};
use crate::inputs::{is_same_file, reading};

/// Columns, the lengths of the chains in them, and the rows that the draws had.
type Gathered = (Vec<Vec<f64>>, Vec<usize>, Vec<usize>);

/// Draws with the lengths of their chains.
pub(super) struct ChainDraws {
    pub(super) points: Points,
    pub(super) chains: Option<Vec<usize>>,
    pub(super) files: Vec<String>,
    pub(super) dropped: usize,
    /// Row in the file of each draw, where they were gathered by chain.
    rows: Option<Vec<usize>>,
}

impl ChainDraws {
    pub(super) fn read(arguments: &EvidenceArguments, space: &Space) -> Outcome<Self> {
        let files: Vec<String> = arguments.draws.iter().map(|path| path.display().to_string()).collect();
        if let Some(column) = arguments.chain.as_ref().filter(|_| files.len() > 1) {
            return Err(Failure::Usage(format!(
                "--chain {column} is for one file with several chains; several files are one chain each already"
            )));
        }
        refuse_twice(&arguments.draws)?;
        let mut wanted = space.names().to_vec();
        wanted.extend(arguments.chain.clone());
        let mut options = reading().columns(&wanted).names(&wanted).drop_missing(arguments.drop_missing);
        options.labels.clone_from(&arguments.chain);
        if let Some(format) = &arguments.format {
            let format: Format =
                format.parse().map_err(|error| Failure::Usage(format!("--format: {error}")))?;
            options = options.format(format);
        }
        let table = read_chains(&arguments.draws, &options)?;
        if let Some(method) = table.approximation() {
            return Err(Failure::NoAnswer(format!(
                "{}: these are draws of an approximation (Stan's method {method}), not of the density: sample it",
                files.join(", ")
            )));
        }
        let dropped = table.dropped();
        let (table, chains, rows) = match &arguments.chain {
            Some(_) => {
                let (columns, chains, rows) = by_label(table)?;
                (columns, Some(chains), Some(rows))
            }
            None => {
                let chains = table.chains().map(<[usize]>::to_vec);
                (table.into_columns(), chains, None)
            }
        };
        let points = Points::from_columns(space.names(), &table)?;
        let draws = Self { points, chains, files, dropped, rows };
        draws.refuse_copies(space)?;
        Ok(draws)
    }

    /// Refuses chains that are copies of each other: they look like more draws than they are.
    fn refuse_copies(&self, space: &Space) -> Outcome<()> {
        let discrete = space.domains().iter().all(noisewright::Domain::is_discrete) && !space.is_sphere();
        let Some(chains) = self.chains.as_ref().filter(|_| !discrete) else { return Ok(()) };
        let mut starts = vec![0];
        chains.iter().for_each(|length| starts.push(starts[starts.len() - 1] + length));
        let chain = |k: usize| starts[k]..starts[k + 1];
        let same = |a: usize, b: usize| {
            let columns = |axis: usize| self.points.view().column(axis);
            (0..self.points.columns()).all(|axis| columns(axis)[chain(a)] == columns(axis)[chain(b)])
        };
        for second in 1..chains.len() {
            // Single draws may be alike by accident of rounding.
            let copied = |first: &usize| {
                chains[*first] == chains[second] && chains[second] > 1 && same(*first, second)
            };
            if let Some(first) = (0..second).find(copied) {
                return Err(Failure::NoAnswer(format!(
                    "{}: chains {} and {} are the same draws: give every chain once",
                    self.files.join(", "),
                    first + 1,
                    second + 1
                )));
            }
        }
        Ok(())
    }

    /// A failure that says which file the row is in, where the files are the chains.
    pub(super) fn failure(&self, error: Error) -> Failure {
        let row = match &error {
            Error::DrawOutside { row, .. } | Error::OutsideDomain { row, .. } | Error::NoDensity { row } => {
                *row
            }
            _ => return error.into(),
        };
        let (file, row) = self.place(row);
        let error = match error {
            Error::DrawOutside { variable, value, .. } => Error::DrawOutside { row, variable, value },
            Error::OutsideDomain { column, value, domain, .. } => {
                Error::OutsideDomain { row, column, value, domain }
            }
            _ => Error::NoDensity { row },
        };
        Failure::from(error).in_file(&file)
    }

    /// The file and the row within it.
    fn place(&self, row: usize) -> (String, usize) {
        let mut before = 0;
        if let Some(chains) = self.chains.as_ref().filter(|chains| chains.len() == self.files.len()) {
            for (length, file) in chains.iter().zip(&self.files) {
                if row <= before + length {
                    return (file.clone(), row - before);
                }
                before += length;
            }
        }
        let own = self.rows.as_ref().and_then(|rows| rows.get(row - 1)).map_or(row, |row| row + 1);
        (self.files.join(", "), own)
    }
}

/// Refuses a file that is given twice.
fn refuse_twice(files: &[PathBuf]) -> Outcome<()> {
    for (k, file) in files.iter().enumerate() {
        if files[..k].iter().any(|other| is_same_file(other, file)) {
            return Err(Failure::Usage(format!("{} is given twice: give every chain once", file.display())));
        }
    }
    Ok(())
}

/// The columns without the last, their rows sorted into the chains that the last names; the order within a chain stays.
fn by_label(table: Table) -> Outcome<Gathered> {
    let source = table.source().to_owned();
    let mut columns = table.into_columns();
    let labels = columns.pop().ok_or_else(|| Failure::NoAnswer(format!("{source}: there are no draws")))?;
    let mut known: Vec<f64> = labels.clone();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let mut rows: Vec<usize> = (0..labels.len()).collect();
    rows.sort_by(|a, b| labels[*a].total_cmp(&labels[*b]));
    let chains = known.iter().map(|label| labels.iter().filter(|l| *l == label).count()).collect();
    let sorted = |column: Vec<f64>| rows.iter().map(|row| column[*row]).collect();
    Ok((columns.into_iter().map(sorted).collect(), chains, rows.clone()))
}
