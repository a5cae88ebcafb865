//! `design`: the noise and the proportion that minimise the error.

use noisewright::Target;
use noisewright::design::{Answer, DesignSpace, EfficiencyAnswer, Kind, Member, Prices, Question, Ratio};
use pyo3::prelude::*;

use crate::failure::Outcome;
use crate::model::PyModel;
use crate::noise::{NoiseArgument, Request, wrong_words};
use crate::problem::Problem;
use crate::theory::{self, curve_tree, grid, parameters};
use crate::tree::{Tree, map};

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
    Ok(map! {
        "error": answer.error,
        "nu": answer.nu,
        "noise_proportion": answer.nu / (1.0 + answer.nu),
        "error_noise_equals_data": answer.noise_equals_data,
        "error_conventional": answer.conventional,
        "gap": answer.gap,
        "stationary_points": answer.stationary_points,
        "kind": answer.kind.name(),
        "details": details(&answer.kind),
        "grid": grid(problem, &answer.population, answer.noise.as_ref(), answer.nu),
        "record": text.and_then(|text| record(question, &answer, text)),
        "efficiency": answer.enough.as_ref().map(enough),
        "curve": curve_tree(&answer.curve),
        "target": question.target.to_string(),
        "price_data": question.prices.data,
        "price_noise": question.prices.noise,
        "parameters": parameters(problem),
        "remarks": answer.remarks(),
        "noise": answer.noise,
    })
}

/// The noise as text, where the model has a file that can be kept with it and it can be read back.
fn record(question: &Question<'_>, answer: &Answer, text: &str) -> Option<String> {
    let record = question.record(answer, text).ok().filter(|record| record.noise().is_ok())?;
    serde_json::to_string(&record).ok()
}

/// What the kind itself has to say of its noise.
fn details(kind: &Kind) -> Tree {
    match kind {
        Kind::Optimal { multiplier, .. } => map! { "multiplier": *multiplier },
        Kind::Family(minima) => map! {
            "words": minima[0].words.to_string(),
            "values": minima[0].values.clone(),
            "minima": minima.iter().map(member).collect::<Vec<_>>(),
        },
        Kind::Mixture(best) => map! {
            "words": best.noise.describe(),
            "weights": best.weights.clone(),
            "components": best.components.iter().map(|c| c.describe()).collect::<Vec<String>>(),
            "exact_error": best.exact_error,
            "excess": best.excess(),
        },
        Kind::Histogram { edges, probabilities, .. } => {
            map! { "edges": edges.clone(), "probabilities": probabilities.clone() }
        }
        Kind::Fixed { words } => map! { "words": words.as_str() },
    }
}

fn member(member: &Member) -> Tree {
    map! {
        "words": member.words.to_string(),
        "values": member.values.clone(),
        "nu": member.nu,
        "noise_proportion": member.nu / (1.0 + member.nu),
        "error": member.error,
        "at_edge": member.at_edge,
    }
}

fn enough(enough: &EfficiencyAnswer) -> Tree {
    let column = |of: fn(&(f64, f64)) -> f64| enough.curve.iter().map(of).collect::<Vec<f64>>();
    map! {
        "asked": enough.asked,
        "nu": enough.nu,
        "curve": map! { "nu": column(|c| c.0), "efficiency": column(|c| c.1) },
    }
}
