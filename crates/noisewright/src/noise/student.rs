//! Student's t distribution of one variable, with location and scale.

use noisewright_numerics::kernels;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{ln_beta, student_cdf};
use rand_distr::{Distribution, StudentT};

use super::check::{degrees_of_freedom, finite, positive, require};
use super::fitting::Sample;
use super::scalar::{in_blocks, inverse};
use super::spelling::call;
use crate::{Error, Result, Scalar, View};

/// `student(dof, location, scale)`: `ln p = −½(n+1) ln(1 + z²/n) − ln(s √n B(½, n/2))` with `z = (x−l)/s`.
///
/// ```
/// use noisewright::{Noise, Student, View};
/// let mut out = [0.0];
/// // One degree of freedom is the Cauchy distribution, 1/(π(1+z²)).
/// Student::new(1.0, 0.0, 1.0)?.log_density(View::new(1, 1, &[1.0]), &mut out);
/// assert!((out[0] + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Student {
    dof: f64,
    location: f64,
    scale: f64,
    constant: f64,
    sampler: StudentT<f64>,
}

impl Student {
    /// Degrees of freedom when a fit is not told otherwise: heavy tails, with finite fourth moments.
    pub const DEFAULT_DOF: f64 = 5.0;

    /// A Student distribution; `scale` is not the standard deviation, which is `scale·√(dof/(dof−2))`.
    ///
    /// ```
    /// use noisewright::{Scalar, Student};
    /// // The quartiles of the Cauchy distribution are a scale away from its middle.
    /// let cauchy = Student::new(1.0, 3.0, 2.0)?;
    /// assert!((cauchy.cdf(5.0) - 0.75).abs() < 1e-12);
    /// assert_eq!((cauchy.dof(), cauchy.location(), cauchy.scale()), (1.0, 3.0, 2.0));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the degrees of freedom are below 0.05, the scale is not positive, or the location not finite.
    pub fn new(dof: f64, location: f64, scale: f64) -> Result<Self> {
        degrees_of_freedom(dof)?;
        finite("the location of student", location)?;
        positive("the scale of student", scale)?;
        let sampler = sampler(dof)?;
        let constant = -scale.ln() - 0.5 * dof.ln() - ln_beta(0.5, 0.5 * dof);
        Ok(Self { dof, location, scale, constant, sampler })
    }

    /// By moments, with [`DEFAULT_DOF`](Self::DEFAULT_DOF) degrees of freedom.
    ///
    /// # Errors
    /// When there are no data or they do not vary.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        Self::fit_with_dof(Self::DEFAULT_DOF, points, weights)
    }

    /// By moments with the degrees of freedom given: the mean, and the scale that gives the data's variance;
    /// by median and quartiles at two degrees of freedom or fewer, where there is no variance.
    ///
    /// ```
    /// use noisewright::{Student, View};
    /// // Variance 4 = scale² n/(n − 2) with n = 4.
    /// let student = Student::fit_with_dof(4.0, View::new(1, 2, &[-1.0, 3.0]), None)?;
    /// assert!((student.location() - 1.0).abs() < 1e-12 && (student.scale() - 2f64.sqrt()).abs() < 1e-12);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data, they do not vary, or the degrees of freedom are not positive.
    pub fn fit_with_dof(dof: f64, points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        positive("the degrees of freedom of student", dof)?;
        let sample = Sample::scalar("student", points, weights)?;
        let (mean, variance) = sample.moments()?;
        if dof > 2.0 {
            return Self::new(dof, mean, (variance * (dof - 2.0) / dof).sqrt());
        }
        let spread = sample.quantile(0.75) - sample.quantile(0.25);
        require(spread > 0.0, "the interquartile range for student", spread, "it must be positive")?;
        let quartile = inverse(&Self::new(dof, 0.0, 1.0)?, f64::NEG_INFINITY, f64::INFINITY, 0.0, 0.25);
        Self::new(dof, sample.quantile(0.5), spread / (2.0 * quartile))
    }

    /// The degrees of freedom.
    #[must_use]
    pub fn dof(&self) -> f64 {
        self.dof
    }

    /// The location.
    #[must_use]
    pub fn location(&self) -> f64 {
        self.location
    }

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    fn standardized(&self, x: f64) -> f64 {
        (x - self.location) / self.scale
    }
}

/// The sampler of the standard distribution.
fn sampler(dof: f64) -> Result<StudentT<f64>> {
    StudentT::new(dof).map_err(|e| Error::Parameter {
        parameter: "the degrees of freedom of student".into(),
        value: dof,
        reason: e.to_string(),
    })
}

impl Scalar for Student {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let exponent = -0.5 * (self.dof + 1.0);
        in_blocks(x, out, |x, scratch, out| {
            for (s, &x) in scratch.iter_mut().zip(x) {
                let z = self.standardized(x);
                *s = z * z / self.dof;
            }
            ln_one_plus(self.dof, scratch, out);
            for o in out {
                *o = self.constant + exponent * *o;
            }
        });
    }

    fn slope_at(&self, x: f64) -> Option<f64> {
        let z = self.standardized(x);
        Some(-(self.dof + 1.0) * z / ((self.dof + z * z) * self.scale))
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        self.location + self.scale * self.sampler.sample(stream)
    }

    fn cdf(&self, x: f64) -> f64 {
        student_cdf(self.dof, self.standardized(x))
    }

    fn survival(&self, x: f64) -> f64 {
        student_cdf(self.dof, -self.standardized(x))
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(self.location, self.scale)]
    }

    fn words(&self) -> String {
        call("student", &[self.dof, self.location, self.scale])
    }
}

/// `out = ln(1 + x)`, adding one to `x` on the way.
///
/// Near-normal distributions multiply a tiny `ln(1 + z²/n)` by a huge n, so there `ln_1p` keeps the digits.
pub(super) fn ln_one_plus(dof: f64, x: &mut [f64], out: &mut [f64]) {
    if dof > 200.0 {
        for (o, x) in out.iter_mut().zip(x) {
            *o = x.ln_1p();
        }
        return;
    }
    for x in x.iter_mut() {
        *x += 1.0;
    }
    kernels::ln(x, out);
}
