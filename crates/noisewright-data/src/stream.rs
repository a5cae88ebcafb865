//! A file in blocks of rows, passed over as often as it takes, in memory that does not grow with the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::reason;
use crate::gather::{Decoder, Gathered};
use crate::input::Input;
use crate::object::{Object, is_address};
use crate::{Error, Format, Options, Result, csv, npy, parquet};

/// Rows of every block but the last, whatever the file's own groups of rows are: a few columns of them stay in a processor's cache.
pub const BLOCK_ROWS: usize = 1 << 14;

/// Rows that a file may claim to have: what is made ready for so many must not be more than there is.
const MOST_CLAIMED: usize = 1 << 36;

/// A file of rows that is read in blocks, from its beginning at each pass.
///
/// CSV (gzip as well), Parquet, and NPY stored row by row can be read so. The file must stay as it is between the
/// passes: a change is an error, not a wrong result.
///
/// ```
/// use noisewright_data::{Options, Stream, write_csv};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("numbers.csv");
/// let x: Vec<f64> = (0..100_000).map(f64::from).collect();
/// write_csv(&path, &["x"], &[x])?;
/// let stream = Stream::open(&path, &Options::default().columns(&["x"]))?;
/// for _pass in 0..2 {
///     let (mut blocks, mut sum, mut rows) = (stream.blocks()?, 0.0, 0);
///     while let Some(block) = blocks.next_block()? {
///         sum += block.column(0).iter().sum::<f64>();
///         rows += block.rows();
///     }
///     assert_eq!((rows, sum), (100_000, 4_999_950_000.0));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    path: PathBuf,
    file: String,
    options: Options,
    format: Format,
    names: Vec<String>,
    stamp: Stamp,
    /// Number of rows, where the file says so.
    rows: Option<usize>,
}

impl Stream {
    /// Opens a file and finds its columns; nothing else is read yet.
    ///
    /// # Errors
    /// When the file cannot be opened, read more than once or read in blocks, or a column is not there.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = path.as_ref().to_owned();
        if path == Path::new("-") {
            return Err(Error::OnlyOnce { file: "standard input".to_owned() });
        }
        let input = Input::open(&path)?;
        let file = input.file.clone();
        let stamp = Stamp::of(&path).map_err(|error| unopened(&file, &error))?;
        let stamp = stamp.ok_or_else(|| Error::OnlyOnce { file: file.clone() })?;
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(&file, &input.head)?,
        };
        let decoder = decoder(input, format, options)?;
        let (names, claimed) = (decoder.names().to_vec(), decoder.claimed());
        let rows = claimed.filter(|rows| (1..=MOST_CLAIMED).contains(rows) && !options.drop_missing);
        Ok(Self { path, file, options: options.clone(), format, names, stamp, rows })
    }

    /// The file, as the caller named it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.file
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of rows, where the file says so and none of them is dropped.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// Begins a pass.
    ///
    /// # Errors
    /// When the file is no longer there or has changed since it was opened first.
    pub fn blocks(&self) -> Result<Blocks<'_>> {
        self.check()?;
        let decoder = decoder(Input::open(&self.path)?, self.format, &self.options)?;
        let gathered = Gathered::new(self.names.len(), self.options.drop_missing);
        Ok(Blocks { stream: self, decoder, gathered, values: Vec::new(), ended: false })
    }

    /// The bytes, from the first on.
    pub(crate) fn input(&self) -> Result<Input<'static>> {
        Input::open(&self.path)
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Whether the file is still the one that was opened first.
    pub(crate) fn check(&self) -> Result<()> {
        let file = || self.file.clone();
        match Stamp::of(&self.path) {
            Ok(Some(stamp)) if stamp == self.stamp => Ok(()),
            Ok(_) => Err(Error::Changed { file: file() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Gone { file: file() }),
            Err(error) => Err(unopened(&self.file, &error)),
        }
    }
}

fn unopened(file: &str, error: &io::Error) -> Error {
    Error::Open { file: file.to_owned(), reason: reason(error) }
}

fn decoder(input: Input<'static>, format: Format, options: &Options) -> Result<Box<dyn Decoder>> {
    let file = input.file.clone();
    let refused = |what| Err(Error::NotInBlocks { file, what });
    match format {
        Format::Csv => Ok(Box::new(csv::open(input, options, &mut |_| {})?)),
        Format::Parquet if input.held().is_none() => refused("a Parquet file packed with gzip"),
        Format::Parquet => Ok(Box::new(parquet::Rows::open(input, options)?)),
        Format::Npy => Ok(Box::new(npy::rows::open(input, options)?)),
        Format::StanCsv => refused("the output of Stan"),
        Format::Npz => refused("an archive"),
    }
}

/// One pass over a stream.
pub struct Blocks<'a> {
    stream: &'a Stream,
    decoder: Box<dyn Decoder>,
    gathered: Gathered,
    /// The block at hand, column after column.
    values: Vec<f64>,
    ended: bool,
}

impl Blocks<'_> {
    /// The next block; `None` after the last.
    ///
    /// # Errors
    /// As for [`read`](crate::read), and when the file changes during the pass.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>> {
        if let Err(error) = self.fill() {
            // A file that is written to meanwhile fails in many ways: the change is named, not what came of it.
            self.stream.check()?;
            return Err(error);
        }
        if self.gathered.rows() == 0 {
            self.stream.check()?;
            return Ok(None);
        }
        self.values.clear();
        self.gathered.columns().iter().for_each(|column| self.values.extend_from_slice(column));
        let (stream, values) = (self.stream, self.values.as_slice());
        let (rows, numbers) = (self.gathered.rows(), self.gathered.numbers());
        Ok(Some(Block { stream, values, rows, numbers, before: self.gathered.passed() - rows }))
    }

    /// Rows dropped so far for a missing or non-finite value.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.gathered.dropped()
    }

    fn fill(&mut self) -> Result<()> {
        self.gathered.clear();
        while !self.ended && self.gathered.rows() < BLOCK_ROWS {
            let room = BLOCK_ROWS - self.gathered.rows();
            self.ended = !self.decoder.fill(&mut self.gathered, room)?;
            if self.ended {
                self.gathered.refuse_nothing(&self.stream.file)?;
            }
        }
        Ok(())
    }
}

/// Some rows of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    stream: &'a Stream,
    values: &'a [f64],
    rows: usize,
    numbers: Option<&'a [usize]>,
    /// Rows of the file before the block, where none are dropped.
    before: usize,
}

impl<'a> Block<'a> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The values of the first columns, column after column.
    ///
    /// # Panics
    /// When there are not so many columns.
    #[must_use]
    pub fn values(&self, columns: usize) -> &'a [f64] {
        &self.values[..columns * self.rows]
    }

    /// One column.
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn column(&self, column: usize) -> &'a [f64] {
        &self.values[column * self.rows..(column + 1) * self.rows]
    }

    /// The number of a row in the file, counted from 1 and with the rows that were dropped.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn row_number(&self, row: usize) -> usize {
        self.numbers.map_or(self.before + row + 1, |numbers| numbers[row])
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn names(&self) -> &'a [String] {
        &self.stream.names
    }

    /// The file, as the caller named it.
    #[must_use]
    pub fn source(&self) -> &'a str {
        &self.stream.file
    }
}

/// What tells a file from a later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    identity: Option<(u64, u64)>,
    /// Of an object.
    tag: Option<String>,
}

impl Stamp {
    /// The stamp of a file; `None` for what is no file on disk.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        if is_address(path) {
            let object = Object::open(&path.display().to_string())
                .map_err(|error| io::Error::other(error.to_string()))?;
            let (length, tag) = (object.length(), object.tag().map(str::to_owned));
            return Ok(Some(Self { length, modified: None, identity: None, tag }));
        }
        let data = fs::metadata(path)?;
        let (modified, identity) = (data.modified().ok(), identity(&data));
        let stamp = Self { length: data.len(), modified, identity, tag: None };
        Ok(data.is_file().then_some(stamp))
    }
}

#[cfg(unix)]
fn identity(data: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}
