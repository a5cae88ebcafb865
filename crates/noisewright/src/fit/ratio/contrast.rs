//! Two samples told apart by penalised logistic regression on a model's features, and what every row contributes to it.
//!
//! Minimised is `L(γ) + λ/2 Σ γ_j²` over the coefficients γ of centred and scaled features, the constant not among them; L is the JS
//! loss (MATH §2). With λ = s/n the penalty is that of independent normal priors of variance 1/s.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::linalg::{Inverse, invert};
use noisewright_numerics::optimize::{DescentOptions, Evaluation, Problem, newton};

use crate::fit::diagnostics::{self, Overlap};
use crate::fit::evaluate::{ChunkView, ParameterPoint};
use crate::fit::loss_terms::{Class, Terms};
use crate::fit::objective::Objective;
use crate::fit::options::FitOptions;
use crate::fit::prepare;
use crate::fit::sample_blocks::{HeldPoints, SampleBlocks};
use crate::fit::scaling::Scaling;
use crate::fit::solve::mean_log_ratio;
use crate::run::Stage;
use crate::{Error, Loss, Model, Points, Result, View};

/// A loss with its penalty.
struct Penalized<'o, 'a> {
    objective: &'o Objective<'a>,
    /// λ.
    strength: f64,
}

impl Problem for Penalized<'_, '_> {
    type Error = Error;

    fn rows(&self) -> f64 {
        self.objective.data.total
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn evaluate(&self, at: &DVector<f64>, hessian: bool) -> Result<Evaluation> {
        let mut found = self.objective.evaluate(at, hessian)?;
        for j in 0..at.len() - 1 {
            found.value += 0.5 * self.strength * at[j] * at[j];
            found.gradient[j] += self.strength * at[j];
            if let Some(hessian) = &mut found.hessian {
                hessian[(j, j)] += self.strength;
            }
        }
        Ok(found)
    }
}

/// A contrast at its minimum, in the coordinates of centred and scaled features, the constant last.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub(super) at: DVector<f64>,
    /// The inverse of the curvature with its penalty.
    pub(super) bread: DMatrix<f64>,
    /// λ.
    pub(super) strength: f64,
    pub(super) iterations: usize,
    pub(super) overlap: Overlap,
    /// Whether the samples have too little in common to say anything.
    pub(super) apart: bool,
    /// Rows of the first sample.
    pub(super) rows: f64,
}

/// The loss of two samples whose log ratio is a combination of the model's features.
///
/// # Errors
/// When a feature is not a number.
pub(super) fn objective<'a>(
    model: &'a Model,
    first: HeldPoints<'a>,
    second: HeldPoints<'a>,
    scaling: &Scaling,
) -> Result<Objective<'a>> {
    let (n1, n2) = (first.view().rows(), second.view().rows());
    let (data, noise) = (side(Class::Data, first), side(Class::Noise, second));
    let none = View::new(model.space().dimension(), 0, &[]);
    let mut objective = Objective::new(model, &Loss::Js, n2 as f64 / n1 as f64, data, noise, none, false)?;
    objective.of_density = false;
    objective.in_coordinates(scaling.clone())
}

/// The mean log ratio of either sample.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(super) fn mean_log_ratios(objective: &Objective<'_>, at: &DVector<f64>) -> Result<[f64; 2]> {
    let place = place(objective, at)?;
    let mean = |side| mean_log_ratio(objective, side, &place).map(|mean| mean.unwrap_or(f64::NAN));
    let shift = objective.nu.ln();
    Ok([mean(&objective.data)? + shift, mean(&objective.noise)? + shift])
}

/// One sample; both log-densities of the "noise" are zero, so that what is left of g is the log ratio itself.
fn side(class: Class, points: HeldPoints<'_>) -> SampleBlocks<'_> {
    let rows = points.view().rows();
    SampleBlocks::memory(class, points, None, vec![0.0; rows])
}

/// The minimum of the loss with the penalty `s/n`, from a start or from a ratio of one.
///
/// # Errors
/// When features cannot be told apart without a penalty, or it is cancelled.
pub(super) fn solve(
    objective: &Objective<'_>,
    prior: f64,
    start: Option<&DVector<f64>>,
    tolerance: f64,
    options: &FitOptions,
) -> Result<Solved> {
    let rows = objective.data.total.min(objective.noise.total);
    let problem = Penalized { objective, strength: prior / rows };
    let flat = DVector::zeros(objective.size());
    let watch = |iteration: usize, value: f64| options.report(Stage::Descent, iteration, value);
    let descent = DescentOptions { tolerance, max_iterations: options.max_iterations, watch: &watch };
    let found = newton(&problem, start.unwrap_or(&flat), &descent)?;
    // Evaluated less than the tolerance away from the minimum.
    let bent = found.last.hessian.ok_or(Error::NoMass)?;
    let Inverse::Regular(bread) = invert(&bent) else { return Err(Error::HardlyAnyOverlap) };
    let overlap = diagnostics::overlap_at(objective, found.at.as_slice())?;
    let free: Vec<usize> = (0..objective.size()).collect();
    let separated = prior == 0.0
        && diagnostics::separated(objective, found.at.as_slice(), &bent, &free, found.stop)?.is_some();
    Ok(Solved {
        apart: separated || overlap.is_hopeless() || !found.stop.converged(),
        at: found.at,
        bread,
        strength: problem.strength,
        iterations: found.iterations,
        overlap,
        rows: objective.data.total,
    })
}

/// The mean loss of every row at the estimate that the other rows would give: leave-one-out cross-validation, with one Newton
/// step from the common estimate in place of each (Rad and Maleki 2020). Twice, over both samples, as the loss itself.
///
/// # Errors
/// When the rows cannot be passed over again.
pub(super) fn held_out_loss(objective: &Objective<'_>, solved: &Solved) -> Result<f64> {
    let place = place(objective, &solved.at)?;
    let root = root(&solved.bread);
    let one = |side: &SampleBlocks<'_>, unit: f64| -> Result<f64> {
        let visit = |total: &mut (f64, Terms), seen: &ChunkView<'_>| {
            let (class, terms) = (side.class, &mut total.1);
            terms.fill(&objective.loss, class, seen.log_ratio);
            let psi = matrix(seen);
            let whitened = psi * &root;
            let moved: Vec<f64> = (0..seen.log_ratio.len())
                .map(|i| {
                    let leverage = unit * whitened.row(i).norm_squared();
                    let left = (1.0 - terms.second[i] * leverage).max(LEAST_LEFT);
                    seen.log_ratio[i] + terms.first[i] * leverage / left
                })
                .collect();
            terms.fill(&objective.loss, class, &moved);
            total.0 += terms.value.iter().sum::<f64>();
            Ok(())
        };
        let join = |a: (f64, Terms), b: (f64, Terms)| (a.0 + b.0, a.1);
        Ok(objective.fold(side, &place, || (0.0, Terms::default()), visit, join)?.0 * unit)
    };
    let (data, noise) = (1.0 / objective.data.total, objective.nu / objective.noise.total);
    Ok(one(&objective.data, data)? + one(&objective.noise, noise)?)
}

/// Least share of its own curvature that a row leaves to the others.
const LEAST_LEFT: f64 = 1e-3;

fn place(objective: &Objective<'_>, at: &DVector<f64>) -> Result<ParameterPoint> {
    ParameterPoint::new(objective, at.as_slice())
        .ok_or_else(|| Error::internal("the model of a ratio has a free constant"))
}

/// A matrix R with `R Rᵀ` the given one.
fn root(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    matrix.clone().cholesky().map_or_else(|| matrix.clone() * f64::NAN, |factor| factor.l())
}

/// The scores of some rows.
fn matrix(seen: &ChunkView<'_>) -> DMatrix<f64> {
    let columns = seen.score;
    let all = (0..columns.columns()).flat_map(|j| columns.column(j).iter().copied());
    DMatrix::from_iterator(columns.rows(), columns.columns(), all)
}

/// Rows at one estimate: scaled features with −1 for the constant, the log ratio without the samples' sizes.
pub(super) struct Features {
    pub(super) psi: DMatrix<f64>,
    pub(super) offset: Vec<f64>,
}

impl Features {
    /// # Errors
    /// When a feature is not a number.
    pub(super) fn new(model: &Model, scaling: &Scaling, points: View<'_>) -> Result<Self> {
        let rows = points.rows();
        let found = prepare::features(model, scaling, points, &vec![0.0; rows])?;
        let columns = found.columns.len() / rows.max(1);
        Ok(Self { psi: DMatrix::from_vec(rows, columns, found.columns), offset: found.offset })
    }

    /// The log ratio at coefficients.
    pub(super) fn log_ratio(&self, at: &DVector<f64>) -> Vec<f64> {
        let fitted = &self.psi * at;
        fitted.iter().zip(&self.offset).map(|(g, o)| g + o).collect()
    }

    /// What the rows, as members of a class, add to the gradient of the loss: one row each.
    pub(super) fn scores(&self, class: Class, at: &DVector<f64>, nu: f64, unit: f64) -> DMatrix<f64> {
        let g: Vec<f64> = self.log_ratio(at).iter().map(|g| g - nu.ln()).collect();
        let mut terms = Terms::default();
        terms.fill(&Loss::Js, class, &g);
        let mut out = self.psi.clone();
        for mut column in out.column_iter_mut() {
            column.iter_mut().zip(&terms.first).for_each(|(x, first)| *x *= unit * first);
        }
        out
    }
}

/// At most so many rows of a sample, spread evenly over it.
pub(super) fn some_rows(view: View<'_>, most: usize) -> Points {
    let all = 0..view.rows();
    let ranges = if all.len() <= most { vec![all] } else { prepare::spread(view.rows(), most) };
    prepare::pick(view, None, &ranges).0
}

/// Some rows of both samples, in turn, so that any stretch of them is of both.
pub(super) fn pooled(first: View<'_>, second: View<'_>, most: usize) -> Points {
    let each = |rows: usize| rows.min(most.div_ceil(2));
    let (a, b) = (each(first.rows()), each(second.rows()));
    let rows = a + b;
    // Rows of both are spread over the whole in proportion: the i-th is of the first sample where its share steps.
    let pick = |i: usize| {
        let (before, after) = (i * a / rows, (i + 1) * a / rows);
        if after > before {
            (first, before * first.rows() / a)
        } else {
            let other = i - after;
            (second, other * second.rows() / b)
        }
    };
    let columns = first.columns();
    let values = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j)));
    let values = values.map(|(i, j)| {
        let (from, row) = pick(i);
        from.get(row, j)
    });
    Points::unnamed(columns, rows, values.collect())
}
