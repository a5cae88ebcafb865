//! Data files: as bytes, read again for every model's columns.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use noisewright::internal::free_memory;
use noisewright::{Points, Space};
use noisewright_data::Options;

use crate::Mistake;
use crate::lanes::locked;

/// Files that pages have sent and that are kept at once; the oldest goes first.
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

/// The files that can be asked for, by number: those of the beginning, and the last few that pages have sent.
#[derive(Default)]
pub(crate) struct Files {
    first: Vec<DataFile>,
    sent: Mutex<Sent>,
}

#[derive(Default)]
struct Sent {
    /// The number of the next.
    next: usize,
    files: VecDeque<(usize, DataFile)>,
}

impl Files {
    /// Keeps a file for as long as the lab lives; gives the number by which it is asked for.
    pub(crate) fn add_first(&mut self, file: DataFile) -> usize {
        self.first.push(file);
        self.first.len() - 1
    }

    /// Keeps a file that a page has sent, in place of the oldest such one if there are many.
    pub(crate) fn add(&self, file: DataFile) -> usize {
        let mut sent = locked(&self.sent);
        let number = self.first.len() + sent.next;
        sent.next += 1;
        sent.files.push_back((number, file));
        if sent.files.len() > MOST_FILES {
            sent.files.pop_front();
        }
        number
    }

    pub(crate) fn get(&self, number: usize) -> Result<DataFile, Mistake> {
        if let Some(file) = self.first.get(number) {
            return Ok(file.clone());
        }
        let sent = locked(&self.sent);
        let found = sent.files.iter().find(|(own, _)| *own == number).map(|(_, file)| file.clone());
        found.ok_or_else(|| Mistake::data("the data are no longer there: give the file again"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_beginning_stay_and_sent_ones_make_room() {
        let mut files = Files::default();
        let file = |name: usize| DataFile::new(name.to_string(), Vec::new());
        let first: Vec<usize> = (0..20).map(|name| files.add_first(file(name))).collect();
        let sent: Vec<usize> = (20..40).map(|name| files.add(file(name))).collect();
        assert!(first.iter().all(|number| files.get(*number).unwrap().name == number.to_string()));
        let kept = sent.iter().filter(|number| files.get(**number).is_ok()).count();
        assert_eq!((kept, files.get(sent[19]).unwrap().name.as_str()), (MOST_FILES, "39"));
        assert_eq!(files.get(sent[0]).map(|file| file.name).unwrap_err().field, Some("data"));
    }
}
