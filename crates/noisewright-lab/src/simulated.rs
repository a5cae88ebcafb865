//! Data sets drawn from the model and fitted: the spread of the estimates, to be held against the predicted error.

use noisewright::fit::{Data, DrawKind, FitOptions};
use noisewright::internal;
use noisewright::internal::run::Purpose;
use noisewright::rand::RngExt;
use noisewright::run::{CancelToken, Context};
use noisewright::{Error, try_sample};
use noisewright_report::Value;

use crate::Mistake;
use crate::fitted;
use crate::question::Question;
use crate::stage::Stage;

/// Data sets of one question, at most.
const MOST_SETS: usize = 200;
/// Points of a data set and its noise, at most.
const MOST_POINTS: usize = 200_000;

/// The estimates of some data sets, one list each; nothing where a fit gave no answer.
pub(crate) fn answer(question: &Question, stage: &Stage, cancel: &CancelToken) -> Result<Value, Mistake> {
    if question.count > MOST_SETS || question.budget > MOST_POINTS {
        return Err(Mistake::new(format!(
            "a simulation has at most {MOST_SETS} data sets at a time, of at most {MOST_POINTS} points"
        )));
    }
    let rows = (question.budget as f64 / (1.0 + question.nu)).round().max(1.0) as usize;
    let truth = stage.data_noise()?;
    // The theory is of independent noise.
    let options = FitOptions { draws: DrawKind::Random, ..fitted::options(question, cancel)? };
    let names = stage.model.parameters().iter().map(|p| p.name.as_str());
    let model =
        stage.model.clone().with_start(&names.zip(stage.parameters.iter().copied()).collect::<Vec<_>>())?;
    let mut estimates = Vec::with_capacity(question.count);
    for set in 0..question.count as u64 {
        // Every data set has a seed drawn from the question's, so that questions at neighbouring seeds share none.
        let seed = Context::seeded(question.seed).stream(Purpose::Simulate, question.first + set).random();
        let data = try_sample(&truth, rows, &Context::new(seed, cancel, None))?;
        let found = internal::fit::fit(&model, Data::from(&data), &FitOptions { seed, ..options.clone() });
        estimates.push(match found {
            Ok(fit) if fit.diagnostics.no_answer().is_none() => {
                Value::Numbers(fit.estimates().iter().map(|estimate| estimate.estimate).collect())
            }
            Err(Error::Cancelled) => return Err(Error::Cancelled.into()),
            _ => Value::Null,
        });
    }
    Ok(Value::Map(vec![("rows".into(), rows.into()), ("estimates".into(), Value::List(estimates))]))
}
