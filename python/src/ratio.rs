//! `ratio` without features or through bridges, and `mutual_information`.

use std::sync::Arc;

use noisewright::fit::{Data, DensityRatio};
use noisewright::internal::fit::{density_ratio, mutual_information};
use noisewright::parts::{LogRatio, RatioOptions};
use noisewright::{Model, Points};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
use crate::model::{PyModel, points};
use crate::task::{self, Monitor};
use crate::tree::{Tree, map};

/// How to fit, as Python hands it over.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    #[pyo3(item)]
    basis: String,
    #[pyo3(item)]
    bridges: String,
    #[pyo3(item)]
    permutations: usize,
    #[pyo3(item)]
    confidence: f64,
    #[pyo3(item)]
    max_iterations: usize,
    #[pyo3(item)]
    tolerance: f64,
    #[pyo3(item)]
    seed: u64,
}

impl Settings {
    fn options(&self, monitor: &Arc<Monitor>) -> Outcome<RatioOptions> {
        Ok(RatioOptions {
            basis: self.basis.parse()?,
            bridges: self.bridges.parse()?,
            permutations: self.permutations,
            confidence: self.confidence,
            max_iterations: self.max_iterations,
            tolerance: self.tolerance,
            seed: self.seed,
            cancel: monitor.cancel.clone(),
            progress: Some(monitor.hook()),
            // Not `..default()`: a new option must be named here too.
            more: noisewright::internal::More,
        })
    }
}

/// A fitted ratio that can be asked for its values.
#[pyclass(frozen, module = "noisewright._core")]
pub(crate) struct FittedRatio {
    fitted: Arc<DensityRatio>,
}

#[pymethods]
impl FittedRatio {
    /// The log ratio at points of one row per variable, with errors, and how typical of the first sample they are.
    fn log_ratio<'py>(&self, py: Python<'py>, array: PyReadonlyArray2<'py, f64>) -> PyResult<Tree> {
        let points = points(&array, self.fitted.variables())?;
        let fitted = Arc::clone(&self.fitted);
        task::run(py, None, move |_| {
            let there = fitted.log_ratio_at(points.view())?;
            let column = |part: fn(&LogRatio) -> f64| there.iter().map(part).collect::<Vec<f64>>();
            Ok(map! {
                "log_ratio": column(|at| at.value),
                "se": column(|at| at.se),
                "lower": column(|at| at.lower),
                "upper": column(|at| at.upper),
                "typicality": fitted.typicality(points.view())?,
            })
        })
    }
}

/// The answer and what can be asked of it again.
type Answer = (Tree, FittedRatio);

/// Fits the ratio of two samples' densities on a basis, or on the features of a model.
#[pyfunction]
#[pyo3(signature = (model, names, first, second, settings, tick=None))]
pub(crate) fn ratio_on_basis<'py>(
    py: Python<'py>,
    model: Option<&PyModel>,
    names: Vec<String>,
    first: PyReadonlyArray2<'py, f64>,
    second: PyReadonlyArray2<'py, f64>,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Answer> {
    let (first, second) = (points(&first, &names)?, points(&second, &names)?);
    let work = move |model: Option<&Model>, monitor: &Arc<Monitor>| {
        let options = settings.options(monitor)?;
        let fitted = density_ratio(model, Data::from(&first), Data::from(&second), &options)?;
        let weights = fitted.importance.weights.clone();
        let tree = Tree::of(&fitted)?.with("importance_weights", weights);
        Ok((tree, FittedRatio { fitted: Arc::new(fitted) }))
    };
    with_model(py, model, tick, work)
}

/// The mutual information between some columns and others.
#[pyfunction]
#[pyo3(signature = (model, names, data, between, settings, tick=None))]
pub(crate) fn information<'py>(
    py: Python<'py>,
    model: Option<&PyModel>,
    names: Vec<String>,
    data: PyReadonlyArray2<'py, f64>,
    between: (Vec<String>, Vec<String>),
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let data: Points = points(&data, &names)?;
    with_model(py, model, tick, move |model, monitor| {
        let options = settings.options(monitor)?;
        let found = mutual_information(model, Data::from(&data), [&between.0, &between.1], &options)?;
        Tree::of(&found)
    })
}

fn with_model<T: Send + 'static>(
    py: Python<'_>,
    model: Option<&PyModel>,
    tick: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Option<&Model>, &Arc<Monitor>) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    match model {
        Some(model) => model.run(py, tick, move |model, monitor| work(Some(&model), monitor)),
        None => task::run(py, tick, move |monitor| work(None, monitor)),
    }
}
