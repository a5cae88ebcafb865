//! How far a computation is.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::CancelToken;

/// What is called at every step of a computation; where it breaks off, the computation is cancelled.
///
/// ```
/// use noisewright::parts::ProgressHook;
/// use noisewright::run::Progress;
/// use std::ops::ControlFlow;
/// let hook = ProgressHook::new(|progress: &Progress| {
///     println!("{:?}, step {}", progress.stage, progress.iteration);
///     ControlFlow::Continue(())
/// });
/// ```
#[derive(Clone)]
pub struct ProgressHook(Arc<HookFunction>);

/// What is told about progress, and may break off.
type HookFunction = dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync;

impl ProgressHook {
    /// A hook from a function.
    pub fn new(hook: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    /// The same hook, which cancels where it breaks off: all stages of a computation end then, those too that could do without the
    /// one in which it was told.
    pub(crate) fn cancelling(&self, cancel: &CancelToken) -> Self {
        let (hook, cancel) = (self.clone(), cancel.clone());
        Self::new(move |progress| {
            let answer = hook.call(progress);
            if answer.is_break() {
                cancel.cancel();
            }
            answer
        })
    }

    /// Tells it how far the computation is, and hears whether to go on.
    pub(crate) fn call(&self, progress: &Progress) -> ControlFlow<()> {
        (self.0)(progress)
    }
}

impl fmt::Debug for ProgressHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressHook")
    }
}

/// Where a computation stands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Steps of this stage so far.
    pub iteration: usize,
    /// Steps of this stage in all, where that is known beforehand.
    pub of: Option<usize>,
    /// The loss, in fits; `NaN` where there is none.
    pub loss: f64,
}

impl Progress {
    /// So many steps of a stage, of so many where that is known.
    pub(crate) fn of_stage(stage: Stage, iteration: usize, of: Option<usize>) -> Self {
        Self { stage, iteration, of, loss: f64::NAN }
    }
}

/// A part of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Reading the data and making the noise.
    Prepare,
    /// A fit of a part of the rows, or a swarm that finds the way of a path.
    Pilot,
    /// A descent on all rows.
    Descent,
    /// The covariance.
    Errors,
    /// Markov chains.
    Chains,
    /// Resamples of a bootstrap.
    Bootstrap,
    /// Candidates of a design.
    Design,
    /// An expectation under a model: blocks of quadrature nodes, or rounds of draws.
    Integration,
}
