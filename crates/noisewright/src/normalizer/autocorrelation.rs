//! The long-run variance of a sum over Markov chains, from batches of consecutive draws (Geyer 1992).

/// Fewest lags after which the batches are paired and the search starts anew.
const LAGS: usize = 256;

/// What dependence does to the variance of a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongRun {
    /// Variance of the sum of all terms.
    pub(super) variance_of_sum: f64,
    /// Integrated autocorrelation time: how many draws are worth an independent one.
    pub(super) time: f64,
    /// Degrees of freedom of the estimated variance.
    pub(super) freedom: f64,
}

impl LongRun {
    /// From the sum of squares about the mean, for independent terms.
    pub(super) fn independent(about_mean: f64, count: f64) -> Self {
        let variance_of_sum = if count > 1.0 { about_mean * count / (count - 1.0) } else { f64::NAN };
        Self { variance_of_sum, time: 1.0, freedom: count - 1.0 }
    }
}

/// The long-run variance from the batches' centred sums, chain after chain.
///
/// Geyer's initial sequence: of a reversible chain the sums of adjacent autocovariances are positive and decrease, and
/// so are those of its batches. They are added up to the first that is not positive, each no larger than the one before.
/// Products of centred sums miss the variance of the mean itself, the more of it the more lags are added: the
/// share of all pairs of draws that the lags cover.
pub(super) fn long_run(sums: &[f64], sizes: &[f64], chains: &[usize], independent: LongRun) -> LongRun {
    let count: f64 = sizes.iter().sum();
    let (mut sums, mut sizes, mut chains) = (sums.to_vec(), sizes.to_vec(), chains.to_vec());
    loop {
        let window = initial_sequence(&sums, &sizes, &chains);
        if !window.full || sums.len() <= 4 * LAGS {
            return window.long_run(count, independent);
        }
        (sums, sizes, chains) = paired(&sums, &sizes, &chains);
    }
}

/// The autocovariances that were added up.
struct Window {
    total: f64,
    /// Share of the pairs of draws that they cover.
    covered: f64,
    lags: usize,
    batches: usize,
    /// Whether there would have been more.
    full: bool,
}

impl Window {
    fn long_run(self, count: f64, independent: LongRun) -> LongRun {
        if independent.variance_of_sum.is_nan() || independent.variance_of_sum <= 0.0 {
            return independent;
        }
        let left = (1.0 - self.covered).max(1.0 / count);
        let variance_of_sum = (self.total / left).max(independent.variance_of_sum / count);
        let freedom = (self.batches as f64 / (2 * self.lags + 1) as f64).min(independent.freedom).max(1.0);
        LongRun { variance_of_sum, time: variance_of_sum / independent.variance_of_sum, freedom }
    }
}

fn initial_sequence(sums: &[f64], sizes: &[f64], chains: &[usize]) -> Window {
    let count: f64 = sizes.iter().sum();
    let longest = chains.iter().copied().max().unwrap_or(0);
    let last = longest.saturating_sub(1).min(LAGS);
    let zero = lagged(sums, chains, 0);
    let mut covered = lagged(sizes, chains, 0) / (count * count);
    let (mut total, mut previous, mut lags) = (-zero, f64::INFINITY, 0);
    let mut lag = 0;
    while lag <= last {
        let first = if lag == 0 { zero } else { lagged(sums, chains, lag) };
        let second = if lag < last { lagged(sums, chains, lag + 1) } else { 0.0 };
        let pair = (first + second).min(previous);
        if pair.is_nan() || pair <= 0.0 {
            break;
        }
        total += 2.0 * pair;
        previous = pair;
        let reach = |lag| if lag == 0 { 0.0 } else { 2.0 * lagged(sizes, chains, lag) / (count * count) };
        covered += reach(lag) + if lag < last { reach(lag + 1) } else { 0.0 };
        lags = lag + 1;
        lag += 2;
    }
    Window { total: total.max(0.0), covered, lags, batches: sums.len(), full: lag > last && last == LAGS }
}

/// `Σ x_t x_{t+lag}` within chains.
fn lagged(x: &[f64], chains: &[usize], lag: usize) -> f64 {
    let mut start = 0;
    let mut sum = 0.0;
    for &length in chains {
        let chain = &x[start..start + length];
        if lag < length {
            sum += noisewright_numerics::summation::dot(&chain[..length - lag], &chain[lag..]);
        }
        start += length;
    }
    sum
}

/// Neighbouring batches of each chain joined two by two.
fn paired(sums: &[f64], sizes: &[f64], chains: &[usize]) -> (Vec<f64>, Vec<f64>, Vec<usize>) {
    let join = |x: &[f64]| {
        let mut start = 0;
        let mut out = Vec::with_capacity(x.len().div_ceil(2) + chains.len());
        for &length in chains {
            out.extend(x[start..start + length].chunks(2).map(|pair| pair.iter().sum::<f64>()));
            start += length;
        }
        out
    };
    (join(sums), join(sizes), chains.iter().map(|length| length.div_ceil(2)).collect())
}

#[cfg(test)]
mod tests {
    use noisewright_numerics::random::stream;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;

    /// An AR(1) chain of unit variance about its own mean.
    fn chain(count: usize, rho: f64, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, 0);
        let mut z: f64 = rng.sample(StandardNormal);
        let x: Vec<f64> = (0..count)
            .map(|_| {
                z = rho * z + (1.0 - rho * rho).sqrt() * rng.sample::<f64, _>(StandardNormal);
                z
            })
            .collect();
        let mean = x.iter().sum::<f64>() / count as f64;
        x.iter().map(|x| x - mean).collect()
    }

    fn time(x: &[f64], chains: &[usize]) -> f64 {
        let squares = x.iter().map(|x| x * x).sum();
        long_run(x, &vec![1.0; x.len()], chains, LongRun::independent(squares, x.len() as f64)).time
    }

    /// The median over seeds: where the sequence happens to stay positive for long, a single time can be far too large.
    fn typical_time(count: usize, rho: f64, chains: &[usize]) -> f64 {
        let mut times: Vec<f64> = (11..20).map(|seed| time(&chain(count, rho, seed), chains)).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    /// (1 + ρ)/(1 − ρ), found to four times its relative standard deviation √(2·(2K+1)/n) with K about 3τ lags.
    #[test]
    fn the_time_of_a_known_chain() {
        let count = 100_000;
        for rho in [0.0_f64, 0.5, 0.9, 0.99] {
            let exact = (1.0 + rho) / (1.0 - rho);
            let slack = 4.0 * (2.0 * (6.0 * exact + 3.0) / count as f64).sqrt() + 0.02;
            let found = typical_time(count, rho, &[count]);
            assert!((found / exact - 1.0).abs() < slack, "{rho}: {found} {exact}");
            let in_chains = typical_time(count, rho, &[1000, count / 2, count / 2 - 1001, 1]);
            assert!((in_chains / exact - 1.0).abs() < slack, "{rho}: {in_chains} {exact}");
        }
    }

    /// Chains that sit at different levels never mix: the error is that of as many draws as there are chains.
    #[test]
    fn stuck_chains_are_seen() {
        let levels = [1.0, -1.0, 1.0, -1.0];
        let x: Vec<f64> =
            levels.iter().flat_map(|l| (0..500).map(move |i| l + 1e-3 * f64::from(i % 2))).collect();
        let mean = x.iter().sum::<f64>() / 2000.0;
        let centred: Vec<f64> = x.iter().map(|x| x - mean).collect();
        assert!(time(&centred, &[500; 4]) > 250.0);
    }
}
