//! The elementary functions of one vector, by range reduction and polynomial.
//!
//! Every lane goes through the same exactly rounded operations whatever the width, so AVX2 and AVX-512 agree to the bit.
//! The polynomials are fits made by `tests/references/kernels_polynomials.py`.

use super::simd::Simd;

/// The leading 33 bits of ln 2: products with an exponent are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Adding it rounds to an integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5·2⁵²

/// `(e^r − 1 − r)/r²` for |r| ≤ ½ ln 2.
const EXP: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_7,
    0.041_666_666_666_666_67,
    0.008_333_333_333_326_141,
    0.001_388_888_888_888_375_2,
    0.000_198_412_698_748_004_93,
    2.480_158_732_553_336_3e-5,
    2.755_725_542_574_618e-6,
    2.755_727_366_134_845e-7,
    2.510_520_637_406_331_4e-8,
    2.091_467_937_665_984_5e-9,
];

/// `(ln((1+s)/(1−s)) − 2s)/s³` in powers of `s²`, for |s| ≤ 3 − √8, as ln needs it.
const LN: [f64; 7] = [
    0.666_666_666_666_667,
    0.399_999_999_998_995_05,
    0.285_714_286_259_754_87,
    0.222_222_111_347_950_34,
    0.181_828_891_252_650_25,
    0.153_317_216_004_462_24,
    0.146_164_496_864_007_95,
];

/// The same for |s| ≤ ⅓, as `ln(1 + x)` needs it on the whole unit interval.
const LN_1P: [f64; 11] = [
    0.666_666_666_666_666_6,
    0.399_999_999_999_995_25,
    0.285_714_285_716_001,
    0.222_222_221_982_367_7,
    0.181_818_198_979_627_14,
    0.153_845_439_648_605_5,
    0.133_351_786_314_492_57,
    0.117_342_790_613_031_97,
    0.108_451_783_948_800_15,
    0.074_921_437_955_507_67,
    0.156_305_778_009_228_5,
];

/// Polynomial with coefficients in ascending powers, as `even(x²) + x·odd(x²)`: two chains half as long as Horner's.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(s: S, coefficients: &[f64; N], x: S::V) -> S::V {
    let square = s.mul(x, x);
    let mut halves = [s.splat(0.0); 2];
    for k in (0..N).rev() {
        let c = s.splat(coefficients[k]);
        let half = &mut halves[k % 2];
        *half = if k + 2 < N { s.mul_add(*half, square, c) } else { c };
    }
    s.mul_add(x, halves[1], halves[0])
}

/// `e^x = 2^n e^r` with `n` the integer nearest `x / ln 2`.
#[inline(always)]
pub(super) fn exp<S: Simd>(s: S, x: S::V) -> S::V {
    // Beyond the clamps the result is 0 or ∞ all the same; x stands second, so that NaN passes.
    let x = s.min(s.splat(710.0), s.max(s.splat(-746.0), x));
    let rounder = s.splat(ROUNDER);
    let n = s.sub(s.mul_add(x, s.splat(std::f64::consts::LOG2_E), rounder), rounder);
    let r = s.mul_add(n, s.splat(-LN_2_HIGH), x);
    let r = s.mul_add(n, s.splat(-LN_2_LOW), r);
    let tail = s.mul_add(s.mul(r, r), polynomial(s, &EXP, r), r);
    s.scale(s.add(s.splat(1.0), tail), n)
}

/// `ln x = k ln 2 + ln m`, with special numbers mended afterwards.
#[inline(always)]
pub(super) fn ln<S: Simd>(s: S, x: S::V) -> S::V {
    let normal_from = s.splat(f64::MIN_POSITIVE);
    let infinity = s.splat(f64::INFINITY);
    if s.all(s.less(x, infinity)) && !s.any(s.less(x, normal_from)) {
        return ln_normal(s, x, s.splat(0.0));
    }
    let subnormal = s.less(x, normal_from);
    let raised = s.select(subnormal, s.mul(x, s.splat(18_014_398_509_481_984.0)), x); // 2⁵⁴
    let result = ln_normal(s, raised, s.select(subnormal, s.splat(-54.0), s.splat(0.0)));
    let zero = s.splat(0.0);
    let at_most_zero = s.select(s.less(x, zero), s.splat(f64::NAN), s.splat(f64::NEG_INFINITY));
    let positive = s.select(s.less(x, infinity), result, x);
    // What is neither above nor below zero is zero or NaN, and NaN is told by not being below ∞.
    let not_positive = s.select(s.less(x, infinity), at_most_zero, x);
    s.select(s.less(zero, x), positive, not_positive)
}

/// `ln(x · 2^shift)` for positive normal finite `x`.
#[inline(always)]
fn ln_normal<S: Simd>(s: S, x: S::V, shift: S::V) -> S::V {
    let (m, k) = s.split(x);
    let k = s.add(k, shift);
    let f = s.sub(m, s.splat(1.0));
    let (half_square, bend) = ln_1p_parts(s, f, &LN);
    // k ln2_high − ((f²/2 − (bend + k ln2_low)) − f): small terms first.
    let low = s.mul_add(k, s.splat(LN_2_LOW), bend);
    let rest = s.sub(s.sub(half_square, low), f);
    s.sub(s.mul(k, s.splat(LN_2_HIGH)), rest)
}

#[inline(always)]
pub(super) fn ln_1p_unit<S: Simd>(s: S, x: S::V) -> S::V {
    let (half_square, bend) = ln_1p_parts(s, x, &LN_1P);
    s.sub(x, s.sub(half_square, bend))
}

/// `(f²/2, b)` with `ln(1 + f) = f − (f²/2 − b)`: with `t = f/(2+f)`, `b = t (f²/2 + t²·P(t²))` (FreeBSD's form,
/// in which the rounding of `t` touches only the small term).
#[inline(always)]
fn ln_1p_parts<S: Simd, const N: usize>(s: S, f: S::V, coefficients: &[f64; N]) -> (S::V, S::V) {
    let t = s.div(f, s.add(s.splat(2.0), f));
    let z = s.mul(t, t);
    let half_square = s.mul(s.mul(s.splat(0.5), f), f);
    let bend = s.mul(t, s.mul_add(z, polynomial(s, coefficients, z), half_square));
    (half_square, bend)
}

/// `(softplus, sigmoid)` of one vector, from one exponential.
#[inline(always)]
pub(super) fn softplus_sigmoid<S: Simd>(s: S, g: S::V) -> (S::V, S::V) {
    let e = exp_minus_abs(s, g);
    (softplus_from(s, g, e), sigmoid_from(s, g, e))
}

/// `e^−|g|`, from which the logistic functions follow without overflow.
#[inline(always)]
pub(super) fn exp_minus_abs<S: Simd>(s: S, g: S::V) -> S::V {
    s.exp(s.sub(s.splat(0.0), s.abs(g)))
}

#[inline(always)]
pub(super) fn softplus_from<S: Simd>(s: S, g: S::V, e: S::V) -> S::V {
    s.add(s.max(g, s.splat(0.0)), s.ln_1p_unit(e))
}

#[inline(always)]
pub(super) fn sigmoid_from<S: Simd>(s: S, g: S::V, e: S::V) -> S::V {
    let one = s.splat(1.0);
    let top = s.select(s.less(g, s.splat(0.0)), e, one);
    s.div(top, s.add(one, e))
}
