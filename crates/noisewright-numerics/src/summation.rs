//! Sums in a fixed order: the same bits for any number of threads.

use std::convert::Infallible;
use std::ops::Range;

use crate::kernels;
use crate::parallel::{FirstError, Slot, tree};

/// A running sum that carries its own rounding error along (Neumaier's algorithm).
#[derive(Clone, Copy, Debug, Default)]
pub struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    /// Adds one term.
    #[inline]
    pub fn add(&mut self, x: f64) {
        let total = self.sum + x;
        self.error += if self.sum.abs() >= x.abs() { (self.sum - total) + x } else { (x - total) + self.sum };
        self.sum = total;
    }

    /// The sum so far. An infinite or `NaN` sum is that of plain addition.
    #[must_use]
    pub fn value(self) -> f64 {
        // The error of an infinite sum is ∞ − ∞.
        if self.sum.is_finite() { self.sum + self.error } else { self.sum }
    }
}

impl Extend<f64> for Compensated {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, terms: I) {
        for x in terms {
            self.add(x);
        }
    }
}

impl FromIterator<f64> for Compensated {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Self::default();
        sum.extend(terms);
        sum
    }
}

/// Numbers summed directly at the leaves of a pairwise sum.
const LEAF: usize = 128;
/// Interleaved partial sums at a leaf, which the compiler turns into vectors.
const LANES: usize = 8;

/// Splits `0..n` in halves down to leaves, whatever the terms: the rounding error grows like ln n.
fn pairwise(range: Range<usize>, leaf: &impl Fn(Range<usize>) -> f64) -> f64 {
    if range.len() <= LEAF {
        return leaf(range);
    }
    // A split at a multiple of the leaf keeps all leaves but the last full.
    let middle = range.start + (range.len() / 2).next_multiple_of(LEAF);
    pairwise(range.start..middle, leaf) + pairwise(middle..range.end, leaf)
}

/// Sum of `term(i)` over the range, in interleaved lanes.
#[inline(always)]
fn leaf_sum(range: Range<usize>, term: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let full = range.len() / LANES * LANES;
    for start in (range.start..range.start + full).step_by(LANES) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += term(start + lane);
        }
    }
    for (lane, i) in (range.start + full..range.end).enumerate() {
        lanes[lane] += term(i);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// `Σ x_i`, pairwise: the relative error of a sum of like signs is a few units in the last place.
///
/// ```
/// use noisewright_numerics::summation::sum;
/// assert_eq!(sum(&[0.5; 1000]), 500.0);
/// ```
#[must_use]
pub fn sum(x: &[f64]) -> f64 {
    pairwise(0..x.len(), &|range| {
        let x = &x[range];
        leaf_sum(0..x.len(), |i| x[i])
    })
}

/// `Σ x_i y_i`, pairwise.
///
/// # Panics
/// If the slices differ in length.
#[must_use]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "the slices must have one length");
    pairwise(0..x.len(), &|range| {
        let (x, y) = (&x[range.clone()], &y[range]);
        leaf_sum(0..x.len().min(y.len()), |i| x[i] * y[i])
    })
}

/// The arithmetic mean; `NaN` for an empty slice.
#[must_use]
pub fn mean(x: &[f64]) -> f64 {
    sum(x) / x.len() as f64
}

/// The mean and the sample variance `Σ (x_i − mean)² / (n − 1)`, in two passes; the variance of fewer than two numbers
/// is `NaN`.
///
/// ```
/// use noisewright_numerics::summation::mean_and_variance;
/// // A large offset costs nothing.
/// assert_eq!(mean_and_variance(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]), (1e9 + 10.0, 30.0));
/// ```
#[must_use]
pub fn mean_and_variance(x: &[f64]) -> (f64, f64) {
    let center = mean(x);
    let deviation = |of: fn(f64) -> f64| {
        pairwise(0..x.len(), &|range| {
            let x = &x[range];
            leaf_sum(0..x.len(), |i| of(x[i] - center))
        })
    };
    let n = x.len() as f64;
    // The second term is what the rounding of the mean itself adds (Chan, Golub and LeVeque 1983).
    let residue = deviation(|d| d);
    let squares = deviation(|d| d * d) - residue * residue / n;
    (center, if x.len() < 2 { f64::NAN } else { squares / (n - 1.0) })
}

/// `ln Σ e^x_i`; −∞ for an empty slice or one of −∞ only, +∞ if any is +∞, `NaN` if any is `NaN`.
///
/// ```
/// use noisewright_numerics::summation::log_sum_exp;
/// assert_eq!(log_sum_exp(&[1000.0; 4]), 1000.0 + 4.0_f64.ln());
/// assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
/// ```
#[must_use]
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let max = kernels::max(x);
    if max.is_finite() {
        return max + kernels::sum_exp(x, max).ln();
    }
    if x.iter().any(|v| v.is_nan()) { f64::NAN } else { max }
}

/// `ln (1/n Σ e^x_i)`; `NaN` for an empty slice.
#[must_use]
pub fn log_mean_exp(x: &[f64]) -> f64 {
    if x.is_empty() { f64::NAN } else { log_sum_exp(x) - (x.len() as f64).ln() }
}

/// The ranges `0..block`, `block..2·block`, … that cover `0..n`, the last one shorter if need be.
///
/// # Panics
/// If `block` is 0.
pub fn fixed_blocks(n: usize, block: usize) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    assert!(block > 0, "a block must hold at least one point");
    (0..n.div_ceil(block)).map(move |i| block_range(n, block, i))
}

fn block_range(n: usize, block: usize, index: usize) -> Range<usize> {
    index * block..((index + 1) * block).min(n)
}

/// Reduces `0..n` block by block on all threads: `map` makes each block's value, `combine` joins two neighbours.
///
/// The tree of joins depends on `n` and `block` only, never on the threads, so the result does not either. `None` if
/// `n` is 0.
///
/// ```
/// use noisewright_numerics::summation::{blocked, sum};
/// let x = vec![0.1; 10_000];
/// let total = blocked(x.len(), 1024, |range| sum(&x[range]), |a, b| a + b);
/// assert!((total.unwrap() - 1000.0).abs() < 1e-10);
/// ```
///
/// # Panics
/// If `block` is 0.
pub fn blocked<T: Send>(
    n: usize,
    block: usize,
    map: impl Fn(Range<usize>) -> T + Sync,
    combine: impl Fn(T, T) -> T + Sync,
) -> Option<T> {
    let always = |range| Ok::<T, Infallible>(map(range));
    let Ok(total) = try_blocked(n, block, always, combine);
    total
}

/// The same where a block may have no value: the error of the first such block, whatever the threads. Blocks after one
/// that has failed are not begun.
///
/// ```
/// use noisewright_numerics::summation::try_blocked;
/// let odd = |range: std::ops::Range<usize>| if range.start < 60 { Ok(range.len()) } else { Err(range.start) };
/// assert_eq!(try_blocked(50, 10, odd, |a, b| a + b), Ok(Some(50)));
/// assert_eq!(try_blocked(1000, 10, odd, |a, b| a + b), Err(60));
/// ```
///
/// # Errors
/// Those of `map`.
///
/// # Panics
/// If `block` is 0.
pub fn try_blocked<T: Send, E: Send>(
    n: usize,
    block: usize,
    map: impl Fn(Range<usize>) -> Result<T, E> + Sync,
    combine: impl Fn(T, T) -> T + Sync,
) -> Result<Option<T>, E> {
    let count = fixed_blocks(n, block).len();
    if count < 2 {
        return (count == 1).then(|| map(0..n)).transpose();
    }
    let (sums, first) = (Vec::from_iter((0..count).map(|_| Slot::default())), FirstError::default());
    let leaf = |index: usize| {
        if let Some(value) = first.unless_failed(index, || map(block_range(n, block, index)).map(Some)) {
            sums[index].put(value);
        }
    };
    // A block is left out only where one before it has failed, whose error is returned.
    let node = |left: usize, right: usize| {
        if let (Some(a), Some(b)) = (sums[left].take(), sums[right].take()) {
            sums[left].put(combine(a, b));
        }
    };
    tree(0..count, &leaf, &node);
    first.into_result()?;
    Ok(sums.into_iter().next().and_then(Slot::into_inner))
}
