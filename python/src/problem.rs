//! A model at a parameter value, with data where there are any: what `error` and `design` are asked about.

use noisewright::design;
use noisewright::run::CancelToken;
use noisewright::{Model, Points, Precision};

/// A model, where it is true, and what is known about it there, free of the interpreter.
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
    /// The same for one computation, which ends with its token.
    pub(crate) fn for_run(mut self, model: Model, cancel: &CancelToken) -> Self {
        self.precision.cancel = cancel.clone();
        Self { model, ..self }
    }

    /// As the library takes it.
    pub(crate) fn question(&self) -> design::Problem<'_> {
        design::Problem {
            model: &self.model,
            parameters: &self.parameters,
            data: self.data.as_ref(),
            weights: None,
            on_data: self.on_data,
            log_normalizer: self.log_normalizer,
            precision: self.precision.clone(),
        }
    }
}
