//! Populations on finite spaces: every state, exactly.

use super::{Accuracy, Method, Parts, Population};
use crate::{Domain, Model, Points, Result};

/// Most states that are enumerated.
const MOST_STATES: u64 = 1 << 20;

/// Whether every state of the model's space can be visited.
pub(super) fn applies(model: &Model) -> bool {
    model.space().state_count().is_some_and(|count| count <= MOST_STATES)
}

pub(super) fn build(model: &Model, parameters: &[f64]) -> Result<Population> {
    let states: Vec<&[f64]> = model
        .space()
        .domains()
        .iter()
        .filter_map(|domain| match domain {
            Domain::States(states) => Some(states.as_slice()),
            _ => None,
        })
        .collect();
    let rows = states.iter().map(|s| s.len()).product();
    let points = Points::from_values(model.space().names(), rows, all_combinations(&states, rows))?;
    let parts = Parts {
        points,
        log_measure: vec![0.0; rows],
        accuracy: Accuracy { method: Method::Enumeration, relative_error: f64::EPSILON, points: rows },
        divergent: None,
        mass_error: f64::EPSILON,
    };
    Population::assemble(model, parameters, parts)
}

/// Column-major combinations, the last variable changing fastest.
fn all_combinations(states: &[&[f64]], rows: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(rows * states.len());
    let mut repeat = rows;
    for values in states {
        repeat /= values.len();
        out.extend((0..rows).map(|row| values[row / repeat % values.len()]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_once() {
        let out = all_combinations(&[&[0.0, 1.0], &[5.0, 6.0, 7.0]], 6);
        assert_eq!(out[..6], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        assert_eq!(out[6..], [5.0, 6.0, 7.0, 5.0, 6.0, 7.0]);
    }
}
