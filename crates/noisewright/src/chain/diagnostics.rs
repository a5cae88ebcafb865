//! Whether chains agree with each other, and how many independent draws they are worth.

/// How far one quantity has come.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Convergence {
    /// Split R̂: the spread between half-chains over that within them; near 1 when they agree, not a number for a
    /// quantity that does not vary.
    pub r_hat: f64,
    /// Independent draws that would estimate its mean as well.
    pub ess: f64,
}

/// Split R̂ and effective draws of a quantity, from its values chain after chain (Gelman et al. 2013, Geyer 1992).
///
/// ```
/// use noisewright::{chain::convergence, prelude::*};
/// let draws = sample(&Normal::with_std(0.0, 1.0)?, 4000, 1);
/// let found = convergence(draws.values(), &[1000; 4]);
/// assert!((found.r_hat - 1.0).abs() < 0.02 && found.ess > 2000.0); // they are independent
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Panics
/// When the lengths do not add up to the number of values.
#[must_use]
pub fn convergence(values: &[f64], lengths: &[usize]) -> Convergence {
    assert_eq!(values.len(), lengths.iter().sum::<usize>(), "the lengths must add up to the values");
    let halves = halves(values, lengths);
    let count = halves.len() as f64;
    let Some(length) = halves.iter().map(|h| h.len()).min().filter(|n| *n >= 2) else {
        return Convergence { r_hat: f64::NAN, ess: f64::NAN };
    };
    let halves: Vec<&[f64]> = halves.iter().map(|h| &h[..length]).collect();
    let n = length as f64;
    let means: Vec<f64> = halves.iter().map(|h| h.iter().sum::<f64>() / n).collect();
    let overall = means.iter().sum::<f64>() / count;
    let between = n * means.iter().map(|m| (m - overall).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let within = autocovariance(&halves, &means, 0) * n / (n - 1.0);
    let variance = within * (n - 1.0) / n + between / n;
    if variance.is_nan() || within <= 0.0 {
        return Convergence { r_hat: f64::NAN, ess: f64::NAN };
    }
    let correlation =
        |lag: usize| 1.0 - (within - autocovariance(&halves, &means, lag) * n / (n - 1.0)) / variance;
    let ess = values.len() as f64 / autocorrelation_time(length, correlation);
    Convergence { r_hat: (variance / within).sqrt(), ess }
}

/// The two halves of every chain.
fn halves<'a>(values: &'a [f64], lengths: &[usize]) -> Vec<&'a [f64]> {
    let mut rest = values;
    let mut halves = Vec::with_capacity(2 * lengths.len());
    for &length in lengths {
        let (chain, others) = rest.split_at(length);
        halves.push(&chain[..length / 2]);
        halves.push(&chain[length - length / 2..]);
        rest = others;
    }
    halves
}

/// `1/n Σ (x_i − m)(x_{i+lag} − m)`, averaged over the half-chains.
fn autocovariance(halves: &[&[f64]], means: &[f64], lag: usize) -> f64 {
    let one = |(half, mean): (&&[f64], &f64)| {
        let pairs = half.iter().zip(&half[lag..]).map(|(a, b)| (a - mean) * (b - mean));
        pairs.sum::<f64>() / half.len() as f64
    };
    halves.iter().zip(means).map(one).sum::<f64>() / halves.len() as f64
}

/// `1 + 2 Σ ρ_t` over Geyer's initial monotone sequence of sums of neighbouring pairs.
fn autocorrelation_time(length: usize, correlation: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut last) = (-1.0, f64::INFINITY);
    for lag in (0..length.saturating_sub(1)).step_by(2) {
        let first = if lag == 0 { 1.0 } else { correlation(lag) };
        let pair = (first + correlation(lag + 1)).min(last);
        if pair <= 0.0 {
            break;
        }
        sum += 2.0 * pair;
        last = pair;
    }
    sum.max(1.0 / length as f64)
}
