//! Samplable densities around a population, of which a noise can be mixed in any number of dimensions.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use crate::memory::check_count;
use crate::{
    Categorical, Domain, Error, Mixture, MultivariateNormal, MultivariateStudent, NegativeBinomial, Noise,
    Normal, Poisson, Population, Product, Result, Space, Student, Truncated, UniformSphere, View, VonMises,
    VonMisesFisher,
};

/// What a dictionary holds.
#[derive(Clone, Debug, PartialEq)]
pub struct DictionaryOptions {
    /// Widths of the copies of the fitted distribution, as factors (default 0.5 to 4).
    pub scales: Vec<f64>,
    /// Lengths of the shifts to both sides, in standard deviations (default 1, 1.5 and 2.5).
    pub shifts: Vec<f64>,
    /// Width along its shift of the narrow one of each two shifted copies, as a factor (default 0.6).
    pub squeeze: f64,
    /// Width of the copies that are stretched in one direction, as a factor (default 2.5).
    pub stretch: f64,
    /// Number of kernels at points where the exact optimum has its mass (default 32).
    pub kernels: usize,
    /// Degrees of freedom of the heavy-tailed copies (default 5).
    pub dof: f64,
    #[doc(hidden)]
    pub more: crate::More,
}

impl Default for DictionaryOptions {
    fn default() -> Self {
        Self {
            scales: vec![0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0],
            shifts: vec![1.0, 1.5, 2.5],
            squeeze: 0.6,
            stretch: 2.5,
            kernels: 32,
            dof: Student::DEFAULT_DOF,
            more: crate::More,
        }
    }
}

impl DictionaryOptions {
    /// Refuses what no density has.
    fn check(&self, dimension: usize) -> Result<()> {
        check_count("kernels", self.kernels, dimension)?;
        let positive = [("squeeze", self.squeeze), ("stretch", self.stretch), ("dof", self.dof)];
        let scales = self.scales.iter().map(|scale| ("scales", *scale));
        for (option, value) in positive.into_iter().chain(scales) {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::range(option, "a positive number", value));
            }
        }
        match self.shifts.iter().find(|shift| !shift.is_finite()) {
            Some(shift) => Err(Error::range("shifts", "a finite number", *shift)),
            None => Ok(()),
        }
    }
}

type Component = Arc<dyn Noise>;

/// Most directions along which copies are shifted and stretched.
const MOST_DIRECTIONS: usize = 64;

/// The dictionary around a population: wide and narrow, heavy-tailed, shifted and stretched copies of the distribution
/// fitted to it, and kernels at points drawn with the weights `mass` (those of the optimal noise).
///
/// On real spaces the copies have the population's covariance; elsewhere they are products over the variables.
pub(super) fn components(
    space: &Space,
    population: &Population,
    mass: &[f64],
    options: &DictionaryOptions,
) -> Result<Vec<Component>> {
    options.check(space.dimension())?;
    let weights: Vec<f64> = population.log_weights().iter().map(|w| w.exp()).collect();
    let centers = selected(population.points().view(), mass, options.kernels);
    if space.is_sphere() {
        return directions_on_sphere(population.points().view(), &weights, &centers, options);
    }
    if space.domains().iter().all(|domain| *domain == Domain::Real) {
        return around_normal(population, &weights, &centers, options);
    }
    products(space, population.points().view(), &weights, &centers, options)
}

/// The equal mixture of all components.
pub(super) fn equal_mixture(components: &[Component]) -> Result<Mixture<dyn Noise>> {
    let share = 1.0 / components.len() as f64;
    Mixture::of_shared(components.iter().map(|c| (share, Arc::clone(c))).collect())
}

/// Points at equal steps of the accumulated mass: a systematic sample, the same every time.
fn selected(points: View<'_>, mass: &[f64], count: usize) -> Vec<Vec<f64>> {
    let total: f64 = mass.iter().sum();
    let mut rows: Vec<usize> = (0..mass.len()).collect();
    // In order of the first variable, so that the steps spread over space and not over the order of the rows.
    rows.sort_by(|&a, &b| points.get(a, 0).total_cmp(&points.get(b, 0)));
    let (mut sum, mut chosen) = (0.0, Vec::with_capacity(count));
    for row in rows {
        sum += mass[row];
        while chosen.len() < count && sum * count as f64 > (chosen.len() as f64 + 0.5) * total {
            let mut point = vec![0.0; points.columns()];
            points.copy_row(row, &mut point);
            chosen.push(point);
        }
    }
    // A heavy point may span several steps.
    chosen.dedup();
    chosen
}

/// The width of the kernels as a factor on the standard deviations: a little below Silverman's rule, because their
/// weights are free.
fn bandwidth(count: usize, dimension: usize) -> f64 {
    let d = dimension as f64;
    0.6 * (0.25 * count.max(1) as f64 * (d + 2.0)).powf(-1.0 / (d + 4.0)).min(1.0)
}

fn normal(mean: &DVector<f64>, covariance: &DMatrix<f64>) -> Result<Component> {
    if mean.len() == 1 {
        return Ok(Arc::new(Normal::with_variance(mean[0], covariance[(0, 0)])?));
    }
    Ok(Arc::new(MultivariateNormal::new(mean.as_slice(), covariance.as_slice())?))
}

/// A Student distribution with this covariance.
fn student(dof: f64, mean: &DVector<f64>, covariance: &DMatrix<f64>) -> Result<Component> {
    let share = (dof - 2.0).max(0.5) / dof;
    if mean.len() == 1 {
        return Ok(Arc::new(Student::new(dof, mean[0], (share * covariance[(0, 0)]).sqrt())?));
    }
    Ok(Arc::new(MultivariateStudent::new(dof, mean.as_slice(), (share * covariance).as_slice())?))
}

fn around_normal(
    population: &Population,
    weights: &[f64],
    centers: &[Vec<f64>],
    options: &DictionaryOptions,
) -> Result<Vec<Component>> {
    let fitted = MultivariateNormal::fit(population.points().view(), Some(weights))?;
    let mean = DVector::from_column_slice(fitted.mean());
    let covariance = DMatrix::from_row_slice(mean.len(), mean.len(), fitted.covariance());
    let mut out = Vec::new();
    for scale in &options.scales {
        let scaled = scale * scale * &covariance;
        out.push(normal(&mean, &scaled)?);
        out.push(student(options.dof, &mean, &scaled)?);
    }
    for direction in directions(population, weights, &mean, &covariance) {
        // `C + (s² − 1) v vᵀ` is C with the standard deviation along v multiplied by s.
        let along = |s: f64| &covariance + (s * s - 1.0) * &direction * direction.transpose();
        for shift in options.shifts.iter().flat_map(|s| [*s, -s]) {
            let moved = &mean + shift * &direction;
            out.push(normal(&moved, &covariance)?);
            out.push(normal(&moved, &along(options.squeeze))?);
        }
        if mean.len() > 1 {
            out.push(normal(&mean, &along(options.stretch))?);
        }
    }
    let factor = bandwidth(options.kernels, mean.len());
    let narrow = factor * factor * &covariance;
    for center in centers {
        out.push(normal(&DVector::from_column_slice(center), &narrow)?);
    }
    Ok(out)
}

/// Directions of length one in the metric of the covariance: those in which a score changes with x, and the principal
/// axes.
fn directions(
    population: &Population,
    weights: &[f64],
    mean: &DVector<f64>,
    covariance: &DMatrix<f64>,
) -> Vec<DVector<f64>> {
    let Some(factor) = covariance.clone().cholesky() else { return Vec::new() };
    let length = |v: &DVector<f64>| v.dot(&factor.solve(v)).max(0.0).sqrt();
    let eigen = covariance.clone().symmetric_eigen();
    let axes = (0..mean.len()).map(|k| eigen.eigenvectors.column(k) * eigen.eigenvalues[k].max(0.0).sqrt());
    let points = population.points().view();
    let scores = (0..population.coordinates().len()).filter_map(|j| {
        let score = population.score_of(j);
        let covary = |axis: usize| -> f64 {
            let x = points.column(axis).iter().zip(score).zip(weights);
            x.map(|((x, s), q)| q * (x - mean[axis]) * s).sum()
        };
        let direction = DVector::from_fn(mean.len(), |axis, _| covary(axis));
        let size: f64 = score.iter().zip(weights).map(|(s, q)| q * s * s).sum::<f64>().sqrt();
        // Most of a score that is even in x is not a direction but rounding or chance.
        (length(&direction) > 0.1 * size).then_some(direction)
    });
    let mut kept: Vec<DVector<f64>> = Vec::new();
    let mut keep = |direction: DVector<f64>, most: usize| {
        let unit = &direction / length(&direction);
        let known = kept.iter().any(|other| other.dot(&factor.solve(&unit)).abs() > 0.98);
        if !known && kept.len() < most && unit.iter().all(|v| v.is_finite()) {
            kept.push(unit);
        }
    };
    scores.for_each(|direction| keep(direction, MOST_DIRECTIONS));
    // Where the scores already lead into as many directions as there are, the axes add nothing.
    axes.for_each(|axis| keep(axis, mean.len().min(MOST_DIRECTIONS)));
    kept
}

fn directions_on_sphere(
    points: View<'_>,
    weights: &[f64],
    centers: &[Vec<f64>],
    options: &DictionaryOptions,
) -> Result<Vec<Component>> {
    let fitted = VonMisesFisher::fit(points, Some(weights))?;
    let mut out: Vec<Component> = vec![Arc::new(UniformSphere::new(points.columns())?)];
    for scale in &options.scales {
        let concentration = fitted.concentration() / (scale * scale);
        out.push(Arc::new(VonMisesFisher::new(fitted.direction(), concentration)?));
    }
    let factor = bandwidth(options.kernels, points.columns() - 1);
    let concentration = fitted.concentration().max(1.0) / (factor * factor);
    for center in centers {
        out.push(Arc::new(VonMisesFisher::new(center, concentration)?));
    }
    Ok(out)
}

/// One variable of a product: its domain, and what is known of its distribution.
struct Marginal {
    domain: Domain,
    mean: f64,
    deviation: f64,
    /// Of the states, where there are finitely many.
    probabilities: Vec<f64>,
    /// Of an angle.
    concentration: f64,
}

impl Marginal {
    fn new(domain: &Domain, column: View<'_>, weights: &[f64]) -> Result<Self> {
        let x = column.column(0);
        let average = |f: &dyn Fn(f64) -> f64| x.iter().zip(weights).map(|(x, q)| q * f(*x)).sum::<f64>();
        let mut mean = average(&|x| x);
        let mut deviation = average(&|x| (x - mean) * (x - mean)).sqrt();
        let (mut probabilities, mut concentration) = (Vec::new(), 0.0);
        match domain {
            Domain::States(states) => {
                let fitted = Categorical::fit_to_states(states, 0.0, column, Some(weights))?;
                let share = |s: &f64| {
                    let at = fitted.states().iter().position(|known| known == s);
                    at.map_or(0.0, |k| fitted.probabilities()[k])
                };
                // A state that was never seen must stay possible.
                probabilities = states.iter().map(|s| share(s) + 1e-3 / states.len() as f64).collect();
            }
            Domain::Circle => {
                let fitted = VonMises::fit(column, Some(weights))?;
                (mean, concentration) = (fitted.mean(), fitted.concentration());
                deviation = 1.0 / concentration.max(0.3).sqrt();
            }
            _ => {}
        }
        let deviation = if deviation > 0.0 { deviation } else { 1.0 };
        Ok(Self { domain: domain.clone(), mean, deviation, probabilities, concentration })
    }

    /// The distribution, wider by a factor and moved by a number of standard deviations.
    fn moved(&self, shift: f64, scale: f64) -> Result<Component> {
        let center = self.mean + shift * self.deviation;
        let variance = (scale * self.deviation).powi(2);
        Ok(match &self.domain {
            Domain::Real => Arc::new(Normal::with_variance(center, variance)?),
            Domain::Positive | Domain::Interval(..) => {
                let (lo, hi) = self.domain.bounds();
                Arc::new(Truncated::new(Normal::with_variance(center, variance)?, lo, hi)?)
            }
            Domain::Circle => Arc::new(VonMises::new(center, self.concentration / (scale * scale))?),
            Domain::States(states) => Arc::new(Categorical::new(states, &self.tilted(states, shift, scale))?),
            Domain::Counts => counts(center.max(0.05 * self.deviation), variance)?,
        })
    }

    /// `p^(1/s²) e^(t z)` with z the standardized state.
    fn tilted(&self, states: &[f64], shift: f64, scale: f64) -> Vec<f64> {
        let tilt = |(s, p): (&f64, &f64)| {
            (p.ln() / (scale * scale) + shift * (s - self.mean) / self.deviation).exp()
        };
        let raw: Vec<f64> = states.iter().zip(&self.probabilities).map(tilt).collect();
        let total: f64 = raw.iter().sum();
        raw.iter().map(|p| p / total).collect()
    }
}

/// Counts with this mean and, where they can have it, this variance.
fn counts(mean: f64, variance: f64) -> Result<Component> {
    if variance > 1.001 * mean {
        return Ok(Arc::new(NegativeBinomial::new(mean, mean * mean / (variance - mean))?));
    }
    Ok(Arc::new(Poisson::new(mean)?))
}

fn products(
    space: &Space,
    points: View<'_>,
    weights: &[f64],
    centers: &[Vec<f64>],
    options: &DictionaryOptions,
) -> Result<Vec<Component>> {
    let column = |axis: usize| View::new(1, points.rows(), points.column(axis));
    let marginals = space
        .domains()
        .iter()
        .enumerate()
        .map(|(axis, domain)| Marginal::new(domain, column(axis), weights))
        .collect::<Result<Vec<_>>>()?;
    let product = |place: &dyn Fn(usize) -> (f64, f64)| -> Result<Component> {
        let mut parts = marginals
            .iter()
            .enumerate()
            .map(|(axis, marginal)| {
                let (shift, scale) = place(axis);
                marginal.moved(shift, scale)
            })
            .collect::<Result<Vec<_>>>()?;
        if parts.len() == 1 { Ok(parts.remove(0)) } else { Ok(Arc::new(Product::of_shared(parts)?)) }
    };
    // A truncation that leaves nothing is not an error of the design: that component is left out.
    let mut out: Vec<Component> =
        options.scales.iter().filter_map(|scale| product(&|_| (0.0, *scale)).ok()).collect();
    for moved in 0..marginals.len().min(MOST_DIRECTIONS) {
        for shift in options.shifts.iter().flat_map(|s| [*s, -s]) {
            out.extend(product(&|axis| (if axis == moved { shift } else { 0.0 }, 1.0)).ok());
        }
    }
    let factor = bandwidth(options.kernels, marginals.len());
    for center in centers {
        let shift = |axis: usize| (center[axis] - marginals[axis].mean) / marginals[axis].deviation;
        out.extend(product(&|axis| (shift(axis), factor)).ok());
    }
    if out.is_empty() { product(&|_| (0.0, 1.0)).map(|only| vec![only]) } else { Ok(out) }
}
