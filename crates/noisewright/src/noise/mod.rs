//! Noise distributions: a log-density that integrates to one, and draws from it.

use noisewright_numerics::random::{BLOCK, Stream, stream};
use rayon::prelude::*;

use crate::{Points, View};

/// A distribution whose normalized log-density is known and that can be sampled.
pub trait Noise: Send + Sync {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Writes the log-density of every point (−∞ outside the support), normalized with respect to the
    /// base measure of its domain.
    fn log_density(&self, points: View<'_>, out: &mut [f64]);

    /// Draws `rows` points into `out`, column-major: `out[column * rows + row]`.
    fn draw(&self, stream: &mut Stream, rows: usize, out: &mut [f64]);

    /// What quadrature along one variable should know; nothing by default.
    fn landmarks(&self, axis: usize) -> Landmarks {
        let _ = axis;
        Landmarks::default()
    }

    /// The noise in words, in the syntax in which it can be asked for where there is one.
    fn describe(&self) -> String;
}

/// Where a density has kinks and where its mass is, along one variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Landmarks {
    /// Points where the log-density is not smooth: ends of the support, kinks, edges of bins.
    pub breaks: Vec<f64>,
    /// Location and scale of each component.
    pub centers: Vec<(f64, f64)>,
}

/// `rows` draws from `noise`: the same for the same seed, whatever the number of threads.
pub fn sample(noise: &dyn Noise, rows: usize, seed: u64) -> Points {
    let dimension = noise.dimension();
    let blocks: Vec<Vec<f64>> = (0..rows.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let count = BLOCK.min(rows - block * BLOCK);
            let mut out = vec![0.0; dimension * count];
            noise.draw(&mut stream(seed, block as u64), count, &mut out);
            out
        })
        .collect();
    let mut values = Vec::with_capacity(dimension * rows);
    for column in 0..dimension {
        for block in &blocks {
            let count = block.len() / dimension;
            values.extend_from_slice(&block[column * count..(column + 1) * count]);
        }
    }
    Points::unnamed(dimension, rows, values)
}
