//! Columns that say how often a row counts: zero or more, and not all zero.

use crate::number::place;
use crate::{Block, Error, Result, Table};

impl Table {
    /// A column of frequencies: how often each row counts.
    ///
    /// ```
    /// use noisewright_data::{Options, read_from};
    /// let table = read_from("x,n\n1,2\n2,-1\n".as_bytes(), "d.csv", &Options::default())?;
    /// assert_eq!(
    ///     table.weights("n").unwrap_err().to_string(),
    ///     "d.csv, row 2, column `n`: a weight must be zero or more, not -1"
    /// );
    /// # Ok::<(), noisewright_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, a weight is negative, or all are zero.
    pub fn weights(&self, name: &str) -> Result<&[f64]> {
        let weights = self.column(name)?;
        refuse_negative(weights, self.source(), name, |row| self.row_number(row))?;
        if weights.iter().all(|w| *w == 0.0) {
            return Err(Error::NoWeight { file: self.source().to_owned(), column: name.to_owned() });
        }
        Ok(weights)
    }
}

impl Block<'_> {
    /// A column of frequencies, of which those of one block may all be zero.
    ///
    /// # Errors
    /// When a weight is negative.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn weights(&self, column: usize) -> Result<&[f64]> {
        let weights = self.column(column);
        refuse_negative(weights, self.source(), &self.names()[column], |row| self.row_number(row))?;
        Ok(weights)
    }
}

fn refuse_negative(
    weights: &[f64],
    file: &str,
    name: &str,
    row_number: impl Fn(usize) -> usize,
) -> Result<()> {
    // What is not finite was refused when it was read.
    match weights.iter().position(|w| *w < 0.0) {
        None => Ok(()),
        Some(row) => Err(Error::Weight {
            place: place(file, row_number(row) - 1, name),
            value: format!("{:?}", weights[row]).trim_end_matches(".0").to_owned(),
        }),
    }
}
