//! Designed mixtures: the best weights of samplable components, in any number of dimensions.

use std::sync::Arc;

use super::criterion::Criterion;
use super::dictionary::{DictionaryOptions, components, equal_mixture};
use super::exact::optimal_noise;
use super::proportion::check_ratio;
use super::weights::{Dictionary, solve};
use super::{DesignOptions, Ratio};
use crate::{Contrast, DesignFault, Error, Loss, Method, Mixture, Model, Noise, Points, Population, Result};

/// Weights below this are left out of the noise.
const SMALLEST_WEIGHT: f64 = 1e-6;

/// A mixture with the best weights of its components.
#[derive(Clone)]
#[non_exhaustive]
pub struct MixtureDesign {
    /// The noise: the components with a weight of at least 10⁻⁶.
    pub noise: Arc<dyn Noise>,
    /// The weights of all components, zero for those left out.
    pub weights: Vec<f64>,
    /// The components.
    pub components: Vec<Arc<dyn Noise>>,
    /// The error times the budget.
    pub error: f64,
    /// Noise points per data point.
    pub nu: f64,
    /// What other weights could still gain, relatively; a certificate where the problem is convex.
    pub gap: f64,
    /// Whether the problem is convex (models with a free constant), so that no other weights are better.
    pub convex: bool,
    /// Number of distinct stationary points that the starts led to.
    pub stationary_points: usize,
    /// The error of the exact optimum at the same ν on the same points.
    pub exact_error: f64,
}

impl MixtureDesign {
    /// How far the error is above that of the exact optimum, relatively. On a sample it can fall below zero by the
    /// sample's own error, because only the exact optimum is made to integrate to one on it.
    #[must_use]
    pub fn excess(&self) -> f64 {
        self.error / self.exact_error - 1.0
    }
}

impl std::fmt::Debug for MixtureDesign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MixtureDesign")
            .field("noise", &self.noise.describe())
            .field("error", &self.error)
            .field("nu", &self.nu)
            .field("gap", &self.gap)
            .field("exact_error", &self.exact_error)
            .finish_non_exhaustive()
    }
}

/// The best mixture from a dictionary of components around the model, true at `parameters`.
///
/// ```
/// use noisewright::{Model, design::{DictionaryOptions, DesignOptions, Ratio, design_mixture}};
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
/// let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
/// let best = design_mixture(&model, &[0.0], &DictionaryOptions::default(), &options)?;
/// assert!(best.excess() < 1e-3 && best.gap < 1e-4); // noise equal to the data: 14 % above the optimum
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the model has no population at these parameters, its scores are collinear, or ν or a price is not positive.
pub fn design_mixture(
    model: &Model,
    parameters: &[f64],
    dictionary: &DictionaryOptions,
    options: &DesignOptions,
) -> Result<MixtureDesign> {
    let options = &options.resolved(model, parameters)?;
    let population = Population::new(model, parameters, &options.precision)?;
    let parts = dictionary_on(model, &population, dictionary, options)?;
    if population.accuracy().method != Method::Quadrature || model.space().dimension() > 1 {
        return best_mixture(&population, &parts, options);
    }
    // Along a line nodes are cheap: once more on nodes that know the components, narrow ones with them.
    design_dictionary(model, parameters, &parts, options)
}

/// The best mixture of given components for the model, true at `parameters`, on nodes that know all of them (MATH §9.4).
///
/// ```
/// use noisewright::{Model, Noise, Normal, design::{DesignOptions, Ratio, design_dictionary}};
/// use std::sync::Arc;
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
/// let members: Vec<Arc<dyn Noise>> = [-1.0, 0.0, 1.0].map(|m| Arc::new(Normal::with_std(m, 1.0).unwrap()) as _).to_vec();
/// let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
/// let best = design_dictionary(&model, &[0.0], &members, &options)?;
/// // Symmetric, better than the noise N(0, 1) with its error 4, and certified.
/// assert!((best.weights[0] - best.weights[2]).abs() < 1e-3 && best.error < 4.0 && best.gap < 1e-8);
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`best_mixture`], and when the model has no population at these parameters.
pub fn design_dictionary(
    model: &Model,
    parameters: &[f64],
    components: &[Arc<dyn Noise>],
    options: &DesignOptions,
) -> Result<MixtureDesign> {
    let options = &options.resolved(model, parameters)?;
    let cover = equal_mixture(components)?;
    let contrast = Contrast { noise: &cover, nu: first_ratio(options)?, loss: &Loss::Js };
    let population = Population::for_contrast(model, parameters, contrast, &options.precision)?;
    best_mixture(&population, components, options)
}

/// The best mixture on a sample of the data instead of the model's own population: any dimension, no quadrature.
///
/// # Errors
/// As for [`design_mixture`], and when the sample is too small for the number of parameters.
pub fn design_mixture_on_sample(
    model: &Model,
    parameters: &[f64],
    log_normalizer: f64,
    sample: &Points,
    dictionary: &DictionaryOptions,
    options: &DesignOptions,
) -> Result<MixtureDesign> {
    let options = &options.for_run();
    let population = Population::from_sample(model, parameters, log_normalizer, sample)?;
    let parts = dictionary_on(model, &population, dictionary, options)?;
    best_mixture(&population, &parts, options)
}

fn first_ratio(options: &DesignOptions) -> Result<f64> {
    if let Ratio::Fixed(nu) = options.ratio { check_ratio(nu) } else { Ok(1.0) }
}

fn dictionary_on(
    model: &Model,
    population: &Population,
    dictionary: &DictionaryOptions,
    options: &DesignOptions,
) -> Result<Vec<Arc<dyn Noise>>> {
    let criterion = Criterion::new(population, &options.target)?.for_run(options.precision.context());
    let optimum = optimal_noise(&criterion, first_ratio(options)?, None)?;
    let mass: Vec<f64> = optimum.ratio.iter().zip(&criterion.weights).map(|(h, q)| h * q).collect();
    components(model.space(), population, &mass, dictionary)
}

/// The best weights of given components on the points of a population, at a given ν or jointly with it.
///
/// # Errors
/// When there is no component, one has another number of variables than the points, the scores are collinear where
/// the components are, or ν or a price is not positive.
pub fn best_mixture(
    population: &Population,
    components: &[Arc<dyn Noise>],
    options: &DesignOptions,
) -> Result<MixtureDesign> {
    options.prices.check()?;
    first_ratio(options)?;
    check_components(population, components)?;
    let options = &options.for_run();
    let criterion = Criterion::new(population, &options.target)?.for_run(options.precision.context());
    let log_densities: Vec<Vec<f64>> =
        components.iter().map(|component| population.log_noise(component.as_ref())).collect::<Result<_>>()?;
    let dictionary = Dictionary::dense(population, &log_densities);
    let (nu, best) = options.conclude(solve(&criterion, &dictionary, options.ratio, options.prices))?;
    let weights = without_small(&best.weights);
    let value = criterion.at(&dictionary.mixture(&weights), nu)?.value;
    let scale = options.prices.scale(nu);
    Ok(MixtureDesign {
        noise: mixture(&weights, components)?,
        weights,
        components: components.to_vec(),
        error: scale * value,
        nu,
        gap: best.gap,
        convex: population.has_constant(),
        stationary_points: best.stationary_points,
        exact_error: scale * optimal_noise(&criterion, nu, None)?.value,
    })
}

fn check_components(population: &Population, components: &[Arc<dyn Noise>]) -> Result<()> {
    if components.is_empty() {
        return Err(Error::Design(DesignFault::NoComponents));
    }
    let expected = population.points().columns();
    match components.iter().find(|component| component.dimension() != expected) {
        Some(other) => {
            Err(Error::Shape { what: "variables in every component", expected, found: other.dimension() })
        }
        None => Ok(()),
    }
}

fn without_small(weights: &[f64]) -> Vec<f64> {
    let kept: Vec<f64> = weights.iter().map(|w| if *w < SMALLEST_WEIGHT { 0.0 } else { *w }).collect();
    let total: f64 = kept.iter().sum();
    kept.iter().map(|w| w / total).collect()
}

fn mixture(weights: &[f64], components: &[Arc<dyn Noise>]) -> Result<Arc<dyn Noise>> {
    let mut parts: Vec<(f64, Arc<dyn Noise>)> = weights
        .iter()
        .zip(components)
        .filter(|(weight, _)| **weight > 0.0)
        .map(|(weight, component)| (*weight, Arc::clone(component)))
        .collect();
    if parts.len() == 1 {
        return Ok(parts.remove(0).1);
    }
    Ok(Arc::new(Mixture::<dyn Noise>::of_shared(parts)?))
}
