//! The noise and the proportion that minimise the error (MATH §5 and §6).

mod anderson;
mod criterion;
pub(crate) mod densities;
mod dictionary;
mod dual_maximum;
pub(crate) mod error_answer;
pub(crate) mod exact;
pub(crate) mod family;
mod family_scan;
mod free_parameters;
pub(crate) mod grid;
pub(crate) mod histogram;
pub(crate) mod limits;
pub(crate) mod mixture;
pub(crate) mod noise;
pub(crate) mod of_model;
pub(crate) mod problem;
pub(crate) mod proportion;
pub(crate) mod question;
pub(crate) mod quiet;
#[cfg(feature = "model-file")]
mod record;
mod refinement;
mod remarks;
mod serial;
mod targeted;
mod walls;
mod weights;

pub use dictionary::DictionaryOptions;
pub(crate) use exact::OptimalNoise;
pub use family::best_member;
pub(crate) use family::best_member_on;
pub(crate) use family::{FamilyOptimum, Member};
pub(crate) use histogram::HistogramDesign;
pub(crate) use histogram::{best_histogram_1d, best_histogram_2d};
pub(crate) use mixture::{MixtureDesign, best_mixture, design_mixture_on_sample};
pub use mixture::{design_dictionary, design_mixture};
pub(crate) use noise::ModelNoise;
pub(crate) use noise::SavedModelNoise;
pub(crate) use noise::Shape;
pub(crate) use of_model::design;
pub(crate) use problem::{Problem, Purpose};
pub(crate) use proportion::{Curve, ratio_for_efficiency};
pub use proportion::{Prices, best_ratio};
pub(crate) use question::{Answer, EfficiencyAnswer, Kind};
pub(crate) use quiet::QuietAnswer;
#[cfg(feature = "model-file")]
pub use record::Record;

use crate::asymptotics::trace_product;
use crate::{
    DesignFault, Error, Model, Points, Population, Precision, Result, Target,
    asymptotics::cramer_rao_covariance,
};
use criterion::Criterion;

/// Noise points per data point: given, or to be found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ratio {
    /// This ν.
    Fixed(f64),
    /// The ν that minimises the error for the budget.
    Free,
}

/// What is designed for.
#[derive(Clone, Debug)]
pub struct DesignOptions {
    /// The error that is minimised (default: mean squared error of all coordinates).
    pub target: Target,
    /// The ratio ν (default: free).
    pub ratio: Ratio,
    /// Prices of a data and of a noise point (default: 1 each).
    pub prices: Prices,
    /// Accuracy of the expectations, seed, cancellation and progress.
    pub precision: Precision,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for DesignOptions {
    fn default() -> Self {
        Self {
            target: Target::Mse,
            ratio: Ratio::Free,
            prices: Prices::default(),
            precision: Precision::default(),
            more: crate::More,
        }
    }
}

impl DesignOptions {
    /// The options of one run.
    fn for_run(&self) -> Self {
        Self { precision: self.precision.for_run(), ..self.clone() }
    }

    /// The same at parameters, where what the target asks is known.
    fn resolved(&self, model: &Model, parameters: &[f64]) -> Result<Self> {
        let own = self.for_run();
        let problem = Problem { precision: own.precision.clone(), ..Problem::new(model, parameters) };
        let target = own.target.resolved(model, parameters, || problem.log_normalizer())?.into_owned();
        Ok(Self { target, ..own })
    }

    /// A result of a design that was not cancelled.
    fn conclude<T>(&self, result: Result<T>) -> Result<T> {
        self.precision.context().conclude(result)
    }
}

/// The exact optimal design, with what it is compared with.
#[derive(Clone)]
#[non_exhaustive]
pub struct Design {
    /// The error times the budget.
    pub error: f64,
    /// Noise points per data point.
    pub nu: f64,
    /// The noise.
    pub noise: ModelNoise,
    /// The optimum on the population's points, with its certificate.
    pub optimum: OptimalNoise,
    /// The population the optimum was computed on.
    pub population: Population,
    /// The error of p_n = p_d at the same ν.
    pub noise_equals_data: f64,
    /// The error of p_n = p_d at ν = 1.
    pub conventional: f64,
    /// The error at the best ν for p_n = p_d is never below this: endless free noise.
    pub cramer_rao: f64,
}

impl std::fmt::Debug for Design {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Design")
            .field("error", &self.error)
            .field("nu", &self.nu)
            .field("noise", &self.noise)
            .finish_non_exhaustive()
    }
}

impl Design {
    /// The certified relative gap, where the problem is convex and another, finer rule agrees: the gap on the nodes, and
    /// what the value and the mass of the noise were off on those.
    #[must_use]
    pub fn gap(&self) -> Option<f64> {
        let rule_error = self.optimum.rule_error.filter(|error| *error <= LARGEST_RULE_ERROR)?;
        self.optimum.convex.then_some(self.optimum.gap + rule_error)
    }

    /// π = ν/(1+ν).
    #[must_use]
    pub fn noise_proportion(&self) -> f64 {
        self.nu / (1.0 + self.nu)
    }
}

/// The optimal design on a sample of the data instead of the model's own population: any dimension, no quadrature.
///
/// `log_normalizer` is the model's log Z at the parameters, which the density of the designed noise needs.
///
/// ```
/// use noisewright::{design::{DesignOptions, Ratio, design_on_sample}, prelude::*};
/// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
/// let data = sample(&Normal::with_std(0.0, 1.0)?, 4000, 1);
/// let options = DesignOptions { ratio: Ratio::Fixed(1.0), ..DesignOptions::default() };
/// let best = design_on_sample(&model, &[0.0], 0.5 * std::f64::consts::TAU.ln(), &data, &options)?;
/// assert!((best.error / 3.50813 - 1.0).abs() < 0.1); // the design on the model itself, `Model::design`
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`Model::design`], and when the sample is too small for the number of parameters.
pub fn design_on_sample(
    model: &Model,
    parameters: &[f64],
    log_normalizer: f64,
    sample: &Points,
    options: &DesignOptions,
) -> Result<Design> {
    let options = &options.for_run();
    options.conclude(Search::on_sample(model, parameters, log_normalizer, sample, options)?.run())
}

/// Relative error of a rule beyond which nothing is called certified on it.
const LARGEST_RULE_ERROR: f64 = 1e-5;

enum Start {
    /// The model's own population, that can be refined around kinks.
    Model(Population),
    /// A sample, which cannot be refined.
    Sample(Population),
}

pub(crate) struct Search<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    options: &'a DesignOptions,
    start: Start,
}

/// An optimum with the population it was computed on.
type Solved = (Population, OptimalNoise);

impl<'a> Search<'a> {
    pub(crate) fn on_model(
        model: &'a Model,
        parameters: &'a [f64],
        options: &'a DesignOptions,
    ) -> Result<Self> {
        options.prices.check()?;
        let start = Start::Model(refinement::first_population(model, parameters, &options.precision)?);
        Ok(Self { model, parameters, options, start })
    }

    pub(crate) fn on_sample(
        model: &'a Model,
        parameters: &'a [f64],
        log_normalizer: f64,
        sample: &Points,
        options: &'a DesignOptions,
    ) -> Result<Self> {
        options.prices.check()?;
        let start = Start::Sample(Population::from_sample(model, parameters, log_normalizer, sample)?);
        Ok(Self { model, parameters, options, start })
    }

    /// `tr(ΣM)` of the optimum at a ν, for curves: exact on a line, elsewhere on the nodes that a search begins with.
    pub(crate) fn value(&self, nu: f64) -> Result<f64> {
        proportion::check_ratio(nu)?;
        match (&self.start, self.model.space().dimension()) {
            (Start::Model(_), 1) => Ok(self.solve(nu)?.1.value),
            _ => Ok(self.on_first_nodes(nu)?.value),
        }
    }

    fn population(&self) -> &Population {
        match &self.start {
            Start::Model(population) | Start::Sample(population) => population,
        }
    }

    fn criterion<'p>(&self, population: &'p Population) -> Result<Criterion<'p>> {
        let criterion = Criterion::new(population, &self.options.target)?;
        Ok(criterion.for_run(self.options.precision.context()))
    }

    pub(crate) fn run(&self) -> Result<Design> {
        if self.population().has_constant() && self.population().coordinates().len() == 1 {
            return Err(Error::Design(DesignFault::ConstantAlone));
        }
        let prices = self.options.prices;
        let nu = match self.options.ratio {
            Ratio::Fixed(nu) => proportion::check_ratio(nu)?,
            // Any ν is as good as any other where nothing is left to gain.
            Ratio::Free if self.on_first_nodes(1.0)?.value == 0.0 => 1.0,
            Ratio::Free => {
                let rough = |nu: f64| Ok(prices.scale(nu) * self.on_first_nodes(nu)?.value);
                // On grids the kinks move the best ratio by less than their error: the finest is for the end.
                let exact = |nu: f64| Ok(prices.scale(nu) * self.value(nu)?);
                proportion::best_ratio_from(rough, exact)?.0
            }
        };
        let (population, optimum) = self.solve(nu)?;
        let noise = ModelNoise::optimal(&population, self.model, self.parameters, &optimum)?;
        let criterion = self.criterion(&population)?;
        let bound = trace_product(&cramer_rao_covariance(&population)?, criterion.target());
        let equal = |nu: f64| prices.scale(nu) * (1.0 + 1.0 / nu) * bound;
        Ok(Design {
            error: prices.scale(nu) * optimum.value,
            nu,
            noise,
            noise_equals_data: equal(nu),
            conventional: equal(1.0),
            cramer_rao: prices.scale(nu) * bound,
            optimum,
            population,
        })
    }

    /// The optimum at one ν on the nodes that know nothing of its kinks.
    fn on_first_nodes(&self, nu: f64) -> Result<OptimalNoise> {
        exact::optimal_noise(&self.criterion(self.population())?, nu, None)
    }
}
