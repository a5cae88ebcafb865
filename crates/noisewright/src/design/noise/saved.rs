//! A noise from a model as plain data, and back.

use std::sync::{Arc, OnceLock};

use super::{ModelNoise, Plan, ShapeRecord};
use crate::noise::bits;
use crate::{DesignFault, Error, Landmarks, Model, Points, Result};

impl ModelNoise {
    /// A noise that was saved, on the model that it was made from.
    pub(crate) fn from_saved(model: &Model, saved: &SavedModelNoise) -> Result<Self> {
        model.check(&saved.parameters)?;
        let dimension = model.space().dimension();
        if saved.landmarks.len() != dimension || saved.mean_score.len() != saved.parameters.len() {
            return Err(Error::Design(DesignFault::OtherModel));
        }
        Ok(Self {
            model: model.clone(),
            parameters: saved.parameters.clone(),
            log_normalizer: saved.log_normalizer,
            mean_score: saved.mean_score.clone(),
            shape: saved.shape.shape(model.coordinates().len())?,
            landmarks: saved
                .landmarks
                .iter()
                .map(|(breaks, centers)| Landmarks { breaks: breaks.clone(), centers: centers.clone() })
                .collect(),
            plan: saved.plan.plan(dimension),
            sampler: Arc::new(OnceLock::new()),
            quantile: Arc::new(OnceLock::new()),
        })
    }
}

impl From<&ModelNoise> for SavedModelNoise {
    fn from(noise: &ModelNoise) -> Self {
        Self {
            parameters: noise.parameters.clone(),
            log_normalizer: noise.log_normalizer,
            mean_score: noise.mean_score.clone(),
            shape: (&noise.shape).into(),
            landmarks: noise.landmarks.iter().map(|l| (l.breaks.clone(), l.centers.clone())).collect(),
            plan: (&noise.plan).into(),
        }
    }
}

/// Breaks, and centers with their scales.
type BreaksAndCenters = (Vec<f64>, Vec<(f64, f64)>);

/// A noise from a model as plain data, without the model.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SavedModelNoise {
    parameters: Vec<f64>,
    log_normalizer: f64,
    mean_score: Vec<f64>,
    shape: ShapeRecord,
    /// Breaks and centers along each variable.
    landmarks: Vec<BreaksAndCenters>,
    plan: SavedPlan,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SavedPlan {
    Boxes {
        lower: Vec<f64>,
        upper: Vec<f64>,
        peak: Vec<f64>,
    },
    Points {
        values: Vec<f64>,
        #[serde(with = "bits")]
        log_weights: Vec<f64>,
    },
}

impl From<&Plan> for SavedPlan {
    fn from(plan: &Plan) -> Self {
        match plan.clone() {
            Plan::Boxes { lower, upper, peak } => Self::Boxes { lower, upper, peak },
            Plan::Points { points, log_weights } => {
                Self::Points { values: points.values().to_vec(), log_weights: log_weights.to_vec() }
            }
        }
    }
}

impl SavedPlan {
    fn plan(&self, dimension: usize) -> Plan {
        match self.clone() {
            Self::Boxes { lower, upper, peak } => Plan::Boxes { lower, upper, peak },
            Self::Points { values, log_weights } => Plan::Points {
                points: Arc::new(Points::unnamed(dimension, log_weights.len(), values)),
                log_weights: Arc::new(log_weights),
            },
        }
    }
}
