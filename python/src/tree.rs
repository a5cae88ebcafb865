//! Results on their way to Python: plain values that a thread without the interpreter can make.

use std::sync::Arc;

use noisewright::Noise;
use noisewright_report::Value;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::noise::BuiltNoise;

/// A value that becomes a Python object: numbers in bulk become NumPy arrays, maps become dictionaries.
pub(crate) enum Tree {
    /// `None`.
    Null,
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Count(i64),
    /// A number, which may be infinite.
    Number(f64),
    /// Words.
    Text(String),
    /// A one-dimensional array.
    Numbers(Vec<f64>),
    /// A two-dimensional array, row after row.
    Matrix { columns: usize, values: Vec<f64> },
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
            Self::Matrix { columns, values } => {
                let shape = [values.len() / columns.max(1), columns];
                PyArray1::from_vec(py, values).reshape(shape)?.into_any()
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

impl Tree {
    /// A result of the library under the names of its serialization.
    pub(crate) fn of(result: &impl Serialize) -> Outcome<Self> {
        let value = Value::of(result).map_err(|error| Failure::Broken(error.to_string()))?;
        Ok(Self::from(value))
    }

    /// The same with another field, or another value in its place.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Self>) -> Self {
        if let Self::Map(fields) = &mut self {
            match fields.iter_mut().find(|(field, _)| field == name) {
                Some(field) => field.1 = value.into(),
                None => fields.push((name.to_owned(), value.into())),
            }
        }
        self
    }
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Flag(flag) => Self::Flag(flag),
            Value::Integer(whole) => Self::Count(whole),
            Value::Number(number) => Self::Number(number),
            Value::Text(text) => Self::Text(text),
            Value::Numbers(numbers) => Self::Numbers(numbers),
            Value::Matrix { columns, values } => Self::Matrix { columns, values },
            Value::List(list) => Self::List(list.into_iter().map(Self::from).collect()),
            Value::Map(fields) => {
                Self::Map(fields.into_iter().map(|(name, value)| (name, Self::from(value))).collect())
            }
        }
    }
}

impl From<bool> for Tree {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<usize> for Tree {
    fn from(count: usize) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
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
