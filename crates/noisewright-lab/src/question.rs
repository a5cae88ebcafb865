//! A question as a page asks it: the command's options under the command's names.

use noisewright::design::Prices;
use noisewright::{Error, Loss, Model, Target};
use serde::Deserialize;

use crate::Mistake;

/// Longest model file, in bytes.
const LONGEST_MODEL: usize = 1 << 16;
/// Longest noise in words, in bytes.
const LONGEST_NOISE: usize = 1 << 14;
/// Most variables and parameters together: a page shows no more, and the command has no such limit.
const MOST_UNKNOWNS: usize = 200;

/// What is asked; what a kind of question does not need is left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Question {
    /// The text of the model file.
    pub(crate) model: String,
    /// Where it is true, by name; the file's start values elsewhere.
    pub(crate) at: Vec<(String, f64)>,
    pub(crate) noise: String,
    pub(crate) nu: f64,
    pub(crate) loss: String,
    /// M, where it is not ν.
    pub(crate) loss_ratio: Option<f64>,
    pub(crate) target: String,
    pub(crate) price_data: f64,
    pub(crate) price_noise: f64,
    pub(crate) seed: u64,
    /// The number of a data file.
    pub(crate) data: Option<usize>,
    /// Points of a simulated data set and its noise together.
    pub(crate) budget: usize,
    /// Whether only what follows the hand is asked for: neither the error at every other ν, nor an optimum that is not known
    /// yet, both of which take longer than the rest on a plane.
    pub(crate) quick: bool,
    /// The first data set of a simulation, and how many.
    pub(crate) first: u64,
    pub(crate) count: usize,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            model: String::new(),
            at: Vec::new(),
            noise: "auto".into(),
            nu: 1.0,
            loss: "js".into(),
            loss_ratio: None,
            target: "mse".into(),
            price_data: 1.0,
            price_noise: 1.0,
            seed: 0,
            data: None,
            budget: 1000,
            quick: false,
            first: 0,
            count: 1,
        }
    }
}

impl Question {
    pub(crate) fn parse(text: &str) -> Result<Self, Mistake> {
        let question: Self = serde_json::from_str(text)
            .map_err(|error| Mistake::new(format!("the question cannot be read: {error}")))?;
        if question.model.len() > LONGEST_MODEL || question.noise.len() > LONGEST_NOISE {
            return Err(Mistake::new(format!(
                "the lab takes model files up to {LONGEST_MODEL} bytes and noises up to {LONGEST_NOISE}: use the command \
                 for longer ones"
            )));
        }
        Ok(question)
    }

    /// The model that the text says.
    pub(crate) fn model(&self) -> Result<Model, Mistake> {
        let model = Model::from_toml(&self.model).map_err(|error| Mistake::in_model(&error, &self.model))?;
        if model.space().dimension() + model.parameters().len() > MOST_UNKNOWNS {
            return Err(Mistake::new(format!(
                "the lab shows models of up to {MOST_UNKNOWNS} variables and parameters together: use the command for larger ones"
            )));
        }
        Ok(model)
    }

    /// Where the model is true.
    pub(crate) fn parameters(&self, model: &Model) -> Result<Vec<f64>, Mistake> {
        let values = model.at(&self.at)?;
        model.check(&values)?;
        Ok(values)
    }

    /// The loss, with M where it is given.
    pub(crate) fn loss(&self) -> Result<Loss, Error> {
        let loss: Loss = self.loss.parse()?;
        self.loss_ratio.map_or_else(|| Ok(loss.clone()), |ratio| loss.with_ratio(ratio, self.nu))
    }

    pub(crate) fn target(&self) -> Target {
        Target::parse(&self.target)
    }

    pub(crate) fn prices(&self) -> Prices {
        Prices { data: self.price_data, noise: self.price_noise }
    }

    /// What a population depends on, to find it again.
    pub(crate) fn place(&self) -> String {
        format!("{}\u{0}{:?}\u{0}{}", self.model, self.at, self.seed)
    }

    /// What an optimum depends on beside that.
    pub(crate) fn aim(&self) -> String {
        format!("{}\u{0}{}\u{0}{}\u{0}{}", self.place(), self.target, self.price_data, self.price_noise)
    }
}
