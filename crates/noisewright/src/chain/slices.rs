//! Slice sampling along lines: moves that find their own length wherever the chain is.
//!
//! A density may be a hundred times thinner in one place than in another, as the neck of a funnel is or the ends of a bent
//! ridge; steps of one size then never come to the thin parts. A slice update starts from a width and finds the stretch of
//! the line on which the density is high enough (Neal 2003).

use nalgebra::DMatrix;
use noisewright_numerics::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::curves::Curve;
use super::kernel::{Landscape, Walker, covariance_factor};
use crate::Result;

/// The first width, in standard deviations of the sample along the line.
const WIDTH: f64 = 2.0;
/// Widths that a stretch may have in all: lines of sixteen standard deviations.
const MOST_WIDTHS: usize = 8;
/// Times that a stretch may shrink: by half each time, to the rounding of its first width.
const MOST_TRIES: usize = 60;
/// Lines of each kind in one step.
const LINES: usize = 3;

/// Lines along the variables, along directions as the sample spreads, and curves where it shows any.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    deviation: Vec<f64>,
    factor: Option<DMatrix<f64>>,
    curves: Vec<Curve>,
}

impl Slices {
    pub(super) fn new(dimension: usize) -> Self {
        Self { deviation: vec![1.0; dimension], factor: None, curves: Vec::new() }
    }

    /// Some updates along variables, as many along random directions, and one along every curve.
    pub(super) fn step(
        &self,
        landscape: Landscape<'_>,
        walker: &mut Walker,
        stream: &mut Stream,
    ) -> Result<()> {
        let dimension = self.deviation.len();
        for line in 0..LINES.min(dimension) {
            // All variables in order where they are few, some at random where they are many.
            let axis = if dimension <= LINES { line } else { stream.random_range(0..dimension) };
            let mut direction = vec![0.0; dimension];
            direction[axis] = self.deviation[axis];
            update(landscape, walker, line_along(&direction), stream)?;
            if let Some(factor) = self.factor.as_ref().filter(|_| dimension > 1) {
                update(landscape, walker, line_along(&spread(factor, stream)), stream)?;
            }
        }
        for curve in &self.curves {
            update(landscape, walker, |y, delta| curve.at(y, delta), stream)?;
        }
        Ok(())
    }

    pub(super) fn shape(&mut self, deviation: &[f64], sample: &[Vec<f64>]) {
        self.deviation.copy_from_slice(deviation);
        self.factor = covariance_factor(sample).or(self.factor.take());
    }
}

impl Slices {
    /// Finds the curves that a sample shows.
    pub(super) fn bend(&mut self, sample: &[Vec<f64>]) {
        self.curves = Curve::of_sample(sample, LINES);
    }
}

/// A direction with the covariance of the sample, one standard deviation long.
fn spread(factor: &DMatrix<f64>, stream: &mut Stream) -> Vec<f64> {
    let z: Vec<f64> = (0..factor.nrows()).map(|_| StandardNormal.sample(stream)).collect();
    let length = z.iter().map(|z| z * z).sum::<f64>().sqrt();
    (0..z.len()).map(|i| (0..=i).map(|j| factor[(i, j)] * z[j]).sum::<f64>() / length).collect()
}

/// A straight line through a point: the place `t` times the direction away, and no change of volume.
fn line_along(direction: &[f64]) -> impl Fn(&[f64], f64) -> (Vec<f64>, f64) {
    move |y, t| (y.iter().zip(direction).map(|(y, d)| y + t * d).collect(), 0.0)
}

/// Draws from the line or the curve through the walker: stepping out, then shrinking.
///
/// `place` leads to the point at a distance and tells the logarithm of the Jacobian of going there, which counts as the
/// density does.
fn update(
    landscape: Landscape<'_>,
    walker: &mut Walker,
    place: impl Fn(&[f64], f64) -> (Vec<f64>, f64),
    stream: &mut Stream,
) -> Result<()> {
    let from = walker.y.clone();
    let at = |t: f64| -> Result<(Walker, f64)> {
        let (y, log_jacobian) = place(&from, t);
        let height = landscape.height(&y)?;
        Ok((Walker { y, height }, height + log_jacobian))
    };
    let level = walker.height + stream.random::<f64>().ln();
    let mut left = -WIDTH * stream.random::<f64>();
    let mut right = left + WIDTH;
    let before = stream.random_range(0..MOST_WIDTHS);
    for _ in 0..before {
        if at(left)?.1 <= level {
            break;
        }
        left -= WIDTH;
    }
    for _ in before + 1..MOST_WIDTHS {
        if at(right)?.1 <= level {
            break;
        }
        right += WIDTH;
    }
    for _ in 0..MOST_TRIES {
        let t = left + (right - left) * stream.random::<f64>();
        let (there, height) = at(t)?;
        if height > level {
            *walker = there;
            return Ok(());
        }
        if t < 0.0 { left = t } else { right = t }
    }
    Ok(())
}
