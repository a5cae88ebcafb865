//! What is left of a fit: the texts that are kept, and the densities and draws that come from them.

use noisewright::after::FitRecord;
use noisewright::internal::after::RecordHeader;
use noisewright::parts::{JointEstimate, LogDensity};
use noisewright::run::Context;
use noisewright::{Fit, Model, Points, View};
use noisewright_report::Value;
use serde::{Deserialize, Serialize};

use crate::{Failure, Outcome, value};

/// The texts that [`SavedFit`] is made from again: the estimates of a ratio, or all that is kept of a fit.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Kept {
    /// The estimates alone,
    pub joint: Option<String>,
    /// or the whole record.
    pub record: Option<String>,
}

impl Kept {
    /// What is kept of a fit; neither where it has no answer.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn of(fit: &Fit, model_file: Option<&str>) -> Outcome<Self> {
        let broken = |error: serde_json::Error| Failure::Broken(error.to_string());
        if let Ok(record) = fit.record(model_file) {
            let record = serde_json::to_string(&record).map_err(broken)?;
            return Ok(Self { joint: None, record: Some(record) });
        }
        let joint = fit.joint();
        let known = fit.diagnostics.no_answer().is_none() && joint.check().is_ok();
        let joint = known.then(|| serde_json::to_string(&joint)).transpose().map_err(broken)?;
        Ok(Self { joint, record: None })
    }
}

/// The numbers that are left of a fit.
#[derive(Clone)]
pub struct SavedFit {
    /// The estimates and their covariance.
    pub joint: JointEstimate,
    /// All that is kept, for a fit of one model to data.
    pub record: Option<FitRecord>,
}

impl SavedFit {
    /// From the texts.
    ///
    /// # Errors
    /// Texts that are no saved fit.
    pub fn read(joint: Option<&str>, record: Option<&str>) -> Outcome<Self> {
        let wrong = |error: serde_json::Error| Failure::Input(format!("this is no saved fit: {error}"));
        if let Some(text) = record {
            serde_json::from_str::<RecordHeader>(text).map_err(wrong)?.check()?;
            let record: FitRecord = serde_json::from_str(text).map_err(wrong)?;
            record.check()?;
            return Ok(Self { joint: record.joint.clone(), record: Some(record) });
        }
        let joint: JointEstimate = serde_json::from_str(joint.unwrap_or("null")).map_err(wrong)?;
        joint.check()?;
        Ok(Self { joint, record: None })
    }

    /// The record of a fit of one model to data.
    ///
    /// # Errors
    /// When the text is not such a record.
    pub fn record(&self) -> Outcome<&FitRecord> {
        self.record.as_ref().ok_or_else(|| Failure::Input("this is not a fit of one model to data".into()))
    }

    /// The log-density, or the log ratio, at points, with its errors.
    ///
    /// # Errors
    /// Those of the library's call that it makes.
    pub fn log_density(&self, model: &Model, points: View<'_>) -> Outcome<Value> {
        let there = match &self.record {
            Some(record) => record.log_density(model.whole(), points)?,
            None => self.joint.log_density(model.whole(), points)?,
        };
        value(&at_points(&there))
    }

    /// Draws of the fitted model, one row each.
    ///
    /// # Errors
    /// Those of the library's call that it makes.
    pub fn simulate(&self, model: &Model, count: usize, context: &Context) -> Outcome<Value> {
        let drawn = self.record()?.simulate(model.whole(), count, context)?;
        Ok(points_by_row(&drawn.points))
    }
}

/// A log-density at many points, column by column.
#[derive(Serialize)]
pub struct AtPoints {
    log_density: Vec<f64>,
    se: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// Log-densities with their errors as columns.
#[must_use]
pub fn at_points(there: &[LogDensity]) -> AtPoints {
    let column = |part: fn(&LogDensity) -> f64| there.iter().map(part).collect();
    AtPoints {
        log_density: column(|at| at.value),
        se: column(|at| at.se),
        lower: column(|at| at.lower),
        upper: column(|at| at.upper),
    }
}

/// Points as a matrix of one row each.
#[must_use]
pub fn points_by_row(points: &Points) -> Value {
    let (view, columns) = (points.view(), points.columns());
    let values = (0..view.rows()).flat_map(|i| (0..columns).map(move |j| view.get(i, j))).collect();
    Value::Matrix { columns, values }
}
