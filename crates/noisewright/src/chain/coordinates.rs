//! The coordinates in which a chain moves, and the way back to the variables.

use std::f64::consts::TAU;

use noisewright_numerics::chart::wrapped;
use noisewright_numerics::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use crate::{Chart, Domain, Space};

/// How one variable is moved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Coordinate {
    /// On the real line, by a chart.
    Line(Chart),
    /// Around the circle.
    Angle,
    /// Among finitely many values.
    States(Vec<f64>),
    /// Among the counts.
    Count,
}

/// The coordinates of a space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coordinates {
    pub(super) each: Vec<Coordinate>,
    pub(super) sphere: bool,
}

impl Coordinates {
    pub(crate) fn new(space: &Space) -> Self {
        let of = |domain: &Domain| match domain {
            Domain::States(states) => Coordinate::States(states.clone()),
            Domain::Counts => Coordinate::Count,
            Domain::Circle => Coordinate::Angle,
            other => Coordinate::Line(other.chart(0.0).unwrap_or(Chart::Identity)),
        };
        let line = Coordinate::Line(Chart::Identity);
        let sphere = space.is_sphere();
        let each = space.domains().iter().map(|d| if sphere { line.clone() } else { of(d) }).collect();
        Self { each, sphere }
    }

    pub(crate) fn dimension(&self) -> usize {
        self.each.len()
    }

    /// Whether the points are unit vectors.
    pub(super) fn is_sphere(&self) -> bool {
        self.sphere
    }

    /// Whether every coordinate is a number that may move by any amount.
    pub(super) fn is_continuous(&self) -> bool {
        self.each.iter().all(|c| matches!(c, Coordinate::Line(_) | Coordinate::Angle))
    }

    /// Whether a coordinate is a number on the real line.
    pub(crate) fn is_line(&self, axis: usize) -> bool {
        !self.sphere && matches!(self.each[axis], Coordinate::Line(_))
    }

    /// Whether a coordinate on the line is not the variable itself.
    pub(crate) fn is_mapped(&self, axis: usize) -> bool {
        !matches!(self.each[axis], Coordinate::Line(Chart::Identity))
    }

    /// Writes the variables and returns the logarithm of the Jacobian.
    pub(crate) fn variables(&self, y: &[f64], x: &mut [f64]) -> f64 {
        let mut log_jacobian = 0.0;
        for ((x, y), coordinate) in x.iter_mut().zip(y).zip(&self.each) {
            *x = match coordinate {
                Coordinate::Line(chart) => {
                    log_jacobian += chart.log_jacobian(*y);
                    chart.from_real(*y)
                }
                Coordinate::Angle => wrapped(*y),
                Coordinate::States(_) | Coordinate::Count => *y,
            };
        }
        log_jacobian
    }

    /// The coordinates of a point.
    pub(crate) fn of_point(&self, x: &[f64]) -> Vec<f64> {
        let of = |(x, coordinate): (&f64, &Coordinate)| match coordinate {
            // An end of the domain, where rounding may have put a draw, is infinitely far on the line.
            Coordinate::Line(Chart::Identity) => *x,
            Coordinate::Line(chart) => chart.to_real(*x).clamp(-700.0, 700.0),
            _ => *x,
        };
        x.iter().zip(&self.each).map(of).collect()
    }

    /// A point to begin at when nothing is known.
    pub(crate) fn somewhere(&self, stream: &mut Stream) -> Vec<f64> {
        let one = |coordinate: &Coordinate, stream: &mut Stream| match coordinate {
            Coordinate::Line(_) => StandardNormal.sample(stream),
            Coordinate::Angle => TAU * (stream.random::<f64>() - 0.5),
            Coordinate::States(states) => states[stream.random_range(0..states.len())],
            Coordinate::Count => f64::from(stream.random_range(0..4u8)),
        };
        let mut y: Vec<f64> = self.each.iter().map(|c| one(c, stream)).collect();
        if self.sphere {
            normalize(&mut y);
        }
        y
    }
}

/// Scales to length one.
pub(super) fn normalize(x: &mut [f64]) {
    let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    x.iter_mut().for_each(|v| *v /= length);
}
