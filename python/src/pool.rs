//! The threads that computations share: those of this process, made again after a fork, which leaves none behind.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::Failure;

/// The pool, and the process whose threads it has.
///
/// Taken by threads that hold the interpreter alone, as does whoever forks: a child never finds it locked.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The pool of this process.
pub(crate) fn pool(py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let mut held = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, pool)) = held.as_ref().filter(|(of, _)| *of == process) {
        return Ok(Arc::clone(pool));
    }
    let made = ThreadPoolBuilder::new().thread_name(|index| format!("noisewright-{index}")).build();
    let pool = Arc::new(made.map_err(|error| Failure::Broken(error.to_string()).exception(py))?);
    // A parent's pool has no threads here that could be ended, and must not be waited for.
    let parents = held.replace((process, Arc::clone(&pool)));
    std::mem::forget(parents);
    Ok(pool)
}
