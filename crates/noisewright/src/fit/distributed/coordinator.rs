//! The one process that decides: it asks the others for sums, joins them in block order, and keeps a log of the answers.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::failure::{from_answer, to_answer};
use super::host::{Host, Pass, rows_of, runs};
use crate::fit::sample_blocks::BLOCK;
use crate::{Error, Result};

/// Other processes that have the rows, each with a [`Replica`](super::Replica) of the fit.
pub trait Workers: Sync {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Whether the rows of a fit have one column more, of cluster numbers, as those of a [`Source`](crate::fit::Source) may.
    fn has_clusters(&self) -> bool {
        false
    }

    /// Number of rows of all of them together.
    fn rows(&self) -> usize;

    /// Number of rows of the second sample of a ratio.
    fn second_rows(&self) -> usize {
        0
    }

    /// Rows of a run of blocks, at most: a run is what one process sums at a time. The result does not depend on it.
    fn run_rows(&self) -> usize;

    /// The answer of [`Replica::sum`](super::Replica::sum) to every run of the pass, in their order.
    ///
    /// # Errors
    /// When the processes cannot do it.
    fn sum(&self, pass: &PassRequest<'_>) -> Result<Vec<Vec<u8>>>;
}

/// What the processes are asked for: the sum over every run of blocks at one step of the fit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PassRequest<'a> {
    /// The answers so far: the step is their number. With them any replica, however new, comes to this step.
    pub log: &'a [Vec<u8>],
    /// How many of them a process knows that was there at the last pass.
    pub known: usize,
    /// The runs: the rows of each.
    pub runs: &'a [Range<usize>],
    /// Which sample's rows have to be read: 0 for the data of a fit or the first sample of a ratio, 1 for its second sample;
    /// none where the rows are noise, and drawn.
    pub sample: Option<usize>,
}

impl PassRequest<'_> {
    /// The number of the step.
    #[must_use]
    pub fn step(&self) -> usize {
        self.log.len()
    }
}

/// The log of a fit, and who sums for it.
pub(super) struct Coordinator<'w> {
    workers: &'w dyn Workers,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    answers: Vec<Vec<u8>>,
    /// The step of the last pass.
    last: usize,
}

impl<'w> Coordinator<'w> {
    pub(super) fn new(workers: &'w dyn Workers) -> Self {
        Self { workers, log: Mutex::new(Log::default()) }
    }

    fn ask(&self, pass: &dyn Pass, log: &Log) -> Result<Vec<u8>> {
        let blocks = 0..pass.rows().div_ceil(BLOCK);
        let nodes = runs(blocks.clone(), self.workers.run_rows() / BLOCK);
        let of_rows: Vec<Range<usize>> = nodes.iter().map(|run| rows_of(run, pass.rows())).collect();
        let request =
            PassRequest { log: &log.answers, known: log.last, runs: &of_rows, sample: pass.sample() };
        let answers = self.workers.sum(&request)?;
        if answers.len() != nodes.len() {
            return Err(Error::internal("there is not one answer for each run of blocks"));
        }
        // The first run with an error has the first block with one.
        let sums: Result<Vec<Vec<u8>>> = answers.iter().map(|answer| from_answer(answer)).collect();
        Ok(to_answer(sums.and_then(|sums| pass.join(blocks, &nodes, &sums))))
    }
}

impl Host for Coordinator<'_> {
    fn dimension(&self) -> usize {
        self.workers.dimension()
    }

    fn has_clusters(&self) -> bool {
        self.workers.has_clusters()
    }

    fn rows(&self, sample: usize) -> usize {
        if sample == 0 { self.workers.rows() } else { self.workers.second_rows() }
    }

    fn pass(&self, pass: &dyn Pass) -> Result<Vec<u8>> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.ask(pass, &log)?;
        log.last = log.answers.len();
        log.answers.push(answer.clone());
        from_answer(&answer)
    }

    fn goes_on_alone(&self) -> Result<()> {
        Ok(())
    }

    fn once(&self, compute: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        let outcome = compute();
        self.log.lock().unwrap_or_else(PoisonError::into_inner).answers.push(to_answer(outcome.clone()));
        outcome
    }
}
