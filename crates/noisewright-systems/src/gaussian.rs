//! Gaussians: one parameter at a time as formulas, and all of them in natural or moment parameters.

use nalgebra::{DMatrix, DVector};
use noisewright::{FamilyOptions, Model, MultivariateNormal, Normal, Parameter, Result, Space};

use crate::System;
use crate::system::family;

const LN_2PI: f64 = 1.837_877_066_409_345_5;

fn one_parameter(
    name: &str,
    formula: &str,
    constant: &str,
    (parameter, value): (&str, f64),
    normalized: bool,
) -> Result<Model> {
    let variables: &[&str] = if name == "correlation" { &["x", "y"] } else { &["x"] };
    let text = if normalized { format!("{formula} {constant}") } else { formula.to_owned() };
    Model::from_formula(&text, Space::real(variables)?, vec![Parameter::new(parameter, value)], normalized)
}

fn scalar(mean: f64, fisher: f64) -> (DVector<f64>, DMatrix<f64>) {
    (DVector::from_element(1, mean), DMatrix::from_element(1, 1, fisher))
}

/// `−(x − m)²/2` at the mean `m`: J = 1.
///
/// # Errors
/// When the mean is not finite.
pub fn gaussian_mean(mean: f64, normalized: bool) -> Result<System> {
    let model = one_parameter("mean", "-(x - m)^2/2", "- log(2*pi)/2", ("m", mean), normalized)?;
    let log_z = if normalized { 0.0 } else { 0.5 * LN_2PI };
    let system = System::new(format!("gaussian mean {mean}"), model, &[mean], log_z, scalar(0.0, 1.0));
    Ok(system.with_noise(Normal::with_variance(mean, 1.0)?))
}

/// `−x²/(2v)` at the variance `v`: J = 1/(2v²).
///
/// # Errors
/// When the variance is not positive.
pub fn gaussian_variance(variance: f64, normalized: bool) -> Result<System> {
    let model = one_parameter("variance", "-x^2/(2*v)", "- log(2*pi*v)/2", ("v", variance), normalized)?;
    let v = variance;
    let (log_z, mean) = if normalized { (0.0, 0.0) } else { (0.5 * (LN_2PI + v.ln()), 0.5 / v) };
    let name = format!("gaussian variance {v}");
    let system = System::new(name, model, &[v], log_z, scalar(mean, 0.5 / (v * v)));
    Ok(system.with_noise(Normal::with_variance(0.0, v)?))
}

/// Two standard Gaussians with correlation ρ: `J = (1 + ρ²)/(1 − ρ²)²`.
///
/// # Errors
/// When the correlation is not between −1 and 1.
pub fn gaussian_correlation(correlation: f64, normalized: bool) -> Result<System> {
    let constant = "- log(1 - rho^2)/2 - log(2*pi)";
    let formula = "-(x^2 - 2*rho*x*y + y^2)/(2*(1 - rho^2))";
    let model = one_parameter("correlation", formula, constant, ("rho", correlation), normalized)?;
    let rest = 1.0 - correlation * correlation;
    let (log_z, mean) = if normalized { (0.0, 0.0) } else { (LN_2PI + 0.5 * rest.ln(), -correlation / rest) };
    let fisher = (1.0 + correlation * correlation) / (rest * rest);
    let name = format!("gaussian correlation {correlation}");
    let system = System::new(name, model, &[correlation], log_z, scalar(mean, fisher));
    let covariance = [1.0, correlation, correlation, 1.0];
    Ok(system.with_noise(MultivariateNormal::new(&[0.0, 0.0], &covariance)?))
}

/// The family of one variable in mean and variance: `J = diag(1/v, 1/(2v²))`.
///
/// # Errors
/// When the variance is not positive.
pub fn gaussian_moments(mean: f64, variance: f64, normalized: bool) -> Result<System> {
    let options = FamilyOptions { parametrization: Some("moments".into()), ..FamilyOptions::default() };
    let model = family("gaussian", &["x"], &options, normalized)?;
    let v = variance;
    let fisher = DMatrix::from_diagonal(&DVector::from_row_slice(&[1.0 / v, 0.5 / (v * v)]));
    let slope = DVector::from_row_slice(&[0.0, 0.5 / v]);
    let name = format!("gaussian moments {mean}, {v}");
    let system = System::new(name, model, &[mean, v], 0.5 * (LN_2PI + v.ln()), (slope, fisher));
    Ok(system.with_noise(Normal::with_variance(mean, v)?))
}

/// The family in natural parameters, `h·x − ½ xᵀPx`, at this mean and (upper triangle of the) covariance; the
/// moments of its statistics are those of a Gaussian by Isserlis' theorem.
///
/// # Errors
/// When the covariance is not positive definite.
pub fn gaussian(mean: &[f64], covariance: &[f64], normalized: bool) -> Result<System> {
    let d = mean.len();
    let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).collect();
    let mut c = DMatrix::zeros(d, d);
    for (&(i, j), value) in pairs.iter().zip(covariance) {
        (c[(i, j)], c[(j, i)]) = (*value, *value);
    }
    let noise = MultivariateNormal::new(mean, c.as_slice())?;
    let names: Vec<String> = (0..d).map(|i| format!("x{i}")).collect();
    let variables: Vec<&str> = names.iter().map(String::as_str).collect();
    let model = family("gaussian", &variables, &FamilyOptions::default(), normalized)?;
    let m = DVector::from_row_slice(mean);
    let singular = || noisewright::Error::Internal { what: "a covariance without an inverse".into() };
    let precision = c.clone().try_inverse().ok_or_else(singular)?;
    let h = &precision * &m;
    let parameters: Vec<f64> = h.iter().copied().chain(pairs.iter().map(|p| precision[*p])).collect();
    let log_z = 0.5 * (d as f64 * LN_2PI + c.determinant().ln() + m.dot(&h));
    let system = System::new(
        format!("gaussian {mean:?} {covariance:?}"),
        model,
        &parameters,
        log_z,
        natural_moments(&m, &c, &pairs),
    );
    Ok(system.with_noise(noise))
}

fn natural_moments(
    m: &DVector<f64>,
    c: &DMatrix<f64>,
    pairs: &[(usize, usize)],
) -> (DVector<f64>, DMatrix<f64>) {
    let d = m.len();
    let size = d + pairs.len();
    // The statistic of P_ij is −x_i x_j, half of that on the diagonal.
    let factor = |(i, j): (usize, usize)| if i == j { -0.5 } else { -1.0 };
    let mean = DVector::from_fn(size, |a, _| {
        if a < d {
            m[a]
        } else {
            factor(pairs[a - d]) * (c[pairs[a - d]] + m[pairs[a - d].0] * m[pairs[a - d].1])
        }
    });
    let linear = |i: usize, (j, k): (usize, usize)| m[j] * c[(i, k)] + m[k] * c[(i, j)];
    let quadratic = |(i, j): (usize, usize), (k, l): (usize, usize)| {
        c[(i, k)] * c[(j, l)] + c[(i, l)] * c[(j, k)] + m[i] * linear(j, (k, l)) + m[j] * linear(i, (k, l))
    };
    let covariance = DMatrix::from_fn(size, size, |a, b| match (a < d, b < d) {
        (true, true) => c[(a, b)],
        (true, false) => factor(pairs[b - d]) * linear(a, pairs[b - d]),
        (false, true) => factor(pairs[a - d]) * linear(b, pairs[a - d]),
        (false, false) => factor(pairs[a - d]) * factor(pairs[b - d]) * quadratic(pairs[a - d], pairs[b - d]),
    });
    (mean, covariance)
}
