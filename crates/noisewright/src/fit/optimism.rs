//! By how much a log-likelihood of the rows that were fitted exceeds that of others.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{add_triangle, mirror, weighted_sum};
use noisewright_numerics::summation::sum;

use super::covariance::invert_free;
use super::distributed::partial_fields;
use super::estimate::Contrasted;
use super::evaluate::{ChunkView, ParameterPoint};
use super::loss_terms::{Class, Terms};
use crate::Result;

/// Sums over the data.
struct Sums {
    weight: f64,
    /// Of `wψψᵀ`, one triangle, of `wψ` and of `ψ`.
    square: Vec<f64>,
    weighted: Vec<f64>,
    plain: Vec<f64>,
    terms: Terms,
}

partial_fields!(Sums { weight, square, weighted, plain, terms });

impl Sums {
    fn join(mut self, other: Self) -> Self {
        let add = |a: &mut [f64], b: Vec<f64>| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        self.weight += other.weight;
        add(&mut self.square, other.square);
        add(&mut self.weighted, other.weighted);
        add(&mut self.plain, other.plain);
        self
    }
}

impl Contrasted<'_> {
    /// `tr(H⁻¹E[wψ(ψ − Eψ)ᵀ])`: the influence of a row on the estimate is `H⁻¹(wψ − E wψ)`, and the slope of its own log-density
    /// `ψ − Eψ`, so that this is the mean of their product (Konishi and Kitagawa 1996). It is the number of parameters where the
    /// model is right, for any loss, noise and ratio; for maximum likelihood it is `tr(J⁻¹K)`, Takeuchi's penalty.
    ///
    /// # Errors
    /// When the rows cannot be passed over again.
    pub(crate) fn optimism(&self) -> Result<Option<f64>> {
        let (objective, size) = (&self.objective, self.objective.size());
        let free: Vec<usize> = (0..size).filter(|j| !self.held[*j]).collect();
        let Ok(inverse) = invert_free(&self.hessian, &free) else { return Ok(None) };
        let Some(place) = ParameterPoint::new(objective, self.at.as_slice()) else { return Ok(None) };
        let start = || Sums {
            weight: 0.0,
            square: vec![0.0; size * size],
            weighted: vec![0.0; size],
            plain: vec![0.0; size],
            terms: Terms::default(),
        };
        let add = |sums: &mut Sums, seen: &ChunkView<'_>| {
            sums.terms.fill(&objective.loss, Class::Data, seen.log_ratio);
            sums.terms.weigh(seen.weights);
            // The first derivative in g of a data term is −w.
            sums.terms.first.iter_mut().for_each(|first| *first = -*first);
            let ones = vec![1.0; seen.log_ratio.len()];
            let weights = seen.weights.unwrap_or(&ones);
            sums.weight += sum(weights);
            add_triangle(seen.score, &sums.terms.first, &mut sums.square);
            weighted_sum(seen.score, &sums.terms.first, &mut sums.weighted);
            weighted_sum(seen.score, weights, &mut sums.plain);
            Ok(())
        };
        let mut sums = objective.fold(&objective.data, &place, start, add, Sums::join)?;
        mirror(size, &mut sums.square);
        let square = DMatrix::from_vec(size, size, sums.square) / sums.weight;
        let weighted = DVector::from_vec(sums.weighted) / sums.weight;
        let mean = DVector::from_vec(sums.plain) / sums.weight;
        let penalty = (inverse * (square - weighted * mean.transpose())).trace();
        Ok(penalty.is_finite().then_some(penalty))
    }
}
