//! One side's draws: their log-ratios in blocks, never stored as a whole, summed batch by batch within each chain.

use std::ops::Range;

use noisewright_numerics::kernels;
use noisewright_numerics::summation::{Compensated, blocked};

use super::{Draws, Side};
use crate::tolerance::FEWEST_EFFECTIVE_ROWS;
use crate::{Error, Result};

/// Log-ratios formed at a time: two of them fit the nearest cache.
const PIECE: usize = 1024;
/// Draws per task of a thread.
const TASK: usize = 32_768;
/// Independent draws that a chain must seem to be worth on its own: [`FEWEST_EFFECTIVE_ROWS`], and a standard deviation `√(6/E)`
/// of the estimated autocorrelation time (Sokal 1997), which is one half at E = 30. Of chains worth 5 to 10 one in 40 seems
/// worth 20, and those are the ones that look faster than they are: a quarter of their intervals missed.
const FEWEST_EFFECTIVE_DRAWS: f64 = 1.5 * FEWEST_EFFECTIVE_ROWS;
/// Most batches kept for the autocorrelation.
const BATCHES: usize = 16_384;

/// One side, with signs such that the two are mirror images: `u = ℓ` for noise and `u = −ℓ` for data, where
/// `ℓ = log f − log p_n`. So large u is where the draws of this side are wanted by the other, and u = −∞ is a point
/// outside the other's support.
#[derive(Clone, Debug)]
pub(super) struct Sample<'a> {
    pub(super) side: Side,
    /// What u is the log-density of, and what is taken off.
    other: &'a [f64],
    own: &'a [f64],
    /// Number of batches of each chain.
    pub(super) chains: Vec<usize>,
    batches: Vec<Range<usize>>,
    /// Effective draws below which a chain says nothing of its error.
    pub(super) fewest_effective: f64,
    /// Whether the chains are independent replicates of quiet draws, whose error is the spread between them.
    pub(super) replicated: bool,
}

/// Sums over the draws of one side.
#[derive(Clone, Debug)]
pub(super) struct Sums<const K: usize> {
    pub(super) totals: [f64; K],
    pub(super) batches: Vec<[f64; K]>,
    /// What was set aside on the way.
    pub(super) kept: Vec<f64>,
}

impl<'a> Sample<'a> {
    /// Checks the shape of the draws, not yet their values.
    pub(super) fn new(side: Side, draws: Draws<'a>) -> Result<Self> {
        let count = draws.log_f.len();
        if draws.log_noise.len() != count {
            let what = if side == Side::Data {
                "log_noise values of data draws"
            } else {
                "log_noise values of noise draws"
            };
            return Err(Error::Shape { what, expected: count, found: draws.log_noise.len() });
        }
        if count == 0 {
            return Err(Error::NoDraws { side: side.word() });
        }
        let whole = [count];
        let lengths = draws.chains.unwrap_or(&whole);
        let found = lengths.iter().fold(0usize, |sum, length| sum.saturating_add(*length));
        if found != count {
            return Err(Error::ChainLengths { side: side.word(), expected: count, found });
        }
        let (other, own) = match side {
            Side::Noise => (draws.log_f, draws.log_noise),
            Side::Data => (draws.log_noise, draws.log_f),
        };
        let batch = count.div_ceil(BATCHES).next_power_of_two();
        let (batches, chains) = cut(lengths, batch);
        let fewest_effective = FEWEST_EFFECTIVE_DRAWS;
        Ok(Self { side, other, own, chains, batches, fewest_effective, replicated: false })
    }

    /// The same as one half of the draws that an estimate is made of: half as many effective draws are enough.
    pub(super) fn into_half(self) -> Self {
        Self { fewest_effective: 0.5 * FEWEST_EFFECTIVE_ROWS, ..self }
    }

    /// The same with chains that are independent replicates of quiet draws (MATH §8).
    pub(super) fn into_replicates(self) -> Self {
        Self { replicated: true, ..self }
    }

    /// Other numbers in place of the log-ratios, in the same chains.
    pub(super) fn with_ratios<'b>(&self, ratios: &'b [f64], zeros: &'b [f64]) -> Sample<'b> {
        Sample {
            side: self.side,
            other: ratios,
            own: zeros,
            chains: self.chains.clone(),
            batches: self.batches.clone(),
            fewest_effective: self.fewest_effective,
            replicated: self.replicated,
        }
    }

    /// The two log-densities of the draws: of f, and of the noise.
    pub(super) fn log_densities(&self) -> (&'a [f64], &'a [f64]) {
        match self.side {
            Side::Noise => (self.other, self.own),
            Side::Data => (self.own, self.other),
        }
    }

    /// Number of draws.
    pub(super) fn len(&self) -> usize {
        self.own.len()
    }

    /// First draw and end of each chain.
    pub(super) fn chain_ranges(&self) -> Vec<(usize, usize)> {
        let mut batches = self.batches.iter();
        let range = |&count: &usize| {
            let mut of_chain = batches.by_ref().take(count);
            let first = of_chain.next()?;
            let last = of_chain.last().unwrap_or(first);
            Some((first.start, last.end))
        };
        self.chains.iter().filter_map(range).collect()
    }

    /// Draws in each batch.
    pub(super) fn batch_sizes(&self) -> Vec<f64> {
        self.batches.iter().map(|b| b.len() as f64).collect()
    }

    /// The log-ratios of some draws.
    pub(super) fn ratios(&self, range: Range<usize>, out: &mut [f64]) {
        let (other, own) = (&self.other[range.clone()], &self.own[range]);
        for ((out, other), own) in out.iter_mut().zip(other).zip(own) {
            *out = other - own;
        }
    }

    /// About `size` log-ratios, one from each of as many stretches of equal length; all of them if there are fewer.
    pub(super) fn thinned(&self, size: usize) -> Vec<f64> {
        let count = self.len();
        let at = |i: usize| self.other[i] - self.own[i];
        if count <= size {
            return (0..count).map(at).collect();
        }
        let place = |k: usize| (k as u128 * count as u128 / size as u128) as usize;
        (0..size)
            .map(|k| {
                let (start, end) = (place(k), place(k + 1));
                // A place that no period of the sample follows: the fraction of a multiple of the golden ratio.
                let fraction = (k as f64 * 0.618_033_988_749_894_9).fract();
                at((start + (fraction * (end - start) as f64) as usize).min(count - 1))
            })
            .collect()
    }

    /// Sums of terms over pieces of log-ratios, by batch and in total; the terms may also set numbers aside.
    ///
    /// The order of summation depends on the draws alone, not on the threads.
    pub(super) fn sums<const K: usize>(
        &self,
        terms: impl Fn(&[f64], &mut Vec<f64>) -> [f64; K] + Sync,
    ) -> Sums<K> {
        let largest = self.batches.first().map_or(1, Range::len).max(1);
        let group = (TASK / largest).max(1);
        let leaf = |batches: Range<usize>| {
            let mut kept = Vec::new();
            let mut buffer = [0.0; PIECE];
            let sums = self.batches[batches]
                .iter()
                .map(|batch| self.batch_sums(batch.clone(), &mut buffer, &mut kept, &terms))
                .collect::<Vec<_>>();
            (sums, kept)
        };
        let join = |mut a: (Vec<[f64; K]>, Vec<f64>), b: (Vec<[f64; K]>, Vec<f64>)| {
            a.0.extend(b.0);
            a.1.extend(b.1);
            a
        };
        let (batches, kept) = blocked(self.batches.len(), group, leaf, join).unwrap_or_default();
        let total = |k: usize| batches.iter().map(|b| b[k]).collect::<Compensated>().value();
        Sums { totals: std::array::from_fn(total), batches, kept }
    }

    fn batch_sums<const K: usize>(
        &self,
        batch: Range<usize>,
        buffer: &mut [f64; PIECE],
        kept: &mut Vec<f64>,
        terms: &impl Fn(&[f64], &mut Vec<f64>) -> [f64; K],
    ) -> [f64; K] {
        let mut sums = [0.0; K];
        let mut start = batch.start;
        while start < batch.end {
            let end = (start + PIECE).min(batch.end);
            let piece = &mut buffer[..end - start];
            self.ratios(start..end, piece);
            for (sum, term) in sums.iter_mut().zip(terms(piece, kept)) {
                *sum += term;
            }
            start = end;
        }
        sums
    }

    /// Refuses what no draw can have: `NaN`, +∞, and a log-density of −∞ under the density it was drawn from.
    pub(super) fn check(&self) -> Result<()> {
        let fine = blocked(
            self.len(),
            TASK,
            |range| {
                let (other, own) = (&self.other[range.clone()], &self.own[range]);
                let bad = |x: &[f64]| x.iter().fold(false, |bad, x| bad | !x.is_finite());
                !bad(own) && (!bad(other) || other.iter().all(|x| *x < f64::INFINITY))
            },
            |a, b| a && b,
        );
        if fine == Some(true) { Ok(()) } else { self.first_bad_draw() }
    }

    fn first_bad_draw(&self) -> Result<()> {
        let (other_name, own_name) = match self.side {
            Side::Noise => ("log_f", "log_noise"),
            Side::Data => ("log_noise", "log_f"),
        };
        let finite = "it must be a finite number: a point of zero density cannot have been drawn";
        let below = "it must be a number below infinity, or minus infinity where the density is zero";
        for (row, (&other, &own)) in self.other.iter().zip(self.own).enumerate() {
            let side = self.side.word();
            let bad =
                |column, value, reason| Err(Error::LogDensity { side, column, row: row + 1, value, reason });
            if !own.is_finite() {
                return bad(own_name, own, if own.is_nan() || own > 0.0 { below } else { finite });
            }
            if other.is_nan() || other == f64::INFINITY {
                return bad(other_name, other, below);
            }
        }
        Ok(())
    }

    /// The largest log-ratio.
    pub(super) fn largest_ratio(&self) -> f64 {
        let leaf = |range: Range<usize>| {
            let mut buffer = [0.0; PIECE];
            range.clone().step_by(PIECE).fold(f64::NEG_INFINITY, |max, start| {
                let end = (start + PIECE).min(range.end);
                let piece = &mut buffer[..end - start];
                self.ratios(start..end, piece);
                max.max(kernels::max(piece))
            })
        };
        blocked(self.len(), TASK, leaf, f64::max).unwrap_or(f64::NEG_INFINITY)
    }
}

/// Draws from which on it is no accident that all of them have the same log-densities.
const NO_ACCIDENT: usize = 20;

/// The side whose draws are all the same point, as far as their log-densities tell, though its density is not flat: that of a
/// chain which never moved.
pub(super) fn stands_still(samples: [&Sample<'_>; 2]) -> Option<Side> {
    let still = |k: usize| {
        let (sample, other) = (samples[k], samples[1 - k]);
        let same = |x: &[f64]| x.iter().all(|v| *v == x[0]);
        sample.len() >= NO_ACCIDENT
            && same(sample.own)
            && same(sample.other)
            && other.other.iter().any(|v| v.is_finite() && *v != sample.own[0])
    };
    (0..2).find(|k| still(*k)).map(|k| samples[k].side)
}

/// Batches of draws that do not straddle chains, and how many each chain has.
fn cut(lengths: &[usize], batch: usize) -> (Vec<Range<usize>>, Vec<usize>) {
    let (mut batches, mut chains, mut start) = (Vec::new(), Vec::new(), 0);
    for &length in lengths {
        let end = start + length;
        chains.push(length.div_ceil(batch));
        batches.extend((start..end).step_by(batch).map(|s| s..(s + batch).min(end)));
        start = end;
    }
    (batches, chains)
}
