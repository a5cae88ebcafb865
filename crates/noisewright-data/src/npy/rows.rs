//! The rows of an NPY file that is stored row by row (or has one column), some at a time.

use std::io::{BufRead, Read, Seek, SeekFrom};

use super::header::{Element, Header};
use super::{Array, column_names, shape};
use crate::error::reason;
use crate::gather::{Decoder, Gathered};
use crate::input::Input;
use crate::names::locate;
use crate::number::place;
use crate::options::admitted;
use crate::{Error, Options, Result};

/// Rows decoded at a time.
const PIECE: usize = 1 << 14;

/// An opened file whose numbers are still to be read.
pub(crate) struct Rows<R> {
    file: String,
    reader: R,
    names: Vec<String>,
    /// Positions of the columns taken.
    positions: Vec<usize>,
    /// Columns of the array.
    width: usize,
    element: Element,
    big_endian: bool,
    /// Rows still to come.
    left: usize,
    drop_missing: bool,
    minus_infinity: bool,
    bytes: Vec<u8>,
}

/// Whether a file with these first bytes and this length holds all its rows, one after the other.
pub(crate) fn is_complete(head: &[u8], length: u64) -> bool {
    let Ok((header, data)) = Header::parse(head) else { return false };
    let Ok((element, _)) = header.element("") else { return false };
    let Ok((rows, width)) = shape(&header, "") else { return false };
    let bytes = rows.checked_mul(width).and_then(|count| count.checked_mul(element.size()));
    let by_row = !header.fortran_order || width == 1;
    by_row && bytes.is_some_and(|bytes| bytes > 0 && (head.len() - data.len() + bytes) as u64 == length)
}

/// Reads the header and chooses the columns.
pub(crate) fn open<'a>(input: Input<'a>, options: &Options) -> Result<Rows<impl BufRead + use<'a>>> {
    let (file, head) = (input.file.clone(), input.head.clone());
    from_reader(&file, &head, input.into_buffered(), options)
}

/// The same from a row on, counted from 0, of a file whose bytes can be had in any order.
pub(crate) fn open_at(
    input: &Input<'static>,
    options: &Options,
    row: usize,
) -> Result<Rows<impl BufRead + use<>>> {
    let reader = input.anywhere("an NPY file packed with gzip")?;
    let mut rows = from_reader(&input.file, &input.head, reader, options)?;
    let row = row.min(rows.left);
    let bytes = (row as u64).saturating_mul(rows.width.saturating_mul(rows.element.size()) as u64);
    let moved =
        i64::try_from(bytes).map_err(|_| malformed(&rows.file, "its rows are longer than can be".into()))?;
    rows.reader.seek(SeekFrom::Current(moved)).map_err(|error| broken(&rows.file, &error))?;
    rows.left -= row;
    Ok(rows)
}

fn from_reader<R: BufRead>(file: &str, head: &[u8], mut reader: R, options: &Options) -> Result<Rows<R>> {
    let file = file.to_owned();
    if head.is_empty() {
        return Err(Error::Empty { file });
    }
    let (header, data) = Header::parse(head).map_err(|reason| malformed(&file, reason))?;
    let (element, big_endian) = header.element(&file)?;
    let (rows, width) = shape(&header, &file)?;
    if header.fortran_order && width > 1 {
        return Err(Error::NotInBlocks { file, what: "stored column by column" });
    }
    if rows.saturating_mul(width) == 0 {
        return Err(Error::EmptyArray { file });
    }
    let offset = head.len() - data.len();
    let all = column_names(&file, width, options)?;
    let (positions, names) = match &options.columns {
        Some(wanted) => (locate(&file, &all, wanted)?, wanted.clone()),
        None => ((0..width).collect(), all),
    };
    reader.read_exact(&mut vec![0; offset]).map_err(|error| broken(&file, &error))?;
    let (drop_missing, minus_infinity) = (options.drop_missing, options.minus_infinity);
    let bytes = Vec::new();
    Ok(Rows {
        file,
        reader,
        names,
        positions,
        width,
        element,
        big_endian,
        left: rows,
        drop_missing,
        minus_infinity,
        bytes,
    })
}

impl<R: BufRead> Rows<R> {
    /// Reads the bytes of the next rows.
    fn read(&mut self, rows: usize) -> Result<()> {
        let malformed = |reason: &str| Err(malformed(&self.file, reason.to_owned()));
        let Some(length) = self.width.checked_mul(self.element.size()).and_then(|row| row.checked_mul(rows))
        else {
            return malformed("its rows are longer than can be");
        };
        self.bytes.clear();
        let read = self.reader.by_ref().take(length as u64).read_to_end(&mut self.bytes);
        if read.map_err(|error| broken(&self.file, &error))? < length {
            return malformed("it ends before the last of its rows");
        }
        self.left -= rows;
        if self.left == 0 && !self.reader.fill_buf().map_err(|error| broken(&self.file, &error))?.is_empty() {
            return malformed("it goes on after the last of its rows");
        }
        Ok(())
    }

    fn columns(&self, rows: usize, passed: usize) -> Result<Vec<Vec<f64>>> {
        let array = Array {
            rows,
            columns: self.width,
            is_matrix: true,
            element: self.element,
            big_endian: self.big_endian,
            fortran_order: false,
            data: &self.bytes,
        };
        let column = |(&position, name): (&usize, &String)| {
            array.column(position).map_err(|(row, value)| Error::IntegerTooLarge {
                place: place(&self.file, passed + row, name),
                value,
            })
        };
        self.positions.iter().zip(&self.names).map(column).collect()
    }

    /// The error about the first value that is not finite, if there is one.
    fn refuse_incomplete(&self, columns: &[Vec<f64>], passed: usize) -> Result<()> {
        let firsts =
            columns.iter().map(|column| column.iter().position(|x| !admitted(*x, self.minus_infinity)));
        let Some((row, j)) = firsts.enumerate().filter_map(|(j, row)| Some((row?, j))).min() else {
            return Ok(());
        };
        let (place, value) = (place(&self.file, passed + row, &self.names[j]), columns[j][row]);
        let text = value.to_string();
        Err(if value.is_nan() { Error::Missing { place, text } } else { Error::NonFinite { place, text } })
    }
}

impl<R: BufRead> Decoder for Rows<R> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn expected(&self) -> usize {
        self.left
    }

    fn claimed(&self) -> Option<usize> {
        Some(self.left)
    }

    fn fill(&mut self, gathered: &mut Gathered, room: usize) -> Result<bool> {
        let rows = room.min(self.left).min(PIECE);
        if rows == 0 {
            return Ok(false);
        }
        self.read(rows)?;
        let columns = self.columns(rows, gathered.passed())?;
        if !self.drop_missing {
            self.refuse_incomplete(&columns, gathered.passed())?;
        }
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        gathered.extend(&columns, rows);
        Ok(true)
    }
}

fn malformed(file: &str, reason: String) -> Error {
    Error::Malformed { file: file.to_owned(), format: "NPY", reason }
}

fn broken(file: &str, error: &std::io::Error) -> Error {
    Error::Read { file: file.to_owned(), reason: reason(error) }
}
