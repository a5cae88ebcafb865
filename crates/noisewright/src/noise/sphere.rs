//! Distributions of directions: von Mises–Fisher and uniform on the unit sphere.

use std::f64::consts::{LN_2, PI, TAU};

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{bessel_ratio, ln_bessel_i, ln_gamma};
use rand::distr::Open01;
use rand_distr::{Beta, Distribution, StandardNormal};

use super::check::{finite, non_negative, require};
use super::fitting::{failed, total_weight, unfitted};
use super::quiet::directions;
use super::spelling::list;
use crate::text::literal;
use crate::{Error, Landmarks, Noise, Refit, Result, SavedNoise, View};

/// Uniform on the unit sphere of d variables, with respect to its surface measure.
///
/// ```
/// use noisewright::{Noise, UniformSphere, View};
/// let mut out = [0.0];
/// UniformSphere::new(3)?.log_density(View::new(3, 1, &[0.0, 0.0, 1.0]), &mut out);
/// assert!((out[0] + (4.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UniformSphere {
    dimension: usize,
}

impl UniformSphere {
    /// Uniform on the sphere of unit vectors of `dimension` coordinates.
    ///
    /// # Errors
    /// When there are fewer than two.
    pub fn new(dimension: usize) -> Result<Self> {
        check_dimension(dimension)?;
        Ok(Self { dimension })
    }
}

impl Noise for UniformSphere {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        out.fill(-ln_surface(self.dimension));
        clear_off_sphere(points, out);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let mut z = vec![0.0; self.dimension];
        for row in 0..rows {
            draw_direction(stream, &mut z);
            for (axis, z) in z.iter().enumerate() {
                out[axis * rows + row] = *z;
            }
        }
    }

    fn uniforms(&self) -> Option<usize> {
        Some(self.dimension - 1)
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let mut pole = vec![0.0; self.dimension];
        pole[self.dimension - 1] = 1.0;
        directions::transport(&pole, 0.0, cube, out);
    }

    fn landmarks(&self, _axis: usize) -> Landmarks {
        Landmarks { breaks: vec![-1.0, 1.0], centers: vec![(0.0, 1.0 / (self.dimension as f64).sqrt())] }
    }

    fn describe(&self) -> String {
        "uniform".into()
    }

    fn saved(&self) -> Option<SavedNoise> {
        SavedNoise::words(self)
    }
}

/// `von-mises-fisher([x, …], concentration)` on the unit sphere: `ln p = κ μ·x + ln c_d(κ)` with respect to the
/// surface measure, `c_d = κ^{d/2−1} / ((2π)^{d/2} I_{d/2−1}(κ))`.
///
/// Points that are not unit vectors, to a thousandth, have the density zero.
///
/// ```
/// use noisewright::{Noise, View, VonMisesFisher};
/// let noise = VonMisesFisher::new(&[0.0, 0.0, 1.0], 2.0)?;
/// let mut out = [0.0];
/// noise.log_density(View::new(3, 1, &[0.0, 0.0, 1.0]), &mut out);
/// let exact = 2.0 - (4.0 * std::f64::consts::PI * 2.0f64.sinh() / 2.0).ln();
/// assert!((out[0] - exact).abs() < 1e-14);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VonMisesFisher {
    direction: Vec<f64>,
    concentration: f64,
    /// `ln c_d(κ) + κ`, the log-density at the mean direction.
    peak: f64,
    cosine: CosineSampler,
}

impl VonMisesFisher {
    /// A mean direction (of any length but zero) and a concentration.
    ///
    /// ```
    /// use noisewright::VonMisesFisher;
    /// assert_eq!(VonMisesFisher::new(&[0.0, 0.0, 2.0], 1.0)?.direction(), [0.0, 0.0, 1.0]);
    /// assert!(VonMisesFisher::new(&[0.0, 0.0], 1.0).is_err());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are fewer than two coordinates, the direction has no length, or the concentration is negative.
    pub fn new(direction: &[f64], concentration: f64) -> Result<Self> {
        check_dimension(direction.len())?;
        for &coordinate in direction {
            finite("a coordinate of the direction of von-mises-fisher", coordinate)?;
        }
        non_negative("the concentration of von-mises-fisher", concentration)?;
        let length = length(direction);
        let name = "the length of the direction of von-mises-fisher";
        require(length > 0.0 && length.is_finite(), name, length, "it must be positive")?;
        let direction: Vec<f64> = direction.iter().map(|x| x / length).collect();
        let peak = ln_peak(direction.len(), concentration);
        let cosine = CosineSampler::new(direction.len(), concentration)?;
        Ok(Self { direction, concentration, peak, cosine })
    }

    /// Maximum likelihood: the mean direction, and κ with `I_{d/2}(κ)/I_{d/2−1}(κ)` the mean resultant length.
    ///
    /// # Errors
    /// When there are no data or they all point the same way.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        check_dimension(points.columns())?;
        let total = total_weight("von-mises-fisher", points.rows(), weights)?;
        check_unit(points)?;
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        let sum = |column: &[f64]| column.iter().enumerate().map(|(i, x)| weight(i) * x).sum::<f64>() / total;
        let resultant: Vec<f64> = (0..points.columns()).map(|j| sum(points.column(j))).collect();
        let kappa = concentration_of_length("von-mises-fisher", points.columns(), length(&resultant))?;
        Self::new(&resultant, kappa)
    }

    /// The mean direction, a unit vector.
    #[must_use]
    pub fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// The concentration κ.
    #[must_use]
    pub fn concentration(&self) -> f64 {
        self.concentration
    }
}

/// Wood's (1994) rejection sampler of `1 − μ·x`, in a form that keeps its digits when that is tiny.
#[derive(Clone, Debug, PartialEq)]
struct CosineSampler {
    kappa: f64,
    /// d − 1.
    m: f64,
    b: f64,
    beta: Beta<f64>,
}

impl CosineSampler {
    fn new(dimension: usize, kappa: f64) -> Result<Self> {
        let m = (dimension - 1) as f64;
        let b = m / (2.0 * kappa + (4.0 * kappa * kappa + m * m).sqrt());
        let beta = Beta::new(0.5 * m, 0.5 * m).map_err(|e| failed("von-mises-fisher", &e.to_string()))?;
        Ok(Self { kappa, m, b, beta })
    }

    fn sample(&self, stream: &mut Stream) -> f64 {
        let Self { kappa, m, b, .. } = *self;
        // With x₀ = (1−b)/(1+b): 1 − x₀² and 1 − x₀(1 − fall), without cancellation.
        let (x0, one_minus_x0) = ((1.0 - b) / (1.0 + b), 2.0 * b / (1.0 + b));
        let ln_c = (one_minus_x0 * (1.0 + x0)).ln();
        loop {
            let z = self.beta.sample(stream);
            let fall = 2.0 * b * z / (1.0 - (1.0 - b) * z);
            let u: f64 = Open01.sample(stream);
            let excess = kappa * (one_minus_x0 - fall) + m * ((one_minus_x0 + x0 * fall).ln() - ln_c);
            if excess >= u.ln() {
                return fall.min(2.0);
            }
        }
    }
}

impl Noise for VonMisesFisher {
    fn dimension(&self) -> usize {
        self.direction.len()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        out.fill(0.0);
        for (axis, mean) in self.direction.iter().enumerate() {
            for (o, x) in out.iter_mut().zip(points.column(axis)) {
                *o += (x - mean) * (x - mean);
            }
        }
        for o in out.iter_mut() {
            // κ(μ·x − 1) = −κ‖x−μ‖²/2 on the sphere
            *o = self.peak - 0.5 * self.concentration * *o;
        }
        clear_off_sphere(points, out);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let mut tangent = vec![0.0; self.dimension()];
        for row in 0..rows {
            let fall = self.cosine.sample(stream);
            draw_tangent(stream, &self.direction, &mut tangent);
            let reach = (fall * (2.0 - fall)).sqrt();
            for (axis, (mean, tangent)) in self.direction.iter().zip(&tangent).enumerate() {
                out[axis * rows + row] = (1.0 - fall) * mean + reach * tangent;
            }
        }
    }

    fn uniforms(&self) -> Option<usize> {
        Some(self.dimension() - 1)
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        directions::transport(&self.direction, self.concentration, cube, out);
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let width = 1.0 / (self.concentration + self.dimension() as f64).sqrt();
        Landmarks { breaks: vec![-1.0, 1.0], centers: vec![(self.direction[axis], width)] }
    }

    fn describe(&self) -> String {
        format!("von-mises-fisher({}, {})", list(&self.direction), literal(self.concentration))
    }

    fn saved(&self) -> Option<SavedNoise> {
        SavedNoise::words(self)
    }

    fn refittable(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}

fn check_dimension(dimension: usize) -> Result<()> {
    if dimension < 2 {
        return Err(Error::Shape { what: "variables of a sphere, or more,", expected: 2, found: dimension });
    }
    Ok(())
}

/// Data may be rounded, so a part in a thousand is let pass.
fn check_unit(points: View<'_>) -> Result<()> {
    let mut point = vec![0.0; points.columns()];
    for row in 0..points.rows() {
        points.copy_row(row, &mut point);
        let length = length(&point);
        if !is_unit(length) {
            let reason = format!("row {} of the data has the length {length}, not 1", row + 1);
            return Err(failed("von-mises-fisher", &reason));
        }
    }
    Ok(())
}

/// Whether a length is one as far as data are rounded.
fn is_unit(length: f64) -> bool {
    (length - 1.0).abs() <= 1e-3
}

/// Makes the log-density −∞ at points that are not unit vectors.
fn clear_off_sphere(points: View<'_>, out: &mut [f64]) {
    for (row, o) in out.iter_mut().enumerate() {
        let square: f64 = (0..points.columns()).map(|axis| points.get(row, axis).powi(2)).sum();
        if !is_unit(square.sqrt()) {
            *o = f64::NEG_INFINITY;
        }
    }
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0, |length: f64, x| length.hypot(*x))
}

/// `ln` of the surface of the unit sphere, `2π^{d/2}/Γ(d/2)`.
fn ln_surface(dimension: usize) -> f64 {
    let half = 0.5 * dimension as f64;
    LN_2 + half * PI.ln() - ln_gamma(half)
}

/// The log-density at the mean direction.
fn ln_peak(dimension: usize, kappa: f64) -> f64 {
    if kappa == 0.0 {
        return -ln_surface(dimension);
    }
    let order = 0.5 * dimension as f64 - 1.0;
    order * kappa.ln() - 0.5 * dimension as f64 * TAU.ln() - (ln_bessel_i(order, kappa) - kappa)
}

/// A uniform direction.
fn draw_direction(stream: &mut Stream, out: &mut [f64]) {
    loop {
        for z in out.iter_mut() {
            *z = StandardNormal.sample(stream);
        }
        let length = length(out);
        if length > 0.0 {
            out.iter_mut().for_each(|z| *z /= length);
            return;
        }
    }
}

/// A uniform direction at right angles to `mean`.
fn draw_tangent(stream: &mut Stream, mean: &[f64], out: &mut [f64]) {
    loop {
        for z in out.iter_mut() {
            *z = StandardNormal.sample(stream);
        }
        // Twice: what is left along the mean after the first time is rounding.
        for _ in 0..2 {
            let along: f64 = out.iter().zip(mean).map(|(z, m)| z * m).sum();
            out.iter_mut().zip(mean).for_each(|(z, m)| *z -= along * m);
        }
        let length = length(out);
        if length > 1e-12 {
            out.iter_mut().for_each(|z| *z /= length);
            return;
        }
    }
}

/// The κ whose mean resultant length `A(κ) = I_{d/2}(κ)/I_{d/2−1}(κ)` is `length`, by Newton's method
/// (`A' = 1 − A² − (d−1)A/κ`) from the start of Banerjee et al. (2005).
pub(super) fn concentration_of_length(noise: &str, dimension: usize, length: f64) -> Result<f64> {
    let d = dimension as f64;
    if length >= 1.0 - 1e-13 {
        return Err(unfitted(noise, "the data all point the same way, so no concentration can be fitted"));
    }
    if length <= 0.0 {
        return Ok(0.0);
    }
    let mut kappa = length * (d - length * length) / (1.0 - length * length);
    for _ in 0..50 {
        let ratio = bessel_ratio(0.5 * d - 1.0, kappa);
        let slope = 1.0 - ratio * ratio - (d - 1.0) * ratio / kappa;
        let next = (kappa - (ratio - length) / slope).clamp(0.2 * kappa, 5.0 * kappa);
        let done = (next - kappa).abs() <= 1e-14 * kappa;
        kappa = next;
        if done {
            break;
        }
    }
    Ok(kappa)
}
