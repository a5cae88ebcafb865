//! `noisewright._core.Noise`: noises that are built, and the words that ask for one.

use std::path::Path;
use std::sync::Arc;

use noisewright::design::{self, ModelNoise, Record};
use noisewright::{Argument, Call, Context, Error, Noise, NoiseWords, Points, View, equal_edges, sample};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
use crate::model::{points, space};
use crate::problem::{Problem, Purpose};
use crate::task;

/// Draws of the model that stand in for data where `auto` has none.
const STAND_IN: usize = 20_000;

/// A noise that Python holds.
#[pyclass(frozen, module = "noisewright._core", name = "Noise")]
pub(crate) struct BuiltNoise {
    pub(crate) noise: Arc<dyn Noise>,
}

#[pymethods]
impl BuiltNoise {
    #[getter]
    fn dimension(&self) -> usize {
        self.noise.dimension()
    }

    #[getter]
    fn words(&self) -> String {
        self.noise.describe()
    }

    /// The log-density at points, one row per variable.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        array: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (columns, rows) = array.as_array().dim();
        let values = array.as_slice()?;
        let mut out = vec![0.0; rows];
        py.detach(|| self.noise.log_density(View::new(columns, rows, values), &mut out));
        Ok(PyArray1::from_vec(py, out))
    }

    /// Draws, one row per variable.
    fn sample<'py>(&self, py: Python<'py>, rows: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let noise = Arc::clone(&self.noise);
        let draws = task::run(py, None, move |_| Ok(sample(noise.as_ref(), rows, seed)))?;
        PyArray1::from_slice(py, draws.values()).reshape([draws.columns(), rows])
    }
}

/// A noise as an argument: words, in which `file("built:0")` stands for the first of the noises beside them.
#[derive(FromPyObject)]
pub(crate) struct NoiseArgument(String, Vec<Py<BuiltNoise>>);

/// The same, free of the interpreter.
pub(crate) struct Request {
    pub(crate) words: String,
    built: Vec<Arc<dyn Noise>>,
}

impl From<NoiseArgument> for Request {
    fn from(argument: NoiseArgument) -> Self {
        let built = argument.1.iter().map(|built| Arc::clone(&built.get().noise)).collect();
        Self { words: argument.0, built }
    }
}

impl Request {
    /// The words, read.
    pub(crate) fn parse(&self) -> Outcome<NoiseWords> {
        NoiseWords::parse(&self.words).map_err(|error| Failure::Input(format!("noise: {error}")))
    }

    /// The noise on a problem.
    pub(crate) fn build(&self, problem: &Problem, purpose: Purpose<'_>) -> Outcome<Arc<dyn Noise>> {
        Ok(self.spoken(problem, &self.parse()?, purpose)?)
    }

    /// The noise of parsed words on a problem.
    pub(crate) fn spoken(
        &self,
        problem: &Problem,
        words: &NoiseWords,
        purpose: Purpose<'_>,
    ) -> noisewright::Result<Arc<dyn Noise>> {
        let designed = |call: &Call| self.designed(problem, call, purpose);
        let data = problem.data.as_ref().map(Points::view);
        words.build(&Context { space: problem.model.space(), data, designed: Some(&designed) })
    }

    /// The noises that come from the model, a file or Python; `None` for all others.
    fn designed(
        &self,
        problem: &Problem,
        call: &Call,
        purpose: Purpose<'_>,
    ) -> Option<noisewright::Result<Arc<dyn Noise>>> {
        let Problem { model, parameters, precision, .. } = problem;
        Some(match call.name.as_str() {
            "data" => problem.model_noise(parameters),
            "model" => call.parameters_of(model, parameters).and_then(|at| problem.model_noise(&at)),
            "all-noise" => ModelNoise::all_noise(model, parameters, purpose.target, precision)
                .map(|noise| Arc::new(noise) as _),
            "optimal" => problem.design(purpose).map(|best| Arc::new(best.noise) as _),
            "auto" => auto(problem),
            "histogram" => histogram(problem, call, purpose),
            "file" => self.given(call),
            _ => return None,
        })
    }

    /// `file("design.json")`, or one of the noises that Python holds.
    fn given(&self, call: &Call) -> noisewright::Result<Arc<dyn Noise>> {
        let refused = |reason: String| Error::Noise { noise: call.to_string(), reason };
        let [Argument::Text(path)] = call.arguments.as_slice() else {
            return Err(refused("give the path of a saved design in quotes".into()));
        };
        let index = path.strip_prefix("built:").and_then(|index| index.parse::<usize>().ok());
        if let Some(noise) = index.and_then(|index| self.built.get(index)) {
            return Ok(Arc::clone(noise));
        }
        load(Path::new(path)).map_err(refused)
    }
}

/// A noise saved by `design --out` or by a designed noise's `save`.
fn load(path: &Path) -> Result<Arc<dyn Noise>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let record: Record =
        serde_json::from_str(&text).map_err(|error| format!("this is not a saved design: {error}"))?;
    record.noise().map_err(|error| error.to_string())
}

/// Fitted to the data, or to draws of the model where there are none.
fn auto(problem: &Problem) -> noisewright::Result<Arc<dyn Noise>> {
    let space = problem.model.space();
    if let Some(data) = &problem.data {
        return noisewright::fit_auto(space, data.view(), None);
    }
    let draws = sample(problem.model_noise(&problem.parameters)?.as_ref(), STAND_IN, problem.precision.seed);
    noisewright::fit_auto(space, draws.view(), None)
}

/// The best histogram for the purpose.
fn histogram(problem: &Problem, call: &Call, purpose: Purpose<'_>) -> noisewright::Result<Arc<dyn Noise>> {
    let edges = histogram_edges(call)?;
    let options = problem.options(purpose.target, design::Ratio::Fixed(purpose.nu));
    let Problem { model, parameters, .. } = problem;
    if model.space().dimension() == 1 {
        return Ok(Arc::new(design::best_histogram_1d(model, parameters, &edges, &options)?.noise));
    }
    Ok(Arc::new(design::best_histogram_2d(model, parameters, [&edges, &edges], &options)?.noise))
}

/// The edges of `histogram(bins, lo, hi)`.
pub(crate) fn histogram_edges(call: &Call) -> noisewright::Result<Vec<f64>> {
    let reason = "it must be histogram(bins, lo, hi) with at most 1000 bins";
    let wrong = || Error::Noise { noise: call.to_string(), reason: reason.into() };
    let [Argument::Number(bins), Argument::Number(lo), Argument::Number(hi)] = call.arguments.as_slice()
    else {
        return Err(wrong());
    };
    let whole = *bins >= 1.0 && *bins <= 1000.0 && bins.fract() == 0.0;
    if !(whole && lo < hi && lo.is_finite() && hi.is_finite()) {
        return Err(wrong());
    }
    Ok(equal_edges(*bins as usize, *lo, *hi))
}

/// A noise in words on a space, without a model; fitted to the data where it says no numbers.
#[pyfunction]
pub(crate) fn build_noise(
    py: Python<'_>,
    noise: NoiseArgument,
    variables: Vec<String>,
    domains: Vec<(String, Vec<f64>)>,
    data: Option<PyReadonlyArray2<'_, f64>>,
) -> PyResult<BuiltNoise> {
    let request = Request::from(noise);
    let data = data.map(|array| points(&array, &variables)).transpose()?;
    let noise = task::run(py, None, move |_| {
        let space = space(&variables, &domains)?;
        let designed = |call: &Call| match call.name.as_str() {
            "file" => Some(request.given(call)),
            "auto" => data.as_ref().map(|data| noisewright::fit_auto(&space, data.view(), None)),
            _ => None,
        };
        let context =
            Context { space: &space, data: data.as_ref().map(Points::view), designed: Some(&designed) };
        Ok(request.parse()?.build(&context)?)
    })?;
    Ok(BuiltNoise { noise })
}

/// A saved design, read back from its text.
#[pyfunction]
pub(crate) fn noise_from_record(py: Python<'_>, text: &str) -> PyResult<BuiltNoise> {
    let record: Record = serde_json::from_str(text)
        .map_err(|error| Failure::Input(format!("this is not a saved design: {error}")).exception(py))?;
    let noise = task::run(py, None, move |_| Ok(record.noise()?))?;
    Ok(BuiltNoise { noise })
}
