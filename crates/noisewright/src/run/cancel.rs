//! A token by which one thread ends what another computes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// Cancels whatever was given it: a copy is kept, the other goes into the options of a computation.
///
/// A computation looks at its token between blocks of rows, so that it ends with [`Error::Cancelled`] long before it
/// has gone through all of them once. A token that was cancelled stays so.
///
/// ```
/// use noisewright::{Error, Model, Normal, Space, sample};
/// use noisewright::run::CancelToken;
///
/// let model = Model::from_features(&["x", "x^2"], Space::real(&["x"])?, vec![])?;
/// let points = sample(&Normal::with_variance(0.0, 1.0)?, 1000, 0);
/// let token = CancelToken::new();
/// token.cancel(); // as another thread would, while the fit runs
/// assert_eq!(model.fit(&points).cancel(&token).run().unwrap_err(), Error::Cancelled);
/// # Ok::<(), noisewright::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Flag>);

#[derive(Default)]
struct Flag {
    set: AtomicBool,
    /// Tokens that cancel this one too.
    parents: Vec<CancelToken>,
}

impl CancelToken {
    /// A token that nobody has cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every computation that has a copy of this token. Safe to call from a signal handler.
    pub fn cancel(&self) {
        self.0.set.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.set.load(Ordering::Relaxed) || self.0.parents.iter().any(Self::is_cancelled)
    }

    /// [`Error::Cancelled`] once it was cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// A token that is cancelled with this one, or alone.
    ///
    /// ```
    /// use noisewright::run::CancelToken;
    /// let all = CancelToken::new();
    /// let one = all.child();
    /// one.cancel();
    /// assert!(one.is_cancelled() && !all.is_cancelled());
    /// # Ok::<(), noisewright::Error>(())
    /// ```
    #[must_use]
    pub fn child(&self) -> Self {
        Self(Arc::new(Flag { set: AtomicBool::new(false), parents: vec![self.clone()] }))
    }

    /// A token that is cancelled with either of two.
    pub(crate) fn either(&self, other: &Self) -> Self {
        let parents = vec![self.clone(), other.clone()];
        Self(Arc::new(Flag { set: AtomicBool::new(false), parents }))
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_cancelled_with_its_parent_and_not_the_other_way() {
        let parent = CancelToken::new();
        let child = parent.child();
        child.cancel();
        assert!(child.is_cancelled() && !parent.is_cancelled());
        let other = parent.child();
        parent.cancel();
        assert_eq!(other.check(), Err(Error::Cancelled));
    }

    #[test]
    fn either_of_two_cancels() {
        for which in 0..2 {
            let pair = [CancelToken::new(), CancelToken::new()];
            let both = pair[0].either(&pair[1]);
            assert!(!both.is_cancelled());
            pair[which].cancel();
            assert!(both.is_cancelled());
        }
    }
}
