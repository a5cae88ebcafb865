//! `design`: the noise and the proportion that minimise the error.

use noisewright_bindings::{DesignSettings, Request};
use pyo3::prelude::*;

use crate::model::PyModel;
use crate::noise::NoiseArgument;
use crate::theory::Question;
use crate::tree::Tree;

/// The best noise and proportion.
#[pyfunction]
#[pyo3(signature = (model, question, text, noise, nu, target, price_data, price_noise, efficiency, tick=None))]
pub(crate) fn design<'py>(
    py: Python<'py>,
    model: &PyModel,
    question: Question<'py>,
    text: Option<String>,
    noise: NoiseArgument,
    nu: Option<f64>,
    target: String,
    price_data: f64,
    price_noise: f64,
    efficiency: Option<f64>,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let problem = question.problem(model)?;
    let request = Request::from(noise);
    let settings = DesignSettings { nu, target, price_data, price_noise, efficiency };
    model.run(py, tick, move |model, monitor| {
        let problem = problem.for_run(model, &monitor.cancel);
        let (answer, noise) = problem.design(&request, &settings, text.as_deref())?;
        Ok(Tree::from(answer).with("noise", noise))
    })
}
