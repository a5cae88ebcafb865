//! The largest log-ratios of a sample, whose shape tells if the mean of the weights can be trusted.

use super::sample::Sample;
use crate::pareto::{self, Shape};

/// The largest log-ratios in increasing order, and the largest below them.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    cut: f64,
    values: Vec<f64>,
}

impl Tail {
    /// A log-ratio above which there are probably enough for the tail, from a thinned sample.
    pub(super) fn threshold(thinned: &[f64], count: usize) -> f64 {
        let wanted = (pareto::tail_length(count) + 1) as f64;
        let share = thinned.len() as f64 / count as f64;
        let expected = wanted * share;
        let rank = if share == 1.0 { expected } else { expected + 4.0 * expected.sqrt() + 4.0 };
        let rank = (rank.ceil() as usize).clamp(1, thinned.len());
        let mut values = thinned.to_vec();
        let place = values.len() - rank;
        *values.select_nth_unstable_by(place, f64::total_cmp).1
    }

    /// From the log-ratios at and above a threshold; looks again where there are too few.
    pub(super) fn new(sample: &Sample<'_>, outside: usize, kept: Vec<f64>) -> Option<Self> {
        let wanted = pareto::tail_length(sample.len() - outside);
        if wanted < 5 {
            return None;
        }
        let enough = |kept: &Vec<f64>| kept.iter().filter(|u| **u > f64::NEG_INFINITY).count() > wanted;
        let mut kept = kept;
        if !enough(&kept) {
            let all = |u: &[f64], kept: &mut Vec<f64>| {
                kept.extend_from_slice(u);
                []
            };
            kept = sample.sums::<0>(all).kept;
        }
        kept.sort_unstable_by(f64::total_cmp);
        let values = kept.split_off(kept.len() - wanted);
        kept.last().map(|&cut| Self { cut, values })
    }

    /// The shape of the tail of weights whose logarithm is an increasing function of the log-ratio.
    pub(super) fn shape(&self, log_weight: impl Fn(f64) -> f64) -> Shape {
        let weights: Vec<f64> = self.values.iter().map(|&u| log_weight(u)).collect();
        Shape::above(log_weight(self.cut), &weights)
    }
}
