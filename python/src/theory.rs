//! `error`: what a design would cost.

use noisewright::design::{Curve, Purpose};
use noisewright::{Asymptotics, Contrast, Loss, Noise, Population, Target, divergences, error_report};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::failure::Outcome;
use crate::model::{PyModel, points};
use crate::noise::{NoiseArgument, Request};
use crate::problem::Problem;
use crate::tree::Tree;

/// What `error` and `design` have in common, as Python hands it over.
#[derive(FromPyObject)]
pub(crate) struct Question<'py> {
    #[pyo3(item)]
    parameters: Vec<f64>,
    #[pyo3(item)]
    data: Option<PyReadonlyArray2<'py, f64>>,
    #[pyo3(item)]
    on_data: bool,
    #[pyo3(item)]
    log_normalizer: Option<f64>,
    #[pyo3(item)]
    accuracy: f64,
    #[pyo3(item)]
    draws: usize,
    #[pyo3(item)]
    seed: u64,
}

impl Question<'_> {
    /// The problem, free of the interpreter.
    pub(crate) fn problem(&self, model: &PyModel) -> PyResult<Problem> {
        let names = model.model.space().names();
        Ok(Problem {
            model: model.model.clone(),
            parameters: self.parameters.clone(),
            data: self.data.as_ref().map(|data| points(data, names)).transpose()?,
            log_normalizer: self.log_normalizer,
            on_data: self.on_data,
            precision: noisewright::Precision {
                relative: self.accuracy,
                draws: self.draws,
                seed: self.seed,
                ..noisewright::Precision::default()
            },
        })
    }
}

/// log Z of a model: in closed form, or integrated.
#[pyfunction]
pub(crate) fn log_normalizer(py: Python<'_>, model: &PyModel, question: Question<'_>) -> PyResult<f64> {
    let problem = question.problem(model)?;
    model.run(py, None, move |model, monitor| {
        Ok(problem.for_run(model, &monitor.cancel).question().log_normalizer()?)
    })
}

/// A loss by its name.
pub(crate) fn loss(name: &str) -> Outcome<Loss> {
    Ok(name.parse::<Loss>()?)
}

/// The asymptotic error of a design.
#[pyfunction]
#[pyo3(signature = (model, question, noise, nu, loss_name, target, tick=None))]
pub(crate) fn error<'py>(
    py: Python<'py>,
    model: &PyModel,
    question: Question<'py>,
    noise: NoiseArgument,
    nu: f64,
    loss_name: String,
    target: String,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let problem = question.problem(model)?;
    let request = Request::from(noise);
    model.run(py, tick, move |model, monitor| {
        let problem = problem.for_run(model, &monitor.cancel);
        answer(&problem, &request, nu, &loss(&loss_name)?, &Target::parse(&target))
    })
}

fn answer(problem: &Problem, request: &Request, nu: f64, loss: &Loss, target: &Target) -> Outcome<Tree> {
    if !(nu > 0.0 && nu.is_finite()) {
        return Err(noisewright::Error::NoiseRatio { value: nu }.into());
    }
    let noise = request.build(problem, Purpose { nu, target })?;
    let contrast = Contrast { noise: noise.as_ref(), nu, loss };
    let question = problem.question();
    let population = match question.sample() {
        Some(_) => question.population()?,
        None => Population::for_contrast(&problem.model, &problem.parameters, contrast, &problem.precision)?,
    };
    let log_noise = population.log_noise(noise.as_ref())?;
    let report = error_report(&population, &log_noise, nu, loss, target)?;
    let distances = match question.sample() {
        Some(_) => None,
        None => divergences(&problem.model, &problem.parameters, noise.as_ref(), nu, &problem.precision).ok(),
    };
    let matrix = target.matrix(population.coordinates(), &population.information())?;
    let curve = Curve::new(99, |nu| {
        Ok(Asymptotics::at(&population, &log_noise, nu, loss)?.error(&matrix, nu, 1.0, 1.0))
    })?;
    let infinite = report.why_infinite(distances.as_ref(), loss);
    let errors = distances.as_ref().map(|d| d.normalizer_errors(nu));
    Ok(Tree::of(&report)?
        .with("infinite", infinite)
        .with("divergences", Tree::of(&distances)?)
        .with("normalizer_errors", Tree::of(&errors)?)
        .with("nu", nu)
        .with("noise", noise.clone())
        .with("loss", loss.to_string())
        .with("target", target.to_string())
        .with("parameters", parameters(problem))
        .with("curve", Tree::of(&curve)?)
        .with("grid", grid(problem, &population, noise.as_ref(), nu)?))
}

/// The parameter values by name.
pub(crate) fn parameters(problem: &Problem) -> Tree {
    let names = problem.model.parameters().iter().zip(&problem.parameters);
    Tree::Map(names.map(|(p, v)| (p.name.clone(), Tree::Number(*v))).collect())
}

/// Densities of data and noise and the weight between them, where there is one continuous variable.
pub(crate) fn grid(problem: &Problem, population: &Population, noise: &dyn Noise, nu: f64) -> Outcome<Tree> {
    Tree::of(&problem.question().densities(population, noise, nu))
}
