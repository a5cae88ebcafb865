//! Rosenblatt's (1952) map from the unit cube to a density on a box of two or three variables that is known by its values alone:
//! the first variable by its distribution function, each further one by its distribution given those before it.
//!
//! Integrals are Gauss–Legendre sums over even panels, and inside a panel the density is the polynomial through its nodes.

use crate::noise::LogDensity;
use crate::{View, noise::quiet::inside};

/// Nodes and weights of the rule of a panel on [−1, 1]. A designed density has kinks where it begins to be positive, at places
/// that differ from line to line: few nodes in many panels see those better than many nodes in few.
const RULE: [(f64, f64); 4] = [
    (-0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
    (-0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
];
/// Panels along each variable in two and in three variables: a point of three takes a plane of (4·24)² values.
const PANELS: [usize; 2] = [64, 24];
/// Log-density below the highest from which on a place has no mass.
const NO_MASS: f64 = 32.0;
/// Largest difference of the mass from one: with a larger one the panels do not resolve the density.
const WORST_MASS: f64 = 1e-3;
/// Halvings of a panel by which a value is found.
const HALVINGS: usize = 50;

/// The map of one density.
#[derive(Clone, Debug)]
pub(crate) struct ConditionalQuantile {
    lower: Vec<f64>,
    upper: Vec<f64>,
    panels: usize,
    first: PanelMasses,
}

impl ConditionalQuantile {
    /// Integrates a normalized density of two or three variables over a box; `None` where the panels do not resolve it.
    pub(crate) fn new(lower: &[f64], upper: &[f64], density: LogDensity<'_>) -> Option<Self> {
        let panels = *PANELS.get(lower.len().checked_sub(2)?)?;
        let mut own =
            Self { lower: lower.to_vec(), upper: upper.to_vec(), panels, first: PanelMasses::default() };
        own.shrink(density);
        let nodes = own.nodes(0);
        let terms = nodes.iter().map(|x| own.log_integral(&[*x], density));
        own.first = PanelMasses::new(own.lower[0], own.upper[0], panels, &terms.collect::<Vec<f64>>())?;
        (own.first.log_mass.abs() <= WORST_MASS).then_some(own)
    }

    /// Draws from points of the unit cube.
    pub(crate) fn transport(&self, cube: View<'_>, out: &mut [f64], density: LogDensity<'_>) {
        let (d, rows) = (self.lower.len(), cube.rows());
        let mut point = Vec::with_capacity(d);
        for row in 0..rows {
            point.clear();
            point.push(self.first.at(inside(cube.get(row, 0))));
            for axis in 1..d {
                let terms: Vec<f64> = match d - axis {
                    1 => self.values(&point, density),
                    _ => {
                        self.nodes(axis).iter().map(|x| self.log_integral(&[point[0], *x], density)).collect()
                    }
                };
                let masses = PanelMasses::new(self.lower[axis], self.upper[axis], self.panels, &terms);
                let middle = f64::midpoint(self.lower[axis], self.upper[axis]);
                point.push(masses.map_or(middle, |masses| masses.at(inside(cube.get(row, axis)))));
            }
            (0..d).for_each(|axis| out[axis * rows + row] = point[axis]);
        }
    }

    /// The box that holds all the mass, to whole panels and one more on either side.
    fn shrink(&mut self, density: LogDensity<'_>) {
        let d = self.lower.len();
        let first = self.nodes(0);
        let per_axis = first.len();
        let planes: Vec<Vec<f64>> = first.iter().map(|x| self.values(&[*x], density)).collect();
        let top = planes.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut range = vec![(usize::MAX, 0); d];
        for (i, plane) in planes.iter().enumerate() {
            for (at, _) in plane.iter().enumerate().filter(|(_, l)| **l > top - NO_MASS) {
                let place = if d == 2 { vec![i, at] } else { vec![i, at / per_axis, at % per_axis] };
                for ((low, high), node) in range.iter_mut().zip(place) {
                    (*low, *high) = ((*low).min(node / RULE.len()), (*high).max(node / RULE.len()));
                }
            }
        }
        for (axis, (low, high)) in range.into_iter().enumerate().filter(|(_, (low, high))| low <= high) {
            let (start, end) = (self.lower[axis], self.upper[axis]);
            let edge = |panel: usize| start + (end - start) * panel as f64 / self.panels as f64;
            self.lower[axis] = edge(low.saturating_sub(1));
            self.upper[axis] = if high + 2 >= self.panels { end } else { edge(high + 2) };
        }
    }

    /// The nodes along one variable.
    fn nodes(&self, axis: usize) -> Vec<f64> {
        let width = (self.upper[axis] - self.lower[axis]) / self.panels as f64;
        let panel = |p: usize| {
            let middle = self.lower[axis] + width * (p as f64 + 0.5);
            RULE.map(|(t, _)| middle + 0.5 * width * t)
        };
        (0..self.panels).flat_map(panel).collect()
    }

    /// The logarithms of the quadrature weights of those nodes.
    fn log_weights(&self, axis: usize) -> Vec<f64> {
        let half = 0.5 * (self.upper[axis] - self.lower[axis]) / self.panels as f64;
        (0..self.panels).flat_map(|_| RULE.map(|(_, w)| (half * w).ln())).collect()
    }

    /// The log-density at the nodes of all variables but the first ones, the last running fastest.
    fn values(&self, before: &[f64], density: LogDensity<'_>) -> Vec<f64> {
        let axes: Vec<Vec<f64>> = (before.len()..self.lower.len()).map(|axis| self.nodes(axis)).collect();
        let rows = axes.iter().map(Vec::len).product();
        let mut points = Vec::with_capacity(rows * self.lower.len());
        before.iter().for_each(|x| points.extend(std::iter::repeat_n(*x, rows)));
        let mut repeat = rows;
        for axis in &axes {
            repeat /= axis.len();
            let cycle = axis.iter().flat_map(|x| std::iter::repeat_n(*x, repeat)).collect::<Vec<f64>>();
            points.extend(cycle.iter().cycle().take(rows));
        }
        let mut values = vec![0.0; rows];
        density(&points, rows, &mut values);
        values
    }

    /// The logarithm of the integral over all variables but the first ones.
    fn log_integral(&self, before: &[f64], density: LogDensity<'_>) -> f64 {
        let mut values = self.values(before, density);
        for axis in (before.len()..self.lower.len()).rev() {
            let weights = self.log_weights(axis);
            let sum = |line: &[f64]| {
                let terms: Vec<f64> = line.iter().zip(&weights).map(|(l, w)| l + w).collect();
                noisewright_numerics::summation::log_sum_exp(&terms)
            };
            values = values.chunks(weights.len()).map(sum).collect();
        }
        values[0]
    }
}

/// A density of one variable by its values at the nodes of even panels.
#[derive(Clone, Debug, Default)]
struct PanelMasses {
    lower: f64,
    width: f64,
    /// Masses below the end of every panel, over all.
    cumulative: Vec<f64>,
    /// Legendre coefficients of the density in every panel, over the mass of all.
    coefficients: Vec<[f64; 4]>,
    /// The logarithm of the mass.
    log_mass: f64,
}

impl PanelMasses {
    /// From log-densities at the nodes; `None` where there is no mass.
    fn new(lower: f64, upper: f64, panels: usize, log_density: &[f64]) -> Option<Self> {
        let width = (upper - lower) / panels as f64;
        let top = log_density.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            return None;
        }
        let mut coefficients: Vec<[f64; 4]> = log_density
            .chunks_exact(RULE.len())
            .map(|panel| {
                let mut own = [0.0; 4];
                for (l, (t, w)) in panel.iter().zip(RULE) {
                    let weighted = 0.5 * width * w * (l - top).exp();
                    let terms = legendre(t).into_iter().zip([0.5, 1.5, 2.5, 3.5]);
                    own.iter_mut().zip(terms).for_each(|(c, (p, scale))| *c += scale * weighted * p);
                }
                own
            })
            .collect();
        let mass: f64 = coefficients.iter().map(|c| 2.0 * c[0]).sum();
        coefficients.iter_mut().flatten().for_each(|c| *c /= mass);
        let mut below = 0.0;
        let add = |c: &[f64; 4]| {
            below += 2.0 * c[0];
            below
        };
        let cumulative = coefficients.iter().map(add).collect();
        Some(Self { lower, width, cumulative, coefficients, log_mass: top + mass.ln() })
    }

    /// The value with the share `u` of the mass below it.
    fn at(&self, u: f64) -> f64 {
        let panel = self.cumulative.partition_point(|c| *c <= u).min(self.cumulative.len() - 1);
        let before = if panel == 0 { 0.0 } else { self.cumulative[panel - 1] };
        let [c0, c1, c2, c3] = self.coefficients[panel];
        let (mut left, mut right) = (-1.0, 1.0);
        for _ in 0..HALVINGS {
            let t = f64::midpoint(left, right);
            let [p0, p1, p2, p3, p4] = legendre(t);
            // ∫ P_n = (P_{n+1} − P_{n−1})/(2n + 1).
            let mass = c0 * (t + 1.0) + c1 * (p2 - p0) / 3.0 + c2 * (p3 - p1) / 5.0 + c3 * (p4 - p2) / 7.0;
            if before + mass > u { right = t } else { left = t }
        }
        self.lower + self.width * (panel as f64 + 0.5 + 0.25 * (left + right))
    }
}

/// The first Legendre polynomials.
fn legendre(t: f64) -> [f64; 5] {
    let s = t * t;
    let (p2, p3) = (1.5 * s - 0.5, t * (2.5 * s - 1.5));
    [1.0, t, p2, p3, (35.0 * s * s - 30.0 * s + 3.0) / 8.0]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use noisewright_numerics::special::normal_cdf;

    /// A normal density with correlation ½ between neighbours: its conditional quantiles are known in closed form.
    #[test]
    fn conditional_quantiles_of_a_normal_density() {
        for d in [2, 3] {
            let log_density = |points: &[f64], rows: usize, out: &mut [f64]| {
                for row in 0..rows {
                    let x = |j: usize| points[j * rows + row];
                    // x_{j+1} = x_j/2 + √¾ z: an autoregression of variance one.
                    let step = |j: usize| (x(j) - 0.5 * x(j - 1)).powi(2) / 0.75 + 0.75f64.ln();
                    let square = x(0).powi(2) + (1..d).map(step).sum::<f64>();
                    out[row] = -0.5 * (square + d as f64 * std::f64::consts::TAU.ln());
                }
            };
            let map = ConditionalQuantile::new(&vec![-11.0; d], &vec![12.0; d], &log_density).unwrap();
            let u = [0.01, 0.4, 0.999];
            let cube: Vec<f64> = (0..d).map(|j| u[j]).collect();
            let mut out = vec![0.0; d];
            map.transport(View::new(d, 1, &cube), &mut out, &log_density);
            for j in 0..d {
                let z = if j == 0 { out[0] } else { (out[j] - 0.5 * out[j - 1]) / 0.75f64.sqrt() };
                assert!((normal_cdf(z) - u[j]).abs() < 1e-5, "{d}: {} {}", normal_cdf(z), u[j]);
            }
        }
    }
}
