//! What a computation in a thread of its own and whoever waits for it tell each other.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use noisewright::parts::{ProgressHook, Stage};
use noisewright::run::{CancelToken, Progress};

use crate::{Failure, Outcome};

/// How far it is, and whether to stop.
#[derive(Default)]
pub struct Monitor {
    /// Cancelled by an interrupt.
    pub cancel: CancelToken,
    /// The share that is done, as bits; NaN-free: zero until something is known.
    share: AtomicU64,
}

impl Monitor {
    /// Says how much is done, from 0 to 1.
    pub fn done(&self, share: f64) {
        self.share.store(share.clamp(0.0, 1.0).to_bits(), Ordering::Relaxed);
    }

    /// A hook by which a computation says how far it is.
    #[must_use]
    pub fn hook(self: &Arc<Self>) -> ProgressHook {
        let own = Arc::clone(self);
        ProgressHook::new(move |progress| {
            if let Some(share) = share(progress) {
                own.done(share);
            }
            ControlFlow::Continue(())
        })
    }

    /// How much is done, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

/// How much of a computation is done, roughly: nobody knows how many steps a descent takes. Expectations and designs within it say
/// nothing of that.
fn share(progress: &Progress) -> Option<f64> {
    let steps = progress.iteration as f64;
    Some(match (progress.stage, progress.of) {
        (Stage::Integration | Stage::Design, _) => return None,
        (Stage::Prepare, _) => 0.05,
        (Stage::Pilot, _) => 0.1 + 0.1 * steps / (steps + 20.0),
        (Stage::Descent, _) => 0.2 + 0.7 * steps / (steps + 5.0),
        (Stage::Chains | Stage::Bootstrap, Some(all)) => 0.2 + 0.75 * steps / all.max(1) as f64,
        _ => 0.95,
    })
}

/// The work with a panic turned into a failure.
///
/// # Errors
/// Those of the work, and [`Failure::Broken`] for a panic.
pub fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().map(ToString::to_string);
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Failure::Broken(words.unwrap_or_else(|| "for an unknown reason".into())))
    })
}
