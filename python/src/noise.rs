//! `noisewright._core.Noise`: noises that are built, and the words that ask for one.

use std::sync::Arc;

use noisewright::internal::design::noise_on;
use noisewright::internal::words::space_of;
use noisewright::parts::SavedNoise;
use noisewright::run::Context;
use noisewright::{Model, Noise, NoiseWords, Space, View, quiet_sample, try_sample};
use noisewright_bindings::{DomainWords, Outcome, Request, noise_of_record, space};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::model::points;
use crate::pool::pool;
use crate::task;

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

    /// The noise as plain data, where it can be kept so.
    fn saved(&self) -> PyResult<Option<String>> {
        let text = self.noise.saved().map(|saved| serde_json::to_string(&saved)).transpose();
        text.map_err(|error| PyValueError::new_err(error.to_string()))
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
        let pool = pool(py)?;
        let points = View::new(columns, rows, values);
        py.detach(|| pool.install(|| self.noise.log_density(points, &mut out)));
        Ok(PyArray1::from_vec(py, out))
    }

    /// Draws, one row per variable.
    #[pyo3(signature = (rows, seed, quiet=false))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        seed: u64,
        quiet: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let noise = Arc::clone(&self.noise);
        let draws = task::run(py, None, move |monitor| {
            let context = Context::new(seed, &monitor.cancel, None);
            let draw = if quiet { quiet_sample } else { try_sample };
            Ok(draw(noise.as_ref(), rows, &context)?)
        })?;
        let columns = draws.columns();
        PyArray1::from_vec(py, draws.into_values()).reshape([columns, rows])
    }
}

/// A noise as an argument: words, in which `file("built:0")` stands for the first of the noises beside them.
#[derive(FromPyObject)]
pub(crate) struct NoiseArgument(String, Vec<Py<BuiltNoise>>);

impl From<NoiseArgument> for Request {
    fn from(argument: NoiseArgument) -> Self {
        let built = argument.1.iter().map(|built| Arc::clone(&built.get().noise)).collect();
        Self { words: argument.0, built }
    }
}

/// A noise in words on a space, without a model; fitted to the data where it says no numbers.
#[pyfunction]
pub(crate) fn build_noise(
    py: Python<'_>,
    noise: NoiseArgument,
    variables: Vec<String>,
    domains: Vec<DomainWords>,
    data: Option<PyReadonlyArray2<'_, f64>>,
) -> PyResult<BuiltNoise> {
    let request = Request::from(noise);
    let data = data.map(|array| points(&array, &variables)).transpose()?;
    let noise = task::run(py, None, move |_| {
        let words = request.parse()?;
        let space = space_said(&words, &variables, &domains)?;
        Ok(noise_on(&space, data.as_ref(), &words, &|path| request.file(path))?)
    })?;
    Ok(BuiltNoise { noise })
}

/// The space that is asked for; where variables or domains are left out, that of which the words speak.
fn space_said(words: &NoiseWords, variables: &[String], domains: &[DomainWords]) -> Outcome<Space> {
    if !domains.is_empty() {
        return Ok(space(variables, domains)?);
    }
    let own = space_of(words)?;
    if variables.is_empty() || own.dimension() == variables.len() {
        return Ok(own);
    }
    Ok(Space::real(variables)?)
}

/// A noise from what `Noise.saved` kept; `model` is the text of the model file that it was made from, if there is one.
#[pyfunction]
pub(crate) fn noise_from_saved(
    py: Python<'_>,
    text: String,
    variables: Vec<String>,
    domains: Vec<DomainWords>,
    model: Option<String>,
) -> PyResult<BuiltNoise> {
    let noise = task::run(py, None, move |_| {
        let saved: SavedNoise = serde_json::from_str(&text)
            .map_err(|error| Failure::Input(format!("this is not a saved noise: {error}")))?;
        let model = model.as_deref().map(Model::from_toml).transpose()?;
        Ok(saved.build(&space(&variables, &domains)?, model.as_ref())?)
    })?;
    Ok(BuiltNoise { noise })
}

/// A saved design, read back from its text.
#[pyfunction]
pub(crate) fn noise_from_record(py: Python<'_>, text: String) -> PyResult<BuiltNoise> {
    let noise = task::run(py, None, move |_| noise_of_record(&text))?;
    Ok(BuiltNoise { noise })
}
