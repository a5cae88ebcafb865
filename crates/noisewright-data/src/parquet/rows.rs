//! The rows of a Parquet file, some at a time: one row group after the other, each page when its turn comes.

use std::cell::RefCell;

use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use super::numbers::{Chunk, Column, Failure};
use super::schema::{self, Leaf, Number};
use super::source::Source;
use super::{check_codec, choose, guard, malformed, refused};
use crate::gather::{Decoder, Gathered};
use crate::input::Input;
use crate::labels::Labels;
use crate::number::{place, printable};
use crate::options::admitted;
use crate::{Error, Options, Result};

/// Rows decoded at a time into numbers that are not looked at yet.
const PIECE: usize = 1 << 14;

/// An opened file.
pub(crate) struct Rows {
    file: String,
    reader: SerializedFileReader<Source>,
    leaves: Vec<Leaf>,
    names: Vec<String>,
    drop_missing: bool,
    minus_infinity: bool,
    /// The group to open next.
    group: usize,
    /// The columns of the group at hand.
    columns: Vec<Column>,
    /// Rows of the group at hand that are still to come.
    left: usize,
    chunks: Vec<Chunk>,
    /// The labels met so far, where a column holds labels.
    labels: RefCell<Labels>,
}

impl Rows {
    /// Reads the footer and chooses the columns.
    pub(crate) fn open(input: Input<'_>, options: &Options) -> Result<Self> {
        let file = input.file.clone();
        if input.head.is_empty() {
            return Err(Error::Empty { file });
        }
        if !input.head.starts_with(b"PAR1") {
            return Err(malformed(&file, "it does not begin with the mark of Parquet"));
        }
        let source = Source::new(input)?;
        if !source.ends_with(b"PAR1") {
            return Err(malformed(&file, "its end is missing"));
        }
        guarded(&file, || Self::from_source(&file, source, options))
    }

    fn from_source(file: &str, source: Source, options: &Options) -> Result<Self> {
        let reader = SerializedFileReader::new(source).map_err(|error| refused(file, error))?;
        let leaves = schema::leaves(reader.metadata().file_metadata().schema_descr());
        let (mut leaves, names) = choose(file, &leaves, options)?;
        for (leaf, name) in leaves.iter_mut().zip(&names) {
            let text =
                leaf.number.as_ref().is_err_and(|kind| matches!(kind.as_str(), "string" | "utf8" | "enum"));
            if text && options.labels.as_ref() == Some(name) {
                leaf.number = Ok(Number::Label);
            }
        }
        let chunks = names.iter().map(|_| Chunk::default()).collect();
        Ok(Self {
            file: file.to_owned(),
            reader,
            leaves,
            names,
            drop_missing: options.drop_missing,
            minus_infinity: options.minus_infinity,
            group: 0,
            columns: Vec::new(),
            left: 0,
            chunks,
            labels: RefCell::default(),
        })
    }

    /// Opens the next group that has rows; false if there is none.
    fn open_group(&mut self) -> Result<bool> {
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group).map_err(|error| refused(&self.file, error))?;
            self.left = usize::try_from(group.metadata().num_rows())
                .map_err(|_| malformed(&self.file, "it has a negative number of rows"))?;
            self.columns = self.open_columns(group.as_ref())?;
            self.group += 1;
        }
        Ok(true)
    }

    fn open_columns(&self, group: &dyn RowGroupReader) -> Result<Vec<Column>> {
        let open = |(leaf, name): (&Leaf, &String)| {
            let number = leaf.number.as_ref().map_err(|kind| Error::ColumnType {
                file: self.file.clone(),
                column: printable(name.as_bytes()),
                kind: kind.clone(),
            })?;
            check_codec(&self.file, group, leaf.position)?;
            let reader =
                group.get_column_reader(leaf.position).map_err(|error| refused(&self.file, error))?;
            Ok(Column { reader, number: *number, definition: leaf.definition })
        };
        self.leaves.iter().zip(&self.names).map(open).collect()
    }

    /// Decodes the next rows of the group at hand into the chunks.
    fn decode(&mut self, count: usize, passed: usize) -> Result<()> {
        let last = count == self.left;
        for ((column, chunk), name) in self.columns.iter_mut().zip(&mut self.chunks).zip(&self.names) {
            chunk.clear();
            // A column that is longer than its group shows at the end of it.
            let most = if last { count + 1 } else { count };
            column.read(most, chunk, &self.labels).map_err(|failure| match failure {
                Failure::Parquet(error) => refused(&self.file, error),
                Failure::TooLarge(row, value) => {
                    Error::IntegerTooLarge { place: place(&self.file, passed + row, name), value }
                }
            })?;
            let found = chunk.values.len();
            if found != count {
                let than = if found > count { "more" } else { "fewer" };
                return Err(malformed(
                    &self.file,
                    &format!("column `{name}` has {than} rows than its group of rows"),
                ));
            }
        }
        self.left -= count;
        Ok(())
    }

    /// The error about the first row that is not complete, if there is one.
    fn refuse_incomplete(&self, passed: usize) -> Result<()> {
        // Without an early end, so that several are looked at in one instruction.
        let finite = |values: &[f64]| values.iter().fold(true, |all, x| all & x.is_finite());
        if self.chunks.iter().all(|chunk| finite(&chunk.values)) {
            return Ok(());
        }
        let firsts = self
            .chunks
            .iter()
            .map(|chunk| chunk.values.iter().position(|x| !admitted(*x, self.minus_infinity)));
        let Some((row, j)) = firsts.enumerate().filter_map(|(j, row)| Some((row?, j))).min() else {
            return Ok(());
        };
        let (place, chunk) = (place(&self.file, passed + row, &self.names[j]), &self.chunks[j]);
        let text = chunk.text(row);
        Err(if chunk.values[row].is_nan() {
            Error::Missing { place, text }
        } else {
            Error::NonFinite { place, text }
        })
    }

    /// The number of rows of every group, as the footer says.
    pub(crate) fn said(&self) -> Vec<usize> {
        let rows = self.reader.metadata().row_groups().iter().map(|group| group.num_rows());
        rows.filter_map(|rows| usize::try_from(rows).ok()).collect()
    }

    /// Whether all columns hold floating-point numbers, which every reader of Parquet takes for the same ones.
    pub(crate) fn floating(&self) -> bool {
        use ::parquet::basic::Type::{DOUBLE, FLOAT};
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let plain = |leaf: &Leaf| leaf.number.as_ref().is_ok_and(|number| *number == Number::Plain);
        let kind = |leaf: &Leaf| schema.column(leaf.position).physical_type();
        self.leaves.iter().all(|leaf| plain(leaf) && matches!(kind(leaf), DOUBLE | FLOAT))
    }

    /// Passes over rows without taking them.
    ///
    /// # Errors
    /// Where the file ends before, or cannot be read.
    pub(crate) fn skip(&mut self, rows: usize) -> Result<()> {
        let file = self.file.clone();
        guarded(&file, || self.pass_over(rows))
    }

    /// Passes over whole groups by what the footer says of them, and over rows of the next without decoding these.
    fn pass_over(&mut self, rows: usize) -> Result<()> {
        let mut rows = rows;
        while rows > 0 {
            let next = self.reader.metadata().row_groups().get(self.group).map(|group| group.num_rows());
            match next.and_then(|count| usize::try_from(count).ok()) {
                Some(count) if self.left == 0 && count <= rows => {
                    self.group += 1;
                    rows -= count;
                }
                _ => {
                    if !self.open_group()? {
                        return Err(malformed(&self.file, "it ends before the last of its rows"));
                    }
                    let count = rows.min(self.left);
                    for column in &mut self.columns {
                        column.skip(count).map_err(|error| refused(&self.file, error))?;
                    }
                    self.left -= count;
                    rows -= count;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, gathered: &mut Gathered, room: usize) -> Result<bool> {
        if !self.open_group()? {
            return Ok(false);
        }
        // Without columns there is nothing to decode, only rows to count.
        let count = if self.names.is_empty() { self.left } else { room.min(self.left).min(PIECE) };
        self.decode(count, gathered.passed())?;
        if !self.drop_missing {
            self.refuse_incomplete(gathered.passed())?;
        }
        gathered.take_over(self.chunks.iter_mut().map(|chunk| &mut chunk.values), count);
        Ok(true)
    }
}

impl Decoder for Rows {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn claimed(&self) -> Option<usize> {
        Some(self.said().iter().sum())
    }

    fn fill(&mut self, gathered: &mut Gathered, room: usize) -> Result<bool> {
        let file = self.file.clone();
        guarded(&file, || self.take(gathered, room))
    }
}

/// The decoder trusts some fields of a file more than it should and panics where they contradict each other.
fn guarded<T>(file: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    guard::caught(work).unwrap_or_else(|| Err(malformed(file, "its parts contradict each other")))
}
