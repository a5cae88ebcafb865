//! `log_z` and evidence.

use std::sync::Arc;

use noisewright_bindings::{EvidenceSettings, LogZSettings, Sides};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::energy::Raised;
use crate::learned::fitter;
use crate::model::{PyModel, points};
use crate::task;
use crate::tree::Tree;

/// One side's two log-densities.
type Side<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// log Z from draws of the density and of the noise, with nothing copied.
#[pyfunction]
#[pyo3(signature = (data, noise, chains_data, chains_noise, settings, tick=None))]
pub(crate) fn log_z<'py>(
    py: Python<'py>,
    data: Side<'py>,
    noise: Side<'py>,
    chains_data: Option<Vec<usize>>,
    chains_noise: Option<Vec<usize>>,
    settings: LogZSettings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let columns = [data.0.as_slice()?, data.1.as_slice()?, noise.0.as_slice()?, noise.1.as_slice()?];
    let sides = Sides { columns, chains: [chains_data, chains_noise] };
    // Nothing is copied: it is waited for, and ends soon after Ctrl-C.
    let work = |monitor: &_| noisewright_bindings::log_z(&sides, &settings, monitor);
    Ok(Tree::from(task::run_borrowing(py, tick, work)?))
}

/// log Z of a model's density at parameter values from draws of it; a learner fits the noise.
#[pyfunction]
#[pyo3(signature = (model, parameters, draws, own, learner, settings, tick=None))]
pub(crate) fn evidence<'py>(
    py: Python<'py>,
    model: &PyModel,
    parameters: Vec<f64>,
    draws: PyReadonlyArray2<'py, f64>,
    own: EvidenceSettings,
    learner: Option<Py<PyAny>>,
    settings: LogZSettings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let draws = points(&draws, model.model.space().names())?;
    let raised = Arc::new(Raised::default());
    let fitter = learner.map(|learner| fitter(learner, &raised));
    let answer = model.run(py, tick, move |model, monitor| {
        let density = model.density(&parameters)?;
        let found = noisewright_bindings::evidence(&density, draws.view(), own, fitter, &settings, monitor)?;
        Ok(Tree::from(found))
    });
    raised.take().map_or(answer, Err)
}
