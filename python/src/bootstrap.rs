//! Replicates of a bootstrap that other processes fit.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use noisewright::Error;
use noisewright::parts::{ReplicateAnswer, ReplicateHook};
use noisewright_bindings::fit_rows;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::fit::{GivenDraws, Plan, Rows, Settings, owned_draws};
use crate::model::PyModel;

/// The first exception of a Python function that was called by the library, whatever became of the library's error.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Asks a function of Python for the answers of so many replicates.
pub(crate) fn asked_of(function: Py<PyAny>, raised: &Raised) -> ReplicateHook {
    let raised = Arc::clone(raised);
    Arc::new(move |count, _| {
        let outcome = Python::try_attach(|py| {
            let answer = function.bind(py).call1((count,));
            answer.and_then(|answers| answers.extract::<Vec<ReplicateAnswer>>()).map_err(|exception| {
                let error = Error::external(exception.clone_ref(py));
                raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(exception);
                error
            })
        });
        outcome.unwrap_or(Err(Error::Cancelled))
    })
}

/// Some of the replicates of a fit's bootstrap, by their numbers: the fit is made again, and ends with them.
#[pyfunction]
#[pyo3(signature = (model, rows, settings, draws, first, last))]
pub(crate) fn fit_replicates<'py>(
    py: Python<'py>,
    model: &PyModel,
    rows: Rows<'py>,
    settings: Settings,
    draws: Option<GivenDraws<'py>>,
    first: usize,
    last: usize,
) -> PyResult<Vec<ReplicateAnswer>> {
    let names = model.model.space().names();
    let rows = rows.owned(names)?;
    let draws = draws.map(|given| owned_draws(&given, names)).transpose()?;
    let plan = Plan::from(settings);
    model.run(py, None, move |model, monitor| {
        let made: Arc<Mutex<Vec<ReplicateAnswer>>> = Arc::default();
        let mut options = plan.options(&model, draws, monitor)?;
        options.replicates = Some(only(first..last, &made));
        match fit_rows(&model, &rows, &options, None) {
            Err(error) if made.lock().unwrap_or_else(PoisonError::into_inner).is_empty() => Err(error),
            _ => Ok(std::mem::take(&mut *made.lock().unwrap_or_else(PoisonError::into_inner))),
        }
    })
}

/// Makes the replicates of these numbers, and ends the fit.
fn only(numbers: Range<usize>, made: &Arc<Mutex<Vec<ReplicateAnswer>>>) -> ReplicateHook {
    let made = Arc::clone(made);
    Arc::new(move |_, replicate| {
        let answers =
            numbers.clone().into_par_iter().map(replicate).collect::<noisewright::Result<Vec<_>>>()?;
        *made.lock().unwrap_or_else(PoisonError::into_inner) = answers;
        Err(Error::Cancelled)
    })
}
