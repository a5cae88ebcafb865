//! The von Mises–Fisher density of directions, `θ·x` on the unit sphere.

use std::f64::consts::{LN_2, TAU};

use noisewright_numerics::special::{bessel_ratio, ln_bessel_i, ln_gamma};

use super::family::{Entry, FamilyInfo, Parts, Request};
use super::linear::Statistics;
use crate::{Energy, Error, Parameter, Result, Space, View};

/// Below this concentration the terms of order κ² are less than one part in 10¹⁷.
const NEARLY_UNIFORM: f64 = 1e-9;

/// `u(x) = θ·x` for unit vectors x of d coordinates (surface measure); parameters `t0 …`.
///
/// # Formula
/// With `κ = |θ|`: `log Z = ln[(2π)^{d/2} I_{d/2−1}(κ) / κ^{d/2−1}]` and
/// `∇ log Z = θ/κ · I_{d/2}(κ)/I_{d/2−1}(κ)`.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::VonMisesFisher;
/// // On the ordinary sphere, Z = 4π sinh κ / κ.
/// let mut gradient = [0.0; 3];
/// let energy = VonMisesFisher::new(3).unwrap();
/// let log_z = energy.log_normalizer(&[0.0, 2.0, 0.0], &mut gradient).unwrap();
/// assert!((log_z - (4.0 * std::f64::consts::PI * 2f64.sinh() / 2.0).ln()).abs() < 1e-14);
/// assert!((gradient[1] - (1.0 / 2f64.tanh() - 0.5)).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VonMisesFisher {
    dimension: usize,
}

impl VonMisesFisher {
    /// Directions with so many coordinates, at least two.
    ///
    /// # Errors
    /// When there are fewer than two coordinates.
    pub fn new(dimension: usize) -> Result<Self> {
        if dimension < 2 {
            return Err(Error::Shape {
                what: "coordinates of a direction (at least)",
                expected: 2,
                found: dimension,
            });
        }
        Ok(Self { dimension })
    }
}

impl Statistics for VonMisesFisher {
    fn names(&self) -> Vec<String> {
        (0..self.dimension).map(|j| format!("t{j}")).collect()
    }

    fn variables(&self) -> usize {
        self.dimension
    }

    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]) {
        out.copy_from_slice(points.column(index));
    }

    fn log_partition(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        log_normalizer(parameters, gradient)
    }
}

/// `log ∫ exp(θ·x)` over the unit sphere of as many coordinates as θ has, with its gradient.
pub(super) fn log_normalizer(theta: &[f64], gradient: &mut [f64]) -> Option<f64> {
    let half = 0.5 * theta.len() as f64;
    let order = half - 1.0;
    let concentration = theta.iter().fold(0.0_f64, |norm, t| norm.hypot(*t));
    if !concentration.is_finite() {
        return None;
    }
    let nearly_uniform = concentration < NEARLY_UNIFORM;
    // I_{ν+1}(κ)/I_ν(κ) → κ/(2ν+2) = κ/d.
    let slope = if nearly_uniform { 0.5 / half } else { bessel_ratio(order, concentration) / concentration };
    for (g, t) in gradient.iter_mut().zip(theta) {
        *g = slope * t;
    }
    // ln[I_ν(κ)/κ^ν] → −ν ln 2 − ln Γ(ν+1).
    let radial = if nearly_uniform {
        -order * LN_2 - ln_gamma(half)
    } else {
        ln_bessel_i(order, concentration) - order * concentration.ln()
    };
    Some(half * TAU.ln() + radial)
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "von-mises-fisher",
        description: "von Mises–Fisher density of unit vectors, θ·x",
        domain: "sphere of all variables",
        options: &[],
        parameters: "t0, t1, …",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    request.no_domains("sphere")?;
    let energy = VonMisesFisher::new(request.variables.len())?;
    let parameters = energy.parameters().into_iter().map(|name| Parameter::new(name, 0.0)).collect();
    Ok(Parts::new(energy, Space::sphere(request.variables)?, parameters))
}
