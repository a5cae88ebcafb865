//! Points from Arrow: record batches by column names, a column of doubles without a copy.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, Float64Array, RecordBatch};

use super::{Points, View};
use crate::{Error, Result};

impl<'a> TryFrom<&'a Float64Array> for View<'a> {
    type Error = Error;

    /// The values of one variable, without a copy.
    ///
    /// ```
    /// use arrow_array::Float64Array;
    /// let column = Float64Array::from(vec![1.0, 2.0, 3.0]);
    /// assert_eq!(noisewright::View::try_from(&column)?.column(0), [1.0, 2.0, 3.0]);
    /// assert!(noisewright::View::try_from(&Float64Array::from(vec![Some(1.0), None])).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    fn try_from(column: &'a Float64Array) -> Result<Self> {
        check_present(column, "x0")?;
        Ok(View::from(column.values().as_ref()))
    }
}

impl TryFrom<&RecordBatch> for Points {
    type Error = Error;

    /// The columns of numbers under their names; those of other types are left out.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
    /// let columns: [(&str, ArrayRef); 3] = [
    ///     ("who", Arc::new(StringArray::from(vec!["a", "b"]))),
    ///     ("x", Arc::new(Float64Array::from(vec![0.5, 1.5]))),
    ///     ("n", Arc::new(Int32Array::from(vec![1, 2]))),
    /// ];
    /// let points = noisewright::Points::try_from(&RecordBatch::try_from_iter(columns).unwrap())?;
    /// assert_eq!(points.names(), ["x", "n"]);
    /// assert_eq!(points.view().column(1), [1.0, 2.0]);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    fn try_from(batch: &RecordBatch) -> Result<Self> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            if let Some(numbers) = numbers(column.as_ref()) {
                check_present(column.as_ref(), field.name())?;
                names.push(field.name().clone());
                values.extend(numbers);
            }
        }
        Points::from_values(&names, batch.num_rows(), values)
    }
}

/// The values of a column of numbers; `None` where it is none.
fn numbers(column: &dyn Array) -> Option<Vec<f64>> {
    macro_rules! of {
        ($($kind:ty),*) => {
            $(if let Some(array) = column.as_primitive_opt::<$kind>() {
                return Some(array.values().iter().map(|v| *v as f64).collect());
            })*
        };
    }
    of!(
        Float64Type,
        Float32Type,
        Int64Type,
        Int32Type,
        Int16Type,
        Int8Type,
        UInt64Type,
        UInt32Type,
        UInt16Type,
        UInt8Type
    );
    None
}

fn check_present(column: &dyn Array, name: &str) -> Result<()> {
    match (0..column.len()).find(|row| column.null_count() > 0 && column.is_null(*row)) {
        None => Ok(()),
        Some(row) => Err(Error::OutsideDomain {
            row: row + 1,
            column: name.into(),
            value: f64::NAN,
            domain: "a number".into(),
        }),
    }
}
