//! Settings of a fit that have no effect beside each other: refused in the library's words.

use pyo3::prelude::*;

use crate::failure::Raise;

/// Refuses the first of the settings, by name, that has no effect beside the noise (in words, or drawn elsewhere) and the
/// others.
#[pyfunction]
pub(crate) fn check_settings(
    py: Python<'_>,
    method: &str,
    noise: &str,
    drawn: bool,
    given: Vec<String>,
) -> PyResult<()> {
    noisewright_bindings::check_settings(method, noise, drawn, &given)
        .map_err(|failure| failure.exception(py))
}
