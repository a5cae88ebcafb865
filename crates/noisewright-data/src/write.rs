//! Writing CSV so that what is read back is the same to the last bit, and never half a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::error::reason;
use crate::number::{Value, value};
use crate::table::check;
use crate::{Error, Format, Result, whole, write_parquet};

/// Writes columns into a file: as Parquet if its name ends in `.parquet` or `.pq`, as CSV otherwise.
///
/// # Errors
/// As for [`write_csv`] and [`write_parquet`].
pub fn write<S: AsRef<str>>(path: impl AsRef<Path>, names: &[S], columns: &[Vec<f64>]) -> Result<()> {
    let path = path.as_ref();
    check_ending(path)?;
    match Format::of_name(&path.to_string_lossy()) {
        Some(Format::Parquet) => write_parquet(path, names, columns),
        _ => write_csv(path, names, columns),
    }
}

/// Endings of formats that are not written: CSV under such a name would deceive its readers.
const NOT_WRITTEN: [&str; 11] =
    ["npy", "npz", "gz", "zip", "xlsx", "xls", "ods", "h5", "hdf5", "feather", "arrow"];

/// Refuses the name of a file to be written that promises a format which [`write()`] does not write.
///
/// ```
/// assert!(noisewright_data::check_ending("draws.parquet").is_ok());
/// assert_eq!(
///     noisewright_data::check_ending("draws.npy").unwrap_err().to_string(),
///     "draws.npy: files that end in .npy are not written here; give a name that ends in .csv or .parquet"
/// );
/// ```
///
/// # Errors
/// When the name ends in that of another format.
pub fn check_ending(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.filter(|ending| NOT_WRITTEN.contains(&ending.as_str())) {
        Some(ending) => Err(Error::NotWritten { file: path.display().to_string(), ending }),
        None => Ok(()),
    }
}

/// Writes columns under a header into a file, or to standard output if the path is `-`.
///
/// A file appears under its name only when it is complete: it is written beside it and moved there. Numbers are
/// written with as many digits as it takes to read the same bits back.
///
/// ```
/// use noisewright_data::{Options, read, write_csv};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("thirds.csv");
/// write_csv(&path, &["x", "y"], &[vec![1.0 / 3.0, 2e-308], vec![-0.0, 1e22]])?;
/// assert_eq!(std::fs::read_to_string(&path)?, "x,y\n0.3333333333333333,-0.0\n2e-308,1e22\n");
/// assert_eq!(read(&path, &Options::default())?.column("x")?, &[1.0 / 3.0, 2e-308]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When names and columns do not belong together, or the system refuses.
pub fn write_csv<S: AsRef<str>>(path: impl AsRef<Path>, names: &[S], columns: &[Vec<f64>]) -> Result<()> {
    let path = path.as_ref();
    if path == Path::new("-") {
        return write_csv_to(io::stdout().lock(), "standard output", names, columns);
    }
    check(&path.display().to_string(), names, columns)?;
    whole::write_whole(path, |file: &mut File| write_rows(file, names, columns))
}

/// Writes columns under a header to anything that takes bytes; `name` is what messages call it.
///
/// # Errors
/// As for [`write_csv`].
pub fn write_csv_to<S: AsRef<str>>(
    writer: impl Write,
    name: &str,
    names: &[S],
    columns: &[Vec<f64>],
) -> Result<()> {
    check(name, names, columns)?;
    write_rows(writer, names, columns)
        .map_err(|error| Error::Write { file: name.to_owned(), reason: reason(&error) })
}

/// Writes blocks of columns, one after the other as they come, under a header: to a file, or to standard output if the
/// path is `-`. A block that cannot be had leaves no file.
///
/// ```
/// use noisewright_data::write_csv_blocks;
/// let blocks = (0..2).map(|k| Ok(vec![vec![f64::from(k)], vec![f64::from(k * k)]]));
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("squares.csv");
/// write_csv_blocks(&path, &["x", "y"], blocks)?;
/// assert_eq!(std::fs::read_to_string(&path)?, "x,y\n0.0,0.0\n1.0,1.0\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`write_csv`], and when a block says so.
pub fn write_csv_blocks<S: AsRef<str>>(
    path: impl AsRef<Path>,
    names: &[S],
    blocks: impl Iterator<Item = io::Result<Vec<Vec<f64>>>>,
) -> Result<()> {
    let path = path.as_ref();
    if path != Path::new("-") {
        return whole::write_whole(path, |file: &mut File| write_blocks(file, names, blocks));
    }
    let failed = |error: io::Error| Error::Write { file: "standard output".into(), reason: reason(&error) };
    write_blocks(io::stdout().lock(), names, blocks).map_err(failed)
}

fn write_blocks<S: AsRef<str>>(
    writer: impl Write,
    names: &[S],
    blocks: impl Iterator<Item = io::Result<Vec<Vec<f64>>>>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, writer);
    write_header(&mut out, names)?;
    for block in blocks {
        write_block(&mut out, &block?)?;
    }
    out.flush()
}

fn write_rows<S: AsRef<str>>(writer: impl Write, names: &[S], columns: &[Vec<f64>]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, writer);
    write_header(&mut out, names)?;
    write_block(&mut out, columns)?;
    out.flush()
}

fn write_header<S: AsRef<str>>(out: &mut impl Write, names: &[S]) -> io::Result<()> {
    let header: Vec<String> = names.iter().map(|name| quoted(name.as_ref())).collect();
    writeln!(out, "{}", header.join(","))
}

fn write_block(out: &mut impl Write, columns: &[Vec<f64>]) -> io::Result<()> {
    for row in 0..columns.first().map_or(0, Vec::len) {
        for (j, column) in columns.iter().enumerate() {
            let separator = if j == 0 { "" } else { "," };
            // `{:?}` is the shortest text that parses to the same bits, with an exponent where that is shorter.
            write!(out, "{separator}{:?}", column[row])?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// A name as a field, in quotes where it could be taken for something else.
fn quoted(name: &str) -> String {
    let special = |c: char| matches!(c, ',' | ';' | '"' | '#') || c.is_control();
    if name.contains(special) || value(name.as_bytes()) != Value::Text {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write_csv(&path, &["x"], &[vec![1.0]]).unwrap();
        assert!(write_csv(&path, &["x", "y"], &[vec![1.0], vec![]]).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n1.0\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = write_csv("/nowhere/at/all.csv", &["x"], &[vec![1.0]]).unwrap_err();
        assert_eq!(error.to_string(), "cannot write /nowhere/at/all.csv: there is no such folder");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_survive() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.csv"), folder.path().join("link.csv"));
        write_csv(&path, &["x"], &[vec![1.0]]).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        write_csv(&link, &["x"], &[vec![2.0]]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n2.0\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        write_csv("/dev/null", &["x"], &[vec![2.0]]).unwrap();
    }

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(quoted("plain name"), "plain name");
        assert_eq!(quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(
            (quoted("2020"), quoted(""), quoted("#x")),
            ("\"2020\"".into(), "\"\"".into(), "\"#x\"".into())
        );
    }
}
