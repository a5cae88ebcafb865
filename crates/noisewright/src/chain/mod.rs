//! Markov chains on the densities this library holds: random-walk, Hamiltonian, slice and single-site moves.
//!
//! Chains adapt to the density while they warm up and then stay as they are, so that what is kept has the density for its
//! stationary law. Constrained variables are sampled on the real line ([`Chart`](crate::Chart)) and handed out in their
//! domain. Every chain has a random stream of its own: the same seed gives the same draws for any number of threads.

pub(crate) mod bridge;
mod coordinates;
mod curves;
mod diagnostics;
mod hamiltonian;
mod kernel;
mod random_walk;
pub(crate) mod run;
mod single_site;
mod slices;

pub(crate) use bridge::Bridge;
pub(crate) use coordinates::Coordinates;
pub use diagnostics::{Convergence, convergence};
pub use kernel::Moves;
pub(crate) use kernel::{Kernel, Landscape, Walker};
pub(crate) use run::ChainOptions;
pub use run::Chains;
pub(crate) use run::run;
pub(crate) use run::{check_place, run_checked};
