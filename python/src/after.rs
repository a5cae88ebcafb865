//! What comes after a fit: functions of parameters, tests, densities, draws, comparisons, saved fits.

use noisewright::after::{FitRecord, JointEstimate, RecordHeader};
use noisewright::run::Context;
use noisewright::{Fit, Model};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
use crate::model::{PyModel, points};
use crate::task;
use crate::tree::{Tree, map};

/// The estimates alone, or the whole record, as JSON.
type Texts = (Option<String>, Option<String>);

/// The numbers that are left of a fit.
#[pyclass(frozen, module = "noisewright._core", name = "Fitted")]
pub(crate) struct Fitted {
    joint: JointEstimate,
    record: Option<FitRecord>,
}

/// The texts that [`Fitted`] is made from again: the estimates of a ratio, or all that is kept of a fit.
pub(crate) fn kept(fit: &Fit, model_file: Option<&str>) -> Outcome<Tree> {
    let broken = |error: serde_json::Error| Failure::Broken(error.to_string());
    if let Ok(record) = fit.record(model_file) {
        return Ok(
            map! { "joint": None::<String>, "record": serde_json::to_string(&record).map_err(broken)? },
        );
    }
    let joint = fit.joint();
    let known = fit.diagnostics.no_answer().is_none() && joint.check().is_ok();
    let joint = known.then(|| serde_json::to_string(&joint)).transpose().map_err(broken)?;
    Ok(map! { "joint": joint, "record": None::<String> })
}

impl Fitted {
    fn record(&self) -> Outcome<&FitRecord> {
        self.record.as_ref().ok_or_else(|| Failure::Input("this is not a fit of one model to data".into()))
    }
}

#[pymethods]
impl Fitted {
    #[new]
    fn new(py: Python<'_>, joint: Option<&str>, record: Option<&str>) -> PyResult<Self> {
        let made = read(joint, record);
        made.map_err(|failure| failure.exception(py))
    }

    /// The texts that it is made from.
    fn texts(&self, py: Python<'_>) -> PyResult<Texts> {
        let broken = |error: serde_json::Error| Failure::Broken(error.to_string()).exception(py);
        match &self.record {
            Some(record) => Ok((None, Some(serde_json::to_string(record).map_err(broken)?))),
            None => Ok((Some(serde_json::to_string(&self.joint).map_err(broken)?), None)),
        }
    }

    /// For pickling.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Texts)> {
        Ok((slf.get_type().into_any(), slf.get().texts(slf.py())?))
    }

    /// The text of the model file, where there is one.
    #[getter]
    fn model(&self) -> Option<String> {
        self.record.as_ref().and_then(|record| record.model.clone())
    }

    /// The two covariances, row by row.
    fn covariances(&self) -> Tree {
        let rows = |matrix: &nalgebra::DMatrix<f64>| Tree::Matrix {
            columns: matrix.ncols(),
            values: matrix.transpose().as_slice().to_vec(),
        };
        let joint = &self.joint;
        let whole = &joint.covariance_data + &joint.covariance_noise;
        map! {
            "covariance": rows(&whole),
            "covariance_data": rows(&joint.covariance_data),
            "covariance_noise": rows(&joint.covariance_noise),
        }
    }

    fn derive(&self, py: Python<'_>, formula: &str) -> PyResult<Tree> {
        let found = self.joint.derive(formula).map_err(Failure::from);
        found.and_then(|estimate| Tree::of(&estimate)).map_err(|failure| failure.exception(py))
    }

    fn wald(&self, py: Python<'_>, hypotheses: Vec<String>) -> PyResult<Tree> {
        let found = self.joint.wald(&hypotheses).map_err(Failure::from);
        found.and_then(|test| Tree::of(&test)).map_err(|failure| failure.exception(py))
    }

    /// Log-density, or log ratio, at points of one row per variable.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        model: &PyModel,
        array: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Tree> {
        let points = points(&array, model.model.space().names())?;
        let (joint, record) = (self.joint.clone(), self.record.clone());
        model.run(py, None, move |model, _| {
            let there = match &record {
                Some(record) => record.log_density(model.whole(), points.view())?,
                None => joint.log_density(model.whole(), points.view())?,
            };
            let column = |part: fn(&noisewright::after::LogDensity) -> f64| {
                there.iter().map(part).collect::<Vec<f64>>()
            };
            Ok(map! {
                "log_density": column(|at| at.value),
                "se": column(|at| at.se),
                "lower": column(|at| at.lower),
                "upper": column(|at| at.upper),
            })
        })
    }

    /// log Z of a conditional model, with its errors, at rows of covariates, one array row each.
    fn log_normalizer_at<'py>(
        &self,
        py: Python<'py>,
        model: &PyModel,
        given: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Tree> {
        let record = self.record().map_err(|failure| failure.exception(py))?.clone();
        let given = points(&given, model.model.covariates())?;
        model.run(py, None, move |model, _| {
            let view = given.view();
            let at = |row: usize| {
                let values: Vec<f64> = (0..view.columns()).map(|j| view.get(row, j)).collect();
                Ok(record.log_normalizer_at(model.whole(), &values)?)
            };
            let found = (0..view.rows()).map(at).collect::<Outcome<Vec<noisewright::Estimate>>>()?;
            Ok(Tree::List(found.iter().map(Tree::of).collect::<Outcome<Vec<_>>>()?))
        })
    }

    /// Draws of the fitted conditional model at rows of covariates, one row each: the variables, then the covariates.
    fn simulate_given<'py>(
        &self,
        py: Python<'py>,
        model: &PyModel,
        given: PyReadonlyArray2<'py, f64>,
        count: usize,
        seed: u64,
    ) -> PyResult<Tree> {
        let record = self.record().map_err(|failure| failure.exception(py))?.clone();
        let given = points(&given, model.model.covariates())?;
        model.run(py, None, move |model, monitor| {
            let context = Context::new(seed, &monitor.cancel, None);
            let drawn = record.simulate_given(model.whole(), given.view(), count, &context)?;
            let (view, columns) = (drawn.points.view(), drawn.points.columns());
            let values = (0..view.rows()).flat_map(|i| (0..columns).map(move |j| view.get(i, j))).collect();
            Ok(Tree::Matrix { columns, values })
        })
    }

    /// Draws of the fitted model, one row each.
    fn simulate(&self, py: Python<'_>, model: &PyModel, count: usize, seed: u64) -> PyResult<Tree> {
        let record = self.record().map_err(|failure| failure.exception(py))?.clone();
        model.run(py, None, move |model, monitor| {
            let context = Context::new(seed, &monitor.cancel, None);
            let drawn = record.simulate(model.whole(), count, &context)?;
            let (view, columns) = (drawn.points.view(), drawn.points.columns());
            let values = (0..count).flat_map(|i| (0..columns).map(move |j| view.get(i, j))).collect();
            Ok(Tree::Matrix { columns, values })
        })
    }
}

fn read(joint: Option<&str>, record: Option<&str>) -> Outcome<Fitted> {
    let wrong = |error: serde_json::Error| Failure::Input(format!("this is no saved fit: {error}"));
    if let Some(text) = record {
        serde_json::from_str::<RecordHeader>(text).map_err(wrong)?.check()?;
        let record: FitRecord = serde_json::from_str(text).map_err(wrong)?;
        record.check()?;
        return Ok(Fitted { joint: record.joint.clone(), record: Some(record) });
    }
    let joint: JointEstimate = serde_json::from_str(joint.unwrap_or("null")).map_err(wrong)?;
    joint.check()?;
    Ok(Fitted { joint, record: None })
}

/// Fits side by side; the models are those of the fits, where they are at hand.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    names: Vec<String>,
    fits: Vec<PyRef<'_, Fitted>>,
    models: Vec<Option<PyRef<'_, PyModel>>>,
    nested: bool,
) -> PyResult<Tree> {
    let records = fits.iter().map(|fit| fit.record().cloned()).collect::<Outcome<Vec<FitRecord>>>();
    let records = records.map_err(|failure| failure.exception(py))?;
    let models: Vec<Option<Model>> =
        models.iter().map(|model| model.as_ref().map(|model| model.model.whole().clone())).collect();
    task::run(py, None, move |_| {
        let named: Vec<(String, &FitRecord)> = names.into_iter().zip(&records).collect();
        let models: Vec<Option<&Model>> = models.iter().map(Option::as_ref).collect();
        Tree::of(&noisewright::after::compare(&named, &models, nested)?)
    })
}
