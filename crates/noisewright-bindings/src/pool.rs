//! The threads that computations share: those of this process, made again after a fork, which leaves none behind.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Failure, Outcome};

/// A pool, with the process whose threads it has and the number that was asked for.
struct Held {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

/// Taken by threads that hold the interpreter alone, as does whoever forks: a child never finds it locked.
static POOL: Mutex<Option<Held>> = Mutex::new(None);

/// The pool of this process, of so many threads; of as many as there are cores for 0.
///
/// # Errors
/// Where threads cannot be started.
pub fn pool(threads: usize) -> Outcome<Arc<ThreadPool>> {
    let mut held = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(own) = held.as_ref().filter(|held| held.process == process && held.threads == threads) {
        return Ok(Arc::clone(&own.pool));
    }
    let builder = ThreadPoolBuilder::new().thread_name(|index| format!("noisewright-{index}"));
    let made = builder.num_threads(threads).build();
    let pool = Arc::new(made.map_err(|error| Failure::Broken(error.to_string()))?);
    let former = held.replace(Held { process, threads, pool: Arc::clone(&pool) });
    // A parent's pool has no threads here that could be ended, and must not be waited for.
    if let Some(parents) = former.filter(|former| former.process != process) {
        std::mem::forget(parents);
    }
    Ok(pool)
}
