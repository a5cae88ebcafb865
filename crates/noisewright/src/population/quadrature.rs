//! Populations by adaptive quadrature: where the mass is, coordinates that suit it, and nodes for all moments.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::quadrature::{
    Axis, Divergence, End, LogIntegrands, Options, Quadrature, QuadratureError, Span, integrate,
    integrate_smooth, smooth_grid,
};
use noisewright_numerics::special::softplus;

use super::locate::{Location, locate};
use super::modes::locate_on_sphere;
use super::quadrature_chart::{Chart, frame_with_pole};
use super::{Accuracy, Contrast, Divergent, Method, Parts, Population, Precision};
use crate::integrability;
use crate::memory::room_for;
use crate::run::{Context, Stage};
use crate::{Domain, Error, Landmarks, Loss, Model, Points, Quantity, Result, View};

/// Finest relative tolerance that a tensor of this many axes is asked for.
const FINEST: [f64; 3] = [1e-13, 1e-11, 1e-8];

pub(super) fn build(
    model: &Model,
    parameters: &[f64],
    contrast: Option<Contrast<'_>>,
    precision: &Precision,
) -> Result<Population> {
    let task = Task::new(model, parameters, contrast, precision);
    let (chart, axes) = task.coordinates()?;
    let options = options(axes.axes.len(), precision);
    let mass = task.integrate_mass(&chart, &axes, &options)?;
    let (result, divergent) = task.integrate_moments(&chart, &axes, &options, &mass)?;
    task.population(&chart, &result, divergent)
}

/// The population on a grid of so many nodes a side, where its density is smooth and has light tails.
pub(super) fn on_grid(
    model: &Model,
    parameters: &[f64],
    count: usize,
    precision: &Precision,
) -> Result<Option<Population>> {
    let task = Task::new(model, parameters, None, precision);
    let (chart, axes) = task.coordinates()?;
    let Some(spans) = &axes.spans else { return Ok(None) };
    let mass = task.integrate_mass(&chart, &axes, &options(spans.len(), precision))?;
    let integrand = |coordinates: &[f64], rows: usize, out: &mut [f64]| {
        let (_, energy, score) = task.evaluate(&chart, coordinates, rows);
        task.own_moments(&mass, &energy, &score, out);
    };
    match smooth_grid(spans, 2, count, &integrand) {
        Some(mut result) => {
            result.relative_errors.fill((result.log_integrals[0] - mass.log_z).abs());
            task.population(&chart, &result, None).map(Some)
        }
        None => Ok(None),
    }
}

/// Refuses a density that has no integral.
pub(super) fn check_integrable(model: &Model, parameters: &[f64], precision: &Precision) -> Result<()> {
    let task = Task::new(model, parameters, None, precision);
    let (chart, axes) = task.coordinates()?;
    task.integrate_mass(&chart, &axes, &options(axes.axes.len(), precision)).map(|_| ())
}

/// Nodes that an axis without states takes, as a rule.
const USUAL_NODES: usize = 200;

/// Most nodes of a tensor that is begun, every axis without states taking its usual number.
const MOST_NODES: usize = 1 << 22;

/// Whether the space has few enough dimensions, and states in them, for a tensor of nodes.
pub(super) fn applies(model: &Model) -> bool {
    let nodes = |domain: &Domain| match domain {
        Domain::States(states) => states.len(),
        _ => USUAL_NODES,
    };
    let space = model.space();
    // Three axes without states are what the adaptive tensor is made for.
    let fewer = space.domains().iter().all(|d| !matches!(d, Domain::States(_)));
    space.dimension() <= 3
        && (fewer
            || space
                .domains()
                .iter()
                .map(nodes)
                .try_fold(1usize, usize::checked_mul)
                .is_some_and(|n| n <= MOST_NODES))
}

/// Numbers that are held for every node on the way: its place, weights, two densities, their logarithms and copies.
const VALUES_OF_NODE: usize = 24;

/// The precision that a tensor of this many axes can be asked for.
pub(super) fn options(axes: usize, precision: &Precision) -> Options {
    // Where memory holds fewer nodes, a tensor that needs more is refused rather than begun.
    let max_nodes = room_for(precision.max_nodes, VALUES_OF_NODE);
    Options { relative_tolerance: precision.relative.max(FINEST[axes - 1]), max_nodes }
}

/// A model at a parameter value, being integrated.
pub(super) struct Task<'a> {
    model: &'a Model,
    parameters: &'a [f64],
    contrast: Option<Contrast<'a>>,
    context: Context,
    /// Blocks of nodes that were looked at.
    blocks: AtomicUsize,
    /// The first error that the model's own function gave inside a quadrature.
    failure: OnceLock<Error>,
}

/// The axes of a chart: for the adaptive rule and, where everything is smooth, for equidistant nodes.
pub(super) struct Axes {
    pub(super) axes: Vec<Axis>,
    spans: Option<Vec<Span>>,
}

impl Axes {
    fn adaptive(axes: Vec<Axis>) -> Self {
        Self { axes, spans: None }
    }

    /// The integrals by equidistant nodes where these converge fast, by adaptive panels otherwise.
    pub(super) fn integrate(
        &self,
        components: usize,
        options: &Options,
        integrand: LogIntegrands<'_>,
    ) -> Result<Quadrature, QuadratureError> {
        let smooth =
            self.spans.as_ref().and_then(|spans| integrate_smooth(spans, components, options, integrand));
        smooth.map_or_else(|| integrate(&self.axes, components, options, integrand), Ok)
    }
}

/// What the first pass learns: log Z, and mean and spread of the parameters' derivatives.
pub(super) struct Mass {
    pub(super) log_z: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl<'a> Task<'a> {
    pub(super) fn new(
        model: &'a Model,
        parameters: &'a [f64],
        contrast: Option<Contrast<'a>>,
        precision: &Precision,
    ) -> Self {
        let (context, blocks) = (precision.context(), AtomicUsize::new(0));
        Self { model, parameters, contrast, context, blocks, failure: OnceLock::new() }
    }

    /// The chart and the axes in it, from where the density and the noise have their mass and their kinks.
    pub(super) fn coordinates(&self) -> Result<(Chart, Axes)> {
        let space = self.model.space();
        if space.is_sphere() {
            if space.dimension() == 2 {
                let chart = Chart::UnitCircle;
                let axes = chart.sphere_axes(1.0);
                return Ok((chart, Axes::adaptive(axes)));
            }
            let (pole, spread) = locate_on_sphere(self.model, self.parameters)?;
            let chart = Chart::UnitSphere { frame: frame_with_pole(&pole) };
            let axes = chart.sphere_axes(spread);
            return Ok((chart, Axes::adaptive(axes)));
        }
        let landmarks: Vec<Landmarks> = (0..space.dimension()).map(|axis| self.landmarks(axis)).collect();
        let location = locate(self.model, self.parameters, &landmarks)?;
        let centers = |axis| location.centers(axis);
        if let Some(found) = integrability::at_pole(self.model, self.parameters, &location.peak, centers) {
            return Err(found.error());
        }
        // Far out a tensor of three axes has too few nodes to tell a density that falls slowly from one that does not fall.
        if space.dimension() == 3
            && let Some(found) = integrability::anywhere(self.model, self.parameters)
        {
            return Err(found.error());
        }
        let smooth = landmarks.iter().all(|l| l.breaks.is_empty());
        let real = space.domains().iter().all(|d| *d == Domain::Real);
        if let (true, true, Some(covariance)) = (smooth, real, &location.covariance)
            && space.dimension() > 1
            && let Some(factor) = covariance.clone().cholesky().map(|c| c.l())
        {
            return whitened(&location, factor, &landmarks);
        }
        let centers = |j: usize| {
            let mut centers = location.centers(j);
            centers.extend_from_slice(&landmarks[j].centers);
            centers
        };
        let dimensions = 0..space.dimension();
        let axes =
            dimensions.clone().map(|j| axis_of(&space.domains()[j], &landmarks[j], &centers(j))).collect();
        let spans = (smooth && space.dimension() > 1)
            .then(|| dimensions.map(|j| span_of(&space.domains()[j], &centers(j))).collect())
            .flatten();
        Ok((Chart::Identity, Axes { axes, spans }))
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        let mut landmarks = self.contrast.map_or_else(Landmarks::default, |c| c.noise.landmarks(axis));
        if self.model.space().domains()[axis] == Domain::Circle {
            let turn = 2.0 * std::f64::consts::PI;
            let wrap = |x: &f64| x - turn * (x / turn).round();
            landmarks.breaks = landmarks.breaks.iter().map(wrap).collect();
            landmarks.centers.iter_mut().for_each(|c| c.0 = wrap(&c.0));
        }
        landmarks
    }

    /// The energy and the parameters' derivatives at a block of quadrature coordinates.
    pub(super) fn evaluate(
        &self,
        chart: &Chart,
        coordinates: &[f64],
        rows: usize,
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let points = chart.points(coordinates, rows);
        if rows == 0 {
            return (points, vec![], vec![]);
        }
        let mut energy = vec![f64::NAN; rows];
        let mut score = vec![0.0; rows * self.parameters.len()];
        let view = View::new(points.len() / rows, rows, &points);
        let told = self.context.report(Stage::Integration, self.blocks.fetch_add(1, Ordering::Relaxed), None);
        let evaluated =
            told.and_then(|()| self.model.evaluate(self.parameters, view, &mut energy, Some(&mut score)));
        if let Err(error) = evaluated {
            let _ = self.failure.set(error);
        }
        (points, energy, score)
    }

    pub(super) fn integrate_mass(&self, chart: &Chart, axes: &Axes, options: &Options) -> Result<Mass> {
        let rough = Options { relative_tolerance: options.relative_tolerance.max(1e-9), ..*options };
        let integrand = |coordinates: &[f64], rows: usize, out: &mut [f64]| {
            out.copy_from_slice(&self.evaluate(chart, coordinates, rows).1);
        };
        let result = self.checked(chart, axes.integrate(1, &rough, &integrand))?;
        if let Some(divergence) = result.divergences[0] {
            return Err(self.not_integrable(chart, divergence));
        }
        let rows = result.log_weights.len();
        if result.log_integrals[0] == f64::NEG_INFINITY || rows == 0 {
            return Err(Error::NoMass);
        }
        let (_, energy, score) = self.evaluate(chart, &result.points, rows);
        let log_z = result.log_integrals[0];
        let weights: Vec<f64> =
            energy.iter().zip(&result.log_weights).map(|(u, w)| (u + w - log_z).exp()).collect();
        let mean: Vec<f64> = score.chunks(rows).map(|column| dot(column, &weights)).collect();
        let variance = score
            .chunks(rows)
            .zip(&mean)
            .map(|(column, m)| column.iter().zip(&weights).map(|(s, w)| w * (s - m) * (s - m)).sum())
            .collect();
        Ok(Mass { log_z, mean, variance })
    }

    /// Nodes for the mass, the information, and the moments I_w and I_v of the contrast.
    fn integrate_moments(
        &self,
        chart: &Chart,
        axes: &Axes,
        options: &Options,
        mass: &Mass,
    ) -> Result<(Quadrature, Option<Divergent>)> {
        let components = if self.contrast.is_some() { 4 } else { 2 };
        let integrand = |coordinates: &[f64], rows: usize, out: &mut [f64]| {
            let (points, energy, score) = self.evaluate(chart, coordinates, rows);
            if self.failure.get().is_some() {
                return;
            }
            self.own_moments(mass, &energy, &score, out);
            if let Some(contrast) = self.contrast {
                let mut log_noise = vec![0.0; rows];
                contrast.noise.log_density(View::new(points.len() / rows, rows, &points), &mut log_noise);
                let log_nu = contrast.nu.ln();
                for i in 0..rows {
                    let log_density = energy[i] - mass.log_z;
                    let size = mass.log_size(&score, rows, i) + mass.log_z;
                    for (component, moment) in [(2, Moment::Bread), (3, Moment::Meat)] {
                        let value = log_moment(contrast.loss, log_density, log_noise[i], log_nu, moment);
                        out[component * rows + i] = zero_if_absent(energy[i], size + value);
                    }
                }
            }
        };
        let result = self.checked(chart, axes.integrate(components, options, &integrand))?;
        if let Some(divergence) = result.divergences[0] {
            return Err(self.not_integrable(chart, divergence));
        }
        if result.divergences[1].is_some() {
            return Err(Error::InfiniteInformation);
        }
        let divergent = result.divergences.iter().flatten().next().map(|d| self.name(chart, *d));
        Ok((result, divergent))
    }

    /// The mass and a size of the information at points, as the first two components.
    fn own_moments(&self, mass: &Mass, energy: &[f64], score: &[f64], out: &mut [f64]) {
        let rows = energy.len();
        out[..rows].copy_from_slice(energy);
        for i in 0..rows {
            out[rows + i] = zero_if_absent(energy[i], energy[i] + mass.log_size(score, rows, i));
        }
    }

    /// The population on the nodes of a rule.
    fn population(
        &self,
        chart: &Chart,
        result: &Quadrature,
        divergent: Option<Divergent>,
    ) -> Result<Population> {
        let rows = result.log_weights.len();
        let log_jacobian = chart.log_jacobian();
        let relative_error = finite_max(&result.relative_errors);
        let points =
            Points::from_values(self.model.space().names(), rows, chart.points(&result.points, rows))?;
        let parts = Parts {
            points,
            log_measure: result.log_weights.iter().map(|w| w + log_jacobian).collect(),
            accuracy: Accuracy { method: Method::Quadrature, relative_error, points: rows },
            divergent,
            mass_error: result.relative_errors[0],
        };
        Population::assemble(self.model, self.parameters, parts)
    }

    pub(super) fn checked(
        &self,
        chart: &Chart,
        result: Result<Quadrature, QuadratureError>,
    ) -> Result<Quadrature> {
        if let Some(error) = self.failure.get() {
            return Err(error.clone());
        }
        result.map_err(|error| match error {
            QuadratureError::NotANumber { point } => {
                let at = chart.points(&point, 1);
                let names = self.model.space().names().iter();
                let place: Vec<String> = names.zip(&at).map(|(n, x)| format!("{n} = {x}")).collect();
                Error::NotANumber { of: self.culprit(&at), point: place.join(", ") }
            }
            QuadratureError::NoExtent => Error::NoMass,
            QuadratureError::TooLarge { nodes, most } => Error::TooManyNodes { nodes, most },
            other => Error::internal(other.to_string()),
        })
    }

    /// Whether it is the noise, rather than the model, that is not a number at a point.
    fn culprit(&self, point: &[f64]) -> Quantity {
        let Some(contrast) = self.contrast else { return Quantity::Value };
        let mut log_noise = [f64::NAN];
        contrast.noise.log_density(View::new(point.len(), 1, point), &mut log_noise);
        let wrong = log_noise[0].is_nan() || log_noise[0] == f64::INFINITY;
        if wrong { Quantity::NoiseDensity } else { Quantity::Value }
    }

    pub(super) fn name(&self, chart: &Chart, divergence: Divergence) -> Divergent {
        let variable = match chart {
            Chart::Identity => Some(self.model.space().names()[divergence.axis].clone()),
            _ => None,
        };
        Divergent { variable, at_lower_end: divergence.end == End::Lower, inside: divergence.at_break }
    }

    fn not_integrable(&self, chart: &Chart, divergence: Divergence) -> Error {
        let Divergent { variable, at_lower_end, .. } = self.name(chart, divergence);
        let domain = match chart {
            Chart::Identity => self.model.space().domains()[divergence.axis].bounds(),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let end = if at_lower_end { domain.0 } else { domain.1 };
        Error::NotIntegrable { variable, towards: crate::text::number(end) }
    }
}

impl Mass {
    /// `log(1 + Σ_j (∂_j u − mean)² / variance)`: a size of the score that all parameters share fairly.
    fn log_size(&self, score: &[f64], rows: usize, row: usize) -> f64 {
        // Far out a derivative may overflow, and the square of the largest, by which all are scaled.
        const HUGE: f64 = 1e300;
        let deviations = || {
            let pairs = self.mean.iter().zip(&self.variance).enumerate().filter(|(_, (_, v))| **v > 0.0);
            pairs.map(|(j, (mean, variance))| {
                ((score[j * rows + row] - mean) / variance.sqrt()).clamp(-HUGE, HUGE)
            })
        };
        let largest = deviations().fold(1.0, |largest: f64, d| largest.max(d.abs()));
        let sum: f64 = deviations().map(|d| (d / largest).powi(2)).sum();
        (sum + largest.powi(-2)).ln() + 2.0 * largest.ln()
    }
}

/// Stands for an infinite log ratio.
const ENDLESS: f64 = 1e8;

/// `g = log p − log p_n − log ν`; where the noise has no density the ratio is infinite, held finite so that
/// sums of its multiples have a sign.
pub(crate) fn log_ratio(log_density: f64, log_noise: f64, log_nu: f64) -> f64 {
    if log_noise == f64::NEG_INFINITY { ENDLESS } else { log_density - log_noise - log_nu }
}

/// `log(ν p_n)`; where the noise has no density, what makes the log ratio that of [`log_ratio`].
pub(crate) fn log_scaled_noise(log_density: f64, log_noise: f64, log_nu: f64) -> f64 {
    if log_noise == f64::NEG_INFINITY { log_density - ENDLESS } else { log_noise + log_nu }
}

/// Which of the two moments of MATH §3.
#[derive(Clone, Copy)]
enum Moment {
    /// `p_d w`.
    Bread,
    /// `p_d v = p_d w² (1 + r)`.
    Meat,
}

/// The logarithm of the density of I_w or I_v at a point.
///
/// Nothing where the noise is absent and the weight a multiple of [`ENDLESS`], which has no digits to integrate. If it
/// is an infinite one, [`error_report`](crate::error_report) says so.
fn log_moment(loss: &Loss, log_density: f64, log_noise: f64, log_nu: f64, moment: Moment) -> f64 {
    let scaled_noise = log_scaled_noise(log_density, log_noise, log_nu);
    let g = log_density - scaled_noise;
    let product = |powers| loss.log_product(log_density, scaled_noise, powers);
    let value = match moment {
        Moment::Bread => product([1.0, 1.0, 0.0]),
        Moment::Meat if g > 0.0 => product([1.0, 2.0, 1.0]) + softplus(-g),
        Moment::Meat => product([1.0, 2.0, 0.0]) + softplus(g),
    };
    let absent = log_noise == f64::NEG_INFINITY && (value - log_density).abs() > 1e-3 * ENDLESS;
    if absent { f64::NEG_INFINITY } else { value }
}

fn zero_if_absent(energy: f64, value: f64) -> f64 {
    if energy == f64::NEG_INFINITY { energy } else { value }
}

/// Widths of peaks that one grid serves, in units of the main one's: a much narrower peak could fall between its nodes.
const ONE_GRID: std::ops::Range<f64> = 0.2..20.0;

/// An axis for equidistant nodes, where one grid can serve all that is known of it.
fn span_of(domain: &Domain, centers: &[(f64, f64)]) -> Option<Span> {
    match domain {
        Domain::Circle => {
            let (lower, upper) = domain.bounds();
            Some(Span::Period { lower, upper })
        }
        Domain::Real => {
            let (center, scale) = *centers.first()?;
            let alike = centers.iter().all(|(_, other)| ONE_GRID.contains(&(other / scale)));
            let (first, last) = centers
                .iter()
                .fold((center, center), |(first, last), (at, _)| (first.min(*at), last.max(*at)));
            alike.then_some(Span::Line { first, last, scale })
        }
        _ => None,
    }
}

fn axis_of(domain: &Domain, landmarks: &Landmarks, centers: &[(f64, f64)]) -> Axis {
    match domain {
        Domain::States(states) => Axis::states(states),
        Domain::Counts => Axis::integers(centers),
        _ => {
            let (lower, upper) = domain.bounds();
            Axis::line(lower, upper, &landmarks.breaks, centers)
        }
    }
}

/// Whitened coordinates around the density's highest peak; its other peaks and the noise's centers are carried over.
fn whitened(location: &Location, factor: DMatrix<f64>, landmarks: &[Landmarks]) -> Result<(Chart, Axes)> {
    let mean = DVector::from_column_slice(&location.peak);
    let dimension = mean.len();
    let singular = || Error::internal("the Cholesky factor of a covariance is singular");
    let inverse = factor.clone().try_inverse().ok_or_else(singular)?;
    let components = landmarks.iter().map(|l| l.centers.len()).min().unwrap_or(0);
    let mut centers = vec![vec![(0.0, 1.0)]; dimension];
    let mut carry = |at: DVector<f64>, scales: &[f64]| {
        let z = &inverse * (at - &mean);
        for j in 0..dimension {
            let scale = (0..dimension).map(|l| (inverse[(j, l)] * scales[l]).powi(2)).sum::<f64>();
            centers[j].push((z[j], scale.sqrt()));
        }
    };
    for (at, scales) in &location.others {
        carry(DVector::from_column_slice(at), scales);
    }
    for c in 0..components {
        let scales: Vec<f64> = landmarks.iter().map(|l| l.centers[c].1).collect();
        carry(DVector::from_fn(dimension, |j, _| landmarks[j].centers[c].0), &scales);
    }
    let axes = centers.iter().map(|c| Axis::line(f64::NEG_INFINITY, f64::INFINITY, &[], &tidy(c))).collect();
    let spans = centers.iter().map(|c| span_of(&Domain::Real, c)).collect();
    Ok((Chart::Affine { mean, factor }, Axes { axes, spans }))
}

/// Centers that add nothing to the first, nearly the same place and width, are left out.
fn tidy(centers: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for &(at, scale) in centers {
        let known = kept.iter().any(|(a, s)| (a - at).abs() < 0.5 * s && (0.5..2.5).contains(&(scale / s)));
        if !known {
            kept.push((at, scale));
        }
    }
    kept
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn finite_max(values: &[f64]) -> f64 {
    values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_without_an_inverse_are_an_error() {
        let location = Location::at(vec![0.0, 0.0]);
        let factor = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.5, 1.0]);
        assert!(whitened(&location, factor, &[]).is_ok());
        let singular = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.5, 0.0]);
        assert!(matches!(whitened(&location, singular, &[]), Err(Error::Internal { .. })));
    }
}
