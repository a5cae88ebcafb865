//! The information-matrix test: whether the curvature of the loss is the variance of its slope (White 1982).
//!
//! The fit is a logistic regression: rows of class y (1 for data, 0 for noise) with the fitted probability
//! `s = r/(1+r)`. If the model is right, `E[(y − s) h(x)] = 0` for every function h; White's equality of the two
//! forms of the information matrix is the choice `h = (1 − 2s) ψ_j ψ_l`, because `(y − s)² − s(1 − s)` is
//! `(y − s)(1 − 2s)`. The diagonal, `j = l`, is what is tested, pooled into a few groups when there are many
//! parameters: with as many indicators as k(k+1)/2 the test would reject right models. Maximum likelihood, for which
//! `h = ψ_j ψ_l` alone, reproduces the means of the statistics, so that the diagonal says nothing about how they go
//! together (of two-valued ones, nothing at all): there, and where a loss has a ratio of its own whose limit it is, products
//! of different ones are tested too, pooled likewise.
//!
//! With β̂ in place of β the sum `m = Σ (y − s) h` loses what the estimating equation explains, the regression of h on ψ
//! with weights s(1 − s): `h⊥ = h − C H⁻¹ ψ`, `C = Σ s(1−s) h ψᵀ`, `H = Σ s(1−s) ψψᵀ`. The numbers of data and of noise
//! points are fixed, not drawn, so that each class is centred by itself:
//! `Var m = Σ s(1−s) h⊥h⊥ᵀ − (1/T_d + 1/T_n) a aᵀ` with `a = Σ s(1−s) h⊥` (zero when the constant is free, because −1 is
//! then a column of ψ). `mᵀ Var(m)⁻¹ m` is χ² in as many degrees of freedom as Var m has ranks.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_sums};
use noisewright_numerics::kernels;
use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::special::gamma_q;

use super::rows::Block;
use crate::Population;
use crate::fit::distributed::partial_fields;

/// Most indicators, of squares and of products each.
const MOST_INDICATORS: usize = 4;

/// Most parameters of which all pairs are looked at; of more, neighbours alone.
const MOST_PAIRED: usize = 24;

/// Share of an indicator's variance that must be left beside the score's; below is nothing but rounding.
const LEAST_SHARE_LEFT: f64 = 1e-9;
/// The same for an eigenvalue of the correlation of what is left.
const LEAST_EIGENVALUE_LEFT: f64 = 1e-6;

/// A χ² test.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct ChiSquareTest {
    /// The statistic.
    pub statistic: f64,
    /// Degrees of freedom.
    pub degrees_of_freedom: usize,
    /// Probability of a statistic as large when the model is right.
    pub p_value: f64,
}

impl ChiSquareTest {
    /// `mᵀ V⁻ m` with the generalised inverse of the covariance V, what is not above rounding against `reference` (the
    /// variances before anything was subtracted) left out; `None` where nothing is left.
    pub(crate) fn of(
        difference: &DVector<f64>,
        covariance: &DMatrix<f64>,
        reference: &DVector<f64>,
    ) -> Option<Self> {
        let Standardized { deviations, correlation } = Standardized::of(difference, covariance, reference)?;
        let eigen = correlation.symmetric_eigen();
        let kept = (0..deviations.len()).filter(|&j| eigen.eigenvalues[j] > LEAST_EIGENVALUE_LEFT);
        let parts: Vec<f64> = kept
            .map(|j| eigen.eigenvectors.column(j).dot(&deviations).powi(2) / eigen.eigenvalues[j])
            .collect();
        (!parts.is_empty()).then(|| Self::new(parts.iter().sum(), parts.len()))
    }

    fn new(statistic: f64, degrees_of_freedom: usize) -> Self {
        let p_value = gamma_q(0.5 * degrees_of_freedom as f64, 0.5 * statistic);
        Self { statistic, degrees_of_freedom, p_value }
    }

    /// The test of the same means over fewer rows, by a factor: their covariance is larger by it.
    pub(super) fn with_fewer_rows(&self, factor: f64) -> Self {
        Self::new(self.statistic / factor, self.degrees_of_freedom)
    }
}

/// Differences that ought to be zero, in units of their deviations, or sums of such differences.
pub(super) struct Standardized {
    deviations: DVector<f64>,
    /// Their correlation, or the sum of those of the terms.
    correlation: DMatrix<f64>,
}

impl Standardized {
    /// Zero where there is no variance above rounding against `reference`; `None` where a number is not finite.
    fn of(difference: &DVector<f64>, covariance: &DMatrix<f64>, reference: &DVector<f64>) -> Option<Self> {
        let size = difference.len();
        let known = |j: usize| covariance[(j, j)] > LEAST_SHARE_LEFT * reference[j].abs();
        let unit = |j: usize| if known(j) { 1.0 / covariance[(j, j)].sqrt() } else { 0.0 };
        let correlation = DMatrix::from_fn(size, size, |i, j| covariance[(i, j)] * unit(i) * unit(j));
        let deviations = DVector::from_fn(size, |j, _| difference[j] * unit(j));
        let finite = correlation.iter().chain(difference.iter()).all(|v| v.is_finite());
        finite.then_some(Self { deviations, correlation })
    }

    /// The sum of two that are uncorrelated.
    pub(super) fn join(self, other: Self) -> Self {
        Self {
            deviations: self.deviations + other.deviations,
            correlation: self.correlation + other.correlation,
        }
    }

    /// The test of the sum; `None` where nothing has a variance.
    pub(super) fn finish(&self) -> Option<ChiSquareTest> {
        let units = DVector::repeat(self.deviations.len(), 1.0);
        ChiSquareTest::of(&self.deviations, &self.correlation, &units)
    }
}

/// Which squared scores go into which indicator, with what weight: every coordinate's relative to its own size.
struct Groups {
    of: Vec<usize>,
    weight: Vec<f64>,
    count: usize,
}

impl Groups {
    /// `sizes` are mean squares of the scores; the constant, whose score is −1, is one coordinate among them.
    fn new(sizes: &[f64]) -> Self {
        let count = sizes.len().min(MOST_INDICATORS);
        Self {
            of: (0..sizes.len()).map(|j| j * count / sizes.len()).collect(),
            weight: sizes.iter().map(|size| if *size > 0.0 { 1.0 / size } else { 0.0 }).collect(),
            count,
        }
    }

    /// Pooled squares of the scores, one column per indicator.
    fn squares<'a>(&self, columns: impl Iterator<Item = &'a [f64]>, rows: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.count * rows];
        for (j, column) in columns.enumerate() {
            let target = &mut out[self.of[j] * rows..(self.of[j] + 1) * rows];
            let weight = self.weight[j];
            kernels::in_vectors(|| target.iter_mut().zip(column).for_each(|(o, s)| *o += weight * s * s));
        }
        out
    }
}

/// Which products of different scores go into which indicator, in units of their sizes.
struct Pairs {
    list: Vec<(usize, usize)>,
    weight: Vec<f64>,
    count: usize,
}

impl Pairs {
    fn new(sizes: &[f64]) -> Self {
        let size = sizes.len();
        let reach = if size <= MOST_PAIRED { size } else { 2 };
        let list: Vec<_> =
            (0..size).flat_map(|j| (j + 1..size.min(j + reach)).map(move |l| (j, l))).collect();
        let weight = sizes.iter().map(|size| if *size > 0.0 { size.sqrt().recip() } else { 0.0 });
        Self { count: list.len().min(MOST_INDICATORS), weight: weight.collect(), list }
    }

    /// Pooled products of the scores, one column per indicator.
    fn products(&self, columns: &[&[f64]], rows: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.count * rows];
        for (k, (j, l)) in self.list.iter().enumerate() {
            // Neighbours in the list, which share a score, go into different indicators.
            let group = k % self.count;
            let factor = self.weight[*j] * self.weight[*l];
            let target = &mut out[group * rows..(group + 1) * rows];
            for ((o, a), b) in target.iter_mut().zip(columns[*j]).zip(columns[*l]) {
                *o += factor * a * b;
            }
        }
        out
    }
}

/// Squares and products of scores, pooled.
pub(super) struct Indicators {
    groups: Groups,
    pairs: Pairs,
}

impl Indicators {
    /// `sizes` are mean squares of the scores, of which the first `paired` are multiplied with one another.
    pub(super) fn new(sizes: &[f64], paired: usize) -> Self {
        Self { groups: Groups::new(sizes), pairs: Pairs::new(&sizes[..paired]) }
    }

    pub(super) fn count(&self) -> usize {
        self.groups.count + self.pairs.count
    }

    /// One column per indicator.
    pub(super) fn of(&self, columns: &[&[f64]], rows: usize) -> Vec<f64> {
        let mut out = self.groups.squares(columns.iter().copied(), rows);
        out.extend(self.pairs.products(columns, rows));
        out
    }
}

/// The test for a fit with the JS loss, gathered block by block.
pub(crate) struct InformationTest {
    groups: Groups,
    /// `m = Σ (y − s) h`.
    indicators: DVector<f64>,
    /// `Σ (y − s) ψ`, which the fit has driven to zero but for rounding.
    slope: DVector<f64>,
    /// `Σ s(1−s) ψ hᵀ`.
    cross: DMatrix<f64>,
    /// `Σ s(1−s) h hᵀ`.
    squares: DMatrix<f64>,
    /// `Σ s(1−s) h`.
    mean: DVector<f64>,
    /// `Σ s(1−s) ψ`.
    score: DVector<f64>,
    points: [f64; 2],
}

partial_fields!(Groups { of, weight, count });
partial_fields!(InformationTest { groups, indicators, slope, cross, squares, mean, score, points });

impl InformationTest {
    /// Begins; `sizes` are mean squares of the scores, up to a common factor.
    pub(crate) fn new(sizes: &[f64]) -> Self {
        let groups = Groups::new(sizes);
        let (count, size) = (groups.count, sizes.len());
        Self {
            indicators: DVector::zeros(count),
            slope: DVector::zeros(size),
            cross: DMatrix::zeros(size, count),
            squares: DMatrix::zeros(count, count),
            mean: DVector::zeros(count),
            score: DVector::zeros(size),
            points: [0.0; 2],
            groups,
        }
    }

    /// Both of two neighbouring parts of the rows.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.indicators += other.indicators;
        self.slope += other.slope;
        self.cross += other.cross;
        self.squares += other.squares;
        self.mean += other.mean;
        self.score += other.score;
        self.points[0] += other.points[0];
        self.points[1] += other.points[1];
        self
    }

    /// `Σ s(1−s) ψ`, which is T_d times `m_w` if the model is true.
    pub(crate) fn weighted_score(&self) -> &DVector<f64> {
        &self.score
    }

    /// The result; `hessian` is `Σ s(1−s) ψψᵀ` over all rows. `None` where there is nothing to test.
    pub(crate) fn finish(&self, hessian: &DMatrix<f64>) -> Option<ChiSquareTest> {
        let (indicators, covariance) = self.unexplained(hessian)?;
        ChiSquareTest::of(&indicators, &covariance, &self.squares.diagonal())
    }

    /// The same in units of deviations, before it is made a test.
    pub(super) fn standardized(&self, hessian: &DMatrix<f64>) -> Option<Standardized> {
        let (indicators, covariance) = self.unexplained(hessian)?;
        Standardized::of(&indicators, &covariance, &self.squares.diagonal())
    }

    /// What the estimating equation leaves of the indicators, with its covariance.
    fn unexplained(&self, hessian: &DMatrix<f64>) -> Option<(DVector<f64>, DMatrix<f64>)> {
        let Inverse::Regular(inverse) = invert(hessian) else { return None };
        let explained = self.cross.transpose() * &inverse;
        let variance = &self.squares - &explained * &self.cross;
        let mean = &self.mean - &explained * &self.score;
        let centred = &mean * mean.transpose() * (1.0 / self.points[0] + 1.0 / self.points[1]);
        Some((&self.indicators - &explained * &self.slope, variance - centred))
    }

    /// Takes in some rows.
    pub(crate) fn add(&mut self, block: &Block<'_>) {
        let (rows, count, size) = (block.rows, self.groups.count, self.score.len());
        let mut h = self.groups.squares(block.columns(), rows);
        // The residuals, the variances, and the variances times every indicator.
        let mut weights = self.weigh(block, &mut h);
        for column in h.chunks(rows.max(1)) {
            let first = weights.len();
            weights.extend_from_slice(column);
            let (before, weighted) = weights.split_at_mut(first);
            weighted.iter_mut().zip(&before[rows..]).for_each(|(h, variance)| *h *= variance);
        }
        let weights = Columns::new(&weights, rows, count + 2, rows);
        let mut of_scores = vec![0.0; size * (count + 2)];
        weighted_sums(block.score, weights, &mut of_scores);
        let mut of_indicators = vec![0.0; count * (count + 2)];
        weighted_sums(Columns::new(&h, rows, count, rows), weights, &mut of_indicators);
        add_to([self.slope.as_mut_slice(), self.score.as_mut_slice(), self.cross.as_mut_slice()], &of_scores);
        let sums = [self.indicators.as_mut_slice(), self.mean.as_mut_slice(), self.squares.as_mut_slice()];
        add_to(sums, &of_indicators);
    }

    /// `y − s` of every row and after them `s(1 − s)`, times how often it counts; the pooled squares become indicators.
    fn weigh(&mut self, block: &Block<'_>, h: &mut [f64]) -> Vec<f64> {
        let rows = block.rows;
        let opposite: Vec<f64> = block.log_ratio.iter().map(|g| -g).collect();
        let (mut s, mut t) = (vec![0.0; rows], vec![0.0; rows]);
        kernels::sigmoid(block.log_ratio, &mut s);
        kernels::sigmoid(&opposite, &mut t);
        kernels::in_vectors(|| {
            for column in h.chunks_mut(rows.max(1)) {
                column.iter_mut().zip(s.iter().zip(&t)).for_each(|(h, (s, t))| *h *= t - s);
            }
        });
        let side = usize::from(!block.data);
        self.points[side] += block.weights.map_or(rows as f64, |weights| weights.iter().sum());
        let mut both: Vec<f64> = if block.data { t.clone() } else { s.iter().map(|s| -s).collect() };
        both.extend(s.iter().zip(&t).map(|(s, t)| s * t));
        if let Some(weights) = block.weights {
            both.iter_mut().zip(weights.iter().cycle()).for_each(|(x, weight)| *x *= weight);
        }
        both
    }
}

/// Adds numbers that come one sum after the other.
fn add_to(sums: [&mut [f64]; 3], more: &[f64]) {
    sums.into_iter().flatten().zip(more).for_each(|(sum, more)| *sum += more);
}

/// The test for maximum likelihood: the data's mean of the pooled `ψ_j²` and `ψ_jψ_l` against the model's.
///
/// `score` are the data's scores `t − E t` in columns, `population` the model at the estimate; h is regressed on ψ under
/// the model, and `n · m̄ᵀ E[h⊥h⊥ᵀ]⁻¹ m̄` is χ².
pub(crate) fn information_test_exact(
    columns: &[&[f64]],
    weights: Option<&[f64]>,
    population: &Population,
) -> Option<ChiSquareTest> {
    let size = columns.len();
    let rows = columns.first()?.len();
    let nodes = population.points().rows();
    let mass: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
    let model: Vec<Vec<f64>> = (0..size)
        .map(|j| {
            let column = population.score_of(j);
            let mean = dot(column, &mass);
            column.iter().map(|s| s - mean).collect()
        })
        .collect();
    let sizes: Vec<f64> = model.iter().map(|c| c.iter().zip(&mass).map(|(s, q)| s * s * q).sum()).collect();
    let pooled = Indicators::new(&sizes, size);
    let data = pooled.of(columns, rows);
    let expected = pooled.of(&model.iter().map(Vec::as_slice).collect::<Vec<_>>(), nodes);
    let indicators = pooled.count();
    let count = weights.map_or(rows as f64, |w| w.iter().sum());
    let average = |column: &[f64]| match weights {
        Some(weights) => dot(column, weights) / count,
        None => column.iter().sum::<f64>() / count,
    };
    let means: Vec<f64> = expected.chunks(nodes.max(1)).map(|h| dot(h, &mass)).collect();
    let difference = DVector::from_fn(indicators, |g, _| average(&data[g * rows..(g + 1) * rows]) - means[g]);
    let h = DMatrix::from_fn(nodes, indicators, |i, g| expected[g * nodes + i] - means[g]);
    let psi = DMatrix::from_fn(nodes, size, |i, j| model[j][i]);
    let weighted = |m: &DMatrix<f64>| DMatrix::from_fn(m.nrows(), m.ncols(), |i, j| mass[i] * m[(i, j)]);
    let Inverse::Regular(inverse) = invert(&(psi.transpose() * weighted(&psi))) else { return None };
    let cross = h.transpose() * weighted(&psi);
    let squares = h.transpose() * weighted(&h);
    let variance = &squares - &cross * inverse * cross.transpose();
    ChiSquareTest::of(&difference, &(variance / count), &(squares.diagonal() / count))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    noisewright_numerics::summation::dot(a, b)
}
