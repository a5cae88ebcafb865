//! Populations on finite spaces: every state, exactly.

use std::ops::Range;

use super::{Accuracy, Method, Parts, Population};
use crate::run::{Context, Stage};
use crate::{Domain, Model, Points, Result, Space};

/// Most states that are enumerated.
const MOST_STATES: u64 = 1 << 20;

/// Whether every state of the model's space can be visited.
pub(super) fn applies(model: &Model) -> bool {
    model.space().state_count().is_some_and(|count| count <= MOST_STATES)
}

pub(super) fn build(model: &Model, parameters: &[f64], context: &Context) -> Result<Population> {
    context.report(Stage::Integration, 0, Some(1))?;
    let table = StateTable::new(model.space());
    let rows = table.rows;
    let points = Points::from_values(model.space().names(), rows, table.combinations(0..rows))?;
    let parts = Parts {
        points,
        log_measure: vec![0.0; rows],
        accuracy: Accuracy { method: Method::Enumeration, relative_error: f64::EPSILON, points: rows },
        divergent: None,
        mass_error: f64::EPSILON,
    };
    Population::assemble(model, parameters, parts)
}

/// The combinations of the states of all variables of a finite space.
pub(crate) struct StateTable<'a> {
    states: Vec<&'a [f64]>,
    /// How many there are.
    pub(crate) rows: usize,
}

impl<'a> StateTable<'a> {
    pub(crate) fn new(space: &'a Space) -> Self {
        let of = |domain: &'a Domain| match domain {
            Domain::States(states) => Some(states.as_slice()),
            _ => None,
        };
        let states: Vec<&[f64]> = space.domains().iter().filter_map(of).collect();
        Self { rows: states.iter().map(|s| s.len()).product(), states }
    }

    /// Some of them, column-major, the last variable changing fastest.
    pub(crate) fn combinations(&self, range: Range<usize>) -> Vec<f64> {
        let mut out = Vec::with_capacity(range.len() * self.states.len());
        let mut repeat = self.rows;
        for values in &self.states {
            repeat /= values.len();
            out.extend(range.clone().map(|row| values[row / repeat % values.len()]));
        }
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_once_in_whole_or_in_parts() {
        let states = |values: &[f64]| Domain::States(values.to_vec());
        let variables =
            [("a", states(&[0.0, 1.0])), ("b", states(&[5.0, 6.0, 7.0])), ("c", states(&[2.0, 3.0]))];
        let space = Space::product(&variables).unwrap();
        let table = StateTable::new(&space);
        let all = table.combinations(0..table.rows);
        assert_eq!(all[..12], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(all[12..24], [5.0, 5.0, 6.0, 6.0, 7.0, 7.0, 5.0, 5.0, 6.0, 6.0, 7.0, 7.0]);
        let part = table.combinations(5..9);
        for column in 0..3 {
            assert_eq!(part[column * 4..column * 4 + 4], all[column * 12 + 5..column * 12 + 9]);
        }
    }
}
