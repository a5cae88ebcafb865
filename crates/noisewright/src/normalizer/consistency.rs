//! Whether draws can be what they are said to be: draws of two densities, independent ones, and no copies.

use noisewright_numerics::special::sigmoid;
use noisewright_numerics::summation::mean_and_variance;

use super::nce::Bridge;
use super::power::Weights;

/// Standard errors from which on the sides contradict each other.
const CONTRADICTION: f64 = 5.0;
/// The same where the probability is only bounded, by e^(−z²/2): as improbable as five standard errors, 6e-7, or less.
const BOUNDED_CONTRADICTION: f64 = 5.36;
/// Draws of a side below which the test's normal approximation is not trusted.
const FEWEST: usize = 50;
/// Draws whose neighbours are looked at.
pub(super) const LOOKED_AT: usize = 32_768;
/// Different draws that a stretch must hold before its recurrence is no accident: of sixteen values that a chain takes from one
/// step to the next by no more than even chances, once in 65,000 for each place, and of a continuous density never.
const DIFFERENT: usize = 24;
/// The longest stretch that is searched for so many.
const LONGEST: usize = 1024;
/// Chains whose beginnings are searched for, at most, and comparisons that there is time for.
const BEGINNINGS: usize = 64;
const COMPARISONS: usize = 1 << 26;

/// By how many standard errors the two sides disagree about the log ratio where they overlap, if by too many.
///
/// `thinned` are −ℓ at data and ℓ at noise draws.
pub(super) fn contradiction(
    thinned: &[Vec<f64>; 2],
    weights: &[Weights; 2],
    bridge: &Bridge,
    counts: [f64; 2],
) -> Option<f64> {
    let shift = bridge.root.at + bridge.log_nu;
    let shifted =
        |side: usize, sign: f64| -> Vec<f64> { thinned[side].iter().map(|u| sign * u - shift).collect() };
    let sides = [shifted(0, -1.0), shifted(1, 1.0)];
    // Thinned draws are not worth more than all of them.
    let worth = [0, 1].map(|k| (sides[k].len() as f64).min(counts[k] / bridge.moments[k].time.max(1.0)));
    let mean_ratios = [weights[0].full.log_mean + bridge.root.at, weights[1].full.log_mean - bridge.root.at];
    let apart = disagreement(&sides, bridge.log_nu.exp(), worth, shift);
    mean_ratios.into_iter().map(improbable).fold(apart, Option::max_of)
}

/// The larger of two numbers that may not be there.
trait MaxOf {
    fn max_of(self, other: Self) -> Self;
}

impl MaxOf for Option<f64> {
    fn max_of(self, other: Self) -> Self {
        match (self, other) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    }
}

/// The same for draws of any two densities p and q, from `log p − log(ν q)` at draws of p and of q. `size` is that of the
/// logarithms, for their rounding.
///
/// With `s = p/(p + ν q)` every function h has `E_p[(1−s) h] = ν E_q[s h]`. For h = 1 that is the bridge's own equation; for
/// the log ratio itself, less what a change of the constant would do, it is a test. Draws at which the other density is zero have
/// infinite logarithms: they add nothing to the means, and count as draws.
pub(super) fn disagreement(sides: &[Vec<f64>; 2], nu: f64, worth: [f64; 2], size: f64) -> Option<f64> {
    let finite = |side: &Vec<f64>| side.iter().filter(|u| u.is_finite()).count();
    if sides.iter().any(|side| finite(side) < FEWEST) {
        return None;
    }
    let scale = [1.0 / sides[0].len() as f64, nu / sides[1].len() as f64];
    // The mean of the log ratio under s(1−s), about which a change of the constant does nothing to first order.
    let (mut weight, mut moment) = (0.0, 0.0);
    for (side, scale) in sides.iter().zip(scale) {
        for u in side.iter().filter(|u| u.is_finite()) {
            let w = scale * sigmoid(*u) * sigmoid(-u);
            weight += w;
            moment += w * u;
        }
    }
    let center = moment / weight;
    let terms = |side: usize, sign: f64| -> Vec<f64> {
        let term = |u: &f64| if u.is_finite() { sigmoid(sign * u) * (u - center) } else { 0.0 };
        sides[side].iter().map(term).collect()
    };
    let (first, second) = (mean_and_variance(&terms(0, -1.0)), mean_and_variance(&terms(1, 1.0)));
    let variance = first.1 / worth[0] + nu * nu * second.1 / worth[1];
    let difference = (first.0 - nu * second.0).abs();
    // Of equal densities nothing is left but the rounding of their logarithms.
    let rounding = 1e-9 + 1e-12 * size.abs();
    let apart = difference / variance.sqrt();
    (difference > rounding && apart > CONTRADICTION).then_some(apart)
}

/// How improbable the mean of q/p over draws of p is, in standard errors, if it is too improbable; from its logarithm.
///
/// Its expectation is the share of q where p has density, one at most, whatever the draws' dependence. So it is E or more with
/// probability 1/E at most (Markov), and a normal variable is beyond z standard errors with probability e^(−z²/2) at most.
/// A single draw where its density is nearly zero shows that, which no average over the overlap does.
pub(super) fn improbable(log_mean_ratio: f64) -> Option<f64> {
    let apart = (2.0 * log_mean_ratio.max(0.0)).sqrt();
    (apart > BOUNDED_CONTRADICTION).then_some(apart)
}

/// The correlation of neighbours among draws that are said to be independent, if it is positive by more than chance: the
/// standard deviation is 1/√n for independent ones. From logarithms of density ratios, of which a bounded function is taken.
pub(super) fn neighbours_correlation(log_ratios: &[f64]) -> Option<f64> {
    let log_ratios = &log_ratios[..log_ratios.len().min(LOOKED_AT)];
    if log_ratios.len() < FEWEST {
        return None;
    }
    let terms: Vec<f64> = log_ratios.iter().map(|u| sigmoid(*u)).collect();
    let (mean, variance) = mean_and_variance(&terms);
    let products: f64 = terms.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let correlation = products / (variance * (terms.len() - 1) as f64);
    (correlation > CONTRADICTION / (terms.len() as f64).sqrt()).then_some(correlation)
}

/// Whether the beginning of a chain occurs again among the draws, to the bit: a file that was read twice, chains with the same
/// seed. `columns` are numbers of every draw.
pub(super) fn is_repeated(columns: &[&[f64]], beginnings: impl Iterator<Item = usize>) -> bool {
    let Some(count) = columns.first().map(|column| column.len()) else { return false };
    let bits = |row: usize| columns.iter().map(move |column| column[row].to_bits());
    let same = |a: usize, b: usize| bits(a).eq(bits(b));
    beginnings.take((COMPARISONS / count.max(1)).clamp(1, BEGINNINGS)).any(|start| {
        let mut different: Vec<usize> = Vec::new();
        for row in start..count.min(start + LONGEST) {
            if !different.iter().any(|known| same(*known, row)) {
                different.push(row);
            }
            if different.len() == DIFFERENT {
                let length = row + 1 - start;
                return (start + 1..=count - length).any(|at| (0..length).all(|i| same(start + i, at + i)));
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use noisewright_numerics::random::stream;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;

    fn normal(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, 0);
        (0..count).map(|_| rng.sample(StandardNormal)).collect()
    }

    #[test]
    fn copies_are_found_and_repeats_of_few_values_are_none() {
        let x = normal(200, 1);
        let again: Vec<f64> = x.iter().chain(&x[..30]).copied().collect();
        assert!(is_repeated(&[&again], std::iter::once(0)));
        assert!(!is_repeated(&[&x], [0, 100].into_iter()));
        // A chain that rejects stays where it is.
        let stays: Vec<f64> = x.iter().flat_map(|x| [*x; 5]).collect();
        assert!(!is_repeated(&[&stays], std::iter::once(0)));
        let spins: Vec<f64> = x.iter().map(|x| x.signum()).collect();
        assert!(!is_repeated(&[&spins], std::iter::once(0)));
    }

    /// Five standard errors are reached by chance once in 3.5 million times.
    #[test]
    fn neighbours_of_a_chain_are_seen() {
        for seed in 0..20 {
            let x = normal(2000, seed);
            assert_eq!(neighbours_correlation(&x), None);
            let chain: Vec<f64> = x.windows(2).map(|pair| pair[0] + 0.5 * pair[1]).collect();
            let found = neighbours_correlation(&chain).unwrap_or(0.0);
            // 0.4 of the sums, less by the bounded function, and four standard deviations of 1/√2000.
            assert!((found - 0.4).abs() < 0.1, "{found}");
        }
    }

    /// Exponential draws x and normal ones y of deviation 2, half of which have no exponential density: `log p/q = −x + x²/8 + log 2√(2π)`.
    /// Five standard errors are reached by chance once in 1.7 million times; without that half the sides are ten apart.
    #[test]
    fn draws_without_density_contradict_nothing() {
        let log_ratio = |x: f64| -x + x * x / 8.0 + (8.0 * std::f64::consts::PI).ln() / 2.0;
        for seed in 0..5 {
            let mut rng = stream(seed, 1);
            let data = (0..100_000).map(|_| log_ratio(-(1.0 - rng.random::<f64>()).ln())).collect();
            let noise: Vec<f64> = normal(100_000, seed)
                .iter()
                .map(|z| if *z > 0.0 { log_ratio(2.0 * z) } else { f64::NEG_INFINITY })
                .collect();
            assert_eq!(disagreement(&[data, noise], 1.0, [1e5; 2], 0.0), None);
        }
    }

    #[test]
    fn one_draw_where_there_is_no_density_is_enough() {
        assert_eq!(improbable(10.0), None);
        assert!(improbable(500.0).is_some_and(|apart| (apart - 1000_f64.sqrt()).abs() < 1e-12));
    }
}
