//! The mean of a positive function over one side's draws, and how uncertain it is.

use super::autocorrelation::{LongRun, long_run};
use super::sample::Sample;
use super::{Dependence, Refusal, Side};

/// Draws below which an autocorrelation cannot be told from noise.
const SHORTEST: f64 = 20.0;

/// A mean with the relative variance of its estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Number of draws.
    pub(super) count: f64,
    /// The logarithm of the mean.
    pub(super) log_mean: f64,
    /// Variance of the mean's estimate over its square: by the delta method, the variance of its logarithm.
    pub(super) relative_variance: f64,
    /// Variance of a draw over the square of the mean.
    pub(super) spread: f64,
    /// Integrated autocorrelation time of the terms, 1 for independent draws.
    pub(super) time: f64,
    /// Degrees of freedom of the variance.
    pub(super) freedom: f64,
    /// What the chains' dependence does to the variance; `None` for a number that needs no sample.
    pub(super) run: Option<LongRun>,
    /// Effective draws below which a chain says nothing of its error.
    fewest_effective: f64,
}

/// Sums over the batches of every chain.
fn chain_sums(batches: impl Iterator<Item = f64>, chains: &[usize]) -> Vec<f64> {
    let mut batches = batches;
    chains.iter().map(|count| batches.by_ref().take(*count).sum()).collect()
}

impl Moment {
    /// A number that needs no sample.
    pub(super) const EXACT: Self = Self {
        count: f64::INFINITY,
        log_mean: 0.0,
        relative_variance: 0.0,
        spread: 0.0,
        time: 1.0,
        freedom: f64::INFINITY,
        run: None,
        fewest_effective: 0.0,
    };

    /// From the sums of terms and of their squares, both about `center`, and the batches' sums of the former; the terms
    /// are `e^−log_scale` times what is averaged.
    pub(super) fn new(
        sample: &Sample<'_>,
        [sum, squares]: [f64; 2],
        center: f64,
        log_scale: f64,
        batches: impl Iterator<Item = f64>,
        dependence: Dependence,
    ) -> Self {
        let count = sample.len() as f64;
        let mean = center + sum / count;
        let about_mean = (squares - sum * sum / count).max(0.0);
        let log_mean = if center == 1.0 { (sum / count).ln_1p() } else { mean.ln() };
        let spread = about_mean / count / (mean * mean);
        let independent = LongRun::independent(about_mean, count);
        let run = match dependence {
            _ if sample.replicated => {
                let sums = chain_sums(batches, &sample.chains);
                LongRun::of_replicates(&sums, independent)
            }
            Dependence::Chains => {
                let sizes = sample.batch_sizes();
                let centred: Vec<f64> = batches.zip(&sizes).map(|(s, n)| s - n * (sum / count)).collect();
                if count < SHORTEST {
                    independent.of_neighbours(&centred, &sample.chains)
                } else {
                    long_run(&centred, &sizes, &sample.chains, independent)
                }
            }
            Dependence::Independent => independent,
        };
        Self {
            count,
            log_mean: log_scale + log_mean,
            relative_variance: run.variance_of_sum / (count * count) / (mean * mean),
            spread,
            time: run.time,
            freedom: run.freedom,
            run: Some(run),
            fewest_effective: sample.fewest_effective,
        }
    }

    /// The same where a draw is known to vary `inflation` times as much as the chain shows.
    pub(super) fn inflate(&mut self, inflation: f64) {
        let Some(run) = self.run else { return };
        let inflated = run.inflated(inflation);
        let factor = inflated.variance_of_sum / run.variance_of_sum;
        if factor.is_finite() && factor > 1.0 {
            self.relative_variance *= factor;
            (self.time, self.freedom, self.run) = (inflated.time, inflated.freedom, Some(inflated));
        }
    }

    /// The same with another variance of a draw over the square of the mean: where `known`, that one; else the larger of the two.
    /// A chain's is only ever raised, with what that says of its autocorrelation.
    pub(super) fn with_spread(mut self, spread: f64, known: bool) -> Self {
        let ratio = spread / self.spread;
        if self.run.is_some_and(|run| run.is_dependent()) {
            self.inflate(ratio);
        } else if self.relative_variance.is_finite() && (known || ratio > 1.0) {
            self.relative_variance = spread * self.time / self.count;
        }
        self
    }

    /// Why the draws are too short a chain for the variance to be known, if they are.
    pub(super) fn too_short(&self, side: Side) -> Option<Refusal> {
        let fewest = self.fewest_effective;
        let run = self.run.filter(|run| run.is_too_short(fewest))?;
        Some(Refusal::ShortChain { side, effective: run.effective(), fewest })
    }

    /// How many equal weights would spread as little (Kish).
    pub(super) fn effective_size(&self) -> f64 {
        self.count / (1.0 + self.spread)
    }
}
