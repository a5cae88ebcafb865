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
        let data = fold_numbers("penalty", rows, dependence, FOLDS, context)?;
        Ok(Self { data, noise: shuffled(noise, FOLDS, context, 1) })
    }
}

/// The fold of every row: at random in parts of the same size, clusters together, chains in stretches.
///
/// # Errors
/// When there are fewer rows or clusters than folds.
pub(crate) fn fold_numbers(
    option: &'static str,
    rows: usize,
    dependence: Dependence<'_>,
    folds: usize,
    context: &Context,
) -> Result<Vec<u8>> {
    let too_few = |count: usize, what: &str| {
        let reason = format!("needs {folds} folds, for which {count} {what} are too few");
        Err(Error::option(option, reason))
    };
    if rows < folds {
        return too_few(rows, "rows");
    }
    match dependence {
        Dependence::Independent => Ok(shuffled(rows, folds, context, 0)),
        Dependence::Chains(_) => Ok((0..rows).map(|row| (row * folds / rows.max(1)) as u8).collect()),
        Dependence::Clusters(labels) => {
            let mut order: HashMap<u64, usize> = HashMap::new();
            for label in labels {
                let next = order.len();
                order.entry(*label).or_insert(next);
            }
            if order.len() < folds {
                return too_few(order.len(), "clusters");
            }
            let numbers = shuffled(order.len(), folds, context, 0);
            Ok(labels.iter().map(|label| numbers[order[label]]).collect())
        }
    }
}

/// A fold for each of so many, all folds of the same size but for one.
fn shuffled(count: usize, folds: usize, context: &Context, side: u64) -> Vec<u8> {
    let mut numbers: Vec<u8> = (0..count).map(|i| (i % folds) as u8).collect();
    numbers.shuffle(&mut context.stream(Purpose::Folds { side }, 0));
    numbers
}
