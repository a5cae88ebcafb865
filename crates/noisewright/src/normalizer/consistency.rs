//! Whether the two sides can be draws of the two densities at all: a moment that must agree if they are.

use noisewright_numerics::special::sigmoid;
use noisewright_numerics::summation::mean_and_variance;

use super::nce::Bridge;

/// Standard errors from which on the sides contradict each other.
const CONTRADICTION: f64 = 5.0;

/// By how many standard errors the two sides disagree about the log ratio where they overlap, if by too many.
///
/// With `s = p_d/(p_d + ν p_n)` every function h has `E_d[(1−s) h] = ν E_n[s h]`. For h = 1 that is the bridge's own
/// equation; for the log ratio u itself, less what a change of c would do, it is a test. `thinned` are −ℓ at data and ℓ
/// at noise draws.
pub(super) fn contradiction(thinned: &[Vec<f64>; 2], bridge: &Bridge, counts: [f64; 2]) -> Option<f64> {
    let nu = bridge.log_nu.exp();
    let shift = bridge.root.at + bridge.log_nu;
    let finite = |side: usize, sign: f64| -> Vec<f64> {
        thinned[side].iter().filter(|u| u.is_finite()).map(|u| sign * u - shift).collect()
    };
    let sides = [finite(0, -1.0), finite(1, 1.0)];
    if sides.iter().any(|side| side.len() < 50) {
        return None;
    }
    let scale = [1.0 / sides[0].len() as f64, nu / sides[1].len() as f64];
    // The mean of u under s(1−s), about which a change of c does nothing to first order.
    let (mut weight, mut moment) = (0.0, 0.0);
    for (side, scale) in sides.iter().zip(scale) {
        for u in side {
            let w = scale * sigmoid(*u) * sigmoid(-u);
            weight += w;
            moment += w * u;
        }
    }
    let center = moment / weight;
    let terms = |side: usize, sign: f64| -> Vec<f64> {
        sides[side].iter().map(|u| sigmoid(sign * u) * (u - center)).collect()
    };
    let (data, noise) = (mean_and_variance(&terms(0, -1.0)), mean_and_variance(&terms(1, 1.0)));
    // Thinned draws are not worth more than all of them.
    let worth =
        |side: usize| (sides[side].len() as f64).min(counts[side] / bridge.moments[side].time.max(1.0));
    let variance = data.1 / worth(0) + nu * nu * noise.1 / worth(1);
    let difference = (data.0 - nu * noise.0).abs();
    // Of equal densities nothing is left but the rounding of their logarithms.
    let rounding = 1e-9 + 1e-12 * shift.abs();
    let apart = difference / variance.sqrt();
    (difference > rounding && apart > CONTRADICTION).then_some(apart)
}
