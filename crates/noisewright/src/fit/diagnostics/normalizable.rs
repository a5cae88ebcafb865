//! Whether the fitted density integrates on its domain: a fit of a density that does not is no fit.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::random::stream;
use rand_distr::{Distribution, StandardNormal};

use crate::{Domain, Error, Model, Population, Precision, Result, View};

/// Most variables whose quadratic form is looked for.
const MOST_VARIABLES: usize = 128;

/// Places where a quadratic form is checked to be all there is.
const CHECKS: usize = 6;

/// Relative deviation from a quadratic form that is still rounding.
const QUADRATIC: f64 = 1e-8;

/// A density without an integral.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct NotNormalizable {
    /// The variable along which it does not fall fast enough, where it is one.
    pub variable: Option<String>,
    /// The end of the variable's domain.
    pub towards: String,
    /// The direction in the variables, where no single one is to blame: the density does not fall along it.
    pub direction: Option<Vec<f64>>,
}

/// Where the fitted density has no integral, if so; `None` also where that cannot be told. `center` and `scale` say
/// where the data are.
///
/// # Errors
/// When the model cannot be evaluated at all.
pub(crate) fn not_normalizable(
    model: &Model,
    parameters: &[f64],
    center: &[f64],
    scale: &[f64],
) -> Result<Option<NotNormalizable>> {
    let real = model.space().domains().iter().all(|d| *d == Domain::Real) && !model.space().is_sphere();
    if real
        && center.len() <= MOST_VARIABLES
        && let Some(form) = Quadratic::of(model, parameters, center, scale)?
    {
        return Ok(form.refusal(model));
    }
    let mut gradient = vec![0.0; parameters.len()];
    if model.log_normalizer(parameters, &mut gradient).is_some_and(f64::is_finite) {
        return Ok(None);
    }
    if let Some(found) = rising(model, parameters, center, scale)? {
        return Ok(Some(found));
    }
    let precision = Precision { relative: 1e-3, ..Precision::default() };
    match Population::check_integrable(model, parameters, &precision) {
        Err(Error::NotIntegrable { variable, towards }) => {
            Ok(Some(NotNormalizable { variable, towards, direction: None }))
        }
        // Whatever else stands in the way of an integral says nothing about the tails.
        _ => Ok(None),
    }
}

/// Distances from the data, in their deviations, between which a density must fall.
const FAR: [f64; 4] = [1e3, 1e4, 1e5, 1e6];

/// A variable along which the log-density still rises far from the data.
fn rising(
    model: &Model,
    parameters: &[f64],
    center: &[f64],
    scale: &[f64],
) -> Result<Option<NotNormalizable>> {
    for (axis, domain) in model.space().domains().iter().enumerate() {
        let ends = [(domain.bounds().0, -1.0), (domain.bounds().1, 1.0)];
        for (_, sign) in ends.into_iter().filter(|(end, _)| end.is_infinite()) {
            let step = |far: &f64| {
                let reach = sign
                    * far
                    * if domain.is_discrete() { scale[axis].max(1.0).round() } else { scale[axis] };
                let mut z = vec![0.0; center.len()];
                z[axis] = reach / scale[axis];
                z
            };
            let mut at = center.to_vec();
            if domain.is_discrete() {
                at[axis] = at[axis].round();
            }
            let steps: Vec<Vec<f64>> = FAR.iter().map(step).collect();
            let values = heights(model, parameters, &at, scale, &steps)?;
            if values.is_some_and(|v| v.windows(2).all(|pair| pair[1] > pair[0])) {
                let variable = Some(model.space().names()[axis].clone());
                let towards = crate::error::number(f64::INFINITY.copysign(sign));
                return Ok(Some(NotNormalizable { variable, towards, direction: None }));
            }
        }
    }
    Ok(None)
}

/// A log-density that is quadratic in the variables: `u(center + scale·z) = u₀ + b·z + ½ zᵀAz`.
struct Quadratic {
    slope: DVector<f64>,
    curvature: DMatrix<f64>,
    scale: Vec<f64>,
}

impl Quadratic {
    /// The form from second differences, which are exact for it; `None` when there is more to the function.
    fn of(model: &Model, parameters: &[f64], center: &[f64], scale: &[f64]) -> Result<Option<Self>> {
        let d = center.len();
        let mut steps: Vec<Vec<f64>> = vec![vec![0.0; d]];
        let unit = |places: &[(usize, f64)]| {
            let mut z = vec![0.0; d];
            places.iter().for_each(|(j, t)| z[*j] += t);
            z
        };
        for i in 0..d {
            steps.extend([unit(&[(i, 1.0)]), unit(&[(i, -1.0)])]);
        }
        for i in 0..d {
            steps.extend((0..i).map(|j| unit(&[(i, 1.0), (j, 1.0)])));
        }
        let mut random = stream(0, 0);
        let mut far = || -> f64 { StandardNormal.sample(&mut random) };
        let checks: Vec<Vec<f64>> = (0..CHECKS).map(|_| (0..d).map(|_| 3.0 * far()).collect()).collect();
        steps.extend(checks.iter().cloned());
        let Some(values) = heights(model, parameters, center, scale, &steps)? else { return Ok(None) };
        let form = Self::from_differences(&values, scale);
        let largest = values.iter().fold(0.0f64, |top, v| top.max((v - values[0]).abs()));
        let first = values.len() - CHECKS;
        let agrees = checks.iter().zip(&values[first..]).all(|(z, value)| {
            let z = DVector::from_column_slice(z);
            let predicted = values[0] + form.slope.dot(&z) + 0.5 * z.dot(&(&form.curvature * &z));
            (predicted - value).abs() <= QUADRATIC * largest.max(values[0].abs())
        });
        Ok(agrees.then_some(form))
    }

    fn from_differences(values: &[f64], scale: &[f64]) -> Self {
        let d = scale.len();
        let (zero, up, down) = (values[0], |i: usize| values[1 + 2 * i], |i: usize| values[2 + 2 * i]);
        let pair = |i: usize, j: usize| values[1 + 2 * d + i * (i - 1) / 2 + j];
        let curvature = DMatrix::from_fn(d, d, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Equal => up(i) - 2.0 * zero + down(i),
            std::cmp::Ordering::Greater => pair(i, j) - up(i) - up(j) + zero,
            std::cmp::Ordering::Less => pair(j, i) - up(i) - up(j) + zero,
        });
        Self { slope: DVector::from_fn(d, |i, _| 0.5 * (up(i) - down(i))), curvature, scale: scale.to_vec() }
    }

    /// The direction along which it does not fall, if there is one.
    fn refusal(&self, model: &Model) -> Option<NotNormalizable> {
        let eigen = self.curvature.clone().symmetric_eigen();
        let worst = eigen.eigenvalues.imax();
        let largest = eigen.eigenvalues.amax();
        // A curvature of rounding alone is none: the density is flat or exponential along it.
        if eigen.eigenvalues[worst] < -1e-12 * largest {
            return None;
        }
        let z = eigen.eigenvectors.column(worst).into_owned();
        let rising = if self.slope.dot(&z) < 0.0 { -z } else { z };
        let own: Vec<f64> = rising.iter().zip(&self.scale).map(|(z, s)| z * s).collect();
        let main = rising.iamax();
        let alone = rising[main].abs() > 0.999;
        Some(NotNormalizable {
            variable: alone.then(|| model.space().names()[main].clone()),
            towards: crate::error::number(f64::INFINITY.copysign(rising[main])),
            direction: (!alone).then_some(own),
        })
    }
}

/// The log-density at steps from the center; `None` where one is not finite.
fn heights(
    model: &Model,
    parameters: &[f64],
    center: &[f64],
    scale: &[f64],
    steps: &[Vec<f64>],
) -> Result<Option<Vec<f64>>> {
    let rows = steps.len();
    let points: Vec<f64> =
        (0..center.len()).flat_map(|j| steps.iter().map(move |z| center[j] + scale[j] * z[j])).collect();
    let mut values = vec![0.0; rows];
    match model.evaluate(parameters, View::new(center.len(), rows, &points), &mut values, None) {
        Ok(()) => Ok(values.iter().all(|v| v.is_finite()).then_some(values)),
        Err(Error::NotANumber { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{FamilyOptions, Parameter, Space};

    #[test]
    fn a_gaussian_of_ten_variables_with_one_bad_direction_is_refused_along_it() {
        let variables: Vec<String> = (0..10).map(|j| format!("x{j}")).collect();
        let model = Model::from_family("gaussian", &variables, &FamilyOptions::default(), false).unwrap();
        let mut theta = model.start();
        // P01 = 1.01 between two unit precisions: the direction (1, −1)/√2 has the precision −0.01.
        theta[model.index_of("P01").unwrap()] = 1.01;
        let found = not_normalizable(&model, &theta, &[0.3; 10], &[1.0; 10]).unwrap().unwrap();
        let direction = found.direction.unwrap();
        assert!((direction[0] + direction[1]).abs() < 1e-6 && direction[0].abs() > 0.7);
        assert!(direction[2..].iter().all(|d| d.abs() < 1e-6));
        theta[model.index_of("P01").unwrap()] = 0.99;
        assert_eq!(not_normalizable(&model, &theta, &[0.3; 10], &[1.0; 10]).unwrap(), None);
    }

    #[test]
    fn the_leading_power_decides_on_the_line() {
        let model = Model::from_features(&["x^2", "x^4"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
        let at = |theta: [f64; 2]| not_normalizable(&model, &theta, &[0.0], &[1.0]).unwrap();
        assert_eq!(at([1.0, -0.1]), None);
        assert_eq!(at([-1.0, 1e-3]).unwrap().variable.as_deref(), Some("x"));
        assert_eq!(at([-1.0, 0.0]), None);
        assert!(at([1.0, 0.0]).is_some());
    }

    #[test]
    fn counts_with_negative_dispersion_do_not_sum() {
        let space = Space::product(&[("x", Domain::Counts)]).unwrap();
        let names = vec![Parameter::new("rate", 0.0), Parameter::new("dispersion", 0.0)];
        let model = Model::from_features(&["x", "-lgamma(x + 1)"], space, names).unwrap();
        let at = |theta: [f64; 2]| not_normalizable(&model, &theta, &[3.0], &[2.0]).unwrap();
        let found = at([0.5, -0.05]).unwrap();
        assert_eq!((found.variable.as_deref(), found.towards.as_str()), (Some("x"), "∞"));
        assert_eq!(at([0.5, 0.3]), None);
        assert!(at([0.1, 0.0]).is_some());
        assert_eq!(at([-0.1, 0.0]), None);
    }
}
