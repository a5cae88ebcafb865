//! A model at a parameter value, with data where there are any: what `error` and `design` are asked about.

use std::sync::Arc;

use noisewright::design::{Prices, Ratio};
use noisewright::internal;
use noisewright::internal::Contrast;
use noisewright::internal::design::{Answer, DesignSpace, ErrorAnswer, Purpose, Question};
use noisewright::run::CancelToken;
use noisewright::{Loss, Model, Noise, Points, Population, Precision, Target};
use noisewright_report::Value;
use serde::Deserialize;

use crate::{Failure, Outcome, Request, value, wrong_words};

/// Where a model is true and how accurately expectations are to be taken there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct QuestionSettings {
    /// The parameters.
    pub parameters: Vec<f64>,
    /// Expectations are averages over the data.
    pub on_data: bool,
    /// log Z at the parameters, where the caller knows it.
    pub log_normalizer: Option<f64>,
    /// The relative accuracy of integrals.
    pub accuracy: f64,
    /// Draws where expectations are averages over draws.
    pub draws: usize,
    /// The seed of those.
    pub seed: u64,
}

impl QuestionSettings {
    /// The problem that they ask about.
    #[must_use]
    pub fn problem(self, model: Model, data: Option<Points>) -> Problem {
        let precision =
            Precision { relative: self.accuracy, draws: self.draws, seed: self.seed, ..Precision::default() };
        Problem {
            model,
            parameters: self.parameters,
            data,
            log_normalizer: self.log_normalizer,
            on_data: self.on_data,
            precision,
        }
    }
}

/// A design whose error is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSettings {
    /// Noise points per data point.
    pub nu: f64,
    /// The loss by its name.
    pub loss: String,
    /// The ratio inside the loss.
    pub loss_ratio: Option<f64>,
    /// The error that is asked for.
    pub target: String,
}

/// What is to be designed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesignSettings {
    /// Noise points per data point; free where there is none.
    pub nu: Option<f64>,
    /// The error that is to be small.
    pub target: String,
    /// The price of a data point.
    pub price_data: f64,
    /// The price of a noise point.
    pub price_noise: f64,
    /// The efficiency that is asked for.
    pub efficiency: Option<f64>,
}

/// A model, where it is true, and what is known about it there.
pub struct Problem {
    /// The model.
    pub model: Model,
    /// The parameters at which it is true.
    pub parameters: Vec<f64>,
    /// The data, where there are any.
    pub data: Option<Points>,
    /// log Z at the parameters, where the caller knows it.
    pub log_normalizer: Option<f64>,
    /// Expectations are averages over the data.
    pub on_data: bool,
    /// How accurately.
    pub precision: Precision,
}

impl Problem {
    /// The same for one computation, which ends with its token.
    #[must_use]
    pub fn for_run(mut self, model: Model, cancel: &CancelToken) -> Self {
        self.precision.cancel = cancel.clone();
        Self { model, ..self }
    }

    /// As the library takes it.
    #[must_use]
    pub fn question(&self) -> internal::design::Problem<'_> {
        internal::design::Problem {
            model: &self.model,
            parameters: &self.parameters,
            data: self.data.as_ref(),
            weights: None,
            on_data: self.on_data,
            log_normalizer: self.log_normalizer,
            precision: self.precision.clone(),
        }
    }

    /// The asymptotic error of a design, with the noise that it was asked for.
    ///
    /// # Errors
    /// Those of the library, and data beside a noise that needs none.
    pub fn error(&self, request: &Request, settings: &ErrorSettings) -> Outcome<(Value, Arc<dyn Noise>)> {
        let nu = settings.nu;
        let plain: Loss = settings.loss.parse()?;
        let loss =
            settings.loss_ratio.map_or_else(|| Ok(plain.clone()), |ratio| plain.with_ratio(ratio, nu))?;
        let ratio = settings.loss_ratio.or_else(|| plain.is_js().then_some(nu));
        if self.data.is_some() && !self.on_data && !request.parse()?.is_fitted() {
            let sentence =
                "`data` has no meaning beside a noise that has all its numbers: leave out one of the two";
            return Err(Failure::Input(sentence.into()));
        }
        let target = Target::parse(&settings.target);
        let noise = request.build(self, Purpose { nu, target: &target })?;
        let contrast = Contrast { noise: noise.as_ref(), nu, loss: &loss };
        let answer = self.question().error(contrast, &target)?;
        let curve = answer.curve(&loss, &target)?;
        let ErrorAnswer { report, divergences, infinite, population, .. } = answer;
        let errors = divergences.as_ref().map(|d| d.normalizer_errors(nu));
        let mut shown = value(&report)?;
        shown.set("infinite", infinite);
        shown.set("divergences", value(&divergences)?);
        shown.set("normalizer_errors", value(&errors)?);
        shown.set("nu", nu);
        shown.set("loss", loss.to_string());
        shown.set("loss_ratio", ratio);
        shown.set("target", target.to_string());
        shown.set("parameters", self.values());
        shown.set("curve", value(&curve)?);
        shown.set("grid", self.grid(&population, noise.as_ref(), nu)?);
        Ok((shown, noise))
    }

    /// The best noise and proportion; `model_file` is the text that is kept with a noise that can be read back.
    ///
    /// # Errors
    /// Those of the library's call that it makes.
    pub fn design(
        &self,
        request: &Request,
        settings: &DesignSettings,
        model_file: Option<&str>,
    ) -> Outcome<(Value, Arc<dyn Noise>)> {
        let question = Question {
            problem: self.question(),
            files: &|path| request.file(path),
            target: Target::parse(&settings.target),
            ratio: settings.nu.map_or(Ratio::Free, Ratio::Fixed),
            prices: Prices { data: settings.price_data, noise: settings.price_noise },
            efficiency: settings.efficiency,
        };
        let answer = question.answer(&DesignSpace::parse(&request.words).map_err(wrong_words)?)?;
        let mut shown = value(&answer)?;
        shown.set("kind", answer.kind.name());
        shown.set("details", value(&answer.kind)?);
        shown.set("grid", self.grid(&answer.population, answer.noise.as_ref(), answer.nu)?);
        shown.set("record", model_file.and_then(|text| record(&question, &answer, text)));
        shown.set("target", question.target.to_string());
        shown.set("price_data", question.prices.data);
        shown.set("price_noise", question.prices.noise);
        shown.set("parameters", self.values());
        Ok((shown, answer.noise))
    }

    /// The parameter values by name.
    fn values(&self) -> Value {
        let names = self.model.parameters().iter().zip(&self.parameters);
        Value::Map(names.map(|(p, v)| (p.name.clone(), Value::Number(*v))).collect())
    }

    /// Densities of data and noise and the weight between them, where there is one continuous variable.
    fn grid(&self, population: &Population, noise: &dyn Noise, nu: f64) -> Outcome<Value> {
        value(&self.question().densities(population, noise, nu))
    }
}

/// The noise as text, where the model has a file that can be kept with it and it can be read back.
fn record(question: &Question<'_>, answer: &Answer, text: &str) -> Option<String> {
    let record = question.record(answer, text).ok().filter(|record| record.noise().is_ok())?;
    serde_json::to_string(&record).ok()
}
