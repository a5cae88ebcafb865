//! Draws of an index with given probabilities.

use noisewright_numerics::random::Stream;
use rand::RngExt;

/// Cumulative weights, searched by bisection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picker {
    cumulative: Vec<f64>,
    /// The last index of positive weight, where rounding at the top end is sent.
    last: usize,
}

impl Picker {
    /// Weights that are not negative and have a positive sum.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let mut sum = 0.0;
        let cumulative = weights.iter().map(|w| {
            sum += w;
            sum
        });
        let cumulative = cumulative.collect();
        Self { cumulative, last: weights.iter().rposition(|w| *w > 0.0).unwrap_or(0) }
    }

    /// An index, drawn with its weight.
    pub(crate) fn pick(&self, stream: &mut Stream) -> usize {
        let u = stream.random::<f64>() * self.cumulative[self.last];
        self.cumulative.partition_point(|c| *c <= u).min(self.last)
    }
}
