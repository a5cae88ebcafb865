//! The information-matrix test with a noise that does not know the rows it is tested on.
//!
//! A noise with many fitted numbers follows the sample it was fitted to, and the test, which takes the noise as given, adds
//! up what is left of that over the same rows: it rejects right models (MATH §15). Here the rows are dealt into three parts at
//! random; every part is tested with a noise fitted to the next one, and the three are added (cross-fitting).
//!
//! Three parts in a cycle, not two halves that change places. With U(a; b) the indicators of the rows a against the noise of
//! the rows b, `E[U(a; b) | b] = 0` at the truth. Of two terms of the cycle one does not know the rows that the other one
//! tests, so that they are uncorrelated. `U(a; b)` and `U(b; a)` are not: where the indicator is made of the noise's own
//! deviations from the density, as `1 − 2s` is, both are the same sum over pairs of a row of a and a row of b, and twice that
//! has twice the variance of two separate ones. And every term counts in units of its own deviations, because an outlier
//! among the rows that are tested is one among those that make the noise, and with it the deviation, of another term.
//!
//! At random, because rows may be sorted: of neighbours dealt in turn the parts would be each other's copies.

use std::sync::Arc;

use rand::seq::SliceRandom;

use super::super::data::Data;
use super::super::evaluate::{ChunkView, ParameterPoint};
use super::super::loss_terms::Class;
use super::super::objective::{Objective, Order};
use super::super::result::Fit;
use super::super::sample_blocks::{CHUNK, HeldPoints, SampleBlocks};
use super::information::{ChiSquareTest, InformationTest, Standardized};
use super::rows::Block;
use crate::run::{Context, Purpose};
use crate::{Error, Loss, Model, Noise, Points, Result, View};

/// Most rows that are tested: evenly spread ones of more.
const MOST_ROWS: usize = 1 << 16;
/// Most noise points of each part.
const MOST_POINTS: usize = 1 << 17;
/// Noise points per row, at least, of the test of a fit against quiet noise: what independent points add to its variance is
/// then a tenth.
const INDEPENDENT_NU: f64 = 10.0;
/// How many parts the rows are dealt into: the fewest that can be in a cycle without two that know each other.
const PARTS: usize = 3;
/// Fewest rows of a part to which a noise is fitted.
const FEWEST_ROWS: usize = 7;

/// Fits a noise to some rows.
pub(crate) type NoiseFit<'f> = &'f dyn Fn(View<'_>, Option<&[f64]>) -> Result<Arc<dyn Noise>>;

/// The test of a fit with noises of the kind that `noise_of` fits; `None` where the rows are too few, a part does not
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
    let parts = parts(data, context);
    if parts.iter().any(|(points, _)| points.rows() < FEWEST_ROWS) {
        return Ok(None);
    }
    let mut joined: Option<Standardized> = None;
    for part in 0..PARTS {
        let ((tested, weights), (others, other_weights)) = (&parts[part], &parts[(part + 1) % PARTS]);
        let Ok(noise) = noise_of(others.view(), other_weights.as_deref()) else { return Ok(None) };
        let own = context.fold_in(Purpose::CrossFit { part: part as u64 });
        let tested = Tested { points: tested.view(), weights: weights.as_deref(), noise };
        let Some(test) = tested.test(model, fit, &parts[0].0, &own)? else { return Ok(None) };
        joined = Some(match joined {
            None => test,
            Some(before) => before.join(test),
        });
    }
    Ok(joined.and_then(|test| test.finish()))
}

/// Rows with their weights, if they have any.
type Part = (Points, Option<Vec<f64>>);

/// All rows, or rows spread over all, dealt at random.
fn parts(data: Data<'_>, context: &Context) -> Vec<Part> {
    let all = data.points.rows();
    let stride = all.div_ceil(MOST_ROWS).max(1);
    let mut dealt: Vec<usize> = (0..all).step_by(stride).collect();
    // A block that no noise is drawn for: the noises have seeds of their own.
    dealt.shuffle(&mut context.stream(Purpose::CrossFit { part: PARTS as u64 }, 0));
    let part = |k: usize| {
        let rows: Vec<usize> = dealt.iter().skip(k).step_by(PARTS).copied().collect();
        let values = (0..data.points.columns())
            .flat_map(|j| rows.iter().map(move |i| (i, j)))
            .map(|(i, j)| data.points.get(*i, j))
            .collect();
        let weights = data.weights.map(|w| rows.iter().map(|i| w[*i]).collect());
        (Points::unnamed(data.points.columns(), rows.len(), values), weights)
    };
    (0..PARTS).map(part).collect()
}

/// A part of the rows, with the noise that another part gave.
struct Tested<'t> {
    points: View<'t>,
    weights: Option<&'t [f64]>,
    noise: Arc<dyn Noise>,
}

impl Tested<'_> {
    /// The test in units of its own deviations, in the coordinates that `scale_rows` give; `None` where the noise misses a row
    /// or there is nothing to test.
    fn test(
        &self,
        model: &Model,
        fit: &Fit,
        scale_rows: &Points,
        context: &Context,
    ) -> Result<Option<Standardized>> {
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
        Ok(test.standardized(&(information * objective.data.total)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use noisewright_numerics::parallel;

    use super::*;
    use crate::fit::{Amount, FitOptions, NoiseChoice, fit};
    use crate::{Bandwidth, KernelDensity, Normal, Space, sample};

    /// The statistic over its degrees of freedom, of normal rows in a normal model with kernel densities for noise.
    fn relative(seed: u64, sorted: bool) -> f64 {
        let model = Model::from_features(&["x", "x^2"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
        let mut values =
            sample(&Normal::with_variance(1.0, 4.0).unwrap(), 600, seed).view().column(0).to_vec();
        if sorted {
            values.sort_by(f64::total_cmp);
        }
        let points = Points::unnamed(1, values.len(), values);
        let given: Arc<dyn Noise> = Arc::new(Normal::with_variance(1.0, 4.0).unwrap());
        let options = FitOptions {
            seed,
            noise: NoiseChoice::Given(given),
            amount: Amount::Ratio(5.0),
            ..FitOptions::default()
        };
        let fitted = fit(&model, Data::from(&points), &options).unwrap();
        let kernels = |points: View<'_>, weights: Option<&[f64]>| -> Result<Arc<dyn Noise>> {
            Ok(Arc::new(KernelDensity::fit(points, weights, Bandwidth::Silverman)?))
        };
        let data = Data::from(&points);
        let test =
            cross_fitted_test(&model, data, &fitted, &Context::seeded(seed), &kernels).unwrap().unwrap();
        test.statistic / test.degrees_of_freedom as f64
    }

    /// The mean of χ² is its degrees of freedom, here three with a variance of six: the mean of 300 ratios is known to
    /// √(2/3/300). With halves that change places it was 1.3 in a copy in NumPy, and
    /// sorted rows were rejected more often still.
    #[test]
    fn the_statistic_has_the_mean_of_its_distribution() {
        for sorted in [false, true] {
            let ratios: Vec<f64> = parallel::map(0..300, |seed| relative(seed, sorted));
            let mean = ratios.iter().sum::<f64>() / 300.0;
            println!("sorted: {sorted}, statistic per degree of freedom {mean}");
            assert!((mean - 1.0).abs() < 4.0 * (2.0f64 / 3.0 / 300.0).sqrt(), "sorted: {sorted}, {mean}");
        }
    }
}
