//! What a penalised fit says of its penalty.

use serde::Serialize;

use super::penalty::PenaltyKind;

/// How a strength was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StrengthRule {
    /// It was given.
    Given,
    /// The largest whose refitted selection has a held-out loss within one standard error of the smallest.
    OneStandardError,
    /// That of the smallest held-out loss.
    Minimum,
}

/// One strength of the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PathPoint {
    /// λ.
    pub strength: f64,
    /// How many parameters are not zero.
    pub selected: usize,
    /// The loss of the penalised estimates over all rows, without the penalty.
    pub loss: f64,
    /// Mean over the folds of their held-out loss.
    pub held_out: Option<f64>,
    /// Its standard error.
    pub held_out_se: Option<f64>,
    /// Mean over the folds of the held-out loss of the selected parameters fitted again without a penalty.
    pub held_out_refit: Option<f64>,
    /// Its standard error.
    pub held_out_refit_se: Option<f64>,
    /// The parameters, in the model's order.
    pub values: Vec<f64>,
}

/// The penalty of a fit: its strength, what it selected, and the path along which the strength was chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PenaltyReport {
    /// Which.
    pub kind: PenaltyKind,
    /// λ.
    pub strength: f64,
    /// How λ was chosen.
    pub rule: StrengthRule,
    /// The parameters that are not zero.
    pub selected: Vec<String>,
    /// Whether the estimates are those of a fit of the selected parameters without a penalty.
    pub refitted: bool,
    /// The folds of the cross-validation, where there was one.
    pub folds: Option<usize>,
    /// s_j, the standard deviations of the features in the data by which the parameters are measured.
    pub scales: Vec<f64>,
    /// The penalty factors f_j.
    pub factors: Vec<f64>,
    /// The strengths that were tried, from the largest.
    pub path: Vec<PathPoint>,
}
