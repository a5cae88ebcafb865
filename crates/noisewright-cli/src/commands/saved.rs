//! Saved fits: written by `fit --out FILE.json`, read by the commands that go on from them.

use std::path::Path;

use noisewright::after::FitRecord;
use noisewright::internal::after::RecordHeader;
use noisewright_report::Value;

use crate::failure::{Failure, Outcome};
use crate::inputs::read_text;
use crate::output;

/// Whether a file is to hold a fit rather than a table.
pub(crate) fn is_fit_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// Writes what is kept of a fit, with the command's JSON beside it.
pub(crate) fn write(path: &Path, record: &FitRecord, result: &Value) -> Outcome<()> {
    let mut value = output::value(record)?;
    let mut result = result.clone();
    result.without_covariances(0);
    value.set("result", result);
    output::write_file(path, (value.to_json() + "\n").as_bytes())
}

/// Reads what is kept of a fit.
pub(crate) fn read(path: &Path) -> Outcome<FitRecord> {
    let name = path.display().to_string();
    let text = read_text(path)?;
    let no_json =
        |error: serde_json::Error| Failure::NoAnswer(format!("{name}: this is no saved fit: {error}"));
    let header: RecordHeader = serde_json::from_str(&text).map_err(no_json)?;
    let checked =
        |result: noisewright::Result<()>| result.map_err(|error| Failure::from(error).in_file(&name));
    checked(header.check())?;
    let record: FitRecord = serde_json::from_str(&text).map_err(no_json)?;
    checked(record.check())?;
    Ok(record)
}
