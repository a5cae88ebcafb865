//! The von Mises density on the circle, in natural (`a cos x + b sin x`) and polar form (`κ cos(x − μ)`).

use std::f64::consts::TAU;

use noisewright_numerics::special::{bessel_ratio, ln_bessel_i};

use super::family::{Entry, FamilyInfo, Parts, Request};
use super::pointwise::of_one_variable;
use crate::{Domain, Energy, Parameter, Result, View};

/// `u(x) = a cos x + b sin x` on the circle; parameters `a`, `b`.
///
/// # Formula
/// `log Z = ln 2π I₀(κ)` with `κ = √(a² + b²)`, and `∇ log Z = (a, b)/κ · I₁(κ)/I₀(κ)`.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::VonMises;
/// let mut gradient = [0.0; 2];
/// let log_z = VonMises.log_normalizer(&[0.0, 1.0], &mut gradient).unwrap();
/// assert!((log_z - (std::f64::consts::TAU * 1.2660658777520083).ln()).abs() < 1e-14);
/// assert!((gradient[1] - 0.4463899658965345).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VonMises;

impl Energy for VonMises {
    of_one_variable!(["a", "b"], |a, b| x => {
        let (sin, cos) = x.sin_cos();
        (a * cos + b * sin, [cos, sin])
    });

    fn is_linear(&self) -> bool {
        true
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        super::von_mises_fisher::log_normalizer(parameters, gradient)
    }
}

/// `u(x) = κ cos(x − μ)` on the circle; parameters `mean` (μ) and `concentration` (κ).
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::VonMisesPolar;
/// let mut gradient = [0.0; 2];
/// let log_z = VonMisesPolar.log_normalizer(&[2.0, 0.0], &mut gradient).unwrap();
/// assert!((log_z - std::f64::consts::TAU.ln()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VonMisesPolar;

impl Energy for VonMisesPolar {
    of_one_variable!(["mean", "concentration"], |mean, concentration| x => {
        let (sin, cos) = (x - mean).sin_cos();
        (concentration * cos, [concentration * sin, cos])
    });

    fn canonical(&self, parameters: &mut [f64]) {
        // Rounded up at the half, so that π stays and −π becomes π.
        parameters[0] -= TAU * (parameters[0] / TAU - 0.5).ceil();
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        // I₀ is even: a negative concentration is the same density turned by half a circle.
        let concentration = parameters[1].abs();
        if !concentration.is_finite() {
            return None;
        }
        gradient[0] = 0.0;
        gradient[1] = bessel_ratio(0.0, concentration).copysign(parameters[1]);
        Some(TAU.ln() + ln_bessel_i(0.0, concentration))
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let (mut sines, mut cosines) = (0.0, 0.0);
        for (weight, x) in weights.iter().zip(points.column(0)) {
            let (sin, cos) = (x - parameters[0]).sin_cos();
            sines += weight * sin;
            cosines += weight * cos;
        }
        out[0] -= parameters[1] * cosines;
        out[1] += sines;
        out[2] += sines;
        Ok(true)
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "von-mises",
        description: "von Mises density of an angle, a cos x + b sin x, or mean and concentration",
        domain: "circle",
        options: &["parametrization"],
        parameters: "a, b (natural, default) or mean, concentration (parametrization = \"polar\")",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let space = request.one_variable(&Domain::Circle)?;
    if request.parametrization(&["natural", "polar"])? == 0 {
        let parameters = vec![Parameter::new("a", 0.0), Parameter::new("b", 0.0)];
        return Ok(Parts::new(VonMises, space, parameters));
    }
    let concentration = Parameter { lower: 0.0, ..Parameter::new("concentration", 1.0) };
    Ok(Parts::new(VonMisesPolar, space, vec![Parameter::new("mean", 0.0), concentration]))
}
