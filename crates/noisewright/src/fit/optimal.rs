//! The noise `optimal`: a pilot fit, the best noise for what it found (MATH §6), mixed with a safe one.

use std::sync::Arc;

use noisewright_numerics::random::Stream;
use noisewright_numerics::summation::log_sum_exp;

use super::data_rows::SOME_ROWS;
use super::diagnostics::{Finding, Remedy, Warning};
use super::estimate::{Estimated, FitTask};
use super::judge;
use super::noise_choice::{auto_noise, dosed};
use super::{Amount, DrawKind, FitOptions};
use crate::design::{self, DictionaryOptions, Ratio, design_mixture, design_mixture_on_sample};
use crate::run::{Purpose, if_possible};
use crate::{
    Contrast, DesignFault, Error, Landmarks, Loss, Method, Mixture, Model, Noise, Points, Population,
    Precision, Result, SavedNoise, Target, View, error_report,
};

/// Share of the safe noise (MATH §6.6): it keeps the density positive wherever the data may be, however wrong the pilot.
pub(crate) const SAFE_SHARE: f64 = 0.1;

/// Least noise of the pilot, per data point.
const PILOT_RATIO: f64 = 2.0;

/// Largest error of the designed density's integral; beyond it the density would bias the constant.
const WORST_INTEGRAL: f64 = 1e-3;

/// The designed noise, and what it was expected to be worth.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct OptimalReport {
    /// Noise points per data point that it was designed for.
    pub nu: f64,
    /// The pilot's parameters.
    pub pilot: Vec<f64>,
    /// The noise that was used, in words.
    pub noise: String,
    /// Share of the safe noise in it.
    pub safe_share: f64,
    /// Whether the designed part is the exact optimum, rather than the best mixture of a dictionary.
    pub exact: bool,
    /// Relative certified gap of the designed part, where the problem is convex.
    pub gap: Option<f64>,
    /// Relative correction that made the designed density integrate to one.
    pub normalization: f64,
    /// Predicted error times the budget, `(1+ν) tr(ΣM)`, with the noise used.
    pub error: f64,
    /// The same with the best noise of all, not mixed.
    pub error_optimum: f64,
    /// The same with the noise `auto`.
    pub error_auto: f64,
    /// The same with noise equal to the data.
    pub error_noise_equals_data: f64,
}

/// Estimates with the noise `optimal`: a pilot against the noise `auto`, the design at what it found, an estimate against
/// that.
///
/// Where no noise can be designed, the pilot's is used and a warning says so.
///
/// # Errors
/// As for [`Model::fit`](crate::Model::fit).
pub(crate) fn estimate_optimal<'a>(task: FitTask<'a>, options: &FitOptions) -> Result<Estimated<'a>> {
    let asked = match options.amount {
        Amount::Ratio(nu) => Some(nu),
        Amount::Points(points) => Some(points as f64 / task.rows.total_weight()),
        Amount::Auto { .. } => None,
    };
    let amount = asked.map_or(options.amount, |nu| Amount::Ratio(nu.max(PILOT_RATIO)));
    let safe = auto_noise(task.model, task.rows)?;
    let pilot = dosed(task, &safe, &FitOptions { amount, ..options.clone() })?;
    let nu = asked.unwrap_or(pilot.fit.nu);
    // Quiet draws of the designed noise are dosed by their own replicates: the design knows of independent ones alone.
    let quiet = asked.is_none() && pilot.fit.draws == Some(DrawKind::Quiet);
    let amount = if quiet { options.amount } else { Amount::Ratio(nu) };
    let designed = designed(task, &pilot, &safe, nu, options)?;
    drop(pilot);
    // The pilot's noise must not come again: what was designed on it would know it.
    let seed = Purpose::FitOptimal.seed(options.seed, 0);
    let again = FitOptions { seed, amount, ..options.clone() };
    let (noise, report) = match designed {
        Ok(design) => (design.noise, Ok(design.report)),
        Err(finding) => (safe, Err(finding)),
    };
    let mut found = dosed(task, &noise, &again)?;
    match report {
        Ok(report) => found.notes.optimal = Some(report),
        Err(finding) => found.notes.warnings.push(Warning::new(finding, [Remedy::AutoInstead])),
    }
    Ok(found)
}

/// The design at a pilot, or why there is none.
///
/// # Errors
/// When the rows cannot be passed over again, or the fit is cancelled.
fn designed(
    fit: FitTask<'_>,
    pilot: &Estimated<'_>,
    safe: &Arc<dyn Noise>,
    nu: f64,
    options: &FitOptions,
) -> Result<std::result::Result<OptimalDesign, Finding>> {
    if let Some(warning) = judge::refusal(pilot)? {
        return Ok(Err(Finding::NoPilot { pilot: Box::new(warning.finding) }));
    }
    let some = fit.rows.spread(SOME_ROWS);
    let constant = pilot.fit.log_normalizer.as_ref().map_or(0.0, |c| c.estimate);
    let target = options.target.resolved(fit.model, &pilot.fit.theta(), || Ok(constant))?;
    let task = Task {
        model: fit.model,
        parameters: &pilot.fit.theta(),
        log_normalizer: constant,
        data: some.view(),
        safe: Arc::clone(safe),
        nu,
        loss: fit.loss,
        target: &target,
        precision: Precision { seed: options.seed, ..options.precision() },
    };
    match task.design() {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        designed => Ok(designed.map_err(|error| Finding::NotDesigned { error })),
    }
}

/// A designed noise with its report.
#[derive(Clone)]
pub(crate) struct OptimalDesign {
    /// The noise.
    pub(crate) noise: Arc<dyn Noise>,
    /// What it is expected to be worth.
    pub(crate) report: OptimalReport,
}

/// What a noise is designed for.
pub(crate) struct Task<'a> {
    pub(crate) model: &'a Model,
    /// The pilot's θ.
    pub(crate) parameters: &'a [f64],
    /// The pilot's log Z.
    pub(crate) log_normalizer: f64,
    /// The data.
    pub(crate) data: View<'a>,
    /// The safe noise.
    pub(crate) safe: Arc<dyn Noise>,
    pub(crate) nu: f64,
    pub(crate) loss: &'a Loss,
    pub(crate) target: &'a Target,
    /// Seed, cancellation and progress of the design.
    pub(crate) precision: Precision,
}

/// The designed part.
struct Designed {
    /// Weights, summing to one, and noises.
    parts: Vec<(f64, Arc<dyn Noise>)>,
    exact: bool,
    gap: Option<f64>,
    normalization: f64,
    error: f64,
    /// Where the errors are computed.
    population: Population,
}

impl Task<'_> {
    /// The designed noise mixed with the safe one.
    ///
    /// # Errors
    /// When no noise can be designed at these parameters.
    pub(crate) fn design(&self) -> Result<OptimalDesign> {
        let exact = if self.allows_exact() { if_possible(self.exact())? } else { None };
        let designed = match exact {
            Some(designed) => designed,
            None => match if_possible(self.mixture())? {
                Some(designed) => designed,
                None => self.mixture_on_sample()?,
            },
        };
        let safe: Arc<dyn Noise> =
            Arc::new(Restated { noise: Arc::clone(&self.safe), log_mass: 0.0, words: "auto".into() });
        let weighted =
            designed.parts.iter().map(|(weight, part)| ((1.0 - SAFE_SHARE) * weight, Arc::clone(part)));
        let parts = weighted.chain([(SAFE_SHARE, safe)]).collect();
        let mixed: Arc<dyn Noise> = Arc::new(Mixture::<dyn Noise>::of_shared(parts)?);
        let used = self.errors(&mixed, &designed.population)?;
        let auto = self.errors(&self.safe, &designed.population)?;
        let report = OptimalReport {
            nu: self.nu,
            pilot: self.parameters.to_vec(),
            noise: mixed.describe(),
            safe_share: SAFE_SHARE,
            exact: designed.exact,
            gap: designed.gap,
            normalization: designed.normalization,
            error: used.error,
            error_optimum: designed.error,
            error_auto: auto.error,
            error_noise_equals_data: used.noise_equals_data,
        };
        Ok(OptimalDesign { noise: mixed, report })
    }

    /// Whether the exact optimum can be both evaluated and drawn from: finite states, counts, or boxes of up to three
    /// real variables.
    fn allows_exact(&self) -> bool {
        let space = self.model.space();
        let discrete = space.domains().iter().filter(|d| d.is_discrete()).count();
        let pure = discrete == 0 || discrete == space.dimension();
        let enumerable = space.state_count().is_some_and(|states| states <= 1 << 20);
        enumerable || (pure && space.dimension() <= 3 && !space.is_sphere())
    }

    /// How accurate the integrals need be: far beyond the error of the pilot.
    fn precision(&self) -> Precision {
        let relative = if self.model.space().dimension() == 1 { 1e-9 } else { 1e-5 };
        Precision { relative, max_nodes: 1 << 19, draws: 1 << 15, ..self.precision.clone() }
    }

    fn options(&self) -> design::DesignOptions {
        design::DesignOptions {
            target: self.target.clone(),
            ratio: Ratio::Fixed(self.nu),
            precision: self.precision(),
            ..design::DesignOptions::default()
        }
    }

    fn contrast<'n>(&'n self, noise: &'n dyn Noise) -> Contrast<'n> {
        Contrast { noise, nu: self.nu, loss: self.loss }
    }

    fn exact(&self) -> Result<Designed> {
        let design = design::design(self.model, self.parameters, &self.options())?;
        if matches!(design.population.accuracy().method, Method::Sampling | Method::Sample) {
            return Err(Error::Design(DesignFault::NoDraws));
        }
        let gap = design.gap();
        let (noise, normalization, population) = self.renormalized(Arc::new(design.noise))?;
        Ok(Designed {
            parts: vec![(1.0, noise)],
            exact: true,
            gap,
            normalization,
            error: design.error,
            population,
        })
    }

    /// The noise with its density divided by its integral, on nodes that know where it has kinks.
    fn renormalized(&self, noise: Arc<dyn Noise>) -> Result<(Arc<dyn Noise>, f64, Population)> {
        let contrast = self.contrast(noise.as_ref());
        let population = Population::for_contrast(self.model, self.parameters, contrast, &self.precision())?;
        let log_noise = population.log_noise(noise.as_ref())?;
        let weights = population.log_weights().iter().zip(population.log_density());
        let terms: Vec<f64> = weights.zip(&log_noise).map(|((q, d), n)| q - d + n).collect();
        let log_mass = log_sum_exp(&terms);
        if log_mass.abs() > WORST_INTEGRAL || log_mass.is_nan() {
            return Err(Error::Design(DesignFault::Mass { integral: log_mass.exp() }));
        }
        let words = noise.describe();
        Ok((Arc::new(Restated { noise, log_mass, words }), log_mass.exp_m1(), population))
    }

    fn mixture(&self) -> Result<Designed> {
        let options = self.options();
        let design = design_mixture(self.model, self.parameters, &DictionaryOptions::default(), &options)?;
        let contrast = self.contrast(design.noise.as_ref());
        let population = Population::for_contrast(self.model, self.parameters, contrast, &options.precision)?;
        Ok(Designed::from_mixture(design, population))
    }

    /// On the data themselves, where the model's own density is too hard to sample.
    fn mixture_on_sample(&self) -> Result<Designed> {
        let sample = Points::from_values(
            self.model.space().names(),
            self.data.rows(),
            (0..self.data.columns()).flat_map(|j| self.data.column(j).iter().copied()).collect(),
        )?;
        let (parameters, log_z) = (self.parameters, self.log_normalizer);
        let dictionary = DictionaryOptions::default();
        let design =
            design_mixture_on_sample(self.model, parameters, log_z, &sample, &dictionary, &self.options())?;
        let population = Population::from_sample(self.model, parameters, log_z, &sample)?;
        Ok(Designed::from_mixture(design, population))
    }

    fn errors(&self, noise: &Arc<dyn Noise>, population: &Population) -> Result<crate::ErrorReport> {
        if population.accuracy().method != Method::Quadrature {
            return error_report(
                population,
                &population.log_noise(noise.as_ref())?,
                self.nu,
                self.loss,
                self.target,
            );
        }
        let contrast = self.contrast(noise.as_ref());
        crate::asymptotic_error(self.model, self.parameters, contrast, self.target, &self.precision())
    }
}

impl Designed {
    fn from_mixture(design: design::MixtureDesign, population: Population) -> Self {
        let weighted = design.weights.into_iter().zip(design.components);
        Self {
            gap: design.convex.then_some(design.gap),
            error: design.exact_error,
            parts: weighted.filter(|(weight, _)| *weight > 0.0).collect(),
            exact: false,
            normalization: 0.0,
            population,
        }
    }
}

/// A noise whose density is divided by its integral, under another name.
pub(crate) struct Restated {
    pub(crate) noise: Arc<dyn Noise>,
    pub(crate) log_mass: f64,
    pub(crate) words: String,
}

impl Noise for Restated {
    fn dimension(&self) -> usize {
        self.noise.dimension()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        self.noise.log_density(points, out);
        out.iter_mut().for_each(|l| *l -= self.log_mass);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        self.noise.draw(stream, rows, out);
    }

    fn uniforms(&self) -> Option<usize> {
        self.noise.uniforms()
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        self.noise.transport(cube, out);
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        self.noise.landmarks(axis)
    }

    fn describe(&self) -> String {
        self.words.clone()
    }

    fn saved(&self) -> Option<SavedNoise> {
        let (log_mass, words) = (self.log_mass, self.words.clone());
        Some(SavedNoise::Restated { noise: Box::new(self.noise.saved()?), log_mass, words })
    }
}
