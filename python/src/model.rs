//! `noisewright._core.Model`: a model of the library, from a model file or from Python functions.

use std::sync::Arc;

use noisewright::{Model, Parameter, Points, View};
use noisewright_bindings::{DomainWords, domain_words, space};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::energy::{Callback, Raised};
use crate::failure::{Failure, Raise, input_error};
use crate::task;
use crate::tree::Tree;

/// Points from an array of one row per variable.
pub(crate) fn points(array: &PyReadonlyArray2<'_, f64>, names: &[String]) -> PyResult<Points> {
    let rows = array.as_array().ncols();
    let values = array.as_slice()?.to_vec();
    Points::from_values(names, rows, values).map_err(|error| Failure::from(error).exception(array.py()))
}

/// A model that Python holds.
#[pyclass(frozen, module = "noisewright._core", name = "Model")]
pub(crate) struct PyModel {
    pub(crate) model: Model,
    /// The text of the model file, where there is one.
    pub(crate) text: Option<String>,
    callback: Option<Arc<Callback>>,
}

impl PyModel {
    /// Runs a computation with this model; an exception of its functions comes before everything else.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        tick: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(Model, &Arc<task::Monitor>) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let model = self.model.clone();
        let answer = task::run(py, tick, move |monitor| work(model.with_cancel(&monitor.cancel), monitor));
        match self.callback.as_ref().and_then(|callback| callback.raised.take()) {
            Some(raised) => Err(raised),
            None => answer,
        }
    }
}

#[pymethods]
impl PyModel {
    /// A model from the text of a model file.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        let model = Model::from_toml(text).map_err(|error| Failure::from(error).exception(py))?;
        Ok(Self { model, text: Some(text.into()), callback: None })
    }

    /// A model from an evaluator of Python functions.
    #[staticmethod]
    fn from_evaluator(
        py: Python<'_>,
        evaluator: Py<PyAny>,
        parameters: Vec<(String, f64, f64, f64)>,
        variables: Vec<String>,
        domains: Vec<DomainWords>,
        normalized: bool,
        linear: bool,
        covariates: Vec<String>,
    ) -> PyResult<Self> {
        let names = parameters.iter().map(|(name, ..)| name.clone()).collect();
        let parameters = parameters
            .into_iter()
            .map(|(name, start, lower, upper)| Parameter::new(name, start).bounded(lower, upper))
            .collect();
        let dimension = variables.len();
        let raised = Raised::default();
        let callback = Arc::new(Callback { evaluator, names, dimension, normalized, linear, raised });
        let energy: Arc<Callback> = Arc::clone(&callback);
        let model = space(&variables, &domains)
            .and_then(|space| Model::new(energy, space, parameters))
            .and_then(|model| model.with_covariates(&covariates))
            .map_err(|error| Failure::from(error).exception(py))?;
        // The score was compared with differences in Python already.
        let model = model.with_checked_score();
        let model = if normalized { model.normalized() } else { Ok(model) };
        let model = model.map_err(|error| Failure::from(error).exception(py))?;
        Ok(Self { model, text: None, callback: Some(callback) })
    }

    /// The same model with parameters held at values, and linear equations between them.
    fn constrained(
        &self,
        py: Python<'_>,
        fixed: Vec<(String, f64)>,
        constraints: Vec<String>,
    ) -> PyResult<Self> {
        let made =
            self.model.clone().with_fixed(&fixed).and_then(|model| model.with_constraints(&constraints));
        let model = made.map_err(|error| Failure::from(error).exception(py))?;
        Ok(Self { model, text: self.text.clone(), callback: self.callback.clone() })
    }

    #[getter]
    fn variables(&self) -> Vec<String> {
        self.model.space().names().to_vec()
    }

    /// Those of the variables that the density is given.
    #[getter]
    fn covariates(&self) -> Vec<String> {
        self.model.covariates().to_vec()
    }

    #[getter]
    fn domains(&self) -> Vec<DomainWords> {
        domain_words(self.model.space())
    }

    /// Name, start value, lower and upper bound of every parameter.
    #[getter]
    fn parameters(&self) -> Vec<(String, f64, f64, f64)> {
        let of = |p: &Parameter| (p.name.clone(), p.start, p.lower, p.upper);
        self.model.parameters().iter().map(of).collect()
    }

    #[getter]
    fn coordinates(&self) -> Vec<String> {
        self.model.coordinates()
    }

    #[getter]
    fn normalized(&self) -> bool {
        self.model.is_normalized()
    }

    #[getter]
    fn linear(&self) -> bool {
        self.model.energy().is_linear()
    }

    /// The start values with those named replaced, checked against the bounds.
    fn at(&self, py: Python<'_>, values: Vec<(String, f64)>) -> PyResult<Vec<f64>> {
        let checked = self.model.at(&values).and_then(|theta| self.model.check(&theta).map(|()| theta));
        checked.map_err(|error| Failure::from(error).exception(py))
    }

    /// log Z and its gradient where they are known in closed form.
    fn log_normalizer(&self, parameters: Vec<f64>) -> Option<(f64, Vec<f64>)> {
        let mut gradient = vec![0.0; parameters.len()];
        let log_z = self.model.log_normalizer(&parameters, &mut gradient)?;
        Some((log_z, gradient))
    }

    /// The energy and the score at points, one row per variable.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        parameters: Vec<f64>,
        array: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyAny>)> {
        let points = points(&array, self.model.space().names())?;
        let (rows, size) = (points.rows(), self.model.parameters().len());
        if parameters.len() != size {
            return Err(input_error(
                py,
                format!("expected {size} parameter values, found {}", parameters.len()),
            ));
        }
        let (value, score) = self.run(py, None, move |model, _| {
            let (mut value, mut score) = (vec![0.0; rows], vec![0.0; rows * size]);
            let view: View<'_> = points.view();
            model.evaluate(&parameters, view, &mut value, Some(&mut score))?;
            Ok((value, score))
        })?;
        let score = PyArray1::from_vec(py, score).reshape([size, rows])?;
        Ok((PyArray1::from_vec(py, value), score.into_any()))
    }
}

/// The built-in families: name, description, domain, options, parameters.
#[pyfunction]
pub(crate) fn families() -> Tree {
    let family = |family: &noisewright::parts::FamilyInfo| {
        crate::tree::map! {
            "name": family.name,
            "description": family.description,
            "domain": family.domain,
            "options": family.options.iter().map(ToString::to_string).collect::<Vec<String>>(),
            "parameters": family.parameters,
        }
    };
    Tree::List(noisewright::families().iter().map(family).collect())
}
