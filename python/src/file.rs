//! Files that are read in blocks, again at each pass, because they may be larger than memory.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::fit::{Source, Visit};
use noisewright::{Error, Points, Space, View};
use noisewright_data::{Format, Options, Stream};
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome, Raise};
use crate::task::Monitor;
use crate::tree::Tree;

/// Most rows that are kept in memory, for noises that are fitted and for pictures.
const KEPT: usize = 1 << 16;

/// A file, as Python hands it over.
#[derive(FromPyObject)]
pub(crate) struct FileArgument {
    #[pyo3(item)]
    path: PathBuf,
    #[pyo3(item)]
    format: Option<String>,
    #[pyo3(item)]
    drop_missing: bool,
    /// The column that says how often a row counts.
    #[pyo3(item)]
    weights: Option<String>,
    /// The column of numbers that says which rows belong together.
    #[pyo3(item)]
    clusters: Option<String>,
}

impl FileArgument {
    fn options(&self) -> Outcome<Options> {
        let options = Options::default().drop_missing(self.drop_missing);
        let Some(format) = &self.format else { return Ok(options) };
        let format: Format = format.parse().map_err(|error| Failure::Input(format!("`format`: {error}")))?;
        Ok(options.format(format))
    }
}

/// The names of a file's columns.
#[pyfunction]
pub(crate) fn file_columns(py: Python<'_>, file: FileArgument) -> PyResult<Tree> {
    let open = || -> Outcome<Stream> { Stream::open(&file.path, &file.options()?).map_err(unreadable) };
    match open() {
        Ok(stream) => Ok(Tree::from(stream.names().to_vec())),
        Err(failure) => Err(failure.exception(py)),
    }
}

/// A file that cannot be read.
fn unreadable(error: noisewright_data::Error) -> Failure {
    Failure::Input(file_sentence(&error))
}

/// The sentence about a file, with the argument that drops rows.
pub(crate) fn file_sentence(error: &noisewright_data::Error) -> String {
    error.advising(Some("leave such rows out with `drop_missing=True`"))
}

/// The rows of a file: the model's variables, clusters and weights where there are any.
pub(crate) struct FileRows {
    stream: Stream,
    space: Space,
    clustered: bool,
    weighted: bool,
    /// Passes that were made to the end.
    passes: AtomicUsize,
}

/// Some rows, spread over all.
pub(crate) struct SomeRows {
    pub(crate) points: Points,
    pub(crate) weights: Option<Vec<f64>>,
    /// Rows that were left out for a missing value.
    pub(crate) dropped: usize,
}

impl FileRows {
    pub(crate) fn open(file: &FileArgument, space: &Space) -> Outcome<Self> {
        let mut names = space.names().to_vec();
        for (argument, column) in [("clusters", &file.clusters), ("weights", &file.weights)] {
            let Some(column) = column else { continue };
            if names.contains(column) {
                let own = space.names().contains(column);
                let what = if own { "a variable of the model" } else { "that of `clusters`" };
                return Err(Failure::Input(format!("`{argument}`: column `{column}` is {what}")));
            }
            names.push(column.clone());
        }
        let options = file.options()?.columns(&names).names(&names);
        let stream = Stream::open(&file.path, &options).map_err(unreadable)?;
        Ok(Self {
            stream,
            space: space.clone(),
            clustered: file.clusters.is_some(),
            weighted: file.weights.is_some(),
            passes: AtomicUsize::new(0),
        })
    }

    /// Passes over all rows so far, without the first look.
    pub(crate) fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// Some rows for noises that are fitted and for pictures.
    pub(crate) fn some(&self, monitor: &Monitor) -> Outcome<SomeRows> {
        let mut some = self.stream.thinned(KEPT, |_| monitor.cancel.check().map_err(Broken::Visit))?;
        let weights = if self.weighted { some.columns.pop() } else { None };
        some.columns.truncate(self.space.dimension());
        Ok(SomeRows {
            points: Points::from_columns(self.space.names(), &some.columns)?,
            weights,
            dropped: some.dropped,
        })
    }

    fn pass(&self, visit: Visit<'_>) -> Result<(), Broken> {
        let columns = self.space.dimension() + usize::from(self.clustered);
        let mut blocks = self.stream.blocks()?;
        while let Some(block) = blocks.next_block()? {
            let weights = if self.weighted { Some(block.weights(columns)?) } else { None };
            visit(View::new(columns, block.rows(), block.values(columns)), weights).map_err(Broken::Visit)?;
        }
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Why a pass over the rows ended before its time.
enum Broken {
    File(noisewright_data::Error),
    Visit(Error),
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::File(error) => unreadable(error),
            Broken::Visit(error) => Self::Library(error),
        }
    }
}

impl From<noisewright_data::Error> for Broken {
    fn from(error: noisewright_data::Error) -> Self {
        Self::File(error)
    }
}

impl Source for FileRows {
    fn dimension(&self) -> usize {
        self.space.dimension()
    }

    fn has_clusters(&self) -> bool {
        self.clustered
    }

    fn rows(&self) -> Option<usize> {
        self.stream.rows()
    }

    fn for_each_block(&self, visit: Visit<'_>) -> noisewright::Result<()> {
        self.pass(visit).map_err(|broken| match broken {
            Broken::File(error) => Error::external(error),
            Broken::Visit(error) => error,
        })
    }
}
