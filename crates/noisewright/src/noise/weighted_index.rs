//! Draws of an index with given probabilities.

use noisewright_numerics::random::Stream;
use rand::RngExt;

use super::quiet::inside;

/// Weights of which all are looked at.
const FEW: usize = 8;

/// Cumulative weights, searched by bisection where they are many.
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

    /// The index whose stratum of the unit interval holds `u`, and where in it, strictly between 0 and 1 again: so one
    /// coordinate both chooses in the right proportions, to within a point, and is spread evenly within what it chose.
    pub(crate) fn stratum(&self, u: f64) -> (usize, f64) {
        let at = u * self.cumulative[self.last];
        let index = self.cumulative.partition_point(|c| *c <= at).min(self.last);
        let below = index.checked_sub(1).map_or(0.0, |before| self.cumulative[before]);
        (index, inside((at - below) / (self.cumulative[index] - below)))
    }

    /// The other way round: the number whose stratum is that of `index`, at the share `within` of it.
    pub(crate) fn unit_of(&self, index: usize, within: f64) -> f64 {
        let below = index.checked_sub(1).map_or(0.0, |before| self.cumulative[before]);
        inside((below + within * (self.cumulative[index] - below)) / self.cumulative[self.last])
    }

    /// An index, drawn with its weight.
    pub(crate) fn pick(&self, stream: &mut Stream) -> usize {
        let u = stream.random::<f64>() * self.cumulative[self.last];
        // Of few, all are looked at: that has no branch, which the processor would guess wrongly.
        let index = match self.cumulative.len() {
            ..=FEW => self.cumulative.iter().map(|c| usize::from(*c <= u)).sum(),
            _ => self.cumulative.partition_point(|c| *c <= u),
        };
        index.min(self.last)
    }
}
