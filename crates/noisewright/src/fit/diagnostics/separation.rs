//! Separation: a direction of the parameters along which the loss falls for ever, found and certified.
//!
//! For a model linear in its parameters the logistic loss has a minimum exactly when no direction d has `d·ψ ≥ 0` on
//! all data rows and `d·ψ ≤ 0` on all noise rows without being zero on all of them (Albert and Anderson 1984). With
//! `z = ψ` on data and `z = −ψ` on noise rows that is `d·z ≥ 0`. By Stiemke's theorem either such a d exists or some
//! strictly positive combination of the rows is zero, and one least-squares problem with non-negative unknowns decides
//! which: let `r` be the shortest vector `Σ (1 + μ_i) z_i` with `μ ≥ 0`. Its optimality conditions say `z_i·r ≥ 0` for
//! every row; so either r is a separating direction, or it is zero and there is none.

use nalgebra::{DMatrix, DVector};

use super::rows::{Block, Rows};
use crate::fit::distributed::partial_fields;
use crate::{LOG_NORMALIZER, Result};

/// A product of unit vectors below this counts as zero.
const ZERO: f64 = 1e-9;

/// The shortest combination, as a share of what was combined, below which it counts as zero.
const VANISHED: f64 = 1e-10;

/// A direction of separation.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Separation {
    /// The direction in the coordinates of β, its largest entry ±1.
    pub direction: Vec<f64>,
    /// The parameters that run to infinity (the constant follows them).
    pub running: Vec<DivergingParameter>,
    /// Data rows on which the direction is not zero.
    pub data_rows: usize,
    /// Noise rows (or states) on which the direction is not zero.
    pub noise_rows: usize,
}

/// A coordinate that runs to infinity.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct DivergingParameter {
    /// Its name.
    pub name: String,
    /// Its place among the coordinates.
    pub index: usize,
    /// 1 towards ∞, −1 towards −∞.
    pub sign: i8,
    /// Smallest and largest value of its statistic on the data.
    pub data_range: [f64; 2],
    /// Smallest and largest value of its statistic on the noise.
    pub noise_range: [f64; 2],
}

/// Looks for a direction that separates the rows, and certifies it over all of them.
///
/// # Errors
/// When the rows cannot be passed over.
pub(crate) fn separation(rows: &impl Rows, names: &[String]) -> Result<Option<Separation>> {
    let (scale, ranges) = (scales(rows)?, ranges(rows)?);
    let accept = |candidate: DVector<f64>| -> Result<Option<Separation>> {
        let seen = certify(rows, &scale, &candidate)?;
        let separates = seen.violated == 0 && seen.data + seen.noise > 0;
        Ok(separates.then(|| report(&candidate, &scale, &seen, names, &ranges)))
    };
    if let Some(candidate) = one_by_one(&ranges, &scale)
        && let Some(found) = accept(candidate)?
    {
        return Ok(Some(found));
    }
    let Some(direction) = shortest(rows, &scale)? else { return Ok(None) };
    match accept(simplified(&direction))? {
        Some(found) => Ok(Some(found)),
        None => accept(direction),
    }
}

/// The sum of the directions that separate along one coordinate alone, with a threshold where a constant is free: the
/// plainest answer, where there is one.
fn one_by_one(ranges: &[Ranges], scale: &[f64]) -> Option<DVector<f64>> {
    let last = ranges.len() - 1;
    let constant = ranges[last].iter().all(|range| *range == [-1.0, -1.0]);
    let mut sum: DVector<f64> = DVector::zeros(ranges.len());
    for (j, [data, noise]) in ranges.iter().enumerate().take(if constant { last } else { last + 1 }) {
        // Without data rows, or without a constant, the threshold is zero.
        let threshold = if constant { data } else { &[0.0, 0.0] };
        let above = data[0] >= threshold[0] && noise[1] <= threshold[0];
        let below = data[1] <= threshold[1] && noise[0] >= threshold[1];
        let varies = data[0] != data[1] || noise[0] != noise[1] || data[0] != noise[0];
        if above == below || !varies {
            continue;
        }
        let (sign, at) = if above { (1.0, threshold[0]) } else { (-1.0, threshold[1]) };
        sum[j] += sign * scale[j];
        if constant {
            sum[last] += sign * at * scale[last];
        }
    }
    let size = sum.norm();
    (size > 0.0).then(|| sum / size)
}

/// The root mean square of every coordinate, so that units do not matter.
fn scales(rows: &impl Rows) -> Result<Vec<f64>> {
    let size = rows.coordinates();
    let add = |(squares, count): &mut (DVector<f64>, usize), block: &Block<'_>| {
        for (sum, column) in squares.iter_mut().zip(block.columns()) {
            *sum += column.iter().map(|s| s * s).sum::<f64>();
        }
        *count += block.rows;
    };
    let (squares, count) = rows.gather(|| (DVector::zeros(size), 0), add, |a, b| (a.0 + b.0, a.1 + b.1))?;
    let root = |sum: &f64| if *sum > 0.0 { (sum / count as f64).sqrt() } else { 1.0 };
    Ok(squares.iter().map(root).collect())
}

/// Products of every row's unit vector `z/|z|` with a vector, in scaled coordinates.
fn products(block: &Block<'_>, scale: &[f64], with: &[f64]) -> Vec<f64> {
    let mut norms = vec![0.0; block.rows];
    let mut out = vec![0.0; block.rows];
    for ((column, scale), r) in block.columns().zip(scale).zip(with) {
        let factor = block.sign() / scale;
        for ((o, norm), s) in out.iter_mut().zip(&mut norms).zip(column) {
            let z = factor * s;
            *o += r * z;
            *norm += z * z;
        }
    }
    for (o, norm) in out.iter_mut().zip(norms) {
        *o = if norm > 0.0 { *o / norm.sqrt() } else { 0.0 };
    }
    // A row that stands for no point forbids nothing.
    out.iter_mut().enumerate().filter(|(i, _)| block.weight(*i) == 0.0).for_each(|(_, o)| *o = 0.0);
    out
}

/// One row's unit vector.
fn unit_row(block: &Block<'_>, scale: &[f64], row: usize) -> DVector<f64> {
    let values = block.columns().zip(scale).map(|(column, scale)| block.sign() * column[row] / scale);
    let z = DVector::from_iterator(scale.len(), values);
    let norm = z.norm();
    if block.weight(row) == 0.0 {
        return DVector::zeros(scale.len());
    }
    if norm > 0.0 { z / norm } else { z }
}

/// The sum of all unit rows, and their number.
fn total(rows: &impl Rows, scale: &[f64]) -> Result<(DVector<f64>, f64)> {
    let add = |(sum, count): &mut (DVector<f64>, f64), block: &Block<'_>| {
        (0..block.rows).for_each(|row| *sum += unit_row(block, scale, row));
        *count += block.rows as f64;
    };
    rows.gather(|| (DVector::zeros(scale.len()), 0.0), add, |a, b| (a.0 + b.0, a.1 + b.1))
}

/// The shortest `Σ (1 + μ_i) z_i`, μ ≥ 0 (Lawson and Hanson 1974), as a unit vector; `None` when it is zero.
///
/// Rows enter one at a time, the most violated first; no more of them than coordinates are in at once.
fn shortest(rows: &impl Rows, scale: &[f64]) -> Result<Option<DVector<f64>>> {
    let (base, count) = total(rows, scale)?;
    let mut active = Active { base, rows: Vec::new(), multipliers: Vec::new() };
    for _ in 0..20 * scale.len() + 100 {
        let sum = active.sum();
        let size = sum.norm();
        if size <= VANISHED * (count + active.multipliers.iter().sum::<f64>()) {
            return Ok(None);
        }
        let direction = sum / size;
        match most_violated(rows, scale, &direction)? {
            Some(row) => active.enter(row),
            None => return Ok(Some(direction)),
        }
    }
    Ok(None)
}

/// The row with the most negative product with a direction, if there is one below rounding.
fn most_violated(rows: &impl Rows, scale: &[f64], direction: &DVector<f64>) -> Result<Option<DVector<f64>>> {
    let add = |worst: &mut (f64, Option<DVector<f64>>), block: &Block<'_>| {
        let out = products(block, scale, direction.as_slice());
        let lowest = (0..block.rows).fold(0, |low, i| if out[i] < out[low] { i } else { low });
        if block.rows > 0 && out[lowest] < worst.0 {
            *worst = (out[lowest], Some(unit_row(block, scale, lowest)));
        }
    };
    Ok(rows.gather(|| (-ZERO, None), add, |a, b| if b.0 < a.0 { b } else { a })?.1)
}

/// The rows whose multipliers are positive.
struct Active {
    base: DVector<f64>,
    rows: Vec<DVector<f64>>,
    multipliers: Vec<f64>,
}

impl Active {
    fn sum(&self) -> DVector<f64> {
        self.rows.iter().zip(&self.multipliers).fold(self.base.clone(), |sum, (z, m)| sum + z * *m)
    }

    /// Takes a row in, and those out whose multipliers would turn negative.
    fn enter(&mut self, row: DVector<f64>) {
        self.rows.push(row);
        self.multipliers.push(0.0);
        loop {
            let wanted = self.least_squares();
            if wanted.iter().all(|m| *m > 0.0) {
                self.multipliers = wanted;
                return;
            }
            let share = |(m, w): (&f64, &f64)| if *w <= 0.0 { m / (m - w) } else { 1.0 };
            let step = self.multipliers.iter().zip(&wanted).map(share).fold(1.0, f64::min);
            for (m, w) in self.multipliers.iter_mut().zip(&wanted) {
                *m += step * (w - *m);
            }
            let tiny = 1e-14 * self.multipliers.iter().copied().fold(0.0, f64::max);
            let before = self.rows.len();
            let keep: Vec<bool> = self.multipliers.iter().map(|m| *m > tiny).collect();
            retain(&mut self.rows, &keep);
            retain(&mut self.multipliers, &keep);
            if self.rows.len() == before || self.rows.is_empty() {
                return;
            }
        }
    }

    /// The multipliers that make the sum shortest, whatever their signs.
    fn least_squares(&self) -> Vec<f64> {
        let columns = DMatrix::from_columns(&self.rows);
        let svd = columns.svd(true, true);
        let cut = 1e-13 * svd.singular_values.max();
        svd.solve(&-&self.base, cut).map_or_else(|_| vec![0.0; self.rows.len()], |m| m.as_slice().to_vec())
    }
}

fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    list.retain(|_| flags.next().copied().unwrap_or(true));
}

/// The direction without the entries that are rounding.
fn simplified(direction: &DVector<f64>) -> DVector<f64> {
    let largest = direction.amax();
    direction.map(|d| if d.abs() < 1e-6 * largest { 0.0 } else { d }).normalize()
}

/// What a direction does over all rows.
#[derive(Clone, Copy, Default)]
struct Seen {
    violated: usize,
    data: usize,
    noise: usize,
}

partial_fields!(Seen { violated, data, noise });

impl Seen {
    fn join(self, other: Self) -> Self {
        Self {
            violated: self.violated + other.violated,
            data: self.data + other.data,
            noise: self.noise + other.noise,
        }
    }
}

fn certify(rows: &impl Rows, scale: &[f64], direction: &DVector<f64>) -> Result<Seen> {
    let add = |seen: &mut Seen, block: &Block<'_>| {
        let out = products(block, scale, direction.as_slice());
        let strict = out.iter().filter(|p| **p > ZERO).count();
        let violated = out.iter().filter(|p| **p < -ZERO).count();
        let (data, noise) = if block.data { (strict, 0) } else { (0, strict) };
        *seen = seen.join(Seen { violated, data, noise });
    };
    rows.gather(Seen::default, add, Seen::join)
}

/// Smallest and largest value of a coordinate of the score, on data and on noise.
type Ranges = [[f64; 2]; 2];

fn ranges(rows: &impl Rows) -> Result<Vec<Ranges>> {
    let wider = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a.min(c), b.max(d)];
    let add = |ranges: &mut Vec<Ranges>, block: &Block<'_>| {
        for (range, column) in ranges.iter_mut().zip(block.columns()) {
            let side = &mut range[usize::from(!block.data)];
            for (_, s) in column.iter().enumerate().filter(|(i, _)| block.weight(*i) > 0.0) {
                *side = wider(*side, [*s, *s]);
            }
        }
    };
    let join = |a: Vec<Ranges>, b: Vec<Ranges>| {
        a.iter().zip(&b).map(|(a, b)| [wider(a[0], b[0]), wider(a[1], b[1])]).collect()
    };
    let size = rows.coordinates();
    rows.gather(|| vec![[[f64::INFINITY, f64::NEG_INFINITY]; 2]; size], add, join)
}

fn report(
    direction: &DVector<f64>,
    scale: &[f64],
    seen: &Seen,
    names: &[String],
    ranges: &[Ranges],
) -> Separation {
    // In scaled coordinates ψ/s the direction is d; in the parameters' own it is d/s.
    let own: Vec<f64> = direction.iter().zip(scale).map(|(d, s)| d / s).collect();
    let largest = own.iter().fold(0.0f64, |top, d| top.max(d.abs()));
    let running = |j: usize| DivergingParameter {
        name: names[j].clone(),
        index: j,
        sign: if direction[j] > 0.0 { 1 } else { -1 },
        data_range: ranges[j][0],
        noise_range: ranges[j][1],
    };
    // The constant follows whatever the parameters do.
    let involved = (0..names.len()).filter(|&j| direction[j].abs() > 1e-6 && names[j] != LOG_NORMALIZER);
    Separation {
        direction: own.iter().map(|d| d / largest).collect(),
        running: involved.map(running).collect(),
        data_rows: seen.data,
        noise_rows: seen.noise,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fit::distributed::Partial;
    use noisewright_numerics::gram::Columns;
    use proptest::prelude::*;

    /// Rows in memory: data, then noise.
    struct Listed {
        data: Vec<Vec<f64>>,
        noise: Vec<Vec<f64>>,
    }

    impl Rows for Listed {
        fn coordinates(&self) -> usize {
            self.data[0].len()
        }

        fn gather<T: Send + Partial>(
            &self,
            new: impl Fn() -> T + Sync,
            add: impl Fn(&mut T, &Block<'_>) + Sync,
            _: impl Fn(T, T) -> T + Sync,
        ) -> Result<T> {
            let mut out = new();
            for (data, rows) in [(true, &self.data), (false, &self.noise)] {
                let size = self.coordinates();
                let score: Vec<f64> = (0..size).flat_map(|j| rows.iter().map(move |row| row[j])).collect();
                let score = Columns::new(&score, rows.len(), size, rows.len());
                add(
                    &mut out,
                    &Block { data, rows: rows.len(), first_row: 0, score, log_ratio: &[], weights: None },
                );
            }
            Ok(out)
        }
    }

    fn names(size: usize) -> Vec<String> {
        (0..size).map(|j| format!("p{j}")).collect()
    }

    /// In the plane by brute force, in whole numbers: if any direction separates, one at a right angle to some row does,
    /// or one along a row, or halfway between two at right angles.
    fn separable_in_the_plane(data: &[[i64; 2]], noise: &[[i64; 2]]) -> bool {
        let z: Vec<[i64; 2]> = data.iter().copied().chain(noise.iter().map(|[a, b]| [-a, -b])).collect();
        let mut candidates = Vec::new();
        for &[a, b] in &z {
            candidates.extend([[a, b], [-a, -b], [-b, a], [b, -a]]);
        }
        let halves: Vec<[i64; 2]> = candidates
            .iter()
            .flat_map(|p| candidates.iter().map(move |q| [p[0] + q[0], p[1] + q[1]]))
            .collect();
        candidates.into_iter().chain(halves).any(|d| {
            let products: Vec<i64> = z.iter().map(|r| r[0] * d[0] + r[1] * d[1]).collect();
            products.iter().all(|p| *p >= 0) && products.iter().any(|p| *p > 0)
        })
    }

    proptest! {
        #[test]
        fn the_plane_agrees_with_brute_force(
            data in prop::collection::vec([-3i64..4, -3i64..4], 1..6),
            noise in prop::collection::vec([-3i64..4, -3i64..4], 1..6),
        ) {
            let as_rows = |list: &[[i64; 2]]| -> Vec<Vec<f64>> {
                list.iter().map(|r| r.iter().map(|v| *v as f64).collect()).collect()
            };
            let rows = Listed { data: as_rows(&data), noise: as_rows(&noise) };
            let found = separation(&rows, &names(2)).unwrap();
            prop_assert_eq!(found.is_some(), separable_in_the_plane(&data, &noise));
        }
    }

    #[test]
    fn a_statistic_that_only_the_noise_has_runs_off_alone() {
        let mut random = noisewright_numerics::random::stream(3, 0);
        let mut row = |extra: f64| -> Vec<f64> {
            use rand_distr::{Distribution, StandardNormal};
            let x: f64 = StandardNormal.sample(&mut random);
            vec![x, x * x, extra, -1.0]
        };
        let data = (0..200).map(|_| row(0.0)).collect();
        let noise = (0..200).map(|i| row(f64::from(i % 3))).collect();
        let found = separation(&Listed { data, noise }, &names(4)).unwrap().unwrap();
        assert_eq!(found.direction, [0.0, 0.0, -1.0, 0.0]);
        assert_eq!((found.data_rows, found.noise_rows), (0, 133));
        assert_eq!(found.running.len(), 1);
        assert_eq!((found.running[0].sign, found.running[0].noise_range), (-1, [0.0, 2.0]));
    }

    #[test]
    fn many_coordinates_with_a_thin_gap_are_told_from_none() {
        let mut random = noisewright_numerics::random::stream(4, 0);
        use rand_distr::{Distribution, StandardNormal};
        let size = 20;
        let mut rows = |count: usize, push: f64| -> Vec<Vec<f64>> {
            let mut row = || -> Vec<f64> {
                let mut x: Vec<f64> = (0..size).map(|_| StandardNormal.sample(&mut random)).collect();
                // Along the first coordinate, at least `push` on the right side.
                x[0] = push.signum() * x[0].abs() + push;
                x
            };
            (0..count).map(|_| row()).collect()
        };
        let apart = Listed { data: rows(500, 1e-3), noise: rows(500, -1e-3) };
        let found = separation(&apart, &names(size)).unwrap().unwrap();
        assert!(found.data_rows > 450 && found.noise_rows > 450 && found.direction[0] > 0.0);
        let mixed = Listed { data: rows(500, 1e-3), noise: [rows(500, -1e-3), rows(40, 1e-3)].concat() };
        assert_eq!(separation(&mixed, &names(size)).unwrap(), None);
    }
}
