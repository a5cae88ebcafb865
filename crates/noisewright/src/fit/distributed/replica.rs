//! A copy of the fit in a process that has rows: led by the coordinator's answers to the same step, it sums over runs of blocks.

use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::failure::{from_answer, to_answer};
use super::host::{Host, Pass, RunRows, runs};
use super::{fit_by, ratio_by};
use crate::fit::FitOptions;
use crate::fit::sample_blocks::BLOCK;
use crate::{Error, Model, Result, View};

/// A fit that is led by the answers of the one that coordinates it, and sums over rows at the step where it has arrived.
///
/// The fit is deterministic: whatever it has been told of the sums over all rows so far says where it is, and what is to be
/// summed next. So a replica is a function of the model, the options and the log, and a process that is lost is replaced by
/// another that begins with the whole log.
pub struct Replica {
    orders: Sender<Order>,
    step: usize,
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica").field("step", &self.step).finish_non_exhaustive()
    }
}

/// Rows of their own, column by column, and their weights.
type OwnedRun = (Vec<f64>, Option<Vec<f64>>);

enum Order {
    /// Sums over these rows of all.
    Sum { rows: Range<usize>, values: OwnedRun, reply: Sender<(Vec<u8>, OwnedRun)> },
    /// Joins the answers for the parts of a run of rows.
    Join { rows: Range<usize>, parts: Vec<Range<usize>>, answers: Vec<Vec<u8>>, reply: Sender<Vec<u8>> },
    /// Goes on with the answer to the step at hand.
    Answer(Vec<u8>),
}

impl Replica {
    /// Begins a fit of data of so many variables and rows; `run` carries out the work that it is given, as on a pool of threads.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(
        model: Model,
        options: FitOptions,
        (dimension, rows): (usize, usize),
        run: impl FnOnce(&(dyn Fn() + Sync)) + Send + 'static,
    ) -> Result<Self> {
        Self::begin_fit(model, options, (dimension, rows), false, run)
    }

    /// The same for rows that have a column of cluster numbers after the variables, as those of a [`Source`](crate::fit::Source) may.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start_clustered(
        model: Model,
        options: FitOptions,
        shape: (usize, usize),
        run: impl FnOnce(&(dyn Fn() + Sync)) + Send + 'static,
    ) -> Result<Self> {
        Self::begin_fit(model, options, shape, true, run)
    }

    fn begin_fit(
        model: Model,
        options: FitOptions,
        (dimension, rows): (usize, usize),
        clusters: bool,
        run: impl FnOnce(&(dyn Fn() + Sync)) + Send + 'static,
    ) -> Result<Self> {
        // The end of the replica's own fit is of no interest: the coordinator comes to the same one.
        Self::begin((dimension, [rows, 0], clusters), options, run, move |led, options| {
            drop(fit_by(&model, led, options));
        })
    }

    /// The same for a ratio of two samples of so many rows.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start_ratio(
        model: Model,
        options: FitOptions,
        (dimension, rows): (usize, [usize; 2]),
        run: impl FnOnce(&(dyn Fn() + Sync)) + Send + 'static,
    ) -> Result<Self> {
        Self::begin((dimension, rows, false), options, run, move |led, options| {
            drop(ratio_by(&model, led, options));
        })
    }

    fn begin(
        (dimension, rows, clusters): (usize, [usize; 2], bool),
        options: FitOptions,
        run: impl FnOnce(&(dyn Fn() + Sync)) + Send + 'static,
        work: impl Fn(&Led, &FitOptions) + Send + Sync + 'static,
    ) -> Result<Self> {
        let (orders, receive) = channel();
        let led = Led { dimension, rows, clusters, orders: Mutex::new(receive) };
        let body = move || {
            // Quiet: the coordinator reports progress.
            let options = FitOptions { progress: None, ..options };
            run(&|| work(&led, &options));
        };
        thread::Builder::new().name("noisewright-replica".into()).spawn(body).map_err(Error::external)?;
        Ok(Self { orders, step: 0 })
    }

    /// How many answers it has been given.
    #[must_use]
    pub fn step(&self) -> usize {
        self.step
    }

    /// Goes on with the next answers of the log.
    ///
    /// # Errors
    /// When its fit has ended.
    pub fn advance(&mut self, answers: &[Vec<u8>]) -> Result<()> {
        for answer in answers {
            self.orders.send(Order::Answer(answer.clone())).map_err(|_| went_astray())?;
            self.step += 1;
        }
        Ok(())
    }

    /// The answer for a run of rows at this step: their sum, or why there is none. Values come column by column; noise is drawn,
    /// and has no values.
    ///
    /// # Errors
    /// When its fit has ended, or is at a step where nothing is summed.
    pub fn sum(&self, rows: Range<usize>, values: Vec<f64>, weights: Option<Vec<f64>>) -> Result<Vec<u8>> {
        Ok(self.sum_of((values, weights), rows)?.0)
    }

    /// The same with values that are lent: their memory is the caller's again, for the next run. What holds a run is large, and where
    /// it is given back to the system every time, as Dask has its workers do, much of a pass goes into having it back.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum); the values are lost then.
    pub fn sum_lent(
        &self,
        rows: Range<usize>,
        values: &mut Vec<f64>,
        weights: &mut Option<Vec<f64>>,
    ) -> Result<Vec<u8>> {
        let (answer, lent) = self.sum_of((std::mem::take(values), weights.take()), rows)?;
        (*values, *weights) = lent;
        Ok(answer)
    }

    /// The rows of a run in parts of about so many at most, of each of which [`sum_lent`](Self::sum_lent) gives the sum that
    /// [`join`](Self::join) wants: what holds a part stays in a processor's cache, as what holds a run does not.
    #[must_use]
    pub fn parts(rows: &Range<usize>, most: usize) -> Vec<Range<usize>> {
        let of_rows = |part: Range<usize>| part.start * BLOCK..(part.end * BLOCK).min(rows.end);
        runs(blocks(rows), most / BLOCK).into_iter().map(of_rows).collect()
    }

    /// The answer for a run of rows at this step, from those for all its [`parts`](Self::parts) in their order.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn join(
        &self,
        rows: Range<usize>,
        parts: Vec<Range<usize>>,
        mut answers: Vec<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        if let [_] = parts[..]
            && let Some(answer) = answers.pop()
        {
            return Ok(answer);
        }
        let (reply, receive) = channel();
        self.orders.send(Order::Join { rows, parts, answers, reply }).map_err(|_| went_astray())?;
        receive.recv().map_err(|_| went_astray())
    }

    fn sum_of(&self, values: OwnedRun, rows: Range<usize>) -> Result<(Vec<u8>, OwnedRun)> {
        let (reply, receive) = channel();
        self.orders.send(Order::Sum { rows, values, reply }).map_err(|_| went_astray())?;
        receive.recv().map_err(|_| went_astray())
    }
}

/// A replica that is not where the coordinator is.
fn went_astray() -> Error {
    let sentence = "a process's copy of the fit went another way than the one that coordinates it: the processes must have the same \
                    version of noisewright, and processors with the same vector instructions";
    Error::external(std::io::Error::other(sentence))
}

/// The host of a replica's fit.
struct Led {
    dimension: usize,
    /// Rows of the data, or of both samples.
    rows: [usize; 2],
    /// Whether rows have a column of cluster numbers.
    clusters: bool,
    /// Taken by the replica's own fit alone.
    orders: Mutex<Receiver<Order>>,
}

impl Led {
    /// Follows orders until the answer to this step comes; `pass` is what is summed, where there is something to sum.
    fn follow(&self, pass: Option<&dyn Pass>) -> Result<Vec<u8>> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match orders.recv() {
                // Without an answer the reply is dropped, and who waits for it learns that.
                Ok(Order::Sum { rows, values, reply }) => {
                    if let Some(pass) = pass {
                        drop(reply.send((self.sum(pass, rows, &values), values)));
                    }
                }
                Ok(Order::Join { rows, parts, answers, reply }) => {
                    if let Some(pass) = pass {
                        drop(reply.send(join(pass, &rows, &parts, &answers)));
                    }
                }
                Ok(Order::Answer(answer)) => return from_answer(&answer),
                // Nobody gives orders any more.
                Err(_) => return Err(Error::Cancelled),
            }
        }
    }

    /// The answer for a run of rows.
    fn sum(&self, pass: &dyn Pass, rows: Range<usize>, (values, weights): &OwnedRun) -> Vec<u8> {
        let columns = pass.sample().map_or(0, |_| self.dimension + usize::from(self.clusters));
        let fits = values.len() == columns * rows.len()
            && weights.as_ref().is_none_or(|w| w.len() == rows.len())
            && rows.start.is_multiple_of(BLOCK);
        if !fits {
            let (expected, found) = (columns * rows.len(), values.len());
            return to_answer(Err(Error::Shape { what: "values in a run of rows", expected, found }));
        }
        let points = View::new(columns, rows.len(), values);
        to_answer(pass.sum(blocks(&rows), RunRows { points, weights: weights.as_deref() }))
    }
}

/// The blocks of a run of rows.
fn blocks(rows: &Range<usize>) -> Range<usize> {
    rows.start / BLOCK..rows.end.div_ceil(BLOCK)
}

/// The answer for a run of rows from those for its parts; that of the first part with an error is the run's.
fn join(pass: &dyn Pass, rows: &Range<usize>, parts: &[Range<usize>], answers: &[Vec<u8>]) -> Vec<u8> {
    let sums: Result<Vec<Vec<u8>>> = answers.iter().map(|answer| from_answer(answer)).collect();
    let parts: Vec<Range<usize>> = parts.iter().map(blocks).collect();
    to_answer(sums.and_then(|sums| pass.join(blocks(rows), &parts, &sums)))
}

impl Host for Led {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn has_clusters(&self) -> bool {
        self.clusters
    }

    fn rows(&self, sample: usize) -> usize {
        self.rows[sample.min(1)]
    }

    fn pass(&self, pass: &dyn Pass) -> Result<Vec<u8>> {
        self.follow(Some(pass))
    }

    fn goes_on_alone(&self) -> Result<()> {
        Err(Error::Cancelled)
    }

    fn once(&self, _: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        self.follow(None)
    }
}
