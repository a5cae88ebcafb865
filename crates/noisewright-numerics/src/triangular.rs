//! Lower triangular matrices times many vectors at once, which is how points are whitened and coloured.

use crate::gram::Columns;
use crate::kernels::{Simd, Task, dispatch};

/// Rows of a block: the columns of fifty variables stay in the second-level cache at worst.
const ROWS: usize = 128;
/// Outputs that are made together, so that each number loaded is used as often.
const TILE: usize = 4;
/// The widest vector of any instruction set.
const WIDEST: usize = 8;

/// Writes `out_i = Σ_{j ≤ i} factor_ij · column_j`, output `i` to `out[i·stride ..]`; `factor` is row-major and what
/// stands above its diagonal is not looked at.
///
/// ```
/// use noisewright_numerics::gram::Columns;
/// use noisewright_numerics::triangular::lower_times;
/// // The matrix (2 0; 3 4) times the vectors (1, 10) and (2, 20).
/// let mut out = [0.0; 4];
/// lower_times(&[2.0, 0.0, 3.0, 4.0], Columns::new(&[1.0, 2.0, 10.0, 20.0], 2, 2, 2), &mut out, 2);
/// assert_eq!(out, [2.0, 4.0, 43.0, 86.0]);
/// ```
///
/// # Panics
/// If the matrix is not as wide and as high as the number of columns, or the output ends too early.
pub fn lower_times(factor: &[f64], columns: Columns<'_>, out: &mut [f64], stride: usize) {
    let (k, rows) = (columns.columns(), columns.rows());
    assert_eq!(factor.len(), k * k, "the matrix must be {k} by {k}");
    assert!(stride >= rows, "columns of {rows} rows cannot stand {stride} numbers apart");
    assert!(
        k == 0 || out.len() >= (k - 1) * stride + rows,
        "the output must hold {k} columns of {rows} rows"
    );
    dispatch(LowerTimes { factor, columns, out, stride });
}

/// Most columns of which [`squared_lengths`] are found without storing the product.
const FEW: usize = 4;

/// Writes `‖F(x − center)‖²` of every row x of at most four columns, `F` being lower triangular as in [`lower_times`]; `false`, and
/// nothing written, where there are more. The bits are those of the steps one after the other.
///
/// ```
/// use noisewright_numerics::gram::Columns;
/// use noisewright_numerics::triangular::squared_lengths;
/// // (2 0; 3 4) times (1, 10) is (2, 43).
/// let mut out = [0.0];
/// assert!(squared_lengths(&[2.0, 0.0, 3.0, 4.0], &[0.5, 0.5], &[&[1.5], &[10.5]], &mut out));
/// assert_eq!(out, [1853.0]);
/// ```
///
/// # Panics
/// If the matrix or the center is not as wide as the number of columns, or a column does not have one number per output.
pub fn squared_lengths(factor: &[f64], center: &[f64], columns: &[&[f64]], out: &mut [f64]) -> bool {
    let k = columns.len();
    assert_eq!(factor.len(), k * k, "the matrix must be {k} by {k}");
    assert_eq!(center.len(), k, "there must be one coordinate per column");
    assert!(columns.iter().all(|column| column.len() == out.len()), "there must be one number per output");
    let few = (1..=FEW).contains(&k);
    if few {
        dispatch(SquaredLengths { factor, center, columns, out });
    }
    few
}

struct SquaredLengths<'a> {
    factor: &'a [f64],
    center: &'a [f64],
    columns: &'a [&'a [f64]],
    out: &'a mut [f64],
}

impl Task for SquaredLengths<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.columns.len() {
            1 => self.of::<S, 1>(s),
            2 => self.of::<S, 2>(s),
            3 => self.of::<S, 3>(s),
            _ => self.of::<S, FEW>(s),
        }
    }
}

impl SquaredLengths<'_> {
    #[inline(always)]
    fn of<S: Simd, const K: usize>(self, s: S) {
        let mut factor = [[s.splat(0.0); K]; K];
        let mut center = [s.splat(0.0); K];
        for i in 0..K {
            center[i] = s.splat(self.center[i]);
            for j in 0..=i {
                factor[i][j] = s.splat(self.factor[i * K + j]);
            }
        }
        let full = self.out.len() / S::WIDTH * S::WIDTH;
        let mut x = [s.splat(0.0); K];
        for row in (0..full).step_by(S::WIDTH) {
            for j in 0..K {
                x[j] = s.sub(s.load(&self.columns[j][row..row + S::WIDTH]), center[j]);
            }
            s.store(squared_length(s, &factor, &x), &mut self.out[row..row + S::WIDTH]);
        }
        let rest = self.out.len() - full;
        if rest > 0 {
            let mut padded = [0.0; WIDEST];
            for j in 0..K {
                padded[..rest].copy_from_slice(&self.columns[j][full..]);
                x[j] = s.sub(s.load(&padded), center[j]);
            }
            s.store(squared_length(s, &factor, &x), &mut padded);
            self.out[full..].copy_from_slice(&padded[..rest]);
        }
    }
}

#[inline(always)]
fn squared_length<S: Simd, const K: usize>(s: S, factor: &[[S::V; K]; K], x: &[S::V; K]) -> S::V {
    let mut total = s.splat(0.0);
    for i in 0..K {
        let mut sum = s.splat(0.0);
        for j in 0..=i {
            sum = s.mul_add(factor[i][j], x[j], sum);
        }
        total = s.add(total, s.mul(sum, sum));
    }
    total
}

struct LowerTimes<'a> {
    factor: &'a [f64],
    columns: Columns<'a>,
    out: &'a mut [f64],
    stride: usize,
}

impl Task for LowerTimes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let rows = self.columns.rows();
        let full = rows / S::WIDTH * S::WIDTH;
        for start in (0..full).step_by(ROWS) {
            let end = (start + ROWS).min(full);
            let mut first = 0;
            while first < self.columns.columns() {
                match (self.columns.columns() - first).min(TILE) {
                    1 => self.tile::<S, 1>(s, first, start, end),
                    2 => self.tile::<S, 2>(s, first, start, end),
                    3 => self.tile::<S, 3>(s, first, start, end),
                    _ => self.tile::<S, 4>(s, first, start, end),
                }
                first += TILE;
            }
        }
        self.tail(s, full);
    }
}

impl LowerTimes<'_> {
    /// Outputs `first .. first + N` of some rows, a multiple of the vector's width.
    #[inline(always)]
    fn tile<S: Simd, const N: usize>(&mut self, s: S, first: usize, start: usize, end: usize) {
        let k = self.columns.columns();
        for row in (start..end).step_by(S::WIDTH) {
            let mut sums = [s.splat(0.0); N];
            for j in 0..=first {
                let x = s.load(&self.columns.column(j)[row..row + S::WIDTH]);
                for (p, sum) in sums.iter_mut().enumerate() {
                    *sum = s.mul_add(s.splat(self.factor[(first + p) * k + j]), x, *sum);
                }
            }
            // The triangle at the end of the tile: output first + p takes columns up to first + p.
            for j in first + 1..first + N {
                let x = s.load(&self.columns.column(j)[row..row + S::WIDTH]);
                for (p, sum) in sums.iter_mut().enumerate().skip(j - first) {
                    *sum = s.mul_add(s.splat(self.factor[(first + p) * k + j]), x, *sum);
                }
            }
            for (p, sum) in sums.iter().enumerate() {
                s.store(*sum, &mut self.out[(first + p) * self.stride + row..]);
            }
        }
    }

    /// Fewer rows than a vector holds, through padded vectors: the same arithmetic as elsewhere.
    #[inline(always)]
    fn tail<S: Simd>(&mut self, s: S, from: usize) {
        let (k, rows) = (self.columns.columns(), self.columns.rows() - from);
        if rows == 0 {
            return;
        }
        for first in (0..k).step_by(WIDEST) {
            let outputs = WIDEST.min(k - first);
            let mut sums = [s.splat(0.0); WIDEST];
            // Every column is padded once for all outputs that take it: a vector that was just written is slow to load.
            for j in 0..first + outputs {
                let x = self.padded(s, j, from, rows);
                for p in j.saturating_sub(first)..outputs {
                    sums[p] = s.mul_add(s.splat(self.factor[(first + p) * k + j]), x, sums[p]);
                }
            }
            for (p, sum) in sums.iter().enumerate().take(outputs) {
                let mut padded = [0.0; WIDEST];
                s.store(*sum, &mut padded);
                self.out[(first + p) * self.stride + from..][..rows].copy_from_slice(&padded[..rows]);
            }
        }
    }

    /// The last rows of a column in a vector; a single one, as chains ask for, in all of its lanes.
    #[inline(always)]
    fn padded<S: Simd>(&self, s: S, column: usize, from: usize, rows: usize) -> S::V {
        let column = &self.columns.column(column)[from..];
        if rows == 1 {
            return s.splat(column[0]);
        }
        let mut padded = [0.0; WIDEST];
        padded[..rows].copy_from_slice(column);
        s.load(&padded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Backend, with_backend};

    /// Whole numbers, so that every order of summation gives the same.
    fn whole(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 23) as f64 - 11.0).collect()
    }

    #[test]
    fn squared_lengths_have_the_bits_of_the_product() {
        for (k, rows) in [(1, 1), (2, 7), (2, 261), (3, 8), (4, 33)] {
            let odd = |seed: usize| move |i: usize| ((i * 7919 + seed) as f64).sin() * 3.7;
            let factor: Vec<f64> = (0..k * k).map(odd(1)).collect();
            let center: Vec<f64> = (0..k).map(odd(2)).collect();
            let x: Vec<f64> = (0..k * rows).map(odd(3)).collect();
            let columns: Vec<&[f64]> = x.chunks_exact(rows).collect();
            let centered: Vec<f64> = (0..k)
                .flat_map(|j| columns[j].iter().zip(std::iter::repeat(center[j])).map(|(x, c)| x - c))
                .collect();
            for backend in Backend::available() {
                with_backend(*backend, || {
                    let (mut product, mut out) = (vec![f64::NAN; k * rows], vec![f64::NAN; rows]);
                    lower_times(&factor, Columns::new(&centered, rows, k, rows), &mut product, rows);
                    assert!(squared_lengths(&factor, &center, &columns, &mut out));
                    for row in 0..rows {
                        let expected = (0..k)
                            .fold(0.0, |sum, j| sum + product[j * rows + row] * product[j * rows + row]);
                        assert_eq!(out[row].to_bits(), expected.to_bits(), "{k} {rows} {backend:?}");
                    }
                });
            }
        }
        let (factor, center, columns) = ([1.0; 25], [0.0; 5], [[0.0].as_slice(); 5]);
        assert!(!squared_lengths(&factor, &center, &columns, &mut [0.0]), "five columns are too many");
    }

    #[test]
    fn every_shape_and_instruction_set_agrees_with_a_plain_loop() {
        for (k, rows, gap) in [(1, 1, 0), (2, 7, 3), (3, 8, 0), (4, 9, 1), (5, 130, 0), (11, 261, 5)] {
            let stride = rows + gap;
            let (factor, x) = (whole(k * k, 1), whole(k * stride, 2));
            for backend in Backend::available() {
                let mut out = vec![f64::NAN; k * stride];
                with_backend(*backend, || {
                    lower_times(&factor, Columns::new(&x, rows, k, stride), &mut out, stride)
                });
                for i in 0..k {
                    for row in 0..rows {
                        let sum: f64 = (0..=i).map(|j| factor[i * k + j] * x[j * stride + row]).sum();
                        assert_eq!(out[i * stride + row], sum, "{k} {rows} {backend:?}");
                    }
                }
            }
        }
    }
}
