//! By how much a log-likelihood of the rows that were fitted exceeds that of others.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{add_triangle, mirror, weighted_sum};
use noisewright_numerics::summation::sum;

use super::covariance::invert_free;
use super::diagnostics::Block;
use super::distributed::partial_fields;
use super::loss_terms::{Class, Terms};
use crate::Loss;

/// Sums over the data from which the optimism follows.
pub(super) struct OptimismSums {
    weight: f64,
    /// Of `wψψᵀ`, one triangle, of `wψ` and of `ψ`.
    square: Vec<f64>,
    weighted: Vec<f64>,
    plain: Vec<f64>,
    terms: Terms,
}

partial_fields!(OptimismSums { weight, square, weighted, plain, terms });

impl OptimismSums {
    /// Of no rows, with so many unknowns.
    pub(super) fn new(size: usize) -> Self {
        Self {
            weight: 0.0,
            square: vec![0.0; size * size],
            weighted: vec![0.0; size],
            plain: vec![0.0; size],
            terms: Terms::default(),
        }
    }

    pub(super) fn join(mut self, other: Self) -> Self {
        let add = |a: &mut [f64], b: Vec<f64>| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        self.weight += other.weight;
        add(&mut self.square, other.square);
        add(&mut self.weighted, other.weighted);
        add(&mut self.plain, other.plain);
        self
    }

    /// Takes in some rows; noise has no part in it.
    pub(super) fn add(&mut self, loss: &Loss, block: &Block<'_>) {
        if !block.data {
            return;
        }
        self.terms.fill(loss, Class::Data, block.log_ratio);
        self.terms.weigh(block.weights);
        // The first derivative in g of a data term is −w.
        self.terms.first.iter_mut().for_each(|first| *first = -*first);
        let ones = vec![1.0; block.log_ratio.len()];
        let weights = block.weights.unwrap_or(&ones);
        self.weight += sum(weights);
        add_triangle(block.score, &self.terms.first, &mut self.square);
        weighted_sum(block.score, &self.terms.first, &mut self.weighted);
        weighted_sum(block.score, weights, &mut self.plain);
    }

    /// `tr(H⁻¹E[wψ(ψ − Eψ)ᵀ])`: the influence of a row on the estimate is `H⁻¹(wψ − E wψ)`, and the slope of its own log-density
    /// `ψ − Eψ`, so that this is the mean of their product (Konishi and Kitagawa 1996). It is the number of parameters where the
    /// model is right, for any loss, noise and ratio; for maximum likelihood it is `tr(J⁻¹K)`, Takeuchi's penalty.
    ///
    /// H is taken in the unknowns that are not `held`.
    pub(super) fn finish(mut self, hessian: &DMatrix<f64>, held: &[bool]) -> Option<f64> {
        let size = self.plain.len();
        let free: Vec<usize> = (0..size).filter(|j| !held[*j]).collect();
        let inverse = invert_free(hessian, &free).ok()?;
        mirror(size, &mut self.square);
        let square = DMatrix::from_vec(size, size, self.square) / self.weight;
        let weighted = DVector::from_vec(self.weighted) / self.weight;
        let mean = DVector::from_vec(self.plain) / self.weight;
        let penalty = (inverse * (square - weighted * mean.transpose())).trace();
        penalty.is_finite().then_some(penalty)
    }
}
