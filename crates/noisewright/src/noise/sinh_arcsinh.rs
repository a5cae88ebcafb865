//! The sinh-arcsinh map of one variable, which takes skewness and tail weight out of it.

use noisewright_numerics::kernels;
use noisewright_numerics::optimize::nelder_mead;
use noisewright_numerics::special::LN_SQRT_2PI;
use noisewright_numerics::summation::mean_and_variance;

use super::fitting::unfitted;
use crate::Result;

/// Values that the likelihood is summed over; more would change the map by less than it matters.
const FITTED: usize = 2000;
/// The largest skewness looked for.
const MAX_SKEW: f64 = 2.0;
/// The lightest and heaviest tails looked for, as the logarithm of the tail parameter.
const LN_TAIL: std::ops::RangeInclusive<f64> = -1.2..=0.7;

/// `u = sinh(tail · asinh((x − location)/scale) − skew)`: if u is standard normal, x has the sinh-arcsinh distribution
/// of Jones and Pewsey (2009).
///
/// A positive `skew` is a longer right tail; `tail` below one is heavier tails than the normal's, above one lighter.
/// With `skew = 0` and `tail = 1` the map is `(x − location)/scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SinhArcsinh {
    /// Where the map is centred.
    pub(crate) location: f64,
    /// The scale, positive.
    pub(crate) scale: f64,
    /// The skewness that it removes.
    pub(crate) skew: f64,
    /// The tail weight that it removes, positive.
    pub(crate) tail: f64,
}

impl SinhArcsinh {
    /// u(x).
    #[must_use]
    pub(crate) fn forward(&self, x: f64) -> f64 {
        (self.tail * ((x - self.location) / self.scale).asinh() - self.skew).sinh()
    }

    /// x(u).
    #[must_use]
    pub(crate) fn inverse(&self, u: f64) -> f64 {
        self.location + self.scale * ((u.asinh() + self.skew) / self.tail).sinh()
    }

    /// Writes u of every x and adds `ln du/dx` to `log_slope`.
    pub(crate) fn forward_all(&self, x: &[f64], u: &mut [f64], log_slope: &mut [f64]) {
        let constant = (self.tail / self.scale).ln();
        let mut root = vec![0.0; x.len()];
        for ((u, root), x) in u.iter_mut().zip(&mut root).zip(x) {
            let w = ((x - self.location) / self.scale).abs();
            *root = (1.0 + w * w).sqrt();
            *u = w + *root;
        }
        let mut power = vec![0.0; x.len()];
        kernels::ln(u, &mut power);
        for (power, x) in power.iter_mut().zip(x) {
            *power = self.tail * power.copysign(x - self.location) - self.skew;
        }
        kernels::exp_in_place(&mut power);
        // du/dx = tail/scale · cosh(…)/√(1 + w²)
        for ((u, e), root) in u.iter_mut().zip(&power).zip(&mut root) {
            *u = 0.5 * (e - 1.0 / e);
            *root = 0.5 * (e + 1.0 / e) / *root;
        }
        kernels::ln(&root, &mut power);
        log_slope.iter_mut().zip(&power).for_each(|(o, l)| *o += constant + l);
    }

    /// By maximum likelihood on a column of values, from an even selection of them.
    ///
    /// # Errors
    /// When there are no values or they do not vary.
    pub(crate) fn fit(values: &[f64]) -> Result<Self> {
        let step = values.len().div_ceil(FITTED).max(1);
        let mut chosen: Vec<f64> = values.iter().copied().step_by(step).collect();
        let (mean, variance) = mean_and_variance(&chosen);
        if !(variance > 0.0 && variance.is_finite()) {
            return Err(unfitted("warped", "a column of the draws does not vary, so no scale can be fitted"));
        }
        let deviation = variance.sqrt();
        chosen.iter_mut().for_each(|x| *x = (*x - mean) / deviation);
        let best = Self::standardized(&chosen);
        Ok(Self { location: mean + deviation * best.location, scale: deviation * best.scale, ..best })
    }

    /// The fit to values of mean 0 and variance 1.
    fn standardized(values: &[f64]) -> Self {
        let made = |p: &[f64]| Self { location: p[0], scale: p[1].exp(), skew: p[2], tail: p[3].exp() };
        let loss = |p: &[f64]| {
            let inside = p[2].abs() <= MAX_SKEW && LN_TAIL.contains(&p[3]);
            if inside { made(p).mean_loss(values) } else { f64::INFINITY }
        };
        let skewness = values.iter().map(|x| x.powi(3)).sum::<f64>() / values.len() as f64;
        let start = [0.0, 0.0, 0.25 * skewness.clamp(-2.0, 2.0), 0.0];
        made(&nelder_mead(&start, &[0.2, 0.2, 0.2, 0.2], 1e-7, loss).at)
    }

    /// Minus the mean log-likelihood.
    fn mean_loss(&self, values: &[f64]) -> f64 {
        let (mut u, mut slope) = (vec![0.0; values.len()], vec![0.0; values.len()]);
        self.forward_all(values, &mut u, &mut slope);
        let sum: f64 = u.iter().zip(&slope).map(|(u, s)| 0.5 * u * u - s).sum();
        sum / values.len() as f64 + LN_SQRT_2PI
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_agrees_with_the_single_map_and_its_slope() {
        let map = SinhArcsinh { location: 0.3, scale: 1.7, skew: 0.4, tail: 0.8 };
        let x = [-30.0, -2.0, 0.3, 0.9, 14.0];
        let (mut u, mut slope) = ([0.0; 5], [0.0; 5]);
        map.forward_all(&x, &mut u, &mut slope);
        for ((x, u), slope) in x.iter().zip(u).zip(slope) {
            assert!((u - map.forward(*x)).abs() < 1e-12 * (1.0 + u.abs()));
            assert!((map.inverse(u) - x).abs() < 1e-12 * (1.0 + x.abs()));
            let h = 1e-5;
            let difference = (map.forward(x + h) - map.forward(x - h)) / (2.0 * h);
            assert!((difference.ln() - slope).abs() < 1e-7);
        }
    }

    #[test]
    fn a_fit_finds_the_map_that_made_the_values() {
        // The exact quantiles of the distribution are an ideal sample.
        let truth = SinhArcsinh { location: -2.0, scale: 3.0, skew: 0.5, tail: 0.7 };
        let quantile = |i: usize| noisewright_numerics::special::normal_quantile((i as f64 + 0.5) / 2000.0);
        let values: Vec<f64> = (0..2000).map(|i| truth.inverse(quantile(i))).collect();
        let fitted = SinhArcsinh::fit(&values).unwrap();
        for (a, b) in [(fitted.skew, truth.skew), (fitted.tail, truth.tail), (fitted.scale / 3.0, 1.0)] {
            assert!((a - b).abs() < 0.02, "{fitted:?}");
        }
    }

    #[test]
    fn without_skew_and_tail_the_map_is_linear() {
        let map = SinhArcsinh { location: 1.0, scale: 2.0, skew: 0.0, tail: 1.0 };
        assert!((map.forward(5.0) - 2.0).abs() < 1e-15 && (map.inverse(2.0) - 5.0).abs() < 1e-15);
    }
}
