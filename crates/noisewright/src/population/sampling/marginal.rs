//! Proposals of one counted variable: frequencies of states, or a histogram of counts with a far-reaching tail.

use noisewright_numerics::random::Stream;
use noisewright_numerics::special::ln_add_exp;

use crate::{NegativeBinomial, Result, Scalar};

/// Most bins of a histogram of counts.
const MOST_BINS: f64 = 128.0;

/// Share of the draws of counts that come from the tail.
const TAIL_SHARE: f64 = 0.1;

/// A distribution of one counted variable.
#[derive(Clone, Debug)]
pub(super) enum Marginal {
    /// Probabilities of finitely many states.
    States { states: Vec<f64>, probabilities: Vec<f64>, fixed: bool },
    /// Counts.
    Counts(CountHistogram),
}

/// Equal bins of counts from `lower` on, mixed with a negative binomial.
#[derive(Clone, Debug)]
pub(super) struct CountHistogram {
    lower: f64,
    width: f64,
    probabilities: Vec<f64>,
    tail: NegativeBinomial,
}

impl Marginal {
    /// The same probability for each state, whatever is seen.
    pub(super) fn uniform(states: &[f64]) -> Self {
        let probabilities = vec![1.0 / states.len() as f64; states.len()];
        Self::States { states: states.to_vec(), probabilities, fixed: true }
    }

    /// States with log-probabilities up to a constant, softened so that none is excluded.
    pub(super) fn of_states(states: &[f64], log_values: &[f64]) -> Self {
        let probabilities = softened(log_values, 0.7, 0.1);
        Self::States { states: states.to_vec(), probabilities, fixed: false }
    }

    pub(super) fn draw(&self, uniforms: &[f64], stream: &mut Stream, out: &mut [f64]) {
        match self {
            Self::States { states, probabilities, .. } => {
                for (o, u) in out.iter_mut().zip(uniforms) {
                    *o = states[pick(probabilities, *u).0];
                }
            }
            Self::Counts(histogram) => {
                for (o, u) in out.iter_mut().zip(uniforms) {
                    *o = histogram.draw_one(*u, stream);
                }
            }
        }
    }

    /// Adds the log-probability of every value to `out`.
    pub(super) fn add_log_density(&self, values: &[f64], out: &mut [f64]) {
        match self {
            Self::States { states, probabilities, .. } => {
                for (o, x) in out.iter_mut().zip(values) {
                    let found = states.iter().position(|s| s == x);
                    *o += found.map_or(f64::NEG_INFINITY, |i| probabilities[i].ln());
                }
            }
            Self::Counts(histogram) => histogram.add_log_density(values, out),
        }
    }

    /// Frequencies of weighted values, smoothed as if one more draw had been spread over all of them.
    pub(super) fn refit(&self, values: &[f64], weights: &[f64]) -> Result<Self> {
        let total: f64 = weights.iter().sum();
        let effective = total * total / weights.iter().map(|w| w * w).sum::<f64>();
        if !(total > 0.0 && effective > 2.0) {
            return Ok(self.clone());
        }
        match self {
            Self::States { fixed: true, .. } => Ok(self.clone()),
            Self::States { states, .. } => {
                let count = states.len() as f64;
                let floor = 1.0 / (effective + count).min(20.0 * count);
                let mut probabilities = vec![0.0; states.len()];
                for (x, w) in values.iter().zip(weights) {
                    if let Some(i) = states.iter().position(|s| s == x) {
                        probabilities[i] += w / total;
                    }
                }
                probabilities.iter_mut().for_each(|p| *p = (1.0 - count * floor) * *p + floor);
                Ok(Self::States { states: states.clone(), probabilities, fixed: false })
            }
            Self::Counts(_) => CountHistogram::fit(values, weights, total).map(Self::Counts),
        }
    }
}

impl CountHistogram {
    /// From the log-probabilities along a slice, evaluated by `look` at the middles of the bins.
    pub(super) fn of_slice(
        center: f64,
        scale: f64,
        look: &dyn Fn(&[f64]) -> Result<Vec<f64>>,
    ) -> Result<Self> {
        let (lower, width, bins) = bins(center - 8.0 * scale, center + 8.0 * scale);
        let middles: Vec<f64> = (0..bins).map(|b| (lower + width * (b as f64 + 0.5)).floor()).collect();
        let probabilities = softened(&look(&middles)?, 0.5, 0.05);
        let mean: f64 = middles.iter().zip(&probabilities).map(|(x, p)| p * x).sum();
        Ok(Self { lower, width, probabilities, tail: tail(mean, scale * scale)? })
    }

    fn fit(values: &[f64], weights: &[f64], total: f64) -> Result<Self> {
        let average = |f: &dyn Fn(f64) -> f64| {
            let terms = values.iter().zip(weights).filter(|(_, w)| **w > 0.0);
            terms.map(|(x, w)| w * f(*x)).sum::<f64>() / total
        };
        let mean = average(&|x| x);
        let variance = average(&|x| (x - mean) * (x - mean));
        let deviation = variance.sqrt().max(0.5);
        let (lower, width, count) = bins(mean - 6.0 * deviation, mean + 8.0 * deviation);
        let mut probabilities = vec![0.0; count];
        for (x, w) in values.iter().zip(weights).filter(|(_, w)| **w > 0.0) {
            let bin = (x - lower) / width;
            if bin >= 0.0 && bin < count as f64 {
                probabilities[bin as usize] += w;
            }
        }
        let inside: f64 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|p| *p = 0.98 * *p / inside + 0.02 / count as f64);
        Ok(Self { lower, width, probabilities, tail: tail(mean, variance)? })
    }

    fn draw_one(&self, uniform: f64, stream: &mut Stream) -> f64 {
        if uniform < TAIL_SHARE {
            return self.tail.draw_one(stream);
        }
        let (bin, rest) = pick(&self.probabilities, (uniform - TAIL_SHARE) / (1.0 - TAIL_SHARE));
        self.lower + self.width * bin as f64 + (rest * self.width).floor().min(self.width - 1.0)
    }

    fn add_log_density(&self, values: &[f64], out: &mut [f64]) {
        let mut tail = vec![0.0; values.len()];
        self.tail.log_density_of(values, &mut tail);
        for ((o, x), tail) in out.iter_mut().zip(values).zip(tail) {
            let bin = (x - self.lower) / self.width;
            let inside = bin >= 0.0 && bin < self.probabilities.len() as f64 && x.fract() == 0.0;
            let density = if inside { self.probabilities[bin as usize] / self.width } else { 0.0 };
            *o += ln_add_exp((density * (1.0 - TAIL_SHARE)).ln(), tail + TAIL_SHARE.ln());
        }
    }
}

/// Lower end, whole width and number of bins that cover an interval of counts.
fn bins(lower: f64, upper: f64) -> (f64, f64, usize) {
    let lower = lower.max(0.0).floor();
    let upper = upper.max(lower + 4.0).ceil();
    let width = ((upper - lower) / MOST_BINS).ceil().max(1.0);
    (lower, width, ((upper - lower) / width).ceil() as usize)
}

/// A negative binomial about a mean, twice as wide as asked and wider than Poisson.
fn tail(mean: f64, variance: f64) -> Result<NegativeBinomial> {
    let mean = mean.max(0.5);
    let excess = (4.0 * variance - mean).max(mean);
    NegativeBinomial::new(mean, mean * mean / excess)
}

/// `exp(log_values · temperature)` normalized and mixed with the uniform.
fn softened(log_values: &[f64], temperature: f64, floor: f64) -> Vec<f64> {
    let top = log_values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let uniform = 1.0 / log_values.len() as f64;
    if !top.is_finite() {
        return vec![uniform; log_values.len()];
    }
    let raw: Vec<f64> = log_values.iter().map(|v| (temperature * (v - top)).exp()).collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|r| (1.0 - floor) * r / total + floor * uniform).collect()
}

/// The index that a uniform falls on, and where in its cell it falls, between 0 and 1.
fn pick(probabilities: &[f64], uniform: f64) -> (usize, f64) {
    let mut rest = uniform;
    for (i, p) in probabilities.iter().enumerate() {
        if rest < *p {
            return (i, rest / p);
        }
        rest -= p;
    }
    let last = probabilities.iter().rposition(|p| *p > 0.0).unwrap_or(0);
    (last, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use noisewright_numerics::random::stream;

    #[test]
    fn the_histogram_of_counts_sums_to_one_and_is_drawn_from() {
        let look = |x: &[f64]| Ok(x.iter().map(|x| -0.5 * ((x - 900.0) / 60.0f64).powi(2)).collect());
        let marginal = Marginal::Counts(CountHistogram::of_slice(900.0, 60.0, &look).unwrap());
        let counts: Vec<f64> = (0..40_000).map(f64::from).collect();
        let mut log = vec![0.0; counts.len()];
        marginal.add_log_density(&counts, &mut log);
        let total: f64 = log.iter().map(|l| l.exp()).sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
        let uniforms: Vec<f64> = (0..20_000).map(|i| (f64::from(i) + 0.5) / 20_000.0).collect();
        let mut draws = vec![0.0; uniforms.len()];
        marginal.draw(&uniforms, &mut stream(1, 0), &mut draws);
        // P(X ≤ 900) by the density against the draws: a binomial standard error of 0.0035.
        let exact: f64 = log[..=900].iter().map(|l| l.exp()).sum();
        let drawn = draws.iter().filter(|x| **x <= 900.0).count() as f64 / draws.len() as f64;
        assert!((exact - drawn).abs() < 0.012, "{exact} {drawn}");
    }
}
