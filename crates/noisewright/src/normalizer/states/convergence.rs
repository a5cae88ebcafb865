//! Convergence forward and backward: the estimate from growing parts of every chain, from its beginning and from its end.
//!
//! Where chains have not come to equilibrium, or the run is too short, the two disagree (Yang, Bitetti-Putzer and Karplus 2004).

use serde::Serialize;

use super::{Origin, Pooled, StatesEstimate, StatesOptions, estimate};
use crate::{Error, Result};

/// Log-normalizers from a part of every chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Convergence {
    /// The share of every chain.
    pub share: f64,
    /// `log Z` of all states from the first draws of every chain.
    pub forward: Vec<f64>,
    /// Their standard errors.
    pub forward_se: Vec<f64>,
    /// `log Z` of all states from the last draws of every chain.
    pub backward: Vec<f64>,
    /// Their standard errors.
    pub backward_se: Vec<f64>,
}

/// Estimates from the first and from the last 1/parts, 2/parts, … of every chain.
///
/// ```
/// use noisewright::normalizer::states::{Origin, Pooled, StatesOptions, convergence};
/// // The second density is three times the first, so that every part of the draws says log 3.
/// let (first, second) = ([0.0; 40], [3f64.ln(); 40]);
/// let pooled = Pooled { log_f: &[&first, &second], origin: Origin::Counts(&[20, 20]), chains: None };
/// let found = convergence(&pooled, &StatesOptions::default(), 2)?;
/// assert!(found.iter().all(|part| (part.forward[1] - 3f64.ln()).abs() < 1e-12));
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As [`estimate`], or when `parts` is 0.
pub fn convergence(pooled: &Pooled<'_>, options: &StatesOptions, parts: usize) -> Result<Vec<Convergence>> {
    if parts == 0 {
        return Err(Error::range("parts", "at least 1", 0.0));
    }
    let (origin, _) = pooled.origins()?;
    let chains: Vec<Vec<usize>> = pooled
        .chains(&origin)?
        .iter()
        .map(|chain| chain.pieces.iter().cloned().flatten().collect())
        .collect();
    let rows = |share: f64, forward: bool| {
        let mut rows: Vec<usize> = Vec::new();
        for chain in &chains {
            let count = ((share * chain.len() as f64).round() as usize).clamp(1, chain.len());
            let kept = if forward { &chain[..count] } else { &chain[chain.len() - count..] };
            rows.extend_from_slice(kept);
        }
        rows.sort_unstable();
        rows
    };
    let part = |part: usize| {
        let share = part as f64 / parts as f64;
        let forward = of_rows(pooled, &origin, &rows(share, true), options)?;
        let backward = of_rows(pooled, &origin, &rows(share, false), options)?;
        Ok(Convergence {
            share,
            forward: forward.log_z().to_vec(),
            forward_se: forward.se(),
            backward: backward.log_z().to_vec(),
            backward_se: backward.se(),
        })
    };
    (1..=parts).map(part).collect()
}

fn of_rows(
    pooled: &Pooled<'_>,
    origin: &[u32],
    rows: &[usize],
    options: &StatesOptions,
) -> Result<StatesEstimate> {
    let columns: Vec<Vec<f64>> =
        pooled.log_f.iter().map(|column| rows.iter().map(|row| column[*row]).collect()).collect();
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let states: Vec<usize> = rows.iter().map(|row| origin[*row] as usize).collect();
    let labels: Option<Vec<usize>> =
        pooled.chains.map(|labels| rows.iter().map(|row| labels[*row]).collect());
    let part = Pooled { log_f: &slices, origin: Origin::Rows(&states), chains: labels.as_deref() };
    estimate(&part, options)
}
