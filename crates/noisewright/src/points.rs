//! A batch of points, column-major, and the views through which everything reads it.

#[cfg(feature = "arrow")]
mod arrow;
mod convert;
#[cfg(feature = "ndarray")]
mod ndarray;

use std::borrow::Cow;
use std::ops::Range;

use crate::memory::reserve;
use crate::names::nearest;
use crate::{Error, Result};

/// A batch of points: one row per point, one column per variable, stored column after column.
///
/// Columns with names are matched by name to the variables of a model, in any order and with others beside them; those of
/// [`Points::unnamed`] are taken in order.
///
/// ```
/// use noisewright::Points;
/// let points = Points::from_columns(&["x", "y"], &[vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]])?;
/// assert_eq!(points.rows(), 3);
/// assert_eq!(points.view().column(1), &[4.0, 5.0, 6.0]);
/// assert_eq!(points, Points::from_rows(&["x", "y"], &[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])?);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    names: Vec<String>,
    /// Whether the names are the caller's, and to be matched.
    named: bool,
    rows: usize,
    values: Vec<f64>,
}

impl Points {
    /// Points from one slice per column (`Vec<f64>`, `&[f64]`, arrays …); all must have the same length.
    ///
    /// ```
    /// use noisewright::Points;
    /// let (x, y) = (vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]);
    /// let points = Points::from_columns(&["x", "y"], &[&x, &y])?;
    /// assert_eq!((points.rows(), points.columns()), (3, 2));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the number of names and columns, or the lengths of two columns, differ, or a name is given twice.
    pub fn from_columns<S: AsRef<str>, C: AsRef<[f64]>>(names: &[S], columns: &[C]) -> Result<Self> {
        let rows = columns.first().map_or(0, |column| column.as_ref().len());
        if names.len() != columns.len() {
            return Err(Error::Shape { what: "column names", expected: columns.len(), found: names.len() });
        }
        if let Some(bad) = columns.iter().find(|column| column.as_ref().len() != rows) {
            let found = bad.as_ref().len();
            return Err(Error::Shape { what: "rows of a column", expected: rows, found });
        }
        let mut values = reserve("rows", rows, columns.len())?;
        columns.iter().for_each(|column| values.extend_from_slice(column.as_ref()));
        Self::from_values(names, rows, values)
    }

    /// Points from one slice per row (`[f64; 2]`, `Vec<f64>`, `&[f64]` …), each with one value per name.
    ///
    /// ```
    /// use noisewright::Points;
    /// let rows = vec![vec![1.0, 4.0], vec![2.0, 5.0], vec![3.0, 6.0]];
    /// let points = Points::from_rows(&["x", "y"], &rows)?;
    /// assert_eq!(points.view().column(1), [4.0, 5.0, 6.0]);
    /// assert!(Points::from_rows(&["x"], &rows).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a row has not as many values as there are names, or a name is given twice.
    pub fn from_rows<S: AsRef<str>, R: AsRef<[f64]>>(names: &[S], rows: &[R]) -> Result<Self> {
        let columns = names.len();
        if let Some((at, bad)) = rows.iter().enumerate().find(|(_, row)| row.as_ref().len() != columns) {
            let (row, found) = (at + 1, bad.as_ref().len());
            return Err(Error::RowLength { row, expected: columns, found });
        }
        let value = |column: usize| rows.iter().map(move |row| row.as_ref()[column]);
        Self::from_values(names, rows.len(), (0..columns).flat_map(value).collect())
    }

    /// Points from column-major values: `values[column * rows + row]`.
    ///
    /// ```
    /// use noisewright::Points;
    /// let points = Points::from_values(&["x", "y"], 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(points.view().column(1), [4.0, 5.0, 6.0]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the length of `values` is not `names.len() * rows`, or a name is given twice.
    pub fn from_values<S: AsRef<str>>(names: &[S], rows: usize, values: Vec<f64>) -> Result<Self> {
        check_length(names.len(), rows, values.len())?;
        let names: Vec<String> = names.iter().map(|n| n.as_ref().to_owned()).collect();
        if let Some((_, name)) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            return Err(Error::DuplicateName { name: name.clone() });
        }
        Ok(Self { names, named: true, rows, values })
    }

    /// Points from row-major values, as C, NumPy and ndarray have them by default: `values[row * columns + column]`.
    ///
    /// ```
    /// use noisewright::Points;
    /// let points = Points::from_row_major(&["x", "y"], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])?;
    /// assert_eq!(points.view().column(0), [1.0, 2.0, 3.0]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the values do not fill whole rows, or a name is given twice.
    pub fn from_row_major<S: AsRef<str>>(names: &[S], values: &[f64]) -> Result<Self> {
        let rows = values.len() / names.len().max(1);
        Self::from_strided(names, rows, values, (names.len(), 1))
    }

    /// Points from values in any layout: row i of column j is `values[i * strides.0 + j * strides.1]`.
    ///
    /// ```
    /// use noisewright::Points;
    /// // The first two of three columns of a row-major table.
    /// let table = [1.0, 4.0, 0.5, 2.0, 5.0, 0.5];
    /// let points = Points::from_strided(&["x", "y"], 2, &table[..5], (3, 1))?;
    /// assert_eq!(points.view().column(1), [4.0, 5.0]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the values end before the last of them, or a name is given twice.
    pub fn from_strided<S: AsRef<str>>(
        names: &[S],
        rows: usize,
        values: &[f64],
        strides: (usize, usize),
    ) -> Result<Self> {
        let columns = names.len();
        if strides == (columns, 1) {
            check_length(columns, rows, values.len())?;
        }
        let last = |count: usize, stride: usize| count.saturating_sub(1).checked_mul(stride);
        let end = last(rows, strides.0).zip(last(columns, strides.1)).and_then(|(a, b)| a.checked_add(b));
        let needed = if rows == 0 || columns == 0 { Some(0) } else { end.and_then(|end| end.checked_add(1)) };
        if needed.is_none_or(|needed| needed > values.len()) {
            let expected = needed.unwrap_or(usize::MAX);
            return Err(Error::Shape { what: "values in this layout", expected, found: values.len() });
        }
        let at = |column: usize| (0..rows).map(move |row| values[row * strides.0 + column * strides.1]);
        Self::from_values(names, rows, (0..columns).flat_map(at).collect())
    }

    /// Points whose columns have no names (they are shown as `x0`, `x1`, …) and are taken in order.
    ///
    /// ```
    /// use noisewright::Points;
    /// let points = Points::unnamed(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(points.names(), ["x0", "x1"]);
    /// ```
    ///
    /// # Panics
    /// When `values.len()` is not `columns * rows`: that is a mistake of the caller's, not of the input.
    #[must_use]
    pub fn unnamed(columns: usize, rows: usize, values: Vec<f64>) -> Self {
        assert_eq!(Some(values.len()), columns.checked_mul(rows), "values must fill the columns");
        Self { names: (0..columns).map(|j| format!("x{j}")).collect(), named: false, rows, values }
    }

    /// The same points with these names for the columns.
    ///
    /// ```
    /// use noisewright::Points;
    /// let points = Points::unnamed(2, 1, vec![1.0, 4.0]).with_names(&["x", "y"])?;
    /// assert!(points.is_named() && points.names() == ["x", "y"]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are not as many names as columns, or one is given twice.
    pub fn with_names<S: AsRef<str>>(self, names: &[S]) -> Result<Self> {
        if names.len() != self.columns() {
            let (expected, found) = (self.columns(), names.len());
            return Err(Error::Shape { what: "column names", expected, found });
        }
        Self::from_values(names, self.rows, self.values)
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

    /// Names of the columns, in order; `x0`, `x1`, … where they have none.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the columns have names of their own, by which they are matched.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// All values, column after column.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, column after column, without a copy.
    #[must_use]
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// A view of all rows.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let layout = Layout::Together { values: &self.values, stride: self.rows };
        View { layout, start: 0, rows: self.rows, columns: self.columns() }
    }
}

fn check_length(columns: usize, rows: usize, found: usize) -> Result<()> {
    match columns.checked_mul(rows) {
        Some(expected) if expected == found => Ok(()),
        expected => Err(Error::Shape { what: "values", expected: expected.unwrap_or(usize::MAX), found }),
    }
}

/// The columns of these names, in this order: the view itself where they stand so already, otherwise copied.
///
/// # Errors
/// [`Error::UnknownColumn`] for a name that is not there, with the nearest that is.
pub(crate) fn columns_by_name<'a>(
    points: View<'a>,
    names: &[String],
    wanted: &[String],
) -> Result<Cow<'a, [f64]>> {
    let find = |name: &String| {
        names.iter().position(|known| known == name).ok_or_else(|| Error::UnknownColumn {
            name: name.clone(),
            nearest: nearest(name, names.iter().map(String::as_str)).map(Into::into),
            known: names.to_vec(),
        })
    };
    let order = wanted.iter().map(find).collect::<Result<Vec<usize>>>()?;
    if let Layout::Together { values, stride } = points.layout
        && stride == points.rows
        && order.iter().enumerate().all(|(j, at)| j == *at)
    {
        return Ok(Cow::Borrowed(&values[..order.len() * points.rows]));
    }
    Ok(Cow::Owned(order.iter().flat_map(|at| points.column(*at).iter().copied()).collect()))
}

/// A read-only window on some rows of a batch; copying it copies no values.
///
/// A nalgebra matrix with one point per row is viewed without a copy:
///
/// ```
/// use noisewright::{View, nalgebra::DMatrix};
/// let matrix = DMatrix::from_row_slice(3, 2, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// assert_eq!(View::from(&matrix).column(1), [4.0, 5.0, 6.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    layout: Layout<'a>,
    start: usize,
    rows: usize,
    columns: usize,
}

/// Where the columns are.
#[derive(Clone, Copy, Debug)]
enum Layout<'a> {
    /// In one slice, so far apart.
    Together { values: &'a [f64], stride: usize },
    /// Each in a slice of its own.
    Apart(&'a [&'a [f64]]),
}

impl<'a> View<'a> {
    /// A view of column-major values, `values[column * rows + row]`.
    ///
    /// ```
    /// use noisewright::View;
    /// let view = View::new(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!((view.column(1), view.get(0, 1)), (&[4.0, 5.0, 6.0][..], 4.0));
    /// ```
    ///
    /// # Panics
    /// When the length of `values` is not `columns * rows`.
    #[must_use]
    pub fn new(columns: usize, rows: usize, values: &'a [f64]) -> Self {
        assert_eq!(Some(values.len()), columns.checked_mul(rows), "values must fill the columns");
        Self { layout: Layout::Together { values, stride: rows }, start: 0, rows, columns }
    }

    /// A view of columns that are apart from one another, as those of data frames are, without a copy.
    ///
    /// ```
    /// use noisewright::prelude::*;
    /// let (x, y) = (vec![1.0, 2.0, 3.0].repeat(2), vec![2.0, 4.0, 9.0].repeat(2));
    /// let columns = [&x[..], &y[..]];
    /// let plane = Space::real(&["x", "y"])?;
    /// let means = vec![Parameter::new("a", 0.0), Parameter::new("b", 0.0)];
    /// let model = Model::from_formula("a*x + b*y - (x^2 + y^2)/2", plane, means, false)?;
    /// let fit = model.fit(View::of_columns(&columns)?).exact().run()?;
    /// assert!((fit.get("b")?.estimate - 5.0).abs() < 1e-6); // the mean of y
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When one column has another number of rows than the first.
    pub fn of_columns(columns: &'a [&'a [f64]]) -> Result<Self> {
        let rows = columns.first().map_or(0, |column| column.len());
        match columns.iter().find(|column| column.len() != rows) {
            Some(bad) => Err(Error::Shape { what: "rows of a column", expected: rows, found: bad.len() }),
            None => Ok(Self { layout: Layout::Apart(columns), start: 0, rows, columns: columns.len() }),
        }
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
    ///
    /// # Panics
    /// When there is no such column.
    #[must_use]
    pub fn column(&self, index: usize) -> &'a [f64] {
        let (values, from) = match self.layout {
            Layout::Together { values, stride } => (values, index * stride + self.start),
            Layout::Apart(columns) => (columns[index], self.start),
        };
        &values[from..from + self.rows]
    }

    /// The same columns, a part of the rows.
    ///
    /// ```
    /// use noisewright::View;
    /// let view = View::new(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(view.slice(1..3).column(1), [5.0, 6.0]);
    /// ```
    ///
    /// # Panics
    /// When the range leaves the view.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> View<'a> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "row range within the view");
        View { start: self.start + rows.start, rows: rows.end - rows.start, ..*self }
    }

    /// The same rows, the first columns.
    pub(crate) fn leading(self, columns: usize) -> Self {
        debug_assert!(columns <= self.columns, "no more columns than there are");
        Self { columns, ..self }
    }

    /// One value.
    ///
    /// # Panics
    /// When there is no such row or column.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.column(column)[row]
    }

    /// Copies the first variables of one point into `out`, as many as it has entries.
    ///
    /// ```
    /// use noisewright::View;
    /// let mut row = [0.0; 2];
    /// View::new(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).copy_row(1, &mut row);
    /// assert_eq!(row, [2.0, 5.0]);
    /// ```
    ///
    /// # Panics
    /// When there is no such row, or `out` is longer than a point.
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
    fn columns_that_are_apart_are_seen_where_they_are() {
        let (a, b) = (vec![0.0, 1.0, 2.0], vec![10.0, 11.0, 12.0]);
        let columns = [&a[..], &b[..]];
        let view = View::of_columns(&columns).unwrap();
        assert_eq!((view.column(1).as_ptr(), view.rows(), view.columns()), (b.as_ptr(), 3, 2));
        let part = view.slice(1..3).slice(1..2);
        assert_eq!((part.column(0), part.get(0, 1), part.leading(1).columns()), (&[2.0][..], 12.0, 1));
        let names = ["a", "b"].map(str::to_owned);
        assert_eq!(columns_by_name(view, &names, &[names[1].clone()]).unwrap(), &b[..]);
        assert!(View::of_columns(&[&a[..2], &b]).is_err() && View::of_columns(&[]).unwrap().rows() == 0);
    }

    #[test]
    fn columns_of_different_length_are_refused() {
        assert!(Points::from_columns(&["a", "b"], &[vec![1.0], vec![1.0, 2.0]]).is_err());
    }

    #[test]
    fn every_layout_gives_the_same_points() {
        let points = Points::from_columns(&["a", "b"], &[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).unwrap();
        let rows = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]];
        assert_eq!(Points::from_rows(&["a", "b"], &rows).unwrap(), points);
        assert_eq!(Points::from_row_major(&["a", "b"], rows.as_flattened()).unwrap(), points);
        assert_eq!(Points::from_strided(&["a", "b"], 3, points.values(), (1, 3)).unwrap(), points);
        assert!(Points::from_row_major(&["a", "b"], &[1.0, 2.0, 3.0]).is_err());
        assert!(Points::from_strided(&["a", "b"], usize::MAX, points.values(), (usize::MAX, 1)).is_err());
    }

    #[test]
    fn columns_are_found_by_name() {
        let points = Points::from_columns(&["y", "extra", "x"], &[[1.0], [2.0], [3.0]]).unwrap();
        let by_name = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
            columns_by_name(points.view(), points.names(), &wanted).map(Cow::into_owned)
        };
        assert_eq!(by_name(&["x", "y"]).unwrap(), [3.0, 1.0]);
        assert_eq!(by_name(&["y", "extra"]).unwrap(), [1.0, 2.0]);
        let message = by_name(&["extr"]).unwrap_err().to_string();
        assert_eq!(message, "the data have no column `extr`; did you mean `extra`?");
    }
}
