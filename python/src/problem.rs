//! A model at a parameter value, with data where there are any: what `error` and `design` are asked about.

use std::sync::Arc;

use noisewright::design::{self, Design, ModelNoise, Ratio, Shape};
use noisewright::{Model, Noise, Points, Population, Precision, Result, Target};

/// What a designed noise is designed for.
#[derive(Clone, Copy)]
pub(crate) struct Purpose<'a> {
    pub(crate) nu: f64,
    pub(crate) target: &'a Target,
}

/// A model, where it is true, and what is known about it there.
pub(crate) struct Problem {
    pub(crate) model: Model,
    pub(crate) parameters: Vec<f64>,
    pub(crate) data: Option<Points>,
    /// log Z at the parameters, where the caller knows it.
    pub(crate) log_normalizer: Option<f64>,
    /// Expectations are averages over the data.
    pub(crate) on_data: bool,
    pub(crate) precision: Precision,
}

impl Problem {
    /// The sample that expectations are averages over, where they are.
    pub(crate) fn sample(&self) -> Option<&Points> {
        self.data.as_ref().filter(|_| self.on_data)
    }

    /// The population that the question is about.
    pub(crate) fn population(&self) -> Result<Population> {
        let Self { model, parameters, precision, .. } = self;
        match self.sample() {
            Some(sample) => Population::from_sample(model, parameters, self.log_normalizer()?, sample),
            None => Population::new(model, parameters, precision),
        }
    }

    /// log Z of the model: given, in closed form, or integrated.
    pub(crate) fn log_normalizer(&self) -> Result<f64> {
        let Self { model, parameters, precision, .. } = self;
        let mut gradient = vec![0.0; parameters.len()];
        if let Some(log_z) = self.log_normalizer.or_else(|| model.log_normalizer(parameters, &mut gradient)) {
            return Ok(log_z);
        }
        Ok(Population::new(model, parameters, precision)?.log_normalizer())
    }

    /// The model itself as a noise.
    pub(crate) fn model_noise(&self, parameters: &[f64]) -> Result<Arc<dyn Noise>> {
        if self.sample().is_some() && parameters == self.parameters {
            let population = self.population()?;
            return Ok(Arc::new(ModelNoise::on(&population, &self.model, parameters, Shape::Data)?));
        }
        Ok(Arc::new(ModelNoise::data(&self.model, parameters, &self.precision)?))
    }

    pub(crate) fn options(&self, target: &Target, ratio: Ratio) -> design::Options {
        design::Options {
            target: target.clone(),
            ratio,
            precision: self.precision,
            ..design::Options::default()
        }
    }

    /// The exact optimum at a ratio.
    pub(crate) fn design(&self, purpose: Purpose<'_>) -> Result<Design> {
        self.solve(&self.options(purpose.target, Ratio::Fixed(purpose.nu)))
    }

    /// The exact optimum, on the data where they stand for the model.
    pub(crate) fn solve(&self, options: &design::Options) -> Result<Design> {
        match self.sample() {
            None => design::design(&self.model, &self.parameters, options),
            Some(sample) => design::design_on_sample(
                &self.model,
                &self.parameters,
                self.log_normalizer()?,
                sample,
                options,
            ),
        }
    }
}
