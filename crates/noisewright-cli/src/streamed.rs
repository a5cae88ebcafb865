//! Data that are read again at each pass, block by block, as a source of rows for a fit.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use noisewright::fit::{Source, Visit};
use noisewright::{Points, Space, View};
use noisewright_data::{Block, Stream};

use crate::arguments::RowArguments;
use crate::failure::{Failure, Outcome};
use crate::rows::{self, Wanted};

/// Most rows of a thinned copy.
const THINNED: usize = 1 << 16;

/// A file in blocks, checked at the first pass.
pub(crate) struct Streamed {
    stream: Stream,
    space: Space,
    weighted: bool,
    checked: AtomicBool,
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
        if arguments.cluster.is_some() || arguments.chains || arguments.chain_column.is_some() {
            return Err(Failure::Usage(
                "--stream takes every row to be independent; leave it out to have clusters or chains".into(),
            ));
        }
        let wanted = Wanted::new(space, arguments)?;
        let stream = Stream::open(path, &wanted.options)?;
        Ok(Self {
            stream,
            space: space.clone(),
            weighted: arguments.weights.is_some(),
            checked: AtomicBool::new(false),
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
        let with_file = |error: noisewright::Error| Failure::from(error).in_file(self.file());
        stored.unwrap_or_else(|| match error {
            error @ noisewright::Error::DataWithoutDensity { .. } => with_file(error),
            error => error.into(),
        })
    }

    /// Reads all rows once, checks them, and keeps some that are spread evenly over the file.
    pub(crate) fn thinned(&self) -> Outcome<Thinned> {
        let dimension = self.space.dimension();
        let mut weight = 0.0;
        let mut some = self.stream.thinned(THINNED, |block| {
            weight += self.check(block)?;
            Ok::<(), Failure>(())
        })?;
        for (name, constant) in self.space.names().iter().zip(&some.constant) {
            if let Some(value) = constant {
                return Err(rows::constant(self.file(), name, *value));
            }
        }
        if weight == 0.0 {
            let column = self.stream.names()[dimension].clone();
            return Err(noisewright_data::Error::NoWeight { file: self.file().to_owned(), column }.into());
        }
        self.checked.store(true, Ordering::Relaxed);
        let weights = if self.weighted { some.columns.pop() } else { None };
        let points = Points::from_columns(self.space.names(), &some.columns)?;
        Ok(Thinned { points, weights, dropped: some.dropped })
    }

    /// Refuses values outside their domain and weights that are none; gives the sum of the weights.
    fn check(&self, block: &Block<'_>) -> Outcome<f64> {
        let columns: Vec<&[f64]> = (0..self.space.dimension()).map(|j| block.column(j)).collect();
        rows::check_domains(&self.space, &columns, block.source(), |row| block.row_number(row))?;
        if !self.weighted {
            return Ok(block.rows() as f64);
        }
        Ok(block.weights(self.space.dimension())?.iter().sum())
    }

    fn pass(&self, visit: Visit<'_>) -> Outcome<()> {
        let dimension = self.space.dimension();
        let mut blocks = self.stream.blocks()?;
        while let Some(block) = blocks.next_block()? {
            if !self.checked.load(Ordering::Relaxed) {
                self.check(&block)?;
            }
            let weights = self.weighted.then(|| block.column(dimension));
            visit(View::new(dimension, block.rows(), block.values(dimension)), weights)?;
        }
        self.checked.store(true, Ordering::Relaxed);
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Source for Streamed {
    fn dimension(&self) -> usize {
        self.space.dimension()
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
