//! Several steps in one pass over the rows, so that what lies between them never goes through memory. Every step rounds as it would alone:
//! the results are the bits of the steps one after the other.

use super::dispatch::{Task, dispatch};
use super::simd::Simd;
use super::{WIDEST, functions};
use crate::gram::Columns;

/// `out[i] = ln Σ_k e^(columns[k][i] + shifts[k])`: −∞ where every term is, +∞ where any is, `NaN` where any is.
///
/// ```
/// use noisewright_numerics::gram::Columns;
/// use noisewright_numerics::kernels::ln_sum_exp_of_columns;
/// let (mut out, none) = ([0.0; 2], f64::NEG_INFINITY);
/// ln_sum_exp_of_columns(Columns::new(&[0.0, none, 0.0, none], 2, 2, 2), &[1.0, 1.0], &mut out);
/// assert_eq!(out, [1.0 + 2.0_f64.ln(), none]);
/// ```
///
/// # Panics
/// If there is no column, or not one shift per column and one output per row.
pub fn ln_sum_exp_of_columns(columns: Columns<'_>, shifts: &[f64], out: &mut [f64]) {
    assert!(columns.columns() > 0, "there must be a column");
    assert_eq!(shifts.len(), columns.columns(), "there must be one shift per column");
    assert_eq!(out.len(), columns.rows(), "there must be one output per row");
    dispatch(LnSumExp { columns, shifts, out });
}

/// The terms of the logistic loss at `x = sign·(g + shift)`, `sign` being 1 or −1: `softplus(x)`, and its first and second derivatives in `g`,
/// `sign·σ(x)` and `σ(x)(1 − σ(x))`.
///
/// ```
/// use noisewright_numerics::kernels::logistic_terms;
/// let (mut value, mut first, mut second) = ([0.0], [0.0], [0.0]);
/// logistic_terms(&[0.5], -0.5, -1.0, [&mut value, &mut first, &mut second]);
/// assert_eq!((value, first, second), ([2.0_f64.ln()], [-0.5], [0.25]));
/// ```
///
/// # Panics
/// If the slices differ in length.
pub fn logistic_terms(g: &[f64], shift: f64, sign: f64, [value, first, second]: [&mut [f64]; 3]) {
    let same = [value.len(), first.len(), second.len()].iter().all(|length| *length == g.len());
    assert!(same, "input and outputs must have one length");
    dispatch(LogisticTerms { g, shift, sign, value, first, second });
}

/// What is done with a vector of rows: a trait and not a closure, which may not be inlined (see [`Task::run`]).
trait Vectors {
    /// With `count` rows from `row` on.
    fn at<S: Simd>(&mut self, s: S, row: usize, count: usize);
}

#[inline(always)]
fn each_vector<S: Simd>(s: S, rows: usize, work: &mut impl Vectors) {
    let full = rows / S::WIDTH * S::WIDTH;
    for row in (0..full).step_by(S::WIDTH) {
        work.at(s, row, S::WIDTH);
    }
    if full < rows {
        work.at(s, full, rows - full);
    }
}

/// `count` numbers from `row` on, ones after them.
#[inline(always)]
fn load<S: Simd>(s: S, x: &[f64], row: usize, count: usize) -> S::V {
    if count == S::WIDTH {
        return s.load(&x[row..row + S::WIDTH]);
    }
    let mut padded = [1.0; WIDEST];
    padded[..count].copy_from_slice(&x[row..row + count]);
    s.load(&padded)
}

#[inline(always)]
fn store<S: Simd>(s: S, v: S::V, out: &mut [f64], row: usize, count: usize) {
    if count == S::WIDTH {
        return s.store(v, &mut out[row..row + S::WIDTH]);
    }
    let mut padded = [0.0; WIDEST];
    s.store(v, &mut padded);
    out[row..row + count].copy_from_slice(&padded[..count]);
}

struct LnSumExp<'a> {
    columns: Columns<'a>,
    shifts: &'a [f64],
    out: &'a mut [f64],
}

impl Task for LnSumExp<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        each_vector(s, self.columns.rows(), &mut self);
    }
}

impl LnSumExp<'_> {
    #[inline(always)]
    fn term<S: Simd>(&self, s: S, k: usize, row: usize, count: usize) -> S::V {
        s.add(load(s, self.columns.column(k), row, count), s.splat(self.shifts[k]))
    }

    #[inline(always)]
    fn of_many<S: Simd>(&self, s: S, row: usize, count: usize) -> S::V {
        let mut top = s.splat(f64::NEG_INFINITY);
        for k in 0..self.shifts.len() {
            // A NaN is left out here, and comes back with its exponential.
            top = s.max(self.term(s, k, row, count), top);
        }
        // Beside an infinite term all exponentials are 0 or ∞ as they are.
        let zero = s.splat(0.0);
        let base = s.select(s.less(s.abs(top), s.splat(f64::INFINITY)), top, zero);
        let mut sum = zero;
        for k in 0..self.shifts.len() {
            sum = s.add(sum, s.exp(s.sub(self.term(s, k, row, count), base)));
        }
        s.add(s.ln(sum), base)
    }
}

impl Vectors for LnSumExp<'_> {
    #[inline(always)]
    fn at<S: Simd>(&mut self, s: S, row: usize, count: usize) {
        let sum = if self.shifts.len() == 2 {
            ln_sum_exp_of_two(s, self.term(s, 0, row, count), self.term(s, 1, row, count))
        } else {
            self.of_many(s, row, count)
        };
        store(s, sum, self.out, row, count);
    }
}

/// The exponential of the larger term less itself is one: there is one to compute. The same bits as those of many.
#[inline(always)]
fn ln_sum_exp_of_two<S: Simd>(s: S, a: S::V, b: S::V) -> S::V {
    // Of a NaN and a number `max` is the second argument and `min` too, so that the NaN is in one of both.
    let (high, low) = (s.max(a, b), s.min(b, a));
    let one = s.splat(1.0);
    // Zero, or NaN where the lower term is one: of two equal infinities the difference is no number.
    let bounded = s.min(one, s.max(s.splat(-1.0), low));
    let difference = s.select(s.less(low, high), s.sub(low, high), s.sub(bounded, bounded));
    s.add(s.ln(s.add(one, s.exp(difference))), high)
}

struct LogisticTerms<'a> {
    g: &'a [f64],
    shift: f64,
    sign: f64,
    value: &'a mut [f64],
    first: &'a mut [f64],
    second: &'a mut [f64],
}

impl Task for LogisticTerms<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        each_vector(s, self.g.len(), &mut self);
    }
}

impl Vectors for LogisticTerms<'_> {
    #[inline(always)]
    fn at<S: Simd>(&mut self, s: S, row: usize, count: usize) {
        let (sign, one) = (s.splat(self.sign), s.splat(1.0));
        let x = s.mul(sign, s.add(load(s, self.g, row, count), s.splat(self.shift)));
        let (softplus, sigmoid) = functions::softplus_sigmoid(s, x);
        store(s, softplus, self.value, row, count);
        store(s, s.mul(sigmoid, sign), self.first, row, count);
        store(s, s.mul(sigmoid, s.sub(one, sigmoid)), self.second, row, count);
    }
}

/// Runs plain loops as they are, compiled for the chosen instruction set: the same operations, several at a time.
///
/// Only what is inlined into `work` is: it should be loops over slices, without calls.
///
/// ```
/// use noisewright_numerics::kernels::in_vectors;
/// let (x, mut out) = ([1.0, 2.0, 3.0], [0.0; 3]);
/// in_vectors(|| out.iter_mut().zip(&x).for_each(|(o, x)| *o = x * x));
/// assert_eq!(out, [1.0, 4.0, 9.0]);
/// ```
#[inline(always)]
pub fn in_vectors<R>(work: impl FnOnce() -> R) -> R {
    dispatch(Loops(work))
}

struct Loops<F>(F);

impl<R, F: FnOnce() -> R> Task for Loops<F> {
    type Output = R;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> R {
        (self.0)()
    }
}

/// Whether all numbers are finite.
#[must_use]
pub fn all_finite(x: &[f64]) -> bool {
    // Without an early end, so that several are looked at in one instruction.
    in_vectors(|| x.iter().fold(true, |all, x| all & x.is_finite()))
}

/// Whether any of the numbers is `NaN`.
#[must_use]
pub fn any_nan(x: &[f64]) -> bool {
    in_vectors(|| x.iter().fold(false, |any, x| any | x.is_nan()))
}
