//! Results on their way to Python: plain values that a thread without the interpreter can make.

use std::sync::Arc;

use nalgebra::DMatrix;
use noisewright::Noise;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::noise::BuiltNoise;

/// A value that becomes a Python object: numbers in bulk become NumPy arrays, maps become dictionaries.
pub(crate) enum Tree {
    /// `None`.
    Null,
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number, which may be infinite.
    Number(f64),
    /// Words.
    Text(String),
    /// A one-dimensional array.
    Numbers(Vec<f64>),
    /// A two-dimensional array.
    Matrix(DMatrix<f64>),
    /// A list.
    List(Vec<Tree>),
    /// A dictionary in order.
    Map(Vec<(String, Tree)>),
    /// A noise that can be drawn from.
    Noise(Arc<dyn Noise>),
}

impl<'py> IntoPyObject<'py> for Tree {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::Null => py.None().into_bound(py),
            Self::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
            Self::Count(count) => count.into_pyobject(py)?.into_any(),
            Self::Number(number) => number.into_pyobject(py)?.into_any(),
            Self::Text(text) => text.into_pyobject(py)?.into_any(),
            Self::Numbers(numbers) => PyArray1::from_vec(py, numbers).into_any(),
            Self::Matrix(matrix) => {
                let shape = [matrix.nrows(), matrix.ncols()];
                let rows = matrix.transpose().as_slice().to_vec();
                PyArray1::from_vec(py, rows).reshape(shape)?.into_any()
            }
            Self::List(list) => PyList::new(py, list)?.into_any(),
            Self::Map(map) => {
                let dict = PyDict::new(py);
                for (key, value) in map {
                    dict.set_item(key, value)?;
                }
                dict.into_any()
            }
            Self::Noise(noise) => Bound::new(py, BuiltNoise { noise })?.into_any(),
        })
    }
}

impl From<bool> for Tree {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<usize> for Tree {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Tree {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<f64>> for Tree {
    fn from(numbers: Vec<f64>) -> Self {
        Self::Numbers(numbers)
    }
}

impl From<Vec<String>> for Tree {
    fn from(names: Vec<String>) -> Self {
        Self::List(names.into_iter().map(Self::Text).collect())
    }
}

impl From<Vec<Tree>> for Tree {
    fn from(list: Vec<Tree>) -> Self {
        Self::List(list)
    }
}

impl From<Vec<(String, Tree)>> for Tree {
    fn from(map: Vec<(String, Tree)>) -> Self {
        Self::Map(map)
    }
}

impl From<DMatrix<f64>> for Tree {
    fn from(matrix: DMatrix<f64>) -> Self {
        Self::Matrix(matrix)
    }
}

impl From<Arc<dyn Noise>> for Tree {
    fn from(noise: Arc<dyn Noise>) -> Self {
        Self::Noise(noise)
    }
}

impl<T: Into<Tree>> From<Option<T>> for Tree {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A [`Tree::Map`] from names and values.
macro_rules! map {
    ($($key:literal : $value:expr),* $(,)?) => {
        $crate::tree::Tree::Map(vec![$(($key.to_owned(), $crate::tree::Tree::from($value))),*])
    };
}
pub(crate) use map;
