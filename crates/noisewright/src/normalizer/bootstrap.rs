//! The circular block bootstrap: a second opinion on the standard errors (Politis and Romano 1992).

use noisewright_numerics::parallel::{current_num_threads, try_map};
use noisewright_numerics::random::Stream;
use noisewright_numerics::summation::mean_and_variance;
use rand::RngExt;

use super::bridge::in_memory_root;
use super::nce::Bridge;
use super::power::log_mean_power;
use super::sample::Sample;
use super::{Method, NormalizerEstimate};
use crate::run::{Context, Purpose, Stage};
use crate::{Result, check_count};

/// Numbers that a vector takes beside its elements.
const VECTOR: usize = 3;

/// Gives every estimate that is not refused its standard error over resamples of blocks within chains.
pub(super) fn bootstrap(
    estimates: &mut [NormalizerEstimate],
    samples: [&Sample<'_>; 2],
    bridge: &Bridge,
    resamples: usize,
    context: &Context,
) -> Result<()> {
    check_count("resamples", resamples, estimates.len() + VECTOR)?;
    let threads = current_num_threads();
    check_count("draws to resample", threads * (samples[0].len() + samples[1].len()), 2)?;
    let sources = [0, 1].map(|k| Source::new(samples[k], bridge.moments[k].time));
    let methods: Vec<Method> = estimates.iter().map(|e| e.method).collect();
    let replicates: Vec<Vec<f64>> = try_map(0..resamples as u64, |index| -> Result<_> {
        context.report(Stage::Bootstrap, index as usize, Some(resamples))?;
        let mut drawn = [0, 1].map(|k| vec![0.0; samples[k].len()]);
        let mut rng = context.stream(Purpose::Bootstrap, index);
        for (source, drawn) in sources.iter().zip(&mut drawn) {
            source.draw(&mut rng, drawn);
        }
        Ok(methods.iter().map(|&method| replicate(method, &drawn, bridge)).collect())
    })?;
    for (place, estimate) in estimates.iter_mut().enumerate().filter(|(_, e)| e.refused.is_none()) {
        let values: Vec<f64> = replicates.iter().map(|r| r[place]).collect();
        let spread = mean_and_variance(&values).1.sqrt();
        // A resample without overlap has no estimate: the error is beyond all numbers.
        estimate.bootstrap_se = match estimate.method {
            Method::Alpha => None,
            _ if spread.is_nan() => Some(f64::INFINITY),
            _ => Some(spread),
        };
    }
    Ok(())
}

fn replicate(method: Method, [data, noise]: &[Vec<f64>; 2], bridge: &Bridge) -> f64 {
    let powers = |a: f64| log_mean_power(noise, 1.0 - a) - log_mean_power(data, a);
    match method {
        Method::Is => powers(0.0),
        Method::Revis => powers(1.0),
        Method::IsRevis => powers(0.5),
        Method::Power(a) => powers(a),
        Method::Nce => in_memory_root(data, noise, bridge.root.at, bridge.log_nu).at,
        Method::Alpha => f64::NAN,
    }
}

/// One side's log-ratios, to be drawn from in blocks.
struct Source {
    ratios: Vec<f64>,
    /// Where each draw's chain begins and ends, chain after chain.
    chains: Vec<(usize, usize)>,
    block: usize,
}

impl Source {
    fn new(sample: &Sample<'_>, time: f64) -> Self {
        let ratios = sample.thinned(usize::MAX);
        // The length that balances bias and variance grows like n^⅓; independent draws need no blocks.
        // Replicates of quiet draws are resampled as wholes.
        let block = match time {
            _ if sample.replicated => ratios.len() / sample.chains.len().max(1),
            time if time > 1.0 => (time.powi(2) * ratios.len() as f64).cbrt().ceil() as usize,
            _ => 1,
        };
        Self { chains: sample.chain_ranges(), block: block.clamp(1, ratios.len()), ratios }
    }

    /// Blocks that start anywhere and go on round their own chain.
    fn draw(&self, rng: &mut Stream, out: &mut [f64]) {
        for block in out.chunks_mut(self.block) {
            let start = rng.random_range(0..self.ratios.len());
            let chain = self.chains.partition_point(|(_, end)| *end <= start);
            let (first, end) = self.chains[chain];
            let mut at = start;
            for value in block {
                *value = self.ratios[at];
                at = if at + 1 == end { first } else { at + 1 };
            }
        }
    }
}
