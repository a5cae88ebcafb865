//! Views of what other libraries hold, without a copy.

use nalgebra::DMatrix;

use super::{Points, View};

impl<'a> From<&'a Points> for View<'a> {
    /// The columns in their order, whatever their names.
    fn from(points: &'a Points) -> Self {
        points.view()
    }
}

impl<'a> From<&'a [f64]> for View<'a> {
    /// The values of one variable.
    fn from(values: &'a [f64]) -> Self {
        View::new(1, values.len(), values)
    }
}

impl<'a> From<&'a Vec<f64>> for View<'a> {
    /// The values of one variable.
    fn from(values: &'a Vec<f64>) -> Self {
        View::from(values.as_slice())
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for View<'a> {
    /// The values of one variable.
    fn from(values: &'a [f64; N]) -> Self {
        View::from(values.as_slice())
    }
}

impl<'a> From<&'a DMatrix<f64>> for View<'a> {
    /// One point per row.
    fn from(matrix: &'a DMatrix<f64>) -> Self {
        View::new(matrix.ncols(), matrix.nrows(), matrix.as_slice())
    }
}
