//! Which columns a ratio is fitted on, and its values at given points.

use std::path::Path;

use noisewright::Space;
use noisewright::fit::{LogRatio, RatioFit};
use noisewright_data::{Options, Stream, read, write};
use noisewright_report::Value;

use crate::arguments::RatioArguments;
use crate::failure::{Failure, Outcome};
use crate::rows::Rows;

/// The columns asked for, or all that both files have but the weights.
pub(super) fn columns(arguments: &RatioArguments) -> Outcome<Vec<String>> {
    if let Some(list) = &arguments.columns {
        let names: Vec<String> =
            list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        return if names.is_empty() {
            Err(Failure::Usage("--columns names no column".into()))
        } else {
            Ok(names)
        };
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
}

impl Points {
    pub(super) fn read(
        path: &Path,
        space: &Space,
        fit: &RatioFit,
        arguments: &RatioArguments,
    ) -> Outcome<Self> {
        let rows = Rows::read(&[path.to_owned()], space, &arguments.other_rows())?;
        let view = rows.points.view();
        Ok(Self {
            names: space.names().to_vec(),
            columns: (0..view.columns()).map(|j| view.column(j).to_vec()).collect(),
            ratios: fit.log_ratio_at(view)?,
        })
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
