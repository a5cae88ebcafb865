//! Counts that would not fit in memory, refused before anything is allocated.

use crate::{Error, OptionFault, Result};

/// Numbers that are held at once at most: 16 gigabytes.
const MOST_VALUES: usize = 1 << 31;

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
    Err(Error::Option { option: option.to_owned().into(), fault: OptionFault::TooMany { most, count } })
}
