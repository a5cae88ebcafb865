//! Threads, or none: with the feature `parallel` these are rayon's, without it the same functions do one thing after the other.
//!
//! Results never depend on it: work is cut into blocks by its size, and blocks are joined in their order; of several errors it is
//! the first, in the order of the blocks, that is returned.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "parallel")]
pub use rayon::{current_num_threads, join};

/// Runs a job on so many threads of its own.
///
/// # Errors
/// The reason why there are none.
pub fn on_threads<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> Result<T, String> {
    #[cfg(feature = "parallel")]
    {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(|pool| pool.install(job)).map_err(|error| error.to_string())
    }
    #[cfg(not(feature = "parallel"))]
    {
        let _ = threads;
        Ok(job())
    }
}

/// Threads that work may be spread over: one.
#[cfg(not(feature = "parallel"))]
#[must_use]
pub fn current_num_threads() -> usize {
    1
}

/// Both, one after the other.
#[cfg(not(feature = "parallel"))]
pub fn join<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
    (first(), second())
}

/// What a function makes of every item, on all threads, in the order of the items. An item should be worth a few microseconds.
///
/// ```
/// use noisewright_numerics::parallel::map;
/// assert_eq!(map(0..4, |i| i * i), [0, 1, 4, 9]);
/// let mut out = [0; 10];
/// map(out.chunks_mut(4).enumerate(), |(block, part)| part.fill(block));
/// assert_eq!(out, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
/// ```
pub fn map<I: Send, T: Send>(items: impl IntoIterator<Item = I>, each: impl Fn(I) -> T + Sync) -> Vec<T> {
    let Ok(found) = try_map(items, |item| Ok::<T, Infallible>(each(item)));
    found
}

/// The same where there may be no answer: the error of the first such item. Items after one that has failed are not begun.
///
/// ```
/// use noisewright_numerics::parallel::try_map;
/// let root = |x: i32| if x < 0 { Err(x) } else { Ok(x.isqrt()) };
/// assert_eq!(try_map([9, 16], root), Ok(vec![3, 4]));
/// assert_eq!(try_map([9, -2, 16, -1], root), Err(-2));
/// ```
///
/// # Errors
/// Those of `each`.
pub fn try_map<I: Send, T: Send, E: Send>(
    items: impl IntoIterator<Item = I>,
    each: impl Fn(I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let items: Vec<Slot<I>> = items.into_iter().map(Slot::with).collect();
    let found: Vec<Slot<T>> = items.iter().map(|_| Slot::default()).collect();
    let first = FirstError::default();
    let leaf = |index: usize| {
        if let Some(value) = first.unless_failed(index, || items[index].take().map(&each).transpose()) {
            found[index].put(value);
        }
    };
    if !items.is_empty() {
        tree(0..items.len(), &leaf, &|_, _| ());
    }
    first.into_result()?;
    Ok(found.into_iter().filter_map(Slot::into_inner).collect())
}

/// Visits all leaves on all threads, and every inner node, by the first leaves of its halves, when both halves are done. The
/// tree depends on the leaves only.
///
/// One function for the whole program, whatever is done there: rayon's own are compiled again for each closure.
pub(crate) fn tree(
    leaves: Range<usize>,
    leaf: &(dyn Fn(usize) + Sync),
    node: &(dyn Fn(usize, usize) + Sync),
) {
    if leaves.len() == 1 {
        return leaf(leaves.start);
    }
    let middle = leaves.start + leaves.len().div_ceil(2);
    join(|| tree(leaves.start..middle, leaf, node), || tree(middle..leaves.end, leaf, node));
    node(leaves.start, middle);
}

/// A value on its way from one thread to another; never waited for.
pub(crate) struct Slot<T>(Mutex<Option<T>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Slot<T> {
    fn with(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    pub(crate) fn into_inner(self) -> Option<T> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error that comes first in the order of the leaves, whatever the order of time.
pub(crate) struct FirstError<E> {
    index: AtomicUsize,
    error: Mutex<Option<(usize, E)>>,
}

impl<E> Default for FirstError<E> {
    fn default() -> Self {
        Self { index: AtomicUsize::new(usize::MAX), error: Mutex::new(None) }
    }
}

impl<E> FirstError<E> {
    /// The answer of a leaf, if there is one. Only leaves after a failed one are left out, so that the first error is always found.
    pub(crate) fn unless_failed<T>(
        &self,
        index: usize,
        answer: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Option<T> {
        if index > self.index.load(Ordering::Relaxed) {
            return None;
        }
        answer().unwrap_or_else(|error| {
            self.index.fetch_min(index, Ordering::Relaxed);
            let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(earliest, _)| index < *earliest) {
                *first = Some((index, error));
            }
            None
        })
    }

    pub(crate) fn into_result(self) -> Result<(), E> {
        match self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((_, error)) => Err(error),
        }
    }
}
