//! A pass over the blocks of a sample, taken apart so that other processes can do the summing.

use std::iter::Peekable;
use std::ops::Range;

use noisewright_numerics::summation::try_blocked;

use super::partial::{Partial, from_bytes, to_bytes};
use crate::fit::sample_blocks::BLOCK;
use crate::{Error, Result, View};

/// Rows of a run of consecutive blocks, with their weights where they have any; no columns where the rows are drawn.
#[derive(Clone, Copy)]
pub(crate) struct RunRows<'r> {
    pub(crate) points: View<'r>,
    pub(crate) weights: Option<&'r [f64]>,
}

/// One sum over all blocks of a sample.
pub(crate) trait Pass: Sync {
    /// Number of rows of the sample.
    fn rows(&self) -> usize;

    /// Which sample's rows have to be read, counted from 0; none where the rows are noise, and drawn.
    fn sample(&self) -> Option<usize>;

    /// The partial sum over a run of blocks, which is a node of the tree of all blocks.
    fn sum(&self, run: Range<usize>, rows: RunRows<'_>) -> Result<Vec<u8>>;

    /// The sum over a node of the tree of all blocks, from those over runs that make it up.
    fn join(&self, node: Range<usize>, runs: &[Range<usize>], sums: &[Vec<u8>]) -> Result<Vec<u8>>;
}

/// Who lets other processes sum over blocks: the coordinator asks them, and a replica of the fit in one of them answers.
pub(crate) trait Host: Sync {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Whether the rows of a fit have a column of cluster numbers after the variables.
    fn has_clusters(&self) -> bool;

    /// Number of rows of a sample: the data are the first; a ratio has a second.
    fn rows(&self, sample: usize) -> usize;

    /// The sum over all blocks.
    ///
    /// # Errors
    /// That of the first block that has one, or of the processes.
    fn pass(&self, pass: &dyn Pass) -> Result<Vec<u8>>;

    /// What the coordinator computes once, and the replicas take from its log.
    ///
    /// # Errors
    /// Those of the computation.
    fn once(&self, compute: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<Vec<u8>>;

    /// Says that there is nothing left to sum over: the coordinator goes on alone.
    ///
    /// # Errors
    /// In a replica, whose fit ends here.
    fn goes_on_alone(&self) -> Result<()>;
}

/// Reduces the blocks of a sample wherever they are, in the same tree as rows in memory.
pub(crate) fn reduce_by<T: Send + Partial>(
    host: &dyn Host,
    (rows, sample): (usize, Option<usize>),
    combine: &(impl Fn(T, T) -> T + Sync),
    map: impl Fn(usize, View<'_>, Option<&[f64]>) -> Result<T> + Sync,
) -> Result<Option<T>> {
    if rows == 0 {
        return Ok(None);
    }
    let answer = host.pass(&Reduction { rows, sample, combine, map })?;
    from_bytes(&answer).map(Some).ok_or_else(unreadable)
}

/// What the coordinator computes once, for all.
pub(crate) fn once_by<T: Partial>(
    host: Option<&dyn Host>,
    mut compute: impl FnMut() -> Result<T>,
) -> Result<T> {
    let Some(host) = host else { return compute() };
    let answer = host.once(&mut || Ok(to_bytes(&compute()?)))?;
    from_bytes(&answer).ok_or_else(unreadable)
}

/// Bytes of a process that are not what was asked for.
fn unreadable() -> Error {
    Error::internal("a process answered what was not asked")
}

struct Reduction<'c, M, C> {
    rows: usize,
    sample: Option<usize>,
    combine: &'c C,
    map: M,
}

impl<T, M, C> Pass for Reduction<'_, M, C>
where
    T: Send + Partial,
    M: Fn(usize, View<'_>, Option<&[f64]>) -> Result<T> + Sync,
    C: Fn(T, T) -> T + Sync,
{
    fn rows(&self) -> usize {
        self.rows
    }

    fn sample(&self) -> Option<usize> {
        self.sample
    }

    fn sum(&self, run: Range<usize>, rows: RunRows<'_>) -> Result<Vec<u8>> {
        let expected = rows_of(&run, self.rows).len();
        let found = rows.points.rows();
        if expected != found {
            return Err(Error::Shape { what: "rows in a second reading of the data", expected, found });
        }
        let block = |range: Range<usize>| {
            let index = run.start + range.start / BLOCK;
            (self.map)(index, rows.points.slice(range.clone()), rows.weights.map(|w| &w[range]))
        };
        let sum = try_blocked(found, BLOCK, block, self.combine)?;
        sum.map(|sum| to_bytes(&sum)).ok_or_else(unreadable)
    }

    fn join(&self, node: Range<usize>, runs: &[Range<usize>], sums: &[Vec<u8>]) -> Result<Vec<u8>> {
        let mut sums = sums.iter();
        let mut leaf = || sums.next().and_then(|sum| from_bytes::<T>(sum)).ok_or_else(unreadable);
        Ok(to_bytes(&join_runs(node, &mut runs.iter().peekable(), &mut leaf, self.combine)?))
    }
}

/// The rows of a run of blocks.
pub(crate) fn rows_of(run: &Range<usize>, rows: usize) -> Range<usize> {
    run.start * BLOCK..(run.end * BLOCK).min(rows)
}

/// Where the tree over blocks splits some of them.
fn middle(blocks: &Range<usize>) -> usize {
    blocks.start + blocks.len().div_ceil(2)
}

/// The nodes under a node of the tree over blocks that have at most `most` blocks each, as few as there can be.
pub(crate) fn runs(node: Range<usize>, most: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Vec<Range<usize>> = (!node.is_empty()).then_some(node).into_iter().collect();
    while let Some(node) = open.pop() {
        if node.len() <= most.max(1) {
            found.push(node);
        } else {
            let middle = middle(&node);
            open.push(middle..node.end);
            open.push(node.start..middle);
        }
    }
    found
}

/// The sum over a node of the tree, whose runs come next.
fn join_runs<'r, T>(
    node: Range<usize>,
    runs: &mut Peekable<impl Iterator<Item = &'r Range<usize>>>,
    leaf: &mut impl FnMut() -> Result<T>,
    combine: &impl Fn(T, T) -> T,
) -> Result<T> {
    if runs.next_if(|run| **run == node).is_some() {
        return leaf();
    }
    if node.len() < 2 {
        return Err(unreadable());
    }
    let middle = middle(&node);
    let left = join_runs(node.start..middle, runs, leaf, combine)?;
    let right = join_runs(middle..node.end, runs, leaf, combine)?;
    Ok(combine(left, right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_joined_are_the_sum_over_all_blocks(rows in 1usize..400_000, most in 1usize..40, part in 1usize..9) {
            let value = |index: usize| 1.0 / (1.0 + index as f64);
            let whole = try_blocked(rows, BLOCK, |range| Ok::<f64, Error>(value(range.start / BLOCK)), |a, b| a + b);
            let map = |index: usize, _: View<'_>, _: Option<&[f64]>| Ok(value(index));
            let pass = Reduction { rows, sample: None, combine: &|a: f64, b: f64| a + b, map };
            let blocks = 0..rows.div_ceil(BLOCK);
            let found = runs(blocks.clone(), most);
            let sum_at_once = |run: &Range<usize>| {
                let points = View::new(0, rows_of(run, rows).len(), &[]);
                pass.sum(run.clone(), RunRows { points, weights: None }).unwrap()
            };
            // A run may be summed in parts itself.
            let sum = |run: &Range<usize>| {
                let parts = runs(run.clone(), part);
                let sums: Vec<Vec<u8>> = parts.iter().map(sum_at_once).collect();
                pass.join(run.clone(), &parts, &sums).unwrap()
            };
            let sums: Vec<Vec<u8>> = found.iter().map(sum).collect();
            let joined: f64 = from_bytes(&pass.join(blocks, &found, &sums).unwrap()).unwrap();
            prop_assert_eq!(Some(joined.to_bits()), whole.unwrap().map(f64::to_bits));
        }
    }
}
