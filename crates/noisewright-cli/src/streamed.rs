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
        let mut kept =
            Kept { columns: vec![Vec::new(); dimension + usize::from(self.weighted)], step: 1, rows: 0 };
        let mut blocks = self.stream.blocks()?;
        let (mut weight, mut varied) = (0.0, Varied::new(dimension));
        while let Some(block) = blocks.next_block()? {
            weight += self.check(&block)?;
            varied.look(&block);
            kept.add(&block);
        }
        if let Some((column, value)) = varied.constant() {
            return Err(rows::constant(self.file(), &self.space.names()[column], value));
        }
        if weight == 0.0 {
            let column = self.stream.names()[dimension].clone();
            return Err(noisewright_data::Error::NoWeight { file: self.file().to_owned(), column }.into());
        }
        self.checked.store(true, Ordering::Relaxed);
        let dropped = blocks.dropped();
        let weights = if self.weighted { kept.columns.pop() } else { None };
        let points = Points::from_columns(self.space.names(), &kept.columns)?;
        Ok(Thinned { points, weights, dropped })
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
            let error = noisewright::Error::Rows { reason: format!("{} cannot be read again", self.file()) };
            if let Ok(mut stored) = self.failure.lock() {
                *stored = Some(failure);
            }
            error
        })
    }
}

/// Whether each column has two different values.
struct Varied {
    first: Vec<Option<f64>>,
    varied: Vec<bool>,
}

impl Varied {
    fn new(columns: usize) -> Self {
        Self { first: vec![None; columns], varied: vec![false; columns] }
    }

    fn look(&mut self, block: &Block<'_>) {
        for (j, (first, varied)) in self.first.iter_mut().zip(&mut self.varied).enumerate() {
            let column = block.column(j);
            let first = *first.get_or_insert(column[0]);
            *varied = *varied || column.iter().any(|x| *x != first);
        }
    }

    /// The first column that never varied, and its value.
    fn constant(&self) -> Option<(usize, f64)> {
        let column = self.varied.iter().position(|varied| !varied)?;
        Some((column, self.first[column]?))
    }
}

/// Every `step`-th row; the step doubles whenever there are too many.
struct Kept {
    columns: Vec<Vec<f64>>,
    step: usize,
    rows: usize,
}

impl Kept {
    fn add(&mut self, block: &Block<'_>) {
        let first = self.rows.next_multiple_of(self.step) - self.rows;
        for (j, column) in self.columns.iter_mut().enumerate() {
            column.extend(block.column(j).iter().skip(first).step_by(self.step));
        }
        self.rows += block.rows();
        while self.columns[0].len() > THINNED {
            for column in &mut self.columns {
                let mut odd = true;
                column.retain(|_| {
                    odd = !odd;
                    !odd
                });
            }
            self.step *= 2;
        }
    }
}
