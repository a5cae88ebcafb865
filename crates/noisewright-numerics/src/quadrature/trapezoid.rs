//! The tensor trapezoidal rule for smooth integrands on a plane or in space, refined until two grids agree.
//!
//! An analytic integrand that falls off at both ends, or is periodic, is integrated by equidistant nodes with an error that falls
//! geometrically with their number (Trefethen and Weideman, *The exponentially convergent trapezoidal rule*, SIAM Review 56,
//! 2014): 60 nodes a side give eleven digits where panels of Gauss nodes need ten times as many. Nothing is gained at kinks,
//! poles and heavy tails; such integrands are told by how they converge and left to [`integrate`](super::integrate).

use super::axis::Nodes;
use super::tensor::{LogIntegrands, Options, Quadrature, evaluate_blocks, tensor_points};
use crate::summation::log_sum_exp;

/// Contributions below `exp(−NEGLIGIBLE)` of every integral do not survive rounding: their nodes are dropped.
const NEGLIGIBLE: f64 = 45.0;

/// Widths to each side of the center at which the search for the box begins: a normal density is below 1e-13 there.
const FIRST_REACH: f64 = 8.0;

/// Widths beyond which a tail is called heavy. That of a normal density ends at 9, an exponential one at 40.
const LARGEST_REACH: f64 = 60.0;

/// Rounds in which the box is fitted to the integrands.
const FITTINGS: usize = 16;

/// What all of a slab at the edge of the box may contribute, as a part of the tolerance.
const EDGE: f64 = 1e-2;

/// Growth of the number of nodes from grid to grid: their steps share no common divisor, so that what one grid misses
/// between its nodes the next one sees.
const GROWTH: f64 = std::f64::consts::SQRT_2;

/// Between grids that grow by √2 a geometric error goes to its power √2, one of order h² falls to a half only. A fall by
/// less than this factor is taken for the second.
const SLOW: f64 = 0.3;

/// The tolerance that is sought whatever was asked for, since one grid more costs little.
const TOLERANCE: f64 = 1e-10;

/// One axis: a part of the line around a center, as wide as it must be, or a whole period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// The real line, with the places of the outermost peaks and the width of the main one.
    Line {
        /// The lowest peak.
        first: f64,
        /// The highest one; the same where there is one alone.
        last: f64,
        /// How wide they are.
        scale: f64,
    },
    /// A period.
    Period {
        /// Its lower end.
        lower: f64,
        /// Its upper end.
        upper: f64,
    },
}

/// The part of an axis that nodes are laid over.
#[derive(Clone, Copy, Debug)]
struct Extent {
    lower: f64,
    upper: f64,
    /// The outermost ends that are allowed; none for a period.
    limits: Option<(f64, f64)>,
}

impl Extent {
    fn new(span: Span) -> Self {
        match span {
            Span::Line { first, last, scale } => Self {
                lower: first - FIRST_REACH * scale,
                upper: last + FIRST_REACH * scale,
                limits: Some((first - LARGEST_REACH * scale, last + LARGEST_REACH * scale)),
            },
            Span::Period { lower, upper } => Self { lower, upper, limits: None },
        }
    }

    /// Midpoints of `count` equal cells: the trapezoidal rule, shifted by half a step.
    fn nodes(&self, count: usize) -> Nodes {
        let step = (self.upper - self.lower) / count as f64;
        let at = (0..count).map(|i| self.lower + (i as f64 + 0.5) * step).collect();
        Nodes { at, weight: vec![step; count], gauss: Vec::new(), panel_start: Vec::new() }
    }

    /// The extent after a look at what each node's slab contributes, relative to the largest part that may be left out:
    /// wider where the edge matters, narrower where nothing is. `None` where the tail is heavy.
    fn fitted(&self, slabs: &[f64]) -> Option<Self> {
        let Some((lowest, highest)) = self.limits else { return Some(*self) };
        let step = (self.upper - self.lower) / slabs.len() as f64;
        let empty = |slab: &&f64| **slab < 1.0;
        let (below, above) =
            (slabs.iter().take_while(empty).count(), slabs.iter().rev().take_while(empty).count());
        if below == slabs.len() {
            return None;
        }
        let change = |empty: usize| {
            if empty == 0 { 0.25 * (self.upper - self.lower) } else { step * (1.0 - empty as f64) }
        };
        let next = Self {
            lower: self.lower - change(below),
            upper: self.upper + change(above),
            limits: self.limits,
        };
        (next.lower >= lowest && next.upper <= highest).then_some(next)
    }
}

/// One grid and what it gives.
struct Grid {
    points: Vec<f64>,
    log_weights: Vec<f64>,
    log_values: Vec<Vec<f64>>,
    log_integrals: Vec<f64>,
}

/// Integrates smooth positive functions over the product of two or three axes; `None` where the rule does not serve them.
///
/// As in [`integrate`](super::integrate), `log_integrands(points, rows, out)` writes the logarithm of component `k` at point `i` to
/// `out[k * rows + i]`. The stated error is the difference to a coarser grid, which bounds that of the finer one.
///
/// ```
/// use noisewright_numerics::quadrature::{Options, Span, integrate_smooth};
/// // ∫∫ exp(−x⁴ − y⁴) = (Γ(1/4)/2)²
/// let quartic = |x: &[f64], rows: usize, out: &mut [f64]| {
///     for i in 0..rows {
///         out[i] = -x[i].powi(4) - x[rows + i].powi(4);
///     }
/// };
/// let line = Span::Line { first: 0.0, last: 0.0, scale: 1.0 };
/// let result = integrate_smooth(&[line, line], 1, &Options::default(), &quartic).unwrap();
/// assert!((result.log_integrals[0] - 2.0 * 1.812_804_954_110_954_f64.ln()).abs() < 1e-12);
/// ```
#[must_use]
pub fn integrate_smooth(
    spans: &[Span],
    components: usize,
    options: &Options,
    log_integrands: LogIntegrands<'_>,
) -> Option<Quadrature> {
    let rule = Rule { components, log_integrands, tolerance: options.relative_tolerance.min(TOLERANCE) };
    let extents = rule.fit_box(spans.iter().map(|s| Extent::new(*s)).collect())?;
    let mut count: f64 = if spans.len() == 2 { 32.0 } else { 20.0 };
    let patience = if spans.len() == 2 { 100.0 } else { 50.0 };
    let mut grid = rule.evaluate(&extents, count as usize)?;
    let (mut error, mut slow) = (f64::INFINITY, 0);
    loop {
        count *= GROWTH;
        let nodes = (count as usize).checked_pow(u32::try_from(spans.len()).ok()?)?;
        if nodes > options.max_nodes {
            return (error <= options.relative_tolerance).then(|| grid.finish(error));
        }
        let next = rule.evaluate(&extents, count as usize)?;
        let change = next.distance(&grid);
        // Once may be the fall's beginning, as that of a curved density on a grid that hardly resolves it.
        slow = if change > SLOW * error && count > patience { slow + 1 } else { 0 };
        (grid, error) = (next, change);
        if error <= rule.tolerance.max(grid.rounding()) {
            return Some(grid.finish(error));
        }
        if slow == 2 {
            return (error <= options.relative_tolerance).then(|| grid.finish(error));
        }
    }
}

/// One grid of so many nodes a side over the same box, however well it serves: for integrands with kinks that are smooth
/// ones beside the given, of which finer and finer grids are wanted.
///
/// The stated errors are zero: nothing is compared. `None` where [`integrate_smooth`] would be at once.
#[must_use]
pub fn smooth_grid(
    spans: &[Span],
    components: usize,
    count: usize,
    log_integrands: LogIntegrands<'_>,
) -> Option<Quadrature> {
    let rule = Rule { components, log_integrands, tolerance: TOLERANCE };
    let extents = rule.fit_box(spans.iter().map(|s| Extent::new(*s)).collect())?;
    Some(rule.evaluate(&extents, count)?.finish(0.0))
}

struct Rule<'a> {
    components: usize,
    log_integrands: LogIntegrands<'a>,
    tolerance: f64,
}

impl Rule<'_> {
    /// Values on a grid; `None` where one is not a number or infinite, or an integral is zero.
    fn evaluate(&self, extents: &[Extent], count: usize) -> Option<Grid> {
        let nodes: Vec<Nodes> = extents.iter().map(|e| e.nodes(count)).collect();
        let (points, log_weights) = tensor_points(&nodes);
        let rows = log_weights.len();
        let log_values = evaluate_blocks(&points, rows, extents.len(), self.components, self.log_integrands);
        if log_values.iter().flatten().any(|v| v.is_nan() || *v == f64::INFINITY) {
            return None;
        }
        // The steps are all alike, and so are the weights.
        let log_integrals: Vec<f64> = log_values.iter().map(|v| log_sum_exp(v) + log_weights[0]).collect();
        let all = log_integrals.iter().all(|l| l.is_finite());
        all.then_some(Grid { points, log_weights, log_values, log_integrals })
    }

    /// The smallest box outside of which nothing matters to any integrand.
    fn fit_box(&self, mut extents: Vec<Extent>) -> Option<Vec<Extent>> {
        let count = if extents.len() == 2 { 40 } else { 24 };
        for _ in 0..FITTINGS {
            let grid = self.evaluate(&extents, count)?;
            let slabs = grid.slabs(count, extents.len(), EDGE * self.tolerance);
            let next: Vec<Extent> =
                extents.iter().zip(&slabs).map(|(e, slab)| e.fitted(slab)).collect::<Option<_>>()?;
            let width = |e: &Extent| e.upper - e.lower;
            let settled = extents.iter().zip(&next).all(|(a, b)| (width(b) / width(a) - 1.0).abs() < 0.15);
            let growing = slabs.iter().zip(&next).any(|(slab, e)| {
                e.limits.is_some()
                    && (slab.first().is_some_and(|s| *s >= 1.0) || slab.last().is_some_and(|s| *s >= 1.0))
            });
            if !growing && settled {
                return Some(extents);
            }
            extents = next;
        }
        None
    }
}

impl Grid {
    /// For each axis and each of its nodes, the largest contribution of its slab to an integral, in units of `allowed`
    /// times that integral.
    fn slabs(&self, count: usize, axes: usize, allowed: f64) -> Vec<Vec<f64>> {
        let mut largest = vec![vec![0.0f64; count]; axes];
        for (values, integral) in self.log_values.iter().zip(&self.log_integrals) {
            let mut sums = vec![vec![0.0f64; count]; axes];
            for (row, value) in values.iter().enumerate() {
                let term = (value + self.log_weights[row] - integral).exp() / allowed;
                let mut rest = row;
                for axis in (0..axes).rev() {
                    sums[axis][rest % count] += term;
                    rest /= count;
                }
            }
            for (all, own) in largest.iter_mut().flatten().zip(sums.iter().flatten()) {
                *all = all.max(*own);
            }
        }
        largest
    }

    /// The largest relative difference of an integral.
    fn distance(&self, other: &Self) -> f64 {
        let pairs = self.log_integrals.iter().zip(&other.log_integrals);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// What logarithms as large as these leave of a sum's digits.
    fn rounding(&self) -> f64 {
        let largest =
            self.log_values.iter().flatten().filter(|v| v.is_finite()).fold(1.0, |m: f64, v| m.max(v.abs()));
        // Values far below the integral do not count, but their size bounds that of those which do.
        4.0 * f64::EPSILON * largest.min(1e6)
    }

    fn finish(self, error: f64) -> Quadrature {
        let matters = |row: &usize| {
            let values = self.log_values.iter().zip(&self.log_integrals);
            values.into_iter().any(|(v, integral)| v[*row] + self.log_weights[*row] > integral - NEGLIGIBLE)
        };
        let rows = self.log_weights.len();
        let keep: Vec<usize> = (0..rows).filter(matters).collect();
        let points = self.points.chunks(rows).flat_map(|axis| keep.iter().map(|&i| axis[i])).collect();
        let components = self.log_integrals.len();
        Quadrature {
            points,
            log_weights: keep.iter().map(|&i| self.log_weights[i]).collect(),
            log_integrals: self.log_integrals,
            relative_errors: vec![error.max(4.0 * f64::EPSILON); components],
            divergences: vec![None; components],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(center: f64, scale: f64) -> Span {
        Span::Line { first: center, last: center, scale }
    }

    fn default() -> Options {
        Options::default()
    }

    #[test]
    fn a_correlated_gaussian_in_space_to_twelve_digits() {
        // Precision [[2, 0.5, 0], [0.5, 1, 0.3], [0, 0.3, 1.5]]: determinant 2·1.41 − 0.5·0.75.
        let gauss = |x: &[f64], n: usize, out: &mut [f64]| {
            for i in 0..n {
                let (a, b, c) = (x[i] - 3.0, x[n + i], x[2 * n + i] + 1.0);
                out[i] = -0.5 * (2.0 * a * a + a * b + b * b + 0.6 * b * c + 1.5 * c * c) - 700.0;
            }
        };
        let spans = [line(3.0, 1.0), line(0.0, 1.0), line(-1.0, 1.0)];
        let result = integrate_smooth(&spans, 1, &default(), &gauss).unwrap();
        let determinant: f64 = 2.0 * (1.5 - 0.09) - 0.5 * 0.5 * 1.5;
        let exact = 1.5 * std::f64::consts::TAU.ln() - 0.5 * determinant.ln() - 700.0;
        assert!((result.log_integrals[0] - exact).abs() < 1e-11);
        assert!(result.relative_errors[0] < 1e-9);
    }

    #[test]
    fn widths_that_are_far_off_do_no_harm() {
        let gauss = |x: &[f64], n: usize, out: &mut [f64]| {
            (0..n).for_each(|i| out[i] = -0.5 * (x[i].powi(2) + x[n + i].powi(2)));
        };
        for scale in [0.2, 10.0] {
            let result =
                integrate_smooth(&[line(0.0, scale), line(0.3, scale)], 1, &default(), &gauss).unwrap();
            assert!((result.log_integrals[0] - std::f64::consts::TAU.ln()).abs() < 1e-11, "{scale}");
        }
    }

    #[test]
    fn a_torus_by_periods() {
        // ∫∫ exp(cos a + cos b) = (2π I₀(1))².
        let torus =
            |x: &[f64], n: usize, out: &mut [f64]| (0..n).for_each(|i| out[i] = x[i].cos() + x[n + i].cos());
        let period = Span::Period { lower: -std::f64::consts::PI, upper: std::f64::consts::PI };
        let result = integrate_smooth(&[period, period], 1, &default(), &torus).unwrap();
        let exact = 2.0 * (std::f64::consts::TAU * 1.266_065_877_752_008_4_f64).ln();
        assert!((result.log_integrals[0] - exact).abs() < 1e-12);
    }

    #[test]
    fn kinks_and_heavy_tails_are_left_to_other_rules() {
        let kinked = |x: &[f64], n: usize, out: &mut [f64]| {
            (0..n).for_each(|i| out[i] = -x[i].abs() - x[n + i].abs());
        };
        let heavy = |x: &[f64], n: usize, out: &mut [f64]| {
            (0..n).for_each(|i| out[i] = -2.0 * (x[i].powi(2) + x[n + i].powi(2)).ln_1p());
        };
        let spans = [line(0.1, 1.0), line(0.0, 1.0)];
        assert!(integrate_smooth(&spans, 1, &default(), &kinked).is_none());
        assert!(integrate_smooth(&spans, 1, &default(), &heavy).is_none());
    }
}
