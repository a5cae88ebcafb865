//! What each side says about the other's weights: the divergences of MATH §4, and errors that a side cannot see itself.

use noisewright_numerics::summation::log_mean_exp;

use super::{Method, NormalizerEstimate, Refusal, Side};

use crate::tolerance::FEWEST_EFFECTIVE_WEIGHTS;

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
        let second = |u: &[f64], shift: f64| {
            // Points outside the other's support are not averaged over by either estimator.
            let log: Vec<f64> =
                u.iter().map(|&u| if u == f64::NEG_INFINITY { u } else { -u - shift }).collect();
            log_mean_exp(&log).exp()
        };
        Self { importance: second(&thinned[0], c), reverse: second(&thinned[1], -c) }
    }

    /// Refuses averages of weights that the other side knows to vary more than they show.
    pub(super) fn judge(&self, estimates: &mut [NormalizerEstimate], counts: [usize; 2]) {
        for e in estimates {
            let (second, count, side) = match e.method {
                Method::Is => (self.importance, counts[1], Side::Noise),
                Method::Revis => (self.reverse, counts[0], Side::Data),
                _ => continue,
            };
            let effective = count as f64 / second;
            if effective < FEWEST_EFFECTIVE_WEIGHTS && second > 1.0 + 1e-9 {
                e.refuse(&Refusal::FewByOtherSide { side, effective });
            }
        }
    }
}
