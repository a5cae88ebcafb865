//! A variable's own distribution, with its values at normal scores.

use std::sync::Arc;

use noisewright_numerics::special::{LN_SQRT_2PI, ln_normal_cdf, normal_quantile, normal_quantile_log};

use crate::Scalar;
use crate::noise::scalar::at_tails;

/// Scores between which values are looked up: quiet and random uniform numbers lead to 8.3 at most.
const FARTHEST: f64 = 8.5;
const STEPS_PER_UNIT: f64 = 8.0;
/// Probability below which the logarithm of the distribution function is taken.
const FAR: f64 = 1e-8;
/// A score that is off by less is right to rounding after one more step of Newton's method, which squares it.
const CLOSE: f64 = 1e-7;
/// Most steps; one or two are needed where the density is smooth between two knots.
const STEPS: usize = 60;

/// A distribution with a table of the values at evenly spaced scores.
#[derive(Clone)]
pub(crate) struct Margin {
    own: Arc<dyn Scalar>,
    median: f64,
    values: Vec<f64>,
    /// Derivatives of the values in the score, φ(z)/p(x).
    slopes: Vec<f64>,
}

impl Margin {
    pub(crate) fn new(own: Arc<dyn Scalar>) -> Self {
        let count = (2.0 * FARTHEST * STEPS_PER_UNIT) as usize;
        let scores = || (0..=count).map(|k| k as f64 / STEPS_PER_UNIT - FARTHEST);
        let values: Vec<f64> = scores().map(|z| exact(own.as_ref(), z)).collect();
        let mut log_densities = vec![0.0; values.len()];
        own.log_density_of(&values, &mut log_densities);
        let slope = |(z, log_density): (f64, &f64)| (-0.5 * z * z - LN_SQRT_2PI - log_density).exp();
        let slopes = scores().zip(&log_densities).map(slope).collect();
        Self { median: exact(own.as_ref(), 0.0), own, values, slopes }
    }

    /// The distribution.
    pub(crate) fn own(&self) -> &dyn Scalar {
        self.own.as_ref()
    }

    /// The number that is as far out among standard normal ones as the value is in the distribution.
    pub(crate) fn score(&self, x: f64) -> f64 {
        if x <= self.median {
            let below = self.own.cdf(x);
            if below < FAR { normal_quantile_log(self.own.ln_cdf(x)) } else { normal_quantile(below) }
        } else {
            let above = self.own.survival(x);
            if above < FAR { -normal_quantile_log(self.own.ln_survival(x)) } else { -normal_quantile(above) }
        }
    }

    /// The value with this score, by Newton's method on the score from a cubic between two knots.
    pub(crate) fn value(&self, z: f64) -> f64 {
        let place = (z + FARTHEST) * STEPS_PER_UNIT;
        let k = place.floor();
        if !(k >= 0.0 && k < (self.values.len() - 1) as f64) {
            return exact(self.own.as_ref(), z);
        }
        let (mut left, mut right) = (self.values[k as usize], self.values[k as usize + 1]);
        let mut x = self.cubic(k as usize, place - k);
        for _ in 0..STEPS {
            if !(x > left && x < right) {
                x = f64::midpoint(left, right);
                if !(x > left && x < right) {
                    return x;
                }
            }
            let off = self.score(x) - z;
            if off > 0.0 {
                right = x;
            } else {
                left = x;
            }
            let mut log_density = [0.0];
            self.own.log_density_of(&[x], &mut log_density);
            let here = z + off;
            x -= off * (-0.5 * here * here - LN_SQRT_2PI - log_density[0]).exp();
            if off.abs() < CLOSE && x >= left && x <= right {
                return x;
            }
        }
        x
    }

    /// Hermite's cubic between two knots, at a share of the way.
    fn cubic(&self, k: usize, t: f64) -> f64 {
        let (from, to) = (self.values[k], self.values[k + 1]);
        let [first, last] = [k, k + 1].map(|k| self.slopes[k] / STEPS_PER_UNIT);
        let rise = t * t * (3.0 - 2.0 * t);
        from + rise * (to - from) + t * (1.0 - t) * ((1.0 - t) * first - t * last)
    }
}

/// The value with this score, on the tail that is the smaller one.
fn exact(own: &dyn Scalar, z: f64) -> f64 {
    at_tails(own, z > 0.0, ln_normal_cdf(-z.abs()))
}
