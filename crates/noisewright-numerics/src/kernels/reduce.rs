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

/// `[Σ (σ − center), Σ (σ − center)², Σ σ(1 − σ), Σ σ(1 − σ)(1 − 2σ)]` with `σ = 1 / (1 + e^−(x[i] − shift))`: a sum
/// with its variance and its first two derivatives, for a third-order step of Bennett's acceptance ratio.
///
/// The center keeps the digits of a variance that is small beside the square of the mean.
///
/// ```
/// use noisewright_numerics::kernels::sum_sigmoid_moments;
/// assert_eq!(sum_sigmoid_moments(&[3.0, 3.0], 3.0, 0.5), [0.0, 0.0, 0.5, 0.0]);
/// ```
#[must_use]
pub fn sum_sigmoid_moments(x: &[f64], shift: f64, center: f64) -> [f64; 4] {
    dispatch(Reduce { x, terms: SigmoidMoments { shift, center } })
}

/// `[Σ (h − center), Σ (h − center)², Σ (h² − center²), Σ (h² − center²)²]` with `h = e^(rate·(x[i] − shift))`: the
/// moments of a weight and of its square from one exponential.
///
/// ```
/// use noisewright_numerics::kernels::sum_exp_moments;
/// assert_eq!(sum_exp_moments(&[2.0, f64::NEG_INFINITY], 2.0, 0.5, 1.0), [-1.0, 1.0, -1.0, 1.0]);
/// ```
#[must_use]
pub fn sum_exp_moments(x: &[f64], shift: f64, rate: f64, center: f64) -> [f64; 4] {
    dispatch(Reduce { x, terms: ExpMoments { shift, rate, center } })
}

/// Terms of `N` sums at one vector of numbers.
trait Terms<const N: usize>: Copy {
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; N];
}

#[derive(Clone, Copy)]
struct ExpTerms(f64);

impl Terms<1> for ExpTerms {
    #[inline(always)]
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; 1] {
        [s.exp(s.sub(x, s.splat(self.0)))]
    }
}

#[derive(Clone, Copy)]
struct SigmoidTerms(f64);

impl Terms<2> for SigmoidTerms {
    #[inline(always)]
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; 2] {
        sigmoid_and_slope(s, s.sub(x, s.splat(self.0)))
    }
}

/// `[σ(g), σ(g)(1 − σ(g))]`, both to full relative accuracy.
#[inline(always)]
fn sigmoid_and_slope<S: Simd>(s: S, g: S::V) -> [S::V; 2] {
    let e = functions::exp_minus_abs(s, g);
    let one = s.splat(1.0);
    let inverse = s.div(one, s.add(one, e));
    let small = s.mul(e, inverse);
    let sigmoid = s.select(s.less(g, s.splat(0.0)), small, inverse);
    [sigmoid, s.mul(small, inverse)]
}

#[derive(Clone, Copy)]
struct SigmoidMoments {
    shift: f64,
    center: f64,
}

impl Terms<4> for SigmoidMoments {
    #[inline(always)]
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; 4] {
        let [sigmoid, slope] = sigmoid_and_slope(s, s.sub(x, s.splat(self.shift)));
        let above = s.sub(sigmoid, s.splat(self.center));
        let bend = s.mul(slope, s.sub(s.splat(1.0), s.add(sigmoid, sigmoid)));
        [above, s.mul(above, above), slope, bend]
    }
}

#[derive(Clone, Copy)]
struct ExpMoments {
    shift: f64,
    rate: f64,
    center: f64,
}

impl Terms<4> for ExpMoments {
    #[inline(always)]
    fn at<S: Simd>(self, s: S, x: S::V) -> [S::V; 4] {
        let h = s.exp(s.mul(s.splat(self.rate), s.sub(x, s.splat(self.shift))));
        let center = s.splat(self.center);
        let above = s.sub(h, center);
        let square_above = s.sub(s.mul(h, h), s.mul(center, center));
        [above, s.mul(above, above), square_above, s.mul(square_above, square_above)]
    }
}

struct Reduce<'a, T> {
    x: &'a [f64],
    terms: T,
}

/// The sums of a [`Reduce`], one number each.
trait Sums<const N: usize> {
    fn sums<S: Simd>(&self, s: S) -> [f64; N];
}

impl<T: Terms<N>, const N: usize> Sums<N> for Reduce<'_, T> {
    #[inline(always)]
    fn sums<S: Simd>(&self, s: S) -> [f64; N] {
        let mut totals = [Compensated::default(); N];
        for block in self.x.chunks(BLOCK) {
            let lanes = block_lanes(s, block, self.terms);
            for (total, lanes) in totals.iter_mut().zip(lanes) {
                total.add(pairwise(lanes));
            }
        }
        totals.map(Compensated::value)
    }
}

macro_rules! tasks {
    ($($terms:ty => $count:literal;)*) => {$(
        impl Task for Reduce<'_, $terms> {
            type Output = [f64; $count];
            #[inline(always)]
            fn run<S: Simd>(self, s: S) -> [f64; $count] {
                self.sums(s)
            }
        }
    )*};
}

tasks! {
    ExpTerms => 1;
    SigmoidTerms => 2;
    SigmoidMoments => 4;
    ExpMoments => 4;
}

/// The partial sums of one block, lane by lane.
#[inline(always)]
fn block_lanes<S: Simd, T: Terms<N>, const N: usize>(s: S, block: &[f64], terms: T) -> [[f64; STRIDE]; N] {
    // As many vectors as make up a stride; arrays of four leave the spare ones untouched on AVX-512.
    let vectors = STRIDE / S::WIDTH;
    let mut sums = [[s.splat(0.0); 4]; N];
    let mut chunks = block.chunks_exact(STRIDE);
    for chunk in &mut chunks {
        for j in 0..vectors {
            let at = terms.at(s, s.load(&chunk[j * S::WIDTH..]));
            for k in 0..N {
                sums[k][j] = s.add(sums[k][j], at[k]);
            }
        }
    }
    let mut lanes = [[0.0; STRIDE]; N];
    for (lanes, sums) in lanes.iter_mut().zip(sums) {
        for j in 0..vectors {
            s.store(sums[j], &mut lanes[j * S::WIDTH..]);
        }
    }
    add_tail(s, chunks.remainder(), terms, &mut lanes);
    lanes
}

/// Adds the last numbers, fewer than a stride, through padded vectors whose padding is not counted.
#[inline(always)]
fn add_tail<S: Simd, T: Terms<N>, const N: usize>(
    s: S,
    rest: &[f64],
    terms: T,
    lanes: &mut [[f64; STRIDE]; N],
) {
    for (index, part) in rest.chunks(S::WIDTH).enumerate() {
        let mut padded = [0.0; super::WIDEST];
        padded[..part.len()].copy_from_slice(part);
        let at = terms.at(s, s.load(&padded));
        for (lanes, at) in lanes.iter_mut().zip(at) {
            s.store(at, &mut padded);
            for i in 0..part.len() {
                lanes[index * S::WIDTH + i] += padded[i];
            }
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
