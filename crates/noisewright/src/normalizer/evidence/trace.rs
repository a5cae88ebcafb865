//! The estimate from the first part of the draws, as that part grows: a chain that has settled gives a flat line.

use super::super::NormalizerEstimate;
use super::super::bridge::thinned_root;
use super::Direction;

/// The bridge's estimate from the first draws of every chain's halves and as large a part of the noise.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct TracePoint {
    /// Number of draws used.
    pub draws: usize,
    /// The estimate.
    pub log_evidence: f64,
    /// Its standard error, scaled from that of all draws by the square root of their number.
    pub se: f64,
}

/// Estimates at `count` equal steps, the last with all draws.
pub(super) fn trace(
    directions: &[Direction; 2],
    count: usize,
    by_ess: bool,
    best: &NormalizerEstimate,
) -> Vec<TracePoint> {
    (1..=count)
        .map(|step| {
            let share = step as f64 / count as f64;
            let (draws, sum) = directions
                .iter()
                .map(|d| d.beginning(share, by_ess))
                .fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            TracePoint { draws, log_evidence: 0.5 * sum, se: best.se / share.sqrt() }
        })
        .collect()
}

impl Direction {
    /// The estimate from the first share of every chain, and the number of draws it took.
    fn beginning(&self, share: f64, by_ess: bool) -> (usize, f64) {
        let part = |length: usize| ((length as f64 * share).round() as usize).clamp(1, length);
        let ratio = |(a, b): (&f64, &f64)| a - b;
        let mut data = Vec::new();
        let mut start = 0;
        for &length in &self.chains {
            let rows = start..start + part(length);
            data.extend(self.data.log_noise[rows.clone()].iter().zip(&self.data.log_f[rows]).map(ratio));
            start += length;
        }
        let rows = ..part(self.noise.log_f.len());
        let noise: Vec<f64> =
            self.noise.log_f[rows].iter().zip(&self.noise.log_noise[rows]).map(ratio).collect();
        (data.len(), thinned_root(&data, &noise, self.log_nu(by_ess)).at)
    }
}
