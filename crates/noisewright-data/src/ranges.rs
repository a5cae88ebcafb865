//! Parquet files one after the other, of whose rows any range can be read: for processes that share the rows among them.

use std::ops::Range;
use std::path::PathBuf;

use crate::gather::{Decoder, Gathered};
use crate::{Error, Format, Options, Result, Stream, parquet};

/// Parquet files, which say how many rows they have, and whose row groups can be passed over.
///
/// ```
/// use noisewright_data::{Options, RowRanges, write_parquet};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("numbers.parquet");
/// write_parquet(&path, &["x"], &[(0..100).map(f64::from).collect::<Vec<f64>>()])?;
/// let files = RowRanges::open(&[path.clone(), path], &Options::default().columns(&["x"]))?;
/// assert_eq!(files.rows(), 200);
/// assert_eq!(files.read(98..102)?, [98.0, 99.0, 0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowRanges {
    files: Vec<Stream>,
    /// Rows of each file.
    counts: Vec<usize>,
}

impl RowRanges {
    /// Opens files and counts their rows, without reading these.
    ///
    /// # Errors
    /// As for [`Stream::open`], for files of other formats, and for rows that are to be dropped.
    pub fn open(paths: &[PathBuf], options: &Options) -> Result<Self> {
        let files: Vec<Stream> =
            paths.iter().map(|path| Stream::open(path, options)).collect::<Result<_>>()?;
        let counts = files.iter().map(|file| Ok(decoder(file)?.said())).collect::<Result<_>>()?;
        Ok(Self { files, counts })
    }

    /// Number of rows of all files.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The files, as the caller named them.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(Stream::source)
    }

    /// The file of a row, counted from 0, and its number there, counted from 1.
    #[must_use]
    pub fn place(&self, row: usize) -> Option<(&str, usize)> {
        let (file, part) = self.parts(row..row.checked_add(1)?).next()?;
        Some((self.files[file].source(), part.start + 1))
    }

    /// The values of some rows, column after column.
    ///
    /// # Errors
    /// As for reading blocks.
    pub fn read(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        let columns = self.files.first().map_or(0, |file| file.names().len());
        let mut gathered = vec![Vec::with_capacity(rows.len()); columns];
        for (file, part) in self.parts(rows) {
            let found = read_part(&self.files[file], part)?;
            gathered.iter_mut().zip(found.columns()).for_each(|(all, more)| all.extend_from_slice(more));
        }
        Ok(gathered.concat())
    }

    /// The files that have some of these rows, and which of theirs.
    fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut before = 0;
        let part = move |(file, count): (usize, &usize)| {
            let first = before;
            before += count;
            let (start, end) = (rows.start.max(first), rows.end.min(before));
            (start < end).then(|| (file, start - first..end - first))
        };
        self.counts.iter().enumerate().filter_map(part)
    }
}

/// The decoder of a file, at its first row.
fn decoder(file: &Stream) -> Result<parquet::Rows> {
    file.check()?;
    let refused = |what| Err(Error::NotInBlocks { file: file.source().to_owned(), what });
    match file.format() {
        Format::Parquet if file.options().drop_missing => refused("a file of which rows are dropped"),
        Format::Parquet => parquet::Rows::open(file.input()?, file.options()),
        _ => refused("a file that is not Parquet"),
    }
}

/// Some rows of one file.
fn read_part(file: &Stream, rows: Range<usize>) -> Result<Gathered> {
    let mut decoder = decoder(file)?;
    let mut gathered = Gathered::new(file.names().len(), false);
    decoder.skip(rows.start)?;
    gathered.count(rows.start, 0);
    while gathered.rows() < rows.len() {
        let room = rows.len() - gathered.rows();
        if !decoder.fill(&mut gathered, room)? {
            return Err(Error::Changed { file: file.source().to_owned() });
        }
    }
    Ok(gathered)
}
