//! The Conway–Maxwell–Poisson model of counts, `x·log λ − ν·ln x!`.

use noisewright_numerics::special::ln_gamma;

use super::family::{Entry, FamilyInfo, Parts, Request};
use super::linear::Statistics;
use crate::{Domain, Parameter, Result, View};

/// `u(x) = log_rate · x − dispersion · ln x!` for counts; dispersion 1 is the Poisson, above it the counts
/// are less spread, below it more. There is no closed form for log Z.
///
/// ```
/// use noisewright::{Energy, Points};
/// use noisewright::internal::energy::ComPoisson;
/// let points = Points::unnamed(1, 1, vec![3.0]);
/// let mut value = [0.0];
/// ComPoisson.evaluate(&[2.0, 1.0], points.view(), &mut value, None).unwrap();
/// assert!((value[0] - (6.0 - 6f64.ln())).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComPoisson;

impl Statistics for ComPoisson {
    fn names(&self) -> Vec<String> {
        vec!["log_rate".into(), "dispersion".into()]
    }

    fn variables(&self) -> usize {
        1
    }

    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]) {
        let counts = points.column(0);
        if index == 0 {
            out.copy_from_slice(counts);
            return;
        }
        for (o, x) in out.iter_mut().zip(counts) {
            *o = -ln_gamma(x + 1.0);
        }
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "com-poisson",
        description: "Conway–Maxwell–Poisson counts, log_rate·x − dispersion·ln x!",
        domain: "counts",
        options: &[],
        parameters: "log_rate, dispersion",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let space = request.one_variable(&Domain::Counts)?;
    let dispersion = Parameter { lower: 0.0, ..Parameter::new("dispersion", 1.0) };
    Ok(Parts::new(ComPoisson, space, vec![Parameter::new("log_rate", 0.0), dispersion]))
}
