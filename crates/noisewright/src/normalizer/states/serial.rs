//! The log-normalizers of many states as they are serialized, with or without names.

use nalgebra::DMatrix;
use serde::{Serialize, Serializer};

use super::StatesEstimate;
use crate::serial::{Fields, Rows};

/// One state.
#[derive(Serialize)]
struct State {
    log_z: f64,
    se: f64,
    draws: usize,
    ess: f64,
    inefficiency: f64,
}

#[derive(Serialize)]
struct Differences<'a> {
    log_z: Rows<'a>,
    se: Rows<'a>,
}

/// The fields of many states.
#[derive(Serialize)]
struct StatesFields<'a> {
    states: Fields<&'a str, State>,
    names: Vec<&'a str>,
    reference: &'a str,
    log_z: &'a [f64],
    se: &'a [f64],
    differences: Differences<'a>,
    covariance: Rows<'a>,
    overlap: Rows<'a>,
    ess: &'a [f64],
    inefficiency: &'a [f64],
    groups: Vec<Vec<&'a str>>,
    converged: bool,
    warnings: Vec<String>,
    warning_codes: Vec<&'static str>,
}

/// Many states with their names.
#[derive(Clone, Copy, Debug)]
pub struct NamedStates<'a> {
    estimate: &'a StatesEstimate,
    names: &'a [String],
}

impl StatesEstimate {
    /// The same with names for the states, to be serialized.
    ///
    /// # Panics
    /// When there are fewer names than states.
    #[must_use]
    pub fn with_names<'a>(&'a self, names: &'a [String]) -> NamedStates<'a> {
        assert!(names.len() >= self.log_z().len(), "every state needs a name");
        NamedStates { estimate: self, names }
    }
}

impl Serialize for StatesEstimate {
    /// With the states numbered from 0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers: Vec<String> = (0..self.log_z().len()).map(|k| k.to_string()).collect();
        self.with_names(&numbers).serialize(serializer)
    }
}

impl Serialize for NamedStates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { estimate, names } = *self;
        let count = estimate.log_z().len();
        let name = |k: usize| names[k].as_str();
        let se = estimate.se();
        let matrix = |entry: &dyn Fn(usize, usize) -> f64| DMatrix::from_fn(count, count, entry);
        let differences = matrix(&|i, j| estimate.difference(i, j).0);
        let errors = matrix(&|i, j| estimate.difference(i, j).1);
        let covariance = matrix(&|i, j| estimate.covariance(i, j));
        let state = |k: usize| State {
            log_z: estimate.log_z()[k],
            se: se[k],
            draws: estimate.draws()[k],
            ess: estimate.ess()[k],
            inefficiency: estimate.inefficiency()[k],
        };
        let group = |group: &Vec<usize>| group.iter().map(|k| name(*k)).collect();
        StatesFields {
            states: Fields((0..count).map(|k| (name(k), state(k))).collect()),
            names: (0..count).map(name).collect(),
            reference: name(estimate.reference()),
            log_z: estimate.log_z(),
            se: &se,
            differences: Differences { log_z: Rows(&differences), se: Rows(&errors) },
            covariance: Rows(&covariance),
            overlap: Rows(estimate.overlap()),
            ess: estimate.ess(),
            inefficiency: estimate.inefficiency(),
            groups: estimate.groups().iter().map(group).collect(),
            converged: estimate.converged(),
            warnings: estimate.warnings().iter().map(|warning| warning.sentence(names)).collect(),
            warning_codes: estimate.warnings().iter().map(|warning| warning.code()).collect(),
        }
        .serialize(serializer)
    }
}
