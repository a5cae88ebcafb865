//! The formats, and how one is told from a file's name and first bytes.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// How a file's numbers are written down.
///
/// ```
/// use noisewright_data::Format;
/// assert_eq!("npy".parse::<Format>(), Ok(Format::Npy));
/// assert_eq!(Format::StanCsv.to_string(), "stan-csv");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Text with a header row; fields separated by comma, semicolon or tab (told from the header), quoted or not; lines
    /// that begin with `#` before the header are comments, and where there are some, so are those below it.
    Csv,
    /// One NumPy array of one or two dimensions: rows, and columns if there are two.
    Npy,
    /// An archive of NumPy arrays: each of one dimension and a column, or a single one of two.
    Npz,
    /// Named columns in binary, in groups of rows; those that hold floats, integers, decimals or booleans can be read.
    Parquet,
    /// Draws as Stan writes them: those of the warm-up are left out, the sampler's own columns (`lp__`, …) marked. Told
    /// from CSV by Stan's version in the leading comments or by `lp__` as the first column.
    StanCsv,
}

impl Format {
    /// Every format, in the order of their names in messages.
    const ALL: [Self; 5] = [Self::Csv, Self::StanCsv, Self::Parquet, Self::Npy, Self::Npz];

    /// The name by which it is asked for.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::StanCsv => "stan-csv",
            Self::Parquet => "parquet",
            Self::Npy => "npy",
            Self::Npz => "npz",
        }
    }

    /// Tells the format from a file's name and its first bytes; the bytes weigh more, since a name may be wrong.
    pub(crate) fn detect(file: &str, head: &[u8]) -> Result<Self> {
        let unsupported = |format| Err(Error::Unsupported { file: file.to_owned(), format });
        match head {
            _ if head.starts_with(b"\x93NUMPY") => Ok(Self::Npy),
            _ if is_spreadsheet(head) => unsupported("spreadsheet"),
            _ if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") => Ok(Self::Npz),
            _ if head.starts_with(b"PAR1") => Ok(Self::Parquet),
            _ if head.starts_with(b"\x89HDF\r\n") => unsupported("HDF5"),
            [] => Ok(Self::Csv),
            _ => match Self::of_name(file) {
                Some(format) => Ok(format),
                None if crate::stan::recognised(head) => Ok(Self::StanCsv),
                None => Ok(Self::Csv),
            },
        }
    }

    /// The binary format that a file's name ends in.
    #[must_use]
    pub fn of_name(file: &str) -> Option<Self> {
        let name = file.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            "parquet" | "pq" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Whether the first bytes are those of Excel's or OpenDocument's files, new or old.
fn is_spreadsheet(head: &[u8]) -> bool {
    let holds = |name: &[u8]| head.windows(name.len()).any(|bytes| bytes == name);
    let zipped = head.starts_with(b"PK\x03\x04")
        && (holds(b"[Content_Types].xml") || holds(b"mimetypeapplication/vnd.oasis"));
    zipped || head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_weigh_more_than_names() {
        let told = |file, head: &[u8]| Format::detect(file, head).unwrap();
        assert_eq!(told("a.csv", b"x,y\n1,2\n"), Format::Csv);
        assert_eq!(told("a.csv", b"\x93NUMPY\x01\x00"), Format::Npy);
        assert_eq!(told("-", b"PK\x03\x04"), Format::Npz);
        assert_eq!(told("a.npy.gz", b"x,y\n"), Format::Npy);
        assert_eq!(told("chain-1.csv", b"# stan_version_major = 2\n"), Format::StanCsv);
        assert_eq!(told("-", b"lp__,theta\n-1,2\n"), Format::StanCsv);
        assert_eq!(told("a.csv", b"# by hand\nx,lp__\n"), Format::Csv);
        assert_eq!(told("a.csv", b"PAR1\x15"), Format::Parquet);
        assert_eq!(told("A.PQ", b"x,y\n"), Format::Parquet);
        assert_eq!(told("a.parquet", b"x,y\n"), Format::Parquet);
        for head in [&b"PK\x03\x04\x14\0[Content_Types].xml"[..], b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"] {
            let sheet = Format::detect("a.xlsx", head).unwrap_err().to_string();
            assert_eq!(
                sheet,
                "a.xlsx is a spreadsheet file, which is not read here; convert it to CSV, Parquet or NPY"
            );
        }
        let other = Format::detect("a.h5", b"\x89HDF\r\n\x1a\n").unwrap_err().to_string();
        assert_eq!(other, "a.h5 is a HDF5 file, which is not read here; convert it to CSV, Parquet or NPY");
    }

    #[test]
    fn names_go_around() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>(), Ok(format));
        }
        let unknown = "xls".parse::<Format>().unwrap_err().to_string();
        assert_eq!(unknown, "`xls` is not a format; the formats are csv, stan-csv, parquet, npy and npz");
    }
}
