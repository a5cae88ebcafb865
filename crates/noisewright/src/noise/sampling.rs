//! Draws of a noise in blocks, each from a random stream of its own.

use noisewright_numerics::parallel::map;
use noisewright_numerics::random::BLOCK;

use super::Noise;
use crate::memory::{check_count, reserve};
use crate::run::{Context, Purpose};
use crate::{Points, Result};

/// Blocks that are drawn at once, for the threads to share, before they are put in their places.
const HELD_BLOCKS: usize = 64;

/// Values of which room is made at a time.
const STEP: usize = 1 << 23;

/// `rows` draws from `noise`: the same for the same seed, whatever the number of threads.
///
/// They are independent of everything else that is drawn at this or any other seed.
///
/// ```
/// use noisewright::prelude::*;
/// let noise = Normal::with_std(3.0, 1.0)?;
/// let draws = sample(&noise, 10_000, 1);
/// let mean = draws.values().iter().sum::<f64>() / 10_000.0;
/// assert!((mean - 3.0).abs() < 0.05); // five standard errors
/// assert_eq!(draws.values(), sample(&noise, 10_000, 1).values());
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Panics
/// When the draws do not fit in memory; [`try_sample`] says so instead.
pub fn sample(noise: &dyn Noise, rows: usize, seed: u64) -> Points {
    let fits = check_count("draws", rows, noise.dimension()).is_ok();
    assert!(fits, "{rows} draws of {} variables do not fit in memory", noise.dimension());
    let mut values = vec![0.0; noise.dimension() * rows];
    for first in (0..rows).step_by(HELD_BLOCKS * BLOCK) {
        place(&draw_blocks(noise, rows, first, seed, Purpose::Sample), rows, first, &mut values);
    }
    Points::unnamed(noise.dimension(), rows, values)
}

/// The same, with a context that can cancel it.
///
/// ```
/// use noisewright::run::Context;
/// use noisewright::{Normal, sample, try_sample};
/// let normal = Normal::with_variance(0.0, 1.0)?;
/// assert_eq!(try_sample(&normal, 10_000, &Context::seeded(3))?, sample(&normal, 10_000, 3));
/// assert!(try_sample(&normal, usize::MAX, &Context::seeded(3)).is_err()); // more than memory holds
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// When the draws do not fit in memory, or [`Error::Cancelled`](crate::Error::Cancelled).
pub fn try_sample(noise: &dyn Noise, rows: usize, context: &Context) -> Result<Points> {
    sample_for(noise, rows, context, Purpose::Sample)
}

/// The same draws some at a time, in order, for whoever writes them down as they come.
///
/// ```
/// use noisewright::{Normal, sample};
/// use noisewright::internal::sample_blocks;
/// use noisewright::run::Context;
/// let normal = Normal::with_variance(0.0, 1.0)?;
/// let context = Context::seeded(3);
/// let mut values = Vec::new();
/// for block in sample_blocks(&normal, 300_000, &context) {
///     values.extend(block?.into_values());
/// }
/// assert_eq!(values, sample(&normal, 300_000, 3).into_values());
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// [`Error::Cancelled`](crate::Error::Cancelled) instead of the rest.
pub fn sample_blocks<'a>(
    noise: &'a dyn Noise,
    rows: usize,
    context: &'a Context,
) -> impl Iterator<Item = Result<Points>> + 'a {
    (0..rows).step_by(HELD_BLOCKS * BLOCK).map(move |first| {
        context.check()?;
        let count = (rows - first).min(HELD_BLOCKS * BLOCK);
        let mut values = vec![0.0; noise.dimension() * count];
        let blocks = draw_blocks(noise, rows, first, context.seed(), Purpose::Sample);
        place(&blocks, count, 0, &mut values);
        Ok(Points::unnamed(noise.dimension(), count, values))
    })
}

/// Draws for a purpose.
pub(crate) fn sample_for(
    noise: &dyn Noise,
    rows: usize,
    context: &Context,
    purpose: Purpose,
) -> Result<Points> {
    let mut values = reserve("draws", rows, noise.dimension())?;
    // Gigabytes of zeros take a second: they are written in steps that look at the token.
    while values.len() < noise.dimension() * rows {
        context.check()?;
        values.resize((values.len() + STEP).min(noise.dimension() * rows), 0.0);
    }
    for first in (0..rows).step_by(HELD_BLOCKS * BLOCK) {
        context.check()?;
        place(&draw_blocks(noise, rows, first, context.seed(), purpose), rows, first, &mut values);
    }
    context.check()?;
    Ok(Points::unnamed(noise.dimension(), rows, values))
}

/// The next blocks from row `first` on, each column-major.
fn draw_blocks(noise: &dyn Noise, rows: usize, first: usize, seed: u64, purpose: Purpose) -> Vec<Vec<f64>> {
    let end = rows.min(first + HELD_BLOCKS * BLOCK);
    let draw = |block: usize| draw_block(noise, purpose, seed, block, BLOCK.min(rows - block * BLOCK));
    map(first / BLOCK..end.div_ceil(BLOCK), draw)
}

/// The draws of one block, column-major.
pub(crate) fn draw_block(
    noise: &dyn Noise,
    purpose: Purpose,
    seed: u64,
    block: usize,
    rows: usize,
) -> Vec<f64> {
    let mut values = vec![0.0; noise.dimension() * rows];
    noise.draw(&mut purpose.stream(seed, block as u64), rows, &mut values);
    values
}

/// Puts blocks where they belong among `rows` rows, column-major.
fn place(blocks: &[Vec<f64>], rows: usize, first: usize, values: &mut [f64]) {
    for (column, values) in values.chunks_mut(rows).enumerate() {
        let mut at = first;
        for block in blocks {
            let count = BLOCK.min(rows - at);
            values[at..at + count].copy_from_slice(&block[column * count..(column + 1) * count]);
            at += count;
        }
    }
}
