//! The threads that computations share.

use std::sync::Arc;

use noisewright_bindings::ThreadPool;
use pyo3::prelude::*;

use crate::failure::Raise;

/// The pool of this process, with as many threads as there are cores.
pub(crate) fn pool(py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    noisewright_bindings::pool(0).map_err(|failure| failure.exception(py))
}
