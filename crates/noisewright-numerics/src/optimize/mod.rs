//! Roots and minima, one file per method, with the reason for stopping as data.

mod active_set;
mod bfgs;
mod bound_transform;
mod gradient_sampling;
mod lbfgs;
mod minimum;
mod newton;
mod newton_line_search;
mod problem;
mod proximal_newton;
mod root;

pub use active_set::{BoxMinimum, Held, minimize_in_box};
pub use bfgs::{bfgs, update_inverse};
pub use bound_transform::Transformed;
pub use gradient_sampling::{SampledMinimum, gradient_sampling};
pub use lbfgs::{LbfgsOptions, lbfgs, try_lbfgs};
pub use minimum::{Minimum, minimize_bracketed, nelder_mead, scan_minima};
pub use newton::{newton, undamped_gain};
pub use problem::{Descent, DescentOptions, Evaluation, Problem};
pub use proximal_newton::{
    PenalizedMinimum, ProximalDescent, SeparablePenalty, Smooth, proximal_newton, proximal_newton_of,
};
pub use root::{Root, root_increasing};

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The answer is as accurate as asked, or as rounding allows.
    Converged,
    /// The allowed number of steps was used up.
    StepLimit,
    /// No step from here makes the value smaller, though the gradient says that one should.
    NoDescent,
    /// The value falls for ever along some direction.
    RunsOff,
}

impl Stop {
    /// Whether the answer can be relied on.
    #[must_use]
    pub fn converged(self) -> bool {
        self == Self::Converged
    }
}

impl serde::Serialize for Stop {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::StepLimit => "stopped at the step limit",
            Self::NoDescent => "found no step that goes down",
            Self::RunsOff => "the parameters run off to infinity",
        })
    }
}
