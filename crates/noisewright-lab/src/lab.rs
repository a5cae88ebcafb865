//! The lab: it takes questions, and gives the library's answers.

use std::sync::Arc;

use noisewright::design::Design;
use noisewright::run::CancelToken;
use noisewright_report::Value;

use crate::data::Files;
use crate::lanes::{Lane, Lanes, Load, Ticket};
use crate::question::Question;
use crate::stage::{Kept, Stage};
use crate::{DataFile, Mistake, fitted, look, simulated};

/// Models at parameters that are kept.
const STAGES: usize = 4;
/// Optima that are kept: one for every place of a slider that was visited lately.
const OPTIMA: usize = 64;

/// A model, and perhaps data, that a page can begin with.
#[derive(Clone)]
pub struct Example {
    /// Its name.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// The model file.
    pub model: String,
    /// A data file.
    pub data: Option<DataFile>,
}

/// What the page begins with.
#[derive(Clone, Default)]
pub struct Started {
    /// The model file: its name as it was typed, and its text.
    pub model: Option<(String, String)>,
    /// The data file.
    pub data: Option<DataFile>,
    /// The noise in words.
    pub noise: Option<String>,
    /// Noise points per data point.
    pub nu: Option<f64>,
    /// Where the model is true, by name.
    pub at: Vec<(String, f64)>,
    /// What can be chosen.
    pub examples: Vec<Example>,
}

/// Answers to questions about models and noises. See the [crate's page](crate).
pub struct Lab {
    started: Value,
    files: Files,
    lanes: Arc<Lanes>,
    stages: Kept<Stage>,
    optima: Kept<Design>,
    overviews: Kept<Value>,
}

impl Default for Lab {
    fn default() -> Self {
        Self::new(Started::default())
    }
}

impl Lab {
    /// A lab with what its page begins with.
    #[must_use]
    pub fn new(started: Started) -> Self {
        let mut files = Files::default();
        let started = described(started, &mut files);
        Self {
            started,
            files,
            lanes: Arc::default(),
            stages: Kept::new(STAGES),
            optima: Kept::new(OPTIMA),
            overviews: Kept::new(STAGES),
        }
    }

    /// Takes a question in: an older one of the same page and kind is cancelled. Kinds are `start`, `model`, `look`,
    /// `overview`, `fit` and `simulate`.
    ///
    /// # Errors
    /// When there is no such kind, or too many questions wait.
    pub fn enter(&self, page: &str, kind: &str) -> Result<(Kind, Ticket), Mistake> {
        let kind = Kind::named(kind)?;
        Ok((kind, self.lanes.enter(page, kind.name())?))
    }

    /// The answer to a question that was taken in, as JSON; it is computed when its turn comes.
    ///
    /// # Errors
    /// What is wrong with the question, or that a newer one came.
    pub fn answer(&self, kind: Kind, ticket: &Ticket, question: &str) -> Result<String, Mistake> {
        let lane = match kind {
            Kind::Start | Kind::Model | Kind::Look => Lane::Quick,
            Kind::Overview | Kind::Fit | Kind::Simulate => Lane::Slow,
        };
        let answer = ticket.run(lane, |cancel| match kind {
            Kind::Start => Ok(self.started.clone()),
            _ => self.computed(kind, &Question::parse(question)?, cancel),
        })?;
        Ok(answer.to_json())
    }

    /// Takes a question in and answers it.
    ///
    /// # Errors
    /// As for [`enter`](Self::enter) and [`answer`](Self::answer).
    pub fn ask(&self, page: &str, kind: &str, question: &str) -> Result<String, Mistake> {
        let (kind, ticket) = self.enter(page, kind)?;
        self.answer(kind, &ticket, question)
    }

    /// Keeps a data file; questions name it by the number given back.
    pub fn add_data(&self, file: DataFile) -> usize {
        self.files.add(file)
    }

    /// How much is being computed.
    #[must_use]
    pub fn load(&self) -> Load {
        self.lanes.load()
    }

    /// Ends all computations.
    pub fn cancel_all(&self) {
        self.lanes.cancel_all();
    }

    fn computed(&self, kind: Kind, question: &Question, cancel: &CancelToken) -> Result<Value, Mistake> {
        if kind == Kind::Fit {
            let number =
                question.data.ok_or_else(|| Mistake::data("there are no data: give a file first"))?;
            return fitted::answer(question, &self.files.get(number)?, cancel);
        }
        let stage = self.stages.get(question.place(), || Stage::new(question, cancel))?;
        match kind {
            Kind::Look => self.look(question, &stage, cancel),
            Kind::Overview => {
                let made = self.overviews.get(question.aim(), || look::overview(question, &stage, cancel))?;
                Ok(Value::clone(&made))
            }
            Kind::Simulate => simulated::answer(question, &stage, cancel),
            _ => look::model(&stage),
        }
    }

    /// The error of the noise and the best noise at the same ν: where one has no answer, the other may.
    fn look(&self, question: &Question, stage: &Arc<Stage>, cancel: &CancelToken) -> Result<Value, Mistake> {
        let error = look::error(question, stage, cancel);
        cancel.check()?;
        let key = format!("{}\u{0}{}", question.aim(), question.nu);
        let optimum = match self.optima.find(&key) {
            None if question.quick => Ok(Value::Null),
            _ => {
                let design = self.optima.get(key, || look::optimum(question, stage, cancel));
                design.and_then(|design| look::optimum_value(&design, stage))
            }
        };
        cancel.check()?;
        Ok(Value::Map(vec![("error".into(), or_mistake(error)?), ("optimum".into(), or_mistake(optimum)?)]))
    }
}

/// An answer, or in its place what is wrong.
fn or_mistake(answer: Result<Value, Mistake>) -> Result<Value, Mistake> {
    answer.or_else(|mistake| Ok(Value::Map(vec![("mistake".into(), look::value(&mistake)?)])))
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// What the page begins with.
    Start,
    /// What the model is.
    Model,
    /// The error and the best noise.
    Look,
    /// The best ν, and the curve over it.
    Overview,
    /// A fit to data.
    Fit,
    /// Data sets drawn and fitted.
    Simulate,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Start, Self::Model, Self::Look, Self::Overview, Self::Fit, Self::Simulate];

    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Model => "model",
            Self::Look => "look",
            Self::Overview => "overview",
            Self::Fit => "fit",
            Self::Simulate => "simulate",
        }
    }

    fn named(name: &str) -> Result<Self, Mistake> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| Mistake::new("the lab has no such question"))
    }
}

/// What the page begins with, its files kept.
fn described(started: Started, files: &mut Files) -> Value {
    let mut file = |file: DataFile| {
        let name = file.name.clone();
        Value::Map(vec![("name".into(), name.into()), ("number".into(), files.add_first(file).into())])
    };
    let text = |(name, text): (String, String)| {
        Value::Map(vec![("name".into(), name.into()), ("text".into(), text.into())])
    };
    let data: Value = started.data.map(&mut file).into();
    let example = |example: Example| {
        Value::Map(vec![
            ("name".into(), example.name.into()),
            ("about".into(), example.about.into()),
            ("model".into(), example.model.into()),
            ("data".into(), example.data.map(&mut file).into()),
        ])
    };
    Value::Map(vec![
        ("version".into(), env!("CARGO_PKG_VERSION").into()),
        ("model".into(), started.model.map(text).into()),
        ("data".into(), data),
        ("noise".into(), started.noise.into()),
        ("nu".into(), started.nu.into()),
        ("at".into(), Value::Map(started.at.into_iter().map(|(name, value)| (name, value.into())).collect())),
        ("examples".into(), Value::List(started.examples.into_iter().map(example).collect())),
    ])
}
