//! The examples' models and data, compiled in: the folder `examples/` is the one source.

use pyo3::prelude::*;

/// Its name, its model file, and its data files by name.
type Example = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Every example: its name, its model file and its data files.
#[pyfunction]
pub(crate) fn examples() -> Vec<(&'static str, &'static str, Vec<(&'static str, &'static str)>)> {
    EXAMPLES.iter().map(|(name, model, files)| (*name, *model, files.to_vec())).collect()
}
