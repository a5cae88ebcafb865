//! Noises that come from a model: the model itself, and the limits and optima of a design on it.
//!
//! All have the form `p_n = p_d · h(ψ)`, with p_d the model at given parameters and h a function of its score
//! (MATH §5, §6), so that their density is known wherever the model can be evaluated.

mod quantile;
mod saved;

use std::sync::{Arc, OnceLock};

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::random::Stream;

use self::quantile::Quantile;
use super::criterion::{Criterion, Sensitivity};
use super::exact::OptimalNoise;
use super::limits::all_noise_sensitivity;
use crate::fit::optimal::SAFE_SHARE;
use crate::noise::{BoxSampler, LogDensity, Picker};
use crate::{
    DesignFault, Error, Landmarks, Mixture, Model, Noise, Points, Population, Precision, Result, SavedNoise,
    Target, View,
};

pub(crate) use self::saved::SavedModelNoise;

/// The ratio `h = p_n / p_d` as a function of the score.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// `h = 1`: the noise is the model.
    Data,
    /// `h = √a / mean`: the paper's limit of all noise.
    AllNoise {
        /// `a = ψᵀ I⁻¹ M I⁻¹ ψ`.
        sensitivity: Sensitivity,
        /// `E_d √a`.
        mean: f64,
    },
    /// `h = [√(ν a/μ) − 1]₊ / ν`: the exact optimum.
    Optimal {
        /// `a(x)` of MATH §6.
        sensitivity: Sensitivity,
        /// The multiplier μ.
        multiplier: f64,
        /// Noise points per data point that it is optimal for.
        nu: f64,
    },
}

impl Shape {
    /// `log h` from column-major scores.
    pub(crate) fn log_ratio(&self, score: &[f64], rows: usize) -> Vec<f64> {
        match self {
            Self::Data => vec![0.0; rows],
            Self::AllNoise { sensitivity, mean } => {
                let sizes = sensitivity.at(score, rows);
                sizes.iter().map(|a| 0.5 * a.max(0.0).ln() - mean.ln()).collect()
            }
            Self::Optimal { sensitivity, multiplier, nu } => {
                let scale = (nu / multiplier).sqrt();
                let sizes = sensitivity.at(score, rows);
                sizes.iter().map(|a| (scale * a.max(0.0).sqrt() - 1.0).max(0.0).ln() - nu.ln()).collect()
            }
        }
    }
}

/// A noise made from a model at given parameters.
#[derive(Clone)]
pub struct ModelNoise {
    model: Model,
    parameters: Vec<f64>,
    log_normalizer: f64,
    /// Gradient of log Z: what turns the derivatives of the energy into the score of a normalized model.
    mean_score: Vec<f64>,
    shape: Shape,
    landmarks: Vec<Landmarks>,
    plan: Plan,
    /// Made when the first point is drawn: a search over designs evaluates many noises that it never draws from.
    sampler: Arc<OnceLock<Sampler>>,
    /// The map from the unit cube, made when it is first asked for.
    quantile: Arc<OnceLock<Option<Quantile>>>,
}

impl std::fmt::Debug for ModelNoise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

/// What a sampler is made from.
#[derive(Clone)]
enum Plan {
    /// The box that holds the mass, and a point of high density in it.
    Boxes { lower: Vec<f64>, upper: Vec<f64>, peak: Vec<f64> },
    /// Points and the logarithms of their weights.
    Points { points: Arc<Points>, log_weights: Arc<Vec<f64>> },
}

/// How points are drawn.
enum Sampler {
    /// Rejection under boxes.
    Boxes(BoxSampler),
    /// From a finite list: all states, or the points of a sampled population.
    Points { points: Arc<Points>, picker: Picker },
}

impl ModelNoise {
    /// The model itself at `parameters`.
    ///
    /// # Errors
    /// When the model has no population there.
    pub fn data(model: &Model, parameters: &[f64], precision: &Precision) -> Result<Self> {
        let population = Population::new(model, parameters, precision)?;
        Self::on(&population, model, parameters, Shape::Data)
    }

    /// The optimal noise of the limit ν → ∞ for a target (MATH §5).
    ///
    /// # Errors
    /// When the model has no population there or its scores are collinear.
    pub fn all_noise(
        model: &Model,
        parameters: &[f64],
        target: &Target,
        precision: &Precision,
    ) -> Result<Self> {
        let precision = &precision.for_run();
        let population = Population::new(model, parameters, precision)?;
        let criterion = Criterion::new(&population, target)?.for_run(precision.context());
        let sensitivity = all_noise_sensitivity(&criterion)?;
        let mean = criterion.mean_root(&sensitivity);
        let shape = Shape::AllNoise { sensitivity: sensitivity.clone(), mean };
        let first = Self::on(&population, model, parameters, shape)?;
        // √a has a kink where the score vanishes: once more, with nodes that know it.
        let mean = first.kinked_mean(target, precision)?;
        Self::on(&population, model, parameters, Shape::AllNoise { sensitivity, mean })
    }

    /// The optimum found on a population.
    pub(crate) fn optimal(
        population: &Population,
        model: &Model,
        parameters: &[f64],
        optimum: &OptimalNoise,
    ) -> Result<Self> {
        let shape = Shape::Optimal {
            sensitivity: optimum.sensitivity.clone(),
            multiplier: optimum.multiplier,
            nu: optimum.nu,
        };
        Self::on(population, model, parameters, shape)
    }

    /// A shape on a population of the model.
    ///
    /// # Errors
    /// When the shape has no mass on the population.
    pub fn on(population: &Population, model: &Model, parameters: &[f64], shape: Shape) -> Result<Self> {
        let log_ratio = shape.log_ratio(population.score(), population.points().rows());
        let mut noise = Self {
            model: model.detached(),
            parameters: parameters.to_vec(),
            log_normalizer: population.log_normalizer(),
            mean_score: population.mean_of_derivatives(model, parameters)?,
            shape,
            landmarks: Vec::new(),
            plan: plan(population, &log_ratio, model.space())?,
            sampler: Arc::new(OnceLock::new()),
            quantile: Arc::new(OnceLock::new()),
        };
        noise.landmarks = noise.find_landmarks(population, &log_ratio);
        Ok(noise)
    }

    fn kinked_mean(&self, target: &Target, precision: &Precision) -> Result<f64> {
        let contrast = crate::Contrast { noise: self, nu: 1.0, loss: &crate::Loss::Js };
        let population = Population::for_contrast(&self.model, &self.parameters, contrast, precision)?;
        let criterion = Criterion::new(&population, target)?;
        match &self.shape {
            Shape::AllNoise { sensitivity, .. } => Ok(criterion.mean_root(sensitivity)),
            _ => Ok(1.0),
        }
    }

    /// The shape of the ratio to the model.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// `a(x)` of MATH §6, or its limit of all noise, at points; `None` for the model itself.
    #[must_use]
    pub fn sensitivity(&self, points: View<'_>) -> Option<Vec<f64>> {
        match &self.shape {
            Shape::Data => None,
            Shape::AllNoise { sensitivity, .. } | Shape::Optimal { sensitivity, .. } => {
                Some(sensitivity.at(&self.score(points), points.rows()))
            }
        }
    }

    /// The model's parameters.
    #[must_use]
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// The model's log-density and, unless the shape is the model itself, the ratio on top.
    fn log_density_at(&self, points: View<'_>, out: &mut [f64]) {
        let rows = points.rows();
        let size = self.parameters.len();
        let plain = self.shape == Shape::Data;
        let mut score = vec![0.0; if plain { 0 } else { rows * size }];
        let wanted = (!plain).then_some(score.as_mut_slice());
        if self.model.evaluate(&self.parameters, points, out, wanted).is_err() {
            // The parameters were checked when the noise was made; a point the model refuses has no density.
            out.fill(f64::NEG_INFINITY);
            return;
        }
        out.iter_mut().for_each(|u| *u -= self.log_normalizer);
        if plain {
            return;
        }
        if self.model.is_normalized() {
            for (column, mean) in score.chunks_mut(rows.max(1)).zip(&self.mean_score) {
                column.iter_mut().for_each(|s| *s -= mean);
            }
        } else {
            score.resize(rows * (size + 1), -1.0);
        }
        for (value, log_ratio) in out.iter_mut().zip(self.shape.log_ratio(&score, rows)) {
            *value = if *value == f64::NEG_INFINITY { *value } else { *value + log_ratio };
        }
    }

    /// Where the density has its mass along each variable and, in one dimension, where it has kinks.
    fn find_landmarks(&self, population: &Population, log_ratio: &[f64]) -> Vec<Landmarks> {
        let weights: Vec<f64> =
            population.log_weights().iter().zip(log_ratio).map(|(q, h)| (q + h).exp()).collect();
        let total: f64 = weights.iter().sum();
        let points = population.points().view();
        let mut landmarks: Vec<Landmarks> = (0..points.columns())
            .map(|axis| {
                let x = points.column(axis);
                let mean = x.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() / total;
                let variance =
                    x.iter().zip(&weights).map(|(x, w)| (x - mean).powi(2) * w).sum::<f64>() / total;
                Landmarks { breaks: Vec::new(), centers: vec![(mean, variance.sqrt())] }
            })
            .collect();
        let continuous = !self.model.space().domains()[0].is_discrete() && !self.model.space().is_sphere();
        if points.columns() == 1 && continuous && self.shape != Shape::Data {
            landmarks[0].breaks = self.kinks(points.column(0));
        }
        landmarks
    }

    /// Along one variable: ends of the support (the optimum) or zeros of the size (all noise), by bisection
    /// between neighbouring nodes.
    fn kinks(&self, nodes: &[f64]) -> Vec<f64> {
        let mut sorted = nodes.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mut kinks = Vec::new();
        let sides = self.sides(&sorted);
        for i in 1..sorted.len() {
            for (which, column) in sides.iter().enumerate() {
                if (column[i - 1] > 0.0) != (column[i] > 0.0) {
                    kinks.push(self.bisect(sorted[i - 1], sorted[i], column[i - 1] > 0.0, which));
                }
            }
        }
        kinks.sort_by(f64::total_cmp);
        kinks.dedup();
        kinks
    }

    /// Functions whose changes of sign are the kinks: `ν a/μ − 1` for the optimum, each score for all noise.
    fn sides(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let score = self.score(View::new(1, x.len(), x));
        match &self.shape {
            Shape::Data => Vec::new(),
            Shape::AllNoise { .. } => score.chunks(x.len()).map(<[f64]>::to_vec).collect(),
            Shape::Optimal { sensitivity, multiplier, nu } => {
                vec![sensitivity.at(&score, x.len()).iter().map(|a| nu * a / multiplier - 1.0).collect()]
            }
        }
    }

    fn bisect(&self, a: f64, b: f64, left_positive: bool, which: usize) -> f64 {
        let (mut a, mut b) = (a, b);
        for _ in 0..60 {
            let middle = 0.5 * (a + b);
            let positive = self.sides(&[middle])[which][0] > 0.0;
            if positive == left_positive { a = middle } else { b = middle }
        }
        0.5 * (a + b)
    }

    /// The score at points.
    fn score(&self, points: View<'_>) -> Vec<f64> {
        let rows = points.rows();
        let mut value = vec![0.0; rows];
        let mut score = vec![0.0; rows * self.parameters.len()];
        if self.model.evaluate(&self.parameters, points, &mut value, Some(&mut score)).is_err() {
            score.fill(0.0);
        }
        if self.model.is_normalized() {
            for (column, mean) in score.chunks_mut(rows).zip(&self.mean_score) {
                column.iter_mut().for_each(|s| *s -= mean);
            }
        } else {
            score.resize(rows * (self.parameters.len() + 1), -1.0);
        }
        score
    }

    /// The log-density of values of one variable.
    fn line_density(&self) -> impl Fn(&[f64], &mut [f64]) + '_ {
        |x, out| self.log_density_at(View::new(1, x.len(), x), out)
    }

    fn sampler(&self) -> &Sampler {
        self.sampler.get_or_init(|| match &self.plan {
            Plan::Boxes { lower, upper, peak } => {
                let breaks: Vec<Vec<f64>> = self.landmarks.iter().map(|l| l.breaks.clone()).collect();
                let boxes = BoxSampler::new(lower, upper, &breaks, &self.density());
                // Mass narrower than the finest box that is looked at is as good as a point.
                boxes.map_or_else(|| Sampler::point(peak), Sampler::Boxes)
            }
            Plan::Points { points, log_weights } => {
                let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = log_weights.iter().map(|w| (w - top).exp()).collect();
                Sampler::Points { points: points.clone(), picker: Picker::new(&weights) }
            }
        })
    }

    /// The log-density as boxes want it: column-major points, rows, output.
    fn density(&self) -> impl Fn(&[f64], usize, &mut [f64]) + Sync + '_ {
        let dimension = self.model.space().dimension();
        move |points, rows, out| self.log_density_at(View::new(dimension, rows, points), out)
    }
}

impl Sampler {
    fn point(at: &[f64]) -> Self {
        Self::Points {
            points: Arc::new(Points::unnamed(at.len(), 1, at.to_vec())),
            picker: Picker::new(&[1.0]),
        }
    }
}

/// How points of a noise `p_d h` can be drawn.
fn plan(population: &Population, log_ratio: &[f64], space: &crate::Space) -> Result<Plan> {
    let log_weights: Vec<f64> = population.log_weights().iter().zip(log_ratio).map(|(q, h)| q + h).collect();
    let best =
        (0..log_weights.len()).fold(0, |best, i| if log_weights[i] > log_weights[best] { i } else { best });
    let top = log_weights.get(best).copied().unwrap_or(f64::NEG_INFINITY);
    if top == f64::NEG_INFINITY {
        return Err(Error::NoOverlap);
    }
    let points = population.points();
    let boxed =
        space.dimension() <= 3 && !space.is_sphere() && space.domains().iter().all(|d| !d.is_discrete());
    if boxed && population.accuracy().method == crate::Method::Quadrature {
        let (lower, upper) = bounding_box(points, &log_weights, top, space);
        let mut peak = vec![0.0; points.columns()];
        points.view().copy_row(best, &mut peak);
        return Ok(Plan::Boxes { lower, upper, peak });
    }
    Ok(Plan::Points { points: Arc::new(points.clone()), log_weights: Arc::new(log_weights) })
}

/// The smallest box around the nodes that carry mass, a little wider, within the domains.
fn bounding_box(
    points: &Points,
    log_weights: &[f64],
    top: f64,
    space: &crate::Space,
) -> (Vec<f64>, Vec<f64>) {
    space
        .domains()
        .iter()
        .enumerate()
        .map(|(axis, domain)| {
            let x = points.view().column(axis);
            let inside = || x.iter().zip(log_weights).filter(|(_, w)| **w > top - 60.0).map(|(x, _)| *x);
            let (low, high) =
                (inside().fold(f64::INFINITY, f64::min), inside().fold(f64::NEG_INFINITY, f64::max));
            let margin = 0.05 * (high - low);
            let (lower, upper) = domain.bounds();
            ((low - margin).max(lower), (high + margin).min(upper))
        })
        .unzip()
}

impl Noise for ModelNoise {
    fn dimension(&self) -> usize {
        self.model.space().dimension()
    }

    fn log_density(&self, points: View<'_>, out: &mut [f64]) {
        self.log_density_at(points, out);
    }

    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]) {
        let dimension = self.dimension();
        match self.sampler() {
            Sampler::Points { points, picker } => {
                for row in 0..rows {
                    let pick = picker.pick(stream);
                    (0..dimension).for_each(|j| out[j * rows + row] = points.view().get(pick, j));
                }
            }
            Sampler::Boxes(boxes) => {
                let density = self.density();
                let density: LogDensity<'_> = &density;
                let mut point = vec![0.0; dimension];
                for row in 0..rows {
                    boxes.draw(stream, &mut point, density);
                    (0..dimension).for_each(|j| out[j * rows + row] = point[j]);
                }
            }
        }
    }

    fn uniforms(&self) -> Option<usize> {
        self.quantile().map(|quantile| quantile.uniforms(self.dimension()))
    }

    fn transport(&self, cube: View<'_>, out: &mut [f64]) {
        self.carry_over(cube, out);
    }

    fn landmarks(&self, axis: usize) -> Landmarks {
        self.landmarks[axis].clone()
    }

    /// Mixed with the model itself, as the noise `optimal` of a fit is mixed with `auto`: where it has no density data
    /// fall too. A model that cannot be integrated once more leaves it as it is, and the fit says which row it misses.
    fn for_fit(&self) -> Option<Arc<dyn Noise>> {
        if self.shape == Shape::Data {
            return None;
        }
        let safe = Self::data(&self.model, &self.parameters, &Precision::default()).ok()?;
        let parts: Vec<(f64, Arc<dyn Noise>)> =
            vec![(1.0 - SAFE_SHARE, Arc::new(self.clone())), (SAFE_SHARE, Arc::new(safe))];
        Some(Arc::new(Mixture::<dyn Noise>::of_shared(parts).ok()?))
    }

    fn describe(&self) -> String {
        match self.shape {
            Shape::Data => {
                let names = self.model.parameters().iter().zip(&self.parameters);
                let list: Vec<String> = names.map(|(p, v)| format!("{}={v}", p.name)).collect();
                format!("model({})", list.join(", "))
            }
            Shape::AllNoise { .. } => "all-noise".into(),
            Shape::Optimal { .. } => "optimal".into(),
        }
    }

    fn saved(&self) -> Option<SavedNoise> {
        Some(SavedNoise::Model(self.into()))
    }
}

/// A shape as plain numbers, for files.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ShapeRecord {
    /// The model itself.
    Data,
    /// The limit of all noise.
    AllNoise {
        /// Quadratic part of a(x), row by row.
        quadratic: Vec<Vec<f64>>,
        /// `E_d √a`.
        mean: f64,
    },
    /// The exact optimum.
    Optimal {
        /// Quadratic part of a(x), row by row.
        quadratic: Vec<Vec<f64>>,
        /// Linear part of a(x).
        linear: Vec<f64>,
        /// The multiplier μ.
        multiplier: f64,
        /// Noise points per data point.
        nu: f64,
    },
}

impl From<&Shape> for ShapeRecord {
    fn from(shape: &Shape) -> Self {
        match shape {
            Shape::Data => Self::Data,
            Shape::AllNoise { sensitivity, mean } => {
                Self::AllNoise { quadratic: rows_of(&sensitivity.quadratic), mean: *mean }
            }
            Shape::Optimal { sensitivity, multiplier, nu } => Self::Optimal {
                quadratic: rows_of(&sensitivity.quadratic),
                linear: sensitivity.linear.as_slice().to_vec(),
                multiplier: *multiplier,
                nu: *nu,
            },
        }
    }
}

impl ShapeRecord {
    /// The shape, checked against the number of coordinates of β.
    ///
    /// # Errors
    /// When a matrix or vector has another size, or a number is not positive and finite.
    pub fn shape(&self, coordinates: usize) -> Result<Shape> {
        let positive = |what: &'static str, x: f64| {
            if x > 0.0 && x.is_finite() {
                Ok(x)
            } else {
                Err(Error::Design(DesignFault::NotPositive { what, value: x }))
            }
        };
        match self {
            Self::Data => Ok(Shape::Data),
            Self::AllNoise { quadratic, mean } => Ok(Shape::AllNoise {
                sensitivity: Sensitivity {
                    quadratic: matrix_of(quadratic, coordinates)?,
                    linear: DVector::zeros(coordinates),
                },
                mean: positive("`mean`", *mean)?,
            }),
            Self::Optimal { quadratic, linear, multiplier, nu } => {
                if linear.len() != coordinates {
                    return Err(Error::Shape {
                        what: "numbers in `linear`",
                        expected: coordinates,
                        found: linear.len(),
                    });
                }
                Ok(Shape::Optimal {
                    sensitivity: Sensitivity {
                        quadratic: matrix_of(quadratic, coordinates)?,
                        linear: DVector::from_column_slice(linear),
                    },
                    multiplier: positive("`multiplier`", *multiplier)?,
                    nu: positive("`nu`", *nu)?,
                })
            }
        }
    }
}

fn rows_of(matrix: &DMatrix<f64>) -> Vec<Vec<f64>> {
    matrix.row_iter().map(|row| row.iter().copied().collect()).collect()
}

fn matrix_of(rows: &[Vec<f64>], size: usize) -> Result<DMatrix<f64>> {
    if rows.len() != size || rows.iter().any(|row| row.len() != size) {
        return Err(Error::Shape {
            what: "rows and columns in `quadratic`",
            expected: size,
            found: rows.len(),
        });
    }
    Ok(DMatrix::from_fn(size, size, |i, j| rows[i][j]))
}
