//! Rows gathered from a file: all of them, or as many as a block takes.

use crate::{Error, Result, Table};

/// What reads rows of numbers out of one kind of file, some at a time.
pub(crate) trait Decoder {
    /// Names of the columns taken.
    fn names(&self) -> &[String];

    /// Appends up to `room` rows; false when there are none left.
    fn fill(&mut self, gathered: &mut Gathered, room: usize) -> Result<bool>;
}

/// Columns gathered so far, and how many rows were passed on the way.
#[derive(Debug)]
pub(crate) struct Gathered {
    columns: Vec<Vec<f64>>,
    /// Row numbers in the file, counted from 1; kept only where rows may be dropped.
    numbers: Option<Vec<usize>>,
    passed: usize,
    dropped: usize,
}

impl Gathered {
    pub(crate) fn new(columns: usize, drop_missing: bool) -> Self {
        let numbers = drop_missing.then(Vec::new);
        Self { columns: vec![Vec::new(); columns], numbers, passed: 0, dropped: 0 }
    }

    /// Rows passed, taken or not.
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// Rows left out since they are not complete.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// Rows at hand.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub(crate) fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// Row numbers of the rows at hand, where they are not simply the next ones.
    pub(crate) fn numbers(&self) -> Option<&[usize]> {
        self.numbers.as_deref()
    }

    /// Forgets the rows at hand, not how many there were.
    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        if let Some(numbers) = &mut self.numbers {
            numbers.clear();
        }
    }

    /// Makes room for more rows.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where there is none.
    fn make_room(&mut self, rows: usize, file: &str) -> Result<()> {
        let held = self.rows();
        for column in &mut self.columns {
            // What doubling would take may be too much where what is needed is not.
            if column.try_reserve(rows).is_err() && column.try_reserve_exact(rows).is_err() {
                return Err(Error::OutOfMemory { file: file.to_owned(), rows: held });
            }
        }
        Ok(())
    }

    /// Gives back what is held beyond the rows, and refuses rows of which there is no room for copies: whoever reads a
    /// whole file makes two or three, and has some numbers for every row.
    fn check_copies(&mut self, file: &str) -> Result<()> {
        self.columns.iter_mut().for_each(Vec::shrink_to_fit);
        let mut copies: Vec<f64> = Vec::new();
        match copies.try_reserve_exact((3 * self.columns.len() + 3) * self.rows()) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::OutOfMemory { file: file.to_owned(), rows: self.rows() }),
        }
    }

    /// Appends rows; where they may be dropped, only those that are complete.
    pub(crate) fn extend(&mut self, columns: &[&[f64]], rows: usize) {
        match &mut self.numbers {
            None => {
                for (column, more) in self.columns.iter_mut().zip(columns) {
                    column.extend_from_slice(more);
                }
            }
            Some(numbers) => {
                let complete: Vec<usize> =
                    (0..rows).filter(|&i| columns.iter().all(|column| column[i].is_finite())).collect();
                self.dropped += rows - complete.len();
                numbers.extend(complete.iter().map(|i| self.passed + i + 1));
                for (column, more) in self.columns.iter_mut().zip(columns) {
                    column.extend(complete.iter().map(|&i| more[i]));
                }
            }
        }
        self.passed += rows;
    }

    /// Appends one complete row that the decoder counted itself.
    pub(crate) fn push(&mut self, row: &[f64], number: usize) {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value);
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.push(number);
        }
    }

    /// Takes over the counts of a decoder that keeps them itself.
    pub(crate) fn count(&mut self, passed: usize, dropped: usize) {
        (self.passed, self.dropped) = (passed, dropped);
    }

    /// The error about a file of which nothing was taken.
    pub(crate) fn refuse_nothing(&self, file: &str) -> Result<()> {
        let file = || file.to_owned();
        if self.passed == 0 {
            return Err(Error::NoRows { file: file() });
        }
        if self.dropped == self.passed {
            return Err(Error::AllDropped { file: file(), dropped: self.dropped });
        }
        Ok(())
    }

    /// The table of all rows.
    pub(crate) fn into_table(self, file: &str, names: Vec<String>) -> Result<Table> {
        self.refuse_nothing(file)?;
        let skipped = |numbers: &Vec<usize>| numbers.iter().enumerate().any(|(i, number)| *number != i + 1);
        let numbers = self.numbers.filter(skipped);
        Ok(Table::new(file, names, self.columns)?.with_dropped(self.dropped).with_numbers(numbers))
    }
}

/// Rows of which room is made at a time.
const ROOM: usize = 1 << 16;

/// All rows of a file.
pub(crate) fn all(mut decoder: impl Decoder, file: &str, drop_missing: bool) -> Result<Table> {
    let names = decoder.names().to_vec();
    let mut gathered = Gathered::new(names.len(), drop_missing);
    loop {
        gathered.make_room(ROOM, file)?;
        if !decoder.fill(&mut gathered, ROOM)? {
            break;
        }
    }
    gathered.check_copies(file)?;
    gathered.into_table(file, names)
}
