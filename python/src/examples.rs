//! The examples' models and data, compiled in: the folder `examples/` is the one source.

use pyo3::prelude::*;

/// A data file: its name and its text.
pub(crate) type File = (&'static str, &'static str);

/// An example: its name, its model file if it has one, and its data files.
pub(crate) type Example = (&'static str, Option<&'static str>, &'static [File]);

pub(crate) const EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Every example: its name, its model file if it has one, and its data files.
#[pyfunction]
pub(crate) fn examples() -> Vec<(&'static str, Option<&'static str>, Vec<File>)> {
    EXAMPLES.iter().map(|(name, model, files)| (*name, *model, files.to_vec())).collect()
}
