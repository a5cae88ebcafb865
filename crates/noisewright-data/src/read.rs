//! The way in: a path or a reader, its format told, handed to the reader of that format.

use std::io::Read;
use std::path::Path;

use crate::input::Input;
use crate::{Error, Format, Options, Result, Table, csv, npy, npz, parquet, stan};

/// Reads the columns of a file, or of standard input if the path is `-`.
///
/// The format is told from the first bytes and the name unless [`Options::format`] gives it; gzip is unpacked.
///
/// # Errors
/// When the file cannot be read, a column is not there, or a value in a taken column is no finite number.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<Table> {
    decode(Input::open(path.as_ref())?, options)
}

/// Reads columns from anything that gives bytes; `name` is what messages call it, and its ending helps to tell the format.
///
/// ```
/// use noisewright_data::{Options, read_from};
/// let table = read_from("a;b\n1;2\n".as_bytes(), "pasted", &Options::default())?;
/// assert_eq!(table.column("b")?, &[2.0]);
/// # Ok::<(), noisewright_data::Error>(())
/// ```
///
/// # Errors
/// As for [`read`].
pub fn read_from(reader: impl Read, name: &str, options: &Options) -> Result<Table> {
    decode(Input::new(name, reader)?, options)
}

/// Reads several files with the same columns, one Markov chain each, into one table whose [`Table::chains`] says where
/// each chain ends.
///
/// # Errors
/// As for [`read`], and when there is no file or the files differ in their columns.
pub fn read_chains<P: AsRef<Path>>(paths: &[P], options: &Options) -> Result<Table> {
    let (first, rest) = paths.split_first().ok_or(Error::NoChains)?;
    let mut all = read(first, options)?.with_chains();
    for path in rest {
        all.append(read(path, options)?)?;
    }
    Ok(all)
}

fn decode(input: Input<'_>, options: &Options) -> Result<Table> {
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(&input.file, &input.head)?,
    };
    match format {
        Format::Csv => csv::read(input, options),
        Format::StanCsv => stan::read(input, options),
        Format::Parquet => parquet::read(input, options),
        Format::Npy => npy::read(input, options),
        Format::Npz => npz::read(input, options),
    }
}
