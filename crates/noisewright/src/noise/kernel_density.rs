//! Gaussian kernel densities in any dimension, also restricted to a box.

use std::sync::Arc;

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::{LN_SQRT_2PI, ln_normal_cdf, ln_sub_exp, normal_cdf, normal_quantile};
use noisewright_numerics::summation::log_sum_exp;
use rand_distr::{Distribution, StandardNormal};

use super::FitAgain;
use super::bits;
use super::check::{positive, require};
use super::fitting::{failed, total_weight};
use super::quiet::inside;
use super::weighted_index::Picker;
use super::whitening::{Whitening, mean_and_covariance};
use crate::{Error, Landmarks, Noise, Result, SavedNoise, View};

/// How wide the kernels are, as a factor on the standard deviations of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Bandwidth {
    /// `(n (d+2)/4)^(−1/(d+4))`, best for normal data (the default).
    #[default]
    Silverman,
    /// `n^(−1/(d+4))`.
    Scott,
    /// A factor of one's own.
    Factor(f64),
}

impl Bandwidth {
    /// The factor for `count` points (the effective number where they have weights) in `dimension` variables.
    ///
    /// # Errors
    /// When a factor of one's own is not positive.
    pub fn factor(self, count: f64, dimension: usize) -> Result<f64> {
        let d = dimension as f64;
        match self {
            Self::Silverman => Ok((0.25 * count * (d + 2.0)).powf(-1.0 / (d + 4.0))),
            Self::Scott => Ok(count.powf(-1.0 / (d + 4.0))),
            Self::Factor(factor) => positive("the bandwidth factor of kde", factor),
        }
    }
}

/// `kde`: one normal kernel per point of the data, `p(x) = Σ w_i N(x; x_i, h²C)` with C the data's covariance.
///
/// Evaluating it costs the number of points evaluated times the number of points it was made from.
///
/// ```
/// use noisewright::{Bandwidth, KernelDensity, Noise, View};
/// // Two points, ±1: standard deviation 1, so kernels of standard deviation ½ at each.
/// let noise = KernelDensity::fit(View::new(1, 2, &[-1.0, 1.0]), None, Bandwidth::Factor(0.5))?;
/// let mut out = [0.0];
/// noise.log_density(View::new(1, 1, &[0.0]), &mut out);
/// assert!((out[0] + 2.0 + 0.5 * std::f64::consts::FRAC_PI_2.ln()).abs() < 1e-14);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelDensity {
    /// The kernel, at the origin.
    kernel: Whitening,
    /// The points it was made from, column-major, as they are and whitened.
    centers: Vec<f64>,
    whitened: Vec<f64>,
    /// Per center: log weight less the log mass of its kernel inside the box, plus the kernel's constant.
    heights: Vec<f64>,
    weights: Vec<f64>,
    picker: Picker,
    bounds: Option<Vec<(f64, f64)>>,
    spread: Vec<(f64, f64)>,
}

impl KernelDensity {
    /// Kernels with the (weighted) covariance of the data times the square of the bandwidth factor; the number
    /// of points that sets it is `(Σw)²/Σw²`.
    ///
    /// # Errors
    /// When there are no data or the variables are linearly dependent in them.
    pub fn fit(points: View<'_>, weights: Option<&[f64]>, bandwidth: Bandwidth) -> Result<Self> {
        let (mean, covariance) = mean_and_covariance("kde", points, weights)?;
        Self::from_parts(points, weights, bandwidth, &mean, &covariance, None)
    }

    /// The same on a box, one pair of ends per variable (infinite ones allowed): every kernel is a product over
    /// the variables and is cut off at the ends and scaled to keep its mass.
    ///
    /// # Errors
    /// As for [`fit`](Self::fit), and when a point lies outside the box.
    pub fn fit_within(
        bounds: &[(f64, f64)],
        points: View<'_>,
        weights: Option<&[f64]>,
        bandwidth: Bandwidth,
    ) -> Result<Self> {
        let d = points.columns();
        if bounds.len() != d {
            return Err(Error::Shape { what: "pairs of ends", expected: d, found: bounds.len() });
        }
        let (mean, mut covariance) = mean_and_covariance("kde", points, weights)?;
        for (at, entry) in covariance.iter_mut().enumerate() {
            if at / d != at % d {
                *entry = 0.0;
            }
        }
        for (axis, &(lo, hi)) in bounds.iter().enumerate() {
            if let Some(row) = points.column(axis).iter().position(|x| !(*x >= lo && *x <= hi)) {
                let reason = format!("row {} of the data lies outside [{lo}, {hi}]", row + 1);
                return Err(failed("kde", &reason));
            }
        }
        Self::from_parts(points, weights, bandwidth, &mean, &covariance, Some(bounds.to_vec()))
    }

    fn from_parts(
        points: View<'_>,
        weights: Option<&[f64]>,
        bandwidth: Bandwidth,
        mean: &[f64],
        covariance: &[f64],
        bounds: Option<Vec<(f64, f64)>>,
    ) -> Result<Self> {
        let (d, rows) = (points.columns(), points.rows());
        let total = total_weight("kde", rows, weights)?;
        let weights = weights.map_or_else(|| vec![1.0; rows], <[f64]>::to_vec);
        let effective = total * total / weights.iter().map(|w| w * w).sum::<f64>();
        require(effective > 1.0, "the effective number of data for kde", effective, "it must be above 1")?;
        let factor = bandwidth.factor(effective, d)?;
        let matrix: Vec<f64> = covariance.iter().map(|c| c * factor * factor).collect();
        let kernel = Whitening::new("kde", &vec![0.0; d], &matrix)?;
        let spread = (0..d).map(|j| (mean[j], covariance[j * d + j].sqrt())).collect();
        Self::of_kernel(kernel, points, &weights, spread, bounds)
    }

    /// The same kernel at every point.
    fn of_kernel(
        kernel: Whitening,
        points: View<'_>,
        weights: &[f64],
        spread: Vec<(f64, f64)>,
        bounds: Option<Vec<(f64, f64)>>,
    ) -> Result<Self> {
        let (d, rows) = (points.columns(), points.rows());
        let total = total_weight("kde", rows, Some(weights))?;
        let mut whitened = vec![0.0; d * rows];
        kernel.whiten(points, &mut whitened);
        let constant = -LN_SQRT_2PI * d as f64 - kernel.ln_determinant();
        let centers = (0..d).flat_map(|j| points.column(j).to_vec()).collect();
        let picker = Picker::new(weights);
        let heights = weights.iter().map(|w| (w / total).ln() + constant).collect();
        let weights = weights.to_vec();
        let mut density = Self { kernel, centers, whitened, heights, weights, picker, bounds, spread };
        density.scale_to_box();
        Ok(density)
    }

    /// Divides every kernel by its mass inside the box.
    fn scale_to_box(&mut self) {
        let Some(bounds) = &self.bounds else { return };
        let rows = self.heights.len();
        for (axis, &(lo, hi)) in bounds.iter().enumerate() {
            let scale = self.kernel.scale(axis);
            for (row, height) in self.heights.iter_mut().enumerate() {
                let center = self.centers[axis * rows + row];
                *height -= ln_normal_mass((lo - center) / scale, (hi - center) / scale);
            }
        }
    }

    fn is_inside(&self, axis: usize, x: f64) -> bool {
        self.bounds.as_ref().is_none_or(|bounds| x >= bounds[axis].0 && x <= bounds[axis].1)
    }

    /// `ln Σ_i exp(height_i − ½‖z − z_i‖²)` for one whitened point.
    fn log_sum_at(&self, z: impl Fn(usize) -> f64, terms: &mut [f64]) -> f64 {
        let rows = self.heights.len();
        terms.copy_from_slice(&self.heights);
        for (axis, column) in self.whitened.chunks(rows).enumerate() {
            let z = z(axis);
            for (term, center) in terms.iter_mut().zip(column) {
                let difference = z - center;
                *term -= 0.5 * difference * difference;
            }
        }
        log_sum_exp(terms)
    }
}

/// `ln(Φ(b) − Φ(a))` for `a ≤ 0 ≤ b`, a kernel's mass around its own center.
fn ln_normal_mass(a: f64, b: f64) -> f64 {
    if -a < b {
        ln_sub_exp(ln_normal_cdf(b), ln_normal_cdf(a))
    } else {
        ln_sub_exp(ln_normal_cdf(-a), ln_normal_cdf(-b))
    }
}

impl Noise for KernelDensity {
    fn dimension(&self) -> usize {
        self.kernel.dimension()
    }

    fn fit_again(&self) -> Option<Box<FitAgain<'_>>> {
        Some(Box::new(|points, weights| {
            let noise = match &self.bounds {
                Some(bounds) => Self::fit_within(bounds, points, weights, Bandwidth::Silverman),
                None => Self::fit(points, weights, Bandwidth::Silverman),
            };
            Ok(Arc::new(noise?))
        }))
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        let (rows, count) = (points.rows(), self.heights.len());
        let mut z = vec![0.0; self.dimension() * rows];
        self.kernel.whiten(points, &mut z);
        let mut terms = vec![0.0; count];
        for (row, o) in out.iter_mut().enumerate() {
            let inside = (0..self.dimension()).all(|axis| self.is_inside(axis, points.get(row, axis)));
            *o = if inside {
                self.log_sum_at(|axis| z[axis * rows + row], &mut terms)
            } else {
                f64::NEG_INFINITY
            };
        }
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let (d, count) = (self.dimension(), self.heights.len());
        let mut z = vec![0.0; d];
        for row in 0..rows {
            let center = self.picker.pick(stream);
            for axis in 0..d {
                // On a box the kernel is a product, so each variable is drawn again until it falls inside.
                out[axis * rows + row] = loop {
                    z[axis] = StandardNormal.sample(stream);
                    let x = self.centers[axis * count + center] + self.kernel.color(axis, &z);
                    if self.is_inside(axis, x) {
                        break x;
                    }
                };
            }
        }
    }

    fn uniforms(&self) -> Option<usize> {
        Some(self.dimension())
    }

    /// By strata of the kernels, as for any mixture. On a box a kernel is a product of truncated normals.
    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        let (d, rows, count) = (self.dimension(), cube.rows(), self.heights.len());
        let mut z = vec![0.0; d];
        for row in 0..rows {
            let (center, own) = self.picker.stratum(cube.get(row, 0));
            for axis in 0..d {
                let u = if axis == 0 { own } else { cube.get(row, axis) };
                let at = self.centers[axis * count + center];
                z[axis] = match &self.bounds {
                    None => normal_quantile(u),
                    Some(bounds) => {
                        let ends = [bounds[axis].0, bounds[axis].1];
                        let [a, b] = ends.map(|end| normal_cdf((end - at) / self.kernel.scale(axis)));
                        normal_quantile(inside(a + u * (b - a)))
                    }
                };
                let x = at + self.kernel.color(axis, &z);
                let (lo, hi) = self.bounds.as_ref().map_or((f64::MIN, f64::MAX), |bounds| bounds[axis]);
                out[axis * rows + row] = x.clamp(lo, hi);
            }
        }
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let ends = self.bounds.as_ref().map_or((f64::NEG_INFINITY, f64::INFINITY), |bounds| bounds[axis]);
        let breaks = [ends.0, ends.1].into_iter().filter(|end| end.is_finite()).collect();
        Landmarks { breaks, centers: vec![self.spread[axis]] }
    }

    fn describe(&self) -> String {
        "kde".into()
    }

    fn saved(&self) -> Option<SavedNoise> {
        let (lower, upper) = self.bounds.iter().flatten().copied().unzip();
        Some(SavedNoise::Kernels(SavedKernels {
            centers: self.centers.clone(),
            weights: self.weights.clone(),
            matrix: self.kernel.matrix().to_vec(),
            spread: self.spread.clone(),
            lower,
            upper,
        }))
    }
}

/// A kernel density as plain data.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SavedKernels {
    /// The points it was made from, variable after variable.
    centers: Vec<f64>,
    weights: Vec<f64>,
    /// Covariance of a kernel, row after row.
    matrix: Vec<f64>,
    /// Mean and standard deviation of the points along each variable.
    spread: Vec<(f64, f64)>,
    /// The ends of the box, none where there is no box.
    #[serde(with = "bits")]
    lower: Vec<f64>,
    #[serde(with = "bits")]
    upper: Vec<f64>,
}

impl KernelDensity {
    /// A density that was saved.
    ///
    /// # Errors
    /// When the parts do not belong together.
    pub(crate) fn from_saved(saved: &SavedKernels) -> Result<Self> {
        let (d, rows) = (saved.spread.len(), saved.weights.len());
        require(
            d > 0 && saved.centers.len() == d * rows,
            "the points of kde",
            rows as f64,
            "they must be complete",
        )?;
        let boxed = saved.lower.len() == d && saved.upper.len() == d;
        let bounds = boxed.then(|| saved.lower.iter().copied().zip(saved.upper.iter().copied()).collect());
        let kernel = Whitening::new("kde", &vec![0.0; d], &saved.matrix)?;
        Self::of_kernel(
            kernel,
            View::new(d, rows, &saved.centers),
            &saved.weights,
            saved.spread.clone(),
            bounds,
        )
    }
}
