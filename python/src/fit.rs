//! `fit`: a model from data, against noise.

use std::sync::Arc;

use noisewright::fit::{
    Amount, CovarianceKind, Data, Dependence, Draws, Fit, FitOptions, NoiseChoice, NoiseFiles, Penalty,
    Setting,
};
use noisewright::{Model, Noise, Points, Target, View};
use noisewright_report::Value;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::after::kept;
use crate::failure::{Failure, Outcome};
use crate::file::{FileArgument, FileRows, SomeRows};
use crate::model::{PyModel, points};
use crate::noise::{NoiseArgument, Request, wrong_words};
use crate::task::Monitor;
use crate::theory::loss;
use crate::tree::{Tree, map};

/// Places that the curve of a density is drawn through.
const PLACES: usize = 400;

/// The rows, as Python hands them over: one row per variable, weights, and which of them belong together.
#[derive(FromPyObject)]
pub(crate) struct Rows<'py> {
    #[pyo3(item)]
    points: PyReadonlyArray2<'py, f64>,
    #[pyo3(item)]
    weights: Option<PyReadonlyArray1<'py, f64>>,
    #[pyo3(item)]
    clusters: Option<Vec<u64>>,
    #[pyo3(item)]
    chains: Option<Vec<usize>>,
}

/// The same, free of the interpreter.
pub(crate) struct OwnedRows {
    pub(crate) points: Points,
    weights: Option<Vec<f64>>,
    clusters: Option<Vec<u64>>,
    chains: Option<Vec<usize>>,
}

impl Rows<'_> {
    pub(crate) fn owned(self, names: &[String]) -> PyResult<OwnedRows> {
        let weights = self.weights.map(|w| w.as_slice().map(<[f64]>::to_vec)).transpose()?;
        let (clusters, chains) = (self.clusters, self.chains);
        Ok(OwnedRows { points: points(&self.points, names)?, weights, clusters, chains })
    }
}

impl OwnedRows {
    pub(crate) fn data(&self) -> Data<'_> {
        let data = Data::new(self.points.view());
        let data = self.weights.as_deref().map_or(data, |weights| data.with_weights(weights));
        match (&self.clusters, &self.chains) {
            (Some(ids), _) => data.with_dependence(Dependence::Clusters(ids)),
            (None, Some(lengths)) => data.with_dependence(Dependence::Chains(lengths)),
            (None, None) => data,
        }
    }
}

/// How to fit, as Python hands it over.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    #[pyo3(item)]
    method: String,
    #[pyo3(item)]
    noise: NoiseArgument,
    #[pyo3(item)]
    nu: Option<f64>,
    #[pyo3(item)]
    noise_points: Option<usize>,
    #[pyo3(item)]
    noise_share: f64,
    #[pyo3(item)]
    max_noise: Option<usize>,
    #[pyo3(item)]
    choices: Option<usize>,
    #[pyo3(item)]
    loss: String,
    #[pyo3(item)]
    draws: String,
    #[pyo3(item)]
    loss_ratio: Option<f64>,
    #[pyo3(item)]
    model_based: bool,
    #[pyo3(item)]
    confidence: f64,
    #[pyo3(item)]
    seed: u64,
    #[pyo3(item)]
    starts: usize,
    #[pyo3(item)]
    max_iterations: usize,
    #[pyo3(item)]
    tolerance: f64,
    #[pyo3(item)]
    refit_noise: bool,
    #[pyo3(item)]
    check_ratio: bool,
    #[pyo3(item)]
    target: String,
    #[pyo3(item)]
    penalty: Option<String>,
    #[pyo3(item)]
    penalty_factors: Vec<(String, f64)>,
    #[pyo3(item)]
    refit_selected: bool,
    #[pyo3(item)]
    interval: String,
    #[pyo3(item)]
    bootstrap: Option<usize>,
    #[pyo3(item)]
    cross_validate: Option<usize>,
}

/// Noise points with their log-densities, and the log-densities at the data.
type GivenDraws<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// Fits a model to data.
#[pyfunction]
#[pyo3(signature = (model, rows, settings, draws=None, tick=None))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    model: &PyModel,
    rows: Rows<'py>,
    settings: Settings,
    draws: Option<GivenDraws<'py>>,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let names = model.model.space().names();
    let rows = rows.owned(names)?;
    let draws = draws.map(|given| owned_draws(&given, names)).transpose()?;
    let (plan, text) = (Plan::from(settings), model.text.clone());
    model.run(py, tick, move |model, monitor| {
        let options = plan.options(&model, draws, monitor)?;
        let fit = noisewright::fit::fit(&model, rows.data(), &options)?;
        let grid = grid(&model, &fit, rows.points.view());
        tree(&fit, Reading::default(), grid, text.as_deref())
    })
}

/// Fits the logarithm of the ratio of two samples' densities.
#[pyfunction]
#[pyo3(signature = (model, first, second, settings, tick=None))]
pub(crate) fn ratio<'py>(
    py: Python<'py>,
    model: &PyModel,
    first: Rows<'py>,
    second: Rows<'py>,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let names = model.model.space().names();
    let (first, second) = (first.owned(names)?, second.owned(names)?);
    let plan = Plan::from(settings);
    model.run(py, tick, move |model, monitor| {
        let options = plan.options(&model, None, monitor)?;
        let fitted = noisewright::fit::ratio(&model, first.data(), second.data(), &options)?;
        let rows = [fitted.fit.rows, fitted.fit.noise_points].map(Tree::from);
        Ok(tree(&fitted.fit, Reading::default(), None, None)?.with("rows", Tree::List(rows.into())))
    })
}

/// The stratum of each row, whether it was chosen, and the log probability of its coming in, as Python hands them over.
#[derive(FromPyObject)]
pub(crate) struct Choices {
    #[pyo3(item)]
    strata: Vec<u64>,
    #[pyo3(item)]
    chosen: Vec<bool>,
    #[pyo3(item)]
    log_probability: Option<Vec<f64>>,
}

/// Fits a model to choices.
#[pyfunction]
#[pyo3(signature = (model, rows, choices, settings, tick=None))]
pub(crate) fn fit_choices<'py>(
    py: Python<'py>,
    model: &PyModel,
    rows: Rows<'py>,
    choices: Choices,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let rows = rows.owned(model.model.space().names())?;
    let (plan, text) = (Plan::from(settings), model.text.clone());
    model.run(py, tick, move |model, monitor| {
        let options = plan.options(&model, None, monitor)?;
        let Choices { strata, chosen, log_probability } = &choices;
        let log_probability = log_probability.as_deref();
        let sets = noisewright::fit::ChoiceSets { strata, chosen, log_probability };
        let fit = noisewright::fit::fit_choices(&model, rows.data(), sets, &options)?;
        tree(&fit, Reading::default(), None, text.as_deref())
    })
}

/// Fits a model to a file that is read in blocks, again at each pass.
#[pyfunction]
#[pyo3(signature = (model, file, settings, tick=None))]
pub(crate) fn fit_file<'py>(
    py: Python<'py>,
    model: &PyModel,
    file: FileArgument,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let (plan, text) = (Plan::from(settings), model.text.clone());
    model.run(py, tick, move |model, monitor| {
        let rows = FileRows::open(&file, model.space())?;
        let options = plan.options(&model, None, monitor)?;
        let fit = noisewright::fit::fit_stream(&model, &rows, &options)?;
        let SomeRows { points, weights, dropped } = rows.some(monitor)?;
        let grid = grid(&model, &fit, points.view());
        let reading = Reading { dropped, passes: Some(rows.passes()) };
        let some = grid.is_some().then(|| map! { "x": points.view().column(0).to_vec(), "weights": weights });
        Ok(tree(&fit, reading, grid, text.as_deref())?.with("some", some))
    })
}

fn owned_draws(given: &GivenDraws<'_>, names: &[String]) -> PyResult<Draws> {
    Ok(Draws {
        points: points(&given.0, names)?,
        log_density: given.1.as_slice()?.to_vec(),
        log_density_at_data: given.2.as_slice()?.to_vec(),
    })
}

/// The settings, free of the interpreter.
pub(crate) struct Plan {
    method: String,
    request: Request,
    nu: Option<f64>,
    noise_points: Option<usize>,
    noise_share: f64,
    max_noise: Option<usize>,
    choices: Option<usize>,
    loss: String,
    draws: String,
    loss_ratio: Option<f64>,
    errors: CovarianceKind,
    confidence: f64,
    seed: u64,
    starts: usize,
    max_iterations: usize,
    tolerance: f64,
    refit_noise: bool,
    check_ratio: bool,
    target: Target,
    penalty: Option<String>,
    penalty_factors: Vec<(String, f64)>,
    refit_selected: bool,
    interval: String,
    bootstrap: Option<usize>,
    cross_validate: Option<usize>,
}

impl From<Settings> for Plan {
    fn from(given: Settings) -> Self {
        Self {
            method: given.method,
            request: given.noise.into(),
            nu: given.nu,
            noise_points: given.noise_points,
            noise_share: given.noise_share,
            max_noise: given.max_noise,
            choices: given.choices,
            loss: given.loss,
            draws: given.draws,
            loss_ratio: given.loss_ratio,
            errors: if given.model_based { CovarianceKind::ModelBased } else { CovarianceKind::Robust },
            confidence: given.confidence,
            seed: given.seed,
            starts: given.starts,
            max_iterations: given.max_iterations,
            tolerance: given.tolerance,
            refit_noise: given.refit_noise,
            check_ratio: given.check_ratio,
            target: Target::parse(&given.target),
            penalty: given.penalty,
            penalty_factors: given.penalty_factors,
            refit_selected: given.refit_selected,
            interval: given.interval,
            bootstrap: given.bootstrap,
            cross_validate: given.cross_validate,
        }
    }
}

impl Plan {
    pub(crate) fn options(
        &self,
        model: &Model,
        draws: Option<Draws>,
        monitor: &Arc<Monitor>,
    ) -> Outcome<FitOptions> {
        Ok(FitOptions {
            method: self.method.parse()?,
            noise: match draws {
                Some(draws) => NoiseChoice::Draws(Arc::new(draws)),
                None => self.noise(model)?,
            },
            amount: self.amount(model),
            choices: self.choices,
            refit_noise: self.refit_noise,
            check_ratio: self.check_ratio,
            target: self.target.clone(),
            loss: loss(&self.loss)?,
            draws: self.draws.parse()?,
            loss_ratio: self.loss_ratio,
            errors: self.errors,
            confidence: self.confidence,
            seed: self.seed,
            starts: self.starts,
            max_iterations: self.max_iterations,
            tolerance: self.tolerance,
            cancel: monitor.cancel.clone(),
            progress: Some(monitor.hook()),
            penalty: self.penalty()?,
            interval: self.interval.parse()?,
            bootstrap: self.bootstrap,
            cross_validate: self.cross_validate,
            // Not `..default()`: a new option must be named here too.
            more: noisewright::More,
        })
    }

    fn penalty(&self) -> Outcome<Option<Penalty>> {
        let Some(words) = &self.penalty else { return Ok(None) };
        let penalty = words.parse::<Penalty>()?.with_factors(&self.penalty_factors);
        Ok(Some(if self.refit_selected { penalty.refit_selected() } else { penalty }))
    }

    fn amount(&self, model: &Model) -> Amount {
        match (self.noise_points, self.nu, Amount::auto()) {
            (Some(points), _, _) => Amount::Points(points),
            (None, Some(nu), _) => Amount::Ratio(nu),
            (None, None, Amount::Auto { most_values, .. }) => {
                let most = self.max_noise.map(|points| points.saturating_mul(model.coordinates().len()));
                Amount::Auto { share: self.noise_share, most_values: most.unwrap_or(most_values) }
            }
            (None, None, other) => other,
        }
    }

    /// The noise in words, in which formulas of the model's covariates may stand for numbers.
    fn noise(&self, model: &Model) -> Outcome<NoiseChoice> {
        let request = self.request.clone();
        let files: NoiseFiles = Arc::new(move |path| request.file(path));
        NoiseChoice::parse_given(&self.request.words, model.covariates(), files).map_err(wrong_words)
    }
}

/// What is known of a fit beside the fit.
#[derive(Default)]
pub(crate) struct Reading {
    /// Rows that were left out for a missing value.
    dropped: usize,
    /// Passes over the file, for data that were streamed.
    passes: Option<usize>,
}

pub(crate) fn tree(
    fit: &Fit,
    reading: Reading,
    grid: Option<Tree>,
    model_file: Option<&str>,
) -> Outcome<Tree> {
    let mut value = Value::of(fit).map_err(|error| Failure::Broken(error.to_string()))?;
    let warnings = value.get_mut("diagnostics").and_then(|diagnostics| diagnostics.get_mut("warnings"));
    for (shown, warning) in
        warnings.map(Value::entries_mut).into_iter().flatten().zip(&fit.diagnostics.warnings)
    {
        shown.set("suggestion", warning.suggestion_in(&argument));
    }
    let warnings: Vec<String> = fit.diagnostics.warnings.iter().map(|w| w.in_words(&argument)).collect();
    Ok(Tree::from(value)
        .with("noise", fit.noise.clone())
        .with("noise_words", fit.noise_description.as_str())
        .with("dropped", reading.dropped)
        .with("passes", reading.passes)
        .with("warnings", warnings)
        .with("no_answer", fit.diagnostics.no_answer().map(|w| w.in_words(&argument)))
        .with("grid", grid)
        .with("kept", kept(fit, model_file)?))
}

/// A setting as an argument: `nu=20`, `noise="auto"`.
fn argument(setting: Setting) -> String {
    match setting.parts() {
        (name @ ("nu" | "choices"), value) => format!("{name}={value}"),
        (name, value) => format!("{name}=\"{value}\""),
    }
}

/// Densities of the fitted model and of the noise over the data, where there is one continuous variable.
fn grid(model: &Model, fit: &Fit, data: View<'_>) -> Option<Tree> {
    let space = model.space();
    if model.is_conditional() || space.dimension() != 1 || space.domains()[0].is_discrete() {
        return None;
    }
    let column = data.column(0);
    let least = column.iter().copied().fold(f64::INFINITY, f64::min);
    let most = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let margin = 0.1 * (most - least);
    let (lower, upper) = space.domains()[0].bounds();
    let (low, high) = ((least - margin).max(lower), (most + margin).min(upper));
    let x: Vec<f64> = (0..PLACES).map(|i| low + (high - low) * (i as f64 + 0.5) / PLACES as f64).collect();
    let view = View::new(1, PLACES, &x);
    let (model, theta) = (model.whole(), fit.theta());
    let constant = match &fit.log_normalizer {
        Some(constant) => constant.estimate,
        None => model.log_normalizer(&theta, &mut vec![0.0; theta.len()])?,
    };
    let mut density = vec![0.0; PLACES];
    model.evaluate(&theta, view, &mut density, None).ok()?;
    density.iter_mut().for_each(|u| *u = (*u - constant).exp());
    let noise = fit.noise.as_ref().map(|noise| noise_density(noise.as_ref(), view));
    Some(map! { "x": x, "density": density, "noise_density": noise })
}

fn noise_density(noise: &dyn Noise, view: View<'_>) -> Vec<f64> {
    let mut out = vec![0.0; view.rows()];
    noise.log_density(view, &mut out);
    out.iter_mut().for_each(|q| *q = q.exp());
    out
}
