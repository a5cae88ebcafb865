//! The context of one computation.

use std::ops::ControlFlow;

use super::{CancelToken, Progress, ProgressHook, Purpose, Stage};
use crate::{Error, Result};

/// Seed, cancellation and progress of one computation.
///
/// ```
/// use noisewright::run::{CancelToken, Context};
/// let token = CancelToken::new();
/// let context = Context::new(7, &token, None);
/// assert!(context.check().is_ok());
/// token.cancel();
/// assert_eq!(context.check().unwrap_err().to_string(), "it was cancelled");
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    seed: u64,
    cancel: CancelToken,
    progress: Option<ProgressHook>,
}

impl Context {
    /// A context whose computation ends when the token is cancelled, or when the hook breaks off; the latter leaves the
    /// token as it is.
    #[must_use]
    pub fn new(seed: u64, cancel: &CancelToken, progress: Option<&ProgressHook>) -> Self {
        let cancel = cancel.child();
        Self { seed, progress: progress.map(|hook| hook.cancelling(&cancel)), cancel }
    }

    /// A context within a computation that has a token of its own already.
    pub(crate) fn within(seed: u64, cancel: &CancelToken, progress: Option<&ProgressHook>) -> Self {
        Self { seed, cancel: cancel.clone(), progress: progress.cloned() }
    }

    /// A context of a seed alone.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, cancel: CancelToken::new(), progress: None }
    }

    /// A context for a computation within this one, whose draws are for that purpose alone.
    pub(crate) fn fold_in(&self, purpose: Purpose) -> Self {
        Self { seed: purpose.seed(self.seed, 0), cancel: self.cancel.clone(), progress: None }
    }

    /// A hook for a computation within this one: whatever that one tells, this one says how far it is itself, and where its own hook
    /// breaks off, both end. Nothing where nobody listens.
    pub(crate) fn hook_within(
        &self,
        progress: impl Fn() -> Progress + Send + Sync + 'static,
    ) -> Option<ProgressHook> {
        self.progress.as_ref()?;
        let outer = self.clone();
        Some(ProgressHook::new(move |_| match outer.tell(&progress()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }))
    }

    /// Who is told.
    pub(crate) fn progress_hook(&self) -> Option<ProgressHook> {
        self.progress.clone()
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The token that ends this computation.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Tells the hook how far the computation is: so many steps of a stage, `of` so many where that is known.
    ///
    /// # Errors
    /// [`Error::Cancelled`], also where the hook breaks off.
    pub fn report(&self, stage: Stage, iteration: usize, of: Option<usize>) -> Result<()> {
        self.tell(&Progress::of_stage(stage, iteration, of))
    }

    /// The same with all that is known.
    pub(crate) fn tell(&self, progress: &Progress) -> Result<()> {
        self.check()?;
        if let Some(hook) = &self.progress
            && hook.call(progress) == ControlFlow::Break(())
        {
            self.cancel.cancel();
        }
        self.check()
    }

    /// A result of a computation that was not cancelled: a stage that could do without an answer may have gone on
    /// after another was cancelled.
    pub(crate) fn conclude<T>(&self, result: Result<T>) -> Result<T> {
        match self.check() {
            Ok(()) => result,
            Err(_) => Err(Error::Cancelled),
        }
    }
}

/// The value if there is one, nothing if something went wrong with what can be done without, but never past being cancelled.
///
/// # Errors
/// [`Error::Cancelled`] alone.
pub(crate) fn if_possible<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(_) => Ok(None),
    }
}
