//! AVX2 and AVX-512: the only unsafe code of the project.
//!
//! Soundness rests on one rule: a value of [`Avx2`] or [`Avx512`] is made by `detect` alone, after the processor has
//! reported the features, and every intrinsic is reached through such a value.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::dispatch::Task;
use super::simd::Simd;

const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5·2⁵²: its low bits show the integer that was added
const EXPONENT_BIAS: f64 = 1023.0;
const TWO_52: f64 = 4_503_599_627_370_496.0;
const ONE_BITS: i64 = 0x3ff0_0000_0000_0000;
const SQRT_HALF_BITS: i64 = 0x3fe6_a09e_667f_3bcd;
const FRACTION_BITS: i64 = 0x000f_ffff_ffff_ffff;

/// Proof that AVX2 and FMA are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// Proof that AVX-512F is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }

    /// Runs a task compiled for this instruction set.
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,fma")]
        fn inner<T: Task>(s: Avx2, task: T) -> T::Output {
            task.run(s)
        }
        // SAFETY: `self` proves the features that `inner` enables.
        unsafe { inner(self, task) }
    }
}

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && Avx2::detect().is_some()).then_some(Self(()))
    }

    /// Runs a task compiled for this instruction set.
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx2,fma")]
        fn inner<T: Task>(s: Avx512, task: T) -> T::Output {
            task.run(s)
        }
        // SAFETY: `self` proves the features that `inner` enables.
        unsafe { inner(self, task) }
    }
}

/// Methods that are one intrinsic each.
macro_rules! intrinsics {
    ($v:ty; $($name:ident($($argument:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($argument: $v),*) -> $v {
            // SAFETY: `self` proves the instruction set; the intrinsic touches registers only.
            unsafe { $intrinsic($($argument),*) }
        }
    )*};
}

impl Simd for Avx2 {
    const WIDTH: usize = 4;
    type V = __m256d;
    type M = __m256d;

    intrinsics! { __m256d;
        add(a, b) = _mm256_add_pd;
        sub(a, b) = _mm256_sub_pd;
        mul(a, b) = _mm256_mul_pd;
        div(a, b) = _mm256_div_pd;
        mul_add(a, b, c) = _mm256_fmadd_pd;
        max(a, b) = _mm256_max_pd;
        min(a, b) = _mm256_min_pd;
    }

    #[inline(always)]
    fn splat(self, x: f64) -> __m256d {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm256_set1_pd(x) }
    }
    #[inline(always)]
    fn load(self, x: &[f64]) -> __m256d {
        let x = &x[..4];
        // SAFETY: `self` proves the instruction set, and `x` has four numbers to read; no alignment is asked for.
        unsafe { _mm256_loadu_pd(x.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, v: __m256d, out: &mut [f64]) {
        let out = &mut out[..4];
        // SAFETY: `self` proves the instruction set, and `out` has room for four numbers; no alignment is asked for.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn abs(self, a: __m256d) -> __m256d {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), a) }
    }
    #[inline(always)]
    fn less(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(a, b) }
    }
    #[inline(always)]
    fn select(self, choice: __m256d, yes: __m256d, no: __m256d) -> __m256d {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm256_blendv_pd(no, yes, choice) }
    }
    #[inline(always)]
    fn any(self, choice: __m256d) -> bool {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm256_movemask_pd(choice) != 0 }
    }
    #[inline(always)]
    fn all(self, choice: __m256d) -> bool {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm256_movemask_pd(choice) == 0b1111 }
    }
    /// By two factors of half the exponent, as 2^n itself may not be a double; only the second product rounds.
    #[inline(always)]
    fn scale(self, a: __m256d, n: __m256d) -> __m256d {
        let rounder = self.splat(ROUNDER);
        let first = self.sub(self.mul_add(n, self.splat(0.5), rounder), rounder);
        let second = self.sub(n, first);
        let power = |n: __m256d| {
            let shown = self.add(n, self.splat(ROUNDER + EXPONENT_BIAS));
            // SAFETY: `self` proves the instruction set.
            unsafe { _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_castpd_si256(shown))) }
        };
        self.mul(self.mul(a, power(first)), power(second))
    }
    #[inline(always)]
    fn split(self, x: __m256d) -> (__m256d, __m256d) {
        // SAFETY: `self` proves the instruction set.
        let (fraction, biased) = unsafe {
            let bits = _mm256_castpd_si256(x);
            let moved = _mm256_add_epi64(bits, _mm256_set1_epi64x(ONE_BITS - SQRT_HALF_BITS));
            let fraction = _mm256_and_si256(moved, _mm256_set1_epi64x(FRACTION_BITS));
            let fraction = _mm256_add_epi64(fraction, _mm256_set1_epi64x(SQRT_HALF_BITS));
            let exponent = _mm256_srli_epi64::<52>(moved);
            let shown = _mm256_or_si256(exponent, _mm256_castpd_si256(_mm256_set1_pd(TWO_52)));
            (_mm256_castsi256_pd(fraction), _mm256_castsi256_pd(shown))
        };
        (fraction, self.sub(biased, self.splat(TWO_52 + EXPONENT_BIAS)))
    }
}

impl Simd for Avx512 {
    const WIDTH: usize = 8;
    type V = __m512d;
    type M = __mmask8;

    intrinsics! { __m512d;
        add(a, b) = _mm512_add_pd;
        sub(a, b) = _mm512_sub_pd;
        mul(a, b) = _mm512_mul_pd;
        div(a, b) = _mm512_div_pd;
        mul_add(a, b, c) = _mm512_fmadd_pd;
        max(a, b) = _mm512_max_pd;
        min(a, b) = _mm512_min_pd;
        abs(a) = _mm512_abs_pd;
        scale(a, n) = _mm512_scalef_pd;
    }

    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm512_set1_pd(x) }
    }
    #[inline(always)]
    fn load(self, x: &[f64]) -> __m512d {
        let x = &x[..8];
        // SAFETY: `self` proves the instruction set, and `x` has eight numbers to read; no alignment is asked for.
        unsafe { _mm512_loadu_pd(x.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, v: __m512d, out: &mut [f64]) {
        let out = &mut out[..8];
        // SAFETY: `self` proves the instruction set, and `out` has room for eight numbers; no alignment is asked for.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn less(self, a: __m512d, b: __m512d) -> __mmask8 {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b) }
    }
    #[inline(always)]
    fn select(self, choice: __mmask8, yes: __m512d, no: __m512d) -> __m512d {
        // SAFETY: `self` proves the instruction set.
        unsafe { _mm512_mask_blend_pd(choice, no, yes) }
    }
    #[inline(always)]
    fn any(self, choice: __mmask8) -> bool {
        choice != 0
    }
    #[inline(always)]
    fn all(self, choice: __mmask8) -> bool {
        choice == __mmask8::MAX
    }
    #[inline(always)]
    fn split(self, x: __m512d) -> (__m512d, __m512d) {
        // SAFETY: `self` proves the instruction set.
        let (fraction, biased) = unsafe {
            let bits = _mm512_castpd_si512(x);
            let moved = _mm512_add_epi64(bits, _mm512_set1_epi64(ONE_BITS - SQRT_HALF_BITS));
            let fraction = _mm512_and_si512(moved, _mm512_set1_epi64(FRACTION_BITS));
            let fraction = _mm512_add_epi64(fraction, _mm512_set1_epi64(SQRT_HALF_BITS));
            let exponent = _mm512_srli_epi64::<52>(moved);
            let shown = _mm512_or_si512(exponent, _mm512_castpd_si512(_mm512_set1_pd(TWO_52)));
            (_mm512_castsi512_pd(fraction), _mm512_castsi512_pd(shown))
        };
        (fraction, self.sub(biased, self.splat(TWO_52 + EXPONENT_BIAS)))
    }
}
