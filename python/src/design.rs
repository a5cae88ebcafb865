//! `design`: the noise and the proportion that minimise the error.

use noisewright::Target;
use noisewright::design::{Answer, DesignSpace, Prices, Question, Ratio};
use pyo3::prelude::*;

use crate::failure::Outcome;
use crate::model::PyModel;
use crate::noise::{NoiseArgument, Request, wrong_words};
use crate::problem::Problem;
use crate::theory::{self, grid, parameters};
use crate::tree::Tree;

/// The best noise and proportion.
#[pyfunction]
#[pyo3(signature = (model, question, text, noise, nu, target, price_data, price_noise, efficiency, tick=None))]
pub(crate) fn design<'py>(
    py: Python<'py>,
    model: &PyModel,
    question: theory::Question<'py>,
    text: Option<String>,
    noise: NoiseArgument,
    nu: Option<f64>,
    target: String,
    price_data: f64,
    price_noise: f64,
    efficiency: Option<f64>,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let problem = question.problem(model)?;
    let request = Request::from(noise);
    model.run(py, tick, move |model, monitor| {
        let problem = problem.for_run(model, &monitor.cancel);
        let question = Question {
            problem: problem.question(),
            files: &|path| request.file(path),
            target: Target::parse(&target),
            ratio: nu.map_or(Ratio::Free, Ratio::Fixed),
            prices: Prices { data: price_data, noise: price_noise },
            efficiency,
        };
        let answer = question.answer(&DesignSpace::parse(&request.words).map_err(wrong_words)?)?;
        tree(&problem, &question, answer, text.as_deref())
    })
}

fn tree(problem: &Problem, question: &Question<'_>, answer: Answer, text: Option<&str>) -> Outcome<Tree> {
    Ok(Tree::of(&answer)?
        .with("kind", answer.kind.name())
        .with("details", Tree::of(&answer.kind)?)
        .with("grid", grid(problem, &answer.population, answer.noise.as_ref(), answer.nu)?)
        .with("record", text.and_then(|text| record(question, &answer, text)))
        .with("target", question.target.to_string())
        .with("price_data", question.prices.data)
        .with("price_noise", question.prices.noise)
        .with("parameters", parameters(problem))
        .with("noise", answer.noise))
}

/// The noise as text, where the model has a file that can be kept with it and it can be read back.
fn record(question: &Question<'_>, answer: &Answer, text: &str) -> Option<String> {
    let record = question.record(answer, text).ok().filter(|record| record.noise().is_ok())?;
    serde_json::to_string(&record).ok()
}
