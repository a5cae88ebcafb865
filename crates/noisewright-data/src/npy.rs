//! NPY: one NumPy array of one or two dimensions, in either order of storage, as columns.

mod header;
pub(crate) mod rows;

use self::header::{Element, Header};
use crate::input::Input;
use crate::names::locate;
use crate::number::place;
use crate::{Error, Options, Result, Table, gather};

/// Largest integer up to which every integer is a 64-bit floating-point number: 2^53.
const EXACT: u64 = 1 << 53;

/// Reads a whole NPY file.
pub(crate) fn read(input: Input<'_>, options: &Options) -> Result<Table> {
    let file = input.file.clone();
    // A complete file is read piece by piece, so that its bytes and its numbers are not held at once.
    if input.held().is_some_and(|(_, length)| rows::is_complete(&input.head, length)) {
        return gather::all(rows::open(input, options)?, &file, options);
    }
    let bytes = input.into_bytes()?;
    if bytes.is_empty() {
        return Err(Error::Empty { file });
    }
    unnamed(&Array::parse(&file, &bytes)?, &file, options)
}

/// The columns of an array that gives them no names.
pub(crate) fn unnamed(array: &Array<'_>, file: &str, options: &Options) -> Result<Table> {
    let names = column_names(file, array.columns, options)?;
    let sources: Vec<_> = (0..array.columns).map(|j| (array, j)).collect();
    chosen_columns(file, &names, &sources, options)
}

/// The names that the caller gives the columns, or `x0`, `x1`, ….
fn column_names(file: &str, columns: usize, options: &Options) -> Result<Vec<String>> {
    match &options.names {
        Some(names) if names.len() == columns => Ok(names.clone()),
        Some(names) => {
            Err(Error::ColumnCount { file: file.to_owned(), found: columns, names: names.clone() })
        }
        None => Ok((0..columns).map(|j| format!("x{j}")).collect()),
    }
}

/// Rows and columns.
fn shape(header: &Header, file: &str) -> Result<(usize, usize)> {
    match header.shape[..] {
        [rows] => Ok((rows, 1)),
        [rows, columns] => Ok((rows, columns)),
        _ => Err(Error::Dimensions { file: file.to_owned(), dimensions: header.shape.len() }),
    }
}

/// The table of the columns asked for, out of named columns of arrays.
pub(crate) fn chosen_columns(
    file: &str,
    names: &[String],
    sources: &[(&Array<'_>, usize)],
    options: &Options,
) -> Result<Table> {
    let (chosen, names) = match &options.columns {
        Some(wanted) => (locate(file, names, wanted)?, wanted.clone()),
        None => ((0..names.len()).collect(), names.to_vec()),
    };
    let rows = chosen.iter().map(|&source| sources[source].0.rows).max().unwrap_or(0);
    gather::check_size(file, rows, chosen.len(), options.most_bytes)?;
    let read = |(&source, name): (&usize, &String)| {
        let (array, column) = sources[source];
        array
            .column(column)
            .map_err(|(row, value)| Error::IntegerTooLarge { place: place(file, row, name), value })
    };
    let columns = chosen.iter().zip(&names).map(read).collect::<Result<Vec<_>>>()?;
    let table = Table::new(file, names, columns)?;
    if options.drop_missing { drop_incomplete(table) } else { refuse_incomplete(table, options) }
}

/// The error about the first row with a value that is not finite, if there is one.
fn refuse_incomplete(table: Table, options: &Options) -> Result<Table> {
    let firsts = table.columns().iter().map(|column| column.iter().position(|x| !options.admits(*x)));
    let Some((row, j)) = firsts.enumerate().filter_map(|(j, row)| Some((row?, j))).min() else {
        return Ok(table);
    };
    let (place, value) = (place(table.source(), row, &table.names()[j]), table.columns()[j][row]);
    let text = value.to_string();
    Err(if value.is_nan() { Error::Missing { place, text } } else { Error::NonFinite { place, text } })
}

fn drop_incomplete(table: Table) -> Result<Table> {
    let rows = table.rows();
    let complete: Vec<bool> = (0..rows).map(|i| table.columns().iter().all(|c| c[i].is_finite())).collect();
    let dropped = complete.iter().filter(|kept| !**kept).count();
    if dropped == rows {
        return Err(Error::AllDropped { file: table.source().to_owned(), dropped });
    }
    let numbers = (1..=rows).zip(&complete).filter(|(_, kept)| **kept).map(|(i, _)| i).collect();
    let (source, names) = (table.source().to_owned(), table.names().to_vec());
    let mut columns = table.into_columns();
    for column in &mut columns {
        let mut kept = complete.iter();
        column.retain(|_| kept.next().copied().unwrap_or(true));
    }
    Ok(Table::new(&source, names, columns)?.with_dropped(dropped).with_numbers(Some(numbers)))
}

/// An array whose header has been read and whose numbers are still bytes.
#[derive(Debug)]
pub(crate) struct Array<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Whether it has two dimensions.
    pub(crate) is_matrix: bool,
    element: Element,
    big_endian: bool,
    fortran_order: bool,
    data: &'a [u8],
}

impl<'a> Array<'a> {
    /// Reads the header and checks that the numbers are all there.
    pub(crate) fn parse(file: &str, bytes: &'a [u8]) -> Result<Self> {
        let malformed = |reason| Error::Malformed { file: file.to_owned(), format: "NPY", reason };
        let (header, data) = Header::parse(bytes).map_err(malformed)?;
        let (element, big_endian) = header.element(file)?;
        let (rows, columns) = shape(&header, file)?;
        let expected = rows.checked_mul(columns).and_then(|count| count.checked_mul(element.size()));
        if expected != Some(data.len()) {
            let expected = expected.map_or("more than can be".to_owned(), |bytes| bytes.to_string());
            return Err(malformed(format!(
                "it should hold {expected} bytes of numbers and holds {}",
                data.len()
            )));
        }
        if data.is_empty() {
            return Err(Error::EmptyArray { file: file.to_owned() });
        }
        let is_matrix = header.shape.len() == 2;
        Ok(Self { rows, columns, is_matrix, element, big_endian, fortran_order: header.fortran_order, data })
    }

    /// One column; the error is the row and value of the first integer that would lose digits.
    pub(crate) fn column(&self, column: usize) -> Result<Vec<f64>, (usize, i128)> {
        match self.element {
            Element::Bool => self.elements(column, |[byte]| Ok(f64::from(u8::from(byte != 0)))),
            Element::F2 => self.elements(column, |bytes| Ok(half(u16::from_le_bytes(bytes)))),
            Element::F4 => self.elements(column, |bytes| Ok(f64::from(f32::from_le_bytes(bytes)))),
            Element::F8 => self.elements(column, |bytes| Ok(f64::from_le_bytes(bytes))),
            Element::I1 => self.elements(column, |bytes| Ok(f64::from(i8::from_le_bytes(bytes)))),
            Element::I2 => self.elements(column, |bytes| Ok(f64::from(i16::from_le_bytes(bytes)))),
            Element::I4 => self.elements(column, |bytes| Ok(f64::from(i32::from_le_bytes(bytes)))),
            Element::I8 => self.elements(column, |bytes| exact(i64::from_le_bytes(bytes))),
            Element::U1 => self.elements(column, |[byte]| Ok(f64::from(byte))),
            Element::U2 => self.elements(column, |bytes| Ok(f64::from(u16::from_le_bytes(bytes)))),
            Element::U4 => self.elements(column, |bytes| Ok(f64::from(u32::from_le_bytes(bytes)))),
            Element::U8 => self.elements(column, |bytes| exact(u64::from_le_bytes(bytes))),
        }
    }

    fn elements<const N: usize>(
        &self,
        column: usize,
        convert: impl Fn([u8; N]) -> Result<f64, i128>,
    ) -> Result<Vec<f64>, (usize, i128)> {
        let (items, _) = self.data.as_chunks::<N>();
        let (first, step) = if self.fortran_order { (column * self.rows, 1) } else { (column, self.columns) };
        let items = items.iter().skip(first).step_by(step).take(self.rows);
        items
            .enumerate()
            .map(|(row, item)| {
                let mut bytes = *item;
                if self.big_endian {
                    bytes.reverse();
                }
                convert(bytes).map_err(|value| (row, value))
            })
            .collect()
    }
}

/// An integer as a floating-point number, or itself if it would lose digits.
pub(crate) fn exact(integer: impl Into<i128>) -> Result<f64, i128> {
    let integer: i128 = integer.into();
    if integer.unsigned_abs() > u128::from(EXACT) { Err(integer) } else { Ok(integer as f64) }
}

/// A half-precision number: sign, 5 bits of exponent, 10 of fraction.
pub(crate) fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match i32::from(bits >> 10 & 0x1f) {
        0 => fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_landmarks() {
        let landmarks = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0400, 6.103515625e-5),
            (0x3555, 0.333251953125),
        ];
        for (bits, number) in landmarks {
            assert_eq!(half(bits), number);
        }
        assert_eq!(half(0x0001), 2_f64.powi(-24));
        assert_eq!(half(0xfc00), f64::NEG_INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn integers_are_exact_or_refused() {
        assert_eq!(exact(1_i64 << 53), Ok(9_007_199_254_740_992.0));
        assert_eq!(exact((1_i64 << 53) + 1), Err(9_007_199_254_740_993));
        assert_eq!(exact(-(1_i64 << 53)), Ok(-9_007_199_254_740_992.0));
        assert_eq!(exact(i64::MIN), Err(i128::from(i64::MIN)));
        assert_eq!(exact(u64::MAX), Err(i128::from(u64::MAX)));
    }
}
