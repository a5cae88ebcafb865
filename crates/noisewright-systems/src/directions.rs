//! Systems of angles and directions.

use nalgebra::{DMatrix, DVector};
use noisewright::{FamilyOptions, Result, VonMises, VonMisesFisher};

use crate::System;
use crate::sums::bessel_i;
use crate::system::family;

/// Mean and covariance of a direction with concentration θ: `A θ/κ`, variance `radial` along θ and `A/κ` across.
fn of_direction(theta: &[f64], resultant: f64, radial: f64) -> (DVector<f64>, DMatrix<f64>) {
    let theta = DVector::from_row_slice(theta);
    let kappa = theta.norm();
    let along = &theta / kappa;
    let projector = &along * along.transpose();
    let across = DMatrix::identity(theta.len(), theta.len()) - &projector;
    (resultant * along, radial * projector + resultant / kappa * across)
}

/// `a cos x + b sin x` on the circle: `Z = 2π I₀(κ)`, `A = I₁(κ)/I₀(κ)`.
///
/// # Errors
/// When a parameter is not finite.
pub fn von_mises(a: f64, b: f64, normalized: bool) -> Result<System> {
    let model = family("von-mises", &["x"], &FamilyOptions::default(), normalized)?;
    let kappa = a.hypot(b);
    let resultant = bessel_i(1, kappa) / bessel_i(0, kappa);
    let known = of_direction(&[a, b], resultant, 1.0 - resultant / kappa - resultant * resultant);
    let log_z = (std::f64::consts::TAU * bessel_i(0, kappa)).ln();
    let system = System::new(format!("von Mises {a}, {b}"), model, &[a, b], log_z, known);
    Ok(system.with_noise(VonMises::new(b.atan2(a), kappa)?))
}

/// `θ·x` on the unit sphere: `Z = 4π sinh κ / κ`, `A = coth κ − 1/κ`.
///
/// # Errors
/// When a parameter is not finite.
pub fn von_mises_fisher(theta: [f64; 3], normalized: bool) -> Result<System> {
    let model = family("von-mises-fisher", &["x", "y", "z"], &FamilyOptions::default(), normalized)?;
    let kappa = DVector::from_row_slice(&theta).norm();
    let resultant = 1.0 / kappa.tanh() - 1.0 / kappa;
    let known = of_direction(&theta, resultant, 1.0 - 2.0 * resultant / kappa - resultant * resultant);
    let log_z = (4.0 * std::f64::consts::PI * kappa.sinh() / kappa).ln();
    let system = System::new(format!("von Mises-Fisher {theta:?}"), model, &theta, log_z, known);
    Ok(system.with_noise(VonMisesFisher::new(&theta.map(|t| t / kappa), kappa)?))
}
