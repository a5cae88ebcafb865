//! Folds of a cross-validation: which part of the rows each row belongs to.

use std::collections::HashMap;

use rand::seq::SliceRandom;

use crate::fit::data::Dependence;
use crate::run::{Context, Purpose};
use crate::{Error, Result};

/// Folds of a cross-validation.
pub(super) const FOLDS: usize = 10;

/// The fold of every row of the data and of the noise.
pub(super) struct Folds {
    pub(super) data: Vec<u8>,
    pub(super) noise: Vec<u8>,
}

impl Folds {
    /// Rows at random in ten parts of the same size; clusters stay together, and chains are cut into ten stretches.
    ///
    /// # Errors
    /// When there are fewer rows or clusters than folds.
    pub(super) fn new(
        rows: usize,
        dependence: Dependence<'_>,
        noise: usize,
        context: &Context,
    ) -> Result<Self> {
        let data = match dependence {
            Dependence::Independent => shuffled(rows, context, 0),
            Dependence::Chains(_) => (0..rows).map(|row| (row * FOLDS / rows.max(1)) as u8).collect(),
            Dependence::Clusters(labels) => {
                let mut order: HashMap<u64, usize> = HashMap::new();
                for label in labels {
                    let next = order.len();
                    order.entry(*label).or_insert(next);
                }
                let folds = shuffled(order.len(), context, 0);
                if order.len() < FOLDS {
                    return Err(too_few(order.len(), "clusters"));
                }
                labels.iter().map(|label| folds[order[label]]).collect()
            }
        };
        if rows < FOLDS {
            return Err(too_few(rows, "rows"));
        }
        Ok(Self { data, noise: shuffled(noise, context, 1) })
    }
}

fn too_few(count: usize, what: &str) -> Error {
    let reason = format!(
        "is to be chosen by {FOLDS}-fold cross-validation, for which {count} {what} are too few: give its strength"
    );
    Error::option("penalty", reason)
}

/// A fold for each of so many, all folds of the same size but for one.
fn shuffled(count: usize, context: &Context, side: u64) -> Vec<u8> {
    let mut folds: Vec<u8> = (0..count).map(|i| (i % FOLDS) as u8).collect();
    folds.shuffle(&mut context.stream(Purpose::Folds { side }, 0));
    folds
}
