//! The loss of data against noise over the rows of some folds, coordinate by coordinate.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, add_triangle, mirror, weighted_sum};
use noisewright_numerics::optimize::Evaluation;
use noisewright_numerics::summation::sum;

use super::folds::Folds;
use crate::fit::distributed::partial_fields;
use crate::fit::evaluate::{ChunkView, ParameterPoint};
use crate::fit::loss_terms::{Class, Terms};
use crate::fit::objective::Objective;
use crate::fit::sample_blocks::SampleBlocks;
use crate::{Error, Result};

/// Which rows count.
#[derive(Clone, Copy)]
pub(super) enum Part<'f> {
    All,
    /// All but those of a fold.
    Without(&'f Folds, u8),
    /// Those of a fold.
    Of(&'f Folds, u8),
}

/// What is wanted of the loss.
#[derive(Clone, Copy)]
pub(super) enum Want<'w> {
    Value,
    /// The gradient by all unknowns.
    Gradient,
    /// Gradient and Hessian by some.
    Curvature(&'w [usize]),
}

/// Sums over a sample.
struct Sums {
    weight: f64,
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    terms: Terms,
    buffer: Vec<f64>,
}

partial_fields!(Sums { weight, value, gradient, hessian, terms, buffer });

impl Sums {
    fn new(size: usize, want: Want<'_>) -> Self {
        let (gradient, hessian) = match want {
            Want::Value => (0, 0),
            Want::Gradient => (size, 0),
            Want::Curvature(of) => (of.len(), of.len() * of.len()),
        };
        Self {
            weight: 0.0,
            value: 0.0,
            gradient: vec![0.0; gradient],
            hessian: vec![0.0; hessian],
            terms: Terms::default(),
            buffer: Vec::new(),
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.weight += other.weight;
        self.value += other.value;
        self.gradient.iter_mut().zip(other.gradient).for_each(|(a, b)| *a += b);
        self.hessian.iter_mut().zip(other.hessian).for_each(|(a, b)| *a += b);
        self
    }

    fn add(
        &mut self,
        objective: &Objective<'_>,
        class: Class,
        seen: &ChunkView<'_>,
        (part, want): (Part<'_>, Want<'_>),
    ) {
        self.terms.fill(&objective.loss, class, seen.log_ratio);
        let weights = counted(seen, class, part);
        let weights = weights.as_deref().or(seen.weights);
        self.terms.weigh(weights);
        self.weight += weights.map_or(seen.log_ratio.len() as f64, sum);
        self.value += sum(&self.terms.value);
        match want {
            Want::Value => {}
            Want::Gradient => weighted_sum(seen.score, &self.terms.first, &mut self.gradient),
            Want::Curvature(of) => {
                let rows = seen.log_ratio.len();
                self.buffer.clear();
                of.iter().for_each(|j| self.buffer.extend_from_slice(seen.score.column(*j)));
                let columns = Columns::new(&self.buffer, rows, of.len(), rows);
                weighted_sum(columns, &self.terms.first, &mut self.gradient);
                add_triangle(columns, &self.terms.second, &mut self.hessian);
            }
        }
    }
}

/// How often the rows of a chunk count in a part, where not all do.
fn counted(seen: &ChunkView<'_>, class: Class, part: Part<'_>) -> Option<Vec<f64>> {
    let (folds, fold, inside) = match part {
        Part::All => return None,
        Part::Without(folds, fold) => (folds, fold, false),
        Part::Of(folds, fold) => (folds, fold, true),
    };
    let side = if class == Class::Data { &folds.data } else { &folds.noise };
    let row = |i: usize| {
        let counts = (side[seen.first_row + i] == fold) == inside;
        if counts { seen.weights.map_or(1.0, |w| w[i]) } else { 0.0 }
    };
    Some((0..seen.log_ratio.len()).map(row).collect())
}

/// The loss over a part of the rows, at unknowns in the solver's coordinates.
pub(super) fn evaluate(
    objective: &Objective<'_>,
    part: Part<'_>,
    at: &DVector<f64>,
    want: Want<'_>,
) -> Result<Evaluation> {
    let size = objective.size();
    let place = ParameterPoint::new(objective, at.as_slice())
        .ok_or_else(|| Error::internal("a penalised model has a free constant"))?;
    let scored = !matches!(want, Want::Value);
    let one = |side: &SampleBlocks<'_>| sums(objective, side, &place, scored, (part, want));
    let (data, noise) = (one(&objective.data)?, one(&objective.noise)?);
    let (per_data, per_noise) = (1.0 / data.weight, objective.nu / noise.weight);
    let both = |a: &[f64], b: &[f64]| -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a * per_data + b * per_noise).collect()
    };
    let value = data.value * per_data + noise.value * per_noise;
    let gradient = DVector::from_vec(both(&data.gradient, &noise.gradient));
    if !value.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
        return Ok(Evaluation::wall(size));
    }
    let hessian = matches!(want, Want::Curvature(_)).then(|| {
        let mut matrix = both(&data.hessian, &noise.hessian);
        mirror(gradient.len(), &mut matrix);
        DMatrix::from_vec(gradient.len(), gradient.len(), matrix)
    });
    Ok(Evaluation { value, gradient, hessian })
}

fn sums<'a>(
    objective: &Objective<'a>,
    side: &SampleBlocks<'a>,
    place: &ParameterPoint,
    scored: bool,
    asked: (Part<'_>, Want<'_>),
) -> Result<Sums> {
    let start = || Sums::new(objective.size(), asked.1);
    let add = |sums: &mut Sums, seen: &ChunkView<'_>| {
        sums.add(objective, side.class, seen, asked);
        Ok(())
    };
    objective.fold_rows(side, place, scored, start, add, Sums::join)
}
