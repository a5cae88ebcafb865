//! Sums of elementary functions over slices, without storing the terms.
//!
//! Each block of [`BLOCK`] numbers is added up in [`STRIDE`] interleaved partial sums, whatever the instruction set, and
//! these pairwise; the blocks' sums are added with compensation. So the order is fixed and the rounding error stays
//! at some tens of units in the last place for any length.

use super::dispatch::{Task, dispatch};
use super::functions;
use super::simd::Simd;
use crate::summation::Compensated;

/// Numbers per block.
const BLOCK: usize = 1024;
/// Interleaved partial sums per block: two vectors of AVX-512, four of AVX2.
const STRIDE: usize = 16;

/// `Σ e^(x[i] − shift)` for finite `shift`.
///
/// ```
/// use noisewright_numerics::kernels::sum_exp;
/// assert_eq!(sum_exp(&[1000.0, 1000.0, f64::NEG_INFINITY], 1000.0), 2.0);
/// ```
#[must_use]
pub fn sum_exp(x: &[f64], shift: f64) -> f64 {
    dispatch(Reduce { x, terms: ExpTerms(shift) })[0]
}

/// `(Σ σ, Σ σ(1 − σ))` with `σ = 1 / (1 + e^−(ell[i] − shift))`: what a Newton step of Bennett's acceptance ratio needs
/// (MATH §4), in one pass.
///
/// ```
/// use noisewright_numerics::kernels::sum_sigmoid;
/// assert_eq!(sum_sigmoid(&[3.0, 3.0], 3.0), (1.0, 0.5));
/// ```
#[must_use]
pub fn sum_sigmoid(ell: &[f64], shift: f64) -> (f64, f64) {
    let [sum, slope] = dispatch(Reduce { x: ell, terms: SigmoidTerms(shift) });
    (sum, slope)
}

/// The largest number, ignoring `NaN`; −∞ for an empty slice.
#[must_use]
pub fn max(x: &[f64]) -> f64 {
    dispatch(Max(x))
}

/// Terms of two sums at one vector of numbers.
trait Terms: Copy {
    /// How many of the two sums are asked for; the other stays 0.
    const SUMS: usize;
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; 2];
}

#[derive(Clone, Copy)]
struct ExpTerms(f64);

impl Terms for ExpTerms {
    const SUMS: usize = 1;
    #[inline(always)]
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; 2] {
        [s.exp(s.sub(x, s.splat(self.0))), s.splat(0.0)]
    }
}

#[derive(Clone, Copy)]
struct SigmoidTerms(f64);

impl Terms for SigmoidTerms {
    const SUMS: usize = 2;
    #[inline(always)]
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; 2] {
        let g = s.sub(x, s.splat(self.0));
        let e = functions::exp_minus_abs(s, g);
        let one = s.splat(1.0);
        let inverse = s.div(one, s.add(one, e));
        let small = s.mul(e, inverse);
        let sigmoid = s.select(s.less(g, s.splat(0.0)), small, inverse);
        [sigmoid, s.mul(small, inverse)]
    }
}

struct Reduce<'a, T> {
    x: &'a [f64],
    terms: T,
}

impl<T: Terms> Task for Reduce<'_, T> {
    type Output = [f64; 2];
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [f64; 2] {
        let mut totals = [Compensated::default(); 2];
        for block in self.x.chunks(BLOCK) {
            let lanes = block_lanes(s, block, self.terms);
            for (total, lanes) in totals.iter_mut().zip(lanes).take(T::SUMS) {
                total.add(pairwise(lanes));
            }
        }
        totals.map(Compensated::value)
    }
}

/// The partial sums of one block, lane by lane.
#[inline(always)]
fn block_lanes<S: Simd, T: Terms>(s: S, block: &[f64], terms: T) -> [[f64; STRIDE]; 2] {
    // As many vectors as make up a stride; arrays of four leave the spare ones untouched on AVX-512.
    let vectors = STRIDE / S::WIDTH;
    let mut sums = [[s.splat(0.0); 4]; 2];
    let mut chunks = block.chunks_exact(STRIDE);
    for chunk in &mut chunks {
        for j in 0..vectors {
            let [a, b] = terms.at(s, s.load(&chunk[j * S::WIDTH..]));
            sums[0][j] = s.add(sums[0][j], a);
            sums[1][j] = s.add(sums[1][j], b);
        }
    }
    let mut lanes = [[0.0; STRIDE]; 2];
    for (lanes, sums) in lanes.iter_mut().zip(sums) {
        for j in 0..vectors {
            s.store(sums[j], &mut lanes[j * S::WIDTH..]);
        }
    }
    add_tail(s, chunks.remainder(), terms, &mut lanes);
    lanes
}

/// Adds the last numbers, fewer than a stride, through a padded vector whose padding is not counted.
#[inline(always)]
fn add_tail<S: Simd, T: Terms>(s: S, rest: &[f64], terms: T, lanes: &mut [[f64; STRIDE]; 2]) {
    if rest.is_empty() {
        return;
    }
    let mut padded = [0.0; STRIDE];
    padded[..rest.len()].copy_from_slice(rest);
    let mut values = [[0.0; STRIDE]; 2];
    for start in (0..STRIDE).step_by(S::WIDTH) {
        let [a, b] = terms.at(s, s.load(&padded[start..]));
        s.store(a, &mut values[0][start..]);
        s.store(b, &mut values[1][start..]);
    }
    for (lanes, values) in lanes.iter_mut().zip(values) {
        for i in 0..rest.len() {
            lanes[i] += values[i];
        }
    }
}

#[inline(always)]
fn pairwise(mut lanes: [f64; STRIDE]) -> f64 {
    let mut width = STRIDE;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
    }
    lanes[0]
}

struct Max<'a>(&'a [f64]);

impl Task for Max<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let mut best = [s.splat(f64::NEG_INFINITY); 4];
        let mut chunks = self.0.chunks_exact(4 * S::WIDTH);
        for chunk in &mut chunks {
            for j in 0..4 {
                // The running value stands second: it is what remains where the number is NaN.
                best[j] = s.max(s.load(&chunk[j * S::WIDTH..]), best[j]);
            }
        }
        let mut lanes = [f64::NEG_INFINITY; super::WIDEST];
        s.store(s.max(s.max(best[0], best[1]), s.max(best[2], best[3])), &mut lanes);
        lanes.iter().chain(chunks.remainder()).copied().fold(f64::NEG_INFINITY, f64::max)
    }
}
