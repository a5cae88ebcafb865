//! `error`: what a design would cost.

use noisewright::design::{ErrorAnswer, Purpose};
use noisewright::{Contrast, Loss, Noise, Population, Target};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
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
#[pyo3(signature = (model, question, noise, nu, loss_name, loss_ratio, target, tick=None))]
pub(crate) fn error<'py>(
    py: Python<'py>,
    model: &PyModel,
    question: Question<'py>,
    noise: NoiseArgument,
    nu: f64,
    loss_name: String,
    loss_ratio: Option<f64>,
    target: String,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let problem = question.problem(model)?;
    let request = Request::from(noise);
    model.run(py, tick, move |model, monitor| {
        let problem = problem.for_run(model, &monitor.cancel);
        let plain = loss(&loss_name)?;
        let loss = loss_ratio.map_or_else(|| Ok(plain.clone()), |ratio| plain.with_ratio(ratio, nu))?;
        let ratio = loss_ratio.or_else(|| plain.is_js().then_some(nu));
        Ok(answer(&problem, &request, nu, &loss, &Target::parse(&target))?.with("loss_ratio", ratio))
    })
}

fn answer(problem: &Problem, request: &Request, nu: f64, loss: &Loss, target: &Target) -> Outcome<Tree> {
    if problem.data.is_some() && !problem.on_data && !request.parse()?.is_fitted() {
        let sentence =
            "`data` has no meaning beside a noise that has all its numbers: leave out one of the two";
        return Err(Failure::Input(sentence.into()));
    }
    let noise = request.build(problem, Purpose { nu, target })?;
    let answer = problem.question().error(Contrast { noise: noise.as_ref(), nu, loss }, target)?;
    let curve = answer.curve(loss, target)?;
    let ErrorAnswer { report, divergences, infinite, population, .. } = answer;
    let errors = divergences.as_ref().map(|d| d.normalizer_errors(nu));
    Ok(Tree::of(&report)?
        .with("infinite", infinite)
        .with("divergences", Tree::of(&divergences)?)
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
