//! What would not fit in memory, refused before anything is allocated.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Error, OptionFault, Result};

/// Numbers that are held at once at most where nobody says what is free: 16 gigabytes.
const MOST_VALUES: usize = 1 << 31;

/// Numbers that no memory holds: 64 terabytes, the most that a processor of today addresses.
const BEYOND_ALL: usize = 1 << 43;

/// Share of the free memory that one computation may ask for at a time: others need some, and copies are made.
const SHARE: f64 = 0.8;

/// Bytes that are there wherever a process runs: asking the system what is free costs more than to fill them.
const SMALL: f64 = 16_777_216.0;

/// An empty vector with room for so many things of so many numbers each.
///
/// # Errors
/// As for [`check_count`].
pub(crate) fn reserve(option: &str, count: usize, values_each: usize) -> Result<Vec<f64>> {
    check_count(option, count, values_each)?;
    let mut room = Vec::new();
    match room.try_reserve_exact(count * values_each) {
        Ok(()) => Ok(room),
        Err(_) => Err(out_of_memory(option, count, values_each, free_memory().unwrap_or(0))),
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
    let option = option.to_owned().into();
    Err(Error::Option { option, fault: OptionFault::TooLong { most, count } })
}

/// Refuses a count of things, each of which takes so many numbers, that memory does not hold.
///
/// ```
/// use noisewright::internal::check_count;
/// assert!(check_count("draws", 10_000, 3).is_ok());
/// let refused = check_count("draws", 100_000_000_000_000, 3).unwrap_err().to_string();
/// assert!(refused.starts_with("`draws` must be at most") && refused.ends_with("more do not fit in memory"));
/// ```
///
/// # Errors
/// [`Error::Option`] where no memory would hold them, [`Error::OutOfMemory`] where that which is free does not.
pub fn check_count(option: &str, count: usize, values_each: usize) -> Result<()> {
    check_most(option, count, values_each)?;
    if bytes(count, values_each) <= SMALL {
        return Ok(());
    }
    match free_memory() {
        Some(free) if bytes(count, values_each) > free as f64 => {
            Err(out_of_memory(option, count, values_each, free))
        }
        _ => Ok(()),
    }
}

/// Refuses what no memory would hold, whatever is free.
///
/// # Errors
/// [`Error::Option`] with the largest count.
pub(crate) fn check_most(option: &str, count: usize, values_each: usize) -> Result<()> {
    let within = |values: usize| count <= values / values_each.max(1);
    // What is free is asked for last, where it is not known already that so much is there.
    if within(MOST_VALUES) || (within(BEYOND_ALL) && free().is_some()) {
        return Ok(());
    }
    let most = if free().is_some() { BEYOND_ALL } else { MOST_VALUES } / values_each.max(1);
    let option = option.to_owned().into();
    Err(Error::Option { option, fault: OptionFault::TooMany { most, count } })
}

/// How many things of so many numbers each there is room for, at most `most`.
pub(crate) fn room_for(most: usize, values_each: usize) -> usize {
    let fit = |free: u64| (SHARE * free as f64 / bytes(1, values_each)) as usize;
    free_lately().map_or(most, |free| fit(free).min(most))
}

/// Milliseconds for which a reading of what is free serves. The system takes tens of microseconds to tell, as long as a small integral
/// does: a fit with an integral for every row spent half of its time on asking.
const LATELY: u64 = 100;

/// What [`free`] said within the last moments. (Atomics rather than a lock, which a fork could leave closed in the child; two threads that
/// ask at once both read.)
fn free_lately() -> Option<u64> {
    static FREE: AtomicU64 = AtomicU64::new(u64::MAX);
    static READ_AT: AtomicU64 = AtomicU64::new(0);
    let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return free() };
    let now = now.as_millis() as u64;
    // A clock that was set back makes the difference huge, so that the system is asked again.
    if now.wrapping_sub(READ_AT.load(Ordering::Acquire)) > LATELY {
        FREE.store(free().unwrap_or(u64::MAX), Ordering::Release);
        READ_AT.store(now, Ordering::Release);
    }
    Some(FREE.load(Ordering::Acquire)).filter(|free| *free < u64::MAX)
}

fn bytes(count: usize, values_each: usize) -> f64 {
    8.0 * count as f64 * values_each.max(1) as f64
}

fn out_of_memory(what: &str, count: usize, values_each: usize, free: u64) -> Error {
    let needed = bytes(count, values_each) as u64;
    Error::OutOfMemory { what: what.to_owned(), count, needed, free }
}

/// Bytes that one computation may ask for at a time: a share of what the system, its control groups and the limit of the
/// address space leave; `None` where none of them is known.
#[must_use]
pub fn free_memory() -> Option<u64> {
    free().map(|free| (SHARE * free as f64) as u64)
}

/// Bytes that can still be had: the least of what the system, its control groups and the limit of the address space
/// leave; `None` where none of them is known.
fn free() -> Option<u64> {
    [of_system(), of_address_space(), of_control_groups()].into_iter().flatten().min()
}

/// Physical memory that is free, or can be freed without swapping.
fn of_system() -> Option<u64> {
    in_kibibytes(&read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// What a limit on the address space (`ulimit -v`) leaves.
fn of_address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = in_kibibytes(&read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(limit.saturating_sub(used))
}

/// The line `name  12345 kB`, in bytes.
fn in_kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| 1024 * kibibytes)
}

/// What the control groups of this process leave, of either version, with those above them.
fn of_control_groups() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().filter_map(of_group).min()
}

/// One line of `/proc/self/cgroup`: number, controllers and path.
fn of_group(line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (root, limit, used, cache) = match controllers {
        "" if number == "0" => ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "),
        "memory" => (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file ",
        ),
        _ => return None,
    };
    let own: PathBuf = Path::new(root).join(path.trim_start_matches('/'));
    let number_in = |path: PathBuf| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    own.ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| {
            // Cached files are given up before anything else is refused.
            let statistics = read_to_string(folder.join("memory.stat")).unwrap_or_default();
            let cached = statistics.lines().find_map(|line| line.strip_prefix(cache)?.parse::<u64>().ok());
            let held = number_in(folder.join(used))?.saturating_sub(cached.unwrap_or(0));
            Some(number_in(folder.join(limit))?.saturating_sub(held))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_known_on_linux_and_bounds_what_may_be_asked_for() {
        if !cfg!(target_os = "linux") {
            return;
        }
        // Other processes change what is free between two looks, never what the machine has.
        let all = in_kibibytes(&read_to_string("/proc/meminfo").unwrap(), "MemTotal:").unwrap();
        let free = free().unwrap();
        assert!(free > 0 && free <= all);
        let fitting = room_for(usize::MAX, 1);
        assert!(fitting > 0 && (fitting as f64) < all as f64 / 8.0);
        // Twice what there is, and what no memory holds.
        let refused = check_count("draws", (all / 4) as usize, 1).unwrap_err();
        assert!(matches!(refused, Error::OutOfMemory { .. }), "{refused}");
        let refused = check_count("draws", BEYOND_ALL + 1, 1).unwrap_err();
        assert!(matches!(refused, Error::Option { .. }), "{refused}");
        assert!(reserve("draws", 1000, 2).unwrap().capacity() >= 2000);
    }

    #[test]
    fn lines_of_the_system_are_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(in_kibibytes(text, "MemAvailable:"), Some(2 << 20));
        assert_eq!(in_kibibytes(text, "SwapFree:"), None);
        assert_eq!(of_group("5:cpuset:/"), None);
        assert_eq!(of_group("nonsense"), None);
    }
}
