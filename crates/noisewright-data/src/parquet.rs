//! Parquet: the columns asked for, one row group after the other.

mod guard;
mod numbers;
mod rows;
mod schema;
mod source;
mod write;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::RowGroupReader;

use self::schema::Leaf;
use crate::error::reason;
use crate::input::Input;
use crate::names::{locate, repeated};
use crate::{Error, Options, Result, Table, gather};

pub(crate) use self::rows::Rows;
pub use self::write::{write_parquet, write_parquet_to};

/// Reads a Parquet file.
pub(crate) fn read(input: Input<'_>, options: &Options) -> Result<Table> {
    let file = input.file.clone();
    gather::all(Rows::open(input, options)?, &file, options)
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
