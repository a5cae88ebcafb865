//! The draws cut in two halves, each chain at its middle, so that a noise fitted on one half is independent of the other.

use std::borrow::Cow;
use std::ops::Range;

use crate::fit::check_chains;
use crate::{ChainFault, Error, Result, View};

/// One half of the draws: a stretch of rows from every chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Half {
    pub(super) stretches: Vec<Range<usize>>,
}

impl Half {
    /// Number of draws.
    pub(super) fn rows(&self) -> usize {
        self.stretches.iter().map(Range::len).sum()
    }

    /// The length of every chain's stretch.
    pub(super) fn chains(&self) -> Vec<usize> {
        self.stretches.iter().map(Range::len).collect()
    }

    /// The values of this half's draws, in order.
    pub(super) fn gather(&self, values: &[f64]) -> Vec<f64> {
        self.stretches.iter().flat_map(|stretch| values[stretch.clone()].iter().copied()).collect()
    }

    /// The points of this half: in place when it is one stretch, otherwise copied to `storage`.
    pub(super) fn points<'a>(&self, all: View<'a>, storage: &'a mut Vec<f64>) -> View<'a> {
        if let [stretch] = &self.stretches[..] {
            return all.slice(stretch.clone());
        }
        for j in 0..all.columns() {
            for stretch in &self.stretches {
                storage.extend_from_slice(&all.column(j)[stretch.clone()]);
            }
        }
        View::new(all.columns(), self.rows(), storage)
    }

    /// About `count` rows, evenly spread.
    pub(super) fn thinned(&self, count: usize) -> Vec<usize> {
        let step = self.rows().div_ceil(count).max(1);
        self.stretches.iter().cloned().flatten().step_by(step).collect()
    }
}

/// Evenly spaced rows of both halves, about `count` in all, and how many of them every chain has. Cut at its middle, a chain of them
/// falls into the same halves: the second has as many as the first or one more.
pub(super) fn evenly_spaced(halves: &[Half; 2], count: usize) -> (Vec<usize>, Vec<usize>) {
    let rows: usize = halves.iter().map(Half::rows).sum();
    let step = rows.div_ceil(count.max(1)).max(1);
    let (mut kept, mut lengths) = (Vec::new(), Vec::new());
    for (first, second) in halves[0].stretches.iter().zip(&halves[1].stretches) {
        let before = kept.len();
        kept.extend(first.clone().step_by(step).chain(second.clone().step_by(step)));
        lengths.push(kept.len() - before);
    }
    (kept, lengths)
}

/// The first and the second half of every chain.
pub(super) fn split(rows: usize, chains: Option<&[usize]>) -> Result<[Half; 2]> {
    let lengths = chains.map_or(Cow::Owned(vec![rows]), Cow::Borrowed);
    check_chains("draws in the chains", &lengths, rows)?;
    let (mut first, mut second, mut start) = (Vec::new(), Vec::new(), 0);
    for &length in lengths.iter() {
        // A single draw has no halves and is left out.
        if length > 1 {
            let middle = start + length / 2;
            first.push(start..middle);
            second.push(middle..start + length);
        }
        start += length;
    }
    if first.is_empty() {
        return Err(Error::Chain(ChainFault::SingleDraws));
    }
    Ok([Half { stretches: first }, Half { stretches: second }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_is_cut_at_its_middle() {
        let [first, second] = split(9, Some(&[4, 5])).unwrap();
        assert_eq!(first.stretches, [0..2, 4..6]);
        assert_eq!(second.stretches, [2..4, 6..9]);
        let values: Vec<f64> = (0..9).map(f64::from).collect();
        assert_eq!(second.gather(&values), [2.0, 3.0, 6.0, 7.0, 8.0]);
        let mut storage = Vec::new();
        assert_eq!(second.points(View::new(1, 9, &values), &mut storage).column(0), second.gather(&values));
    }

    #[test]
    fn a_chain_of_one_draw_is_passed_over() {
        let [first, second] = split(7, Some(&[2, 1, 4])).unwrap();
        assert_eq!(first.stretches, [0..1, 3..5]);
        assert_eq!(second.stretches, [1..2, 5..7]);
    }

    #[test]
    fn evenly_spaced_rows_stay_in_their_halves() {
        for (rows, chains) in [(23, vec![9, 14]), (40, vec![40]), (31, vec![15, 16])] {
            let halves = split(rows, Some(&chains)).unwrap();
            for count in [4, 7, 12, 100] {
                let (kept, lengths) = evenly_spaced(&halves, count);
                let [first, second] = split(kept.len(), Some(&lengths)).unwrap();
                for (half, whole) in [first, second].iter().zip(&halves) {
                    let inside = |row: usize| whole.stretches.iter().any(|stretch| stretch.contains(&row));
                    assert!(
                        half.stretches.iter().cloned().flatten().all(|at| inside(kept[at])),
                        "{rows} {count}"
                    );
                }
            }
        }
    }

    #[test]
    fn chains_must_have_all_draws() {
        assert!(split(10, Some(&[4, 5])).is_err());
        assert!(split(1, None).is_err());
    }
}
