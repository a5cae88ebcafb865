//! The pooled draws as they are given, and their checks.

use std::collections::HashMap;
use std::ops::Range;

use super::chains::Chain;
use crate::{Error, Result};

/// Which state each draw comes from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Origin<'a> {
    /// The draws stand state after state: so many of the first state, so many of the second, …
    Counts(&'a [usize]),
    /// The index of its state for every draw, in any order.
    Rows(&'a [usize]),
}

/// Draws of several states, pooled, with the log-density of every draw under every state.
///
/// Log-densities need not be normalized. −∞ is a density of zero and is exact; a state may have no draws.
#[derive(Clone, Copy, Debug)]
pub struct Pooled<'a> {
    /// `log f_k(x_n)`: one slice per state, one value per draw, the draws in the same order in all of them.
    pub log_f: &'a [&'a [f64]],
    /// Which state each draw comes from.
    pub origin: Origin<'a>,
    /// Where draws are Markov chains, a label of the chain for each draw: draws of one state with the same label are one
    /// chain, in order. Without labels the draws of a state are one chain.
    pub chains: Option<&'a [usize]>,
}

impl Pooled<'_> {
    /// The state of each draw and the number of draws of each state.
    pub(super) fn origins(&self) -> Result<(Vec<u32>, Vec<usize>)> {
        let states = self.log_f.len();
        if states == 0 {
            return Err(Error::NoStates);
        }
        let draws = self.log_f[0].len();
        if let Some(other) = self.log_f.iter().find(|column| column.len() != draws) {
            return Err(Error::Shape {
                what: "log-densities of a state",
                expected: draws,
                found: other.len(),
            });
        }
        let origin = match self.origin {
            Origin::Counts(counts) => from_counts(counts, states, draws)?,
            Origin::Rows(rows) => from_rows(rows, states, draws)?,
        };
        let mut counts = vec![0; states];
        origin.iter().for_each(|k| counts[*k as usize] += 1);
        Ok((origin, counts))
    }

    /// Whether every value is a number below +∞, and every draw has a density under its own state.
    pub(super) fn check(&self, origin: &[u32]) -> Result<()> {
        for (state, column) in self.log_f.iter().enumerate() {
            // Chunks without an early exit are checked many values at a time.
            let fine = |chunk: &[f64]| chunk.iter().fold(true, |fine, v| fine & (*v < f64::INFINITY));
            if let Some(chunk) = column.chunks(1024).position(|chunk| !fine(chunk)) {
                let rest = column[1024 * chunk..].iter().position(|v| v.is_nan() || *v == f64::INFINITY);
                let row = 1024 * chunk + rest.unwrap_or(0);
                return Err(Error::StateValue { state: state + 1, row: row + 1, value: column[row] });
            }
        }
        let own = origin.iter().enumerate().map(|(row, k)| (row, *k as usize));
        match own.into_iter().find(|(row, k)| self.log_f[*k][*row] == f64::NEG_INFINITY) {
            Some((row, state)) => Err(Error::StateOwnDraw { state: state + 1, row: row + 1 }),
            None => Ok(()),
        }
    }

    /// The chains of all states.
    pub(super) fn chains(&self, origin: &[u32]) -> Result<Vec<Chain>> {
        if let Some(found) = self.chains.map(<[usize]>::len).filter(|found| *found != origin.len()) {
            return Err(Error::Shape { what: "labels of chains", expected: origin.len(), found });
        }
        let mut chains: Vec<Chain> = Vec::new();
        let mut known: HashMap<(u32, usize), usize> = HashMap::new();
        for (row, &state) in origin.iter().enumerate() {
            let label = self.chains.map_or(0, |labels| labels[row]);
            let index = *known.entry((state, label)).or_insert_with(|| {
                chains.push(Chain { state: state as usize, label, pieces: Vec::new() });
                chains.len() - 1
            });
            extend(&mut chains[index].pieces, row);
        }
        Ok(chains)
    }
}

/// Adds a row to the last piece, or begins one.
fn extend(pieces: &mut Vec<Range<usize>>, row: usize) {
    match pieces.last_mut() {
        Some(last) if last.end == row => last.end = row + 1,
        _ => pieces.push(row..row + 1),
    }
}

fn from_counts(counts: &[usize], states: usize, draws: usize) -> Result<Vec<u32>> {
    if counts.len() != states {
        return Err(Error::Shape { what: "numbers of draws", expected: states, found: counts.len() });
    }
    let total = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count));
    if total != draws {
        return Err(Error::Shape { what: "draws in all", expected: total, found: draws });
    }
    let mut origin = Vec::with_capacity(draws);
    for (state, count) in counts.iter().enumerate() {
        origin.resize(origin.len() + count, state as u32);
    }
    Ok(origin)
}

fn from_rows(rows: &[usize], states: usize, draws: usize) -> Result<Vec<u32>> {
    if rows.len() != draws {
        return Err(Error::Shape { what: "states of draws", expected: draws, found: rows.len() });
    }
    if let Some(found) = rows.iter().find(|state| **state >= states) {
        return Err(Error::Shape { what: "states", expected: found + 1, found: states });
    }
    Ok(rows.iter().map(|state| *state as u32).collect())
}
