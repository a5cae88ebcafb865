//! Points from `ndarray`: views of column-major arrays without a copy, others copied.

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::{Points, View};
use crate::{Error, Result};

impl<'a> TryFrom<ArrayView2<'a, f64>> for View<'a> {
    type Error = Error;

    /// One point per row, without a copy; the array must be column-major. Others are copied by `Points::from`.
    ///
    /// ```
    /// use ndarray::{Array2, ShapeBuilder, array};
    /// use noisewright::{Points, View};
    /// let by_columns = Array2::from_shape_vec((3, 2).f(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    /// assert_eq!(View::try_from(by_columns.view())?.column(1), [4.0, 5.0, 6.0]);
    /// let by_rows = array![[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]];
    /// assert!(View::try_from(by_rows.view()).is_err());
    /// assert_eq!(Points::from(by_rows).view().column(1), [4.0, 5.0, 6.0]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    fn try_from(array: ArrayView2<'a, f64>) -> Result<Self> {
        let (rows, columns) = array.dim();
        let stride = array.strides()[0].unsigned_abs();
        let layout = Error::Shape {
            what: "as the distance of one row to the next (column-major)",
            expected: 1,
            found: stride,
        };
        array.reversed_axes().to_slice().map(|values| View::new(columns, rows, values)).ok_or(layout)
    }
}

impl<'a> TryFrom<ArrayView1<'a, f64>> for View<'a> {
    type Error = Error;

    /// The values of one variable, without a copy; they must be next to one another.
    fn try_from(array: ArrayView1<'a, f64>) -> Result<Self> {
        let stride = array.strides()[0].unsigned_abs();
        let layout =
            Error::Shape { what: "as the distance of one value to the next", expected: 1, found: stride };
        array.to_slice().map(View::from).ok_or(layout)
    }
}

impl From<ArrayView2<'_, f64>> for Points {
    /// One point per row, copied from any layout; the columns have no names ([`Points::with_names`] gives them some).
    fn from(array: ArrayView2<'_, f64>) -> Self {
        let (rows, columns) = array.dim();
        Points::unnamed(columns, rows, array.reversed_axes().iter().copied().collect())
    }
}

impl From<Array2<f64>> for Points {
    /// One point per row: the values themselves where the array is column-major, copied otherwise.
    fn from(array: Array2<f64>) -> Self {
        let (rows, columns) = array.dim();
        let transposed = array.reversed_axes();
        if !transposed.is_standard_layout() || transposed.len() != rows * columns {
            return Points::from(transposed.t());
        }
        match transposed.into_raw_vec_and_offset() {
            (values, None | Some(0)) if values.len() == rows * columns => {
                Points::unnamed(columns, rows, values)
            }
            (values, offset) => {
                let from = offset.unwrap_or(0);
                Points::unnamed(columns, rows, values[from..from + rows * columns].to_vec())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{ShapeBuilder, s};

    #[test]
    fn every_layout_gives_the_same_points_and_column_major_ones_no_copy() {
        let by_rows = Array2::from_shape_fn((5, 3), |(i, j)| (10 * j + i) as f64);
        let mut by_columns = Array2::zeros((5, 3).f());
        by_columns.assign(&by_rows);
        let expected: Vec<f64> = (0..3).flat_map(|j| (0..5).map(move |i| f64::from(10 * j + i))).collect();
        assert_eq!(Points::from(by_rows.view()).values(), expected);
        assert_eq!(View::try_from(by_columns.view()).unwrap().column(0).as_ptr(), by_columns.as_ptr());
        // Some columns of a column-major array are still one.
        let part = View::try_from(by_columns.slice(s![.., 1..])).unwrap();
        assert_eq!((part.column(0), part.columns()), (&expected[5..10], 2));
        assert!(View::try_from(by_columns.slice(s![1.., ..])).is_err());
        assert_eq!(Points::from(by_columns.slice(s![1.., ..])).view().column(2), &expected[11..15]);
        let at = by_columns.as_ptr();
        let moved = Points::from(by_columns);
        assert_eq!((moved.values().as_ptr(), moved.values()), (at, &expected[..]));
        assert_eq!(Points::from(by_rows.clone()), moved);
        assert_eq!(Points::from(by_rows.slice_move(s![..;2, ..])).view().column(1), [10.0, 12.0, 14.0]);
    }

    #[test]
    fn one_variable_is_a_view() {
        let values = ndarray::array![1.0, 2.0, 3.0, 4.0];
        assert_eq!(View::try_from(values.view()).unwrap().column(0), [1.0, 2.0, 3.0, 4.0]);
        assert!(View::try_from(values.slice(s![..;2])).is_err());
    }
}
