//! Quiet directions on spheres of any dimension, by the angles of spherical coordinates.
//!
//! The angle θ between a direction of d coordinates and its mean direction has the density `e^{κ cos θ} sin^{d−2} θ` (von
//! Mises–Fisher), and what is left is a uniform direction of d − 1 coordinates at right angles to the mean, whose first angle
//! has the density `sin^{d−3} θ`, and so on down to the circle.

use std::f64::consts::{PI, TAU};

use super::line::LineQuantile;
use crate::{Scalar, View, VonMises};

/// Log-density below its peak from which on an angle has no mass.
const NO_MASS: f64 = 60.0;
/// Halvings of the interval of angles in search of its end.
const HALVINGS: usize = 60;

/// Maps points of the unit cube of d − 1 variables to directions around `mean` with the concentration κ.
pub(in crate::noise) fn transport(mean: &[f64], kappa: f64, cube: View<'_>, out: &mut [f64]) {
    let (d, rows) = (mean.len(), cube.rows());
    let around = Around::new(mean);
    let angles: Vec<Angle> =
        (0..d.saturating_sub(2)).map(|j| Angle::new(if j == 0 { kappa } else { 0.0 }, d - 2 - j)).collect();
    let circle = VonMises::new(0.0, if d == 2 { kappa } else { 0.0 });
    let mut rest = vec![0.0; d];
    for row in 0..rows {
        // What is left of the length after the angles so far.
        let mut length = 1.0;
        for (j, angle) in angles.iter().enumerate() {
            let theta = angle.at(cube.get(row, j));
            rest[j] = length * theta.cos();
            length *= theta.sin();
        }
        let u = cube.get(row, d - 2);
        let last = if d == 2 { circle.as_ref().map_or(f64::NAN, |c| c.quantile(u)) } else { TAU * u };
        (rest[d - 2], rest[d - 1]) = (length * last.cos(), length * last.sin());
        around.turn(&mut rest);
        (0..d).for_each(|axis| out[axis * rows + row] = rest[axis]);
    }
}

/// An angle with the density `e^{κ cos θ} sin^m θ`.
struct Angle {
    kappa: f64,
    power: f64,
    quantile: Option<LineQuantile>,
}

impl Angle {
    fn new(kappa: f64, power: usize) -> Self {
        let mut angle = Self { kappa, power: power as f64, quantile: None };
        // In closed form on the sphere: cos θ of a uniform direction is uniform, e^{κ cos θ} too.
        if power > 1 {
            let upper = angle.end();
            let made = LineQuantile::new(0.0, upper, &[], &|x, out| angle.log_densities(x, out));
            angle.quantile = made;
        }
        angle
    }

    fn log_densities(&self, theta: &[f64], out: &mut [f64]) {
        for (out, theta) in out.iter_mut().zip(theta) {
            // cos θ − 1 = −2 sin²(θ/2) keeps its digits where κ is large.
            *out = -2.0 * self.kappa * (0.5 * theta).sin().powi(2) + self.power * theta.sin().ln();
        }
    }

    /// The angle beyond which there is no mass: the log-density rises to its one peak, κ sin²θ = m cos θ, and falls.
    fn end(&self) -> f64 {
        let at = |theta: f64| {
            let mut out = [0.0];
            self.log_densities(&[theta], &mut out);
            out[0]
        };
        let ratio = 2.0 * self.kappa / self.power;
        let cosine = ratio / (1.0 + (1.0 + ratio * ratio).sqrt());
        let peak = cosine.acos();
        let (mut near, mut far) = (peak, PI);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(near, far);
            if at(middle) < at(peak) - NO_MASS { far = middle } else { near = middle }
        }
        far
    }

    fn at(&self, u: f64) -> f64 {
        if let Some(quantile) = &self.quantile {
            return quantile.at(u, &|x, out| self.log_densities(x, out));
        }
        // exp(−κ·fall) is uniform between exp(−2κ) and 1, and fall = 1 − cos θ = 2 sin²(θ/2).
        let fall =
            if self.kappa > 0.0 { -(u * (-2.0 * self.kappa).exp_m1()).ln_1p() / self.kappa } else { 2.0 * u };
        2.0 * (0.5 * fall.clamp(0.0, 2.0)).sqrt().asin()
    }
}

/// The reflection that carries the first axis to a direction.
struct Around {
    /// The normal of its plane, not scaled, and its squared length.
    normal: Vec<f64>,
    square: f64,
    /// Whether it carries the axis to the opposite of the direction, which keeps digits where the two are near.
    opposite: bool,
}

impl Around {
    fn new(mean: &[f64]) -> Self {
        let opposite = mean[0] > 0.0;
        let mut normal: Vec<f64> = mean.iter().map(|m| if opposite { -m } else { *m }).collect();
        normal[0] -= 1.0;
        let square = normal.iter().map(|x| x * x).sum();
        Self { normal, square, opposite }
    }

    fn turn(&self, point: &mut [f64]) {
        let along: f64 = point.iter().zip(&self.normal).map(|(x, n)| x * n).sum();
        let factor = 2.0 * along / self.square;
        point.iter_mut().zip(&self.normal).for_each(|(x, n)| *x -= factor * n);
        if self.opposite {
            point.iter_mut().for_each(|x| *x = -*x);
        }
    }
}
