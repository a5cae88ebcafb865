//! Roots and minima, with the reason for stopping as data.

mod gradient_sampling;
mod lbfgs;
mod minimum;
mod root;

pub use gradient_sampling::{SampledMinimum, gradient_sampling};
pub use lbfgs::{LbfgsOptions, lbfgs, try_lbfgs};
pub use minimum::{Minimum, minimize_bracketed, nelder_mead, scan_minima};
pub use root::{Root, root_increasing};

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The answer is as accurate as asked, or as rounding allows.
    Converged,
    /// The allowed number of steps was used up.
    StepLimit,
    /// No step from here makes it smaller, though the derivative says that one should.
    NoDescent,
}

impl Stop {
    /// Whether the answer can be relied on.
    #[must_use]
    pub fn converged(self) -> bool {
        self == Self::Converged
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::StepLimit => "stopped at the step limit",
            Self::NoDescent => "found no step that goes down",
        })
    }
}
