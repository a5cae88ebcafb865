//! What a vector of doubles can do: one trait, so that every kernel is written once.

use super::functions;

/// An instruction set that this processor is known to have; holding a value of the type is the proof.
///
/// Comparisons with `NaN` are false; `max` and `min` return their second argument if either is `NaN`.
pub(crate) trait Simd: Copy {
    /// Lanes in one vector.
    const WIDTH: usize;
    /// A vector.
    type V: Copy;
    /// A choice per lane.
    type M: Copy;

    fn splat(self, x: f64) -> Self::V;
    /// The first [`Self::WIDTH`] numbers of the slice, which must have as many.
    fn load(self, x: &[f64]) -> Self::V;
    /// Writes the first [`Self::WIDTH`] numbers of the slice, which must have as many.
    fn store(self, v: Self::V, out: &mut [f64]);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a·b + c`, rounded once where the instruction set can.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    fn abs(self, a: Self::V) -> Self::V;
    fn less(self, a: Self::V, b: Self::V) -> Self::M;
    fn select(self, choice: Self::M, yes: Self::V, no: Self::V) -> Self::V;
    fn any(self, choice: Self::M) -> bool;
    fn all(self, choice: Self::M) -> bool;
    /// `a · 2^n` for integer `n`, |n| ≤ 1100, rounded once also into the subnormal numbers.
    fn scale(self, a: Self::V, n: Self::V) -> Self::V;
    /// `(m, k)` with `x = m·2^k` and `√½ ≤ m < √2`, for positive normal `x`.
    fn split(self, x: Self::V) -> (Self::V, Self::V);

    #[inline(always)]
    fn exp(self, x: Self::V) -> Self::V {
        functions::exp(self, x)
    }
    #[inline(always)]
    fn ln(self, x: Self::V) -> Self::V {
        functions::ln(self, x)
    }
    /// `ln(1 + x)` for `0 ≤ x ≤ 1`.
    #[inline(always)]
    fn ln_1p_unit(self, x: Self::V) -> Self::V {
        functions::ln_1p_unit(self, x)
    }
}

/// Plain loops over four numbers, for any processor; the elementary functions are the standard library's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

#[inline(always)]
fn each(a: [f64; 4], f: impl Fn(f64) -> f64) -> [f64; 4] {
    std::array::from_fn(|i| f(a[i]))
}

#[inline(always)]
fn pair(a: [f64; 4], b: [f64; 4], f: impl Fn(f64, f64) -> f64) -> [f64; 4] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl Simd for Portable {
    const WIDTH: usize = 4;
    type V = [f64; 4];
    type M = [bool; 4];

    #[inline(always)]
    fn splat(self, x: f64) -> [f64; 4] {
        [x; 4]
    }
    #[inline(always)]
    fn load(self, x: &[f64]) -> [f64; 4] {
        std::array::from_fn(|i| x[i])
    }
    #[inline(always)]
    fn store(self, v: [f64; 4], out: &mut [f64]) {
        out[..4].copy_from_slice(&v);
    }
    #[inline(always)]
    fn add(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        pair(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        pair(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        pair(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        pair(a, b, |a, b| a / b)
    }
    /// Rounded twice: a fused operation in software would cost more than everything around it.
    #[inline(always)]
    fn mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        self.add(self.mul(a, b), c)
    }
    #[inline(always)]
    fn max(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        pair(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        pair(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn abs(self, a: [f64; 4]) -> [f64; 4] {
        each(a, f64::abs)
    }
    #[inline(always)]
    fn less(self, a: [f64; 4], b: [f64; 4]) -> [bool; 4] {
        std::array::from_fn(|i| a[i] < b[i])
    }
    #[inline(always)]
    fn select(self, choice: [bool; 4], yes: [f64; 4], no: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|i| if choice[i] { yes[i] } else { no[i] })
    }
    #[inline(always)]
    fn any(self, choice: [bool; 4]) -> bool {
        choice.contains(&true)
    }
    #[inline(always)]
    fn all(self, choice: [bool; 4]) -> bool {
        !choice.contains(&false)
    }
    #[inline(always)]
    fn scale(self, a: [f64; 4], n: [f64; 4]) -> [f64; 4] {
        pair(a, n, |a, n| libm::scalbn(a, n as i32))
    }
    #[inline(always)]
    fn split(self, x: [f64; 4]) -> ([f64; 4], [f64; 4]) {
        let halves = x.map(|x| {
            let (m, k) = libm::frexp(x);
            if m < std::f64::consts::FRAC_1_SQRT_2 { (2.0 * m, f64::from(k - 1)) } else { (m, f64::from(k)) }
        });
        (halves.map(|h| h.0), halves.map(|h| h.1))
    }
    #[inline(always)]
    fn exp(self, x: [f64; 4]) -> [f64; 4] {
        each(x, f64::exp)
    }
    #[inline(always)]
    fn ln(self, x: [f64; 4]) -> [f64; 4] {
        each(x, f64::ln)
    }
    #[inline(always)]
    fn ln_1p_unit(self, x: [f64; 4]) -> [f64; 4] {
        each(x, f64::ln_1p)
    }
}
