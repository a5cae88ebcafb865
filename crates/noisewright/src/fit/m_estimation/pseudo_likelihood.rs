//! The pseudo-likelihood (Besag 1975): `−Σ_j log p(x_j | all other variables)`, whose constants are sums over the states of one variable.

use noisewright_numerics::gram::{Columns, weighted_gram};
use noisewright_numerics::summation::log_sum_exp;

use super::{RowLoss, RowTerms, WeightedRows};
use crate::{Domain, Error, Model, Result, View};

/// The loss of one model.
pub(super) struct PseudoLikelihood<'a> {
    model: &'a Model,
    /// The states of every variable.
    states: Vec<&'a [f64]>,
}

/// Some rows with one variable in all its states: row after row of one state, then of the next.
struct Alternatives {
    points: Vec<f64>,
    /// `p(state | rest)`.
    probability: Vec<f64>,
    /// The scores, column by column, less that of the row as it is.
    score: Vec<f64>,
    /// `−log p(x_j | rest)` of every row.
    loss: Vec<f64>,
}

impl<'a> PseudoLikelihood<'a> {
    /// The loss of a model.
    ///
    /// # Errors
    /// When a variable has no finite set of states.
    pub(super) fn new(model: &'a Model) -> Result<Self> {
        let space = model.space();
        let of = |(j, domain): (usize, &'a Domain)| match domain {
            Domain::States(states) => Ok(&states[..]),
            _ => {
                let reason = format!(
                    "cannot be pseudo-likelihood: `{}` has no finite set of states; use score-matching or nce",
                    space.names()[j]
                );
                Err(Error::option("method", reason))
            }
        };
        let states = space.domains().iter().enumerate().map(of).collect::<Result<Vec<_>>>()?;
        Ok(Self { model, states })
    }

    /// One variable of some rows in all its states; `values` are the energies of the rows as they are, and then their scores.
    fn alternatives(
        &self,
        theta: &[f64],
        points: View<'_>,
        variable: usize,
        own: &[f64],
    ) -> Result<Alternatives> {
        let (rows, states) = (points.rows(), self.states[variable]);
        let all = rows * states.len();
        let mut moved = Vec::with_capacity(all * points.columns());
        for axis in 0..points.columns() {
            for state in states {
                match axis == variable {
                    true => moved.extend(std::iter::repeat_n(*state, rows)),
                    false => moved.extend_from_slice(points.column(axis)),
                }
            }
        }
        let (mut energy, mut score) = (vec![0.0; all], vec![0.0; all * theta.len()]);
        let view = View::new(points.columns(), all, &moved);
        self.model.evaluate(theta, view, &mut energy, Some(&mut score))?;
        let (own_energy, own_score) = own.split_at(rows);
        let (mut loss, mut probability) = (vec![0.0; rows], vec![0.0; all]);
        let mut terms = vec![0.0; states.len()];
        for row in 0..rows {
            terms.iter_mut().enumerate().for_each(|(s, term)| *term = energy[s * rows + row]);
            let log_sum = log_sum_exp(&terms);
            loss[row] = log_sum - own_energy[row];
            terms.iter().enumerate().for_each(|(s, u)| probability[s * rows + row] = (u - log_sum).exp());
        }
        for (column, own) in score.chunks_exact_mut(all).zip(own_score.chunks_exact(rows)) {
            for (at, s) in column.iter_mut().enumerate() {
                // A state without density has no slope.
                *s = if probability[at] > 0.0 { *s - own[at % rows] } else { 0.0 };
            }
        }
        Ok(Alternatives { points: moved, probability, score, loss })
    }
}

impl Alternatives {
    /// Adds the mean score under the conditional distribution to the slopes, and takes it off the scores.
    fn centre(&mut self, rows: usize, slope: &mut [f64]) {
        let all = self.probability.len();
        for (column, slope) in self.score.chunks_exact_mut(all).zip(slope.chunks_exact_mut(rows)) {
            // Most statistics do not depend on the variable.
            if column.iter().all(|s| *s == 0.0) {
                continue;
            }
            for row in 0..rows {
                let states = || (row..all).step_by(rows);
                let mean: f64 = states().map(|at| self.probability[at] * column[at]).sum();
                states().for_each(|at| column[at] -= mean);
                slope[row] += mean;
            }
        }
    }

    /// Adds the weighted covariances of the scores, which are centred: `Σ w Σ_s p (ψ − ψ̄)(ψ − ψ̄)ᵀ`.
    fn add_covariances(&self, weights: &[f64], size: usize, hessian: &mut [f64]) {
        let all = self.probability.len();
        let weights: Vec<f64> =
            self.probability.iter().enumerate().map(|(at, p)| p * weights[at % weights.len()]).collect();
        let columns: Vec<&[f64]> = self.score.chunks_exact(all).collect();
        let varying: Vec<usize> = (0..size).filter(|j| columns[*j].iter().any(|s| *s != 0.0)).collect();
        let dense: Vec<f64> = varying.iter().flat_map(|j| columns[*j]).copied().collect();
        let mut gram = vec![0.0; varying.len() * varying.len()];
        weighted_gram(Columns::new(&dense, all, varying.len(), all), &weights, &mut gram);
        for (a, row) in varying.iter().zip(gram.chunks_exact(varying.len().max(1))) {
            for (b, value) in varying.iter().zip(row) {
                hessian[a * size + b] += value;
            }
        }
    }
}

impl RowLoss for PseudoLikelihood<'_> {
    fn evaluate(
        &self,
        theta: &[f64],
        WeightedRows { points, weights }: WeightedRows<'_>,
        out: RowTerms<'_>,
        mut hessian: Option<&mut [f64]>,
    ) -> Result<bool> {
        let (rows, size, model) = (points.rows(), theta.len(), self.model);
        let mut own = vec![0.0; rows * (size + 1)];
        let (energy, score) = own.split_at_mut(rows);
        model.evaluate(theta, points, energy, Some(score))?;
        out.loss.fill(0.0);
        out.slope.fill(0.0);
        let mut known = true;
        for variable in 0..points.columns() {
            let mut there = self.alternatives(theta, points, variable, &own)?;
            out.loss.iter_mut().zip(&there.loss).for_each(|(sum, loss)| *sum += loss);
            there.centre(rows, out.slope);
            let Some(hessian) = hessian.as_deref_mut() else { continue };
            there.add_covariances(weights, size, hessian);
            let curved: Vec<f64> =
                there.probability.iter().enumerate().map(|(at, p)| p * weights[at % rows]).collect();
            let minus: Vec<f64> = weights.iter().map(|w| -w).collect();
            let moved = View::new(points.columns(), curved.len(), &there.points);
            known &= model.add_curvature(theta, moved, &curved, hessian)?
                && model.add_curvature(theta, points, &minus, hessian)?;
        }
        Ok(known)
    }
}
