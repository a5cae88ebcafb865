//! Rows gathered from a file: all of them, or as many as a block takes.

use crate::{Error, Options, Result, Table};

/// What reads rows of numbers out of one kind of file, some at a time.
pub(crate) trait Decoder {
    /// Names of the columns taken.
    fn names(&self) -> &[String];

    /// How many rows are still to come, where the file says so.
    fn expected(&self) -> usize {
        0
    }

    /// How many rows the file says that it has, at its first one; it may be wrong.
    fn claimed(&self) -> Option<usize> {
        None
    }

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

    /// Makes room for more rows, of `most` bytes in all.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where there is none.
    fn make_room(&mut self, rows: usize, file: &str, most: Option<u64>) -> Result<()> {
        let held = self.rows();
        check_size(file, held.max(rows), self.columns.len(), most)?;
        // By a quarter at a time: what doubling would take may be too much where what is needed is not.
        let refused = |column: &mut Vec<f64>| {
            column.capacity() - column.len() < rows && column.try_reserve_exact(rows.max(held / 4)).is_err()
        };
        if self.columns.iter_mut().any(refused) {
            return Err(out_of_memory(file, held + rows, self.columns.len()));
        }
        Ok(())
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

    /// Appends rows; where there are none yet, by changing places with their memory.
    #[cfg(feature = "parquet")]
    pub(crate) fn take_over<'c>(&mut self, columns: impl Iterator<Item = &'c mut Vec<f64>>, rows: usize) {
        let columns: Vec<&mut Vec<f64>> = columns.collect();
        // Room that was made for a whole file is not given away.
        let as_large = |(own, more): (&Vec<f64>, &&mut Vec<f64>)| own.capacity() <= more.capacity();
        if self.numbers.is_none() && self.rows() == 0 && self.columns.iter().zip(&columns).all(as_large) {
            self.columns.iter_mut().zip(columns).for_each(|(own, more)| std::mem::swap(own, more));
            self.passed += rows;
        } else {
            let columns: Vec<&[f64]> = columns.iter().map(|column| column.as_slice()).collect();
            self.extend(&columns, rows);
        }
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

/// Refuses so many numbers that they take more than `most` bytes.
pub(crate) fn check_size(file: &str, rows: usize, columns: usize, most: Option<u64>) -> Result<()> {
    match most {
        Some(most) if size(rows, columns) > most => Err(out_of_memory(file, rows, columns)),
        _ => Ok(()),
    }
}

fn size(rows: usize, columns: usize) -> u64 {
    (rows as u64).saturating_mul(columns as u64).saturating_mul(8)
}

fn out_of_memory(file: &str, rows: usize, columns: usize) -> Error {
    Error::OutOfMemory { file: file.to_owned(), rows, bytes: size(rows, columns) }
}

/// Rows of which room is made at a time.
const ROOM: usize = 1 << 16;

/// All rows of a file.
pub(crate) fn all(mut decoder: impl Decoder, file: &str, options: &Options) -> Result<Table> {
    let names = decoder.names().to_vec();
    let mut gathered = Gathered::new(names.len(), options.drop_missing);
    let known = decoder.expected() > 0;
    gathered.make_room(decoder.expected(), file, options.most_bytes)?;
    loop {
        let room = if known { decoder.expected().min(ROOM) } else { ROOM };
        gathered.make_room(room, file, options.most_bytes)?;
        if !decoder.fill(&mut gathered, room)? {
            break;
        }
    }
    gathered.columns.iter_mut().for_each(Vec::shrink_to_fit);
    gathered.into_table(file, names)
}
