//! The long-run variance of a sum over Markov chains, from batches of consecutive draws (Geyer 1992).

use noisewright_numerics::summation::mean_and_variance;

/// Fewest lags after which the batches are paired and the search starts anew.
const LAGS: usize = 256;

/// Autocorrelation times that the autocovariances of a chain stretch over: after 1.5 of them on either side, those of
/// an autoregression are e^−3 of the first.
pub(super) const STRETCH: f64 = 3.0;
/// Standard deviations of the first autocorrelation of independent draws, 1/√n, beyond which draws depend on each other.
const VISIBLE: f64 = 2.0;

/// What dependence does to the variance of a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongRun {
    /// Variance of the sum of all terms.
    pub(super) variance_of_sum: f64,
    /// Integrated autocorrelation time: how many draws are worth an independent one.
    pub(super) time: f64,
    /// Degrees of freedom of the estimated variance.
    pub(super) freedom: f64,
    /// The variance of the sum if the terms were independent.
    plain: f64,
    count: f64,
    neighbours: Option<Neighbours>,
}

/// How much neighbouring batches have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    /// Half of the mean square of their differences, over the variance of a batch: 1 − ρ₁.
    novelty: f64,
    batches: f64,
    /// The variance of the sum over that of independent terms, if the batches were independent.
    batch_time: f64,
}

impl Neighbours {
    fn new(sums: &[f64], chains: &[usize], plain: f64) -> Option<Self> {
        let batches = sums.len() as f64;
        let squares = lagged(sums, chains, 0);
        let pairs = batches - chains.iter().filter(|length| **length > 0).count() as f64;
        if pairs < 1.0 || squares <= 0.0 || plain <= 0.0 || plain.is_nan() {
            return None;
        }
        let mut start = 0;
        let mut differences = 0.0;
        for &length in chains {
            differences += sums[start..start + length].windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<f64>();
            start += length;
        }
        Some(Self::from_squares(differences / pairs, squares / batches, batches, squares / plain))
    }

    /// From the mean squares of the differences of neighbours and of the batches themselves.
    pub(super) fn from_squares(differences: f64, squares: f64, batches: f64, batch_time: f64) -> Self {
        Self { novelty: 0.5 * differences / squares, batches, batch_time }
    }

    /// The first autocorrelation where a draw varies `inflation` times as much as this chain shows, less the bias that
    /// comes with the sample's own mean (Marriott and Pope 1954).
    fn correlation(&self, inflation: f64) -> f64 {
        let raw = 1.0 - self.novelty / inflation;
        (raw + (1.0 + 3.0 * raw) / self.batches).clamp(-1.0, 1.0 - 1.0 / self.batches)
    }

    /// Whether they depend on each other by more than chance.
    pub(super) fn is_visible(&self) -> bool {
        1.0 - self.novelty > VISIBLE / self.batches.sqrt()
    }

    /// The autocorrelation time of an autoregression with that correlation. The autocorrelations of a reversible
    /// chain are a mixture of powers λᵗ, and (1 + λ)/(1 − λ) is convex: so its own time is no shorter.
    pub(super) fn least_time(&self, inflation: f64) -> f64 {
        let correlation = self.correlation(inflation);
        self.batch_time * (1.0 + correlation) / (1.0 - correlation)
    }
}

impl LongRun {
    /// From the sum of squares about the mean, for independent terms.
    pub(super) fn independent(about_mean: f64, count: f64) -> Self {
        let plain = if count > 1.0 { about_mean * count / (count - 1.0) } else { f64::NAN };
        Self { variance_of_sum: plain, time: 1.0, freedom: count - 1.0, plain, count, neighbours: None }
    }

    /// From the sums over independent replicates of equal length: quiet draws are worth more than independent ones, and
    /// their time is below one.
    pub(super) fn of_replicates(sums: &[f64], independent: Self) -> Self {
        let (_, variance) = mean_and_variance(sums);
        let variance_of_sum = variance * sums.len() as f64;
        let time = if independent.plain > 0.0 { variance_of_sum / independent.plain } else { 1.0 };
        Self { variance_of_sum, time, freedom: sums.len() as f64 - 1.0, ..independent }
    }

    /// The same for draws too few for any lags to be summed, whose neighbours may still be seen to depend on each other.
    pub(super) fn of_neighbours(self, sums: &[f64], chains: &[usize]) -> Self {
        match Neighbours::new(sums, chains, self.plain).filter(Neighbours::is_visible) {
            Some(seen) => {
                Self { neighbours: Some(seen), ..self }.with_time(seen.least_time(1.0).max(1.0), 1.0)
            }
            None => self,
        }
    }

    /// Number of independent draws that would say as much.
    pub(super) fn effective(&self) -> f64 {
        self.count / self.time
    }

    /// Whether neighbouring draws depend on each other by more than chance.
    pub(super) fn is_dependent(&self) -> bool {
        self.neighbours.is_some_and(|n| n.is_visible())
    }

    /// Whether the draws are a chain that is too short for any error of its mean to be known: worth fewer than so many.
    pub(super) fn is_too_short(&self, fewest: f64) -> bool {
        self.is_dependent() && self.effective() < fewest
    }

    /// The same where something other than the chain knows that its terms vary more than it shows: `inflation` is the
    /// ratio of the two variances. A chain that has not come to where the terms are large is slower than it looks, too.
    pub(super) fn inflated(self, inflation: f64) -> Self {
        let Some(neighbours) = self.neighbours.filter(|_| inflation > 1.0 && self.is_dependent()) else {
            return self;
        };
        self.with_time(self.time.max(neighbours.least_time(inflation)), inflation)
    }

    fn with_time(self, time: f64, inflation: f64) -> Self {
        let freedom = self.freedom.min(self.count / (STRETCH * time)).max(1.0);
        Self { variance_of_sum: inflation * self.plain * time, time, freedom, ..self }
    }
}

/// The long-run variance from the batches' centred sums, chain after chain.
///
/// Geyer's initial sequence: of a reversible chain the sums of adjacent autocovariances are positive and decrease, and
/// so are those of its batches. They are added up to the first that is not positive, each no larger than the one before.
/// Products of centred sums miss the variance of the mean itself, the more of it the more lags are added: the
/// share of all pairs of draws that the lags cover. The time is at least that of an autoregression with the same first
/// autocorrelation, which a short chain shows long before it shows the sum of all.
pub(super) fn long_run(sums: &[f64], sizes: &[f64], chains: &[usize], independent: LongRun) -> LongRun {
    let count: f64 = sizes.iter().sum();
    let neighbours = Neighbours::new(sums, chains, independent.plain);
    let (mut sums, mut sizes, mut chains) = (sums.to_vec(), sizes.to_vec(), chains.to_vec());
    loop {
        let window = initial_sequence(&sums, &sizes, &chains);
        if !window.full || sums.len() <= 4 * LAGS {
            let run = window.long_run(count, independent);
            let Some(neighbours) = neighbours else { return run };
            let run = LongRun { neighbours: Some(neighbours), ..run };
            let time = if run.is_dependent() { run.time.max(neighbours.least_time(1.0)) } else { run.time };
            return run.with_time(time, 1.0);
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
        LongRun {
            variance_of_sum,
            time: variance_of_sum / independent.variance_of_sum,
            freedom,
            ..independent
        }
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
