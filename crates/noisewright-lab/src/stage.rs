//! A model where it is true, with what its pictures stand on: made once, and kept while the noise moves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use noisewright::internal::design::{Grid, Problem};
use noisewright::parts::{ModelNoise, Shape};
use noisewright::run::CancelToken;
use noisewright::{Model, Noise, Population, Precision};
use noisewright_report::Value;

use crate::Mistake;
use crate::lanes::locked;
use crate::question::Question;

/// A model at parameters, its population, and the grid of its pictures.
pub(crate) struct Stage {
    pub(crate) model: Model,
    pub(crate) parameters: Vec<f64>,
    pub(crate) population: Population,
    pub(crate) grid: Option<Grid>,
    /// The density of the data on the grid.
    pub(crate) density: Vec<f64>,
}

impl Stage {
    pub(crate) fn new(question: &Question, cancel: &CancelToken) -> Result<Self, Mistake> {
        let model = question.model()?;
        let parameters = question.parameters(&model)?;
        let precision = precision(question, cancel);
        let population = Population::new(&model, &parameters, &precision)?;
        let problem = Problem::new(&model, &parameters);
        let grid = problem.grid(&population);
        let density =
            grid.as_ref().and_then(|grid| problem.data_density(&population, grid)).unwrap_or_default();
        Ok(Self { model, parameters, population, grid, density })
    }

    /// As the library takes it.
    pub(crate) fn problem(&self, precision: Precision) -> Problem<'_> {
        Problem { precision, ..Problem::new(&self.model, &self.parameters) }
    }

    /// The model itself as a noise, to be drawn from.
    pub(crate) fn data_noise(&self) -> Result<ModelNoise, Mistake> {
        Ok(ModelNoise::on(&self.population, &self.model, &self.parameters, Shape::Data)?)
    }

    /// The places of the grid, and values on them.
    pub(crate) fn on_grid(&self, values: Vec<(&str, Vec<f64>)>) -> Value {
        let Some(grid) = &self.grid else { return Value::Null };
        let mut fields =
            vec![("x".to_owned(), numbers(&grid.x)), ("listed".to_owned(), grid.is_listed.into())];
        if let Some(y) = &grid.y {
            fields.push(("y".to_owned(), numbers(y)));
        }
        fields.extend(values.into_iter().map(|(name, values)| (name.to_owned(), numbers(&values))));
        Value::Map(fields)
    }

    /// The density of a noise on the grid.
    pub(crate) fn noise_density(&self, noise: &dyn Noise) -> Vec<f64> {
        self.grid.as_ref().map_or_else(Vec::new, |grid| grid.noise_density(noise))
    }
}

/// Numbers with the digits that a picture can show: a plane has thousands of them.
fn numbers(values: &[f64]) -> Value {
    let rounded = |value: &f64| {
        if !value.is_finite() || *value == 0.0 {
            return *value;
        }
        format!("{value:.6e}").parse().unwrap_or(*value)
    };
    Value::Numbers(values.iter().map(rounded).collect())
}

/// The command's accuracy, with a token.
pub(crate) fn precision(question: &Question, cancel: &CancelToken) -> Precision {
    Precision { seed: question.seed, cancel: cancel.clone(), ..Precision::default() }
}

/// The last few things that were made, by what they depend on.
pub(crate) struct Kept<T> {
    most: usize,
    made: Mutex<VecDeque<(String, Arc<T>)>>,
}

impl<T> Kept<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, made: Mutex::default() }
    }

    /// What was made for this key.
    pub(crate) fn find(&self, key: &str) -> Option<Arc<T>> {
        locked(&self.made).iter().find(|(own, _)| own == key).map(|(_, found)| Arc::clone(found))
    }

    /// What was made for this key, or is now.
    pub(crate) fn get(
        &self,
        key: String,
        make: impl FnOnce() -> Result<T, Mistake>,
    ) -> Result<Arc<T>, Mistake> {
        if let Some(found) = self.find(&key) {
            return Ok(found);
        }
        let new = Arc::new(make()?);
        let mut made = locked(&self.made);
        made.push_front((key, Arc::clone(&new)));
        made.truncate(self.most);
        Ok(new)
    }
}
