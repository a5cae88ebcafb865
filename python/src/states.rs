//! Many states: their log-normalizers, and what pooled draws say of any of them.

use noisewright::normalizer::states::{self, Coordinate, Observable};
use noisewright::parts::Convergence;
use noisewright_bindings::{Cells, Pool, equilibration};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::task;
use crate::tree::{Tree, map};

/// The rows of an array that is read in place.
fn rows<'a>(array: &'a PyReadonlyArray2<'_, f64>) -> PyResult<Vec<&'a [f64]>> {
    let (count, length) = (array.as_array().nrows(), array.as_array().ncols());
    let values = array.as_slice()?;
    Ok((0..count).map(|k| &values[k * length..(k + 1) * length]).collect())
}

/// Log-normalizers of many states from pooled draws: `log_f` has one row per state and one column per draw.
#[pyfunction]
#[pyo3(signature = (log_f, pool, tick=None))]
pub(crate) fn log_z_states<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    pool: Pool,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let columns = rows(&log_f)?;
    task::run_borrowing(py, tick, |monitor| {
        Ok(Tree::from(noisewright_bindings::log_z_states(&columns, &pool, monitor)?))
    })
}

/// The same for every state with the next one, from the draws of the two alone.
#[pyfunction]
#[pyo3(signature = (log_f, pool, tick=None))]
pub(crate) fn log_z_neighbours<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    pool: Pool,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let columns = rows(&log_f)?;
    task::run_borrowing(py, tick, |monitor| {
        let steps = noisewright_bindings::log_z_neighbours(&columns, &pool, monitor)?;
        Ok(Tree::List(steps.into_iter().map(Tree::from).collect()))
    })
}

/// Means of observables, one row of `values` each, under states.
#[pyfunction]
#[pyo3(signature = (log_f, pool, observables, values, under, tick=None))]
pub(crate) fn state_expectations<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    pool: Pool,
    observables: Vec<String>,
    values: PyReadonlyArray2<'py, f64>,
    under: Vec<usize>,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let (columns, values) = (rows(&log_f)?, rows(&values)?);
    task::run_borrowing(py, tick, |monitor| {
        let reweighting = pool.reweight(&columns, monitor)?;
        let each = observables.iter().zip(&values);
        let asked: Vec<Observable<'_>> = each
            .flat_map(|(name, values)| under.iter().map(move |k| Observable::new(name, values, *k)))
            .collect();
        Tree::of(&reweighting.expectations(&asked)?.with_names(&pool.names))
    })
}

/// The free energy along the coordinates, one row of `values` each, under a state.
#[pyfunction]
#[pyo3(signature = (log_f, pool, coordinates, values, state, cells, tick=None))]
pub(crate) fn state_surface<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    pool: Pool,
    coordinates: Vec<String>,
    values: PyReadonlyArray2<'py, f64>,
    state: usize,
    cells: Cells,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let (columns, values) = (rows(&log_f)?, rows(&values)?);
    task::run_borrowing(py, tick, |monitor| {
        let reweighting = pool.reweight(&columns, monitor)?;
        let along: Vec<Coordinate<'_>> =
            coordinates.iter().zip(&values).map(|(name, values)| Coordinate::new(name, values)).collect();
        Tree::of(&reweighting.surface(&along, state, &cells.options())?.with_names(&pool.names))
    })
}

/// Mean energies and entropies of all states relative to the reference.
#[pyfunction]
#[pyo3(signature = (log_f, pool, tick=None))]
pub(crate) fn state_energies<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    pool: Pool,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let columns = rows(&log_f)?;
    task::run_borrowing(py, tick, |monitor| Tree::of(&pool.reweight(&columns, monitor)?.energies()?))
}

/// Log-normalizers from growing parts of every chain, from its beginning and from its end.
#[pyfunction]
#[pyo3(signature = (log_f, pool, parts, tick=None))]
pub(crate) fn state_convergence<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    pool: Pool,
    parts: usize,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let columns = rows(&log_f)?;
    task::run_borrowing(py, tick, |monitor| {
        let found = states::convergence(&pool.pooled(&columns)?, &pool.options(monitor)?, parts)?;
        let column = |of: &dyn Fn(&Convergence) -> Tree| found.iter().map(of).collect::<Vec<Tree>>();
        Ok(map! {
            "share": found.iter().map(|part| part.share).collect::<Vec<f64>>(),
            "forward": column(&|part| part.forward.clone().into()),
            "forward_se": column(&|part| part.forward_se.clone().into()),
            "backward": column(&|part| part.backward.clone().into()),
            "backward_se": column(&|part| part.backward_se.clone().into()),
        })
    })
}

/// Where every chain has come to equilibrium.
#[pyfunction]
#[pyo3(signature = (log_f, pool, tick=None))]
pub(crate) fn state_equilibration<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    pool: Pool,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let columns = rows(&log_f)?;
    task::run_borrowing(py, tick, |monitor| Ok(Tree::from(equilibration(&columns, &pool, monitor)?)))
}
