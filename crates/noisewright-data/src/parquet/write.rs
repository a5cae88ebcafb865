//! Writing Parquet: one required column of doubles for each name, compressed with Snappy.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, Repetition, Type as Physical};
use ::parquet::data_type::DoubleType;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use crate::error::reason;
use crate::names::repeated;
use crate::table::check;
use crate::{Error, Result, whole};

/// Rows of a row group.
const GROUP: usize = 100_000;

/// Writes columns into a Parquet file, or to standard output if the path is `-`.
///
/// The columns are doubles without missing values, in row groups of 100 000 rows, compressed with Snappy; every bit is
/// kept. A file appears under its name only when it is complete: it is written beside it and moved there.
///
/// ```
/// use noisewright_data::{Options, read, write_parquet};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("thirds.parquet");
/// write_parquet(&path, &["x", "y"], &[vec![1.0 / 3.0, 2e-308], vec![-0.0, 1e22]])?;
/// assert_eq!(read(&path, &Options::default())?.column("x")?, &[1.0 / 3.0, 2e-308]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When names and columns do not belong together, a name occurs twice, or the system refuses.
pub fn write_parquet<S: AsRef<str>>(path: impl AsRef<Path>, names: &[S], columns: &[Vec<f64>]) -> Result<()> {
    let path = path.as_ref();
    if path == Path::new("-") {
        return write_parquet_to(io::stdout(), "standard output", names, columns);
    }
    check_names(&path.display().to_string(), names, columns)?;
    whole::write_whole(path, |file: &mut File| write_groups(file, names, columns))
}

/// Writes columns as Parquet to anything that takes bytes; `name` is what messages call it.
///
/// # Errors
/// As for [`write_parquet`].
pub fn write_parquet_to<S: AsRef<str>>(
    writer: impl Write + Send,
    name: &str,
    names: &[S],
    columns: &[Vec<f64>],
) -> Result<()> {
    check_names(name, names, columns)?;
    write_groups(writer, names, columns)
        .map_err(|error| Error::Write { file: name.to_owned(), reason: reason(&error) })
}

fn check_names<S: AsRef<str>>(file: &str, names: &[S], columns: &[Vec<f64>]) -> Result<()> {
    check(file, names, columns)?;
    match repeated(names) {
        Some(column) => Err(Error::DuplicateColumn { file: file.to_owned(), column: column.to_owned() }),
        None => Ok(()),
    }
}

fn write_groups<S: AsRef<str>>(
    writer: impl Write + Send,
    names: &[S],
    columns: &[Vec<f64>],
) -> io::Result<()> {
    let rows = columns.first().map_or(0, Vec::len);
    let schema = schema(names).map_err(system)?;
    let out = BufWriter::with_capacity(1 << 16, writer);
    let mut file =
        SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties())).map_err(system)?;
    for start in (0..rows).step_by(GROUP) {
        write_group(&mut file, columns, start, rows.min(start + GROUP)).map_err(system)?;
    }
    let mut out = file.into_inner().map_err(system)?;
    out.flush()
}

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    columns: &[Vec<f64>],
    start: usize,
    end: usize,
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        if let Some(mut writer) = group.next_column()? {
            writer.typed::<DoubleType>().write_batch(&column[start..end], None, None)?;
            writer.close()?;
        }
    }
    group.close()?;
    Ok(())
}

fn schema<S: AsRef<str>>(names: &[S]) -> Result<Type, ParquetError> {
    let field = |name: &S| {
        let builder = Type::primitive_type_builder(name.as_ref(), Physical::DOUBLE);
        builder.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let fields = names.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("schema").with_fields(fields).build()
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        // Draws hardly repeat, and a dictionary that compares numbers could take -0 for 0.
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build()
}

/// What the system said, if it was the system.
fn system(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
