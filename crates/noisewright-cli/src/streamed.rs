//! Data that are read again at each pass, block by block, as a source of rows for a fit.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use noisewright::fit::{Source, Visit};
use noisewright::{Points, Space, View};
use noisewright_data::Stream;

use crate::arguments::RowArguments;
use crate::failure::{Failure, Outcome};
use crate::rows::{self, Wanted};

/// Most rows of a thinned copy.
const THINNED: usize = 1 << 16;

/// A file in blocks.
pub(crate) struct Streamed {
    stream: Stream,
    space: Space,
    clustered: bool,
    weighted: bool,
    passes: AtomicUsize,
    /// Why a pass broke off: the library only learns that it did.
    failure: Mutex<Option<Failure>>,
}

/// Every so-manyth row, as many as fit in memory at ease.
pub(crate) struct Thinned {
    pub(crate) points: Points,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) dropped: usize,
}

impl Streamed {
    pub(crate) fn open(path: &Path, space: &Space, arguments: &RowArguments) -> Outcome<Self> {
        if arguments.chains || arguments.chain_column.is_some() {
            return Err(Failure::Usage(
                "--stream takes rows not to be chains; leave it out to have them".into(),
            ));
        }
        let wanted = Wanted::new(space, arguments)?;
        let stream = Stream::open(path, &wanted.options)?;
        Ok(Self {
            stream,
            space: space.clone(),
            clustered: arguments.cluster.is_some(),
            weighted: arguments.weights.is_some(),
            passes: AtomicUsize::new(0),
            failure: Mutex::new(None),
        })
    }

    pub(crate) fn file(&self) -> &str {
        self.stream.source()
    }

    /// Complete passes so far.
    pub(crate) fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// The failure that a pass broke off with, or the library's own.
    pub(crate) fn failure(&self, error: noisewright::Error) -> Failure {
        let stored = self.failure.lock().ok().and_then(|mut failure| failure.take());
        stored.unwrap_or_else(|| rows::in_rows(error, self.file(), |row| self.place(row)))
    }

    /// `rows.csv, row 3` for a row counted from 0: the file is read once more for its own number.
    fn place(&self, row: usize) -> String {
        let mut before = 0;
        if let Ok(mut blocks) = self.stream.blocks() {
            while let Ok(Some(block)) = blocks.next_block() {
                if row < before + block.rows() {
                    return format!("{}, row {}", self.file(), block.row_number(row - before));
                }
                before += block.rows();
            }
        }
        format!("{}, row {}", self.file(), row + 1)
    }

    /// Some rows that are spread evenly over the file, for pictures.
    pub(crate) fn thinned(&self) -> Outcome<Thinned> {
        let mut some = self.stream.thinned(THINNED, |_| Ok::<(), Failure>(()))?;
        let weights = if self.weighted { some.columns.pop() } else { None };
        some.columns.truncate(self.space.dimension());
        let points = Points::from_columns(self.space.names(), &some.columns)?;
        Ok(Thinned { points, weights, dropped: some.dropped })
    }

    fn pass(&self, visit: Visit<'_>) -> Outcome<()> {
        let columns = self.space.dimension() + usize::from(self.clustered);
        let mut blocks = self.stream.blocks()?;
        while let Some(block) = blocks.next_block()? {
            let weights = if self.weighted { Some(block.weights(columns)?) } else { None };
            visit(View::new(columns, block.rows(), block.values(columns)), weights)?;
        }
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Source for Streamed {
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
        let mut own = Ok(());
        let outcome = self.pass(&mut |view, weights| {
            own = visit(view, weights);
            own.clone()
        });
        own?;
        outcome.map_err(|failure| {
            let again = std::io::Error::other(format!("{} cannot be read again", self.file()));
            let error = noisewright::Error::external(again);
            if let Ok(mut stored) = self.failure.lock() {
                *stored = Some(failure);
            }
            error
        })
    }
}
