//! Files one after the other, of whose rows any range can be read: for processes that share the rows among them.

use std::ops::Range;
use std::path::PathBuf;

use crate::csv::{self, Mark};
use crate::gather::{Decoder, Gathered};
use crate::object::{is_address, matching};
use crate::{Error, Format, Options, Result, Stream, npy, parquet};

/// Rows of a text file between two places whose bytes are known.
const MARKED: usize = 1 << 13;

/// Parquet, NPY and CSV files whose rows can be passed over. Parquet and NPY files say how many rows they have; a CSV file is passed over
/// once, to count them and to mark where they are.
///
/// ```
/// use noisewright_data::{Options, RowRanges, write_csv, write_parquet};
/// # let folder = tempfile::tempdir()?;
/// # let (first, second) = (folder.path().join("numbers.parquet"), folder.path().join("numbers.csv"));
/// let numbers = [(0..100).map(f64::from).collect::<Vec<f64>>()];
/// write_parquet(&first, &["x"], &numbers)?;
/// write_csv(&second, &["x"], &numbers)?;
/// let files = RowRanges::open(&[first, second], &Options::default().columns(&["x"]))?;
/// assert_eq!(files.rows(), 200);
/// assert_eq!(files.read(98..102)?, [98.0, 99.0, 0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowRanges {
    files: Vec<Ranged>,
}

/// One of the files.
#[derive(Clone, Debug)]
struct Ranged {
    stream: Stream,
    /// Number of rows.
    count: usize,
    /// Rows of each row group of a Parquet file.
    groups: Vec<usize>,
    /// Whether it is a Parquet file of floating-point numbers.
    floating: bool,
    /// Places in a text file.
    marks: Vec<Mark>,
}

impl RowRanges {
    /// Opens files and counts their rows.
    ///
    /// # Errors
    /// As for [`Stream::open`], for files of other formats, and for rows that are to be dropped.
    pub fn open(paths: &[PathBuf], options: &Options) -> Result<Self> {
        let files =
            paths.iter().map(|path| Ranged::of(Stream::open(path, options)?)).collect::<Result<_>>()?;
        Ok(Self { files })
    }

    /// Number of rows of all files.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.files.iter().map(|file| file.count).sum()
    }

    /// The files, as the caller named them.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.stream.source())
    }

    /// Where a row, counted from 0, is: its file, the row group of a Parquet file, counted from 0, and its number there, counted from 1.
    #[must_use]
    pub fn place(&self, row: usize) -> Option<String> {
        let (file, part) = self.parts(row..row.checked_add(1)?).next()?;
        let file = &self.files[file];
        let (mut before, source) = (0, file.stream.source());
        for (number, group) in file.groups.iter().enumerate() {
            if part.start < before + group {
                return Some(format!("{source}, row group {number}, row {}", part.start - before + 1));
            }
            before += group;
        }
        Some(format!("{source}, row {}", part.start + 1))
    }

    /// Rows of each row group of each file; none of files that are not Parquet.
    pub fn row_groups(&self) -> impl Iterator<Item = &[usize]> {
        self.files.iter().map(|file| file.groups.as_slice())
    }

    /// Whether all are Parquet files whose columns hold floating-point numbers: then every reader of Parquet finds the same ones.
    #[must_use]
    pub fn are_floating(&self) -> bool {
        self.files.iter().all(|file| file.floating)
    }

    /// Begins to read some rows, to be had a few at a time.
    ///
    /// ```
    /// use noisewright_data::{Options, RowRanges, write_parquet};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("numbers.parquet");
    /// let numbers = [[0.0, 1.0, 2.0, 3.0], [0.5, 1.5, 2.5, 3.5]].map(Vec::from);
    /// write_parquet(&path, &["x", "y"], &numbers)?;
    /// let files = RowRanges::open(&[path], &Options::default())?;
    /// let (mut passage, mut values) = (files.passage(1..4), Vec::new());
    /// passage.next(2, &mut values)?;
    /// assert_eq!(values, [1.0, 2.0, 1.5, 2.5]);
    /// passage.next(2, &mut values)?;
    /// assert_eq!(values, [3.0, 3.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn passage(&self, rows: Range<usize>) -> Passage<'_> {
        let gathered = Gathered::new(self.columns(), false);
        Passage { files: self, left: rows, open: None, gathered }
    }

    fn columns(&self) -> usize {
        self.files.first().map_or(0, |file| file.stream.names().len())
    }

    /// The values of some rows, column after column.
    ///
    /// # Errors
    /// As for reading blocks.
    pub fn read(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        let mut gathered = vec![Vec::with_capacity(rows.len()); self.columns()];
        for (file, part) in self.parts(rows) {
            let found = self.files[file].read(part)?;
            gathered.iter_mut().zip(found.columns()).for_each(|(all, more)| all.extend_from_slice(more));
        }
        Ok(gathered.concat())
    }

    /// Rows that no file has were asked for.
    fn ended(&self) -> Error {
        Error::NoRows { file: self.sources().last().unwrap_or_default().to_owned() }
    }

    /// The files that have some of these rows, and which of theirs.
    fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut before = 0;
        let part = move |(number, file): (usize, &Ranged)| {
            let first = before;
            before += file.count;
            let (start, end) = (rows.start.max(first), rows.end.min(before));
            (start < end).then(|| (number, start - first..end - first))
        };
        self.files.iter().enumerate().filter_map(part)
    }
}

/// Rows that are read one after the other, in memory that is used again.
pub struct Passage<'r> {
    files: &'r RowRanges,
    /// Rows that are still to come.
    left: Range<usize>,
    /// The file that is being read, and where its last row is among those of all files.
    open: Option<(Box<dyn Decoder>, usize)>,
    gathered: Gathered,
}

impl Passage<'_> {
    /// Writes the next rows to `values`, column after column: `most` of them, fewer only at the end.
    ///
    /// # Errors
    /// As for reading blocks.
    pub fn next(&mut self, most: usize, values: &mut Vec<f64>) -> Result<()> {
        self.gathered.clear();
        let wanted = most.min(self.left.len());
        while self.gathered.rows() < wanted {
            self.fill(wanted - self.gathered.rows())?;
        }
        self.left.start += wanted;
        values.clear();
        self.gathered.columns().iter().for_each(|column| values.extend_from_slice(column));
        Ok(())
    }

    /// Takes some rows of the file that has the next one.
    fn fill(&mut self, most: usize) -> Result<()> {
        let next = self.left.start + self.gathered.rows();
        let place = self.files.parts(next..next + 1).next();
        let Some((file, part)) = place else { return Err(self.files.ended()) };
        let file = &self.files.files[file];
        let (mut decoder, end) = match self.open.take() {
            Some((decoder, end)) if next < end => (decoder, end),
            _ => {
                self.gathered.count(part.start, 0);
                (file.decoder(part.start)?, next + file.count - part.start)
            }
        };
        let before = self.gathered.rows();
        let more = decoder.fill(&mut self.gathered, most.min(end - next))?;
        if !more && self.gathered.rows() == before {
            return Err(Error::Changed { file: file.stream.source().to_owned() });
        }
        self.open = Some((decoder, end));
        Ok(())
    }
}

/// Paths with the addresses that patterns of objects stand for (`s3://bucket/rows/*.parquet`) in their place.
///
/// # Errors
/// When a pattern stands for no object, or the bucket cannot be listed.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        let name = path.display().to_string();
        if is_address(path) && name.contains(['*', '?']) {
            found.extend(matching(&name)?.into_iter().map(PathBuf::from));
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

impl Ranged {
    fn of(stream: Stream) -> Result<Self> {
        stream.check()?;
        let refused = |what| Error::NotInBlocks { file: stream.source().to_owned(), what };
        if stream.options().drop_missing {
            return Err(refused("a file of which rows are dropped"));
        }
        let (input, options) = (stream.input()?, stream.options());
        let (mut groups, mut marks, mut floating) = (Vec::new(), Vec::new(), false);
        let count = match stream.format() {
            Format::Parquet => {
                let rows = parquet::Rows::open(input, options)?;
                (groups, floating) = (rows.said(), rows.floating());
                groups.iter().sum()
            }
            Format::Npy => npy::rows::open_at(&input, options, 0)?.expected(),
            Format::Csv => {
                let found = csv::open_anywhere(&input, options)?.marks(MARKED)?;
                marks = found.1;
                found.0
            }
            Format::StanCsv => return Err(refused("the output of Stan")),
            Format::Npz => return Err(refused("an archive")),
        };
        if count == 0 {
            return Err(Error::NoRows { file: stream.source().to_owned() });
        }
        Ok(Self { stream, count, groups, floating, marks })
    }

    /// A decoder that is at a row.
    fn decoder(&self, row: usize) -> Result<Box<dyn Decoder>> {
        self.stream.check()?;
        let (input, options) = (self.stream.input()?, self.stream.options());
        Ok(match self.stream.format() {
            Format::Parquet => {
                let mut rows = parquet::Rows::open(input, options)?;
                rows.skip(row)?;
                Box::new(rows)
            }
            Format::Npy => Box::new(npy::rows::open_at(&input, options, row)?),
            _ => {
                let mut rows = csv::open_anywhere(&input, options)?;
                rows.go_to(row, &self.marks)?;
                Box::new(rows)
            }
        })
    }

    /// Some rows.
    fn read(&self, rows: Range<usize>) -> Result<Gathered> {
        let mut decoder = self.decoder(rows.start)?;
        let mut gathered = Gathered::new(self.stream.names().len(), false);
        gathered.count(rows.start, 0);
        while gathered.rows() < rows.len() {
            let room = rows.len() - gathered.rows();
            if !decoder.fill(&mut gathered, room)? && gathered.rows() < rows.len() {
                return Err(Error::Changed { file: self.stream.source().to_owned() });
            }
        }
        Ok(gathered)
    }
}
