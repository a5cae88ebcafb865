//! `log_z`, many states, and evidence.

use std::sync::Arc;

use nalgebra::DMatrix;
use noisewright::normalizer::states::{self, Origin, Pooled};
use noisewright::normalizer::{
    Allocation, Dependence, Draws, Evidence, EvidenceOptions, LogZ, LogZOptions, LogZWarning,
    NormalizerEstimate, Prices, Refusal, SampleSummary, TracePoint, alpha_formula, log_z_of_draws as solve,
    log_z_with_alpha,
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
    #[pyo3(item)]
    weight_by_ess: bool,
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

    fn options(self, monitor: &Arc<Monitor>) -> LogZOptions {
        let given = self;
        LogZOptions {
            confidence: given.confidence,
            dependence: given.dependence(),
            weight_by_ess: given.weight_by_ess,
            bootstrap: given.bootstrap,
            powers: given.powers,
            seed: given.seed,
            prices: given.prices.map(|(data, noise, budget)| Prices { data, noise, budget }),
            cancel: monitor.cancel.clone(),
            progress: Some(monitor.hook()),
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
        both_sides(slices, &chains, alpha.as_deref(), &settings.options(monitor))
    })?;
    Ok(tree(&answer, dependence, ratio))
}

/// How draws hang together, as the command's JSON says it.
fn dependence_word(dependence: Dependence) -> &'static str {
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

fn tree(answer: &LogZ, dependence: Dependence, ratio: bool) -> Tree {
    let best = answer.best();
    map! {
        "log_z": best.log_z,
        "se": best.se,
        "lower": best.lower,
        "upper": best.upper,
        "refused": best.refused.as_ref().map(ToString::to_string),
        "refused_code": best.refused.as_ref().map(Refusal::code),
        "ratio": ratio,
        "dependence": dependence_word(dependence),
        // The noise is known by its log-densities alone.
        "noise_words": Tree::Null,
        "estimates": estimates(&answer.estimates),
        "recommended": answer.recommended.to_string(),
        "reason": answer.reason.to_string(),
        "reason_code": answer.reason.code(),
        "overlap": answer.overlap,
        "expected_crossings": answer.expected_crossings,
        "confidence": answer.confidence,
        "data": summary(&answer.data),
        "noise": summary(&answer.noise),
        "divergences": map! {
            "chi2_data_noise": answer.divergences.chi2_data_noise,
            "chi2_noise_data": answer.divergences.chi2_noise_data,
            "bhattacharyya": answer.divergences.bhattacharyya,
            "harmonic": answer.divergences.harmonic,
        },
        "allocation": (!answer.allocations.is_empty())
            .then(|| Tree::Map(answer.allocations.iter().map(allocation).collect())),
        "warnings": sentences(&answer.warnings),
        "warning_codes": codes(answer.warnings.iter().map(|warning| warning.code())),
        "converged": answer.converged,
    }
}

/// What a budget should buy, by the name of the estimator.
fn allocation(best: &Allocation) -> (String, Tree) {
    let numbers = map! {
        "data_draws": best.data_draws.floor(),
        "noise_draws": best.noise_draws.floor(),
        "nu": best.nu,
        "predicted_se": best.predicted_se,
    };
    (best.method.to_string(), numbers)
}

/// The codes of warnings.
pub(crate) fn codes(codes: impl Iterator<Item = &'static str>) -> Vec<String> {
    codes.map(str::to_owned).collect()
}

fn sentences(warnings: &[LogZWarning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

fn estimates(all: &[NormalizerEstimate]) -> Tree {
    let one = |e: &NormalizerEstimate| {
        map! {
            "log_z": e.log_z,
            "se": e.se,
            "se_data": e.se_data,
            "se_noise": e.se_noise,
            "lower": e.lower,
            "upper": e.upper,
            "ess": e.ess,
            "ess_data": e.ess_data,
            "ess_noise": e.ess_noise,
            "pareto_k": e.pareto_k,
            "converged": e.converged,
            "refused": e.refused.as_ref().map(ToString::to_string),
            "refused_code": e.refused.as_ref().map(Refusal::code),
            "bootstrap_se": e.bootstrap_se,
        }
    };
    Tree::Map(all.iter().map(|e| (e.method.to_string(), one(e))).collect())
}

fn summary(side: &SampleSummary) -> Tree {
    map! {
        "draws": side.draws,
        "chains": side.chains,
        "autocorrelation_time": side.autocorrelation_time,
        "ess": side.ess,
        "outside": side.outside,
    }
}

/// Log-normalizers of many states from pooled draws: `log_f` has one row per state and one column per draw.
#[pyfunction]
#[pyo3(signature = (log_f, counts, origin, chains, reference, reference_log_z, independent, names, tick=None))]
pub(crate) fn log_z_states<'py>(
    py: Python<'py>,
    log_f: PyReadonlyArray2<'py, f64>,
    counts: Option<Vec<usize>>,
    origin: Option<Vec<usize>>,
    chains: Option<Vec<usize>>,
    reference: usize,
    reference_log_z: f64,
    independent: bool,
    names: Vec<String>,
    tick: Option<&Bound<'py, PyAny>>,
) -> PyResult<Tree> {
    let draws = log_f.as_array().ncols();
    let values = log_f.as_slice()?;
    let dependence = if independent { Dependence::Independent } else { Dependence::Chains };
    let states = log_f.as_array().nrows();
    let answer = task::run_borrowing(py, tick, |monitor| {
        let cancel = monitor.cancel.clone();
        let options = states::StatesOptions { reference, reference_log_z, dependence, cancel };
        let columns: Vec<&[f64]> = (0..states).map(|k| &values[k * draws..(k + 1) * draws]).collect();
        let origin = match (&counts, &origin) {
            (Some(counts), _) => Origin::Counts(counts),
            (None, Some(rows)) => Origin::Rows(rows),
            (None, None) => return Err(Failure::Input("`counts` or `origin` is missing".into())),
        };
        let pooled = Pooled { log_f: &columns, origin, chains: chains.as_deref() };
        states::estimate(&pooled, &options).map_err(Failure::from)
    })?;
    let states = answer.log_z().len();
    let draws_of_states = draws_of_states(states, counts.as_deref(), origin.as_deref());
    let errors = DMatrix::from_fn(states, states, |i, j| answer.difference(i, j).1);
    let differences = DMatrix::from_fn(states, states, |i, j| answer.difference(i, j).0);
    Ok(map! {
        "states": states_tree(&answer, &names, &draws_of_states),
        "reference": names.get(answer.reference()).cloned(),
        "log_z": answer.log_z().to_vec(),
        "se": answer.se(),
        "differences": map! { "log_z": differences, "se": errors },
        "covariance": DMatrix::from_fn(states, states, |i, j| answer.covariance(i, j)),
        "overlap": answer.overlap().clone(),
        "ess": answer.ess().to_vec(),
        "inefficiency": answer.inefficiency().to_vec(),
        "groups": Tree::List(answer.groups().iter().map(|g| Tree::List(g.iter().map(|k| Tree::from(*k)).collect())).collect()),
        "dependence": dependence_word(dependence),
        "converged": answer.converged(),
        "warnings": answer.warnings().iter().map(|w| w.sentence(&names)).collect::<Vec<String>>(),
        "warning_codes": codes(answer.warnings().iter().map(|warning| warning.code())),
    })
}

/// How many draws come from each state.
fn draws_of_states(states: usize, counts: Option<&[usize]>, origin: Option<&[usize]>) -> Vec<usize> {
    if let Some(counts) = counts {
        return counts.to_vec();
    }
    let mut draws = vec![0; states];
    for state in origin.unwrap_or_default() {
        if let Some(count) = draws.get_mut(*state) {
            *count += 1;
        }
    }
    draws
}

/// The states by name.
fn states_tree(answer: &states::StatesEstimate, names: &[String], draws: &[usize]) -> Tree {
    let se = answer.se();
    let one = |k: usize| {
        map! {
            "log_z": answer.log_z()[k],
            "se": se[k],
            "draws": draws[k],
            "ess": answer.ess()[k],
            "inefficiency": answer.inefficiency()[k],
        }
    };
    Tree::Map(names.iter().enumerate().map(|(k, name)| (name.clone(), one(k))).collect())
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
            log_z: settings.options(monitor),
            ..EvidenceOptions::default()
        };
        let density = model.density(&parameters)?;
        Ok(evidence_tree(&noisewright::evidence(&density, draws.view()).options(options).run()?, &chains))
    })
}

fn evidence_tree(answer: &Evidence, chains: &[usize]) -> Tree {
    let half = |half: &LogZ| half.get(answer.recommended).map_or(f64::NAN, |e| e.log_z);
    let column = |of: fn(&TracePoint) -> f64| answer.trace.iter().map(of).collect::<Vec<f64>>();
    map! {
        "log_evidence": answer.log_evidence,
        "se": answer.se,
        "lower": answer.lower,
        "upper": answer.upper,
        "refused": answer.best().refused.as_ref().map(ToString::to_string),
        "refused_code": answer.best().refused.as_ref().map(Refusal::code),
        "estimates": estimates(&answer.estimates),
        "recommended": answer.recommended.to_string(),
        "reason": answer.reason.to_string(),
        "reason_code": answer.reason.code(),
        "overlap": answer.overlap,
        "expected_crossings": answer.expected_crossings,
        "chain_ess": answer.chain_ess,
        "correlation": answer.correlation,
        "noise": answer.noise.to_string(),
        "noises": noises(answer),
        "chains": Tree::List(chains.iter().map(|length| Tree::from(*length)).collect()),
        "halves": answer.halves.iter().map(half).collect::<Vec<f64>>(),
        "draws": answer.draws,
        "noise_draws": answer.noise_draws,
        "confidence": answer.confidence,
        "trace": map! {
            "draws": column(|t| t.draws as f64),
            "log_evidence": column(|t| t.log_evidence),
            "se": column(|t| t.se),
        },
        "log_ratios": map! { "data": answer.log_ratios[0].clone(), "noise": answer.log_ratios[1].clone() },
        "warnings": sentences(&answer.warnings),
        "warning_codes": codes(answer.warnings.iter().map(|warning| warning.code())),
        "converged": answer.converged,
    }
}

/// The two noises in words, where these are few enough to read; otherwise their kind.
fn noises(answer: &Evidence) -> Vec<String> {
    const WORDS: usize = 400;
    let words = answer.noises.iter().map(|noise| noise.describe());
    words.map(|words| if words.len() > WORDS { answer.noise.to_string() } else { words }).collect()
}
