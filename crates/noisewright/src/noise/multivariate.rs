//! The multivariate normal and Student distributions.

use std::sync::Arc;

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{LN_SQRT_2PI, ln_gamma, normal_cdf, normal_quantile};
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use super::FitAgain;
use super::check::{degrees_of_freedom, require};
use super::quiet::inside;
use super::spelling::{list, matrix};
use super::student::ln_one_plus;
use super::whitening::{BLOCK, Whitening, mean_and_covariance};
use crate::text::literal;
use crate::{Error, Gamma, Landmarks, Noise, Refit, Result, SavedNoise, Scalar, Student, View};

/// `normal([m…], [[c…], …])`: `ln p = −½(x−m)ᵀC⁻¹(x−m) − ½ ln det(2πC)`.
///
/// ```
/// use noisewright::{MultivariateNormal, Noise, View};
/// let noise = MultivariateNormal::new(&[0.0, 0.0], &[2.0, 1.0, 1.0, 2.0])?;
/// let mut out = [0.0];
/// noise.log_density(View::new(2, 1, &[0.0, 0.0]), &mut out);
/// assert!((out[0] + std::f64::consts::TAU.ln() + 0.5 * 3.0f64.ln()).abs() < 1e-14);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultivariateNormal {
    map: Whitening,
}

impl MultivariateNormal {
    /// Mean and covariance matrix, row after row.
    ///
    /// ```
    /// use noisewright::MultivariateNormal;
    /// assert_eq!(MultivariateNormal::new(&[0.0, 1.0], &[2.0, 1.0, 1.0, 2.0])?.mean(), [0.0, 1.0]);
    /// assert!(MultivariateNormal::new(&[0.0, 1.0], &[1.0, 2.0, 2.0, 1.0]).is_err()); // not positive definite
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the sizes differ or the matrix is not symmetric and positive definite.
    pub fn new(mean: &[f64], covariance: &[f64]) -> Result<Self> {
        Ok(Self { map: Whitening::new("normal", mean, covariance)? })
    }

    /// Maximum likelihood: the (weighted) mean and the covariance divided by the total weight.
    ///
    /// ```
    /// use noisewright::{MultivariateNormal, View};
    /// // The four corners of a square.
    /// let corners = [1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    /// let noise = MultivariateNormal::fit(View::new(2, 4, &corners), None)?;
    /// assert!(noise.covariance().iter().zip([1.0, 0.0, 0.0, 1.0]).all(|(c, exact)| (c - exact).abs() < 1e-14));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data or the variables are linearly dependent in them.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let (mean, covariance) = mean_and_covariance("normal", points, weights)?;
        Self::new(&mean, &covariance)
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        self.map.location()
    }

    /// The covariance matrix, row after row.
    #[must_use]
    pub fn covariance(&self) -> &[f64] {
        self.map.matrix()
    }

    /// Writes `L⁻¹(x − m)` of every point, column-major, with `L Lᵀ` the covariance.
    pub(super) fn whiten(&self, points: View<'_>, z: &mut [f64]) {
        self.map.whiten(points, z);
    }

    /// The same distribution as by [`transport`](Noise::transport), one variable after the other.
    pub(super) fn transport_by_variables(&self, cube: View<'_>, out: &mut [f64]) {
        self.transport_along(&self.map.pivoted_factor(), cube, out);
    }

    fn transport_along(&self, factor: &[f64], cube: View<'_>, out: &mut [f64]) {
        transport_colored(self.mean(), factor, cube, 0, out, |_| 1.0);
    }
}

impl Noise for MultivariateNormal {
    fn dimension(&self) -> usize {
        self.map.dimension()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        let constant = -LN_SQRT_2PI * self.dimension() as f64 - self.map.ln_determinant();
        self.map.squared_distances(points, out);
        for o in out {
            *o = constant - 0.5 * *o;
        }
    }

    fn slope(&self, point: &[f64], gradient: &mut [f64]) -> bool {
        self.map.solve(point, gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        true
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        draw_colored(&self.map, stream, rows, out, |_| 1.0);
    }

    fn uniforms(&self) -> Option<usize> {
        Some(self.dimension())
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        self.transport_along(&self.map.principal_factor(), cube, out);
    }

    fn inverse_transport(&self, point: &[f64], _: &mut Stream, cube: &mut [f64]) -> bool {
        cube.copy_from_slice(&along_principal_axes(&self.map, point));
        cube.iter_mut().for_each(|z| *z = inside(normal_cdf(*z)));
        true
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        center(&self.map, axis)
    }

    fn describe(&self) -> String {
        format!("normal({}, {})", list(self.mean()), matrix(self.dimension(), self.covariance()))
    }

    fn saved(&self) -> Option<SavedNoise> {
        SavedNoise::words(self)
    }

    fn refittable(&self) -> Option<&dyn Refit> {
        Some(self)
    }
}

/// `student(dof, [l…], [[s…], …])`: `ln p ∝ −½(n+d) ln(1 + (x−l)ᵀS⁻¹(x−l)/n)`; covariance `S n/(n−2)`.
///
/// ```
/// use noisewright::{MultivariateStudent, Noise, View};
/// let noise = MultivariateStudent::new(4.0, &[0.0, 0.0], &[1.0, 0.0, 0.0, 1.0])?;
/// let mut out = [0.0];
/// noise.log_density(View::new(2, 1, &[0.0, 0.0]), &mut out);
/// assert!((out[0] + std::f64::consts::TAU.ln()).abs() < 1e-14);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultivariateStudent {
    dof: f64,
    map: Whitening,
    chi_squared: ChiSquared<f64>,
}

impl MultivariateStudent {
    /// Degrees of freedom, location and scale matrix, row after row.
    ///
    /// # Errors
    /// When the degrees of freedom are not positive, the sizes differ, or the matrix is not symmetric and
    /// positive definite.
    pub fn new(dof: f64, location: &[f64], scale: &[f64]) -> Result<Self> {
        degrees_of_freedom(dof)?;
        let chi_squared = ChiSquared::new(dof).map_err(|e| Error::Parameter {
            parameter: "the degrees of freedom of student".into(),
            value: dof,
            reason: e.to_string(),
        })?;
        Ok(Self { dof, map: Whitening::new("student", location, scale)?, chi_squared })
    }

    /// By moments with [`Student::DEFAULT_DOF`] degrees of freedom.
    ///
    /// # Errors
    /// As for [`fit_with_dof`](Self::fit_with_dof).
    pub fn fit(points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        Self::fit_with_dof(Student::DEFAULT_DOF, points, weights)
    }

    /// By moments: the mean, and the scale matrix that gives the data's covariance, `C (n−2)/n`.
    ///
    /// ```
    /// use noisewright::{MultivariateStudent, View};
    /// let corners = [1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    /// let noise = MultivariateStudent::fit_with_dof(4.0, View::new(2, 4, &corners), None)?;
    /// // Times n/(n − 2) = 2 it is the covariance.
    /// assert!(noise.scale().iter().zip([0.5, 0.0, 0.0, 0.5]).all(|(s, exact)| (s - exact).abs() < 1e-14));
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no data, the variables are linearly dependent in them, or the degrees of freedom are
    /// two or fewer.
    pub fn fit_with_dof(dof: f64, points: View<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let name = "the degrees of freedom of student";
        require(dof > 2.0, name, dof, "it must be above 2 to be fitted by moments")?;
        let (mean, mut matrix) = mean_and_covariance("student", points, weights)?;
        for entry in &mut matrix {
            *entry *= (dof - 2.0) / dof;
        }
        Self::new(dof, &mean, &matrix)
    }

    /// The degrees of freedom.
    #[must_use]
    pub fn dof(&self) -> f64 {
        self.dof
    }

    /// The location.
    #[must_use]
    pub fn location(&self) -> &[f64] {
        self.map.location()
    }

    /// The scale matrix, row after row.
    #[must_use]
    pub fn scale(&self) -> &[f64] {
        self.map.matrix()
    }

    /// The same distribution as by [`transport`](Noise::transport), one variable after the other.
    pub(super) fn transport_by_variables(&self, cube: View<'_>, out: &mut [f64]) {
        self.transport_along(&self.map.pivoted_factor(), cube, out);
    }

    /// The stretch first, which decides how far out a draw is.
    fn transport_along(&self, factor: &[f64], cube: View<'_>, out: &mut [f64]) {
        let stretch = |u: f64| (self.dof / gamma_quantile(0.5 * self.dof, u) * 0.5).sqrt();
        transport_colored(self.location(), factor, cube, 1, out, |row| stretch(cube.get(row, 0)));
    }
}

impl Noise for MultivariateStudent {
    fn dimension(&self) -> usize {
        self.map.dimension()
    }

    fn fit_again(&self) -> Option<Box<FitAgain<'_>>> {
        Some(Box::new(|points, weights| Ok(Arc::new(Self::fit_with_dof(self.dof, points, weights)?))))
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        let (n, d) = (self.dof, self.dimension() as f64);
        let constant = ln_gamma(0.5 * (n + d))
            - ln_gamma(0.5 * n)
            - 0.5 * d * (n * std::f64::consts::PI).ln()
            - self.map.ln_determinant();
        let mut scaled = vec![0.0; out.len()];
        self.map.squared_distances(points, &mut scaled);
        for q in &mut scaled {
            *q /= n;
        }
        ln_one_plus(n, &mut scaled, out);
        for o in out {
            *o = constant - 0.5 * (n + d) * *o;
        }
    }

    fn slope(&self, point: &[f64], gradient: &mut [f64]) -> bool {
        let squared = self.map.solve(point, gradient);
        let factor = (self.dof + self.dimension() as f64) / (self.dof + squared);
        gradient.iter_mut().for_each(|g| *g *= -factor);
        true
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        draw_colored(&self.map, stream, rows, out, |s| (self.dof / self.chi_squared.sample(s)).sqrt());
    }

    fn uniforms(&self) -> Option<usize> {
        Some(self.dimension() + 1)
    }

    /// The stretch first, which decides how far out a draw is, then the principal axes.
    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        self.transport_along(&self.map.principal_factor(), cube, out);
    }

    /// Given the point, half of the χ² of the stretch has a gamma distribution of shape `(n + d)/2` and rate `1 + |z|²/n`.
    fn inverse_transport(&self, point: &[f64], stream: &mut Stream, cube: &mut [f64]) -> bool {
        let z = along_principal_axes(&self.map, point);
        let squared: f64 = z.iter().map(|z| z * z).sum();
        let shape = 0.5 * (self.dof + z.len() as f64);
        let (Ok(given), Ok(alone)) =
            (Gamma::new(shape, 1.0 + squared / self.dof), Gamma::new(0.5 * self.dof, 1.0))
        else {
            return false;
        };
        let half = given.draw_one(stream);
        cube[0] = inside(alone.cdf(half));
        let shrink = (2.0 * half / self.dof).sqrt();
        cube[1..].iter_mut().zip(&z).for_each(|(u, z)| *u = inside(normal_cdf(z * shrink)));
        true
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        center(&self.map, axis)
    }

    fn describe(&self) -> String {
        let scale = matrix(self.dimension(), self.scale());
        format!("student({}, {}, {scale})", literal(self.dof), list(self.location()))
    }

    fn saved(&self) -> Option<SavedNoise> {
        SavedNoise::words(self)
    }
}

/// Draws `location + stretch · L z` with z standard normal, the random numbers row by row.
fn draw_colored(
    map: &Whitening,
    stream: &mut Stream,
    rows: usize,
    out: &mut [f64],
    stretch: impl Fn(&mut Stream) -> f64,
) {
    let d = map.dimension();
    let (mut z, mut factors) = (vec![0.0; d * BLOCK], [1.0; BLOCK]);
    for start in (0..rows).step_by(BLOCK) {
        let count = BLOCK.min(rows - start);
        for row in 0..count {
            (0..d).for_each(|axis| z[axis * count + row] = StandardNormal.sample(stream));
            factors[row] = stretch(stream);
        }
        map.color_all(&z[..d * count], count, &mut out[start..], rows);
        for (axis, location) in map.location().iter().enumerate() {
            let column = &mut out[axis * rows + start..][..count];
            column.iter_mut().zip(&factors).for_each(|(x, factor)| *x = location + factor * *x);
        }
    }
}

/// Carries the columns of the cube from `first` on to `location + stretch · F z`, z their normal quantiles.
fn transport_colored(
    location: &[f64],
    factor: &[f64],
    cube: View<'_>,
    first: usize,
    out: &mut [f64],
    stretch: impl Fn(usize) -> f64,
) {
    let (d, rows) = (location.len(), cube.rows());
    let mut z = vec![0.0; d];
    for row in 0..rows {
        let stretch = stretch(row);
        for (axis, z) in z.iter_mut().enumerate() {
            *z = normal_quantile(cube.get(row, first + axis));
        }
        for (axis, location) in location.iter().enumerate() {
            let along: f64 = factor[axis * d..(axis + 1) * d].iter().zip(&z).map(|(f, z)| f * z).sum();
            out[axis * rows + row] = location + stretch * along;
        }
    }
}

/// `F⁻¹(x − location)`, F the factor along the principal axes, whose columns are orthogonal in units of the variables' scales.
fn along_principal_axes(map: &Whitening, point: &[f64]) -> Vec<f64> {
    let d = map.dimension();
    let factor = map.principal_factor();
    let along = |k: usize| {
        let (mut product, mut length) = (0.0, 0.0);
        for axis in 0..d {
            let (f, scale) = (factor[axis * d + k], map.scale(axis).powi(2));
            product += f * (point[axis] - map.location()[axis]) / scale;
            length += f * f / scale;
        }
        product / length
    };
    (0..d).map(along).collect()
}

/// The quantile of a gamma distribution of scale one.
fn gamma_quantile(shape: f64, u: f64) -> f64 {
    Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.quantile(u))
}

fn center(map: &Whitening, axis: usize) -> Landmarks {
    Landmarks { breaks: Vec::new(), centers: vec![(map.location()[axis], map.scale(axis))] }
}
