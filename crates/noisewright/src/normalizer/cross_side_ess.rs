//! What each side's draws say about the other's weights: the divergences of MATH §4, and a variance that a side may not show itself.

use noisewright_numerics::summation::log_mean_exp;

use super::Side;
use super::moment::Moment;
use super::power::log_mean_power;
use crate::pareto::Shape;
use crate::tolerance::EVEN_WEIGHTS;

/// How much the weights of importance sampling vary, as the draws of the other side see it.
///
/// The noise may never have visited where its weights are largest; the data live there:
/// `E_n[(p_d/p_n)²] = E_d[p_d/p_n]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cross {
    /// `χ²(p_d, p_n) + 1` from the data draws.
    pub(super) importance: f64,
    /// `χ²(p_n, p_d) + 1` from the noise draws.
    pub(super) reverse: f64,
}

impl Cross {
    /// From the thinned log-ratios of data and noise.
    pub(super) fn new(thinned: &[Vec<f64>; 2], c: f64) -> Self {
        // Points outside the other's support are not averaged over by either estimator.
        let second = |u: &[f64], shift: f64| (log_mean_power(u, -1.0) - shift).exp();
        Self { importance: second(&thinned[0], c), reverse: second(&thinned[1], -c) }
    }
}

/// The exponent up to which a power of the density ratio has a variance whatever the densities are.
pub(super) const ALWAYS_VARIANCE: f64 = 0.5;

/// What the other side's draws say about the variance of one side's weights w: with R the ratio of the other density to that of the
/// side's own draws, `E[w²] = E_other[w²/R]`, which is `E_other[w_other² /R_other]` for the other side's own weights of the same
/// estimator. For powers, `E[R^2e] = E_other[R^(2e−1)]`.
///
/// The weights' own second moment rests on the largest of them, and estimates whose tail happens not to have been drawn look
/// both precise and light-tailed; the other side's draws are independent of that luck. For square roots of R it is the share
/// of the other density inside the support, known without any tail.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherSide {
    /// Variance of a weight over the square of its mean.
    pub(super) spread: f64,
    /// Whether the terms of which it is a mean hardly vary, so that it rests on no tail.
    pub(super) without_tail: bool,
    /// Their tail: the mean exists where its shape is below 1.
    pub(super) shape: Option<Shape>,
}

impl OtherSide {
    /// From the logarithms of the terms at the other side's draws, log Z, and the logarithm of the mean weight.
    pub(super) fn new(side: Side, log_terms: &[f64], log_z: f64, log_mean: f64) -> Option<Self> {
        if !(log_z.is_finite() && log_mean.is_finite()) {
            return None;
        }
        let log_ratio_of_constants = if side == Side::Noise { log_z } else { -log_z };
        let log_mean_term = log_mean_exp(log_terms);
        let log_mean_square = log_mean_power(log_terms, 2.0);
        let without_tail = is_even((log_mean_square - 2.0 * log_mean_term).exp() - 1.0);
        let spread = (log_ratio_of_constants + log_mean_term - 2.0 * log_mean).exp() - 1.0;
        Some(Self { spread, without_tail, shape: Shape::of(log_terms) })
    }

    /// Whether the weights hardly vary. What is left is then a difference of two means with more sampling error than the
    /// weights' own variance has.
    pub(super) fn is_even(&self) -> bool {
        is_even(self.spread)
    }

    /// The mean of the weights with a variance that is no smaller than the other side knows it to be; with just that one
    /// where it rests on no tail.
    pub(super) fn corrected(&self, moment: &Moment) -> Moment {
        if self.is_even() {
            return *moment;
        }
        moment.with_spread(self.spread, self.without_tail)
    }
}

/// Whether weights of such a variance, over the square of their mean, hardly vary.
pub(super) fn is_even(spread: f64) -> bool {
    1.0 >= EVEN_WEIGHTS * (1.0 + spread)
}
