//! Integrals of positive functions of two densities, the model's and the noise's, each to its own accuracy.

use noisewright_numerics::summation::log_sum_exp;

use super::quadrature::{Mass, Task};
use super::{Contrast, Divergent, Population, Precision, enumeration};
use crate::{Model, Result, View};

/// Number of functions that are integrated together.
pub(crate) const FUNCTIONS: usize = 6;

/// The integrals and, for each that is infinite, where.
pub(crate) struct PairIntegrals {
    pub(crate) values: [f64; FUNCTIONS],
    pub(crate) divergent: [Option<Divergent>; FUNCTIONS],
    pub(crate) relative_error: f64,
}

/// Logarithms of several functions of `(log p_d, log p_n)` at one point.
pub(crate) type PairFunctions<'a> = &'a (dyn Fn(f64, f64, &mut [f64; FUNCTIONS]) + Sync);

/// Integrates several positive functions of the two densities over the model's space.
pub(crate) fn integrate_pair(
    model: &Model,
    parameters: &[f64],
    contrast: Contrast<'_>,
    precision: &Precision,
    functions: PairFunctions<'_>,
) -> Result<PairIntegrals> {
    model.check(parameters)?;
    precision.check()?;
    contrast.check(model)?;
    let precision = &precision.for_run();
    let model = &model.with_cancel(&precision.cancel);
    if enumeration::applies(model) {
        let population = Population::for_contrast(model, parameters, contrast, precision)?;
        return Ok(over_population(&population, contrast, functions));
    }
    if !super::quadrature::applies(model) {
        return super::sampling::integrate_pair(model, parameters, contrast, precision, functions);
    }
    let task = Task::new(model, parameters, Some(contrast), precision);
    let (chart, axes) = task.coordinates()?;
    let options = super::quadrature::options(axes.axes.len(), precision);
    let Mass { log_z, .. } = task.integrate_mass(&chart, &axes, &options)?;
    let integrand = |coordinates: &[f64], rows: usize, out: &mut [f64]| {
        let (points, energy, _) = task.evaluate(&chart, coordinates, rows);
        let mut log_noise = vec![0.0; rows];
        contrast.noise.log_density(View::new(points.len() / rows, rows, &points), &mut log_noise);
        let mut values = [0.0; FUNCTIONS];
        for i in 0..rows {
            log_values(energy[i] - log_z, log_noise[i], functions, &mut values);
            (0..FUNCTIONS).for_each(|k| out[k * rows + i] = values[k]);
        }
    };
    let result = task.checked(&chart, axes.integrate(FUNCTIONS, &options, &integrand))?;
    let jacobian = chart.log_jacobian();
    Ok(PairIntegrals {
        values: std::array::from_fn(|k| (result.log_integrals[k] + jacobian).exp()),
        divergent: std::array::from_fn(|k| result.divergences[k].map(|d| task.name(&chart, d))),
        relative_error: result.relative_errors.iter().copied().filter(|e| e.is_finite()).fold(0.0, f64::max),
    })
}

fn over_population(
    population: &Population,
    contrast: Contrast<'_>,
    functions: PairFunctions<'_>,
) -> PairIntegrals {
    let log_noise = population.log_density_of(contrast.noise);
    let mut columns = vec![Vec::new(); FUNCTIONS];
    let mut values = [0.0; FUNCTIONS];
    for (i, q) in log_noise.iter().enumerate() {
        let p = population.log_density[i];
        log_values(p, *q, functions, &mut values);
        // The base-measure weight of a point is its weight under p_d over p_d.
        let log_measure = population.log_measure[i];
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value + log_measure));
    }
    PairIntegrals {
        values: std::array::from_fn(|k| log_sum_exp(&columns[k]).exp()),
        divergent: std::array::from_fn(|_| None),
        relative_error: population.accuracy().relative_error,
    }
}

/// The functions where at least one density is positive; both zero contribute nothing.
pub(super) fn log_values(
    log_data: f64,
    log_noise: f64,
    functions: PairFunctions<'_>,
    out: &mut [f64; FUNCTIONS],
) {
    if log_data == f64::NEG_INFINITY && log_noise == f64::NEG_INFINITY {
        out.fill(f64::NEG_INFINITY);
    } else {
        functions(log_data, log_noise, out);
    }
}
