//! A designed noise as plain data, to be saved and read back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::noise::{ModelNoise, ShapeRecord};
use crate::{
    Call, DesignFault, Error, Histogram1d, Histogram2d, Model, Noise, NoiseContext, NoiseWords, Points,
    Population, Precision, Result,
};

/// The format that this version writes.
const FORMAT: &str = "noisewright-design/1";

/// A saved noise: the model it belongs to, where, and what it is there.
///
/// ```
/// use noisewright::{design::Record, View};
/// let text = "variables = ['x']\nlog_density = '-a*x^2'\n[parameters]\na = 1";
/// let record = Record::of_words(text, &[1.0], "normal(0, 2)")?;
/// let mut density = [0.0];
/// record.noise()?.log_density(View::new(1, 1, &[0.0]), &mut density);
/// assert!((density[0] + 0.5 * (4.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Record {
    /// Name and version of the format.
    pub format: String,
    /// Names of the variables.
    pub variables: Vec<String>,
    /// The model file.
    pub model: String,
    /// The parameters' values.
    pub parameters: Vec<f64>,
    /// What the noise is: a shape on the model, or words.
    pub noise: NoiseRecord,
    /// The sample it was designed on, column by column, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleRecord>,
}

/// What a saved noise is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NoiseRecord {
    /// A noise in words.
    Words {
        /// The words.
        words: String,
    },
    /// A histogram in one or two variables.
    Histogram {
        /// Edges of the bins along each variable.
        edges: Vec<Vec<f64>>,
        /// Probability of each bin, the last variable's bins running fastest.
        probabilities: Vec<f64>,
    },
    /// A shape on the model.
    Shape(ShapeRecord),
}

/// The sample that a noise was designed on, from which it is drawn by resampling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// log Z of the model.
    pub log_normalizer: f64,
    /// The columns.
    pub columns: Vec<Vec<f64>>,
}

impl Record {
    /// Of a noise that has the given words on the model of a model file.
    ///
    /// # Errors
    /// When the model file cannot be read.
    pub fn of_words(model_file: &str, parameters: &[f64], words: &str) -> Result<Self> {
        Self::new(model_file, parameters, NoiseRecord::Words { words: words.into() }, None)
    }

    /// Of a noise with a shape on the model of a model file; `sample` for one that was designed on a sample.
    ///
    /// # Errors
    /// When the model file cannot be read.
    pub fn of_shape(model_file: &str, noise: &ModelNoise, sample: Option<&Population>) -> Result<Self> {
        let sample = sample.map(|population| SampleRecord {
            log_normalizer: population.log_normalizer(),
            columns: (0..population.points().columns())
                .map(|j| population.points().view().column(j).to_vec())
                .collect(),
        });
        Self::new(model_file, noise.parameters(), NoiseRecord::Shape(noise.shape().into()), sample)
    }

    /// Of a histogram.
    ///
    /// # Errors
    /// When the model file cannot be read.
    pub fn of_histogram(
        model_file: &str,
        parameters: &[f64],
        edges: Vec<Vec<f64>>,
        probabilities: &[f64],
    ) -> Result<Self> {
        let noise = NoiseRecord::Histogram { edges, probabilities: probabilities.to_vec() };
        Self::new(model_file, parameters, noise, None)
    }

    fn new(
        model_file: &str,
        parameters: &[f64],
        noise: NoiseRecord,
        sample: Option<SampleRecord>,
    ) -> Result<Self> {
        let model = Model::from_toml(model_file)?;
        Ok(Self {
            format: FORMAT.into(),
            variables: model.space().names().to_vec(),
            model: model_file.into(),
            parameters: parameters.to_vec(),
            noise,
            sample,
        })
    }

    /// The noise.
    ///
    /// # Errors
    /// When the format is another, or the parts do not belong together.
    pub fn noise(&self) -> Result<Arc<dyn Noise>> {
        if self.format != FORMAT {
            let found = self.format.clone();
            return Err(Error::Design(DesignFault::Format { found, expected: FORMAT }));
        }
        let model = Model::from_toml(&self.model)?;
        model.check(&self.parameters)?;
        match &self.noise {
            NoiseRecord::Words { words } => {
                let parsed = NoiseWords::parse(words).map_err(|error| error.in_text(words))?;
                let designed = |call: &Call| self.of_model(&model, call);
                parsed.build(&NoiseContext { designed: Some(&designed), ..NoiseContext::new(model.space()) })
            }
            NoiseRecord::Histogram { edges, probabilities } => match edges.as_slice() {
                [only] => Ok(Arc::new(Histogram1d::new(only, probabilities)?)),
                [first, second] => Ok(Arc::new(Histogram2d::new(first, second, probabilities)?)),
                _ => Err(Error::Shape { what: "lists of edges", expected: 2, found: edges.len() }),
            },
            NoiseRecord::Shape(shape) => {
                let shape = shape.shape(model.coordinates().len())?;
                let population = self.population(&model)?;
                Ok(Arc::new(ModelNoise::on(&population, &model, &self.parameters, shape)?))
            }
        }
    }

    /// `data` and `model(a=1, …)` among the words.
    fn of_model(&self, model: &Model, call: &Call) -> Option<Result<Arc<dyn Noise>>> {
        if !matches!(call.name.as_str(), "data" | "model") {
            return None;
        }
        let made = call.parameters_of(model, &self.parameters).and_then(|parameters| {
            let noise = ModelNoise::data(model, &parameters, &Precision::default())?;
            Ok(Arc::new(noise) as Arc<dyn Noise>)
        });
        Some(made)
    }

    /// The population that the shape stands on, as it was.
    fn population(&self, model: &Model) -> Result<Population> {
        if let Some(sample) = &self.sample {
            let points = Points::from_columns(model.space().names(), &sample.columns)?;
            return Population::from_sample(model, &self.parameters, sample.log_normalizer, &points);
        }
        Population::new(model, &self.parameters, &Precision::default())
    }
}
