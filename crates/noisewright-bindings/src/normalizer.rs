//! `log_z` and evidence.

use std::sync::Arc;

use noisewright::internal::normalizer::alpha_formula;
use noisewright::normalizer::{
    Dependence, Draws, Evidence, LogZOptions, NoiseFitter, NoiseKind, Prices, log_z_of_draws as solve,
    log_z_with_alpha,
};
use noisewright::parts::EvidenceOptions;
use noisewright::{Density, View};
use noisewright_report::Value;
use serde::{Deserialize, Serialize};

use crate::{Failure, Monitor, Outcome, value};

/// How log Z is estimated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct LogZSettings {
    /// Of the intervals.
    pub confidence: f64,
    /// The draws are independent.
    pub independent: bool,
    /// The library's own choice where it is not said.
    pub weight_by_ess: Option<bool>,
    /// Bootstrap samples.
    pub bootstrap: Option<usize>,
    /// Powers of the estimators that are wanted beside the others.
    pub powers: Vec<f64>,
    /// The seed.
    pub seed: u64,
    /// Price of a data draw, of a noise draw, and the budget.
    pub prices: Option<(f64, f64, Option<f64>)>,
    /// log α, a formula in log_f and log_noise.
    pub alpha: Option<String>,
    /// Both densities are unnormalized.
    pub ratio: bool,
}

impl LogZSettings {
    fn dependence(&self) -> Dependence {
        dependence(self.independent)
    }

    /// What was given, over `default`.
    fn options(&self, default: &LogZOptions, monitor: &Arc<Monitor>) -> LogZOptions {
        LogZOptions {
            confidence: self.confidence,
            dependence: self.dependence(),
            weight_by_ess: self.weight_by_ess.unwrap_or(default.weight_by_ess),
            bootstrap: self.bootstrap,
            powers: self.powers.clone(),
            seed: self.seed,
            prices: self.prices.map(|(data, noise, budget)| Prices { data, noise, budget }),
            cancel: monitor.cancel.clone(),
            progress: Some(monitor.hook()),
            more: noisewright::internal::More,
        }
    }
}

pub(crate) fn dependence(independent: bool) -> Dependence {
    if independent { Dependence::Independent } else { Dependence::Chains }
}

/// Whether draws were taken as Markov chains or as independent, in the word of the command's JSON.
pub(crate) fn dependence_word(dependence: Dependence) -> &'static str {
    if dependence == Dependence::Chains { "chains" } else { "independent" }
}

/// The draws' two log-densities, and the noise's two, with the lengths of chains.
pub struct Sides<'a> {
    /// `log_f` and `log_noise` at the data, then at the noise.
    pub columns: [&'a [f64]; 4],
    /// Lengths of the chains of the data and of the noise.
    pub chains: [Option<Vec<usize>>; 2],
}

/// log Z from draws of the density and of the noise.
///
/// # Errors
/// Those of the library's call that it makes.
pub fn log_z(sides: &Sides<'_>, settings: &LogZSettings, monitor: &Arc<Monitor>) -> Outcome<Value> {
    let options = settings.options(&LogZOptions::default(), monitor);
    options.check_effects(sides.chains.iter().any(Option::is_some))?;
    let side = |k: usize| Draws {
        log_f: sides.columns[2 * k],
        log_noise: sides.columns[2 * k + 1],
        chains: sides.chains[k].as_deref(),
    };
    let answer = match &settings.alpha {
        None => solve(side(0), side(1), &options)?,
        Some(text) => {
            let wrong = |error: noisewright::Error| Failure::Input(error.to_string());
            log_z_with_alpha(side(0), side(1), alpha_formula(text).map_err(wrong)?.as_ref(), &options)?
        }
    };
    let mut shown = value(&answer)?;
    shown.set("ratio", settings.ratio);
    shown.set("dependence", dependence_word(settings.dependence()));
    // The noise is known by its log-densities alone.
    shown.set("noise_words", Value::Null);
    Ok(shown)
}

/// How evidence is estimated, beyond what `log_z` asks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct EvidenceSettings {
    /// The kind of noise.
    pub noise: String,
    /// How many noise draws.
    pub noise_draws: Option<usize>,
    /// How often the density may be evaluated.
    pub evaluations: Option<usize>,
    /// Lengths of the chains.
    pub chains: Option<Vec<usize>>,
    /// The density is averaged with its mirror image.
    pub symmetrize: bool,
}

/// The log ratios of the draws and of the noise.
#[derive(Serialize)]
struct LogRatios<'a> {
    data: &'a [f64],
    noise: &'a [f64],
}

/// log Z of a density from draws of it; a fitter makes the noise that `own.noise` is then only the name of.
///
/// # Errors
/// Those of the library's call that it makes.
pub fn evidence(
    density: &dyn Density,
    draws: View<'_>,
    own: EvidenceSettings,
    fitter: Option<NoiseFitter>,
    settings: &LogZSettings,
    monitor: &Arc<Monitor>,
) -> Outcome<Value> {
    let chains = own.chains.clone().unwrap_or_else(|| vec![draws.rows()]);
    let learned = fitter.is_some();
    let options = EvidenceOptions {
        noise: if learned { NoiseKind::Own } else { own.noise.parse()? },
        noise_fitter: fitter,
        noise_draws: own.noise_draws,
        evaluations: own.evaluations,
        chains: own.chains,
        symmetrize: own.symmetrize,
        log_z: settings.options(&EvidenceOptions::default().log_z, monitor),
        ..EvidenceOptions::default()
    };
    let answer: Evidence = noisewright::evidence(density, draws).options(options).run()?;
    let [data, noise] = &answer.log_ratios;
    let mut shown = value(&answer)?;
    if learned {
        shown.set("noise", own.noise);
    }
    shown.set("chains", value(&chains)?);
    shown.set("log_ratios", value(&LogRatios { data, noise })?);
    Ok(shown)
}
