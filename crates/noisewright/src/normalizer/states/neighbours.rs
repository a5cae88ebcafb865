//! Bennett's acceptance ratio between neighbouring states, each from the draws of the two alone.

use super::{Origin, Pooled, StatesEstimate, StatesOptions, estimate};
use crate::{Error, Result};

/// Every state with the next one, from the draws of the two alone (Bennett 1976): one estimate of two states for each pair, relative to
/// the first of the two, as [`estimate`] gives it.
///
/// Log-densities under other states are not looked at and may be `NaN`; so may those of a draw under either state of a pair, which is
/// then left out of that pair: simulations that know the energies of neighbours alone have no more.
///
/// ```
/// use noisewright::normalizer::states::{StatesOptions, Origin, Pooled, neighbours};
/// let first = [0.0, -0.1, 0.2, -0.2, f64::NAN, f64::NAN];
/// let second = [0.1, -0.2, 0.0, 0.1, 0.3, 0.1];
/// let third = [f64::NAN, f64::NAN, 0.1, 0.0, 0.2, 0.4];
/// let pooled =
///     Pooled { log_f: &[&first, &second, &third], origin: Origin::Counts(&[2, 2, 2]), chains: None };
/// let steps = neighbours(&pooled, &StatesOptions::default())?;
/// assert_eq!(steps.len(), 2);
/// assert!(steps.iter().all(|step| step.log_z().len() == 2));
/// # Ok::<(), noisewright::Error>(())
/// ```
///
/// # Errors
/// As for [`estimate`], with the caller's numbers of state and draw.
#[doc(alias = "bar")]
pub fn neighbours(pooled: &Pooled<'_>, options: &StatesOptions) -> Result<Vec<StatesEstimate>> {
    let (origin, counts) = pooled.origins()?;
    if let Some(found) = pooled.chains.map(<[usize]>::len).filter(|found| *found != origin.len()) {
        return Err(Error::Shape { what: "labels of chains", expected: origin.len(), found });
    }
    let mut rows = vec![Vec::new(); counts.len()];
    origin.iter().enumerate().for_each(|(row, k)| rows[*k as usize].push(row));
    let options = StatesOptions { reference: 0, reference_log_z: 0.0, ..options.clone() };
    (1..counts.len()).map(|k| pair(pooled, k - 1, [&rows[k - 1], &rows[k]], &options)).collect()
}

/// The states `first` and `first + 1` from their own draws.
fn pair(
    pooled: &Pooled<'_>,
    first: usize,
    rows: [&[usize]; 2],
    options: &StatesOptions,
) -> Result<StatesEstimate> {
    let log_f = [pooled.log_f[first], pooled.log_f[first + 1]];
    let known = |row: &usize| !log_f[0][*row].is_nan() && !log_f[1][*row].is_nan();
    let own = rows.map(|rows| rows.iter().copied().filter(known).collect::<Vec<usize>>());
    let counts = own.each_ref().map(Vec::len);
    let own = own.concat();
    let columns = log_f.map(|column| own.iter().map(|row| column[*row]).collect::<Vec<f64>>());
    let chains: Option<Vec<usize>> = pooled.chains.map(|labels| own.iter().map(|row| labels[*row]).collect());
    let pair = Pooled {
        log_f: &[&columns[0], &columns[1]],
        origin: Origin::Counts(&counts),
        chains: chains.as_deref(),
    };
    estimate(&pair, options).map_err(|error| match error {
        Error::StateValue { state, row, value } => {
            Error::StateValue { state: first + state, row: own[row - 1] + 1, value }
        }
        Error::StateOwnDraw { state, row } => {
            Error::StateOwnDraw { state: first + state, row: own[row - 1] + 1 }
        }
        other => other,
    })
}
