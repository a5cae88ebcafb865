//! A model, where it is true, and what is known of it there: what errors and designs are asked about.

use std::sync::Arc;

use super::{
    DesignOptions, HistogramDesign, ModelNoise, Ratio, Search, Shape, best_histogram_1d, best_histogram_2d,
};
use crate::noise::sample_for;
use crate::run::Purpose as StreamPurpose;
use crate::{
    Argument, Call, Error, Model, Noise, NoiseContext, NoiseWords, Points, Population, Precision, Result,
    Space, Target, equal_edges, fit_auto,
};

/// Draws of the model that stand in for data where `auto` has none.
const STAND_IN: usize = 20_000;

/// Most bins along a variable of `histogram(bins, lo, hi)`.
const MOST_BINS: f64 = 1000.0;

/// Finds the noise that `file("…")` names; what it cannot do it says as the end of a sentence.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Arc<dyn Noise>, String>;

/// A model at parameter values, with data where there are any.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// The model.
    pub model: &'a Model,
    /// Where it is true.
    pub parameters: &'a [f64],
    /// Data for the noises that are fitted to them.
    pub data: Option<&'a Points>,
    /// How many times each of their rows counts.
    pub weights: Option<&'a [f64]>,
    /// Whether expectations are averages over the data, rather than integrals over the model.
    pub on_data: bool,
    /// log Z at the parameters, where the caller knows it.
    pub log_normalizer: Option<f64>,
    /// Accuracy of the integrals.
    pub precision: Precision,
}

/// What a designed noise is designed for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose<'a> {
    /// Noise points per data point.
    pub nu: f64,
    /// The error that is to be small.
    pub target: &'a Target,
}

impl<'a> Problem<'a> {
    /// A model at parameter values, without data and with the default accuracy.
    #[must_use]
    pub fn new(model: &'a Model, parameters: &'a [f64]) -> Self {
        let precision = Precision::default();
        Self { model, parameters, data: None, weights: None, on_data: false, log_normalizer: None, precision }
    }

    /// The same for one run.
    pub(super) fn for_run(&self) -> Self {
        Self { precision: self.precision.for_run(), ..self.clone() }
    }

    /// The sample that expectations are averages over, where they are.
    #[must_use]
    pub fn sample(&self) -> Option<&'a Points> {
        self.data.filter(|_| self.on_data)
    }

    /// The population that the question is about.
    ///
    /// # Errors
    /// When the model has none at these parameters, or the sample is too small for them.
    pub fn population(&self) -> Result<Population> {
        match self.sample() {
            Some(sample) => {
                let log_z = self.log_normalizer()?;
                Population::from_weighted_sample(
                    self.model,
                    self.parameters,
                    log_z,
                    sample.view(),
                    self.weights,
                )
            }
            None => Population::new(self.model, self.parameters, &self.precision),
        }
    }

    /// log Z of the model: given, in closed form, or integrated.
    ///
    /// # Errors
    /// When the model does not integrate.
    pub fn log_normalizer(&self) -> Result<f64> {
        let mut gradient = vec![0.0; self.parameters.len()];
        let known = self.log_normalizer.or_else(|| self.model.log_normalizer(self.parameters, &mut gradient));
        match known {
            Some(log_z) => Ok(log_z),
            None => Ok(Population::new(self.model, self.parameters, &self.precision)?.log_normalizer()),
        }
    }

    /// The noise that words say: those of [`NoiseWords::build`], and `data`, `model(…)`, `all-noise`, `optimal`, `auto`,
    /// `histogram(…)` and `file(…)`.
    ///
    /// ```
    /// use noisewright::{Model, NoiseWords, Target, View};
    /// use noisewright::internal::design::{Problem, Purpose};
    /// let model = Model::from_toml("variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0")?;
    /// let words = NoiseWords::parse("model(m=3)").unwrap();
    /// let purpose = Purpose { nu: 1.0, target: &Target::Mse };
    /// let noise = Problem::new(&model, &[0.0]).noise(&words, purpose, &|_| Err("there are no files".into()))?;
    /// let mut density = [0.0];
    /// noise.log_density(View::new(1, 1, &[3.0]), &mut density);
    /// assert!((density[0] + 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-12);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the noise does not fit the model, needs data that are not there, or has a `?` left.
    pub fn noise(
        &self,
        words: &NoiseWords,
        purpose: Purpose<'_>,
        files: Files<'_>,
    ) -> Result<Arc<dyn Noise>> {
        self.model.refuse_covariates()?;
        let designed = |call: &Call| self.designed(call, purpose, files);
        let data = self.data.map(Points::view);
        let weights = self.weights;
        words.build(&NoiseContext { space: self.model.space(), data, weights, designed: Some(&designed) })
    }

    /// The noises that come from the model, a design or a file; `None` for all others.
    fn designed(
        &self,
        call: &Call,
        purpose: Purpose<'_>,
        files: Files<'_>,
    ) -> Option<Result<Arc<dyn Noise>>> {
        Some(match call.name.as_str() {
            "data" => self.model_noise(self.parameters),
            "model" => call
                .parameters_of(self.model, self.parameters)
                .and_then(|elsewhere| self.model_noise(&elsewhere)),
            "all-noise" => {
                ModelNoise::all_noise(self.model, self.parameters, purpose.target, &self.precision)
                    .map(shared)
            }
            "optimal" => {
                let options = self.options(purpose);
                options.conclude(self.search(&options).and_then(|s| s.run())).map(|best| shared(best.noise))
            }
            "auto" => self.auto(),
            "dictionary" => {
                Err(refused(call, "a dictionary is weighed by a design: give it to design alone"))
            }
            "histogram" => self.histogram(call, &self.options(purpose)).map(|best| best.noise),
            "file" => from_file(call, files),
            _ => return None,
        })
    }

    /// The model itself as a noise.
    fn model_noise(&self, parameters: &[f64]) -> Result<Arc<dyn Noise>> {
        if self.sample().is_some() && parameters == self.parameters {
            let population = self.population()?;
            return ModelNoise::on(&population, self.model, parameters, Shape::Data).map(shared);
        }
        ModelNoise::data(self.model, parameters, &self.precision).map(shared)
    }

    /// Fitted to the data, or to draws of the model where there are none.
    fn auto(&self) -> Result<Arc<dyn Noise>> {
        if let Some(data) = self.data {
            return fit_auto(self.model.space(), data.view(), self.weights);
        }
        let model = self.model_noise(self.parameters)?;
        let drawn =
            sample_for(model.as_ref(), STAND_IN, &self.precision.context(), StreamPurpose::DesignStandIn)?;
        fit_auto(self.model.space(), drawn.view(), None)
    }

    fn options(&self, purpose: Purpose<'_>) -> DesignOptions {
        DesignOptions {
            target: purpose.target.clone(),
            ratio: Ratio::Fixed(purpose.nu),
            precision: self.precision.clone(),
            ..DesignOptions::default()
        }
    }

    /// The search for the exact optimum, on the data where they stand for the model.
    pub(super) fn search<'s>(&'s self, options: &'s DesignOptions) -> Result<Search<'s>> {
        match self.sample() {
            None => Search::on_model(self.model, self.parameters, options),
            Some(sample) => {
                Search::on_sample(self.model, self.parameters, self.log_normalizer()?, sample, options)
            }
        }
    }

    /// The best histogram with so many equal bins along each variable.
    pub(super) fn histogram(&self, call: &Call, options: &DesignOptions) -> Result<BestHistogram> {
        let edges = histogram_edges(call)?;
        if self.model.space().dimension() == 1 {
            let best = best_histogram_1d(self.model, self.parameters, &edges, options)?;
            let probabilities = best.noise.probabilities().to_vec();
            return Ok(BestHistogram::new(best, edges, probabilities));
        }
        let best = best_histogram_2d(self.model, self.parameters, [&edges, &edges], options)?;
        let probabilities = best.noise.probabilities().to_vec();
        Ok(BestHistogram::new(best, edges, probabilities))
    }
}

/// The noise that words say on a space alone, without a model: also `auto` where there are data, and `file(…)`.
///
/// # Errors
/// When the noise does not fit the space, or needs a model or data that are not there.
pub fn noise_on(
    space: &Space,
    data: Option<&Points>,
    words: &NoiseWords,
    files: Files<'_>,
) -> Result<Arc<dyn Noise>> {
    let designed = |call: &Call| match call.name.as_str() {
        "file" => Some(from_file(call, files)),
        "auto" => data.map(|data| fit_auto(space, data.view(), None)),
        _ => None,
    };
    words.build(&NoiseContext {
        space,
        data: data.map(Points::view),
        weights: None,
        designed: Some(&designed),
    })
}

/// The best histogram in one variable or two.
pub(super) struct BestHistogram {
    pub(super) noise: Arc<dyn Noise>,
    /// Edges along every variable.
    pub(super) edges: Vec<f64>,
    pub(super) probabilities: Vec<f64>,
    pub(super) nu: f64,
    pub(super) error: f64,
    pub(super) gap: f64,
    pub(super) stationary_points: usize,
}

impl BestHistogram {
    fn new<H: Noise + 'static>(best: HistogramDesign<H>, edges: Vec<f64>, probabilities: Vec<f64>) -> Self {
        let HistogramDesign { noise, error, nu, gap, stationary_points } = best;
        Self { noise: shared(noise), edges, probabilities, nu, error, gap, stationary_points }
    }
}

fn shared(noise: impl Noise + 'static) -> Arc<dyn Noise> {
    Arc::new(noise)
}

fn refused(call: &Call, reason: impl Into<String>) -> Error {
    Error::Noise { noise: call.to_string(), reason: reason.into() }
}

/// The edges of `histogram(bins, lo, hi)`.
fn histogram_edges(call: &Call) -> Result<Vec<f64>> {
    let wrong = || refused(call, format!("it must be histogram(bins, lo, hi) with at most {MOST_BINS} bins"));
    let [Argument::Number(bins), Argument::Number(lo), Argument::Number(hi)] = call.arguments.as_slice()
    else {
        return Err(wrong());
    };
    let whole = *bins >= 1.0 && *bins <= MOST_BINS && bins.fract() == 0.0;
    if !(whole && lo < hi && lo.is_finite() && hi.is_finite()) {
        return Err(wrong());
    }
    Ok(equal_edges(*bins as usize, *lo, *hi))
}

/// `file("design.json")`.
fn from_file(call: &Call, files: Files<'_>) -> Result<Arc<dyn Noise>> {
    let [Argument::Text(path)] = call.arguments.as_slice() else {
        let reason = "give the path of a saved design in quotes, such as file(\"design.json\")";
        return Err(refused(call, reason));
    };
    files(path).map_err(|reason| refused(call, reason))
}
