//! The likelihood of a model of finitely many states over the rows of some folds: only the means of the features differ.

use nalgebra::DVector;
use noisewright_numerics::optimize::{Evaluation, Problem};

use super::contrast::{Part, Want};
use super::folds::{FOLDS, Folds};
use crate::fit::data::Data;
use crate::fit::exact::Likelihood;
use crate::{Model, Result};

/// Rows whose features are held at a time.
const BLOCK: usize = 4096;

/// The negative mean log-likelihood in units of the features' standard deviations.
pub(super) struct Enumerated<'a> {
    pub(super) likelihood: Likelihood<'a>,
    pub(super) scale: Vec<f64>,
    /// Of every fold: the sum of its weights, of the energies at zero parameters, and of the features.
    sums: Vec<Sum>,
}

/// Sums over the rows of a fold.
#[derive(Clone)]
struct Sum {
    weight: f64,
    energy: f64,
    features: DVector<f64>,
}

impl Sum {
    fn plus(&self, other: &Self, sign: f64) -> Self {
        Self {
            weight: self.weight + sign * other.weight,
            energy: self.energy + sign * other.energy,
            features: &self.features + &other.features * sign,
        }
    }
}

impl<'a> Enumerated<'a> {
    pub(super) fn new(likelihood: Likelihood<'a>, scale: Vec<f64>) -> Self {
        Self { likelihood, scale, sums: Vec::new() }
    }

    /// Sums the features fold by fold.
    pub(super) fn divide(&mut self, model: &Model, data: Data<'_>, folds: &Folds) -> Result<()> {
        let size = self.scale.len();
        let zero = Sum { weight: 0.0, energy: 0.0, features: DVector::zeros(size) };
        let mut sums = vec![zero; FOLDS];
        for start in (0..data.points.rows()).step_by(BLOCK) {
            let end = data.points.rows().min(start + BLOCK);
            let rows = end - start;
            let (mut energy, mut features) = (vec![0.0; rows], vec![0.0; rows * size]);
            let points = data.points.slice(start..end);
            model.evaluate(&vec![0.0; size], points, &mut energy, Some(&mut features))?;
            for i in 0..rows {
                let (weight, sum) = (
                    data.weights.map_or(1.0, |w| w[start + i]),
                    &mut sums[usize::from(folds.data[start + i])],
                );
                if weight > 0.0 {
                    sum.weight += weight;
                    sum.energy += weight * energy[i];
                    (0..size).for_each(|j| sum.features[j] += weight * features[j * rows + i]);
                }
            }
        }
        self.sums = sums;
        Ok(())
    }

    /// `L(θ) = log Z(θ) − mean u`: over a part of the rows the mean is another one, and log Z the same.
    pub(super) fn evaluate(&self, part: Part<'_>, at: &DVector<f64>, want: Want<'_>) -> Result<Evaluation> {
        let scale = DVector::from_column_slice(&self.scale);
        let theta = at.component_div(&scale);
        let mut there = self.likelihood.evaluate(&theta, matches!(want, Want::Curvature(_)))?;
        if let Some((energy, features)) = self.shift(part) {
            there.value += energy + features.dot(&theta);
            there.gradient += features;
        }
        there.gradient.component_div_assign(&scale);
        if let Some(hessian) = &mut there.hessian {
            for (j, s) in self.scale.iter().enumerate() {
                hessian.row_mut(j).scale_mut(1.0 / s);
                hessian.column_mut(j).scale_mut(1.0 / s);
            }
        }
        Ok(match want {
            Want::Curvature(of) => there.part(of),
            _ => there,
        })
    }

    /// By how much the means over all rows exceed those over a part.
    fn shift(&self, part: Part<'_>) -> Option<(f64, DVector<f64>)> {
        let (fold, inside) = match part {
            Part::All => return None,
            Part::Without(_, fold) => (fold, false),
            Part::Of(_, fold) => (fold, true),
        };
        let first = self.sums.first()?;
        let all = self.sums.iter().skip(1).fold(first.clone(), |all, sum| all.plus(sum, 1.0));
        let of = &self.sums[usize::from(fold)];
        let some = if inside { of.clone() } else { all.plus(of, -1.0) };
        let energy = all.energy / all.weight - some.energy / some.weight;
        Some((energy, all.features / all.weight - some.features / some.weight))
    }
}
