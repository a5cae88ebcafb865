//! The unnormalized density at all draws, block by block.

use noisewright_numerics::parallel::try_map;

use crate::run::CancelToken;
use crate::{Density, Error, Quantity, Result, View};

/// Points evaluated at a time by one thread.
pub(super) const BLOCK: usize = 4096;

/// The log-density of all draws, which must have one.
pub(super) fn evaluate_draws(
    density: &dyn Density,
    draws: View<'_>,
    cancel: &CancelToken,
) -> Result<Vec<f64>> {
    let mut out = vec![f64::NAN; draws.rows()];
    try_map(out.chunks_mut(BLOCK).enumerate(), |(block, out)| {
        cancel.check()?;
        let start = block * BLOCK;
        density.log_density(draws.slice(start..start + out.len()), out)
    })?;
    match out.iter().position(|value| !value.is_finite()) {
        None => Ok(out),
        Some(row) if out[row] == f64::NEG_INFINITY => Err(Error::NoDensity { row: row + 1 }),
        Some(row) => Err(not_a_number(row, out[row])),
    }
}

fn not_a_number(row: usize, value: f64) -> Error {
    Error::NotANumber { of: Quantity::Value, point: format!("row {} of the draws (it is {value})", row + 1) }
}
