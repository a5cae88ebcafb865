//! log Z of a model with its first two derivatives: in closed form, over all states, or by quadrature.

use nalgebra::{DMatrix, DVector};
use noisewright_numerics::gram::{Columns, weighted_gram, weighted_sum};
use noisewright_numerics::summation::{blocked, sum};

use super::whitening::Frame;
use crate::fit::differences::of_closed_form;
use crate::fit::sample_blocks::BLOCK;
use crate::population::{StateTable, enumerates, integrates};
use crate::run::if_possible;
use crate::{Error, Model, Population, Precision, Result, View};

/// How log Z is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NormalizerMethod {
    Closed,
    Enumeration,
    Quadrature,
}

/// log Z and its derivatives in the coordinates of a frame.
pub(super) struct Normalizer {
    pub(super) log_z: f64,
    /// The mean of the frame's statistics, which are centred.
    pub(super) offset: DVector<f64>,
    /// `None` where the model does not give the second derivatives of its energy, or they were not asked for.
    pub(super) curvature: Option<DMatrix<f64>>,
    /// The covariance of the statistics; `None` for closed forms, or where it was not asked for.
    pub(super) information: Option<DMatrix<f64>>,
}

/// Where statistics are centred, and how they are combined, before their squares are summed.
#[derive(Clone, Copy)]
pub(super) struct Lens<'a> {
    pub(super) center: &'a DVector<f64>,
    pub(super) frame: &'a Frame,
    /// Natural sizes of a step in the parameters.
    pub(super) unit: &'a [f64],
}

impl NormalizerMethod {
    /// The way to log Z of a model.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn of(model: &Model) -> Result<Self> {
        if model.is_normalized() {
            return Ok(Self::Closed);
        }
        if enumerates(model) {
            return Ok(Self::Enumeration);
        }
        if integrates(model) {
            return Ok(Self::Quadrature);
        }
        let reason = "needs at most three variables or 2²⁰ states: leave it out to fit against noise";
        Err(Error::option("noise exact", reason))
    }

    /// The way to log Z of a model that costs least: the closed form of a family, where it is that of the model.
    ///
    /// # Errors
    /// As for [`NormalizerMethod::of`].
    pub(crate) fn cheapest(model: &Model) -> Result<Self> {
        let way = Self::of(model)?;
        let closed = way == Self::Quadrature && !model.energy().is_linear() && closed_form_holds(model)?;
        Ok(if closed { Self::Closed } else { way })
    }

    /// In words.
    pub(crate) fn describe(self, model: &Model) -> String {
        match self {
            Self::Closed => "none (exact: closed form)".into(),
            Self::Quadrature => "none (exact: quadrature)".into(),
            Self::Enumeration => {
                format!("none (exact: all {} states)", model.space().state_count().unwrap_or(0))
            }
        }
    }

    /// Share of log Z that is not to be trusted.
    pub(crate) fn rounding(self, model: &Model) -> f64 {
        match (self, model.space().dimension()) {
            (Self::Quadrature, 3) => 1e-7,
            (Self::Quadrature, _) => 1e-9,
            _ => 1e-12,
        }
    }

    /// log Z at θ.
    ///
    /// # Errors
    /// When the density does not integrate at θ, or θ is not allowed.
    pub(super) fn at(
        self,
        model: &Model,
        theta: &[f64],
        lens: Lens<'_>,
        curvature: bool,
    ) -> Result<Normalizer> {
        match self {
            Self::Closed => closed(model, theta, lens, curvature),
            Self::Enumeration => enumerated(model, theta, lens, curvature),
            Self::Quadrature => integrated(model, theta, lens, curvature),
        }
    }
}

/// Farthest that a closed form may be from the integral over the model's own space, which may be a part of the family's.
const SAME_CONSTANT: f64 = 1e-6;

/// Whether the energy's closed form of log Z is that of the model: quadrature tells, once, at the start.
fn closed_form_holds(model: &Model) -> Result<bool> {
    let start = model.start();
    let known = model.log_normalizer(&start, &mut vec![0.0; start.len()]);
    let Some(known) = known.filter(|z| z.is_finite()) else { return Ok(false) };
    let integrated = if_possible(Population::new(model, &start, &Precision::default()))?;
    Ok(integrated.is_some_and(|there| (there.log_normalizer() - known).abs() < SAME_CONSTANT))
}

fn closed(model: &Model, theta: &[f64], lens: Lens<'_>, curvature: bool) -> Result<Normalizer> {
    let at = |theta: &[f64]| {
        let mut gradient = vec![0.0; theta.len()];
        let log_z =
            model.log_normalizer(theta, &mut gradient).filter(|z| z.is_finite()).ok_or(Error::NoMass)?;
        Ok::<_, Error>((log_z, DVector::from_vec(gradient)))
    };
    let (log_z, gradient) = at(theta)?;
    let column = |j: usize| {
        let slope = |step: f64| {
            let mut there = theta.to_vec();
            there[j] += step;
            Ok(at(&there)?.1)
        };
        of_closed_form(lens.unit[j], theta[j], slope)
    };
    let curvature = if curvature {
        let columns = (0..theta.len()).map(column).collect::<Result<Vec<_>>>()?;
        let matrix = DMatrix::from_columns(&columns);
        Some(lens.frame.inner_hessian(&((&matrix + matrix.transpose()) * 0.5)))
    } else {
        None
    };
    Ok(Normalizer { log_z, offset: lens.frame.apply(gradient - lens.center), curvature, information: None })
}

/// Sums over weighted points relative to the largest term: `Σ e^{u−top}`, with the centred score and its square.
struct Mass {
    top: f64,
    mass: f64,
    first: DVector<f64>,
    second: DMatrix<f64>,
    /// Whether the squares were summed.
    squared: bool,
    curvature: Option<DMatrix<f64>>,
}

impl Mass {
    fn new(
        model: &Model,
        theta: &[f64],
        points: View<'_>,
        log_terms: &[f64],
        score: &[f64],
        lens: Lens<'_>,
        curvature: bool,
    ) -> Result<Self> {
        let (rows, size) = (points.rows(), theta.len());
        let top = log_terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> =
            log_terms.iter().map(|t| if *t == f64::NEG_INFINITY { 0.0 } else { (t - top).exp() }).collect();
        let centred = lens.frame.centred(score, rows, lens.center);
        let columns = Columns::new(&centred, rows, size, rows);
        let mut first = DVector::zeros(size);
        weighted_sum(columns, &weights, first.as_mut_slice());
        let mut second = DMatrix::zeros(size, size);
        let mut bend = DMatrix::zeros(size, size);
        let mut known = false;
        if curvature {
            weighted_gram(columns, &weights, second.as_mut_slice());
            known = model.add_curvature(theta, points, &weights, bend.as_mut_slice())?;
        }
        let bend = known.then_some(bend);
        Ok(Self { top, mass: sum(&weights), first, second, squared: curvature, curvature: bend })
    }

    fn scaled(mut self, top: f64) -> Self {
        let factor = if self.top == f64::NEG_INFINITY { 0.0 } else { (self.top - top).exp() };
        self.mass *= factor;
        self.first *= factor;
        self.second *= factor;
        self.curvature = self.curvature.map(|c| c * factor);
        Self { top, ..self }
    }

    fn join(self, other: Self) -> Self {
        let top = self.top.max(other.top);
        if top == f64::NEG_INFINITY {
            return self;
        }
        let (a, b) = (self.scaled(top), other.scaled(top));
        Self {
            top,
            mass: a.mass + b.mass,
            first: a.first + b.first,
            second: a.second + b.second,
            squared: a.squared && b.squared,
            curvature: a.curvature.zip(b.curvature).map(|(x, y)| x + y),
        }
    }

    fn finish(self, frame: &Frame) -> Result<Normalizer> {
        if !(self.mass > 0.0 && self.top.is_finite()) {
            return Err(Error::NoMass);
        }
        let mean = self.first / self.mass;
        let covariance = self.second / self.mass - &mean * mean.transpose();
        let curvature = self.curvature.map(|c| &covariance + frame.inner_hessian(&(c / self.mass)));
        let information = self.squared.then_some(covariance);
        Ok(Normalizer { log_z: self.top + self.mass.ln(), offset: mean, curvature, information })
    }
}

fn integrated(model: &Model, theta: &[f64], lens: Lens<'_>, curvature: bool) -> Result<Normalizer> {
    let population = Population::new(model, theta, &Precision::default())?;
    let points = population.points().view();
    let log_z = population.log_normalizer();
    let terms: Vec<f64> = population.log_weights().iter().map(|w| w + log_z).collect();
    let mass = Mass::new(model, theta, points, &terms, population.score(), lens, curvature)?;
    mass.finish(lens.frame)
}

/// All states, a block at a time, so that their number does not matter to the memory.
fn enumerated(model: &Model, theta: &[f64], lens: Lens<'_>, curvature: bool) -> Result<Normalizer> {
    let table = StateTable::new(model.space());
    let leaf = |range: std::ops::Range<usize>| {
        let values = table.combinations(range.clone());
        let points = View::new(model.space().dimension(), range.len(), &values);
        let mut energy = vec![0.0; range.len()];
        let mut score = vec![0.0; range.len() * theta.len()];
        model.evaluate(theta, points, &mut energy, Some(&mut score))?;
        Mass::new(model, theta, points, &energy, &score, lens, curvature)
    };
    let total = blocked(table.rows, BLOCK, leaf, |a: Result<Mass>, b| Ok(a?.join(b?)));
    total.unwrap_or(Err(Error::NoMass))?.finish(lens.frame)
}
