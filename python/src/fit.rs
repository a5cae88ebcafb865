//! `fit`: a model from data, against noise.

use std::sync::{Arc, PoisonError};

use noisewright::fit::FitOptions;
use noisewright::parts::{Draws, RatioFit};
use noisewright::{Fit, Model};
use noisewright_bindings::{
    FitSettings, Reading, Request, Rows as OwnedRows, fit_rows, fit_value, fitted_grid,
};
use noisewright_report::Value;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::bootstrap::{Raised, asked_of};
use crate::failure::Outcome;
use crate::file::{FileArgument, FileRows, SomeRows};
use crate::model::{PyModel, points};
use crate::noise::NoiseArgument;
use crate::task::Monitor;
use crate::tree::{Tree, map};

/// The rows, as Python hands them over: one row per variable, weights, and which of them belong together.
#[derive(FromPyObject)]
pub(crate) struct Rows<'py> {
    #[pyo3(item)]
    points: PyReadonlyArray2<'py, f64>,
    #[pyo3(item)]
    weights: Option<PyReadonlyArray1<'py, f64>>,
    #[pyo3(item)]
    clusters: Option<Vec<u64>>,
    #[pyo3(item)]
    chains: Option<Vec<usize>>,
}

impl Rows<'_> {
    pub(crate) fn owned(self, names: &[String]) -> PyResult<OwnedRows> {
        let weights = self.weights.map(|w| w.as_slice().map(<[f64]>::to_vec)).transpose()?;
        let (clusters, chains) = (self.clusters, self.chains);
        Ok(OwnedRows { points: points(&self.points, names)?, weights, clusters, chains })
    }
}

/// How to fit, as Python hands it over: a dictionary of settings, with the noise in it.
pub(crate) struct Settings {
    own: FitSettings,
    noise: NoiseArgument,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Settings {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self { own: object.extract()?, noise: object.get_item("noise")?.extract()? })
    }
}

/// The same, free of the interpreter.
pub(crate) struct Plan {
    settings: FitSettings,
    request: Request,
}

impl From<Settings> for Plan {
    fn from(given: Settings) -> Self {
        Self { settings: given.own, request: given.noise.into() }
    }
}

impl Plan {
    pub(crate) fn options(
        &self,
        model: &Model,
        draws: Option<Draws>,
        monitor: &Arc<Monitor>,
    ) -> Outcome<FitOptions> {
        self.settings.options(model, &self.request, draws, monitor)
    }
}

/// Noise points with their log-densities, and the log-densities at the data.
pub(crate) type GivenDraws<'py> =
    (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// Fits a model to data.
#[pyfunction]
#[pyo3(signature = (model, rows, settings, draws=None, tick=None, replicates=None))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    model: &PyModel,
    rows: Rows<'py>,
    settings: Settings,
    draws: Option<GivenDraws<'py>>,
    tick: Option<&Bound<'py, PyAny>>,
    replicates: Option<Py<PyAny>>,
) -> PyResult<Tree> {
    let names = model.model.space().names();
    let rows = rows.owned(names)?;
    let draws = draws.map(|given| owned_draws(&given, names)).transpose()?;
    let (plan, text) = (Plan::from(settings), model.text.clone());
    let raised = Raised::default();
    let hook = replicates.map(|function| asked_of(function, &raised));
    let answer = model.run(py, tick, move |model, monitor| {
        let options = FitOptions { replicates: hook, ..plan.options(&model, draws, monitor)? };
        let (fit, value) = fit_rows(&model, &rows, &options, text.as_deref())?;
        Ok(Tree::from(value).with("noise", fit.noise))
    });
    let exception = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    exception.map_or(answer, Err)
}

/// Fits the logarithm of the ratio of two samples' densities.
#[pyfunction]
#[pyo3(signature = (model, first, second, settings, tick=None))]
pub(crate) fn ratio<'py>(
    py: Python<'py>,
    model: &PyModel,
    first: Rows<'py>,
    second: Rows<'py>,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let names = model.model.space().names();
    let (first, second) = (first.owned(names)?, second.owned(names)?);
    let plan = Plan::from(settings);
    model.run(py, tick, move |model, monitor| {
        let options = plan.options(&model, None, monitor)?;
        let fitted = noisewright::internal::fit::ratio(&model, first.data(), second.data(), &options)?;
        ratio_tree(&fitted)
    })
}

/// A fitted ratio; its rows are a pair.
pub(crate) fn ratio_tree(fitted: &RatioFit) -> Outcome<Tree> {
    let rows = [fitted.fit.rows, fitted.fit.noise_points].map(Tree::from);
    Ok(tree(&fitted.fit, &Reading::default(), None, None)?.with("rows", Tree::List(rows.into())))
}

/// The stratum of each row, whether it was chosen, and the log probability of its coming in, as Python hands them over.
#[derive(FromPyObject)]
pub(crate) struct Choices {
    #[pyo3(item)]
    strata: Vec<u64>,
    #[pyo3(item)]
    chosen: Vec<bool>,
    #[pyo3(item)]
    log_probability: Option<Vec<f64>>,
}

/// Fits a model to choices.
#[pyfunction]
#[pyo3(signature = (model, rows, choices, settings, tick=None))]
pub(crate) fn fit_choices<'py>(
    py: Python<'py>,
    model: &PyModel,
    rows: Rows<'py>,
    choices: Choices,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let rows = rows.owned(model.model.space().names())?;
    let (plan, text) = (Plan::from(settings), model.text.clone());
    model.run(py, tick, move |model, monitor| {
        let options = plan.options(&model, None, monitor)?;
        let Choices { strata, chosen, log_probability } = &choices;
        let log_probability = log_probability.as_deref();
        let sets = noisewright::fit::ChoiceSets { strata, chosen, log_probability };
        let fit = noisewright::fit::fit_choices(&model, rows.data(), sets, &options)?;
        tree(&fit, &Reading::default(), None, text.as_deref())
    })
}

/// Fits a model to a file that is read in blocks, again at each pass.
#[pyfunction]
#[pyo3(signature = (model, file, settings, tick=None))]
pub(crate) fn fit_file<'py>(
    py: Python<'py>,
    model: &PyModel,
    file: FileArgument,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let (plan, text) = (Plan::from(settings), model.text.clone());
    model.run(py, tick, move |model, monitor| {
        let rows = FileRows::open(&file, model.space())?;
        let options = plan.options(&model, None, monitor)?;
        let fit = noisewright::fit::fit_stream(&model, &rows, &options)?;
        let SomeRows { points, weights, dropped } = rows.some(monitor)?;
        let grid = fitted_grid(&model, &fit, points.view());
        let reading = Reading { dropped, passes: Some(rows.passes()) };
        let some = grid.is_some().then(|| map! { "x": points.view().column(0).to_vec(), "weights": weights });
        Ok(tree(&fit, &reading, grid, text.as_deref())?.with("some", some))
    })
}

pub(crate) fn owned_draws(given: &GivenDraws<'_>, names: &[String]) -> PyResult<Draws> {
    Ok(Draws {
        points: points(&given.0, names)?,
        log_density: given.1.as_slice()?.to_vec(),
        log_density_at_data: given.2.as_slice()?.to_vec(),
    })
}

/// A fit, with the noise as an object.
pub(crate) fn tree(
    fit: &Fit,
    reading: &Reading,
    grid: Option<Value>,
    model_file: Option<&str>,
) -> Outcome<Tree> {
    Ok(Tree::from(fit_value(fit, reading, grid, model_file)?).with("noise", fit.noise.clone()))
}
