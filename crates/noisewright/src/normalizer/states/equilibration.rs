//! Where every chain has come to equilibrium: the start that leaves the most effective draws (Chodera 2016).
//!
//! The series judged is the logarithm of the weight of a draw's own state among all: what the estimate depends on, and the same
//! whatever constant the log-densities were given up to, draw by draw.

use noisewright_numerics::parallel::map;
use serde::{Serialize, Serializer};

use super::super::autocorrelation::{LongRun, long_run};
use super::reweighting::Reweighting;
use crate::Result;
use crate::serial::in_words;

/// Starts tried along a chain: the best is known to a fiftieth of its length.
const STARTS: usize = 50;
/// Draws that must be left for an autocorrelation time to be seen at all.
const FEWEST: usize = 20;

/// How one chain came to equilibrium.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Equilibration {
    /// Its state.
    pub state: usize,
    /// Its label; 0 without labels.
    pub chain: usize,
    /// Its draws.
    pub draws: usize,
    /// The first draw to be kept.
    pub start: usize,
    /// Draws from there on that are worth one independent draw.
    pub inefficiency: f64,
    /// Independent draws that the draws from there on are worth.
    pub ess: f64,
}

/// The start of a chain that leaves the most effective draws.
fn best_start(series: &[f64]) -> (usize, f64) {
    let last = series.len().saturating_sub(FEWEST);
    let starts = (0..STARTS).map(|i| i * last / STARTS);
    let judged = starts.map(|start| (start, time(&series[start..])));
    let worth = |(start, time): &(usize, f64)| (series.len() - start) as f64 / time;
    // The earliest of those that are worth as much.
    judged.reduce(|best, next| if worth(&next) > worth(&best) { next } else { best }).unwrap_or((0, 1.0))
}

/// The integrated autocorrelation time, at least that of independent draws.
fn time(series: &[f64]) -> f64 {
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    let centred: Vec<f64> = series.iter().map(|x| x - mean).collect();
    let squares: f64 = centred.iter().map(|x| x * x).sum();
    if squares <= 0.0 || series.len() < 2 {
        return 1.0;
    }
    let sizes = vec![1.0; series.len()];
    long_run(&centred, &sizes, &[series.len()], LongRun::independent(squares, count)).time.max(1.0)
}

/// The chains of all states, in the caller's order of the states.
pub(super) fn of_chains(reweighting: &Reweighting<'_>) -> Result<Vec<Equilibration>> {
    let log_mixture = reweighting.log_mixture()?;
    let (origin, _) = reweighting.pooled.origins()?;
    let mut chains = reweighting.pooled.chains(&origin)?;
    chains.sort_by_key(|chain| (chain.state, chain.label));
    let of = |chain: &super::chains::Chain| {
        let column = reweighting.pooled.log_f[chain.state];
        let rows = chain.pieces.iter().cloned().flatten();
        let series: Vec<f64> = rows.map(|row| column[row] - log_mixture[row]).collect();
        let (start, inefficiency) = best_start(&series);
        Equilibration {
            state: chain.state,
            chain: chain.label,
            draws: series.len(),
            start,
            inefficiency,
            ess: (series.len() - start) as f64 / inefficiency,
        }
    };
    Ok(map(&chains, of))
}

/// Chains with the names of their states, to be serialized.
#[derive(Clone, Copy, Debug)]
pub struct NamedEquilibrations<'a> {
    /// The chains.
    pub chains: &'a [Equilibration],
    /// The names of all states.
    pub names: &'a [String],
}

#[derive(Serialize)]
struct Fields<'a> {
    #[serde(serialize_with = "in_words")]
    state: &'a String,
    chain: usize,
    draws: usize,
    start: usize,
    inefficiency: f64,
    ess: f64,
}

impl Serialize for NamedEquilibrations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.chains.iter().map(|chain| Fields {
            state: &self.names[chain.state],
            chain: chain.chain,
            draws: chain.draws,
            start: chain.start,
            inefficiency: chain.inefficiency,
            ess: chain.ess,
        }))
    }
}

#[cfg(test)]
mod tests {
    use noisewright_numerics::random::stream;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;

    /// Unit white noise after a transient 20 e^(−t/100): it falls below the noise at t = 300, and below a tenth of it at 530. From
    /// a start in between on, what is left of it costs less than the draws that a later start would.
    #[test]
    fn a_transient_is_left_out() {
        let mut rng = stream(5, 0);
        let x: Vec<f64> = (0..4000)
            .map(|t| 20.0 * (-f64::from(t) / 100.0).exp() + rng.sample::<f64, _>(StandardNormal))
            .collect();
        let (start, time) = best_start(&x);
        assert!((230..800).contains(&start), "{start}");
        assert!(time < 1.5, "{time}");
        let (start, _) = best_start(&x[1000..]);
        assert!(start < 1000, "{start}");
    }

    #[test]
    fn a_constant_series_is_in_equilibrium() {
        assert_eq!(best_start(&[3.0; 100]), (0, 1.0));
    }
}
