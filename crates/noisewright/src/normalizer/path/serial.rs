//! log Z by a path as it is serialized.

use serde::{Serialize, Serializer};

use super::{Node, PathEstimate, PathTracePoint};
use crate::serial::Rows;

/// The fields of a path.
#[derive(Serialize)]
struct PathFields<'a> {
    log_z: f64,
    se: f64,
    lower: f64,
    upper: f64,
    confidence: f64,
    refused: Option<String>,
    refused_code: Option<&'static str>,
    path: &'a [Node],
    noise: &'a str,
    moves: String,
    draws: usize,
    thin: usize,
    round_trips: usize,
    trace: &'a [PathTracePoint],
    overlap: Rows<'a>,
    ess: &'a [f64],
    converged: bool,
    warnings: Vec<String>,
    warning_codes: Vec<&'static str>,
}

impl Serialize for PathEstimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (refused_code, refused) = self.refused().unzip();
        PathFields {
            log_z: self.log_z,
            se: self.se,
            lower: self.lower,
            upper: self.upper,
            confidence: self.confidence,
            refused,
            refused_code,
            path: &self.nodes,
            noise: &self.noise,
            moves: self.moves.unwrap_or_default().to_string(),
            draws: self.draws,
            thin: self.thin,
            round_trips: self.round_trips,
            trace: &self.trace,
            overlap: Rows(self.states.overlap()),
            ess: self.states.ess(),
            converged: self.states.converged() && self.se.is_finite(),
            warnings: self.sentences(),
            warning_codes: self.warnings.iter().map(|warning| warning.code()).collect(),
        }
        .serialize(serializer)
    }
}
