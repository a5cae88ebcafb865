//! Weighted sums and Gram matrices of column-major blocks.
//!
//! `Σ_i w_i a_i a_iᵀ` is where a Newton step spends its time. Rows are taken in blocks that stay in the cache, and within a
//! block tiles of columns meet in registers, so that each number loaded is used several times.

use crate::kernels::{Simd, Task, dispatch};

/// Rows of a block: two tiles of columns fit the first-level cache.
const ROWS: usize = 512;
/// Columns of a tile; a pair of tiles needs its square of accumulators.
const TILE: usize = 4;

/// A column-major matrix: column `j` is `data[j·stride .. j·stride + rows]`.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    data: &'a [f64],
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<'a> Columns<'a> {
    /// A matrix whose columns stand `stride` numbers apart.
    ///
    /// # Panics
    /// If the stride is less than the number of rows, or the data end before the last column does.
    #[must_use]
    pub fn new(data: &'a [f64], rows: usize, columns: usize, stride: usize) -> Self {
        assert!(stride >= rows, "columns of {rows} rows cannot stand {stride} numbers apart");
        let needed = if columns == 0 { 0 } else { (columns - 1) * stride + rows };
        assert!(
            data.len() >= needed,
            "{columns} columns of {rows} rows need {needed} numbers, not {}",
            data.len()
        );
        Self { data, rows, columns, stride }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(self) -> usize {
        self.columns
    }

    /// One column.
    ///
    /// # Panics
    /// If there is none of that number.
    #[must_use]
    #[inline(always)]
    pub fn column(self, j: usize) -> &'a [f64] {
        assert!(j < self.columns, "column {j} of {}", self.columns);
        &self.data[j * self.stride..j * self.stride + self.rows]
    }

    /// `N` columns from number `first` on, cut to some rows.
    #[inline(always)]
    fn tile<const N: usize>(self, first: usize, start: usize, end: usize) -> [&'a [f64]; N] {
        std::array::from_fn(|c| &self.column(first + c)[start..end])
    }
}

/// Adds `Σ_i w_i a_i a_iᵀ` to `out`, `a_i` being row `i` of `columns` and `out` a full symmetric matrix.
///
/// The order of the additions depends on the number of rows and the processor's instruction set only.
///
/// ```
/// use noisewright_numerics::gram::{Columns, weighted_gram};
/// // Rows (1, 3) with weight 10 and (2, 4) with weight 1.
/// let mut out = [0.0; 4];
/// weighted_gram(Columns::new(&[1.0, 2.0, 3.0, 4.0], 2, 2, 2), &[10.0, 1.0], &mut out);
/// assert_eq!(out, [14.0, 38.0, 38.0, 106.0]);
/// ```
///
/// # Panics
/// If there is not one weight per row, or `out` is not as wide and as high as the number of columns.
pub fn weighted_gram(columns: Columns<'_>, weights: &[f64], out: &mut [f64]) {
    let k = columns.columns();
    assert_eq!(weights.len(), columns.rows(), "there must be one weight per row");
    assert_eq!(out.len(), k * k, "the output must be {k} by {k}");
    dispatch(Gram { columns, weights, out });
}

/// Adds `Σ_i w_i a_i` to `out`.
///
/// ```
/// use noisewright_numerics::gram::{Columns, weighted_sum};
/// let mut out = [0.0; 2];
/// weighted_sum(Columns::new(&[1.0, 2.0, 3.0, 4.0], 2, 2, 2), &[10.0, 1.0], &mut out);
/// assert_eq!(out, [12.0, 34.0]);
/// ```
///
/// # Panics
/// If there is not one weight per row and one output per column.
pub fn weighted_sum(columns: Columns<'_>, weights: &[f64], out: &mut [f64]) {
    assert_eq!(weights.len(), columns.rows(), "there must be one weight per row");
    assert_eq!(out.len(), columns.columns(), "there must be one output per column");
    dispatch(WeightedSum { columns, weights, out });
}

/// Adds `Σ_j f_j a_j` to `out`, `a_j` being column `j`.
///
/// ```
/// use noisewright_numerics::gram::{Columns, add_combination};
/// let mut out = [100.0, 200.0];
/// add_combination(Columns::new(&[1.0, 2.0, 3.0, 4.0], 2, 2, 2), &[10.0, 1.0], &mut out);
/// assert_eq!(out, [113.0, 224.0]);
/// ```
///
/// # Panics
/// If there is not one factor per column and one output per row.
pub fn add_combination(columns: Columns<'_>, factors: &[f64], out: &mut [f64]) {
    assert_eq!(factors.len(), columns.columns(), "there must be one factor per column");
    assert_eq!(out.len(), columns.rows(), "there must be one output per row");
    dispatch(Combination { columns, factors, out });
}

struct Gram<'a> {
    columns: Columns<'a>,
    weights: &'a [f64],
    out: &'a mut [f64],
}

impl Task for Gram<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let k = self.columns.columns();
        // The upper triangle on its own, so that what `out` held before need not be symmetric bit by bit.
        let mut upper = vec![0.0; k * k];
        for start in (0..self.columns.rows()).step_by(ROWS) {
            let end = (start + ROWS).min(self.columns.rows());
            for i in (0..k).step_by(TILE) {
                for j in (i..k).step_by(TILE) {
                    let block =
                        GramBlock { columns: self.columns, weights: &self.weights[start..end], start };
                    block.add_tiles(s, i, j, &mut upper);
                }
            }
        }
        add_symmetric(&upper, k, self.out);
    }
}

/// Adds a symmetric matrix given by its upper triangle (row-major).
fn add_symmetric(upper: &[f64], k: usize, out: &mut [f64]) {
    for i in 0..k {
        out[i * k + i] += upper[i * k + i];
        for j in i + 1..k {
            out[i * k + j] += upper[i * k + j];
            out[j * k + i] += upper[i * k + j];
        }
    }
}

/// The rows of one block.
#[derive(Clone, Copy)]
struct GramBlock<'a> {
    columns: Columns<'a>,
    weights: &'a [f64],
    start: usize,
}

impl GramBlock<'_> {
    /// Adds the products of the tile of columns at `i` with that at `j`, each cut at the last column.
    #[inline(always)]
    fn add_tiles<S: Simd>(self, s: S, i: usize, j: usize, out: &mut [f64]) {
        let left = |first: usize| (self.columns.columns() - first).min(TILE);
        match left(i) {
            1 => self.add_tile::<S, 1>(s, i, j, left(j), out),
            2 => self.add_tile::<S, 2>(s, i, j, left(j), out),
            3 => self.add_tile::<S, 3>(s, i, j, left(j), out),
            _ => self.add_tile::<S, 4>(s, i, j, left(j), out),
        }
    }

    #[inline(always)]
    fn add_tile<S: Simd, const I: usize>(self, s: S, i: usize, j: usize, width: usize, out: &mut [f64]) {
        match width {
            1 => self.add_products::<S, I, 1>(s, i, j, out),
            2 => self.add_products::<S, I, 2>(s, i, j, out),
            3 => self.add_products::<S, I, 3>(s, i, j, out),
            // Sixteen accumulators overflow the sixteen registers of AVX2, eight do not.
            _ if S::WIDTH < 8 => {
                self.add_products::<S, I, 2>(s, i, j, out);
                self.add_products::<S, I, 2>(s, i, j + 2, out);
            }
            _ => self.add_products::<S, I, 4>(s, i, j, out),
        }
    }

    /// `out[i+p, j+q] += Σ_rows w a_{i+p} a_{j+q}` for `p < I`, `q < J`.
    #[inline(always)]
    fn add_products<S: Simd, const I: usize, const J: usize>(
        self,
        s: S,
        i: usize,
        j: usize,
        out: &mut [f64],
    ) {
        let (k, rows) = (self.columns.columns(), self.weights.len());
        let end = self.start + rows;
        let a: [&[f64]; I] = self.columns.tile(i, self.start, end);
        let b: [&[f64]; J] = self.columns.tile(j, self.start, end);
        let full = rows / S::WIDTH * S::WIDTH;
        let mut sums = [[s.splat(0.0); J]; I];
        for row in (0..full).step_by(S::WIDTH) {
            let w = s.load(&self.weights[row..row + S::WIDTH]);
            let b: [S::V; J] = std::array::from_fn(|q| s.load(&b[q][row..row + S::WIDTH]));
            for p in 0..I {
                let wa = s.mul(w, s.load(&a[p][row..row + S::WIDTH]));
                for q in 0..J {
                    sums[p][q] = s.mul_add(wa, b[q], sums[p][q]);
                }
            }
        }
        for p in 0..I {
            for q in 0..J {
                let mut total = lane_sum(s, sums[p][q]);
                for row in full..rows {
                    total += self.weights[row] * a[p][row] * b[q][row];
                }
                out[(i + p) * k + j + q] += total;
            }
        }
    }
}

/// The sum over the lanes of a vector, pairwise.
#[inline(always)]
fn lane_sum<S: Simd>(s: S, v: S::V) -> f64 {
    let mut lanes = [0.0; 8];
    s.store(v, &mut lanes);
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

struct Combination<'a> {
    columns: Columns<'a>,
    factors: &'a [f64],
    out: &'a mut [f64],
}

impl Task for Combination<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for (block, out) in self.out.chunks_mut(ROWS).enumerate() {
            let (start, end) = (block * ROWS, block * ROWS + out.len());
            for first in (0..self.factors.len()).step_by(TILE) {
                let factors = &self.factors[first..];
                match factors.len() {
                    1 => add_some::<S, 1>(s, self.columns.tile(first, start, end), factors, out),
                    2 => add_some::<S, 2>(s, self.columns.tile(first, start, end), factors, out),
                    3 => add_some::<S, 3>(s, self.columns.tile(first, start, end), factors, out),
                    _ => add_some::<S, 4>(s, self.columns.tile(first, start, end), factors, out),
                }
            }
        }
    }
}

/// Adds the combination of `N` columns.
#[inline(always)]
fn add_some<S: Simd, const N: usize>(s: S, columns: [&[f64]; N], factors: &[f64], out: &mut [f64]) {
    let f: [S::V; N] = std::array::from_fn(|j| s.splat(factors[j]));
    let full = out.len() / S::WIDTH * S::WIDTH;
    for row in (0..full).step_by(S::WIDTH) {
        let mut sum = s.load(&out[row..row + S::WIDTH]);
        for j in 0..N {
            sum = s.mul_add(f[j], s.load(&columns[j][row..row + S::WIDTH]), sum);
        }
        s.store(sum, &mut out[row..row + S::WIDTH]);
    }
    for row in full..out.len() {
        for j in 0..N {
            out[row] += factors[j] * columns[j][row];
        }
    }
}

struct WeightedSum<'a> {
    columns: Columns<'a>,
    weights: &'a [f64],
    out: &'a mut [f64],
}

impl Task for WeightedSum<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for (block, weights) in self.weights.chunks(ROWS).enumerate() {
            let (start, end) = (block * ROWS, block * ROWS + weights.len());
            for (j, out) in self.out.iter_mut().enumerate() {
                *out += dot(s, weights, &self.columns.column(j)[start..end]);
            }
        }
    }
}

/// `Σ x_i y_i` in four vectors of partial sums.
#[inline(always)]
fn dot<S: Simd>(s: S, x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [s.splat(0.0); 4];
    let mut left = x.chunks_exact(4 * S::WIDTH);
    let mut right = y.chunks_exact(4 * S::WIDTH);
    for (x, y) in (&mut left).zip(&mut right) {
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = s.mul_add(s.load(&x[j * S::WIDTH..]), s.load(&y[j * S::WIDTH..]), *sum);
        }
    }
    let tail: f64 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    lane_sum(s, s.add(s.add(sums[0], sums[2]), s.add(sums[1], sums[3]))) + tail
}
