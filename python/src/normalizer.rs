//! `log_z` and evidence.

use std::sync::Arc;

use noisewright::normalizer::{
    Dependence, Draws, Evidence, EvidenceOptions, LogZ, LogZOptions, Prices, alpha_formula,
    log_z_of_draws as solve, log_z_with_alpha,
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::failure::{Failure, Outcome};
use crate::model::{PyModel, points};
use crate::task::{self, Monitor};
use crate::tree::{Tree, map};

/// How log Z is estimated, as Python hands it over.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    #[pyo3(item)]
    confidence: f64,
    #[pyo3(item)]
    independent: bool,
    /// The library's own choice where it is not self.
    #[pyo3(item)]
    weight_by_ess: Option<bool>,
    #[pyo3(item)]
    bootstrap: Option<usize>,
    #[pyo3(item)]
    powers: Vec<f64>,
    #[pyo3(item)]
    seed: u64,
    /// Price of a data draw, of a noise draw, and the budget.
    #[pyo3(item)]
    prices: Option<(f64, f64, Option<f64>)>,
    /// log α, a formula in log_f and log_noise.
    #[pyo3(item)]
    alpha: Option<String>,
    /// Both densities are unnormalized.
    #[pyo3(item)]
    ratio: bool,
}

impl Settings {
    fn dependence(&self) -> Dependence {
        if self.independent { Dependence::Independent } else { Dependence::Chains }
    }

    /// What Python gave, over `default`.
    fn options(self, default: &LogZOptions, monitor: &Arc<Monitor>) -> LogZOptions {
        LogZOptions {
            confidence: self.confidence,
            dependence: self.dependence(),
            weight_by_ess: self.weight_by_ess.unwrap_or(default.weight_by_ess),
            bootstrap: self.bootstrap,
            powers: self.powers,
            seed: self.seed,
            prices: self.prices.map(|(data, noise, budget)| Prices { data, noise, budget }),
            cancel: monitor.cancel.clone(),
            progress: Some(monitor.hook()),
            more: noisewright::More,
        }
    }
}

/// One side's two log-densities.
type Side<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// log Z from draws of the density and of the noise, with nothing copied.
#[pyfunction]
#[pyo3(signature = (data, noise, chains_data, chains_noise, settings, tick=None))]
pub(crate) fn log_z<'py>(
    py: Python<'py>,
    data: Side<'py>,
    noise: Side<'py>,
    chains_data: Option<Vec<usize>>,
    chains_noise: Option<Vec<usize>>,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let (alpha, ratio) = (settings.alpha.clone(), settings.ratio);
    let dependence = settings.dependence();
    let slices = [data.0.as_slice()?, data.1.as_slice()?, noise.0.as_slice()?, noise.1.as_slice()?];
    let chains = [chains_data, chains_noise];
    // Nothing is copied: it is waited for, and ends soon after Ctrl-C.
    let answer = task::run_borrowing(py, tick, |monitor| {
        let options = settings.options(&LogZOptions::default(), monitor);
        options.check_effects(chains.iter().any(Option::is_some))?;
        both_sides(slices, &chains, alpha.as_deref(), &options)
    })?;
    let tree = Tree::of(&answer).map_err(|failure| failure.exception(py))?;
    // The noise is known by its log-densities alone.
    Ok(tree
        .with("ratio", ratio)
        .with("dependence", dependence_word(dependence))
        .with("noise_words", Tree::Null))
}

/// How draws hang together, as the command's JSON says it.
pub(crate) fn dependence_word(dependence: Dependence) -> &'static str {
    if dependence == Dependence::Chains { "chains" } else { "independent" }
}

/// log Z from the data's two log-densities and the noise's two.
fn both_sides(
    slices: [&[f64]; 4],
    chains: &[Option<Vec<usize>>; 2],
    alpha: Option<&str>,
    options: &LogZOptions,
) -> Outcome<LogZ> {
    let side =
        |k: usize| Draws { log_f: slices[2 * k], log_noise: slices[2 * k + 1], chains: chains[k].as_deref() };
    Ok(match alpha {
        None => solve(side(0), side(1), options)?,
        Some(text) => {
            let wrong = |error: noisewright::Error| Failure::Input(error.to_string());
            log_z_with_alpha(side(0), side(1), alpha_formula(text).map_err(wrong)?.as_ref(), options)?
        }
    })
}

/// How evidence is estimated, beyond what `log_z` asks.
#[derive(FromPyObject)]
pub(crate) struct EvidenceSettings {
    #[pyo3(item)]
    noise: String,
    #[pyo3(item)]
    noise_draws: Option<usize>,
    #[pyo3(item)]
    chains: Option<Vec<usize>>,
    #[pyo3(item)]
    symmetrize: bool,
}

/// log Z of a model's density at parameter values from draws of it.
#[pyfunction]
#[pyo3(signature = (model, parameters, draws, own, settings, tick=None))]
pub(crate) fn evidence<'py>(
    py: Python<'py>,
    model: &PyModel,
    parameters: Vec<f64>,
    draws: PyReadonlyArray2<'py, f64>,
    own: EvidenceSettings,
    settings: Settings,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let draws = points(&draws, model.model.space().names())?;
    let chains = own.chains.clone().unwrap_or_else(|| vec![draws.rows()]);
    model.run(py, tick, move |model, monitor| -> Outcome<Tree> {
        let options = EvidenceOptions {
            noise: own.noise.parse()?,
            noise_draws: own.noise_draws,
            chains: own.chains,
            symmetrize: own.symmetrize,
            log_z: settings.options(&EvidenceOptions::default().log_z, monitor),
            ..EvidenceOptions::default()
        };
        let density = model.density(&parameters)?;
        evidence_tree(&noisewright::evidence(&density, draws.view()).options(options).run()?, &chains)
    })
}

fn evidence_tree(answer: &Evidence, chains: &[usize]) -> Outcome<Tree> {
    let [data, noise] = answer.log_ratios.clone();
    let tree =
        Tree::of(answer)?.with("chains", chains.iter().map(|length| Tree::from(*length)).collect::<Vec<_>>());
    Ok(tree.with("log_ratios", map! { "data": data, "noise": noise }))
}
