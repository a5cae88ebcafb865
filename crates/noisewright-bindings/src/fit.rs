//! Fits: their settings, and a fit as a value.

use std::sync::Arc;

use noisewright::fit::{
    Amount, CovarianceKind, Data, Dependence, FitMethod, FitOptions, NoiseChoice, Penalty,
};
use noisewright::internal::fit::{FitSetting, NoiseKind, check_effects};
use noisewright::parts::{Draws, NoiseFiles, Setting};
use noisewright::{Fit, Model, Noise, Points, Target, View};
use noisewright_report::Value;
use serde::{Deserialize, Serialize};

use crate::{Kept, Monitor, Outcome, Request, texts, value, wrong_words};

/// Places that the curve of a density is drawn through.
const PLACES: usize = 400;

/// How to fit, but for the noise.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
#[allow(missing_docs, reason = "the fields are those of `FitOptions`, and are described there")]
pub struct FitSettings {
    pub method: String,
    /// Noise points per row; `None` for the library's own choice.
    pub nu: Option<f64>,
    pub noise_points: Option<usize>,
    pub noise_share: f64,
    pub max_noise: Option<usize>,
    pub choices: Option<usize>,
    pub loss: String,
    pub draws: String,
    pub loss_ratio: Option<f64>,
    /// Standard errors take the model to be true.
    pub model_based: bool,
    pub confidence: f64,
    pub seed: u64,
    pub starts: usize,
    pub max_iterations: usize,
    pub tolerance: f64,
    pub refit_noise: bool,
    pub check_ratio: bool,
    pub target: String,
    pub penalty: Option<String>,
    pub penalty_factors: Vec<(String, f64)>,
    pub refit_selected: bool,
    pub interval: String,
    pub bootstrap: Option<usize>,
    pub cross_validate: Option<usize>,
}

impl FitSettings {
    /// The library's options, with the noise in words or drawn elsewhere.
    ///
    /// # Errors
    /// Words that the library does not know.
    pub fn options(
        &self,
        model: &Model,
        request: &Request,
        draws: Option<Draws>,
        monitor: &Arc<Monitor>,
    ) -> Outcome<FitOptions> {
        Ok(FitOptions {
            method: self.method.parse()?,
            noise: match draws {
                Some(draws) => NoiseChoice::Draws(Arc::new(draws)),
                None => noise_choice(request, model)?,
            },
            amount: self.amount(model),
            choices: self.choices,
            refit_noise: self.refit_noise,
            check_ratio: self.check_ratio,
            target: Target::parse(&self.target),
            loss: self.loss.parse()?,
            draws: self.draws.parse()?,
            loss_ratio: self.loss_ratio,
            errors: if self.model_based { CovarianceKind::ModelBased } else { CovarianceKind::Robust },
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
            replicates: None,
            cross_validate: self.cross_validate,
            // Not `..default()`: a new option must be named here too.
            more: noisewright::internal::More,
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
}

/// The noise in words, in which formulas of the model's covariates may stand for numbers.
fn noise_choice(request: &Request, model: &Model) -> Outcome<NoiseChoice> {
    let own = request.clone();
    let files: NoiseFiles = Arc::new(move |path| own.file(path));
    NoiseChoice::parse_given(&request.words, model.covariates(), files).map_err(wrong_words)
}

/// Refuses the first of the settings, by name, that has no effect beside the noise (in words, or drawn elsewhere) and the
/// others.
///
/// # Errors
/// The refusal, in the library's words.
pub fn check_settings(method: &str, noise: &str, drawn: bool, given: &[String]) -> Outcome<()> {
    let by_noise = || if drawn { NoiseKind::Drawn } else { NoiseKind::of_words(noise) };
    let kind = method.parse::<FitMethod>()?.noise_kind().unwrap_or_else(by_noise);
    let given: Vec<FitSetting> = given.iter().filter_map(|name| FitSetting::named(name)).collect();
    Ok(check_effects(kind, &given)?)
}

/// The rows, with weights, and which of them belong together.
pub struct Rows {
    /// The rows.
    pub points: Points,
    /// How often each counts.
    pub weights: Option<Vec<f64>>,
    /// A number for each; rows of the same number belong together.
    pub clusters: Option<Vec<u64>>,
    /// The lengths of the Markov chains that they are.
    pub chains: Option<Vec<usize>>,
}

impl Rows {
    /// As the library takes them.
    #[must_use]
    pub fn data(&self) -> Data<'_> {
        let data = Data::new(self.points.view());
        let data = self.weights.as_deref().map_or(data, |weights| data.with_weights(weights));
        match (&self.clusters, &self.chains) {
            (Some(ids), _) => data.with_dependence(Dependence::Clusters(ids)),
            (None, Some(lengths)) => data.with_dependence(Dependence::Chains(lengths)),
            (None, None) => data,
        }
    }
}

/// What is known of a fit beside the fit.
#[derive(Default)]
pub struct Reading {
    /// Rows that were left out for a missing value.
    pub dropped: usize,
    /// Passes over the file, for data that were streamed.
    pub passes: Option<usize>,
}

/// A model fitted to rows in memory, as a value.
///
/// # Errors
/// Those of the library's call that it makes.
pub fn fit_rows(
    model: &Model,
    rows: &Rows,
    options: &FitOptions,
    model_file: Option<&str>,
) -> Outcome<(Fit, Value)> {
    let fit = noisewright::internal::fit::fit(model, rows.data(), options)?;
    let grid = fitted_grid(model, &fit, rows.points.view());
    let shown = fit_value(&fit, &Reading::default(), grid, model_file)?;
    Ok((fit, shown))
}

/// A fit as a value: the fields of the command's JSON, with suggestions as arguments, and what a package goes on with.
///
/// # Errors
/// A record that cannot be written.
pub fn fit_value(
    fit: &Fit,
    reading: &Reading,
    grid: Option<Value>,
    model_file: Option<&str>,
) -> Outcome<Value> {
    let mut shown = value(fit)?;
    let warnings = shown.get_mut("diagnostics").and_then(|diagnostics| diagnostics.get_mut("warnings"));
    for (shown, warning) in
        warnings.map(Value::entries_mut).into_iter().flatten().zip(&fit.diagnostics.warnings)
    {
        shown.set("suggestion", warning.suggestion_in(&argument));
    }
    shown.set("noise_words", fit.noise_description.as_str());
    shown.set("dropped", reading.dropped);
    shown.set("passes", reading.passes);
    shown.set("warnings", texts(fit.diagnostics.warnings.iter().map(|w| w.in_words(&argument))));
    shown.set("no_answer", fit.diagnostics.no_answer().map(|w| w.in_words(&argument)));
    shown.set("grid", grid);
    shown.set("kept", value(&Kept::of(fit, model_file)?)?);
    Ok(shown)
}

/// A setting as an argument: `nu=20`, `noise="auto"`.
fn argument(setting: Setting) -> String {
    match setting.parts() {
        (name @ ("nu" | "choices"), value) => format!("{name}={value}"),
        (name, value) => format!("{name}=\"{value}\""),
    }
}

/// Densities along the range of the data.
#[derive(Serialize)]
struct Grid {
    x: Vec<f64>,
    density: Vec<f64>,
    noise_density: Option<Vec<f64>>,
}

/// Densities of the fitted model and of the noise over the data, where there is one continuous variable.
#[must_use]
pub fn fitted_grid(model: &Model, fit: &Fit, data: View<'_>) -> Option<Value> {
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
    let noise_density = fit.noise.as_ref().map(|noise| noise_density(noise.as_ref(), view));
    value(&Grid { x, density, noise_density }).ok()
}

fn noise_density(noise: &dyn Noise, view: View<'_>) -> Vec<f64> {
    let mut out = vec![0.0; view.rows()];
    noise.log_density(view, &mut out);
    out.iter_mut().for_each(|q| *q = q.exp());
    out
}
