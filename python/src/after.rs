//! What comes after a fit: functions of parameters, tests, densities, draws, comparisons, saved fits.

use noisewright::Model;
use noisewright::after::FitRecord;
use noisewright::run::Context;
use noisewright_bindings::{SavedFit, points_by_row};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome, Raise};
use crate::model::{PyModel, points};
use crate::task;
use crate::tree::{Tree, map};

/// The estimates alone, or the whole record, as JSON.
type Texts = (Option<String>, Option<String>);

/// The numbers that are left of a fit.
#[pyclass(frozen, module = "noisewright._core", name = "Fitted")]
pub(crate) struct Fitted {
    saved: SavedFit,
}

impl Fitted {
    fn record(&self) -> Outcome<&FitRecord> {
        self.saved.record()
    }
}

#[pymethods]
impl Fitted {
    #[new]
    fn new(py: Python<'_>, joint: Option<&str>, record: Option<&str>) -> PyResult<Self> {
        let saved = SavedFit::read(joint, record).map_err(|failure| failure.exception(py))?;
        Ok(Self { saved })
    }

    /// The texts that it is made from.
    fn texts(&self, py: Python<'_>) -> PyResult<Texts> {
        let broken = |error: serde_json::Error| Failure::Broken(error.to_string()).exception(py);
        match &self.saved.record {
            Some(record) => Ok((None, Some(serde_json::to_string(record).map_err(broken)?))),
            None => Ok((Some(serde_json::to_string(&self.saved.joint).map_err(broken)?), None)),
        }
    }

    /// For pickling.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Texts)> {
        Ok((slf.get_type().into_any(), slf.get().texts(slf.py())?))
    }

    /// The text of the model file, where there is one.
    #[getter]
    fn model(&self) -> Option<String> {
        self.saved.record.as_ref().and_then(|record| record.model.clone())
    }

    /// The two covariances, row by row.
    fn covariances(&self) -> Tree {
        let rows = |matrix: &nalgebra::DMatrix<f64>| Tree::Matrix {
            columns: matrix.ncols(),
            values: matrix.transpose().as_slice().to_vec(),
        };
        let joint = &self.saved.joint;
        let whole = &joint.covariance_data + &joint.covariance_noise;
        map! {
            "covariance": rows(&whole),
            "covariance_data": rows(&joint.covariance_data),
            "covariance_noise": rows(&joint.covariance_noise),
        }
    }

    fn derive(&self, py: Python<'_>, formula: &str) -> PyResult<Tree> {
        let found = self.saved.joint.derive(formula).map_err(Failure::from);
        found.and_then(|estimate| Tree::of(&estimate)).map_err(|failure| failure.exception(py))
    }

    fn wald(&self, py: Python<'_>, hypotheses: Vec<String>) -> PyResult<Tree> {
        let found = self.saved.joint.wald(&hypotheses).map_err(Failure::from);
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
        let saved = self.saved.clone();
        model.run(py, None, move |model, _| Ok(Tree::from(saved.log_density(&model, points.view())?)))
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
            Ok(Tree::from(points_by_row(&drawn.points)))
        })
    }

    /// Draws of the fitted model, one row each.
    fn simulate(&self, py: Python<'_>, model: &PyModel, count: usize, seed: u64) -> PyResult<Tree> {
        let saved = self.saved.clone();
        model.run(py, None, move |model, monitor| {
            let context = Context::new(seed, &monitor.cancel, None);
            Ok(Tree::from(saved.simulate(&model, count, &context)?))
        })
    }
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
