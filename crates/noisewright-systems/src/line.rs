//! Systems of one variable beyond the Gaussian: on the line, half of it, an interval, and counts.

use nalgebra::{DMatrix, DVector, dmatrix};
use noisewright::parts::Dof;
use noisewright::{
    Domain, FamilyOptions, Gamma, Model, Normal, Parameter, Poisson, Result, Space, Student, Truncated,
};

use crate::System;
use crate::sums::{digamma_trigamma, moments, of_powers};
use crate::system::family;

/// `ln ∫ exp(x²/2 − x⁴/4) dx`, by mpmath (`references.py`).
const QUARTIC_LOG_Z: f64 = 1.362_292_909_398_741_2;

/// `E x²` under `exp(x²/2 − x⁴/4)`, by mpmath (`references.py`).
const QUARTIC_SECOND_MOMENT: f64 = 1.041_797_296_487_156;

/// `E x^k` of `exp(x²/2 − x⁴/4)` for k up to 8: by parts, `E x^{k+4} = E x^{k+2} + (k+1) E x^k`.
fn quartic_moments() -> [f64; 9] {
    let mut m = [1.0, 0.0, QUARTIC_SECOND_MOMENT, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for k in 0..5 {
        m[k + 4] = m[k + 2] + (k + 1) as f64 * m[k];
    }
    m
}

/// The double well `exp(a x²/2 − b x⁴/4)` at a = b = 1, as a formula.
///
/// # Errors
/// Never, unless the library refuses the formula.
pub fn quartic() -> Result<System> {
    let parameters = vec![Parameter::new("a", 1.0), Parameter::new("b", 1.0)];
    let model = Model::from_formula("a*x^2/2 - b*x^4/4", Space::real(&["x"])?, parameters, false)?;
    let (mean, covariance) = of_powers(&[2, 4], &quartic_moments());
    let factors = DVector::from_row_slice(&[0.5, -0.25]);
    let scale = DMatrix::from_diagonal(&factors);
    let known = (mean.component_mul(&factors), &scale * covariance * &scale);
    Ok(System::new("quartic", model, &[1.0, 1.0], QUARTIC_LOG_Z, known))
}

/// The same density in the family `exp(t1 x + … + t4 x⁴)`.
///
/// # Errors
/// Never, unless the library refuses its own family.
pub fn exponential_polynomial() -> Result<System> {
    let model = family("exponential-polynomial", &["x"], &FamilyOptions::default(), false)?;
    let known = of_powers(&[1, 2, 3, 4], &quartic_moments());
    Ok(System::new("exponential polynomial", model, &[0.0, 0.5, 0.0, -0.25], QUARTIC_LOG_Z, known))
}

/// The gamma family: `J = [ψ'(shape), −1/rate; −1/rate, shape/rate²]`.
///
/// # Errors
/// When a parameter is not positive.
pub fn gamma(shape: f64, rate: f64, normalized: bool) -> Result<System> {
    let model = family("gamma", &["x"], &FamilyOptions::default(), normalized)?;
    let (digamma, trigamma) = digamma_trigamma(shape);
    let mean = DVector::from_row_slice(&[digamma - rate.ln(), -shape / rate]);
    let fisher = dmatrix![trigamma, -1.0 / rate; -1.0 / rate, shape / (rate * rate)];
    let log_z = libm::lgamma(shape) - shape * rate.ln();
    let name = format!("gamma {shape}, {rate}");
    let system = System::new(name, model, &[shape, rate], log_z, (mean, fisher));
    Ok(system.with_noise(Gamma::new(shape, rate)?))
}

/// Student's family with location and scale: `J = diag(ν+1, 2ν)/((ν+3) scale²)`.
///
/// # Errors
/// When the degrees of freedom or the scale are not positive.
pub fn student(dof: f64, location: f64, scale: f64, normalized: bool) -> Result<System> {
    let options = FamilyOptions { dof: Some(Dof::Fixed(dof)), ..FamilyOptions::default() };
    let model = family("student", &["x"], &options, normalized)?;
    let unit = (dof + 3.0) * scale * scale;
    let fisher = DMatrix::from_diagonal(&DVector::from_row_slice(&[(dof + 1.0) / unit, 2.0 * dof / unit]));
    let mean = DVector::from_row_slice(&[0.0, 1.0 / scale]);
    let log_beta = libm::lgamma(0.5 * dof) + libm::lgamma(0.5) - libm::lgamma(0.5 * dof + 0.5);
    let log_z = scale.ln() + 0.5 * dof.ln() + log_beta;
    let name = format!("student {dof}, {location}, {scale}");
    let system = System::new(name, model, &[location, scale], log_z, (mean, fisher));
    Ok(system.with_noise(Student::new(dof, location, scale)?))
}

/// `exp(h x − P x²/2)` on an interval, P > 0: the moments by parts from the error function.
///
/// # Errors
/// When the interval is empty or P is not positive.
pub fn truncated_gaussian(lower: f64, upper: f64, h: f64, p: f64, normalized: bool) -> Result<System> {
    let domain = Some(Domain::Interval(lower, upper));
    let options = FamilyOptions { domain, ..FamilyOptions::default() };
    let model = family("truncated-gaussian", &["x"], &options, normalized)?;
    let u = |x: f64| h * x - 0.5 * p * x * x;
    let standard = |x: f64| (x - h / p) * (0.5 * p).sqrt();
    let mass = (0.5 * std::f64::consts::PI / p).sqrt()
        * (h * h / (2.0 * p)).exp()
        * (libm::erf(standard(upper)) - libm::erf(standard(lower)));
    let mut m = [1.0; 5];
    for k in 0..4 {
        let before = if k == 0 { 0.0 } else { k as f64 * m[k - 1] };
        let edge = |x: f64| x.powi(k as i32) * u(x).exp();
        m[k + 1] = (h * m[k] + before - (edge(upper) - edge(lower)) / mass) / p;
    }
    let (mean, covariance) = of_powers(&[1, 2], &m);
    let factors = DVector::from_row_slice(&[1.0, -0.5]);
    let scale = DMatrix::from_diagonal(&factors);
    let known = (mean.component_mul(&factors), &scale * covariance * &scale);
    let name = format!("gaussian {h}, {p} on [{lower}, {upper}]");
    let noise = Truncated::new(Normal::with_variance(h / p, 1.0 / p)?, lower, upper)?;
    Ok(System::new(name, model, &[h, p], mass.ln(), known).with_noise(noise))
}

/// Conway–Maxwell–Poisson counts, `log_rate·x − dispersion·ln x!`, by summing the first 2000 terms.
///
/// # Errors
/// When the dispersion is negative.
pub fn com_poisson(log_rate: f64, dispersion: f64) -> Result<System> {
    let model = family("com-poisson", &["x"], &FamilyOptions::default(), false)?;
    let mut log_factorial = 0.0;
    let states: Vec<(f64, Vec<f64>)> = (0..2000)
        .map(|x| {
            let x = f64::from(x);
            log_factorial += if x > 1.0 { x.ln() } else { 0.0 };
            (log_rate * x - dispersion * log_factorial, vec![x, -log_factorial])
        })
        .collect();
    let (log_z, known) = moments(&states);
    let name = format!("com-poisson {log_rate}, {dispersion}");
    let system = System::new(name, model, &[log_rate, dispersion], log_z, known);
    if dispersion == 1.0 { Ok(system.with_noise(Poisson::new(log_rate.exp())?)) } else { Ok(system) }
}
