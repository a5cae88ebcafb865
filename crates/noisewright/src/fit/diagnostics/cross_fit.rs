//! The information-matrix test with a noise that does not know the rows it is tested on.
//!
//! A noise with many fitted numbers follows the sample it was fitted to, and the test, which takes the noise as given, adds
//! up what is left of that over the same rows: it rejects right models (MATH §15). Here the noise is fitted to one half of
//! the rows and the test taken on the other, and the other way round, and the two sums are added (cross-fitting).

use std::sync::Arc;

use nalgebra::DMatrix;

use super::super::data::Data;
use super::super::evaluate::{ChunkView, ParameterPoint};
use super::super::loss_terms::Class;
use super::super::objective::{Objective, Order};
use super::super::result::Fit;
use super::super::sample_blocks::{CHUNK, HeldPoints, SampleBlocks};
use super::information::{ChiSquareTest, InformationTest};
use super::rows::Block;
use crate::run::{Context, Purpose};
use crate::{Error, Loss, Model, Noise, Points, Result, View};

/// Most rows that are tested: evenly spread ones of more.
const MOST_ROWS: usize = 1 << 16;
/// Most noise points of each half.
const MOST_POINTS: usize = 1 << 17;
/// Noise points per row, at least, of the test of a fit against quiet noise: what independent points add to its variance is
/// then a tenth.
const INDEPENDENT_NU: f64 = 10.0;
/// Fewest rows of a half to which a noise is fitted.
const FEWEST_ROWS: usize = 10;

/// Fits a noise to some rows.
pub(crate) type NoiseFit<'f> = &'f dyn Fn(View<'_>, Option<&[f64]>) -> Result<Arc<dyn Noise>>;

/// The test of a fit with noises of the kind that `noise_of` fits; `None` where the rows are too few, the halves do not
/// determine a noise, or there is nothing to test.
///
/// # Errors
/// When the model cannot be evaluated, or the fit is cancelled.
pub(crate) fn cross_fitted_test(
    model: &Model,
    data: Data<'_>,
    fit: &Fit,
    context: &Context,
    noise_of: NoiseFit<'_>,
) -> Result<Option<ChiSquareTest>> {
    let halves = [0, 1].map(|half| part(data, half));
    if halves.iter().any(|(points, _)| points.rows() < FEWEST_ROWS) {
        return Ok(None);
    }
    let mut joined: Option<(InformationTest, DMatrix<f64>)> = None;
    for half in 0..2 {
        let ((tested, weights), (others, other_weights)) = (&halves[half], &halves[1 - half]);
        let Ok(noise) = noise_of(others.view(), other_weights.as_deref()) else { return Ok(None) };
        let own = context.fold_in(Purpose::CrossFit { half: half as u64 });
        let tested = Tested { points: tested.view(), weights: weights.as_deref(), noise };
        let Some((test, information)) = tested.sums(model, fit, &halves[0].0, &own)? else {
            return Ok(None);
        };
        joined = Some(match joined {
            None => (test, information),
            Some((a, b)) => (a.join(test), b + information),
        });
    }
    Ok(joined.and_then(|(test, information)| test.finish(&information)))
}

/// Every second row, from the first or the second on, of all or of rows spread over all.
fn part(data: Data<'_>, half: usize) -> (Points, Option<Vec<f64>>) {
    let all = data.points.rows();
    let stride = all.div_ceil(MOST_ROWS).max(1);
    let rows: Vec<usize> = (0..all).step_by(stride).skip(half).step_by(2).collect();
    let values = (0..data.points.columns())
        .flat_map(|j| rows.iter().map(move |i| (i, j)))
        .map(|(i, j)| data.points.get(*i, j))
        .collect();
    let weights = data.weights.map(|w| rows.iter().map(|i| w[*i]).collect());
    (Points::unnamed(data.points.columns(), rows.len(), values), weights)
}

/// Half of the rows, with the noise that the other half gave.
struct Tested<'t> {
    points: View<'t>,
    weights: Option<&'t [f64]>,
    noise: Arc<dyn Noise>,
}

impl Tested<'_> {
    /// The sums of the test and `Σ s(1−s) ψψᵀ`, in the coordinates that `scale_rows` give; `None` where the noise misses a row.
    fn sums(
        &self,
        model: &Model,
        fit: &Fit,
        scale_rows: &Points,
        context: &Context,
    ) -> Result<Option<(InformationTest, DMatrix<f64>)>> {
        let mut log_noise = vec![0.0; self.points.rows()];
        self.noise.log_density(self.points, &mut log_noise);
        if log_noise.iter().any(|l| !l.is_finite()) {
            return Ok(None);
        }
        let data =
            SampleBlocks::memory(Class::Data, HeldPoints::Borrowed(self.points), self.weights, log_noise);
        // Quiet noise has few points, and the test here is one with independent ones.
        let nu = if fit.replicates.is_some() { fit.nu.max(INDEPENDENT_NU) } else { fit.nu };
        let points = ((nu * data.total).round() as usize).clamp(CHUNK, MOST_POINTS);
        let nu = points as f64 / data.total;
        let noise = SampleBlocks::drawn(self.noise.clone(), context, points);
        let objective = Objective::new(model, &Loss::Js, nu, data, noise, scale_rows.view(), false)?;
        let at = objective.scaling.inner(&fit.unknowns());
        let Some(information) = objective.full(&at, Order::Hessian)?.information else { return Ok(None) };
        let Some(place) = ParameterPoint::new(&objective, &at) else { return Err(Error::NoMass) };
        let sizes: Vec<f64> = information.diagonal().iter().map(|d| d.abs()).collect();
        let sum = |side: &SampleBlocks<'_>| {
            let add = |test: &mut InformationTest, seen: &ChunkView<'_>| {
                let (log_ratio, weights) = (seen.log_ratio, seen.weights);
                let data = side.class == Class::Data;
                test.add(&Block {
                    data,
                    rows: log_ratio.len(),
                    first_row: seen.first_row,
                    score: seen.score,
                    log_ratio,
                    weights,
                });
                Ok(())
            };
            objective.fold(side, &place, || InformationTest::new(&sizes), add, InformationTest::join)
        };
        let test = sum(&objective.data)?.join(sum(&objective.noise)?);
        Ok(Some((test, information * objective.data.total)))
    }
}
