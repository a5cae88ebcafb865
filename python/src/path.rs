//! `log_z_path`: log Z of a model far from every noise, by bridges that are sampled here.

use std::sync::Arc;

use noisewright::internal::design::Purpose;
use noisewright::internal::normalizer::fit_noise;
use noisewright::parts::PathOptions;
use noisewright::run::Context;
use noisewright::{ModelDensity, Precision, Target};
use noisewright_bindings::{Problem, Request};
use pyo3::prelude::*;

use crate::failure::Outcome;
use crate::model::PyModel;
use crate::noise::NoiseArgument;
use crate::task::Monitor;
use crate::tree::Tree;

/// How the path is gone, as Python hands it over.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    #[pyo3(item)]
    states: Option<usize>,
    #[pyo3(item)]
    draws: usize,
    #[pyo3(item)]
    chains: usize,
    #[pyo3(item)]
    warm_up: usize,
    #[pyo3(item)]
    thin: usize,
    #[pyo3(item)]
    moves: String,
    #[pyo3(item)]
    confidence: f64,
    #[pyo3(item)]
    seed: u64,
}

impl Settings {
    fn options(&self, monitor: &Arc<Monitor>) -> Outcome<PathOptions> {
        Ok(PathOptions {
            states: self.states,
            draws: self.draws,
            chains: self.chains,
            warm_up: self.warm_up,
            thin: self.thin,
            moves: self.moves.parse()?,
            confidence: self.confidence,
            seed: self.seed,
            cancel: monitor.cancel.clone(),
            progress: Some(monitor.hook()),
            ..PathOptions::default()
        })
    }
}

/// log Z of a model at parameter values by a path from a noise, or from one that is fitted to chains of the model.
#[pyfunction]
#[pyo3(signature = (model, parameters, noise, settings, tick=None))]
pub(crate) fn log_z_path<'py>(
    py: Python<'py>,
    model: &PyModel,
    parameters: Vec<f64>,
    noise: NoiseArgument,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let request = Request::from(noise);
    model.run(py, tick, move |model, monitor| {
        let options = settings.options(monitor)?;
        let precision =
            Precision { seed: settings.seed, cancel: monitor.cancel.clone(), ..Precision::default() };
        let problem =
            Problem { model, parameters, data: None, log_normalizer: None, on_data: false, precision };
        let density = ModelDensity::new(&problem.model, &problem.parameters)?;
        let noise = if request.words.trim() == "auto" {
            let context = Context::new(options.seed, &options.cancel, options.progress.as_ref());
            fit_noise(&density, options.moves, &context)?
        } else {
            request.build(&problem, Purpose { nu: 1.0, target: &Target::Mse })?
        };
        Tree::of(&noisewright::path(noise, &density).options(options).run()?)
    })
}
