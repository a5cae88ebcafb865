//! A log-density that is a function of R: its values are asked of R's thread, in large batches.

use std::sync::mpsc::{Sender, channel};

use noisewright::{Energy, Error, Model, Parameter, Result, Space, View};
use noisewright_bindings::{DomainWords, Outcome, space};
use serde::Deserialize;

use crate::job::{Call, Desk, Message};

/// What R says of the function.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FunctionRequest {
    variables: Vec<String>,
    domains: Vec<DomainWords>,
    parameters: Vec<String>,
    start: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// There is a function for the score too.
    score: bool,
    /// The function integrates to one.
    normalized: bool,
}

impl FunctionRequest {
    pub(crate) fn model(&self, desk: &Desk) -> Outcome<Model> {
        let space = space(&self.variables, &self.domains)?;
        let bounds = self.start.iter().zip(&self.lower).zip(&self.upper);
        let parameters = self.parameters.iter().zip(bounds).map(|(name, ((start, lower), upper))| {
            Parameter::new(name.clone(), *start).bounded(*lower, *upper)
        });
        let parameters: Vec<Parameter> = parameters.collect();
        let model = Model::new(RFunction::new(self, &space, desk)?, space, parameters)?;
        Ok(if self.normalized { model.normalized()? } else { model })
    }
}

/// The function, as the library calls it.
struct RFunction {
    names: Vec<String>,
    dimension: usize,
    normalized: bool,
    line: Line,
    /// The same function with the library's differences, where R gives no score.
    by_differences: Option<Model>,
}

impl RFunction {
    fn new(request: &FunctionRequest, space: &Space, desk: &Desk) -> Result<Self> {
        let line = Line(desk.messages.clone());
        let own = Line(desk.messages.clone());
        let log_density =
            move |theta: &[f64], points: View<'_>, out: &mut [f64]| own.ask(false, theta, points, out);
        let differences = !request.score && !request.parameters.is_empty();
        let by_differences = differences
            .then(|| Model::from_batch_fn(&request.parameters, space.clone(), log_density))
            .transpose()?;
        Ok(Self {
            names: request.parameters.clone(),
            dimension: request.variables.len(),
            normalized: request.normalized,
            line,
            by_differences,
        })
    }
}

/// The way to R's thread.
struct Line(Sender<Message>);

impl Line {
    fn ask(&self, score: bool, parameters: &[f64], points: View<'_>, out: &mut [f64]) -> Result<()> {
        let (reply, values) = channel();
        let mut columns = Vec::with_capacity(points.columns() * points.rows());
        (0..points.columns()).for_each(|j| columns.extend_from_slice(points.column(j)));
        let call =
            Call { score, parameters: parameters.to_vec(), points: columns, rows: points.rows(), reply };
        let sent = self.0.send(Message::Call(call));
        // R's thread does not wait any more: an interrupt, or an error in the function.
        let values = sent
            .ok()
            .and_then(|()| values.recv().ok())
            .ok_or_else(|| Error::external(std::io::Error::other("the function of R was interrupted")))?;
        if values.len() != out.len() {
            return Err(Error::Shape {
                what: "values of the function",
                expected: out.len(),
                found: values.len(),
            });
        }
        out.copy_from_slice(&values);
        Ok(())
    }
}

impl Energy for RFunction {
    fn parameters(&self) -> Vec<String> {
        self.names.clone()
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn evaluate(
        &self,
        parameters: &[f64],
        points: View<'_>,
        value: &mut [f64],
        score: Option<&mut [f64]>,
    ) -> Result<()> {
        match (score, &self.by_differences) {
            (Some(score), Some(model)) => model.energy().evaluate(parameters, points, value, Some(score)),
            (score, _) => {
                self.line.ask(false, parameters, points, value)?;
                match score.filter(|_| !self.names.is_empty()) {
                    Some(score) => self.line.ask(true, parameters, points, score),
                    None => Ok(()),
                }
            }
        }
    }

    fn prefers_batches(&self) -> bool {
        true
    }

    fn log_normalizer(&self, _: &[f64], gradient: &mut [f64]) -> Option<f64> {
        gradient.fill(0.0);
        self.normalized.then_some(0.0)
    }
}
