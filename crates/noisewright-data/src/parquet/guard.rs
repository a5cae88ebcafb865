//! Turns a panic of the decoder into `None`, without a word on standard error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is expected and will be reported by other means.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives, or `None` if it panics.
///
/// The panic hook is wrapped once for the whole process; it stays as it was for every panic outside of `work`.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    static WRAP: Once = Once::new();
    WRAP.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |information| {
            if !EXPECTED.get() {
                usual(information);
            }
        }));
    });
    let before = EXPECTED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(before);
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_nothing_and_a_value_is_itself() {
        assert_eq!(caught(|| 3), Some(3));
        assert_eq!(caught(|| -> i32 { panic!("unseen") }), None);
        assert!(!EXPECTED.get());
    }
}
