//! The beta density, `(a − 1) ln x + (b − 1) ln(1 − x)` on the unit interval.

use noisewright_numerics::special::{digamma, ln_beta};

use super::family::{Entry, FamilyInfo, Parts, Request};
use super::gamma::{LEAST_LOG, log_power};
use super::pointwise::of_one_variable;
use crate::{Domain, Energy, Parameter, Result};

/// `u(x) = (a − 1) ln x + (b − 1) ln(1 − x)` for x in [0, 1]: linear in `a` and `b`, up to a function of x.
///
/// # Formula
/// `log Z = ln B(a, b) = ln Γ(a) + ln Γ(b) − ln Γ(a + b)`.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::Beta;
/// let mut gradient = [0.0; 2];
/// let log_z = Beta.log_normalizer(&[2.0, 3.0], &mut gradient).unwrap();
/// assert!((log_z - (1.0_f64 / 12.0).ln()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beta;

impl Energy for Beta {
    of_one_variable!(["a", "b"], |a, b| x => {
        let (log, log_rest) = (x.ln(), (-x).ln_1p());
        let height = log_power(a - 1.0, log) + log_power(b - 1.0, log_rest);
        (height, [log.max(LEAST_LOG), log_rest.max(LEAST_LOG)])
    });

    fn is_linear(&self) -> bool {
        true
    }

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let (a, b) = (parameters[0], parameters[1]);
        if !(a > 0.0 && b > 0.0 && (a + b).is_finite()) {
            return None;
        }
        let both = digamma(a + b);
        gradient[0] = digamma(a) - both;
        gradient[1] = digamma(b) - both;
        Some(ln_beta(a, b))
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "beta",
        description: "Beta density of a proportion, (a − 1)·ln x + (b − 1)·ln(1 − x)",
        domain: "[0, 1]",
        options: &[],
        parameters: "a, b",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let space = request.one_variable(&Domain::Interval(0.0, 1.0))?;
    let positive = |name| Parameter { lower: 0.0, ..Parameter::new(name, 1.0) };
    Ok(Parts::new(Beta, space, vec![positive("a"), positive("b")]))
}
