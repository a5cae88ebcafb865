//! The loss of data against noise over the rows of some folds, coordinate by coordinate.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, add_triangle, mirror, weighted_sum, weighted_sums};
use noisewright_numerics::optimize::Evaluation;
use noisewright_numerics::parallel::join;
use noisewright_numerics::summation::sum;

use super::folds::Folds;
use crate::fit::distributed::{partial_fields, partial_scratch};
use crate::fit::evaluate::ParameterPoint;
use crate::fit::loss_terms::{Class, Terms};
use crate::fit::objective::Objective;
use crate::fit::sample_blocks::{FeatureView, SampleBlocks};
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

/// A part of the rows, and the parameters it is looked at with.
struct Asked<'f> {
    part: Part<'f>,
    place: ParameterPoint,
}

/// Sums over a sample, of everything that is asked one after the other.
struct Sums {
    weight: Vec<f64>,
    value: Vec<f64>,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    scratch: Scratch,
}

partial_fields!(Sums { weight, value, gradient, hessian, scratch });

/// Space that is used again for every chunk.
#[derive(Default)]
struct Scratch {
    terms: Terms,
    log_ratio: Vec<f64>,
    columns: Vec<f64>,
    /// Derivatives of the terms of everything that is asked, one after the other.
    first: Vec<f64>,
}

partial_scratch!(Scratch);

impl Sums {
    fn new(size: usize, count: usize, want: Want<'_>) -> Self {
        let (gradient, hessian) = match want {
            Want::Value => (0, 0),
            Want::Gradient => (size, 0),
            Want::Curvature(of) => (of.len(), of.len() * of.len()),
        };
        Self {
            weight: vec![0.0; count],
            value: vec![0.0; count],
            gradient: vec![0.0; count * gradient],
            hessian: vec![0.0; count * hessian],
            scratch: Scratch::default(),
        }
    }

    fn join(mut self, other: &Self) -> Self {
        let add = |a: &mut [f64], b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.weight, &other.weight);
        add(&mut self.value, &other.value);
        add(&mut self.gradient, &other.gradient);
        add(&mut self.hessian, &other.hessian);
        self
    }

    fn add(
        &mut self,
        (objective, class): (&Objective<'_>, Class),
        seen: &FeatureView<'_>,
        (asked, want): (&[Asked<'_>], Want<'_>),
    ) {
        let Scratch { terms, log_ratio, columns, first } = &mut self.scratch;
        let rows = seen.offset.len();
        first.clear();
        for (i, Asked { part, place }) in asked.iter().enumerate() {
            place.linear_log_ratio(objective.nu, seen.columns, seen.offset, log_ratio);
            terms.fill(&objective.loss, class, log_ratio);
            let weights = counted(seen, class, *part);
            let weights = weights.as_deref().or(seen.weights);
            terms.weigh(weights);
            self.weight[i] += weights.map_or(rows as f64, sum);
            self.value[i] += sum(&terms.value);
            if let Want::Curvature(of) = want {
                columns.clear();
                of.iter().for_each(|j| columns.extend_from_slice(seen.columns.column(*j)));
                let columns = Columns::new(columns, rows, of.len(), rows);
                weighted_sum(columns, &terms.first, &mut self.gradient[i * of.len()..][..of.len()]);
                let hessian = &mut self.hessian[i * of.len() * of.len()..][..of.len() * of.len()];
                add_triangle(columns, &terms.second, hessian);
            }
            first.extend_from_slice(&terms.first);
        }
        if matches!(want, Want::Gradient) {
            weighted_sums(seen.columns, Columns::new(first, rows, asked.len(), rows), &mut self.gradient);
        }
    }
}

/// How often the rows of a chunk count in a part, where not all do.
fn counted(seen: &FeatureView<'_>, class: Class, part: Part<'_>) -> Option<Vec<f64>> {
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
    Some((0..seen.offset.len()).map(row).collect())
}

/// The loss over a part of the rows, at unknowns in the solver's coordinates.
pub(super) fn evaluate(
    objective: &Objective<'_>,
    part: Part<'_>,
    at: &DVector<f64>,
    want: Want<'_>,
) -> Result<Evaluation> {
    let mut all = evaluate_each(objective, &[(part, at)], want)?;
    all.pop().ok_or_else(|| Error::internal("nothing found where one thing is asked"))
}

/// The losses over parts of the rows, each at unknowns of its own, in one pass over all rows.
pub(super) fn evaluate_each(
    objective: &Objective<'_>,
    parts: &[(Part<'_>, &DVector<f64>)],
    want: Want<'_>,
) -> Result<Vec<Evaluation>> {
    let mut asked = Vec::with_capacity(parts.len());
    for (part, at) in parts {
        let place = ParameterPoint::new(objective, at.as_slice());
        let place = place.ok_or_else(|| Error::internal("a penalised model has a free constant"))?;
        asked.push(Asked { part: *part, place });
    }
    let one = |side: &SampleBlocks<'_>| {
        let start = || Sums::new(objective.size(), asked.len(), want);
        let add = |sums: &mut Sums, seen: &FeatureView<'_>| {
            sums.add((objective, side.class), seen, (&asked, want));
        };
        objective.fold_features(side, start, add, |a: Sums, b: Sums| a.join(&b))
    };
    let (data, noise) = join(|| one(&objective.data), || one(&objective.noise));
    let (data, noise) = (data?, noise?);
    Ok((0..asked.len()).map(|i| evaluation(objective, (&data, &noise), i, want)).collect())
}

/// The loss of number `i` from the sums over both samples.
fn evaluation(
    objective: &Objective<'_>,
    (data, noise): (&Sums, &Sums),
    i: usize,
    want: Want<'_>,
) -> Evaluation {
    let (per_data, per_noise) = (1.0 / data.weight[i], objective.nu / noise.weight[i]);
    let both = |of: fn(&Sums) -> &[f64]| -> Vec<f64> {
        let (a, b) = (of(data), of(noise));
        let each = a.len() / data.weight.len();
        let pairs = a[i * each..][..each].iter().zip(&b[i * each..]);
        pairs.map(|(a, b)| a * per_data + b * per_noise).collect()
    };
    let value = data.value[i] * per_data + noise.value[i] * per_noise;
    let gradient = DVector::from_vec(both(|sums| &sums.gradient));
    if !value.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
        return Evaluation::wall(objective.size());
    }
    let hessian = matches!(want, Want::Curvature(_)).then(|| {
        let mut matrix = both(|sums| &sums.hessian);
        mirror(gradient.len(), &mut matrix);
        DMatrix::from_vec(gradient.len(), gradient.len(), matrix)
    });
    Evaluation { value, gradient, hessian }
}
