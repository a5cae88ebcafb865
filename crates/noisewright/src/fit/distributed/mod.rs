//! Fits past one process: the same passes over the same blocks, summed by others, with the same bits.
//!
//! A fit is a sequence of sums over blocks of rows, with decisions between them. The [coordinator](fit_distributed) makes the
//! decisions. For every sum it asks [`Workers`], who hold the rows, joins their partial sums in the order of the blocks, and
//! writes the joined sum into a log. Every worker has a [`Replica`] of the fit, which is led by that log to the same
//! step. So the state of a fit is the log, a few kilobytes; what is summed at a step, diagnostics and standard
//! errors with it, need not be known to the protocol; and a worker that is lost costs the sums that it had not yet
//! answered.

mod coordinator;
mod failure;
mod host;
mod partial;
mod replica;

pub use coordinator::{PassRequest, Workers};
pub(crate) use host::{Host, once_by, reduce_by};
pub(crate) use partial::{Partial, Triangle, partial_fields, partial_scratch};
#[cfg(test)]
pub(crate) use partial::{from_bytes, to_bytes};
pub use replica::Replica;

use coordinator::Coordinator;

use super::options::FitOptions;
use super::ratio::{RatioFit, ratio_elsewhere};
use super::result::Fit;
use super::stream::{Elsewhere, fit_elsewhere};
use crate::{Model, Result};

/// Fits a model to rows that other processes hold.
///
/// The answer is that of [`fit_stream`](super::fit_stream) on the same rows in the same order, to the bit, however many workers
/// there are and however they share the rows.
///
/// ```
/// use std::ops::Range;
/// use std::sync::Mutex;
/// use noisewright::fit::{FitOptions, PassRequest, Replica, Workers, fit_distributed};
/// use noisewright::prelude::*;
///
/// /// One process that has all rows, which here is this one.
/// struct One {
///     rows: Vec<f64>,
///     replica: Mutex<Replica>,
/// }
///
/// impl Workers for One {
///     fn dimension(&self) -> usize {
///         1
///     }
///     fn rows(&self) -> usize {
///         self.rows.len()
///     }
///     fn run_rows(&self) -> usize {
///         1 << 16
///     }
///     fn sum(&self, pass: &PassRequest<'_>) -> Result<Vec<Vec<u8>>> {
///         let mut replica = self.replica.lock().unwrap();
///         let done = replica.step();
///         replica.advance(&pass.log[done..])?;
///         // Noise is drawn by the replica itself.
///         let values = |run: &Range<usize>| pass.sample.map_or(Vec::new(), |_| self.rows[run.clone()].to_vec());
///         pass.runs.iter().map(|run| replica.sum(run.clone(), values(run), None)).collect()
///     }
/// }
///
/// let model = Model::from_toml("variables = ['x']\nlog_density = 'm*x - x^2/2'\n[parameters]\nm = 0")?;
/// let options = FitOptions { amount: Amount::Ratio(5.0), ..FitOptions::default() };
/// let rows = sample(&Normal::with_std(0.5, 1.0)?, 4000, 1).into_values();
/// let replica = Replica::start(model.clone(), options.clone(), (1, rows.len()), |work| work())?;
/// let fit = fit_distributed(&model, &One { rows, replica: Mutex::new(replica) }, &options)?;
/// assert!((fit.get("m")?.estimate - 0.5).abs() < 4.0 * fit.get("m")?.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`fit_stream`](super::fit_stream), and when the workers fail.
pub fn fit_distributed(model: &Model, workers: &dyn Workers, options: &FitOptions) -> Result<Fit> {
    fit_by(model, &Coordinator::new(workers), options)
}

/// Fits the logarithm of the ratio of the densities of two samples that other processes hold.
///
/// The answer is that of [`ratio_stream`](super::ratio_stream) on the same rows, to the bit.
///
/// ```
/// use std::ops::Range;
/// use std::sync::Mutex;
/// use noisewright::fit::{FitOptions, PassRequest, Replica, Workers, ratio_distributed};
/// use noisewright::prelude::*;
///
/// /// One process that has both samples, which here is this one.
/// struct One {
///     samples: [Vec<f64>; 2],
///     replica: Mutex<Replica>,
/// }
///
/// impl Workers for One {
///     fn dimension(&self) -> usize {
///         1
///     }
///     fn rows(&self) -> usize {
///         self.samples[0].len()
///     }
///     fn second_rows(&self) -> usize {
///         self.samples[1].len()
///     }
///     fn run_rows(&self) -> usize {
///         1 << 16
///     }
///     fn sum(&self, pass: &PassRequest<'_>) -> Result<Vec<Vec<u8>>> {
///         let mut replica = self.replica.lock().unwrap();
///         let done = replica.step();
///         replica.advance(&pass.log[done..])?;
///         let values = |run: &Range<usize>| pass.sample.map_or(Vec::new(), |k| self.samples[k][run.clone()].to_vec());
///         pass.runs.iter().map(|run| replica.sum(run.clone(), values(run), None)).collect()
///     }
/// }
///
/// // log N(1, 1)/N(0, 1) = x − ½.
/// let model = Model::from_features(&["x"], Space::real(&["x"])?, vec![])?;
/// let (options, rows) = (FitOptions::default(), [3000, 4000]);
/// let first = sample(&Normal::with_std(1.0, 1.0)?, rows[0], 1).into_values();
/// let second = sample(&Normal::with_std(0.0, 1.0)?, rows[1], 2).into_values();
/// let replica = Replica::start_ratio(model.clone(), options.clone(), (1, rows), |work| work())?;
/// let workers = One { samples: [first, second], replica: Mutex::new(replica) };
/// let found = ratio_distributed(&model, &workers, &options)?;
/// let slope = &found.parameters[0];
/// assert!((slope.estimate - 1.0).abs() < 4.0 * slope.se);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`ratio_stream`](super::ratio_stream), and when the workers fail.
pub fn ratio_distributed(model: &Model, workers: &dyn Workers, options: &FitOptions) -> Result<RatioFit> {
    ratio_by(model, &Coordinator::new(workers), options)
}

/// The same for the coordinator and for its replicas.
fn fit_by(model: &Model, host: &dyn Host, options: &FitOptions) -> Result<Fit> {
    fit_elsewhere(model, Elsewhere::Host(host, 0), options)
}

/// The same for a ratio.
fn ratio_by(model: &Model, host: &dyn Host, options: &FitOptions) -> Result<RatioFit> {
    ratio_elsewhere(model, [0, 1].map(|sample| Elsewhere::Host(host, sample)), options)
}
