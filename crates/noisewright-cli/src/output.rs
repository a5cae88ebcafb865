//! Standard output, JSON, and files that are either whole or not there.

use std::io::Write;
use std::path::Path;

pub(crate) use noisewright::internal::show::typed;
use noisewright_data::write_whole;
use noisewright_report::{Page, Section, Table, TextStyle, Value};
use serde::Serialize;

use crate::arguments::Global;
use crate::failure::{Failure, Outcome, printable};

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a warning to standard error.
pub(crate) fn warn(warning: &str) {
    let _ = writeln!(std::io::stderr(), "warning: {}", printable(warning));
}

/// Says something on standard error.
#[cfg(feature = "lab")]
pub(crate) fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "{sentence}");
}

/// Anything that serializes, as the values of a JSON object.
pub(crate) fn value(result: &(impl Serialize + ?Sized)) -> Outcome<Value> {
    Value::of(result)
        .map_err(|error| Failure::NoAnswer(format!("the result cannot be written as JSON: {error}")))
}

/// Prints one JSON object.
pub(crate) fn print_json(value: &Value) -> Outcome<()> {
    print(&(value.to_json() + "\n"))
}

/// Columns where nobody says how many there are.
const USUAL_WIDTH: usize = 80;
/// Columns beyond which a line is hard to follow.
const MOST_WIDTH: usize = 120;
/// Columns below which no table can be read.
const LEAST_WIDTH: usize = 40;

/// A table as text, as wide as the terminal.
pub(crate) fn table(table: &Table) -> String {
    table.to_text_with(&TextStyle { width: width(), ..TextStyle::default() })
}

/// Columns of the terminal: what `COLUMNS` says, or what standard output has if it is one.
fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let seen = || {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        size.map(|(terminal_size::Width(columns), _)| usize::from(columns))
    };
    told.filter(|columns| *columns > 0)
        .or_else(seen)
        .map_or(USUAL_WIDTH, |columns| columns.clamp(LEAST_WIDTH, MOST_WIDTH))
}

/// A table with the sentences that belong to it, each on a line.
pub(crate) fn table_and_sentences(table: &Table, sentences: impl IntoIterator<Item = String>) -> String {
    let lines: String = sentences.into_iter().map(|sentence| sentence + "\n").collect();
    format!("{}\n{lines}", self::table(table))
}

/// Refuses a variable with the name of the column that is written beside the variables: the file could not be read back.
pub(crate) fn refuse_column(names: &[String], column: &str) -> Outcome<()> {
    if names.iter().any(|name| name == column) {
        return Err(Failure::Usage(format!(
            "the variable `{column}` has the name of a column that is written beside it: rename the variable"
        )));
    }
    Ok(())
}

/// Writes a page where one was asked for, with the result as JSON at its end.
pub(crate) fn write_report(global: &Global, page: impl FnOnce() -> Page, json: &Value) -> Outcome<()> {
    let Some(path) = &global.report else { return Ok(()) };
    let page = page()
        .section(Section::new("All numbers").details("The result as JSON", json.to_json()))
        .footer(format!("Made by noisewright {}", env!("CARGO_PKG_VERSION")));
    write_file(path, page.to_html().as_bytes())
}

/// Writes a file beside its final name and moves it there when it is whole.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Outcome<()> {
    write_whole(path, |file| file.write_all(bytes)).map_err(Failure::from)
}
