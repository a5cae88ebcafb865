//! The log ratio of two samples as a sum over bridges between waymarks (MATH §12).
//!
//! All bridges have the same features in the same coordinates, so that the sum of their coefficients is that of the log ratio. A row,
//! or a pair of rows where there are waymarks, moves the coefficients of bridge k by `φ_k = −H_k⁻¹ Σ ∇ℓ`, the sum over its own
//! terms; the covariance is that of `Σ_k φ_k` over rows.

use nalgebra::{DMatrix, DVector};

use super::contrast::{self, Features, Solved};
use super::waymarks::{Path, Samples};
use crate::fit::objective::Objective;
use crate::fit::options::FitOptions;
use crate::fit::sample_blocks::HeldPoints;
use crate::fit::scaling::Scaling;
use crate::{Model, Result};

/// One bridge: neighbouring waymarks told apart.
#[derive(Clone, Debug)]
pub(super) struct Bridge {
    /// α of its two ends.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) solved: Solved,
    /// Jeffreys' divergence of its ends.
    pub(super) divergence: f64,
}

/// A chain of bridges from the first sample to the second.
pub(super) struct Telescope<'a> {
    pub(super) model: &'a Model,
    pub(super) samples: Samples<'a>,
    pub(super) scaling: Scaling,
    pub(super) bridges: Vec<Bridge>,
    pub(super) center: Vec<f64>,
}

impl<'a> Telescope<'a> {
    /// Fits bridges between these places of α; one bridge is the plain ratio of both samples.
    ///
    /// # Errors
    /// When a feature is not a number, features cannot be told apart, or it is cancelled.
    pub(super) fn fit(
        model: &'a Model,
        samples: Samples<'a>,
        scaling: &Scaling,
        places: &[f64],
        (prior, tolerance): (f64, f64),
        options: &FitOptions,
    ) -> Result<Self> {
        let center = samples.center();
        let mut bridges = Vec::with_capacity(places.len() - 1);
        for ends in places.windows(2) {
            let objective = bridge_objective(model, samples, scaling, &center, [ends[0], ends[1]])?;
            let start = bridges.last().map(|bridge: &Bridge| bridge.solved.at.clone());
            let solved = contrast::solve(&objective, prior, start.as_ref(), tolerance, options)?;
            let divergence = jeffreys(&objective, &solved)?;
            bridges.push(Bridge { from: ends[0], to: ends[1], solved, divergence });
        }
        Ok(Self { model, samples, scaling: scaling.clone(), bridges, center })
    }

    /// The coefficients of the log ratio.
    pub(super) fn coefficients(&self) -> DVector<f64> {
        let mut all = self.bridges.iter().map(|bridge| &bridge.solved.at);
        let first = all.next().cloned().unwrap_or_else(|| DVector::zeros(self.scaling.scale.len() + 1));
        all.fold(first, |sum, at| sum + at)
    }

    /// The path with the divergences that were measured.
    pub(super) fn path(&self) -> Path {
        let places = self.bridges.iter().map(|b| b.from).chain(std::iter::once(1.0)).collect();
        let divergences: Vec<f64> = self.bridges.iter().map(|b| b.divergence).collect();
        Path::measured(places, &divergences)
    }

    /// Variance, of the coefficients, of the bias that the penalty gives them if its prior holds: `H⁻¹ΛH⁻¹/n` of each bridge, which with
    /// the spread of the estimate makes up the posterior covariance (Nychka 1988).
    pub(super) fn bias(&self) -> DMatrix<f64> {
        let size = self.scaling.scale.len() + 1;
        let mut total = DMatrix::zeros(size, size);
        for solved in self.bridges.iter().map(|bridge| &bridge.solved) {
            let mut half = solved.bread.clone();
            half.column_mut(size - 1).fill(0.0);
            total += &half * solved.bread.transpose() * (solved.strength / solved.rows);
        }
        total
    }

    pub(super) fn features(&self, points: crate::View<'_>) -> Result<Features> {
        Features::new(self.model, &self.scaling, points)
    }
}

/// The loss of a bridge, in the coordinates of the path.
pub(super) fn bridge_objective<'a>(
    model: &'a Model,
    samples: Samples<'a>,
    scaling: &Scaling,
    center: &[f64],
    [from, to]: [f64; 2],
) -> Result<Objective<'a>> {
    let held = |alpha: f64| match alpha {
        _ if (from, to) == (0.0, 1.0) && alpha == 0.0 => HeldPoints::Borrowed(samples.first),
        _ if (from, to) == (0.0, 1.0) => HeldPoints::Borrowed(samples.second),
        alpha => HeldPoints::Owned(samples.waymark(alpha, center, 0..samples.pairs())),
    };
    let (first, second) = (held(from), held(to));
    contrast::objective(model, first, second, scaling)
}

/// Jeffreys' divergence between the ends of a bridge.
fn jeffreys(objective: &Objective<'_>, solved: &Solved) -> Result<f64> {
    let means = contrast::mean_log_ratios(objective, &solved.at)?;
    Ok(means[0] - means[1])
}
