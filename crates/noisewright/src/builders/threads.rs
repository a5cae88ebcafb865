//! Jobs on a number of threads of their own.

use crate::{Error, Result};

/// Does a job on so many threads; on those of the pool it is called from where none are asked for.
pub(super) fn on_threads<T: Send>(
    threads: Option<usize>,
    job: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let Some(threads) = threads else { return job() };
    if threads == 0 {
        return Err(Error::range("threads", "at least 1", 0.0));
    }
    noisewright_numerics::parallel::on_threads(threads, job)
        .map_err(|error| Error::option("threads", format!("cannot be {threads} here: {error}")))?
}
