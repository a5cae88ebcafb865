//! The von Mises distribution on the circle.

use std::f64::consts::{PI, SQRT_2, TAU};

use noisewright_numerics::chart::wrapped;
use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{ln_bessel_i_scaled, normal_cdf};
use rand::RngExt;
use rand::distr::Open01;
use rand_distr::Distribution;

use super::check::{finite, non_negative};
use super::fitting::Sample;
use super::spelling::call;
use super::sphere::concentration_of_length;
use crate::{Refit, Result, Scalar, View};

/// `von-mises(mean, concentration)`: `ln p = κ cos(x−m) − ln(2π I₀(κ))`, for angles in radians of any turn.
///
/// Draws and the distribution function are for angles from −π to π. Concentration 0 is uniform on the circle.
///
/// ```
/// use noisewright::{Noise, View, VonMises};
/// let mut out = [0.0];
/// VonMises::new(0.3, 0.0)?.log_density(View::new(1, 1, &[2.0]), &mut out);
/// assert_eq!(out[0], -std::f64::consts::TAU.ln());
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VonMises {
    mean: f64,
    concentration: f64,
}

impl VonMises {
    /// A von Mises distribution.
    ///
    /// ```
    /// use noisewright::{Noise, View, VonMises};
    /// let (noise, mut out) = (VonMises::new(0.5, 1.5)?, [0.0; 2]);
    /// noise.log_density(View::new(1, 2, &[0.5, 0.5 + std::f64::consts::PI]), &mut out);
    /// assert!((out[0] - out[1] - 3.0).abs() < 1e-13); // 2κ between the mean and its opposite
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the mean is not finite or the concentration is negative.
    pub fn new(mean: f64, concentration: f64) -> Result<Self> {
        finite("the mean of von-mises", mean)?;
        non_negative("the concentration of von-mises", concentration)?;
        Ok(Self { mean, concentration })
    }

    /// Maximum likelihood: the mean direction, and `κ` with `I₁(κ)/I₀(κ)` the mean resultant length.
    ///
    /// # Errors
    /// When there are no data or they are all the same angle.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let sample = Sample::scalar("von-mises", points, weights)?;
        let (cosine, sine) = (sample.mean_of(f64::cos), sample.mean_of(f64::sin));
        let concentration = concentration_of_length("von-mises", 2, cosine.hypot(sine))?;
        Self::new(sine.atan2(cosine), concentration)
    }

    /// The mean direction, in radians.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The concentration κ.
    #[must_use]
    pub fn concentration(&self) -> f64 {
        self.concentration
    }

    /// The angle from the mean (Best and Fisher 1979), in forms that keep their digits for small and large κ.
    fn deviation(&self, stream: &mut Stream) -> f64 {
        let kappa = self.concentration;
        if kappa == 0.0 {
            return TAU * stream.random::<f64>() - PI;
        }
        let root = (1.0 + (1.0 + 4.0 * kappa * kappa).sqrt()).sqrt();
        let rho = 2.0 * kappa / (root * (root + SQRT_2));
        let excess = (1.0 - rho) * (1.0 - rho) / (2.0 * rho); // r − 1
        loop {
            let z = (PI * stream.random::<f64>()).cos();
            let fall = excess * (1.0 - z) / (1.0 + excess + z); // 1 − cos of the angle
            let c = kappa * (excess + fall);
            let u: f64 = Open01.sample(stream);
            if c * (2.0 - c) > u || (c / u).ln() + 1.0 >= c {
                let angle = 2.0 * (0.5 * fall).sqrt().min(1.0).asin();
                return if stream.random::<bool>() { angle } else { -angle };
            }
        }
    }

    /// `∫ p` from the mean to `mean + angle`, `|angle| ≤ π`.
    fn mass_from_mean(&self, angle: f64) -> f64 {
        let kappa = self.concentration;
        if kappa > 1e5 {
            // In z = 2√κ sin(angle/2) the density is normal times 1 + z²/(8κ) + O(κ⁻²).
            let z = 2.0 * kappa.sqrt() * (0.5 * angle).sin();
            let density = (-0.5 * z * z).exp() / TAU.sqrt();
            return normal_cdf(z) - 0.5 - z * density / (8.0 * kappa + 1.0);
        }
        if kappa == 0.0 {
            return angle / TAU;
        }
        // Hill (1977): Σ I_n(κ)/I_0(κ) sin(n·angle)/n, ratios by backward recurrence.
        let terms = (10.0 * kappa.sqrt()) as usize + 30;
        let (mut ratio, mut series) = (0.0, 0.0);
        for n in (1..=terms).rev() {
            let n = n as f64;
            ratio = 1.0 / (2.0 * n / kappa + ratio);
            series = ratio * ((n * angle).sin() / n + series);
        }
        angle / TAU + series / PI
    }
}

impl Scalar for VonMises {
    fn log_density_of(&self, x: &[f64], out: &mut [f64]) {
        let kappa = self.concentration;
        let constant = -TAU.ln() - ln_bessel_i_scaled(0.0, kappa);
        for (o, &x) in out.iter_mut().zip(x) {
            // κ(cos − 1) without cancellation near the mean.
            let half = (0.5 * (x - self.mean)).sin();
            *o = constant - 2.0 * kappa * half * half;
        }
    }

    fn draw_one(&self, stream: &mut Stream) -> f64 {
        wrapped(self.mean + self.deviation(stream))
    }

    fn cdf(&self, x: f64) -> f64 {
        if x >= PI {
            return 1.0;
        }
        if x <= -PI {
            return 0.0;
        }
        let mean = wrapped(self.mean);
        let (from, to) = (-PI - mean, x - mean);
        // The arc from −π to x may pass the point opposite the mean, half a turn on either side.
        let part = |angle: f64| {
            let turns = (angle / TAU).round();
            turns + self.mass_from_mean(angle - turns * TAU)
        };
        (part(to) - part(from)).clamp(0.0, 1.0)
    }

    fn survival(&self, x: f64) -> f64 {
        1.0 - self.cdf(x)
    }

    fn support(&self) -> (f64, f64) {
        (-PI, PI)
    }

    fn centers(&self) -> Vec<(f64, f64)> {
        vec![(wrapped(self.mean), (1.0 / self.concentration.sqrt()).min(PI))]
    }

    fn breaks(&self) -> Vec<f64> {
        Vec::new()
    }

    fn is_circular(&self) -> bool {
        true
    }

    fn words(&self) -> String {
        call("von-mises", &[self.mean, self.concentration])
    }

    fn family(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}
