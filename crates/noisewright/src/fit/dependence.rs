//! Correlated rows: the covariance of a mean of influences that come in clusters or along Markov chains.

use std::collections::HashMap;

use nalgebra::{DMatrix, DVector};

use super::data::Dependence;
use crate::tolerance::FREEDOM_PER_EFFECTIVE_ROW;

/// What each row adds to the estimate, `H⁻¹ w ψ` times its weight: row after row, so many numbers each.
pub(crate) struct Influences<'i> {
    pub(crate) values: &'i [f64],
    pub(crate) size: usize,
    /// The sum of the weights.
    pub(crate) total: f64,
}

impl Influences<'_> {
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.size)
    }

    /// `Σ (group sum − its weight · mean)(…)ᵀ / total²`, with the correction for so many groups; no number for one group.
    fn between(&self, groups: &[(DVector<f64>, f64)]) -> DMatrix<f64> {
        let off = self.deviations(groups);
        let count = groups.len() as f64;
        &off * off.transpose() * (count / (count - 1.0) / (self.total * self.total))
    }

    /// The same for few groups of any size, the deviation of each divided by the root of `√((1 − s)(1 − s − f v))`, s its share of the
    /// weight and v of the sum of squares of an unknown, f from one for ten groups to zero for [`MANY_CLUSTERS`]; no number for one group.
    fn between_few(&self, groups: &[(DVector<f64>, f64)], effective: f64) -> DMatrix<f64> {
        let mut off = self.deviations(groups);
        let weight: f64 = groups.iter().map(|g| g.1).sum();
        let faded = ((MANY_CLUSTERS - effective) / (MANY_CLUSTERS - 10.0)).min(1.0);
        // No group can count for more than all together.
        let least = 1.0 / groups.len() as f64;
        for mut unknown in off.row_iter_mut() {
            let squares = unknown.norm_squared();
            for (deviation, group) in unknown.iter_mut().zip(groups) {
                let left = 1.0 - group.1 / weight;
                let own = if squares > 0.0 { faded * *deviation * *deviation / squares } else { 0.0 };
                *deviation /= (left * (left - own).max(least)).powf(0.25);
            }
        }
        if groups.len() < 2 {
            off.fill(f64::NAN);
        }
        &off * off.transpose() / (self.total * self.total)
    }

    /// `group sum − its weight · mean`, a column for each group.
    fn deviations(&self, groups: &[(DVector<f64>, f64)]) -> DMatrix<f64> {
        let mut mean = DVector::zeros(self.size);
        groups.iter().for_each(|(sum, _)| mean += sum);
        let weight: f64 = groups.iter().map(|g| g.1).sum();
        mean /= weight;
        let mut out = DMatrix::zeros(self.size, groups.len());
        for (mut column, (sum, weight)) in out.column_iter_mut().zip(groups) {
            column.copy_from(&(sum - &mean * *weight));
        }
        out
    }
}

/// What rows that depend on one another are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Worth {
    /// As many as they are.
    Independent,
    /// So many independent rows, for the unknown for which that is least.
    Rows(f64),
    /// So many clusters of one size.
    Clusters(f64),
}

impl Worth {
    /// How many independent rows the rows of chains are worth.
    pub(crate) fn rows(self) -> Option<f64> {
        if let Self::Rows(rows) = self { Some(rows) } else { None }
    }

    /// How many clusters of one size the clusters are worth, where that is few: the errors of what is skewed are too small then.
    pub(crate) fn few_clusters(self) -> Option<f64> {
        match self {
            Self::Clusters(clusters) if is_few(clusters) => Some(clusters),
            _ => None,
        }
    }
}

/// The covariance of an estimate from rows that depend on one another.
pub(crate) struct Dependent {
    /// Not a number where there are too few clusters to tell.
    pub(crate) covariance: DMatrix<f64>,
    /// Degrees of freedom of every variance.
    pub(crate) freedom: Vec<f64>,
    pub(crate) worth: Worth,
}

/// Effective rows that the slowest unknown's autocorrelation time counts for in those of all others. Few effective rows
/// do not tell one time from another, and of several estimates the ones that look fast are those that are too short:
/// one chain of 1,000 rows of an autoregression at 0.9 to 0.99, answered from 20 effective rows on, covers mean and
/// variance in 95 and 95 % of the answers, each with its own time and a third of its effective rows in 91 and 84 %
/// (`bench/validation`, program `chains`).
const ROWS_OF_SLOWEST: f64 = 100.0;

/// The covariance of the mean of the influences.
pub(crate) fn covariance(
    influences: &Influences<'_>,
    weights: Option<&[f64]>,
    dependence: Dependence<'_>,
) -> Dependent {
    let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
    match dependence {
        Dependence::Clusters(ids) => clustered(influences, ids, weight),
        Dependence::Chains(lengths) => along_chains(influences, lengths, weight),
        Dependence::Independent => {
            let groups: Vec<_> = influences
                .rows()
                .enumerate()
                .map(|(i, r)| (DVector::from_column_slice(r), weight(i)))
                .collect();
            let freedom = vec![(influences.total - influences.size as f64).max(1.0); influences.size];
            Dependent { covariance: influences.between(&groups), freedom, worth: Worth::Independent }
        }
    }
}

/// From so many clusters of one size on the usual factor and degrees of freedom hold to a few parts in a hundred. Clusters of different
/// sizes are as few as equal ones with the same degrees of freedom: 40, four of which have most of the rows, are fewer than ten.
const MANY_CLUSTERS: f64 = 30.0;

/// With G clusters the factor `G/(G − 1) · (n − 1)/(n − p)` and G − 1 degrees of freedom (MATH §15). Few of them leave
/// three things to mend.
///
/// A cluster with the share s of the weight pulls the mean towards itself: its sum of deviations has, for rows that are alike, 1 − s of
/// the variance that it should have, and its square is divided by that (CR2, Bell and McCaffrey 2002). The degrees of
/// freedom are those of Bell and McCaffrey for such sums, `1 / (Σ s² + (Σ q)² − Σ q²)` with `q = s²/(1 − s)`: G − 1 for
/// clusters of one size, fewer for others. And the sums of few clusters are skewed: where one has the share v of an
/// unknown's sum of squares, that is the root of 1 − s − v more, the geometric mean of no correction for it and of the
/// one that rows have ([`leverage`](super::leverage)), chosen by simulation. Without it intervals of 95 % for the scale
/// of normal clusters (intraclass correlation 0.3, 5 and 10 clusters of 30 rows, 1,500 samples) cover 89 %, with it 93
/// and 92 %. The factor `(n − 1)/(n − p)` is that of the parameters.
pub(super) fn between_clusters(influences: &Influences<'_>, groups: &[(DVector<f64>, f64)]) -> Dependent {
    let (total, size) = (influences.total, influences.size as f64);
    let correction = if total > size + 1.0 { (total - 1.0) / (total - size) } else { 1.0 };
    let effective = clusters_freedom(groups) + 1.0;
    let (covariance, freedom) = if is_few(effective) {
        (influences.between_few(groups, effective), effective - 1.0)
    } else {
        (influences.between(groups), groups.len() as f64 - 1.0)
    };
    Dependent {
        covariance: covariance * correction,
        freedom: vec![freedom; influences.size],
        worth: Worth::Clusters(effective),
    }
}

/// Whether so many clusters are few; equal ones are as many as they are, but for rounding.
fn is_few(clusters: f64) -> bool {
    clusters * (1.0 + 1e-9) < MANY_CLUSTERS
}

/// The same from the influences of all rows.
fn clustered(influences: &Influences<'_>, ids: &[u64], weight: impl Fn(usize) -> f64) -> Dependent {
    let mut place: HashMap<u64, usize> = HashMap::new();
    let mut groups: Vec<(DVector<f64>, f64)> = Vec::new();
    for (i, (row, id)) in influences.rows().zip(ids).enumerate() {
        let next = groups.len();
        let at = *place.entry(*id).or_insert(next);
        if at == next {
            groups.push((DVector::zeros(influences.size), 0.0));
        }
        groups[at].0 += DVector::from_column_slice(row);
        groups[at].1 += weight(i);
    }
    between_clusters(influences, &groups)
}

/// Bell and McCaffrey's degrees of freedom of the variance of a mean of rows in clusters; none for one cluster.
fn clusters_freedom(groups: &[(DVector<f64>, f64)]) -> f64 {
    let total: f64 = groups.iter().map(|g| g.1).sum();
    let (mut shares, mut products, mut squares) = (0.0, 0.0, 0.0);
    for share in groups.iter().map(|g| g.1 / total).filter(|share| *share < 1.0) {
        let q = share * share / (1.0 - share);
        shares += share * share;
        products += q;
        squares += q * q;
    }
    if shares > 0.0 { 1.0 / (shares + products * products - squares) } else { 0.0 }
}

/// Along chains: correlations between the unknowns from means of batches, and each variance from its own initial convex
/// sequence (Geyer 1992), so that the matrix stays semi-definite and short batches do not bias it.
fn along_chains(influences: &Influences<'_>, lengths: &[usize], weight: impl Fn(usize) -> f64) -> Dependent {
    let batches = batch_means(influences, lengths, weight);
    let series = |j: usize| {
        let own: Vec<f64> = influences.rows().map(|row| row[j]).collect();
        Series::new(&own, lengths, batches[(j, j)] * influences.total * influences.total)
    };
    let mut series: Vec<Series> = (0..influences.size).map(series).collect();
    let effective = series.iter().map(|series| series.effective_rows).fold(f64::INFINITY, f64::min);
    series.iter_mut().for_each(|series| series.slow_down(effective));
    let deviation: Vec<f64> =
        series.iter().map(|series| series.long_run_variance.sqrt() / influences.total).collect();
    let entry = |i: usize, j: usize| {
        let scale = (batches[(i, i)] * batches[(j, j)]).sqrt();
        let correlation = if i == j { 1.0 } else { batches[(i, j)] / scale };
        // An unknown that does not vary at all is correlated with nothing.
        let varies = deviation[i] > 0.0 && deviation[j] > 0.0;
        if varies { correlation * deviation[i] * deviation[j] } else { 0.0 }
    };
    Dependent {
        covariance: DMatrix::from_fn(influences.size, influences.size, entry),
        freedom: series.iter().map(Series::freedom).collect(),
        worth: Worth::Rows(effective),
    }
}

/// The covariance of the mean from the means of batches.
fn batch_means(
    influences: &Influences<'_>,
    lengths: &[usize],
    weight: impl Fn(usize) -> f64,
) -> DMatrix<f64> {
    let mut groups: Vec<(DVector<f64>, f64)> = Vec::new();
    let mut start = 0;
    for length in lengths {
        // Batches of the square root of the chain, whose number then grows as fast as their length.
        let batch = ((*length as f64).sqrt() as usize).max(1);
        for (k, rows) in influences.values[start * influences.size..(start + length) * influences.size]
            .chunks(batch * influences.size)
            .enumerate()
        {
            let mut sum = DVector::zeros(influences.size);
            rows.chunks_exact(influences.size).for_each(|row| sum += DVector::from_column_slice(row));
            let first = start + k * batch;
            let total = (first..first + rows.len() / influences.size).map(&weight).sum();
            groups.push((sum, total));
        }
        start += length;
    }
    influences.between(&groups)
}

/// One unknown's influences along the chains.
struct Series {
    /// The variance of their sum.
    long_run_variance: f64,
    /// The number of independent rows whose sum would have that variance.
    effective_rows: f64,
    /// `E a⁴ / (E a²)²` of the centred influences a.
    kurtosis: f64,
}

impl Series {
    fn new(series: &[f64], lengths: &[usize], by_batches: f64) -> Self {
        let rows = series.len() as f64;
        let mean = series.iter().sum::<f64>() / rows;
        let moment = |power: i32| series.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / rows;
        let variance = moment(2);
        let long_run_variance = long_run_variance(series, lengths, by_batches);
        let known = variance > 0.0 && long_run_variance > 0.0;
        Self {
            long_run_variance,
            effective_rows: if known { (rows * rows * variance / long_run_variance).min(rows) } else { rows },
            kurtosis: if known { moment(4) / (variance * variance) } else { 1.0 },
        }
    }

    /// Takes part of the autocorrelation time of the slowest series, which has so many effective rows; deviations from a mean
    /// of m effective rows are too small by 1/m, and so are the sum's.
    fn slow_down(&mut self, slowest: f64) {
        let own = slowest / (slowest + ROWS_OF_SLOWEST);
        let slower = own + (1.0 - own) * self.effective_rows / slowest;
        self.effective_rows /= slower;
        self.long_run_variance *= slower / (1.0 - slowest.max(2.0).recip()).powi(2);
    }

    /// Degrees of freedom of the long-run variance: a share of the effective rows, and no more than so many independent
    /// rows of this kurtosis have (Satterthwaite).
    fn freedom(&self) -> f64 {
        let independent = 2.0 * self.effective_rows / (self.kurtosis - 1.0).max(1.0);
        (FREEDOM_PER_EFFECTIVE_ROW * self.effective_rows).min(independent).max(1.0)
    }
}

/// The variance of the sum of a series made of chains: `n (γ_0 + 2 Σ γ_t)`, the sums of pairs of autocovariances cut off where
/// they become negative and made convex; `by_batches` is the same from means of batches.
fn long_run_variance(series: &[f64], lengths: &[usize], by_batches: f64) -> f64 {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let autocovariance = |lag: usize| {
        let mut start = 0;
        let mut sum = 0.0;
        for length in lengths {
            let chain = &series[start..start + length];
            if *length > lag {
                let pairs = chain.iter().zip(&chain[lag..]);
                sum += pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
            }
            start += length;
        }
        sum / n
    };
    let mut pairs: Vec<f64> = Vec::new();
    for lag in (0..longest.max(1)).step_by(2) {
        let pair = autocovariance(lag) + autocovariance(lag + 1);
        if pair <= 0.0 {
            break;
        }
        pairs.push(pair);
    }
    let first = autocovariance(0);
    let sum: f64 = convex_minorant(&pairs).iter().sum();
    // Where rows alternate, what the autocovariances leave of one another is less than their error: means of batches tell it then.
    let least = first / n.log10().max(1.0);
    let found = 2.0 * sum - first;
    if pairs.is_empty() {
        n * first
    } else if found < least {
        by_batches.min(n * least).max(n * found)
    } else {
        n * found
    }
}

/// The greatest convex function below a sequence.
fn convex_minorant(values: &[f64]) -> Vec<f64> {
    let mut hull: Vec<usize> = Vec::new();
    let slope = |a: usize, b: usize| (values[b] - values[a]) / (b - a) as f64;
    for i in 0..values.len() {
        while let [.., a, b] = hull[..] {
            if slope(a, b) <= slope(b, i) {
                break;
            }
            hull.pop();
        }
        hull.push(i);
    }
    let mut out = values.to_vec();
    for pair in hull.windows(2) {
        for i in pair[0]..=pair[1] {
            out[i] = values[pair[0]] + slope(pair[0], pair[1]) * (i - pair[0]) as f64;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use noisewright_numerics::random::stream;
    use rand_distr::{Distribution, StandardNormal};

    /// Two coordinates of an autoregression `x' = φ x + e`, the second twice the first.
    fn autoregression(phi: f64, rows: usize) -> Vec<f64> {
        autoregression_from(0, phi, rows)
    }

    fn autoregression_from(number: u64, phi: f64, rows: usize) -> Vec<f64> {
        let mut rng = stream(3, number);
        let mut x = 0.0;
        (0..rows)
            .flat_map(|_| {
                let e: f64 = StandardNormal.sample(&mut rng);
                x = phi * x + e;
                [x, 2.0 * x]
            })
            .collect()
    }

    #[test]
    fn an_autoregression_has_its_long_run_variance() {
        // Var of the mean is 1/(1−φ)²/n; the estimate's own error is about √(2·(4τ)/n), four of which are allowed.
        let rows = 200_000;
        for phi in [0.0, 0.5, 0.9] {
            let values = autoregression(phi, rows);
            let influences = Influences { values: &values, size: 2, total: rows as f64 };
            let found = covariance(&influences, None, Dependence::Chains(&[rows / 2, rows / 2]));
            let effective = found.worth.rows().unwrap_or(0.0);
            let found = found.covariance;
            let exact = 1.0 / (1.0 - phi).powi(2) / rows as f64;
            let time = (1.0 + phi) / (1.0 - phi);
            let bound = 4.0 * (8.0 * time / rows as f64).sqrt();
            assert!((effective * time / rows as f64 - 1.0).abs() < bound, "{phi} {effective}");
            assert!((found[(0, 0)] / exact - 1.0).abs() < bound, "{phi} {}", found[(0, 0)] / exact);
            assert!((found[(0, 1)] / found[(0, 0)] - 2.0).abs() < 1e-9);
        }
    }

    #[test]
    fn alternating_chains_have_an_error() {
        // Autocovariances of 1,000 rows at φ = −0.9 leave 0.05 of one another, with an error of as much: what they say
        // is zero or less in every second chain. About 31 batches tell it, whose variances are those of a χ² with 30
        // degrees of freedom, between 0.3 and 2.2 of the truth in all but one of 10⁵; rows at the ends of the batches
        // add at most a factor of 3 (their deviation is 4.4 of that of the mean of a batch's 31 rows).
        let rows = 1000;
        for seed in 0..20 {
            let values = autoregression_from(seed, -0.9, rows);
            let influences = Influences { values: &values, size: 2, total: rows as f64 };
            let found = covariance(&influences, None, Dependence::Chains(&[rows]));
            let exact = 1.0 / 1.9f64.powi(2) / rows as f64;
            let ratio = found.covariance[(0, 0)] / exact;
            assert!((0.3..6.6).contains(&ratio), "{seed}: {ratio}");
            assert_eq!(found.worth, Worth::Rows(rows as f64));
        }
    }

    #[test]
    fn clusters_of_equal_rows_count_once() {
        // Every row four times: the variance of the mean is that of the rows once (times n/(n−1)).
        let once: Vec<f64> = (0..50).map(|i| f64::from(i).sin()).collect();
        let four: Vec<f64> = once.iter().flat_map(|x| [*x; 4]).collect();
        let ids: Vec<u64> = (0..200).map(|i| i / 4).collect();
        let single = Influences { values: &once, size: 1, total: 50.0 };
        let grouped = Influences { values: &four, size: 1, total: 200.0 };
        let expected = covariance(&single, None, Dependence::Independent).covariance[(0, 0)];
        let found = covariance(&grouped, None, Dependence::Clusters(&ids));
        assert_eq!(found.freedom, [49.0]);
        let found = found.covariance[(0, 0)];
        assert!((found / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_freedom_of_clusters_is_that_of_the_quadratic_form() {
        // Sums of deviations of rows that are alike have the covariance A Ω Aᵀ, with A = D (I − s 1ᵀ), D the roots of 1/(1 − s) and Ω the
        // sizes; the degrees of freedom of the sum of their squares are (tr B)²/tr B² (Satterthwaite).
        for sizes in [vec![3.0, 3.0, 3.0], vec![35.0, 5.0, 5.0, 15.0, 5.0], vec![1.0, 100.0]] {
            let groups: Vec<_> = sizes.iter().map(|size| (DVector::zeros(1), *size)).collect();
            let total: f64 = sizes.iter().sum();
            let share = DVector::from_iterator(sizes.len(), sizes.iter().map(|size| size / total));
            let project = DMatrix::identity(sizes.len(), sizes.len())
                - &share * DMatrix::from_element(1, sizes.len(), 1.0);
            let scale = DMatrix::from_diagonal(&share.map(|s| (1.0 - s).sqrt().recip()));
            let a = scale * project;
            let b = &a * DMatrix::from_diagonal(&DVector::from_vec(sizes.clone())) * a.transpose();
            let expected = b.trace().powi(2) / (&b * &b).trace();
            assert!((clusters_freedom(&groups) / expected - 1.0).abs() < 1e-12, "{sizes:?}");
        }
    }

    /// An influence of a row on an estimate, given mean and variance, and how far the estimate is from the truth.
    type Unknown = (fn(f64, f64, f64) -> f64, fn(f64, f64) -> f64);

    /// −1/(2σ²), whose influence is skewed.
    const SCALE: Unknown = (
        |x, mean, variance| ((x - mean).powi(2) - variance) / (2.0 * variance * variance),
        |_, variance| -0.5 / variance + 0.5,
    );
    const MEAN: Unknown = (|x, mean, _| x - mean, |mean, _| mean);

    /// The share of samples of normal clusters, the rows of each with the intraclass correlation 0.3, whose interval
    /// holds the truth.
    fn coverage((influence, error): Unknown, clusters: usize, rows: &[usize], samples: usize) -> f64 {
        let mut rng = stream(11, clusters as u64);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let ids: Vec<u64> = (0..clusters).flat_map(|g| vec![g as u64; rows[g % rows.len()]]).collect();
        let total = ids.len() as f64;
        let mut covered = 0;
        for _ in 0..samples {
            let effects: Vec<f64> = (0..clusters).map(|_| 0.3f64.sqrt() * normal()).collect();
            let x: Vec<f64> = ids.iter().map(|g| effects[*g as usize] + 0.7f64.sqrt() * normal()).collect();
            let (mean, variance) = noisewright_numerics::summation::mean_and_variance(&x);
            let values: Vec<f64> = x.iter().map(|x| influence(*x, mean, variance)).collect();
            let influences = Influences { values: &values, size: 1, total };
            let found = covariance(&influences, None, Dependence::Clusters(&ids));
            let reach =
                crate::normalizer::two_sided(0.95, found.freedom[0]) * found.covariance[(0, 0)].sqrt();
            covered += usize::from(error(mean, variance).abs() < reach);
        }
        covered as f64 / samples as f64
    }

    #[test]
    fn few_clusters_cover() {
        // Between 92 and 98 %, with two standard errors of 2,000 samples: ± 1.2 and 0.6 %. Without the correction for skewed sums 5 and 10
        // clusters cover 89 %.
        for clusters in [3, 5, 10, 30] {
            let share = coverage(SCALE, clusters, &[30], 2000);
            assert!((0.908..0.986).contains(&share), "{clusters}: {share}");
        }
        // Clusters of different sizes.
        for clusters in [5, 10] {
            let share = coverage(SCALE, clusters, &[35, 5, 5], 2000);
            assert!((0.908..0.986).contains(&share), "{clusters}: {share}");
        }
    }

    #[test]
    fn many_clusters_of_different_sizes_are_few() {
        // 30 clusters of which six have two thirds of the rows, and 40 of which four have two thirds: judged by their number their
        // intervals of the mean cover 92 and 90 %. The bounds are those of few clusters above: 92 and 98 %, with two standard errors of
        // 2,000 samples, which 90 % does not reach.
        for (clusters, rows) in [(30, [8, 8, 8, 8, 64].as_slice()), (40, &[5, 5, 5, 5, 5, 5, 5, 5, 5, 90])] {
            let ids: Vec<_> =
                (0..clusters).map(|g| (DVector::zeros(1), rows[g % rows.len()] as f64)).collect();
            assert!(clusters_freedom(&ids) + 1.0 < MANY_CLUSTERS);
            let share = coverage(MEAN, clusters, rows, 2000);
            assert!((0.908..0.986).contains(&share), "{clusters}: {share}");
        }
    }

    /// Ten of one size are ten, thirty are not few, and of thirty a few large ones count for most.
    #[test]
    fn few_clusters_are_counted_by_their_sizes() {
        let worth = |sizes: &[usize]| {
            let ids: Vec<u64> =
                sizes.iter().enumerate().flat_map(|(g, size)| vec![g as u64; *size]).collect();
            let values: Vec<f64> = (0..ids.len()).map(|i| (i as f64).sin()).collect();
            let influences = Influences { values: &values, size: 1, total: ids.len() as f64 };
            covariance(&influences, None, Dependence::Clusters(&ids)).worth.few_clusters()
        };
        assert!((worth(&[20; 10]).unwrap() - 10.0).abs() < 1e-9);
        assert_eq!(worth(&[20; 30]), None);
        let unequal: Vec<usize> = (0..30).map(|g| if g % 3 == 0 { 64 } else { 8 }).collect();
        // Shares of 0.08 and 0.01: Σs² = 0.066, Σq = 0.0716.
        let few = worth(&unequal).unwrap();
        assert!((14.0..16.0).contains(&few), "{few}");
    }

    #[test]
    fn the_minorant_is_convex_and_below() {
        let values = [5.0, 3.0, 3.5, 1.0, 1.2, 0.1];
        let hull = convex_minorant(&values);
        assert!(hull.iter().zip(values).all(|(h, v)| *h <= v + 1e-15));
        assert!(hull.windows(3).all(|w| w[0] - 2.0 * w[1] + w[2] >= -1e-12));
    }
}
