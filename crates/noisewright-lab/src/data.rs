//! Data files: as bytes, read again for every model's columns.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use noisewright::{Points, Space, free_memory};
use noisewright_data::Options;

use crate::Mistake;
use crate::lanes::locked;

/// Files kept at once; the oldest goes first.
const MOST_FILES: usize = 8;

/// A data file that is held in memory.
#[derive(Clone)]
pub struct DataFile {
    /// What it is called, and by whose ending its format is told.
    pub name: String,
    /// What is in it.
    pub bytes: Arc<[u8]>,
}

impl DataFile {
    /// A file from its name and what is in it.
    #[must_use]
    pub fn new(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }

    /// The columns of the model's variables.
    pub(crate) fn points(&self, space: &Space) -> Result<Points, Mistake> {
        let options =
            Options::default().most_bytes(free_memory()).columns(space.names()).names(space.names());
        let table = noisewright_data::read_from(&*self.bytes, &self.name, &options)
            .map_err(|error| Mistake::data(error.advising(None)))?;
        let points = Points::from_columns(space.names(), table.columns())?;
        space.check_points(points.view()).map_err(|error| Mistake {
            field: Some("data"),
            ..Mistake::new(format!("{}: {error}", table.source()))
        })?;
        Ok(points)
    }
}

/// The files that pages have sent, by number.
#[derive(Default)]
pub(crate) struct Files {
    kept: Mutex<(usize, VecDeque<(usize, DataFile)>)>,
}

impl Files {
    /// Keeps a file, and says by which number it is asked for.
    pub(crate) fn add(&self, file: DataFile) -> usize {
        let mut kept = locked(&self.kept);
        kept.0 += 1;
        let number = kept.0;
        kept.1.push_back((number, file));
        if kept.1.len() > MOST_FILES {
            kept.1.pop_front();
        }
        number
    }

    pub(crate) fn get(&self, number: usize) -> Result<DataFile, Mistake> {
        let kept = locked(&self.kept);
        let found = kept.1.iter().find(|(own, _)| *own == number).map(|(_, file)| file.clone());
        found.ok_or_else(|| Mistake::data("the data are no longer there: give the file again"))
    }
}
