//! `error`: what a design would cost.

use noisewright::design::{Curve, Prices};
use noisewright::{
    Accuracy, Asymptotics, Contrast, Divergences, ErrorReport, Loss, Method, Noise, Population, Target, View,
    divergences, error_report,
};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
use crate::model::{PyModel, points};
use crate::noise::{NoiseArgument, Request};
use crate::problem::{Problem, Purpose};
use crate::tree::{Tree, map};

/// Places that a curve is drawn through.
const PLACES: usize = 400;

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
    model.run(py, tick, move |model, _| {
        let problem = Problem { model, ..problem };
        answer(&problem, &request, nu, &loss(&loss_name)?, &Target::parse(&target))
    })
}

fn answer(problem: &Problem, request: &Request, nu: f64, loss: &Loss, target: &Target) -> Outcome<Tree> {
    if !(nu > 0.0 && nu.is_finite()) {
        return Err(noisewright::Error::NoiseRatio { value: nu }.into());
    }
    let noise = request.build(problem, Purpose { nu, target })?;
    let contrast = Contrast { noise: noise.as_ref(), nu, loss };
    let population = match problem.sample() {
        Some(_) => problem.population()?,
        None => Population::for_contrast(&problem.model, &problem.parameters, contrast, &problem.precision)?,
    };
    let log_noise = population.log_noise(noise.as_ref());
    let report = error_report(&population, &log_noise, nu, loss, target)?;
    let distances = match problem.sample() {
        Some(_) => None,
        None => divergences(&problem.model, &problem.parameters, noise.as_ref(), nu, &problem.precision).ok(),
    };
    let matrix = target.matrix(population.coordinates(), &population.information())?;
    let curve = Curve::new(99, |nu| {
        Ok(Asymptotics::at(&population, &log_noise, nu, loss)?.error(&matrix, nu, 1.0, 1.0))
    });
    let infinite = infinite(&report, distances.as_ref(), loss);
    Ok(map! {
        "error": report.error,
        "covariance": report.covariance,
        "cramer_rao": report.cramer_rao,
        "efficiency": report.efficiency,
        "weights_mean": report.weights_mean,
        "coordinates": report.coordinates,
        "parts": report.parts,
        "error_noise_equals_data": report.noise_equals_data,
        "infinite": infinite,
        "log_normalizer": report.log_normalizer,
        "divergences": distances.as_ref().map(divergences_tree),
        "normalizer_errors": distances.as_ref().map(|d| normalizer_tree(d, nu)),
        "nu": nu,
        "noise": noise.clone(),
        "loss": loss.to_string(),
        "target": target.to_string(),
        "parameters": parameters(problem),
        "accuracy": accuracy(report.accuracy),
        "curve": curve_tree(&curve),
        "grid": grid(problem, &population, noise.as_ref(), nu),
    })
}

/// Why the error is infinite, in words.
fn infinite(report: &ErrorReport, distances: Option<&Divergences>, loss: &Loss) -> Option<String> {
    let place = report.divergent.as_ref().filter(|_| report.error.is_infinite())?;
    let tails = distances.map(|d| (d.lighter_noise.is_some(), d.lighter_data.is_some()));
    let culprit = match tails {
        _ if place.inside => "the noise has no density where the data have some",
        Some((true, false)) => "the noise has lighter tails than the data",
        Some((false, true)) => "the data have lighter tails than the noise",
        _ => "the tails of data and noise differ too much",
    };
    let end = if place.at_lower_end { "lower" } else { "upper" };
    let variable = place.variable.as_ref().map_or(String::new(), |v| format!(" of `{v}`"));
    let place = if place.inside {
        "at a point inside the domain".into()
    } else {
        format!("at the {end} end{variable}")
    };
    Some(format!("the {loss} loss has no finite variance here, because {culprit} {place}"))
}

fn divergences_tree(d: &Divergences) -> Tree {
    map! {
        "chi2_data_noise": d.chi2_data_noise,
        "chi2_noise_data": d.chi2_noise_data,
        "hellinger": d.hellinger,
        "harmonic": d.harmonic,
    }
}

fn normalizer_tree(d: &Divergences, nu: f64) -> Tree {
    let errors = d.normalizer_errors(nu);
    map! { "is": errors.is, "revis": errors.revis, "is-revis": errors.is_revis, "nce": errors.nce }
}

/// The parameter values by name.
pub(crate) fn parameters(problem: &Problem) -> Tree {
    let names = problem.model.parameters().iter().zip(&problem.parameters);
    Tree::Map(names.map(|(p, v)| (p.name.clone(), Tree::Number(*v))).collect())
}

/// How expectations were computed, and how well.
pub(crate) fn accuracy(accuracy: Accuracy) -> Tree {
    let method = match accuracy.method {
        Method::Quadrature => "quadrature",
        Method::Enumeration => "enumeration",
        Method::Sampling => "sampling",
        _ => "sample",
    };
    map! { "method": method, "relative_error": accuracy.relative_error, "points": accuracy.points }
}

pub(crate) fn curve_tree(curve: &Curve) -> Tree {
    map! { "noise_proportion": curve.proportion.clone(), "error": curve.error.clone() }
}

/// Densities of data and noise and the weight between them, where there is one continuous variable.
pub(crate) fn grid(problem: &Problem, population: &Population, noise: &dyn Noise, nu: f64) -> Option<Tree> {
    let space = problem.model.space();
    if space.dimension() != 1 || space.domains()[0].is_discrete() {
        return None;
    }
    let (low, high) = range(population);
    let (lower, upper) = space.domains()[0].bounds();
    let margin = 0.1 * (high - low);
    let (low, high) = ((low - margin).max(lower), (high + margin).min(upper));
    let x: Vec<f64> = (0..PLACES).map(|i| low + (high - low) * (i as f64 + 0.5) / PLACES as f64).collect();
    let view = View::new(1, PLACES, &x);
    let (mut data, mut density) = (vec![0.0; PLACES], vec![0.0; PLACES]);
    problem.model.evaluate(&problem.parameters, view, &mut data, None).ok()?;
    noise.log_density(view, &mut density);
    data.iter_mut().for_each(|u| *u = (*u - population.log_normalizer()).exp());
    density.iter_mut().for_each(|q| *q = q.exp());
    let weight: Vec<f64> = data.iter().zip(&density).map(|(p, q)| nu * q / (p + nu * q)).collect();
    Some(map! { "x": x, "density": density, "data_density": data, "weight": weight })
}

/// Where all but a thousandth of the data are.
fn range(population: &Population) -> (f64, f64) {
    let x = population.points().view().column(0);
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let (mut below, mut low, mut high) = (0.0, None, x[order[0]]);
    for i in order {
        below += population.log_weights()[i].exp();
        if below > 5e-4 {
            low.get_or_insert(x[i]);
        }
        if below < 0.9995 {
            high = x[i];
        }
    }
    let low = low.unwrap_or(high);
    if low < high { (low, high) } else { (low - 1.0, high + 1.0) }
}

/// Prices that are prices.
pub(crate) fn prices(data: f64, noise: f64) -> Outcome<Prices> {
    for (name, value) in [("data", data), ("noise", noise)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Failure::Library(noisewright::Error::Price { name, value }));
        }
    }
    Ok(Prices { data, noise })
}
