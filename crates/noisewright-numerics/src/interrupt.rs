//! Long computations that somebody may want to end: a flag that sums look at between their blocks.
//!
//! A sum has no error to return, so a computation that is ended unwinds, without a message, up to where it was begun.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The computation was ended before it had a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

thread_local! {
    /// The flag of the computation that this thread has begun.
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs a computation that ends soon after the flag is set, if it spends its time in [`blocked`](crate::summation::blocked)
/// sums that it begins on this thread.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
/// use noisewright_numerics::interrupt::{Interrupted, interruptible};
/// use noisewright_numerics::summation::blocked;
/// let count = || blocked(1000, 10, |range| range.len(), |a, b| a + b);
/// assert_eq!(interruptible(&Arc::new(AtomicBool::new(false)), count), Ok(Some(1000)));
/// assert_eq!(interruptible(&Arc::new(AtomicBool::new(true)), count), Err(Interrupted));
/// ```
///
/// # Errors
/// [`Interrupted`] when the flag was set and seen.
///
/// # Panics
/// When the computation does.
pub fn interruptible<T>(flag: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> Result<T, Interrupted> {
    let before = FLAG.with_borrow_mut(|current| current.replace(Arc::clone(flag)));
    let outcome = catch_unwind(AssertUnwindSafe(work));
    FLAG.with_borrow_mut(|current| *current = before);
    outcome.map_err(|panic| if panic.is::<Interrupted>() { Interrupted } else { resume_unwind(panic) })
}

/// What a sum looks at, on whatever thread its blocks run.
#[derive(Clone)]
pub(crate) struct Watch(Option<Arc<AtomicBool>>);

impl Watch {
    /// Of the computation that this thread has begun.
    pub(crate) fn here() -> Self {
        Self(FLAG.with_borrow(Clone::clone))
    }

    /// Ends the computation if that is wanted.
    pub(crate) fn look(&self) {
        if self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            resume_unwind(Box::new(Interrupted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summation::blocked;

    #[test]
    fn a_sum_ends_between_its_blocks() {
        let flag = Arc::new(AtomicBool::new(false));
        let outcome = interruptible(&flag, || {
            blocked(
                1 << 20,
                1,
                |range| {
                    flag.store(true, Ordering::Relaxed);
                    range.len()
                },
                |a, b| a + b,
            )
        });
        assert_eq!(outcome, Err(Interrupted));
        // And the thread is as it was.
        assert_eq!(blocked(10, 1, |range| range.len(), |a, b| a + b), Some(10));
    }

    #[test]
    fn other_panics_go_on() {
        let flag = Arc::new(AtomicBool::new(false));
        let outcome =
            catch_unwind(AssertUnwindSafe(|| interruptible(&flag, || resume_unwind(Box::new(7_u8)))));
        assert_eq!(outcome.unwrap_err().downcast_ref::<u8>(), Some(&7));
    }
}
