//! Quiet draws (MATH §8): scrambled Sobol points carried to a noise by its inverse distribution function.
//!
//! A noise that can says how many uniform numbers make one draw ([`Noise::uniforms`]) and maps points of the unit cube to
//! draws ([`Noise::transport`]). Independent scrambles of the same points are replicates: each has the noise's
//! distribution, and the spread between their means is the error of such a mean.

pub(crate) mod conditional;
pub(crate) mod directions;
pub(crate) mod line;

use std::ops::Range;

use noisewright_numerics::sobol::{MOST_DIMENSIONS, MOST_POINTS, Sobol};

use super::Noise;
use crate::memory::reserve;
use crate::run::{Context, Purpose};
use crate::{Error, Points, Result, View};

/// Rows that are carried over at a time.
const BLOCK: usize = 4096;

/// Independent scrambles: the variance between so many has a relative error of √(2/15) = 37 %, and Student's quantile with
/// 15 degrees of freedom is 9 % above the normal one.
pub(crate) const REPLICATES: usize = 16;

/// Replicates of quiet noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replicates {
    /// Independent scrambles.
    pub(crate) count: usize,
    /// Points of each.
    pub(crate) points: usize,
}

impl Replicates {
    /// All points.
    pub(crate) fn rows(self) -> usize {
        self.count * self.points
    }

    /// As many points as asked for, to the nearest power of two of each replicate.
    pub(crate) fn nearest(points: usize) -> Self {
        let exponent = (points as f64 / REPLICATES as f64).log2().round().clamp(1.0, 32.0);
        Self { count: REPLICATES, points: 1 << exponent as u32 }
    }
}

/// Replicates of quiet draws, one after the other.
#[derive(Clone)]
pub(crate) struct QuietDraws<N> {
    noise: N,
    sequences: Vec<Sobol>,
    /// Points of each replicate.
    points: usize,
}

impl<N: Noise> QuietDraws<N> {
    /// So many replicates of so many points; the same for the same seed and purpose, and the first points of a longer one.
    ///
    /// # Errors
    /// When the noise cannot be drawn quietly.
    pub(crate) fn new(
        noise: N,
        replicates: usize,
        points: usize,
        seed: u64,
        purpose: Purpose,
    ) -> Result<Self> {
        let uniforms = quiet_dimension(&noise)?;
        if points as u64 > MOST_POINTS {
            return Err(Error::option("noise_points", "is beyond 2³² points of a scrambled sequence"));
        }
        let sequences = (0..replicates as u64).map(|r| Sobol::new(uniforms, &mut purpose.stream(seed, r)));
        let sequences: Option<Vec<Sobol>> = sequences.collect();
        let sequences = sequences.ok_or_else(|| cannot(&noise))?;
        Ok(Self { noise, sequences, points })
    }

    /// The draws of all replicates from one row to another, column-major.
    pub(crate) fn draw(&self, rows: Range<usize>) -> Vec<f64> {
        let d = self.noise.dimension();
        let mut out = vec![0.0; d * rows.len()];
        let mut at = rows.start;
        while at < rows.end {
            let (replicate, first) = (at / self.points, at % self.points);
            let count = (self.points - first).min(rows.end - at).min(BLOCK);
            let sequence = &self.sequences[replicate];
            let mut cube = vec![0.0; sequence.dimension() * count];
            sequence.fill(first as u64, count, &mut cube);
            let mut drawn = vec![0.0; d * count];
            self.noise.transport(View::new(sequence.dimension(), count, &cube), &mut drawn);
            for (axis, column) in drawn.chunks(count).enumerate() {
                out[axis * rows.len() + at - rows.start..][..count].copy_from_slice(column);
            }
            at += count;
        }
        out
    }
}

/// `rows` quiet draws from a noise: the first points of one scrambled sequence, the same for the same seed. Powers of two are
/// the best numbers of them.
///
/// ```
/// use noisewright::run::Context;
/// use noisewright::{Normal, quiet_sample};
/// let draws = quiet_sample(&Normal::with_variance(0.0, 1.0)?, 256, &Context::seeded(1))?;
/// let mean: f64 = draws.values().iter().sum::<f64>() / 256.0;
/// assert!(mean.abs() < 0.005); // independent draws: 0.06
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the noise cannot be drawn quietly, the draws do not fit in memory, or [`Error::Cancelled`].
pub fn quiet_sample(noise: &dyn Noise, rows: usize, context: &Context) -> Result<Points> {
    let mut blocks = quiet_blocks(noise, rows, context)?;
    let d = noise.dimension();
    let mut values = reserve("draws", rows, d)?;
    values.resize(d * rows, 0.0);
    let mut first = 0;
    blocks.try_for_each(|block| {
        let block = block?;
        for axis in 0..d {
            values[axis * rows + first..][..block.rows()].copy_from_slice(block.view().column(axis));
        }
        first += block.rows();
        Ok(())
    })?;
    Ok(Points::unnamed(d, rows, values))
}

/// The same draws some at a time, in order.
///
/// # Errors
/// When the noise cannot be drawn quietly; [`Error::Cancelled`] instead of the rest.
pub fn quiet_blocks<'a>(
    noise: &'a dyn Noise,
    rows: usize,
    context: &'a Context,
) -> Result<impl Iterator<Item = Result<Points>> + 'a> {
    let d = noise.dimension();
    let draws = QuietDraws::new(noise, 1, rows.max(1), context.seed(), Purpose::QuietSample)?;
    Ok((0..rows).step_by(BLOCK).map(move |first| {
        context.check()?;
        let count = (rows - first).min(BLOCK);
        Ok(Points::unnamed(d, count, draws.draw(first..first + count)))
    }))
}

/// How many uniform numbers make one quiet draw.
///
/// # Errors
/// When the noise cannot be drawn quietly.
pub(crate) fn quiet_dimension(noise: &impl Noise) -> Result<usize> {
    noise.uniforms().filter(|d| *d <= MOST_DIMENSIONS).ok_or_else(|| cannot(noise))
}

fn cannot(noise: &impl Noise) -> Error {
    let reason = "it has no inverse distribution function to be drawn quietly by: draw it at random".into();
    Error::Noise { noise: noise.describe(), reason }
}

/// Rounding must not lead to the ends, where quantiles are infinite.
pub(crate) fn inside(u: f64) -> f64 {
    u.clamp(0.5 * f64::EPSILON, 1.0 - 0.5 * f64::EPSILON)
}
