//! Elementary functions over slices, with the instruction set (AVX-512, AVX2 or none) chosen while the program runs.
//!
//! `exp` and `ln` are within one unit in the last place, the logistic functions within three, over the whole range:
//! subnormal numbers, infinities and `NaN` included. The result for a number does not depend on where in a slice it
//! stands, so work may be cut into blocks anywhere; AVX2 and AVX-512 agree to the bit.
//!
//! ```
//! use noisewright_numerics::kernels;
//! let mut out = [0.0; 3];
//! kernels::softplus(&[-700.0, 0.0, 800.0], &mut out);
//! assert_eq!(out, [(-700.0_f64).exp(), 2.0_f64.ln(), 800.0]);
//! ```

mod dispatch;
mod functions;
mod fused;
mod reduce;
mod simd;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use dispatch::{Backend, backend, with_backend};
pub use fused::{all_finite, any_nan, in_vectors, ln_sum_exp_of_columns, logistic_terms};
pub use reduce::{max, sum_exp, sum_exp_moments, sum_sigmoid, sum_sigmoid_moments};

pub(crate) use dispatch::{Task, dispatch};
pub(crate) use simd::Simd;

/// `out[i] = e^x[i]`, gracefully through the subnormal numbers to 0 below −745.13.
///
/// # Panics
/// If the slices differ in length.
pub fn exp(x: &[f64], out: &mut [f64]) {
    dispatch(Map { x, out, function: Exp });
}

/// `x[i] ← e^x[i]`.
pub fn exp_in_place(x: &mut [f64]) {
    dispatch(MapInPlace { x, function: Exp });
}

/// `out[i] = ln x[i]`: −∞ at ±0, `NaN` below.
///
/// # Panics
/// If the slices differ in length.
pub fn ln(x: &[f64], out: &mut [f64]) {
    dispatch(Map { x, out, function: Ln });
}

/// `out[i] = 1 / (1 + e^−g[i])`, to full relative accuracy as `g → −∞` too.
///
/// # Panics
/// If the slices differ in length.
pub fn sigmoid(g: &[f64], out: &mut [f64]) {
    dispatch(Map { x: g, out, function: Sigmoid });
}

/// `out[i] = ln(1 + e^g[i])`, to full relative accuracy as `g → −∞` too.
///
/// # Panics
/// If the slices differ in length.
pub fn softplus(g: &[f64], out: &mut [f64]) {
    dispatch(Map { x: g, out, function: Softplus });
}

/// `out[i] = −ln(1 + e^−g[i])`, the logarithm of [`sigmoid`].
///
/// # Panics
/// If the slices differ in length.
pub fn ln_sigmoid(g: &[f64], out: &mut [f64]) {
    dispatch(Map { x: g, out, function: LnSigmoid });
}

/// [`softplus`] and [`sigmoid`] in one pass, from one exponential; the same bits as the two apart.
///
/// # Panics
/// If the slices differ in length.
pub fn softplus_sigmoid(g: &[f64], softplus: &mut [f64], sigmoid: &mut [f64]) {
    dispatch(SoftplusSigmoid { g, softplus, sigmoid });
}

/// The widest vector of any instruction set.
const WIDEST: usize = 8;

/// A function of one number, applied lane by lane.
trait Pointwise: Copy {
    fn apply<S: Simd>(self, s: S, x: S::V) -> S::V;
}

macro_rules! pointwise {
    ($($name:ident |$s:ident, $x:ident| $body:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;
        impl Pointwise for $name {
            #[inline(always)]
            fn apply<S: Simd>(self, $s: S, $x: S::V) -> S::V {
                $body
            }
        }
    )*};
}

pointwise! {
    Exp |s, x| s.exp(x);
    Ln |s, x| s.ln(x);
    Sigmoid |s, g| functions::sigmoid_from(s, g, functions::exp_minus_abs(s, g));
    Softplus |s, g| functions::softplus_from(s, g, functions::exp_minus_abs(s, g));
    LnSigmoid |s, g| {
        let zero = s.splat(0.0);
        s.sub(zero, Softplus.apply(s, s.sub(zero, g)))
    };
}

struct Map<'a, F> {
    x: &'a [f64],
    out: &'a mut [f64],
    function: F,
}

impl<F: Pointwise> Task for Map<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        assert_eq!(self.x.len(), self.out.len(), "input and output must have one length");
        let mut input = self.x.chunks_exact(S::WIDTH);
        let mut output = self.out.chunks_exact_mut(S::WIDTH);
        for (x, out) in (&mut input).zip(&mut output) {
            s.store(self.function.apply(s, s.load(x)), out);
        }
        let rest = output.into_remainder();
        rest.copy_from_slice(input.remainder());
        map_tail(s, rest, self.function);
    }
}

struct MapInPlace<'a, F> {
    x: &'a mut [f64],
    function: F,
}

impl<F: Pointwise> Task for MapInPlace<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut chunks = self.x.chunks_exact_mut(S::WIDTH);
        for x in &mut chunks {
            s.store(self.function.apply(s, s.load(x)), x);
        }
        map_tail(s, chunks.into_remainder(), self.function);
    }
}

/// Fewer numbers than a vector holds, through a padded vector: the same arithmetic as in the middle of a slice.
#[inline(always)]
fn map_tail<S: Simd>(s: S, x: &mut [f64], function: impl Pointwise) {
    if x.is_empty() {
        return;
    }
    let mut padded = pad(x);
    let v = function.apply(s, s.load(&padded));
    s.store(v, &mut padded);
    x.copy_from_slice(&padded[..x.len()]);
}

/// The numbers, then ones, which no function here takes a slow path for.
#[inline(always)]
fn pad(x: &[f64]) -> [f64; WIDEST] {
    let mut padded = [1.0; WIDEST];
    padded[..x.len()].copy_from_slice(x);
    padded
}

struct SoftplusSigmoid<'a> {
    g: &'a [f64],
    softplus: &'a mut [f64],
    sigmoid: &'a mut [f64],
}

impl Task for SoftplusSigmoid<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        assert_eq!(self.g.len(), self.softplus.len(), "input and output must have one length");
        assert_eq!(self.g.len(), self.sigmoid.len(), "input and output must have one length");
        let mut input = self.g.chunks_exact(S::WIDTH);
        let mut first = self.softplus.chunks_exact_mut(S::WIDTH);
        let mut second = self.sigmoid.chunks_exact_mut(S::WIDTH);
        for ((g, softplus), sigmoid) in (&mut input).zip(&mut first).zip(&mut second) {
            let (a, b) = functions::softplus_sigmoid(s, s.load(g));
            s.store(a, softplus);
            s.store(b, sigmoid);
        }
        let rest = input.remainder();
        if !rest.is_empty() {
            let mut padded = pad(rest);
            let (a, b) = functions::softplus_sigmoid(s, s.load(&padded));
            s.store(a, &mut padded);
            first.into_remainder().copy_from_slice(&padded[..rest.len()]);
            s.store(b, &mut padded);
            second.into_remainder().copy_from_slice(&padded[..rest.len()]);
        }
    }
}
