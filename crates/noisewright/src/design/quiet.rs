//! What quiet draws of a designed noise would need (MATH §8), by replicates at the model.

use nalgebra::DMatrix;
use noisewright_numerics::linalg::{Inverse, invert};

use super::problem::Problem;
use crate::asymptotics::trace_product;
use crate::fit::{ReplicateSums, USUAL_RATIO};
use crate::moments::sandwich;
use crate::noise::quiet::{QuietDraws, REPLICATES, Replicates, quiet_dimension};
use crate::run::{CancelToken, Purpose};
use crate::{Asymptotics, Loss, Noise, Population, Result, View};

/// Rows of data that are assumed where there are none.
const ROWS: f64 = 1000.0;
/// Noise points per data point that add nothing to a variance.
const ENDLESS: f64 = 1e9;
/// Most points that are tried, and in three or more variables, where a point of a designed noise takes integrals over planes.
const MOST_POINTS: [usize; 2] = [1 << 16, 1 << 10];

/// How many quiet draws of a noise do what independent ones do.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct QuietAnswer {
    /// Rows of data that this is for: those there are, or 1,000.
    pub rows: f64,
    /// Independent noise points that the design has beside them, ν times the rows.
    pub independent_points: f64,
    /// Quiet points with which the error is no larger; `None` where it would take at least half as many as independent ones,
    /// or more than were tried.
    pub points: Option<usize>,
    /// Independent scrambles in which they are drawn.
    pub replicates: usize,
    /// M, the ratio inside the loss.
    pub loss_ratio: f64,
    /// The error with so many quiet points over that with independent ones.
    pub relative_error: Option<f64>,
}

/// A designed noise at a ratio, and what its error is measured by.
pub(super) struct QuietQuestion<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) population: &'a Population,
    pub(super) noise: &'a dyn Noise,
    pub(super) nu: f64,
    /// The weights of the error.
    pub(super) target: &'a DMatrix<f64>,
}

impl QuietQuestion<'_> {
    /// The answer; `None` for a noise that cannot be drawn quietly, or whose error has no number.
    ///
    /// # Errors
    /// When the model cannot be evaluated at draws of the noise.
    pub(super) fn answer(&self) -> Result<Option<QuietAnswer>> {
        if quiet_dimension(&self.noise).is_err() {
            return Ok(None);
        }
        let rows = self.problem.data.map_or(ROWS, |data| data.rows() as f64);
        let log_noise = self.population.log_noise(self.noise)?;
        let at = |nu: f64, loss: &Loss| Asymptotics::at(self.population, &log_noise, nu, loss);
        let loss = Loss::Js.with_ratio(USUAL_RATIO, ENDLESS)?;
        let (Ok(independent), Ok(data)) = (at(self.nu, &Loss::Js), at(ENDLESS, &loss)) else {
            return Ok(None);
        };
        let allowed = trace_product(&independent.covariance, self.target) / rows;
        let data = trace_product(&data.covariance, self.target) / rows;
        let Some(bread) = self.bread(&log_noise).filter(|_| allowed.is_finite() && allowed > 0.0) else {
            return Ok(None);
        };
        let mut answer = QuietAnswer {
            rows,
            independent_points: self.nu * rows,
            points: None,
            replicates: REPLICATES,
            loss_ratio: USUAL_RATIO,
            relative_error: None,
        };
        let most = MOST_POINTS[usize::from(self.noise.dimension() > 2)];
        let mut replicates = Replicates { count: REPLICATES, points: 2 };
        while replicates.rows() <= most && 2.0 * replicates.rows() as f64 <= answer.independent_points {
            self.problem.precision.cancel.check()?;
            let noise = trace_product(&sandwich(&bread, &self.noise_meat(replicates)?), self.target);
            if data + noise <= allowed {
                answer.points = Some(replicates.rows());
                answer.relative_error = Some((data + noise) / allowed);
                break;
            }
            replicates.points *= 2;
        }
        Ok(Some(answer))
    }

    /// `w = 1/(1 + p/(M p_n))` from the log ratio of the densities.
    fn weight(log_ratio: f64) -> f64 {
        noisewright_numerics::special::sigmoid(USUAL_RATIO.ln() - log_ratio)
    }

    /// `E_d[w ψψᵀ]⁻¹`.
    fn bread(&self, log_noise: &[f64]) -> Option<DMatrix<f64>> {
        let terms = self.population.log_weights().iter().zip(self.population.log_density()).zip(log_noise);
        let weights: Vec<f64> = terms.map(|((q, d), n)| q.exp() * Self::weight(d - n)).collect();
        match invert(&self.population.moments(&weights, &CancelToken::new()).information) {
            Inverse::Regular(inverse) => Some(inverse),
            Inverse::Singular(_) => None,
        }
    }

    /// The covariance of the mean of `w p/p_n ψ` over quiet draws, from the spread between their replicates.
    fn noise_meat(&self, replicates: Replicates) -> Result<DMatrix<f64>> {
        let seed = self.problem.precision.seed;
        let draws =
            QuietDraws::new(self.noise, replicates.count, replicates.points, seed, Purpose::QuietDesign)?;
        let size = self.population.coordinates().len();
        let mut sums = ReplicateSums::new(replicates.count, replicates.points, size);
        for replicate in 0..replicates.count {
            let first = replicate * replicates.points;
            let points = draws.draw(first..first + replicates.points);
            let view = View::new(self.noise.dimension(), replicates.points, &points);
            let (log_ratio, score) = self.scores(view)?;
            let weights: Vec<f64> = log_ratio.iter().map(|g| Self::weight(*g) * g.exp()).collect();
            sums.add(first, &weights, score.chunks(replicates.points));
        }
        Ok(sums.covariance_of_mean())
    }

    /// `log p − log p_n` and ψ at points, the constant's column with them where it is estimated.
    fn scores(&self, points: View<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
        let (model, parameters) = (self.problem.model, self.problem.parameters);
        let rows = points.rows();
        let mut log_noise = vec![0.0; rows];
        self.noise.log_density(points, &mut log_noise);
        let mut log_ratio = vec![0.0; rows];
        let mut score = vec![0.0; rows * parameters.len()];
        model.evaluate(parameters, points, &mut log_ratio, Some(&mut score))?;
        let log_z = self.population.log_normalizer();
        log_ratio.iter_mut().zip(log_noise).for_each(|(g, n)| *g -= log_z + n);
        if self.population.has_constant() {
            score.resize(rows * (parameters.len() + 1), -1.0);
        } else {
            let mean = self.population.mean_of_derivatives(model, parameters)?;
            for (column, mean) in score.chunks_mut(rows).zip(mean) {
                column.iter_mut().for_each(|s| *s -= mean);
            }
        }
        Ok((log_ratio, score))
    }
}
