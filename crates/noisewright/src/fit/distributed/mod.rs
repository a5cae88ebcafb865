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
/// # Errors
/// As for [`fit_stream`](super::fit_stream), and when the workers fail.
pub fn fit_distributed(model: &Model, workers: &dyn Workers, options: &FitOptions) -> Result<Fit> {
    fit_by(model, &Coordinator::new(workers), options)
}

/// Fits the logarithm of the ratio of the densities of two samples that other processes hold.
///
/// The answer is that of [`ratio_stream`](super::ratio_stream) on the same rows, to the bit.
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
