//! What can be wrong with a file, each as one plain sentence that names the file, row and column.

use std::fmt;
use std::io;

use crate::names::listed;
use crate::number::printable;

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in a file a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the caller named it.
    pub file: String,
    /// The row of data, counted from 1 without header and comments.
    pub row: usize,
    /// The line of the file, counted from 1; `None` where a file has no lines.
    pub line: Option<usize>,
    /// The name of the column.
    pub column: String,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, row, line, column } = self;
        match line {
            Some(line) => write!(out, "{file}, row {row} (line {line}), column `{}`", one_line(column)),
            None => write!(out, "{file}, row {row}, column `{}`", one_line(column)),
        }
    }
}

/// What is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be opened.
    #[error("cannot open {file}: {reason}")]
    Open {
        /// The file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// A folder where a file belongs.
    #[error("{file} is a folder; give the name of a file")]
    Folder {
        /// The path.
        file: String,
    },
    /// A file that opened but broke off while being read.
    #[error("cannot read {file}: {reason}")]
    Read {
        /// The file.
        file: String,
        /// What the system or the decompressor said.
        reason: String,
    },
    /// More rows than the memory that is free.
    #[error(
        "{file} does not fit in memory, which has no room for {rows} rows of it ({:.1} MB): give fewer, or give the process \
         more memory",
        *bytes as f64 / 1e6
    )]
    OutOfMemory {
        /// The file.
        file: String,
        /// How many rows were to be held.
        rows: usize,
        /// Bytes that they take.
        bytes: u64,
    },
    /// A file that cannot be written.
    #[error("cannot write {file}: {reason}")]
    Write {
        /// The file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// A file without contents.
    #[error("{file} is empty; a header row and rows of numbers are needed")]
    Empty {
        /// The file.
        file: String,
    },
    /// A file that names columns and has no row.
    #[error("{file} has a header but no rows of data")]
    NoRows {
        /// The file.
        file: String,
    },
    /// Dropping the rows with missing values left none.
    #[error("{file} has no complete row (rows with a missing or non-finite value: {dropped})")]
    AllDropped {
        /// The file.
        file: String,
        /// How many rows were dropped.
        dropped: usize,
    },
    /// A first row that holds numbers instead of names.
    #[error("{file} has no header: its first row is numbers (`{first}`), and it must name the columns")]
    NoHeader {
        /// The file.
        file: String,
        /// The row found.
        first: String,
    },
    /// Bytes that are no text.
    #[error("{file} is a binary file, not a text file with columns of numbers")]
    Binary {
        /// The file.
        file: String,
    },
    /// Text in an encoding other than UTF-8.
    #[error("{file} is UTF-16 text; save it as UTF-8")]
    Utf16 {
        /// The file.
        file: String,
    },
    /// A header in an encoding of single bytes.
    #[error(
        "{file}, line {line}: the header is not UTF-8 text, but perhaps Latin-1 (`{header}`); save it as UTF-8"
    )]
    NotUtf8 {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The line found.
        header: String,
    },
    /// A known format that is not read.
    #[error("{file} is a {format} file, which is not read here; convert it to CSV, Parquet or NPY")]
    Unsupported {
        /// The file.
        file: String,
        /// What it is.
        format: &'static str,
    },
    /// A Parquet file, and a build that leaves them out.
    #[error(
        "{file} is a Parquet file, and this build leaves Parquet out; build with the feature `parquet`, or use CSV or NPY"
    )]
    WithoutParquet {
        /// The file.
        file: String,
    },
    /// The address of an object, and a build that reads files only.
    #[error(
        "{file} is the address of an object, and this build reads files only; build with the feature `object-store`, or copy the object"
    )]
    WithoutObjects {
        /// The address.
        file: String,
    },
    /// An object that cannot be had.
    #[error("{file}: {reason}")]
    Object {
        /// The address.
        file: String,
        /// What the storage said.
        reason: String,
    },
    /// A pattern that no object's name is like.
    #[error("no object is named like {pattern}")]
    NoObject {
        /// The pattern.
        pattern: String,
    },
    /// The name of a file to be written that promises another format.
    #[error(
        "{file}: files that end in .{ending} are not written here; give a name that ends in .csv or .parquet"
    )]
    NotWritten {
        /// The file.
        file: String,
        /// The ending of its name.
        ending: String,
    },
    /// A format's name that means nothing.
    #[error("`{name}` is not a format; the formats are csv, stan-csv, parquet, npy and npz")]
    UnknownFormat {
        /// The name given.
        name: String,
    },
    /// A column that is not there.
    #[error(
        "{file} has no column `{wanted}`{}; its columns are {}",
        suggestion.as_ref().map_or(String::new(), |name| format!(" (did you mean `{}`?)", one_line(name))),
        listed(available)
    )]
    MissingColumn {
        /// The file.
        file: String,
        /// The column asked for.
        wanted: String,
        /// The columns there are.
        available: Vec<String>,
        /// The one that is spelled most like it.
        suggestion: Option<String>,
    },
    /// A column's name that stands for two columns.
    #[error("{file} has more than one column `{}`; give each its own name", one_line(column))]
    DuplicateColumn {
        /// The file.
        file: String,
        /// The name.
        column: String,
    },
    /// A name that is not there as written and stands for two that are.
    #[error(
        "{file}: `{wanted}` may be `{}` or `{}`; write the one that is meant",
        one_line(first),
        one_line(second)
    )]
    AmbiguousColumn {
        /// The file.
        file: String,
        /// The name asked for.
        wanted: String,
        /// One that it may stand for.
        first: String,
        /// The other.
        second: String,
    },
    /// A column asked for more than once.
    #[error("column `{column}` is asked for twice")]
    AskedTwice {
        /// The name.
        column: String,
    },
    /// Names given for columns that have none, but not as many.
    #[error(
        "{file} has {}, but {} {} given for them ({})",
        counted(*found, "column"),
        counted(names.len(), "name"),
        if names.len() == 1 { "was" } else { "were" },
        listed(names)
    )]
    ColumnCount {
        /// The file.
        file: String,
        /// How many columns it has.
        found: usize,
        /// The names given.
        names: Vec<String>,
    },
    /// Columns of different length.
    #[error(
        "in {file}, column `{}` has {} and `{}` has {expected}; all must have the same number",
        one_line(column), counted(*found, "row"), one_line(first)
    )]
    UnequalColumns {
        /// The file.
        file: String,
        /// The column that differs.
        column: String,
        /// Its rows.
        found: usize,
        /// The first column.
        first: String,
        /// The rows of the first column.
        expected: usize,
    },
    /// Text where a number belongs.
    #[error("{place}: `{text}` is not a number")]
    NotANumber {
        /// Where.
        place: Place,
        /// The text found.
        text: String,
    },
    /// A number written with a comma.
    #[error("{place}: `{text}` has a decimal comma; write a point instead")]
    DecimalComma {
        /// Where.
        place: Place,
        /// The text found.
        text: String,
    },
    /// A missing value.
    #[error("{}", self.advising(Some("have such rows dropped")))]
    Missing {
        /// Where.
        place: Place,
        /// How it is marked, empty if by nothing.
        text: String,
    },
    /// An infinite value, or one too large for a 64-bit number.
    #[error("{}", self.advising(Some("have such rows dropped")))]
    NonFinite {
        /// Where.
        place: Place,
        /// The text found.
        text: String,
    },
    /// An integer that a 64-bit floating-point number cannot hold.
    #[error(
        "{place}: the integer {value} is beyond 2^53 and would lose digits; store it as a float or rescale it"
    )]
    IntegerTooLarge {
        /// Where.
        place: Place,
        /// The integer.
        value: i128,
    },
    /// A row with too few or too many fields.
    #[error("{file}, row {row} (line {line}) has {}, but the header has {expected}", counted(*found, "field"))]
    Ragged {
        /// The file.
        file: String,
        /// The row of data, counted from 1.
        row: usize,
        /// The line of the file, counted from 1.
        line: usize,
        /// Its fields.
        found: usize,
        /// The fields of the header.
        expected: usize,
    },
    /// A line under the header that may be meant as a comment.
    #[error(
        "{file}, line {line} begins with `#` and is no row; comments may stand before the header, and below it only in \
         a file that begins with one"
    )]
    LateComment {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// A quote that opens and never closes.
    #[error("{file}, line {line}: a quote opens here and never closes")]
    UnclosedQuote {
        /// The file.
        file: String,
        /// The line where the record begins.
        line: usize,
    },
    /// Bytes that do not follow the Parquet, NPY or NPZ format.
    #[error("{file} is not a valid {format} file: {reason}")]
    Malformed {
        /// The file (and the array in it).
        file: String,
        /// What it should be.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// An array of something that is no real number.
    #[error("{file} holds {kind} (dtype `{dtype}`); only floats, integers and booleans can be read")]
    ElementType {
        /// The file (and the array in it).
        file: String,
        /// What it holds, in words.
        kind: &'static str,
        /// The type as NumPy writes it.
        dtype: String,
    },
    /// A column of something that is no real number.
    #[error(
        "{file}, column `{}` is of type {kind}; only floats, integers, decimals and booleans can be read",
        one_line(column)
    )]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The name of its type.
        kind: String,
    },
    /// A file compressed in a way that is not known here.
    #[error(
        "{file} is compressed with {codec}, which is not read here; write it with Snappy, Zstandard or gzip"
    )]
    Codec {
        /// The file.
        file: String,
        /// The compression.
        codec: &'static str,
    },
    /// An array without elements.
    #[error("{file} holds an empty array; at least one row of numbers is needed")]
    EmptyArray {
        /// The file (and the array in it).
        file: String,
    },
    /// An array that is neither a column nor a matrix.
    #[error("{file} has {dimensions} dimensions; an array of 1 or 2 (rows and columns) is needed")]
    Dimensions {
        /// The file (and the array in it).
        file: String,
        /// How many it has.
        dimensions: usize,
    },
    /// An archive whose arrays cannot be told apart into columns.
    #[error(
        "{file} holds several arrays of which `{}` is a matrix; keep one matrix alone, or columns only",
        one_line(array)
    )]
    SeveralMatrices {
        /// The file.
        file: String,
        /// A matrix in it.
        array: String,
    },
    /// Files of one set of chains that differ in their columns.
    #[error("{file} and {first} have different columns; the files of one set of chains must have the same")]
    ChainColumns {
        /// The file that differs.
        file: String,
        /// The first file.
        first: String,
    },
    /// A source that gives its bytes only once, where they are needed again and again.
    #[error("{file} can be read only once; save it as a file to read it in blocks")]
    OnlyOnce {
        /// The source.
        file: String,
    },
    /// A file whose rows cannot be had one after the other.
    #[error("{file} is {what} and cannot be read in blocks; read it whole, or convert it to Parquet or CSV")]
    NotInBlocks {
        /// The file.
        file: String,
        /// What it is.
        what: &'static str,
    },
    /// A file that is not what it was at the first pass.
    #[error("{file} changed while it was being read; start again when nothing writes to it any more")]
    Changed {
        /// The file.
        file: String,
    },
    /// A file that is no longer there.
    #[error("{file} is gone; it must stay where it is until the last pass over it")]
    Gone {
        /// The file.
        file: String,
    },
    /// A weight that is no frequency.
    #[error("{place}: a weight must be zero or more, not {value}")]
    Weight {
        /// Where.
        place: Place,
        /// The value, as text.
        value: String,
    },
    /// Weights of which none counts.
    #[error("{file}, column `{}`: all weights are zero; at least one row must count", one_line(column))]
    NoWeight {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// No file at all where chains belong.
    #[error("no file was given to read chains from")]
    NoChains,
    /// A Stan file with something else than draws.
    #[error("{file} is the output of Stan's method `{method}`, which makes no draws; use `method = sample`")]
    NotDraws {
        /// The file.
        file: String,
        /// The method that wrote it.
        method: String,
    },
    /// A Stan file whose last row has no end: Stan ends every line, so the file was cut, perhaps within a number.
    #[error(
        "{file} breaks off in its last row (line {line}), perhaps within a number: let the run finish, or take that line out"
    )]
    CutRow {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// A Stan file that ends during warm-up.
    #[error("{file} has no draws after the {warmup} of its warm-up")]
    OnlyWarmup {
        /// The file.
        file: String,
        /// Warm-up draws found.
        warmup: usize,
    },
}

/// A number of things: `1 row`, `2 rows`.
fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A name from a file as it can stand in a sentence: without line breaks and other control characters.
fn one_line(name: &str) -> String {
    printable(name.as_bytes())
}

impl Error {
    /// The sentence with the caller's own words for how rows with such a value are dropped, such as a flag; none where
    /// they cannot be.
    #[must_use]
    pub fn advising(&self, drop: Option<&str>) -> String {
        let (fact, mend) = match self {
            Self::Missing { place, text } => {
                (format!("{place}: the value is missing{}", shown(text)), "fill it in")
            }
            Self::NonFinite { place, text } => {
                (format!("{place}: the value `{text}` is not finite"), "correct it")
            }
            other => return other.to_string(),
        };
        match drop {
            Some(words) => format!("{fact}; {mend} or {words}"),
            None => format!("{fact}; {mend}"),
        }
    }
}

fn shown(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" (`{text}`)") }
}

/// What the system says about a file, in words that need no translation.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::UnexpectedEof => "the file ends too early".to_owned(),
        _ => error.to_string(),
    }
}
