//! The information-matrix test for a fit whose loss has a ratio M of its own, or whose noise is quiet.
//!
//! If the model is right, `m = E_d[w h] − ν E_n[w r h]` is zero for every function h, and the same indicators h are taken as in
//! [`InformationTest`](super::information::InformationTest), with products of different scores as for maximum likelihood, which
//! is the limit M → ∞: there the squares alone do not see that two variables are dependent. What the estimating
//! equation explains is taken out, `h⊥ = h − C H⁻¹ψ` with `C = E[w h ψᵀ]` and `H = E[w ψψᵀ]`. The variance of m has a
//! data part, `Cov(w h⊥)/T_d`, and a noise part: the spread between replicates, or that of independent draws.
//! Expectations under the model are means over the noise points with the weights p/p_n: from the data themselves the
//! test would reject right models too often.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram, weighted_sum};
use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::special::sigmoid;

use super::super::evaluate::{ChunkView, ParameterPoint};
use super::super::loss_terms::{Class, Terms};
use super::super::objective::Objective;
use super::super::quiet::replicates::ReplicateSums;
use super::information::{ChiSquareTest, Indicators};
use crate::fit::distributed::partial_fields;
use crate::moments::Moments;
use crate::{Loss, Result};

/// Sums over both samples of what the test needs, indicators first, scores after them.
pub(crate) struct WeightedTest {
    indicators: usize,
    /// `E_d[w z]` less `ν E_n[w r z]`.
    slope: DVector<f64>,
    /// With the weights w and w² under the model.
    weighted: Moments,
    squared: Moments,
    /// The noise part of the covariance of the slope.
    noise: DMatrix<f64>,
    data_points: f64,
}

/// Sums over one sample.
struct Sums {
    weight: f64,
    slope: DVector<f64>,
    slope_squares: DMatrix<f64>,
    weighted: Moments,
    squared: Moments,
    replicates: Option<ReplicateSums>,
}

partial_fields!(Sums { weight, slope, slope_squares, weighted, squared, replicates });

impl Sums {
    fn new(size: usize, replicates: Option<ReplicateSums>) -> Self {
        Self {
            weight: 0.0,
            slope: DVector::zeros(size),
            slope_squares: DMatrix::zeros(size, size),
            weighted: Moments::zeros(size),
            squared: Moments::zeros(size),
            replicates,
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.weight += other.weight;
        self.slope += other.slope;
        self.slope_squares += other.slope_squares;
        self.weighted = self.weighted + other.weighted;
        self.squared = self.squared + other.squared;
        self.replicates = self.replicates.zip(other.replicates).map(|(a, b)| a.join(&b));
        self
    }

    fn add(&mut self, class: Class, objective: &Objective<'_>, pooled: &Indicators, seen: &ChunkView<'_>) {
        let rows = seen.log_ratio.len();
        let z = indicators_and_scores(&objective.loss, pooled, seen);
        let columns = Columns::new(&z, rows, self.slope.len(), rows);
        let mut terms = Terms::default();
        terms.fill(&objective.loss, class, seen.log_ratio);
        terms.weigh(seen.weights);
        self.weight += seen.weights.map_or(rows as f64, |w| w.iter().sum());
        weighted_sum(columns, &terms.first, self.slope.as_mut_slice());
        if class == Class::Data {
            return;
        }
        match &mut self.replicates {
            Some(sums) => sums.add(seen.first_row, &terms.first, z.chunks(rows.max(1))),
            None => {
                let squared: Vec<f64> = terms.first.iter().map(|f| f * f).collect();
                weighted_gram(columns, &squared, self.slope_squares.as_mut_slice());
            }
        }
        // p/p_n = ν e^g.
        let log_nu = objective.nu.ln();
        let weights = |power: f64| -> Vec<f64> {
            let term = |g: &f64| (log_nu + g + power * objective.loss.log_weight(*g)).exp();
            seen.log_ratio.iter().map(|g| if g.is_finite() { term(g) } else { 0.0 }).collect()
        };
        self.weighted.add_rows(columns, &weights(1.0));
        self.squared.add_rows(columns, &weights(2.0));
    }
}

/// `1 − 2s` times the pooled squares and products, and the scores, column after column, with s the classifier's probability at the ratio M.
fn indicators_and_scores(loss: &Loss, pooled: &Indicators, seen: &ChunkView<'_>) -> Vec<f64> {
    let rows = seen.log_ratio.len();
    let shift = match loss {
        Loss::JsRatio { log_shift } => *log_shift,
        // The limit M → ∞.
        Loss::Kl => f64::NEG_INFINITY,
        _ => 0.0,
    };
    let scores: Vec<&[f64]> = (0..seen.score.columns()).map(|j| seen.score.column(j)).collect();
    let mut z = pooled.of(&scores, rows);
    for column in z.chunks_mut(rows.max(1)) {
        for (h, g) in column.iter_mut().zip(seen.log_ratio) {
            *h = if *g == f64::NEG_INFINITY { 0.0 } else { *h * (1.0 - 2.0 * sigmoid(g + shift)) };
        }
    }
    scores.iter().for_each(|column| z.extend_from_slice(column));
    z
}

impl WeightedTest {
    /// Gathers the sums at one place; `sizes` are mean squares of the scores, up to a common factor.
    ///
    /// # Errors
    /// When the rows cannot be passed over again.
    pub(crate) fn gather(objective: &Objective<'_>, place: &ParameterPoint, sizes: &[f64]) -> Result<Self> {
        // The score of a free constant is −1, and a product with it no more than the other score.
        let pooled = Indicators::new(sizes, objective.model.parameters().len());
        let size = pooled.count() + sizes.len();
        let points = objective.noise.replicate_points;
        let replicates = |class: Class| {
            let points = points.filter(|_| class == Class::Noise)?;
            Some(ReplicateSums::new(objective.noise.rows / points, points, size))
        };
        let of = |side, class: Class| {
            let add = |sums: &mut Sums, seen: &ChunkView<'_>| {
                sums.add(class, objective, &pooled, seen);
                Ok(())
            };
            objective.fold(side, place, || Sums::new(size, replicates(class)), add, Sums::join)
        };
        let (data, noise) = (of(&objective.data, Class::Data)?, of(&objective.noise, Class::Noise)?);
        let (nu, rows) = (objective.nu, noise.weight);
        let of_noise = match &noise.replicates {
            Some(sums) => sums.covariance_of_mean(),
            None => {
                let mean = &noise.slope / rows;
                (&noise.slope_squares / rows - &mean * mean.transpose()) / rows
            }
        };
        Ok(Self {
            indicators: pooled.count(),
            // A data term falls with g.
            slope: -(data.slope / data.weight + noise.slope * (nu / rows)),
            weighted: noise.weighted.scaled(1.0 / rows),
            squared: noise.squared.scaled(1.0 / rows),
            noise: of_noise * (nu * nu),
            data_points: data.weight,
        })
    }

    /// The covariance of the slope if the model is true.
    fn covariance(&self) -> DMatrix<f64> {
        (&self.squared.information - &self.weighted.mean * self.weighted.mean.transpose()) / self.data_points
            + &self.noise
    }

    /// The result; `None` where there is nothing to test.
    pub(crate) fn finish(&self) -> Option<ChiSquareTest> {
        let (g, k) = (self.indicators, self.slope.len() - self.indicators);
        let Inverse::Regular(inverse) = invert(&self.weighted.information.view((g, g), (k, k)).into_owned())
        else {
            return None;
        };
        let mut take = DMatrix::zeros(g, g + k);
        take.fill_diagonal(1.0);
        take.view_mut((0, g), (g, k)).copy_from(&-(self.weighted.information.view((0, g), (g, k)) * inverse));
        let variance = &take * self.covariance() * take.transpose();
        let reference = self.squared.information.diagonal().rows(0, g) / self.data_points;
        ChiSquareTest::of(&(&take * &self.slope), &variance, &reference)
    }

    /// The covariance of the estimate if the model is true.
    pub(crate) fn model_based(&self) -> Option<DMatrix<f64>> {
        let (g, k) = (self.indicators, self.slope.len() - self.indicators);
        let Inverse::Regular(inverse) = invert(&self.weighted.information.view((g, g), (k, k)).into_owned())
        else {
            return None;
        };
        Some(&inverse * self.covariance().view((g, g), (k, k)) * &inverse)
    }
}
