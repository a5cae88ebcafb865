//! Counts that would not fit in memory, refused before anything is allocated.

use crate::{Error, OptionFault, Result};

/// Numbers that are held at once at most: 16 gigabytes.
const MOST_VALUES: usize = 1 << 31;

/// An empty vector with room for so many things of so many numbers each.
///
/// # Errors
/// [`Error::Option`] when memory has no such room.
pub(crate) fn reserve(option: &str, count: usize, values_each: usize) -> Result<Vec<f64>> {
    check_count(option, count, values_each)?;
    let mut room = Vec::new();
    match room.try_reserve_exact(count * values_each) {
        Ok(()) => Ok(room),
        Err(_) => Err(too_many(option, count, count / 2)),
    }
}

/// Steps of chains that are made in one call at most: weeks.
const MOST_STEPS: usize = 1 << 40;

/// Refuses so many steps for each of so many things that they would never end.
///
/// # Errors
/// [`Error::Option`] with the largest count.
pub(crate) fn check_steps(option: &str, count: usize, times: usize) -> Result<()> {
    let most = MOST_STEPS / times.max(1);
    if count <= most {
        return Ok(());
    }
    let reason = format!("must be at most {most} here, not {count}: more would never end");
    Err(Error::option(option.to_owned(), reason))
}

/// Refuses a count of things, each of which takes so many numbers, that no memory would hold.
///
/// ```
/// use noisewright::check_count;
/// assert!(check_count("draws", 1_000_000, 3).is_ok());
/// let refused = check_count("draws", 100_000_000_000_000, 3).unwrap_err().to_string();
/// assert_eq!(refused, "`draws` must be at most 715827882 here, not 100000000000000: more do not fit in memory");
/// ```
///
/// # Errors
/// [`Error::Option`] with the largest count.
pub fn check_count(option: &str, count: usize, values_each: usize) -> Result<()> {
    let most = MOST_VALUES / values_each.max(1);
    if count <= most {
        return Ok(());
    }
    Err(too_many(option, count, most))
}

fn too_many(option: &str, count: usize, most: usize) -> Error {
    Error::Option { option: option.to_owned().into(), fault: OptionFault::TooMany { most, count } }
}
