//! `error`: what a design would cost.

use noisewright_bindings::{ErrorSettings, Problem, QuestionSettings, Request};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::model::{PyModel, points};
use crate::noise::NoiseArgument;
use crate::tree::Tree;

/// What `error` and `design` have in common, as Python hands it over: a dictionary of settings, with the data in it.
pub(crate) struct Question<'py> {
    settings: QuestionSettings,
    data: Option<PyReadonlyArray2<'py, f64>>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Question<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self { settings: object.extract()?, data: object.get_item("data")?.extract()? })
    }
}

impl Question<'_> {
    /// The problem, free of the interpreter.
    pub(crate) fn problem(self, model: &PyModel) -> PyResult<Problem> {
        let names = model.model.space().names();
        let data = self.data.as_ref().map(|data| points(data, names)).transpose()?;
        Ok(self.settings.problem(model.model.clone(), data))
    }
}

/// log Z of a model: in closed form, or integrated.
#[pyfunction]
pub(crate) fn log_normalizer(py: Python<'_>, model: &PyModel, question: Question<'_>) -> PyResult<f64> {
    let problem = question.problem(model)?;
    model.run(py, None, move |model, monitor| {
        Ok(problem.for_run(model, &monitor.cancel).question().log_normalizer()?)
    })
}

/// The asymptotic error of a design.
#[pyfunction]
#[pyo3(signature = (model, question, noise, nu, loss_name, loss_ratio, target, tick=None))]
pub(crate) fn error<'py>(
    py: Python<'py>,
    model: &PyModel,
    question: Question<'py>,
    noise: NoiseArgument,
    nu: f64,
    loss_name: String,
    loss_ratio: Option<f64>,
    target: String,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let problem = question.problem(model)?;
    let request = Request::from(noise);
    let settings = ErrorSettings { nu, loss: loss_name, loss_ratio, target };
    model.run(py, tick, move |model, monitor| {
        let (answer, noise) = problem.for_run(model, &monitor.cancel).error(&request, &settings)?;
        Ok(Tree::from(answer).with("noise", noise))
    })
}
