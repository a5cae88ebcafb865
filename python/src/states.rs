//! Many states: their log-normalizers, and what pooled draws say of any of them.

use noisewright::normalizer::Dependence;
use noisewright::normalizer::states::{
    self, Bins, Coordinate, Observable, Origin, Pooled, Smoothing, StatesOptions, SurfaceOptions,
    SurfaceReference,
};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
use crate::normalizer::dependence_word;
use crate::task::{self, Monitor};
use crate::tree::{Tree, map};

/// Where pooled draws come from, as Python hands it over.
#[derive(FromPyObject)]
pub(crate) struct Pool {
    #[pyo3(item)]
    counts: Option<Vec<usize>>,
    #[pyo3(item)]
    origin: Option<Vec<usize>>,
    #[pyo3(item)]
    chains: Option<Vec<usize>>,
    #[pyo3(item)]
    reference: usize,
    #[pyo3(item)]
    reference_log_z: f64,
    #[pyo3(item)]
    independent: bool,
    #[pyo3(item)]
    names: Vec<String>,
}

impl Pool {
    fn dependence(&self) -> Dependence {
        if self.independent { Dependence::Independent } else { Dependence::Chains }
    }

    fn options(&self, monitor: &Monitor) -> Outcome<StatesOptions> {
        let dependence = self.dependence();
        dependence.check_chains(self.chains.is_some())?;
        Ok(StatesOptions {
            reference: self.reference,
            reference_log_z: self.reference_log_z,
            dependence,
            cancel: monitor.cancel.clone(),
            more: noisewright::More,
        })
    }

    fn pooled<'a>(&'a self, columns: &'a [&'a [f64]]) -> Outcome<Pooled<'a>> {
        let origin = match (&self.counts, &self.origin) {
            (Some(counts), _) => Origin::Counts(counts),
            (None, Some(rows)) => Origin::Rows(rows),
            (None, None) => return Err(Failure::Input("`counts` or `origin` is missing".into())),
        };
        Ok(Pooled { log_f: columns, origin, chains: self.chains.as_deref() })
    }
}

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
        let answer = states::estimate(&pool.pooled(&columns)?, &pool.options(monitor)?)?;
        let tree = Tree::of(&answer.with_names(&pool.names))?;
        Ok(tree.with("dependence", dependence_word(pool.dependence())))
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
        let reweighting = states::reweight(&pool.pooled(&columns)?, &pool.options(monitor)?)?;
        let each = observables.iter().zip(&values);
        let asked: Vec<Observable<'_>> = each
            .flat_map(|(name, values)| under.iter().map(move |k| Observable::new(name, values, *k)))
            .collect();
        Tree::of(&reweighting.expectations(&asked)?.with_names(&pool.names))
    })
}

/// The cells, the smoothing and the reference of a surface, as Python hands them over.
#[derive(FromPyObject)]
pub(crate) struct Cells {
    #[pyo3(item)]
    counts: Vec<usize>,
    #[pyo3(item)]
    edges: Vec<Vec<f64>>,
    #[pyo3(item)]
    kernel: bool,
    #[pyo3(item)]
    bandwidths: Option<Vec<f64>>,
    #[pyo3(item)]
    normalized: bool,
    #[pyo3(item)]
    point: Option<Vec<f64>>,
}

impl Cells {
    fn options(self) -> SurfaceOptions {
        let counts = self.counts.into_iter().map(Bins::Count);
        let smoothing = if self.kernel {
            Smoothing::Kernel { bandwidths: self.bandwidths }
        } else {
            Smoothing::Histogram
        };
        let reference = match self.point {
            Some(point) => SurfaceReference::Point(point),
            None if self.normalized => SurfaceReference::Normalized,
            None => SurfaceReference::Lowest,
        };
        SurfaceOptions {
            bins: counts.chain(self.edges.into_iter().map(Bins::Edges)).collect(),
            smoothing,
            reference,
            more: noisewright::More,
        }
    }
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
        let reweighting = states::reweight(&pool.pooled(&columns)?, &pool.options(monitor)?)?;
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
    task::run_borrowing(py, tick, |monitor| {
        let found = states::reweight(&pool.pooled(&columns)?, &pool.options(monitor)?)?.energies()?;
        Tree::of(&found)
    })
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
        let column = |of: &dyn Fn(&states::Convergence) -> Tree| found.iter().map(of).collect::<Vec<Tree>>();
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
    task::run_borrowing(py, tick, |monitor| {
        let chains = states::reweight(&pool.pooled(&columns)?, &pool.options(monitor)?)?.equilibration()?;
        Tree::of(&states::NamedEquilibrations { chains: &chains, names: &pool.names })
    })
}
