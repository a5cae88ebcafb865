//! The lab for notebooks: questions and answers as text, the page's script, and the page on this machine.

use std::sync::{Arc, Mutex, PoisonError};

use noisewright_lab::{DataFile, Example, Lab, Running, Server, Started, script, style};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::examples;

/// A data file: its name and what is in it.
type File = (String, Vec<u8>);

/// A lab with the examples that ship.
#[pyclass(frozen, name = "Lab")]
pub(crate) struct PyLab {
    lab: Arc<Lab>,
    running: Mutex<Option<Running>>,
}

#[pymethods]
impl PyLab {
    /// What its page begins with: a model file by name and text, data, a noise in words, ν, and parameters by name.
    #[new]
    fn new(
        model: Option<(String, String)>,
        data: Option<File>,
        noise: Option<String>,
        nu: Option<f64>,
        at: Vec<(String, f64)>,
    ) -> Self {
        let data = data.map(|(name, bytes)| DataFile::new(name, bytes));
        let lab = Lab::new(Started { model, data, noise, nu, at, examples: shipped() });
        Self { lab: Arc::new(lab), running: Mutex::default() }
    }

    /// Whether there is an answer to a question, and the answer or the mistake as JSON.
    fn ask(&self, py: Python<'_>, page: &str, kind: &str, question: &str) -> (bool, String) {
        match py.detach(|| self.lab.ask(page, kind, question)) {
            Ok(answer) => (true, answer),
            Err(mistake) => (false, mistake.to_json()),
        }
    }

    /// Keeps a data file; gives its number.
    fn add_data(&self, name: String, bytes: Vec<u8>) -> usize {
        self.lab.add_data(DataFile::new(name, bytes))
    }

    /// Ends all computations.
    fn cancel(&self) {
        self.lab.cancel_all();
    }

    /// Serves the page on this machine, unless it is served already; gives its address.
    fn serve(&self, py: Python<'_>) -> PyResult<String> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.as_ref() {
            return Ok(running.address().to_owned());
        }
        let server = py
            .detach(|| Server::bind(Arc::clone(&self.lab), 0))
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let started = server.start();
        let address = started.address().to_owned();
        *running = Some(started);
        Ok(address)
    }

    /// Ends the page.
    fn stop(&self, py: Python<'_>) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            py.detach(|| running.stop());
        }
    }
}

/// The examples whose model the lab can show, with their data.
fn shipped() -> Vec<Example> {
    let file = |name: &str, (file, text): &(&'static str, &'static str)| {
        DataFile::new(format!("examples/{name}/{file}"), text.as_bytes().to_vec())
    };
    let example = |(name, model, files): &examples::Example| {
        let model = (*model)?;
        let shows = noisewright::Model::from_toml(model).is_ok_and(|model| model.covariates().is_empty());
        let about = model.lines().next()?.trim_start_matches('#').trim().to_owned();
        let data = files.first().map(|first| file(name, first));
        shows.then(|| Example { name: (*name).to_owned(), about, model: model.to_owned(), data })
    };
    examples::EXAMPLES.iter().filter_map(example).collect()
}

/// The script and the style sheet of the page, as `anywidget` takes them.
#[pyfunction]
pub(crate) fn lab_page() -> (String, String) {
    (script(), style().into_owned())
}
