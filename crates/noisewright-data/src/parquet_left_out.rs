//! Parquet files when the crate is built without the feature `parquet`: refused in a sentence.

use std::io::Write;
use std::path::Path;

use crate::gather::{Decoder, Gathered};
use crate::input::Input;
use crate::{Error, Options, Result, Table};

fn refused<T>(file: &str) -> Result<T> {
    Err(Error::WithoutParquet { file: file.to_owned() })
}

pub(crate) fn read(input: Input<'_>, _options: &Options) -> Result<Table> {
    refused(&input.file)
}

/// Rows that are never read.
pub(crate) enum Rows {}

impl Rows {
    pub(crate) fn open(input: Input<'static>, _options: &Options) -> Result<Self> {
        refused(&input.file)
    }

    pub(crate) fn said(&self) -> Vec<usize> {
        match *self {}
    }

    pub(crate) fn floating(&self) -> bool {
        match *self {}
    }

    pub(crate) fn skip(&mut self, _rows: usize) -> Result<()> {
        match *self {}
    }
}

impl Decoder for Rows {
    fn names(&self) -> &[String] {
        match *self {}
    }

    fn fill(&mut self, _gathered: &mut Gathered, _room: usize) -> Result<bool> {
        match *self {}
    }
}

/// Refuses to write: the crate was built without the feature `parquet`.
///
/// # Errors
/// Always.
pub fn write_parquet<S: AsRef<str>>(
    path: impl AsRef<Path>,
    _names: &[S],
    _columns: &[Vec<f64>],
) -> Result<()> {
    refused(&path.as_ref().display().to_string())
}

/// Refuses to write: the crate was built without the feature `parquet`.
///
/// # Errors
/// Always.
pub fn write_parquet_to<S: AsRef<str>>(
    _writer: impl Write + Send,
    name: &str,
    _names: &[S],
    _columns: &[Vec<f64>],
) -> Result<()> {
    refused(name)
}
