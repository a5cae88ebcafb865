//! From arguments to checked objects: the model, its parameters, the data, the precision.

use std::fs;
use std::io::Read;
use std::path::Path;

use noisewright::{Loss, Model, Points, Precision, Space, internal};
use noisewright_data::{Format, Options};
use noisewright_report::Value;

use crate::arguments::{DataArguments, Global, ModelArguments};
use crate::failure::{Failure, Outcome};
use crate::rows::in_rows;

/// A model at a parameter value, with data where there are any.
pub(crate) struct Problem {
    /// Name of the model file.
    pub(crate) name: String,
    /// Text of the model file.
    pub(crate) text: String,
    pub(crate) model: Model,
    pub(crate) parameters: Vec<f64>,
    pub(crate) data: Option<Points>,
    pub(crate) precision: Precision,
    pub(crate) quiet: bool,
}

impl Problem {
    pub(crate) fn read(arguments: &ModelArguments, global: &Global) -> Outcome<Self> {
        if !(arguments.accuracy > 0.0 && arguments.accuracy < 1.0) {
            return Err(Failure::Usage(format!(
                "--accuracy must lie between 0 and 1, not {}",
                arguments.accuracy
            )));
        }
        if arguments.draws == 0 {
            return Err(Failure::Usage("--draws must be at least 1".into()));
        }
        let precision = Precision {
            relative: arguments.accuracy,
            draws: arguments.draws,
            seed: global.seed,
            ..Precision::default()
        };
        Self::new(&arguments.model, arguments.at.as_deref(), &arguments.data, precision, global)
    }

    pub(crate) fn new(
        path: &Path,
        at: Option<&str>,
        data: &DataArguments,
        precision: Precision,
        global: &Global,
    ) -> Outcome<Self> {
        let name = path.display().to_string();
        let text = read_text(path)?;
        let model = Model::from_toml(&text).map_err(|error| Failure::from(error).in_file(&name))?;
        let parameters = parameters(&model, at)?;
        let data = read_data(data, model.space())?;
        Ok(Self { name, text, model, parameters, data, precision, quiet: global.quiet || global.json })
    }

    /// As the library takes it: with data for noises that are fitted to them, and expectations over the model.
    pub(crate) fn question(&self) -> internal::design::Problem<'_> {
        internal::design::Problem {
            data: self.data.as_ref(),
            precision: self.precision.clone(),
            ..internal::design::Problem::new(&self.model, &self.parameters)
        }
    }

    /// The parameters by name, for JSON.
    pub(crate) fn parameters_value(&self) -> Value {
        let names = self.model.parameters().iter().zip(&self.parameters);
        Value::Map(names.map(|(p, v)| (p.name.clone(), Value::Number(*v))).collect())
    }

    /// `m = 0, s = 1`, the first few.
    fn place(&self) -> String {
        const SHOWN: usize = 6;
        let names = self.model.parameters().iter().zip(&self.parameters);
        let mut list: Vec<String> = names.take(SHOWN).map(|(p, v)| format!("{} = {v}", p.name)).collect();
        if self.parameters.len() > SHOWN {
            list.push("…".into());
        }
        list.join(", ")
    }

    /// The model file and the place, in words.
    pub(crate) fn title(&self) -> String {
        let place = self.place();
        if place.is_empty() { self.name.clone() } else { format!("{} at {place}", self.name) }
    }
}

/// A model that is to be fitted, with `--start` as its start values and without data yet.
pub(crate) fn model_problem(path: &Path, start: Option<&str>, global: &Global) -> Outcome<Problem> {
    let name = path.display().to_string();
    let text = read_text(path)?;
    let model = Model::from_toml(&text).map_err(|error| Failure::from(error).in_file(&name))?;
    let pairs = start.map_or(Ok(Vec::new()), |start| parse_pairs("--start", start))?;
    let model = model.with_start(&pairs).map_err(|error| Failure::Usage(format!("--start: {error}")))?;
    let parameters = model.start();
    let precision = Precision { seed: global.seed, ..Precision::default() };
    let quiet = global.quiet || global.json;
    Ok(Problem { name, text, model, parameters, data: None, precision, quiet })
}

/// The covariates of a model file, which formulas in the noise may use; none where the file cannot be read, which is said later.
pub(crate) fn covariates(path: &Path) -> Vec<String> {
    let model = fs::read_to_string(path).ok().and_then(|text| Model::from_toml(&text).ok());
    model.map_or_else(Vec::new, |model| model.covariates().to_vec())
}

/// Whether two names are of one file, through links of either kind. Standard input, devices and pipes are no such files.
pub(crate) fn is_same_file(first: &Path, second: &Path) -> bool {
    let file = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file);
    match (file(first), file(second)) {
        (Some(one), Some(other)) => is_same(first, &one, second, &other),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(_: &Path, first: &fs::Metadata, _: &Path, second: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (first.dev(), first.ino()) == (second.dev(), second.ino())
}

#[cfg(not(unix))]
fn is_same(first: &Path, _: &fs::Metadata, second: &Path, _: &fs::Metadata) -> bool {
    fs::canonicalize(first).is_ok_and(|first| fs::canonicalize(second).is_ok_and(|second| first == second))
}

/// Most bytes of a model file, a saved fit or a saved design; a device may have no end.
const MOST_TEXT: u64 = 1 << 30;

/// A small text file, whole.
pub(crate) fn read_text(path: &Path) -> Outcome<String> {
    let name = path.display();
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST_TEXT + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            std::io::ErrorKind::IsADirectory => "this is a folder, not a file".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Failure::NoAnswer(format!("{name}: {reason}"))
    })?;
    if bytes.len() as u64 > MOST_TEXT {
        return Err(Failure::NoAnswer(format!("{name}: this is longer than any such file (a gigabyte)")));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::NoAnswer(format!("{name}: this is not a text file in UTF-8")))
}

/// The start values with those of `--at` replaced.
fn parameters(model: &Model, at: Option<&str>) -> Outcome<Vec<f64>> {
    let pairs = at.map_or(Ok(Vec::new()), |at| parse_pairs("--at", at))?;
    let values = model.at(&pairs).map_err(|error| Failure::Usage(format!("--at: {error}")))?;
    model.check(&values).map_err(|error| Failure::Usage(format!("--at: {error}")))?;
    Ok(values)
}

/// `a=1,b=0.1`, as the value of a flag.
fn parse_pairs(flag: &str, text: &str) -> Outcome<Vec<(String, f64)>> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part
                .rsplit_once('=')
                .ok_or_else(|| Failure::Usage(format!("{flag}: `{part}` is not of the form name=value")))?;
            let (name, value) = (name.trim(), value.trim());
            match value.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok((name.to_owned(), number)),
                _ => Err(Failure::Usage(format!(
                    "{flag}: the value of `{name}` must be a finite number, not `{value}`"
                ))),
            }
        })
        .collect()
}

/// The columns of the model's variables.
pub(crate) fn read_data(arguments: &DataArguments, space: &Space) -> Outcome<Option<Points>> {
    let Some(path) = &arguments.data else { return Ok(None) };
    let mut options =
        reading().columns(space.names()).names(space.names()).drop_missing(arguments.drop_missing);
    if let Some(format) = &arguments.format {
        let format: Format = format.parse().map_err(|error| Failure::Usage(format!("--format: {error}")))?;
        options = options.format(format);
    }
    let table = noisewright_data::read(path, &options)?;
    let points = Points::from_columns(space.names(), table.columns())?;
    let place = |row: usize| format!("{}, row {}", table.source(), table.row_number(row));
    space.check_points(points.view()).map_err(|error| in_rows(error, table.source(), place))?;
    Ok(Some(points))
}

/// `--loss-ratio`: a number, or nothing for auto.
pub(crate) fn loss_ratio(text: &str) -> Outcome<Option<f64>> {
    match (text, text.parse::<f64>()) {
        ("auto", _) => Ok(None),
        (_, Ok(ratio)) if ratio > 0.0 => Ok(Some(ratio)),
        _ => Err(Failure::Usage(format!("--loss-ratio must be a positive number or auto, not {text}"))),
    }
}

/// A loss by name.
pub(crate) fn loss(name: &str) -> Outcome<Loss> {
    Ok(name.parse::<Loss>()?)
}

/// How files are read unless something else is asked for: at most what memory has room for.
pub(crate) fn reading() -> Options {
    Options::default().most_bytes(internal::free_memory())
}
