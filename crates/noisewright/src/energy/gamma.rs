//! The gamma density, `(shape − 1) ln x − rate·x` for positive x.

use noisewright_numerics::special::{digamma, ln_gamma};

use super::family::{Entry, FamilyInfo, Parts, Request};
use super::pointwise::of_one_variable;
use crate::{Domain, Energy, Parameter, Result};

/// The least logarithm a score reports, that of the smallest positive number: scores stay finite at x = 0.
pub(super) const LEAST_LOG: f64 = -745.0;

/// `(exponent)·ln x` with `0·∞ = 0`, so that an exponent of zero means no factor at all.
pub(super) fn log_power(exponent: f64, log: f64) -> f64 {
    if exponent == 0.0 { 0.0 } else { exponent * log }
}

/// `u(x) = (shape − 1) ln x − rate·x` for x > 0: linear in `shape` and `rate`, up to `−ln x`.
///
/// # Formula
/// `log Z = ln Γ(shape) − shape·ln rate`.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::Gamma;
/// let mut gradient = [0.0; 2];
/// let log_z = Gamma.log_normalizer(&[3.0, 2.0], &mut gradient).unwrap();
/// assert!((log_z - (2.0_f64 / 8.0).ln()).abs() < 1e-15);
/// assert_eq!(gradient[1], -1.5); // minus the mean
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gamma;

impl Energy for Gamma {
    of_one_variable!(["shape", "rate"], |shape, rate| x => {
        let log = x.ln();
        (log_power(shape - 1.0, log) - rate * x, [log.max(LEAST_LOG), -x])
    });

    fn is_linear(&self) -> bool {
        true
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let (shape, rate) = (parameters[0], parameters[1]);
        if !(shape > 0.0 && rate > 0.0 && shape.is_finite() && rate.is_finite()) {
            return None;
        }
        gradient[0] = digamma(shape) - rate.ln();
        gradient[1] = -shape / rate;
        Some(ln_gamma(shape) - shape * rate.ln())
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "gamma",
        description: "Gamma density of a positive variable, (shape − 1)·ln x − rate·x",
        domain: "positive",
        options: &[],
        parameters: "shape, rate",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let space = request.one_variable(&Domain::Positive)?;
    let positive = |name| Parameter { lower: 0.0, ..Parameter::new(name, 1.0) };
    Ok(Parts::new(Gamma, space, vec![positive("shape"), positive("rate")]))
}
