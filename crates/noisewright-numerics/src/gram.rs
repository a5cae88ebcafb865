//! Weighted sums and Gram matrices of column-major blocks.
//!
//! `Σ_i w_i a_i a_iᵀ` is where a Newton step spends its time. Rows are taken in blocks, and within a block a panel of
//! columns, times the weights, stays in the second-level cache while all columns after it pass by (Goto and van de Geijn
//! 2008); tiles of columns meet in registers, so that each number loaded is used several times.

use crate::kernels::{Simd, Task, dispatch};

/// Rows of a block: two tiles of columns fit the first-level cache.
const ROWS: usize = 512;
/// Columns of a tile; a pair of tiles needs its square of accumulators.
const TILE: usize = 4;
/// Numbers in a line of the cache.
const LINE: usize = 8;
/// Tiles of a panel: half a megabyte.
const PANEL: usize = 32;

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
    assert_eq!(out.len(), k * k, "the output must be {k} by {k}");
    // The triangle on its own, so that what `out` held before need not be symmetric bit by bit.
    let mut upper = vec![0.0; k * k];
    add_triangle(columns, weights, &mut upper);
    for i in 0..k {
        out[i * k + i] += upper[i * k + i];
        for j in i + 1..k {
            out[i * k + j] += upper[i * k + j];
            out[j * k + i] += upper[i * k + j];
        }
    }
}

/// Adds `Σ_i w_i a_i a_iᵀ` to one triangle of `out`, entries `out[i·k + j]` with `i ≤ j`: a sum over many blocks is made
/// symmetric once, by [`mirror`], when it is complete.
///
/// ```
/// use noisewright_numerics::gram::{Columns, add_triangle, mirror};
/// let mut out = [0.0; 4];
/// add_triangle(Columns::new(&[1.0, 2.0, 3.0, 4.0], 2, 2, 2), &[10.0, 1.0], &mut out);
/// assert_eq!(out, [14.0, 38.0, 0.0, 106.0]);
/// mirror(2, &mut out);
/// assert_eq!(out, [14.0, 38.0, 38.0, 106.0]);
/// ```
///
/// # Panics
/// As for [`weighted_gram`].
pub fn add_triangle(columns: Columns<'_>, weights: &[f64], out: &mut [f64]) {
    let k = columns.columns();
    assert_eq!(weights.len(), columns.rows(), "there must be one weight per row");
    assert_eq!(out.len(), k * k, "the output must be {k} by {k}");
    dispatch(Gram { columns, weights, out });
}

/// Copies the triangle `out[i·k + j]`, `i ≤ j`, onto the other one.
///
/// # Panics
/// If `out` is not `k` by `k`.
pub fn mirror(k: usize, out: &mut [f64]) {
    assert_eq!(out.len(), k * k, "the matrix must be {k} by {k}");
    for i in 0..k {
        for j in i + 1..k {
            out[j * k + i] = out[i * k + j];
        }
    }
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

/// Adds `Σ_i w_i a_i` for every column `w` of `weights`, one after the other in `out`: the matrix product of the two, for which the
/// columns pass through the cache once.
///
/// What is added for one column of weights does not depend on the others.
///
/// ```
/// use noisewright_numerics::gram::{Columns, weighted_sums};
/// let mut out = [0.0; 4];
/// let weights = Columns::new(&[10.0, 1.0, 1.0, 0.0], 2, 2, 2);
/// weighted_sums(Columns::new(&[1.0, 2.0, 3.0, 4.0], 2, 2, 2), weights, &mut out);
/// assert_eq!(out, [12.0, 34.0, 1.0, 3.0]);
/// ```
///
/// # Panics
/// If there is not one weight per row, or one output per pair of columns.
pub fn weighted_sums(columns: Columns<'_>, weights: Columns<'_>, out: &mut [f64]) {
    assert_eq!(weights.rows(), columns.rows(), "there must be one weight per row");
    assert_eq!(
        out.len(),
        columns.columns() * weights.columns(),
        "there must be one output per pair of columns"
    );
    dispatch(WeightedSums { columns, weights, out });
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

/// Adds `Σ f_j a_j` over some columns `j` of a matrix: several at a time, so that more than one is on its way from memory.
///
/// ```
/// use noisewright_numerics::gram::{Columns, add_combination_of};
/// let mut out = [100.0, 200.0];
/// add_combination_of(Columns::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, 2), &[0, 2], &[10.0, 1.0], &mut out);
/// assert_eq!(out, [115.0, 226.0]);
/// ```
///
/// # Panics
/// If there is not one factor for each of these columns and one output per row, or there is no such column.
pub fn add_combination_of(columns: Columns<'_>, of: &[usize], factors: &[f64], out: &mut [f64]) {
    assert_eq!(factors.len(), of.len(), "there must be one factor per column");
    assert_eq!(out.len(), columns.rows(), "there must be one output per row");
    dispatch(CombinationOf { columns, of, factors, out });
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
        let (rows, tiles) = (self.columns.rows(), self.columns.columns().div_ceil(TILE));
        let depth = TILE * ROWS.min(rows).next_multiple_of(S::WIDTH);
        let mut space = vec![0.0; (PANEL.min(tiles) + 1) * depth + LINE];
        // A vector that lies across two lines of the cache is loaded twice.
        let aligned = space.as_ptr().align_offset(8 * LINE).min(LINE);
        let (passing, panel) = space[aligned..].split_at_mut(depth);
        for start in (0..rows).step_by(ROWS) {
            let end = rows.min(start + ROWS);
            let length = TILE * (end - start).next_multiple_of(S::WIDTH);
            for first in (0..tiles).step_by(PANEL) {
                let last = tiles.min(first + PANEL);
                for (i, packed) in (first..last).zip(panel.chunks_exact_mut(depth)) {
                    pack(s, self.columns, i, (start, end), Some(self.weights), packed);
                }
                for j in first..tiles {
                    pack(s, self.columns, j, (start, end), None, passing);
                    for (i, packed) in (first..last.min(j + 1)).zip(panel.chunks_exact(depth)) {
                        self.columns.add_tile(s, (i, &packed[..length]), (j, &passing[..length]), self.out);
                    }
                }
            }
        }
    }
}

/// Copies a tile of columns, times the weights where there are any, so that what a step of a product loads lies together: a
/// vector of rows of each column, then the next rows. Rows and columns that are missing are zero.
#[inline(always)]
fn pack<S: Simd>(
    s: S,
    columns: Columns<'_>,
    tile: usize,
    (start, end): (usize, usize),
    weights: Option<&[f64]>,
    out: &mut [f64],
) {
    let full = (end - start) / S::WIDTH * S::WIDTH;
    for c in 0..TILE {
        let steps = out[c * S::WIDTH..].chunks_mut(TILE * S::WIDTH);
        if tile * TILE + c >= columns.columns() {
            steps.for_each(|out| out[..S::WIDTH].fill(0.0));
            continue;
        }
        let column = &columns.column(tile * TILE + c)[start..end];
        let weights = weights.map(|w| &w[start..end]);
        for (row, out) in (0..end - start).step_by(S::WIDTH).zip(steps) {
            if row < full {
                let x = s.load(&column[row..row + S::WIDTH]);
                s.store(weights.map_or(x, |w| s.mul(s.load(&w[row..row + S::WIDTH]), x)), out);
            } else {
                out[..S::WIDTH].fill(0.0);
                for (at, out) in (row..end - start).zip(out) {
                    *out = weights.map_or(1.0, |w| w[at]) * column[at];
                }
            }
        }
    }
}

impl Columns<'_> {
    /// `out[i, j] += Σ_rows w a_i a_j` for the columns of two packed tiles, above and on the diagonal.
    #[inline(always)]
    fn add_tile<S: Simd>(self, s: S, (i, a): (usize, &[f64]), (j, b): (usize, &[f64]), out: &mut [f64]) {
        let k = self.columns();
        let mut add = |q0: usize, sums: &[[S::V; TILE]]| {
            for (q, sums) in sums.iter().enumerate() {
                let column = j * TILE + q0 + q;
                for p in 0..TILE {
                    let row = i * TILE + p;
                    if row <= column && column < k {
                        out[row * k + column] += lane_sum(s, sums[p]);
                    }
                }
            }
        };
        // Sixteen accumulators overflow the sixteen registers of AVX2, eight do not.
        if S::WIDTH < 8 {
            add(0, &products::<S, 2>(s, a, b, 0));
            add(2, &products::<S, 2>(s, a, b, 2));
        } else {
            add(0, &products::<S, TILE>(s, a, b, 0));
        }
    }
}

/// The products of all columns of one packed tile with `J` of another, from column `first` on, lane by lane.
#[inline(always)]
fn products<S: Simd, const J: usize>(s: S, a: &[f64], b: &[f64], first: usize) -> [[S::V; TILE]; J] {
    let step = TILE * S::WIDTH;
    let (a, b) = (&a[..a.len() / step * step], &b[..a.len() / step * step]);
    let mut sums = [[s.splat(0.0); TILE]; J];
    let mut left = [s.splat(0.0); TILE];
    for at in (0..a.len()).step_by(step) {
        for p in 0..TILE {
            left[p] = s.load(&a[at + p * S::WIDTH..at + (p + 1) * S::WIDTH]);
        }
        for q in 0..J {
            let right = s.load(&b[at + (first + q) * S::WIDTH..at + (first + q + 1) * S::WIDTH]);
            for p in 0..TILE {
                sums[q][p] = s.mul_add(left[p], right, sums[q][p]);
            }
        }
    }
    sums
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
        add_columns(s, self.columns, |j| j, self.factors, self.out);
    }
}

struct CombinationOf<'a> {
    columns: Columns<'a>,
    of: &'a [usize],
    factors: &'a [f64],
    out: &'a mut [f64],
}

impl Task for CombinationOf<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let of = self.of;
        add_columns(s, self.columns, |j| of[j], self.factors, self.out);
    }
}

/// Adds the combination of the columns of these numbers, a tile of them at a time.
#[inline(always)]
fn add_columns<S: Simd>(
    s: S,
    columns: Columns<'_>,
    number: impl Fn(usize) -> usize,
    factors: &[f64],
    out: &mut [f64],
) {
    for (block, out) in out.chunks_mut(ROWS).enumerate() {
        let (start, end) = (block * ROWS, block * ROWS + out.len());
        for first in (0..factors.len()).step_by(TILE) {
            let factors = &factors[first..];
            let column = |j: usize| &columns.column(number(first + j))[start..end];
            match factors.len() {
                1 => add_some::<S, 1>(s, std::array::from_fn(column), factors, out),
                2 => add_some::<S, 2>(s, std::array::from_fn(column), factors, out),
                3 => add_some::<S, 3>(s, std::array::from_fn(column), factors, out),
                _ => add_some::<S, TILE>(s, std::array::from_fn(column), factors, out),
            }
        }
    }
}

/// Adds the combination of `N` columns.
#[inline(always)]
fn add_some<S: Simd, const N: usize>(s: S, columns: [&[f64]; N], factors: &[f64], out: &mut [f64]) {
    let mut f = [s.splat(0.0); N];
    for j in 0..N {
        f[j] = s.splat(factors[j]);
    }
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

struct WeightedSums<'a> {
    columns: Columns<'a>,
    weights: Columns<'a>,
    out: &'a mut [f64],
}

impl Task for WeightedSums<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { columns, weights, out } = self;
        for start in (0..columns.rows()).step_by(ROWS) {
            let rows = (start, columns.rows().min(start + ROWS));
            for first in (0..columns.columns()).step_by(TILE) {
                match columns.columns() - first {
                    1 => add_products::<S, 1>(s, (columns, first), weights, rows, out),
                    2 => add_products::<S, 2>(s, (columns, first), weights, rows, out),
                    3 => add_products::<S, 3>(s, (columns, first), weights, rows, out),
                    _ => add_products::<S, TILE>(s, (columns, first), weights, rows, out),
                }
            }
        }
    }
}

/// Adds the products of `C` columns with all columns of weights, as many of those at a time as the registers hold.
#[inline(always)]
fn add_products<S: Simd, const C: usize>(
    s: S,
    (columns, first): (Columns<'_>, usize),
    weights: Columns<'_>,
    (start, end): (usize, usize),
    out: &mut [f64],
) {
    let k = columns.columns();
    let tile = columns.tile::<C>(first, start, end);
    let at_once = if S::WIDTH < 8 { 2 } else { TILE };
    let mut w = 0;
    while w < weights.columns() {
        let mut add = |w: usize, sums: [f64; C]| {
            sums.iter().zip(&mut out[w * k + first..]).for_each(|(sum, out)| *out += sum);
        };
        match at_once.min(weights.columns() - w) {
            4.. => {
                let sums = dots::<S, C, 4>(s, tile, weights.tile(w, start, end));
                (0..4).for_each(|i| add(w + i, sums[i]));
                w += 4;
            }
            2 | 3 => {
                let sums = dots::<S, C, 2>(s, tile, weights.tile(w, start, end));
                (0..2).for_each(|i| add(w + i, sums[i]));
                w += 2;
            }
            _ => {
                add(w, dots::<S, C, 1>(s, tile, weights.tile(w, start, end))[0]);
                w += 1;
            }
        }
    }
}

/// The sums of products of `C` columns with `W` others, each in one vector of partial sums.
#[inline(always)]
fn dots<S: Simd, const C: usize, const W: usize>(
    s: S,
    columns: [&[f64]; C],
    weights: [&[f64]; W],
) -> [[f64; C]; W] {
    let rows = weights[0].len();
    let full = rows / S::WIDTH * S::WIDTH;
    let (columns, weights) = (columns.map(|column| &column[..rows]), weights.map(|column| &column[..rows]));
    let mut sums = [[s.splat(0.0); C]; W];
    let mut left = [s.splat(0.0); C];
    for row in (0..full).step_by(S::WIDTH) {
        for c in 0..C {
            left[c] = s.load(&columns[c][row..row + S::WIDTH]);
        }
        for w in 0..W {
            let right = s.load(&weights[w][row..row + S::WIDTH]);
            for c in 0..C {
                sums[w][c] = s.mul_add(left[c], right, sums[w][c]);
            }
        }
    }
    let mut out = [[0.0; C]; W];
    for w in 0..W {
        for c in 0..C {
            let tail: f64 = (full..rows).map(|row| weights[w][row] * columns[c][row]).sum();
            out[w][c] = lane_sum(s, sums[w][c]) + tail;
        }
    }
    out
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
