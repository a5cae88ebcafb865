//! The Laplace (double exponential) distribution.

use noisewright_numerics::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution, Exp1};

use super::check::{finite, positive};
use super::fitting::Sample;
use super::spelling::call;
use crate::{Refit, Result, Scalar, View};

/// `laplace(location, scale)`: `ln p = −|x−l|/s − ln(2s)`.
///
/// ```
/// use noisewright::{Laplace, Scalar};
/// assert!((Laplace::new(0.0, 2.0)?.survival(2.0) - 0.5 * (-1.0f64).exp()).abs() < 1e-16);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Laplace {
    location: f64,
    scale: f64,
}

impl Laplace {
    /// A Laplace distribution.
    ///
    /// ```
    /// use noisewright::{Laplace, Scalar};
    /// let laplace = Laplace::new(1.0, 2.0)?;
    /// assert!((laplace.cdf(1.0) - 0.5).abs() < 1e-15);
    /// assert!((laplace.survival(3.0) - 0.5 * (-1f64).exp()).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the location is not finite or the scale not positive.
    pub fn new(location: f64, scale: f64) -> Result<Self> {
        finite("the location of laplace", location)?;
        positive("the scale of laplace", scale)?;
        Ok(Self { location, scale })
    }

    /// Maximum likelihood: the (weighted) median and the mean distance from it.
    ///
    /// ```
    /// use noisewright::{Laplace, View};
    /// let laplace = Laplace::fit(View::new(1, 3, &[0.0, 1.0, 5.0]), None)?;
    /// assert!((laplace.location() - 1.0).abs() < 1e-15 && (laplace.scale() - 5.0 / 3.0).abs() < 1e-15);
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data or they do not vary.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let sample = Sample::scalar("laplace", points, weights)?;
        sample.moments()?;
        let median = sample.quantile(0.5);
        Self::new(median, sample.mean_of(|x| (x - median).abs()))
    }

    /// The location.
    #[must_use]
    pub fn location(&self) -> f64 {
        self.location
    }

    /// The scale, the mean distance from the location.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// `ln P(X ≤ location + scale·z)`.
    fn ln_lower_tail(z: f64) -> f64 {
        if z <= 0.0 { z - std::f64::consts::LN_2 } else { (-0.5 * (-z).exp()).ln_1p() }
    }

    fn standardized(&self, x: f64) -> f64 {
        (x - self.location) / self.scale
    }
}

impl Scalar for Laplace {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let constant = -(2.0 * self.scale).ln();
        for (o, &x) in out.iter_mut().zip(x) {
            *o = constant - self.standardized(x).abs();
        }
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        let distance: f64 = Exp1.sample(stream);
        let signed = if stream.random::<bool>() { distance } else { -distance };
        self.location + self.scale * signed
    }

    fn cdf(&self, x: f64) -> f64 {
        self.ln_cdf(x).exp()
    }

    fn survival(&self, x: f64) -> f64 {
        self.ln_survival(x).exp()
    }

    fn ln_cdf(&self, x: f64) -> f64 {
        Self::ln_lower_tail(self.standardized(x))
    }

    fn ln_survival(&self, x: f64) -> f64 {
        Self::ln_lower_tail(-self.standardized(x))
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(self.location, self.scale)]
    }

    fn breaks(&self) -> Vec<f64> {
        vec![self.location]
    }

    fn words(&self) -> String {
        call("laplace", &[self.location, self.scale])
    }

    fn family(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}
