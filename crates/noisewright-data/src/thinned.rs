//! Some rows of a stream, spread evenly over all of it.

use crate::{Block, Error, Stream};

/// Rows spread evenly over a stream, and what reading all of it has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Thinned {
    /// The rows, column by column.
    pub columns: Vec<Vec<f64>>,
    /// Number of all rows.
    pub rows: usize,
    /// Rows dropped for a missing or non-finite value.
    pub dropped: usize,
    /// For each column whether all of its values are the same, and that value if so.
    pub constant: Vec<Option<f64>>,
}

impl Stream {
    /// Reads all rows once, shows every block to `look`, and keeps every so-manyth row: at most `most`.
    ///
    /// ```
    /// use noisewright_data::{Error, Options, Stream, write_csv};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("numbers.csv");
    /// write_csv(&path, &["x"], &[(0..100).map(f64::from).collect::<Vec<f64>>()])?;
    /// let stream = Stream::open(&path, &Options::default())?;
    /// let some = stream.thinned(30, |_| Ok::<(), Error>(()))?;
    /// assert_eq!(some.rows, 100);
    /// assert_eq!(some.columns[0], (0..100).step_by(4).map(f64::from).collect::<Vec<f64>>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for reading, and what `look` refuses.
    pub fn thinned<E: From<Error>>(
        &self,
        most: usize,
        mut look: impl FnMut(&Block<'_>) -> Result<(), E>,
    ) -> Result<Thinned, E> {
        let columns = self.names().len();
        let mut kept = Kept { columns: vec![Vec::new(); columns], step: 1, rows: 0 };
        let mut values = vec![Values::None; columns];
        let mut blocks = self.blocks()?;
        while let Some(block) = blocks.next_block()? {
            look(&block)?;
            values.iter_mut().enumerate().for_each(|(j, values)| values.see(block.column(j)));
            kept.add(&block, most.max(1));
        }
        Ok(Thinned {
            columns: kept.columns,
            rows: kept.rows,
            dropped: blocks.dropped(),
            constant: values.into_iter().map(Values::only).collect(),
        })
    }
}

/// The different values that a column has shown so far.
#[derive(Clone, Copy)]
enum Values {
    None,
    One(f64),
    Several,
}

impl Values {
    fn see(&mut self, column: &[f64]) {
        for x in column {
            match *self {
                Self::None => *self = Self::One(*x),
                Self::One(first) if first == *x => {}
                _ => {
                    *self = Self::Several;
                    return;
                }
            }
        }
    }

    fn only(self) -> Option<f64> {
        if let Self::One(value) = self { Some(value) } else { None }
    }
}

/// Every `step`-th row; the step doubles whenever there are too many.
struct Kept {
    columns: Vec<Vec<f64>>,
    step: usize,
    rows: usize,
}

impl Kept {
    fn add(&mut self, block: &Block<'_>, most: usize) {
        let first = self.rows.next_multiple_of(self.step) - self.rows;
        for (j, column) in self.columns.iter_mut().enumerate() {
            column.extend(block.column(j).iter().skip(first).step_by(self.step));
        }
        self.rows += block.rows();
        while self.columns.first().is_some_and(|column| column.len() > most) {
            self.columns.iter_mut().for_each(|column| *column = column.iter().copied().step_by(2).collect());
            self.step *= 2;
        }
    }
}
