//! Which columns a ratio is fitted on, and its values at given points.

use std::path::Path;

use noisewright::parts::LogRatio;
use noisewright::{Space, View};
use noisewright_data::{Options, Stream, read, write};
use noisewright_report::Value;

use crate::arguments::RatioArguments;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::rows::Rows;

/// The columns asked for, or all that both files have but the weights.
pub(super) fn columns(arguments: &RatioArguments) -> Outcome<Vec<String>> {
    if let Some(list) = &arguments.columns {
        return listed("--columns", list);
    }
    let options = arguments.first_rows().options()?;
    let (first, second) = (names(&arguments.first, &options)?, names(&arguments.second, &options)?);
    let is_weight = |name: &String| arguments.weights.as_ref() == Some(name);
    let common: Vec<String> = first.into_iter().filter(|n| second.contains(n) && !is_weight(n)).collect();
    if common.is_empty() {
        return Err(Failure::NoAnswer(format!(
            "{} and {} have no column in common; name the columns alike",
            arguments.first.display(),
            arguments.second.display()
        )));
    }
    Ok(common)
}

/// Names with commas between them.
pub(in crate::commands) fn listed(flag: &str, list: &str) -> Outcome<Vec<String>> {
    let names: Vec<String> =
        list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    if names.is_empty() { Err(Failure::Usage(format!("{flag} names no column"))) } else { Ok(names) }
}

/// Refuses variables that are called like what is written beside them.
pub(super) fn refuse_columns(names: &[String]) -> Outcome<()> {
    ["log_ratio", "se", "lower", "upper", "typicality"]
        .iter()
        .try_for_each(|own| output::refuse_column(names, own))
}

/// The names of a file's columns, without reading the rest where that can be.
fn names(path: &Path, options: &Options) -> Outcome<Vec<String>> {
    if path == Path::new("-") {
        return Err(Failure::Usage("standard input needs --columns, since it can be read only once".into()));
    }
    match Stream::open(path, options) {
        Ok(stream) => Ok(stream.names().to_vec()),
        Err(noisewright_data::Error::NotInBlocks { .. } | noisewright_data::Error::OnlyOnce { .. }) => {
            Ok(read(path, options)?.names().to_vec())
        }
        Err(error) => Err(error.into()),
    }
}

/// The log ratio at points that were asked for.
pub(super) struct Points {
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) ratios: Vec<LogRatio>,
    /// The share of the first sample with a log ratio as small.
    pub(super) typicality: Option<Vec<f64>>,
}

/// Log ratios with the typicality of their points.
type Values = (Vec<LogRatio>, Option<Vec<f64>>);

impl Points {
    pub(super) fn read(
        path: &Path,
        space: &Space,
        arguments: &RatioArguments,
        values: impl Fn(View<'_>) -> Outcome<Values>,
    ) -> Outcome<Self> {
        let rows = Rows::read(&[path.to_owned()], space, &arguments.other_rows())?;
        let view = rows.points.view();
        let (ratios, typicality) = values(view)?;
        let columns = (0..view.columns()).map(|j| view.column(j).to_vec()).collect();
        Ok(Self { names: space.names().to_vec(), columns, ratios, typicality })
    }

    /// The points' columns and those of the log ratio.
    fn table(&self) -> (Vec<String>, Vec<Vec<f64>>) {
        let (mut names, mut columns) = (self.names.clone(), self.columns.clone());
        let mut push = |name: &str, part: fn(&LogRatio) -> f64| {
            names.push(name.into());
            columns.push(self.ratios.iter().map(part).collect());
        };
        push("log_ratio", |ratio| ratio.value);
        push("se", |ratio| ratio.se);
        push("lower", |ratio| ratio.lower);
        push("upper", |ratio| ratio.upper);
        if let Some(typicality) = &self.typicality {
            names.push("typicality".into());
            columns.push(typicality.clone());
        }
        (names, columns)
    }

    pub(super) fn write(&self, path: &Path) -> Outcome<()> {
        let (names, columns) = self.table();
        write(path, &names, &columns).map_err(Failure::from)
    }

    pub(super) fn value(&self) -> Value {
        let (names, columns) = self.table();
        Value::Map(names.into_iter().zip(columns.into_iter().map(Value::Numbers)).collect())
    }
}
