//! Parquet: the columns asked for, one row group after the other.

mod guard;
mod schema;
mod source;
mod write;

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use self::schema::{Leaf, Number, decimal};
use self::source::Source;
use crate::error::reason;
use crate::input::Input;
use crate::names::{locate, repeated};
use crate::npy::{exact, half};
use crate::number::{place, printable};
use crate::{Error, Options, Result, Table};

pub use self::write::{write_parquet, write_parquet_to};

/// Rows decoded at a time: what a file claims to hold is believed only as far as it is found.
const BATCH: usize = 1 << 14;

/// Reads a Parquet file.
pub(crate) fn read(input: Input<'_>, options: &Options) -> Result<Table> {
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
    // The decoder trusts some fields of a file more than it should and panics where they contradict each other.
    guard::caught(|| decode(&file, source, options))
        .unwrap_or_else(|| Err(malformed(&file, "its parts contradict each other")))
}

fn decode(file: &str, source: Source, options: &Options) -> Result<Table> {
    let reader = SerializedFileReader::new(source).map_err(|error| refused(file, error))?;
    let leaves = schema::leaves(reader.metadata().file_metadata().schema_descr());
    let (leaves, names) = choose(file, &leaves, options)?;
    let mut rows = Rows::new(file, names, options.drop_missing);
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index).map_err(|error| refused(file, error))?;
        rows.take(group.as_ref(), &leaves)?;
    }
    rows.finish()
}

/// The columns to take and the names to give them.
fn choose(file: &str, leaves: &[Leaf], options: &Options) -> Result<(Vec<Leaf>, Vec<String>)> {
    let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
    let (chosen, given) = match &options.columns {
        Some(wanted) => (locate(file, &names, wanted)?, wanted.clone()),
        None => ((0..names.len()).collect(), names),
    };
    if given.is_empty() && leaves.is_empty() {
        return Err(malformed(file, "it has no columns"));
    }
    if let Some(column) = repeated(&given) {
        return Err(Error::DuplicateColumn { file: file.to_owned(), column: column.to_owned() });
    }
    Ok((chosen.into_iter().map(|j| leaves[j].clone()).collect(), given))
}

/// The columns read so far.
struct Rows<'a> {
    file: &'a str,
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// Rows passed, taken or not.
    passed: usize,
    dropped: usize,
    drop_missing: bool,
}

impl<'a> Rows<'a> {
    fn new(file: &'a str, names: Vec<String>, drop_missing: bool) -> Self {
        let columns = vec![Vec::new(); names.len()];
        Self { file, names, columns, passed: 0, dropped: 0, drop_missing }
    }

    /// Appends the rows of one group.
    fn take(&mut self, group: &dyn RowGroupReader, leaves: &[Leaf]) -> Result<()> {
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| malformed(self.file, "it has a negative number of rows"))?;
        let pairs = leaves.iter().zip(&self.names);
        let chunks =
            pairs.map(|(leaf, name)| self.chunk(group, leaf, name, rows)).collect::<Result<Vec<_>>>()?;
        if self.drop_missing {
            self.append_complete(&chunks, rows)
        } else {
            self.append_all(chunks)?
        }
        self.passed += rows;
        Ok(())
    }

    /// One column of one group.
    fn chunk(&self, group: &dyn RowGroupReader, leaf: &Leaf, name: &str, rows: usize) -> Result<Chunk> {
        let number = leaf.number.as_ref().map_err(|kind| Error::ColumnType {
            file: self.file.to_owned(),
            column: printable(name.as_bytes()),
            kind: kind.clone(),
        })?;
        check_codec(self.file, group, leaf.position)?;
        let chunk = group
            .get_column_reader(leaf.position)
            .map_err(Failure::from)
            .and_then(|reader| read_chunk(reader, *number, leaf.definition))
            .map_err(|failure| match failure {
                Failure::Parquet(error) => refused(self.file, error),
                Failure::TooLarge(row, value) => {
                    Error::IntegerTooLarge { place: place(self.file, self.passed + row, name), value }
                }
            })?;
        if chunk.values.len() == rows {
            return Ok(chunk);
        }
        let found = chunk.values.len();
        Err(malformed(
            self.file,
            &format!("column `{name}` should have {rows} rows in a group and has {found}"),
        ))
    }

    /// Appends the rows, all of which must be complete.
    fn append_all(&mut self, chunks: Vec<Chunk>) -> Result<()> {
        let firsts = chunks.iter().map(|chunk| chunk.values.iter().position(|x| !x.is_finite()));
        if let Some((row, j)) = firsts.enumerate().filter_map(|(j, row)| Some((row?, j))).min() {
            let (place, chunk) = (place(self.file, self.passed + row, &self.names[j]), &chunks[j]);
            let text = chunk.text(row);
            let missing = chunk.values[row].is_nan();
            return Err(if missing {
                Error::Missing { place, text }
            } else {
                Error::NonFinite { place, text }
            });
        }
        for (column, mut chunk) in self.columns.iter_mut().zip(chunks) {
            column.append(&mut chunk.values);
        }
        Ok(())
    }

    /// Appends the rows that are complete and counts the others.
    fn append_complete(&mut self, chunks: &[Chunk], rows: usize) {
        let complete: Vec<bool> =
            (0..rows).map(|i| chunks.iter().all(|chunk| chunk.values[i].is_finite())).collect();
        self.dropped += complete.iter().filter(|kept| !**kept).count();
        for (column, chunk) in self.columns.iter_mut().zip(chunks) {
            column.extend(chunk.values.iter().zip(&complete).filter(|(_, kept)| **kept).map(|(x, _)| *x));
        }
    }

    fn finish(self) -> Result<Table> {
        let file = self.file;
        if self.passed == 0 {
            return Err(Error::NoRows { file: file.to_owned() });
        }
        if self.dropped == self.passed {
            return Err(Error::AllDropped { file: file.to_owned(), dropped: self.dropped });
        }
        Ok(Table::new(file, self.names, self.columns)?.with_dropped(self.dropped))
    }
}

/// The numbers of one column in one row group; NaN where there is none.
#[derive(Default)]
struct Chunk {
    values: Vec<f64>,
    first_null: Option<usize>,
}

impl Chunk {
    fn push(&mut self, number: Result<f64, i128>) -> Result<(), Failure> {
        self.values.push(number.map_err(|integer| Failure::TooLarge(self.values.len(), integer))?);
        Ok(())
    }

    fn push_null(&mut self) {
        self.first_null.get_or_insert(self.values.len());
        self.values.push(f64::NAN);
    }

    /// How the file marks the value of the first row that has none.
    fn text(&self, row: usize) -> String {
        if self.first_null == Some(row) { "null".to_owned() } else { self.values[row].to_string() }
    }
}

/// Why a column cannot be read.
enum Failure {
    Parquet(ParquetError),
    /// The row in its group, and an integer that would lose digits.
    TooLarge(usize, i128),
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

/// Reads a column's numbers, whatever type they are stored as.
fn read_chunk(reader: ColumnReader, number: Number, definition: i16) -> Result<Chunk, Failure> {
    use ColumnReader::*;
    match (reader, number) {
        (BoolColumnReader(r), _) => numbers(r, definition, |x| Ok(f64::from(u8::from(*x)))),
        (FloatColumnReader(r), _) => numbers(r, definition, |x| Ok(f64::from(*x))),
        (DoubleColumnReader(r), _) => numbers(r, definition, |x| Ok(*x)),
        (Int32ColumnReader(r), Number::Unsigned) => {
            numbers(r, definition, |x| Ok(f64::from(x.cast_unsigned())))
        }
        (Int32ColumnReader(r), Number::Decimal(scale)) => {
            numbers(r, definition, |x| Ok(decimal(i128::from(*x), scale)))
        }
        (Int32ColumnReader(r), _) => numbers(r, definition, |x| Ok(f64::from(*x))),
        (Int64ColumnReader(r), Number::Unsigned) => numbers(r, definition, |x| exact(x.cast_unsigned())),
        (Int64ColumnReader(r), Number::Decimal(scale)) => {
            numbers(r, definition, |x| Ok(decimal(i128::from(*x), scale)))
        }
        (Int64ColumnReader(r), _) => numbers(r, definition, |x| exact(*x)),
        (FixedLenByteArrayColumnReader(r), Number::Half) => {
            numbers(r, definition, |x: &FixedLenByteArray| Ok(half(little_endian(x.data()))))
        }
        (FixedLenByteArrayColumnReader(r), Number::Decimal(scale)) => {
            numbers(r, definition, |x: &FixedLenByteArray| Ok(decimal(big_endian(x.data()), scale)))
        }
        (ByteArrayColumnReader(r), Number::Decimal(scale)) => {
            numbers(r, definition, |x: &ByteArray| Ok(decimal(big_endian(x.data()), scale)))
        }
        _ => Err(ParquetError::General("a column is not of the type it claims".to_owned()).into()),
    }
}

/// Reads batch by batch; a value is there where its definition level is the full one.
fn numbers<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    definition: i16,
    convert: impl Fn(&T::T) -> Result<f64, i128>,
) -> Result<Chunk, Failure> {
    let mut chunk = Chunk::default();
    let (mut levels, mut found) = (Vec::new(), Vec::new());
    loop {
        levels.clear();
        found.clear();
        let (records, _, _) = reader.read_records(BATCH, Some(&mut levels), None, &mut found)?;
        if records == 0 {
            return Ok(chunk);
        }
        let mut found = found.iter();
        for i in 0..records {
            let there = definition == 0 || levels.get(i) == Some(&definition);
            match if there { found.next() } else { None } {
                Some(value) => chunk.push(convert(value))?,
                None => chunk.push_null(),
            }
        }
    }
}

/// The first two bytes, least significant first.
fn little_endian(bytes: &[u8]) -> u16 {
    bytes.iter().take(2).rev().fold(0, |sum, byte| sum << 8 | u16::from(*byte))
}

/// A signed integer of any number of bytes, most significant first.
fn big_endian(bytes: &[u8]) -> i128 {
    let sign = if bytes.first().is_some_and(|byte| byte >> 7 == 1) { -1 } else { 0 };
    bytes.iter().fold(sign, |sum, byte| sum << 8 | i128::from(*byte))
}

fn check_codec(file: &str, group: &dyn RowGroupReader, column: usize) -> Result<()> {
    use ::parquet::basic::Compression::{BROTLI, LZ4, LZ4_RAW, LZO};
    let codec = match group.metadata().column(column).compression() {
        LZ4 | LZ4_RAW => "LZ4",
        BROTLI(_) => "Brotli",
        LZO => "LZO",
        _ => return Ok(()),
    };
    Err(Error::Codec { file: file.to_owned(), codec })
}

fn malformed(file: &str, reason: &str) -> Error {
    Error::Malformed { file: file.to_owned(), format: "Parquet", reason: reason.to_owned() }
}

/// What the decoder or the system says, as one sentence.
fn refused(file: &str, error: ParquetError) -> Error {
    let text = match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text,
        ParquetError::External(inner) => match inner.downcast_ref::<std::io::Error>() {
            Some(error) => reason(error),
            None => inner.to_string(),
        },
        other => other.to_string(),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    malformed(file, words.join(" ").replace(". ", "; ").trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_width_are_two_complements() {
        assert_eq!(big_endian(&[0xff]), -1);
        assert_eq!(big_endian(&[0x00, 0xff]), 255);
        assert_eq!(big_endian(&[0x80, 0x00]), -32768);
        assert_eq!(big_endian(&[0xff; 16]), -1);
        assert_eq!(big_endian(&[]), 0);
        assert_eq!(little_endian(&[0x00, 0x3c]), 0x3c00);
    }
}
