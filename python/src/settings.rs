//! Settings of a fit that have no effect beside each other: refused in the library's words.

use noisewright::fit::{FitMethod, FitSetting, NoiseKind, check_effects};
use pyo3::prelude::*;

use crate::failure::Failure;

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
    let by_method =
        method.parse::<FitMethod>().map_err(|error| Failure::from(error).exception(py))?.noise_kind();
    let by_noise = || if drawn { NoiseKind::Drawn } else { NoiseKind::of_words(noise) };
    let kind = by_method.unwrap_or_else(by_noise);
    let given: Vec<FitSetting> = given.iter().filter_map(|name| FitSetting::named(name)).collect();
    check_effects(kind, &given).map_err(|error| Failure::from(error).exception(py))
}
