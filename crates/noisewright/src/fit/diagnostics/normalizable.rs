//! Whether the fitted density integrates on its domain: a fit of a density that does not is no fit.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::summation::mean_and_variance;
use rand_distr::{Distribution, StandardNormal};

use super::rays;
use crate::run::Purpose;
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

/// Where the data are: their means and deviations, and the directions in which they are spread most and least.
pub(crate) struct Whereabouts {
    pub(crate) center: Vec<f64>,
    pub(crate) scale: Vec<f64>,
    /// Eigenvectors of the correlation, in columns.
    pub(crate) axes: DMatrix<f64>,
}

impl Whereabouts {
    /// From some of the data.
    pub(crate) fn of(sample: View<'_>) -> Self {
        let usable =
            |variance: f64| if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 };
        let (rows, size) = (sample.rows(), sample.columns());
        let moments = (0..size).map(|j| mean_and_variance(sample.column(j)));
        let (center, scale): (Vec<f64>, Vec<f64>) =
            moments.map(|(mean, variance)| (mean, usable(variance))).unzip();
        let standard = DMatrix::from_fn(rows, size, |i, j| (sample.get(i, j) - center[j]) / scale[j]);
        let correlation = standard.tr_mul(&standard) / rows.max(1) as f64;
        let known = size <= MOST_VARIABLES && correlation.iter().all(|x| x.is_finite());
        let axes =
            if known { correlation.symmetric_eigen().eigenvectors } else { DMatrix::identity(size, size) };
        Self { center, scale, axes }
    }
}

/// Where the fitted density has no integral, if so; `None` also where that cannot be told.
///
/// # Errors
/// When the model cannot be evaluated at all.
pub(crate) fn not_normalizable(
    model: &Model,
    parameters: &[f64],
    data: &Whereabouts,
) -> Result<Option<NotNormalizable>> {
    let (center, scale) = (&data.center, &data.scale);
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
    if let Some(found) = rays::rising(model, parameters, data)? {
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
        let mut random = Purpose::IntegrabilityProbe { kind: 0 }.fixed_stream();
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
            towards: crate::text::number(f64::INFINITY.copysign(rising[main])),
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

    fn around(center: &[f64], scale: &[f64]) -> Whereabouts {
        let size = center.len();
        Whereabouts { center: center.to_vec(), scale: scale.to_vec(), axes: DMatrix::identity(size, size) }
    }

    #[test]
    fn a_gaussian_of_ten_variables_with_one_bad_direction_is_refused_along_it() {
        let variables: Vec<String> = (0..10).map(|j| format!("x{j}")).collect();
        let model = Model::from_family("gaussian", &variables, &FamilyOptions::default(), false).unwrap();
        let mut theta = model.start();
        // P01 = 1.01 between two unit precisions: the direction (1, −1)/√2 has the precision −0.01.
        theta[model.index_of("P01").unwrap()] = 1.01;
        let found = not_normalizable(&model, &theta, &around(&[0.3; 10], &[1.0; 10])).unwrap().unwrap();
        let direction = found.direction.unwrap();
        assert!((direction[0] + direction[1]).abs() < 1e-6 && direction[0].abs() > 0.7);
        assert!(direction[2..].iter().all(|d| d.abs() < 1e-6));
        theta[model.index_of("P01").unwrap()] = 0.99;
        assert_eq!(not_normalizable(&model, &theta, &around(&[0.3; 10], &[1.0; 10])).unwrap(), None);
    }

    #[test]
    fn the_leading_power_decides_on_the_line() {
        let model = Model::from_features(&["x^2", "x^4"], Space::real(&["x"]).unwrap(), vec![]).unwrap();
        let at = |theta: [f64; 2]| not_normalizable(&model, &theta, &around(&[0.0], &[1.0])).unwrap();
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
        let at = |theta: [f64; 2]| not_normalizable(&model, &theta, &around(&[3.0], &[2.0])).unwrap();
        let found = at([0.5, -0.05]).unwrap();
        assert_eq!((found.variable.as_deref(), found.towards.as_str()), (Some("x"), "∞"));
        assert_eq!(at([0.5, 0.3]), None);
        assert!(at([0.1, 0.0]).is_some());
        assert_eq!(at([-0.1, 0.0]), None);
    }

    #[test]
    fn a_quartic_of_the_plane_that_rises_along_a_diagonal_or_a_narrow_cone_is_refused() {
        let features = ["x^2", "y^2", "x^4", "y^4", "x^2*y^2", "x^3*y"];
        let model = Model::from_features(&features, Space::real(&["x", "y"]).unwrap(), vec![]).unwrap();
        let at =
            |theta: [f64; 6]| not_normalizable(&model, &theta, &around(&[0.2, -0.1], &[1.0, 2.0])).unwrap();
        // −x⁴ − y⁴ + k x²y² falls everywhere for k < 2 and rises along both diagonals above.
        assert_eq!(at([1.0, 1.0, -1.0, -1.0, 1.9, 0.0]), None);
        let found = at([-1.0, -1.0, -1.0, -1.0, 2.1, 0.0]).unwrap();
        let direction = found.direction.unwrap();
        assert!((direction[0].abs() / direction[1].abs() - 1.0).abs() < 0.3, "{direction:?}");
        // A cone of two degrees: −(y − 3x)²(x² + y²) + ε x⁴ along y = 3x.
        let narrow = |e: f64| not_normalizable(&cone(), &[1.0, e], &around(&[0.0; 2], &[1.0; 2])).unwrap();
        assert!(narrow(1e-2).is_some() && narrow(-1e-2).is_none());
    }

    fn cone() -> Model {
        let parameters = vec![Parameter::new("a", 1.0), Parameter::new("e", 0.0)];
        let formula = "-a*(y - 3*x)^2*(x^2 + y^2) + e*x^4";
        Model::from_formula(formula, Space::real(&["x", "y"]).unwrap(), parameters, false).unwrap()
    }

    #[test]
    fn four_variables_of_which_two_are_unbounded_are_followed_along_those_alone() {
        let domains = [
            ("a", Domain::Interval(0.0, 1.0)),
            ("x", Domain::Real),
            ("y", Domain::Positive),
            ("k", Domain::Circle),
        ];
        let space = Space::product(&domains).unwrap();
        let model = Model::from_features(&["-x^4 - y^4", "x^2*y^2", "a", "cos(k)"], space, vec![]).unwrap();
        let at = |theta: [f64; 4]| {
            not_normalizable(&model, &theta, &around(&[0.5, 0.0, 1.0, 0.0], &[0.3, 1.0, 1.0, 1.0])).unwrap()
        };
        let found = at([1.0, 2.5, 1.0, 0.5]).unwrap().direction.unwrap();
        assert!(found[0] == 0.0 && found[3] == 0.0 && found[2] > 0.0, "{found:?}");
        assert_eq!(at([1.0, 1.5, 1.0, 0.5]), None);
    }
}
