//! `fit` and `ratio` past one process: the coordinator, who asks Python for sums, and the replicas that take them.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use noisewright::Error;
use noisewright::fit::{
    PassRequest, Replica, Workers, fit_distributed as fit_by_workers, ratio_distributed as ratio_by_workers,
};
use noisewright_bindings::Reading;
use noisewright_data::{Format, Options, RowRanges};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use rayon::ThreadPoolBuilder;

use crate::failure::{Failure, Raise};
use crate::fit::{Plan, Settings, ratio_tree, tree};
use crate::model::PyModel;
use crate::task::Monitor;
use crate::tree::Tree;

/// How many variables and rows there are (of both samples of a ratio; of a fit the second has none), how many rows one process
/// sums over at a time, and whether a column of cluster numbers comes after the variables.
type Shape = (usize, [usize; 2], usize, bool);

/// Values of a run of rows that are copied at a time: half a megabyte stays in a processor's cache until it is summed.
const VALUES_AT_ONCE: usize = 1 << 16;

/// Processes that Python reaches: `sum(answers, known, runs, sample)` gives the answer to every run, and is told every answer of the
/// log once; `sample` is `None` for noise.
struct PythonWorkers {
    object: Py<PyAny>,
    shape: Shape,
    /// How many answers of the log Python has been told.
    told: Mutex<usize>,
    /// The first exception, whatever became of the library's error.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl PythonWorkers {
    fn ask(&self, py: Python<'_>, pass: &PassRequest<'_>) -> PyResult<Vec<Vec<u8>>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let news: Vec<Bound<'_, PyBytes>> =
            pass.log[*told..].iter().map(|answer| PyBytes::new(py, answer)).collect();
        *told = pass.log.len();
        let runs: Vec<(usize, usize)> = pass.runs.iter().map(|run| (run.start, run.end)).collect();
        self.object.bind(py).call_method1("sum", (news, pass.known, runs, pass.sample))?.extract()
    }
}

impl Workers for PythonWorkers {
    fn dimension(&self) -> usize {
        self.shape.0
    }

    fn has_clusters(&self) -> bool {
        self.shape.3
    }

    fn rows(&self) -> usize {
        self.shape.1[0]
    }

    fn second_rows(&self) -> usize {
        self.shape.1[1]
    }

    fn run_rows(&self) -> usize {
        self.shape.2
    }

    fn sum(&self, pass: &PassRequest<'_>) -> noisewright::Result<Vec<Vec<u8>>> {
        let gone = || Error::external(std::io::Error::other("the interpreter is shutting down"));
        let outcome = Python::try_attach(|py| {
            self.ask(py, pass).map_err(|exception| {
                let error = Error::external(exception.clone_ref(py));
                self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(exception);
                error
            })
        });
        outcome.unwrap_or_else(|| Err(gone()))
    }
}

/// Fits a model to rows that other processes hold, or the ratio of two samples.
#[pyfunction]
#[pyo3(signature = (model, shape, settings, workers, ratio, tick=None))]
pub(crate) fn fit_distributed<'py>(
    py: Python<'py>,
    model: &PyModel,
    shape: Shape,
    settings: Settings,
    workers: Py<PyAny>,
    ratio: bool,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let (plan, text) = (Plan::from(settings), model.text.clone());
    let raised = Arc::new(Mutex::new(None));
    let workers = PythonWorkers { object: workers, shape, told: Mutex::new(0), raised: Arc::clone(&raised) };
    let answer = model.run(py, tick, move |model, monitor| {
        let options = plan.options(&model, None, monitor)?;
        if ratio {
            return ratio_tree(&ratio_by_workers(&model, &workers, &options)?);
        }
        let fit = fit_by_workers(&model, &workers, &options)?;
        tree(&fit, &Reading::default(), None, text.as_deref())
    });
    let exception = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    exception.map_or(answer, Err)
}

/// A copy of a fit in a process that has rows.
#[pyclass(frozen, module = "noisewright._core", name = "Replica")]
pub(crate) struct PyReplica(Mutex<Held>);

/// A replica, and the memory that it has for some rows.
struct Held {
    replica: Replica,
    /// Values column by column, and weights.
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
    /// Threads that it has.
    threads: usize,
}

/// Rows in pieces, one after the other, each of them columns.
type Pieces<'py> = Vec<Vec<PyReadonlyArray1<'py, f64>>>;

/// A column, copied only where its values do not lie one after the other.
fn lent<'c>(column: &'c PyReadonlyArray1<'_, f64>) -> Cow<'c, [f64]> {
    match column.as_slice() {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(column.as_array().to_vec()),
    }
}

impl Held {
    /// The answer for a run of rows that are in pieces, a few of them at a time; the last column are weights where there are any.
    fn sum(
        &mut self,
        run: Range<usize>,
        pieces: &[Vec<Cow<'_, [f64]>>],
        weighted: bool,
    ) -> noisewright::Result<Vec<u8>> {
        let columns = pieces.first().map_or(1, Vec::len);
        let parts = Replica::parts(&run, VALUES_AT_ONCE / columns);
        let mut answers = Vec::with_capacity(parts.len());
        for part in &parts {
            self.take(pieces, part.start - run.start..part.end - run.start, weighted);
            answers.push(self.replica.sum_lent(part.clone(), &mut self.values, &mut self.weights)?);
        }
        self.replica.join(run, parts, answers)
    }

    /// The answer for a run of rows that are read here, a few of them at a time; `None` where they cannot be read so, or have changed.
    fn sum_files(
        &mut self,
        run: Range<usize>,
        files: &FileParts,
        weighted: bool,
    ) -> noisewright::Result<Option<Vec<u8>>> {
        let columns = files.names.len();
        let Some((opened, first)) = files.open() else { return Ok(None) };
        let parts = Replica::parts(&run, VALUES_AT_ONCE / columns.max(1));
        let sizes: Vec<usize> = parts.iter().map(Range::len).collect();
        let (mut answers, mut numbers) = (Vec::with_capacity(parts.len()), parts.iter());
        let read = read_ahead(&opened, first, &sizes, self.threads > 1, |values| {
            let Some(part) = numbers.next() else { return Ok(()) };
            let split = (columns - usize::from(weighted)) * part.len();
            let mut weights = weighted.then(|| values.split_off(split));
            answers.push(self.replica.sum_lent(part.clone(), values, &mut weights)?);
            Ok(())
        })?;
        if read { self.replica.join(run, parts, answers).map(Some) } else { Ok(None) }
    }

    /// Copies some rows of the pieces, column by column.
    fn take(&mut self, pieces: &[Vec<Cow<'_, [f64]>>], rows: Range<usize>, weighted: bool) {
        let columns = pieces.first().map_or(0, Vec::len);
        let variables = columns.saturating_sub(usize::from(weighted));
        let copy = |out: &mut Vec<f64>, j: usize| {
            let mut before = 0;
            for column in pieces.iter().filter_map(|piece| piece.get(j)) {
                let inside = |row: usize| row.clamp(before, before + column.len()) - before;
                out.extend_from_slice(&column[inside(rows.start)..inside(rows.end)]);
                before += column.len();
            }
        };
        self.values.clear();
        (0..variables).for_each(|j| copy(&mut self.values, j));
        let mut weights = self.weights.take().filter(|_| weighted && columns > 0).unwrap_or_default();
        weights.clear();
        self.weights = (variables < columns).then(|| {
            copy(&mut weights, variables);
            weights
        });
    }
}

/// Rows in Parquet files on disk.
struct FileParts {
    names: Vec<String>,
    parts: Vec<FilePart>,
}

/// A file, the row of it at which the rows begin, and the rows of all its row groups as they were counted.
type FilePart = (PathBuf, usize, Vec<usize>);

impl FileParts {
    /// The files, and the row of theirs at which the rows begin; `None` where another reader could find other numbers in them, or their
    /// row groups are not those that were counted.
    fn open(&self) -> Option<(RowRanges, usize)> {
        let options = Options::default().format(Format::Parquet).columns(&self.names);
        let paths: Vec<PathBuf> = self.parts.iter().map(|(path, ..)| path.clone()).collect();
        let files = RowRanges::open(&paths, &options).ok()?;
        let same = files.row_groups().eq(self.parts.iter().map(|(.., groups)| groups.as_slice()));
        let first = self.parts.first()?.1;
        (same && files.are_floating()).then_some((files, first))
    }
}

/// Hands on so many rows at a time from a first one on, column after column; false where they cannot be read. Where there are threads,
/// another one reads ahead.
fn read_ahead(
    files: &RowRanges,
    first: usize,
    sizes: &[usize],
    threads: bool,
    mut hand_on: impl FnMut(&mut Vec<f64>) -> noisewright::Result<()>,
) -> noisewright::Result<bool> {
    let rows = first..first + sizes.iter().sum::<usize>();
    if !threads {
        let (mut passage, mut values) = (files.passage(rows), Vec::new());
        for size in sizes {
            if passage.next(*size, &mut values).is_err() {
                return Ok(false);
            }
            hand_on(&mut values)?;
        }
        return Ok(true);
    }
    let (send, receive) = sync_channel::<Vec<f64>>(1);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut passage = files.passage(rows);
            sizes.iter().all(|size| {
                let mut values = Vec::new();
                passage.next(*size, &mut values).is_ok() && send.send(values).is_ok()
            })
        });
        receive.iter().try_for_each(|mut values| hand_on(&mut values))?;
        drop(receive);
        reader.join().map_err(|_| Error::external(std::io::Error::other("the thread that reads broke down")))
    })
}

impl PyReplica {
    /// Something done with the replica while others may use the interpreter.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Replica) -> noisewright::Result<T> + Send,
    ) -> PyResult<T> {
        let outcome = py.detach(|| work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).replica));
        outcome.map_err(|error| Failure::from(error).exception(py))
    }
}

#[pymethods]
impl PyReplica {
    /// Begins a fit, or a ratio, of data of so many variables and rows, that may have a column of cluster numbers.
    #[new]
    fn new(
        py: Python<'_>,
        model: &PyModel,
        shape: (usize, [usize; 2], bool),
        settings: Settings,
        ratio: bool,
    ) -> PyResult<Self> {
        let (dimension, rows, clusters) = shape;
        let monitor = Arc::new(Monitor::default());
        let options = Plan::from(settings).options(&model.model, None, &monitor);
        let options = options.map_err(|failure| failure.exception(py))?;
        // Threads of its own: it waits in one of them for as long as it lives.
        let made =
            ThreadPoolBuilder::new().thread_name(|index| format!("noisewright-replica-{index}")).build();
        let threads = made.map_err(|error| Failure::Broken(error.to_string()).exception(py))?;
        let count = threads.current_num_threads();
        let run = move |work: &(dyn Fn() + Sync)| threads.install(work);
        let model = model.model.clone();
        let replica = match (ratio, clusters) {
            (true, _) => Replica::start_ratio(model, options, (dimension, rows), run),
            (false, true) => Replica::start_clustered(model, options, (dimension, rows[0]), run),
            (false, false) => Replica::start(model, options, (dimension, rows[0]), run),
        };
        let replica = replica.map_err(|error| Failure::from(error).exception(py))?;
        Ok(Self(Mutex::new(Held { replica, values: Vec::new(), weights: None, threads: count })))
    }

    /// How many answers it has been given.
    #[getter]
    fn step(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |replica| Ok(replica.step()))
    }

    /// Goes on with the next answers of the log.
    fn advance(&self, py: Python<'_>, answers: Vec<Vec<u8>>) -> PyResult<()> {
        self.with(py, move |replica| replica.advance(&answers))
    }

    /// The answer for a run of rows at this step, which come in pieces, each a list of columns, weights last; noise is drawn, and has
    /// no pieces.
    #[pyo3(signature = (run, pieces=Vec::new(), weighted=false))]
    fn sum<'py>(
        &self,
        py: Python<'py>,
        run: (usize, usize),
        pieces: Pieces<'py>,
        weighted: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut held = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        let rows: Vec<Vec<Cow<'_, [f64]>>> =
            pieces.iter().map(|piece| piece.iter().map(lent).collect()).collect();
        let outcome = py.detach(|| held.sum(run.0..run.1, &rows, weighted));
        let answer = outcome.map_err(|error| Failure::from(error).exception(py))?;
        Ok(PyBytes::new(py, &answer))
    }

    /// The same for rows that are read here, from Parquet files on disk: each with its path, the row at which to begin and the rows of all
    /// its row groups. `None` where they must be read otherwise.
    fn sum_files<'py>(
        &self,
        py: Python<'py>,
        run: (usize, usize),
        parts: Vec<FilePart>,
        names: Vec<String>,
        weighted: bool,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let mut held = self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        let files = FileParts { names, parts };
        let outcome = py.detach(|| held.sum_files(run.0..run.1, &files, weighted));
        let answer = outcome.map_err(|error| Failure::from(error).exception(py))?;
        Ok(answer.map(|answer| PyBytes::new(py, &answer)))
    }
}
