//! A model's energy that is a Python function.

use std::sync::{Mutex, PoisonError};

use noisewright::{Energy, Error, View};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Calls the methods `evaluate`, `slope` and `curvature` of a `noisewright.functions.Evaluator`, from any thread.
pub(crate) struct Callback {
    pub(crate) evaluator: Py<PyAny>,
    pub(crate) names: Vec<String>,
    pub(crate) dimension: usize,
    /// The function integrates to one.
    pub(crate) normalized: bool,
    /// The function is linear in its parameters.
    pub(crate) linear: bool,
    /// What its functions raised.
    pub(crate) raised: Raised,
}

/// The first exception of Python functions that the library calls, whatever became of the library's error.
#[derive(Default)]
pub(crate) struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    /// The exception that ended the last computation, if one did.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs something with the interpreter; an exception is kept, and is the source of the library's error.
    pub(crate) fn attached<T>(
        &self,
        call: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>,
    ) -> noisewright::Result<T> {
        let gone = || Error::external(std::io::Error::other("the interpreter is shutting down"));
        let outcome = Python::try_attach(|py| {
            call(py).map_err(|exception| {
                let error = Error::external(exception.clone_ref(py));
                self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(exception);
                error
            })
        });
        outcome.unwrap_or_else(|| Err(gone()))
    }
}

impl Callback {
    /// A weighted sum over points, by a method of the evaluator; `None` where it has none.
    fn sum<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let arguments =
            (PyArray1::from_slice(py, parameters), columns(py, points)?, PyArray1::from_slice(py, weights));
        let answer = self.evaluator.bind(py).call_method1(method, arguments)?;
        Ok((!answer.is_none()).then_some(answer))
    }
}

/// The points as an array of one row per variable.
pub(crate) fn columns<'py>(py: Python<'py>, points: View<'_>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let mut values = Vec::with_capacity(points.columns() * points.rows());
    (0..points.columns()).for_each(|j| values.extend_from_slice(points.column(j)));
    PyArray1::from_vec(py, values).reshape([points.columns(), points.rows()])
}

impl Energy for Callback {
    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> noisewright::Result<()> {
        self.raised.attached(|py| {
            let arguments = (PyArray1::from_slice(py, parameters), columns(py, points)?, score.is_some());
            let answer = self.evaluator.bind(py).call_method1("evaluate", arguments)?;
            let (values, scores): (PyReadonlyArray1<'_, f64>, Option<PyReadonlyArray2<'_, f64>>) =
                answer.extract()?;
            value.copy_from_slice(values.as_slice()?);
            if let (Some(score), Some(scores)) = (score, scores) {
                score.copy_from_slice(scores.as_slice()?);
            }
            Ok(())
        })
    }

    fn is_linear(&self) -> bool {
        self.linear
    }

    fn prefers_batches(&self) -> bool {
        true
    }

    fn log_normalizer(&self, _: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        self.normalized.then_some(0.0)
    }

    fn add_weighted_score(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> noisewright::Result<bool> {
        self.raised.attached(|py| {
            let Some(slope) = self.sum(py, "slope", parameters, points, weights)? else { return Ok(false) };
            let slope: PyReadonlyArray1<'_, f64> = slope.extract()?;
            out.iter_mut().zip(slope.as_slice()?).for_each(|(o, s)| *o += s);
            Ok(true)
        })
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> noisewright::Result<bool> {
        if self.linear {
            return Ok(true);
        }
        self.raised.attached(|py| {
            let Some(matrix) = self.sum(py, "curvature", parameters, points, weights)? else {
                return Ok(false);
            };
            let matrix: PyReadonlyArray2<'_, f64> = matrix.extract()?;
            out.iter_mut().zip(matrix.as_slice()?).for_each(|(o, m)| *o += m);
            Ok(true)
        })
    }
}
