//! A batch of points, column-major, and the views through which everything reads it.

use std::ops::Range;

use crate::{Error, Result};

/// A batch of points: one row per point, one named column per variable, stored column after column.
///
/// ```
/// use noisewright::Points;
/// let points = Points::from_columns(&["x", "y"], &[vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]]).unwrap();
/// assert_eq!(points.rows(), 3);
/// assert_eq!(points.view().column(1), &[4.0, 5.0, 6.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    names: Vec<String>,
    rows: usize,
    values: Vec<f64>,
}

impl Points {
    /// Points from one vector per column; all must have the same length.
    ///
    /// # Errors
    /// When the number of names and columns, or the lengths of two columns, differ.
    pub fn from_columns<S: AsRef<str>>(names: &[S], columns: &[Vec<f64>]) -> Result<Self> {
        let rows = columns.first().map_or(0, Vec::len);
        if names.len() != columns.len() {
            return Err(Error::Shape { what: "column names", expected: columns.len(), found: names.len() });
        }
        if let Some(bad) = columns.iter().find(|c| c.len() != rows) {
            return Err(Error::Shape { what: "rows of a column", expected: rows, found: bad.len() });
        }
        Self::from_values(names, rows, columns.concat())
    }

    /// Points from column-major values: `values[column * rows + row]`.
    ///
    /// # Errors
    /// When the length of `values` is not `names.len() * rows`.
    pub fn from_values<S: AsRef<str>>(names: &[S], rows: usize, values: Vec<f64>) -> Result<Self> {
        if values.len() != names.len() * rows {
            return Err(Error::Shape { what: "values", expected: names.len() * rows, found: values.len() });
        }
        let names = names.iter().map(|n| n.as_ref().to_owned()).collect();
        Ok(Self { names, rows, values })
    }

    /// Points whose columns are named `x0`, `x1`, … (for values that have no names of their own).
    ///
    /// # Panics
    /// When `values.len()` is not `columns * rows`: that is a mistake of the caller's, not of the input.
    #[must_use]
    pub fn unnamed(columns: usize, rows: usize, values: Vec<f64>) -> Self {
        assert_eq!(values.len(), columns * rows, "values must fill the columns");
        Self { names: (0..columns).map(|j| format!("x{j}")).collect(), rows, values }
    }

    /// Number of points.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of variables.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All values, column after column.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// A view of all rows.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { values: &self.values, stride: self.rows, start: 0, rows: self.rows, columns: self.columns() }
    }
}

/// A read-only window on some rows of a batch; copying it copies no values.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    values: &'a [f64],
    stride: usize,
    start: usize,
    rows: usize,
    columns: usize,
}

impl<'a> View<'a> {
    /// A view of column-major values, `values[column * rows + row]`.
    ///
    /// # Panics
    /// When the length of `values` is not `columns * rows`.
    #[must_use]
    pub fn new(columns: usize, rows: usize, values: &'a [f64]) -> Self {
        assert_eq!(values.len(), columns * rows, "values must fill the columns");
        Self { values, stride: rows, start: 0, rows, columns }
    }

    /// Number of points in the view.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of variables.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The values of one variable.
    #[must_use]
    pub fn column(&self, index: usize) -> &'a [f64] {
        let from = index * self.stride + self.start;
        &self.values[from..from + self.rows]
    }

    /// The same columns, a part of the rows.
    ///
    /// # Panics
    /// When the range leaves the view.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> View<'a> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "row range within the view");
        View { start: self.start + rows.start, rows: rows.end - rows.start, ..*self }
    }

    /// One value.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.column(column)[row]
    }

    /// Copies one point into `out`, one entry per variable.
    pub fn copy_row(&self, row: usize, out: &mut [f64]) {
        for (j, o) in out.iter_mut().enumerate() {
            *o = self.get(row, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_a_view_sees_the_same_rows_in_every_column() {
        let points = Points::unnamed(2, 4, vec![0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]);
        let part = points.view().slice(1..4).slice(1..2);
        assert_eq!((part.column(0), part.column(1)), (&[2.0][..], &[12.0][..]));
    }

    #[test]
    fn columns_of_different_length_are_refused() {
        assert!(Points::from_columns(&["a", "b"], &[vec![1.0], vec![1.0, 2.0]]).is_err());
    }
}
