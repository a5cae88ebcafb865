//! The softmax of several columns, row by row: of which alternative a row is, from a score for each.

use super::dispatch::{Task, dispatch};
use super::simd::Simd;
use super::{WIDEST, pad};

/// One of several alternatives: its score in row n is `(values[n] − offset) − shift`, and `share` is taken off its probability.
#[derive(Clone, Copy, Debug)]
pub struct Alternative<'a> {
    /// One value per row; −∞ is a probability of zero.
    pub values: &'a [f64],
    /// Taken off each value first,
    pub offset: f64,
    /// and then this.
    pub shift: f64,
    /// Taken off each probability.
    pub share: f64,
}

/// `p[k·stride + n] = e^a_kn / Σ_l e^a_ln − share_k` with the scores a of the alternatives; `largest[n]` becomes the largest score of a
/// row, and `total[n]` the sum `Σ_l e^(a_ln − largest[n])`. At least one score of every row must be finite.
///
/// ```
/// use noisewright_numerics::kernels::{Alternative, softmax};
/// let of = |values| Alternative { values, offset: 1.0, shift: 0.0, share: 0.5 };
/// let (mut p, mut largest, mut total) = ([0.0; 4], [0.0; 2], [0.0; 2]);
/// softmax(&[of(&[1.0, f64::NEG_INFINITY]), of(&[1.0, 3.0])], 2, &mut p, &mut largest, &mut total);
/// assert_eq!((p, largest, total), ([0.0, -0.5, 0.0, 0.5], [0.0, 2.0], [2.0, 1.0]));
/// ```
///
/// # Panics
/// If the slices do not fit.
pub fn softmax(
    alternatives: &[Alternative<'_>],
    stride: usize,
    p: &mut [f64],
    largest: &mut [f64],
    total: &mut [f64],
) {
    let rows = largest.len();
    assert!(total.len() == rows && stride >= rows && p.len() >= stride * alternatives.len());
    assert!(alternatives.iter().all(|alternative| alternative.values.len() == rows));
    dispatch(Softmax { alternatives, stride, p, largest, total });
}

struct Softmax<'a> {
    alternatives: &'a [Alternative<'a>],
    stride: usize,
    p: &'a mut [f64],
    largest: &'a mut [f64],
    total: &'a mut [f64],
}

impl Task for Softmax<'_> {
    type Output = ();
    /// A vector of rows at a time through all alternatives, so that what is written is read again from the nearest cache.
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let rows = self.largest.len();
        for start in (0..rows).step_by(S::WIDTH) {
            let end = (start + S::WIDTH).min(rows);
            let mut largest = s.splat(f64::NEG_INFINITY);
            for (k, a) in self.alternatives.iter().enumerate() {
                let value = load(s, &a.values[start..end]);
                let score = s.sub(s.sub(value, s.splat(a.offset)), s.splat(a.shift));
                largest = s.max(score, largest);
                store(s, score, &mut self.p[k * self.stride + start..k * self.stride + end]);
            }
            let mut total = s.splat(0.0);
            for k in 0..self.alternatives.len() {
                let p = &mut self.p[k * self.stride + start..k * self.stride + end];
                let term = s.exp(s.sub(load(s, p), largest));
                total = s.add(total, term);
                store(s, term, p);
            }
            let inverse = s.div(s.splat(1.0), total);
            for (k, a) in self.alternatives.iter().enumerate() {
                let p = &mut self.p[k * self.stride + start..k * self.stride + end];
                store(s, s.sub(s.mul(load(s, p), inverse), s.splat(a.share)), p);
            }
            store(s, largest, &mut self.largest[start..end]);
            store(s, total, &mut self.total[start..end]);
        }
    }
}

/// A vector of the numbers, padded where they are fewer.
#[inline(always)]
fn load<S: Simd>(s: S, x: &[f64]) -> S::V {
    if x.len() >= S::WIDTH { s.load(x) } else { s.load(&pad(x)) }
}

#[inline(always)]
fn store<S: Simd>(s: S, v: S::V, out: &mut [f64]) {
    if out.len() >= S::WIDTH {
        s.store(v, out);
    } else {
        let mut padded = [0.0; WIDEST];
        s.store(v, &mut padded);
        out.copy_from_slice(&padded[..out.len()]);
    }
}
