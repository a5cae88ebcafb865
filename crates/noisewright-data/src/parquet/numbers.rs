//! The numbers of one column, whatever type a Parquet file stores them as.

use std::cell::RefCell;

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType, DoubleType, FixedLenByteArray};
use ::parquet::errors::ParquetError;

use super::schema::{Number, decimal};
use crate::labels::Labels;
use crate::npy::{exact, half};

/// Rows decoded at a time: what a file claims to hold is believed only as far as it is found.
const BATCH: usize = 1 << 14;

/// The numbers of some rows of one column; NaN where there is none.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) values: Vec<f64>,
    first_null: Option<usize>,
    /// Definition levels of a batch, in memory that every batch uses.
    levels: Vec<i16>,
}

impl Chunk {
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.first_null = None;
    }

    fn push(&mut self, number: Result<f64, i128>) -> Result<(), Failure> {
        self.values.push(number.map_err(|integer| Failure::TooLarge(self.values.len(), integer))?);
        Ok(())
    }

    fn push_null(&mut self) {
        self.first_null.get_or_insert(self.values.len());
        self.values.push(f64::NAN);
    }

    /// How the file marks the value of the first row that has none.
    pub(super) fn text(&self, row: usize) -> String {
        if self.first_null == Some(row) { "null".to_owned() } else { self.values[row].to_string() }
    }
}

/// Why a column cannot be read.
pub(super) enum Failure {
    Parquet(ParquetError),
    /// The row in its chunk, and an integer that would lose digits.
    TooLarge(usize, i128),
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

/// One column of one row group, read piece by piece.
pub(super) struct Column {
    pub(super) reader: ColumnReader,
    pub(super) number: Number,
    /// The definition level of a value that is there.
    pub(super) definition: i16,
}

impl Column {
    /// Passes over the next numbers.
    pub(super) fn skip(&mut self, count: usize) -> Result<(), ParquetError> {
        use ColumnReader::*;
        let skipped = match &mut self.reader {
            BoolColumnReader(r) => r.skip_records(count),
            FloatColumnReader(r) => r.skip_records(count),
            DoubleColumnReader(r) => r.skip_records(count),
            Int32ColumnReader(r) => r.skip_records(count),
            Int64ColumnReader(r) => r.skip_records(count),
            Int96ColumnReader(r) => r.skip_records(count),
            FixedLenByteArrayColumnReader(r) => r.skip_records(count),
            ByteArrayColumnReader(r) => r.skip_records(count),
        }?;
        if skipped == count { Ok(()) } else { Err(ParquetError::EOF("a column is too short".to_owned())) }
    }

    /// Appends the next numbers to the chunk, up to `most`; fewer only at the end of the column.
    pub(super) fn read(
        &mut self,
        most: usize,
        chunk: &mut Chunk,
        labels: &RefCell<Labels>,
    ) -> Result<(), Failure> {
        use ColumnReader::*;
        let Self { reader, number, definition } = self;
        let plan = Plan { definition: *definition, most };
        match (reader, *number) {
            (BoolColumnReader(r), _) => plan.numbers(r, chunk, |x| Ok(f64::from(u8::from(*x)))),
            (FloatColumnReader(r), _) => plan.numbers(r, chunk, |x| Ok(f64::from(*x))),
            (DoubleColumnReader(r), _) => plan.doubles(r, chunk),
            (Int32ColumnReader(r), Number::Unsigned) => {
                plan.numbers(r, chunk, |x| Ok(f64::from(x.cast_unsigned())))
            }
            (Int32ColumnReader(r), Number::Decimal(scale)) => {
                plan.numbers(r, chunk, |x| Ok(decimal(i128::from(*x), scale)))
            }
            (Int32ColumnReader(r), _) => plan.numbers(r, chunk, |x| Ok(f64::from(*x))),
            (Int64ColumnReader(r), Number::Unsigned) => plan.numbers(r, chunk, |x| exact(x.cast_unsigned())),
            (Int64ColumnReader(r), Number::Decimal(scale)) => {
                plan.numbers(r, chunk, |x| Ok(decimal(i128::from(*x), scale)))
            }
            (Int64ColumnReader(r), _) => plan.numbers(r, chunk, |x| exact(*x)),
            (FixedLenByteArrayColumnReader(r), Number::Half) => {
                plan.numbers(r, chunk, |x: &FixedLenByteArray| Ok(half(little_endian(x.data()))))
            }
            (FixedLenByteArrayColumnReader(r), Number::Decimal(scale)) => {
                plan.numbers(r, chunk, |x: &FixedLenByteArray| Ok(decimal(big_endian(x.data()), scale)))
            }
            (ByteArrayColumnReader(r), Number::Decimal(scale)) => {
                plan.numbers(r, chunk, |x: &ByteArray| Ok(decimal(big_endian(x.data()), scale)))
            }
            (ByteArrayColumnReader(r), Number::Label) => {
                plan.numbers(r, chunk, |x: &ByteArray| Ok(labels.borrow_mut().number(x.data())))
            }
            _ => Err(ParquetError::General("a column is not of the type it claims".to_owned()).into()),
        }
    }
}

/// How much to read, and how to tell a value from none.
struct Plan {
    definition: i16,
    most: usize,
}

impl Plan {
    /// Reads batch by batch; a value is there where its definition level is the full one.
    fn numbers<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        chunk: &mut Chunk,
        convert: impl Fn(&T::T) -> Result<f64, i128>,
    ) -> Result<(), Failure> {
        let (mut levels, mut found) = (std::mem::take(&mut chunk.levels), Vec::new());
        let mut left = self.most;
        while left > 0 {
            levels.clear();
            found.clear();
            let (records, _, _) =
                reader.read_records(left.min(BATCH), Some(&mut levels), None, &mut found)?;
            if records == 0 {
                break;
            }
            left -= records.min(left);
            chunk.values.reserve(records);
            if found.len() == records {
                found.iter().try_for_each(|value| chunk.push(convert(value)))?;
            } else {
                self.with_holes(records, &levels, &found, chunk, &convert)?;
            }
        }
        chunk.levels = levels;
        Ok(())
    }

    /// The same for what is a double already: it is decoded to where it belongs.
    fn doubles(&self, reader: &mut ColumnReaderImpl<DoubleType>, chunk: &mut Chunk) -> Result<(), Failure> {
        let mut levels = std::mem::take(&mut chunk.levels);
        let mut left = self.most;
        while left > 0 {
            levels.clear();
            let before = chunk.values.len();
            let (records, _, _) =
                reader.read_records(left.min(BATCH), Some(&mut levels), None, &mut chunk.values)?;
            if records == 0 {
                break;
            }
            left -= records.min(left);
            if chunk.values.len() - before != records {
                let found = chunk.values.split_off(before);
                self.with_holes(records, &levels, &found, chunk, |x| Ok(*x))?;
            }
        }
        chunk.levels = levels;
        Ok(())
    }

    fn with_holes<V>(
        &self,
        records: usize,
        levels: &[i16],
        found: &[V],
        chunk: &mut Chunk,
        convert: impl Fn(&V) -> Result<f64, i128>,
    ) -> Result<(), Failure> {
        let mut found = found.iter();
        for i in 0..records {
            let there = self.definition == 0 || levels.get(i) == Some(&self.definition);
            match if there { found.next() } else { None } {
                Some(value) => chunk.push(convert(value))?,
                None => chunk.push_null(),
            }
        }
        Ok(())
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
