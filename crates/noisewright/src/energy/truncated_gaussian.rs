//! The Gaussian restricted to an interval or half-line, in natural or moment parameters.

use super::exp_quadratic::{Quadratic, integrate};
use super::family::{Entry, FamilyInfo, Parts, Request};
use super::linear::Statistics;
use super::pointwise::of_one_variable;
use crate::{Domain, Energy, Error, Parameter, Result, View};

/// The two ends of the domain, the upper one possibly infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ends {
    lower: f64,
    upper: f64,
}

impl Ends {
    fn new(lower: f64, upper: f64) -> Result<Self> {
        if lower < upper {
            return Ok(Self { lower, upper });
        }
        Err(Error::field("domain", format!("[{lower}, {upper}] of a truncated-gaussian is not an interval")))
    }
}

/// `u(x) = h0·x − ½ P00·x²` between two ends, either of which may be infinite; parameters `h0`, `P00`.
///
/// On a bounded interval P00 may be zero or negative: then the mass leans on the ends. log Z is known for
/// every parameter at which it is finite, to full precision also with the mean far outside the interval.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::TruncatedGaussian;
/// // The upper half of a standard Gaussian, whose mean is √(2/π).
/// let mut gradient = [0.0; 2];
/// let half = TruncatedGaussian::new(0.0, f64::INFINITY).unwrap();
/// let log_z = half.log_normalizer(&[0.0, 1.0], &mut gradient).unwrap();
/// assert!((log_z - std::f64::consts::FRAC_PI_2.sqrt().ln()).abs() < 1e-14);
/// assert!((gradient[0] - std::f64::consts::FRAC_2_PI.sqrt()).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedGaussian {
    ends: Ends,
}

impl TruncatedGaussian {
    /// The Gaussian between `lower` and `upper`.
    ///
    /// # Errors
    /// When `lower` is not below `upper`.
    pub fn new(lower: f64, upper: f64) -> Result<Self> {
        Ok(Self { ends: Ends::new(lower, upper)? })
    }
}

impl Statistics for TruncatedGaussian {
    fn names(&self) -> Vec<String> {
        vec!["h0".into(), "P00".into()]
    }

    fn variables(&self) -> usize {
        1
    }

    fn column(&self, index: usize, points: View<'_>, out: &mut [f64]) {
        for (o, x) in out.iter_mut().zip(points.column(0)) {
            *o = if index == 0 { *x } else { -0.5 * x * x };
        }
    }

    fn log_partition(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let u = Quadratic { linear: parameters[0], precision: parameters[1] };
        let mass = integrate(u, self.ends.lower, self.ends.upper)?;
        let anchor = mass.anchor;
        gradient[0] = anchor + mass.first;
        gradient[1] = -0.5 * (anchor * anchor + 2.0 * anchor * mass.first + mass.second);
        Some(anchor * (u.linear - 0.5 * u.precision * anchor) + mass.log_integral)
    }
}

/// `u(x) = −(x − m0)²/(2·C00)` between two ends; parameters `m0` and `C00`, the mean and variance before
/// the truncation.
///
/// ```
/// use noisewright::Energy;
/// use noisewright::internal::energy::TruncatedGaussianMoments;
/// let mut gradient = [0.0; 2];
/// let half = TruncatedGaussianMoments::new(3.0, f64::INFINITY).unwrap();
/// let log_z = half.log_normalizer(&[3.0, 4.0], &mut gradient).unwrap();
/// assert!((log_z - (2.0 * std::f64::consts::FRAC_PI_2.sqrt()).ln()).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedGaussianMoments {
    ends: Ends,
}

impl TruncatedGaussianMoments {
    /// The Gaussian between `lower` and `upper`.
    ///
    /// # Errors
    /// When `lower` is not below `upper`.
    pub fn new(lower: f64, upper: f64) -> Result<Self> {
        Ok(Self { ends: Ends::new(lower, upper)? })
    }
}

fn check_variance(variance: f64) -> Result<()> {
    if variance > 0.0 && variance.is_finite() {
        return Ok(());
    }
    let reason = "a variance must be positive".into();
    Err(Error::Parameter { parameter: "C00".into(), value: variance, reason })
}

impl Energy for TruncatedGaussianMoments {
    of_one_variable!(["m0", "C00"], |mean, variance| [check_variance(variance)] x => {
        let slope = (x - mean) / variance;
        (-0.5 * (x - mean) * (x - mean) / variance, [slope, 0.5 * slope * slope])
    });

    fn log_normalizer(&self, parameters: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let (mean, variance) = (parameters[0], parameters[1]);
        check_variance(variance).ok()?;
        // About the mean the energy has no linear term, whatever the mean.
        let u = Quadratic { linear: 0.0, precision: 1.0 / variance };
        let mass = integrate(u, self.ends.lower - mean, self.ends.upper - mean)?;
        let anchor = mass.anchor;
        gradient[0] = (anchor + mass.first) / variance;
        gradient[1] =
            0.5 * (anchor * anchor + 2.0 * anchor * mass.first + mass.second) / (variance * variance);
        Some(-0.5 * anchor * anchor / variance + mass.log_integral)
    }

    fn add_curvature(
        &self,
        parameters: &[f64],
        points: View<'_>,
        weights: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        let (mean, variance) = (parameters[0], parameters[1]);
        check_variance(variance)?;
        for (weight, x) in weights.iter().zip(points.column(0)) {
            let y = (x - mean) / variance;
            out[0] -= weight / variance;
            out[1] -= weight * y / variance;
            out[2] -= weight * y / variance;
            out[3] -= weight * y * y / variance;
        }
        Ok(true)
    }
}

pub(super) const ENTRY: Entry = Entry {
    info: FamilyInfo {
        name: "truncated-gaussian",
        description: "Gaussian of one variable restricted to its domain, an interval or the positive numbers",
        domain: "[lo, hi] or positive",
        options: &["parametrization"],
        parameters: "h0, P00 (natural, default) or m0, C00 (parametrization = \"moments\")",
    },
    build,
};

fn build(request: &Request<'_>) -> Result<Parts> {
    let space = request.one_variable_anywhere(Domain::Positive)?;
    let domain = &space.domains()[0];
    if !matches!(domain, Domain::Positive | Domain::Interval(..)) {
        return Err(Error::field(
            "domain",
            "of a truncated-gaussian must be \"positive\" or an interval [lo, hi]",
        ));
    }
    let (lower, upper) = domain.bounds();
    let bounded = upper.is_finite();
    if request.parametrization(&["natural", "moments"])? == 0 {
        let least = if bounded { f64::NEG_INFINITY } else { 0.0 };
        let precision = Parameter { lower: least, ..Parameter::new("P00", 1.0) };
        let parameters = vec![Parameter::new("h0", 0.0), precision];
        return Ok(Parts::new(TruncatedGaussian::new(lower, upper)?, space, parameters));
    }
    let variance = Parameter { lower: 0.0, ..Parameter::new("C00", 1.0) };
    let parameters = vec![Parameter::new("m0", 0.0), variance];
    Ok(Parts::new(TruncatedGaussianMoments::new(lower, upper)?, space, parameters))
}
