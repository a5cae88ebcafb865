//! The numerical ground of Noisewright; it knows nothing of statistics.
//!
//! | module | holds |
//! |---|---|
//! | [`kernels`] | exp, ln and logistic functions over slices, SIMD chosen at run time |
//! | [`sobol`] | scrambled Sobol points |
//! | [`special`] | erf, log-gamma, digamma, Bessel functions in the log domain |
//! | [`summation`] | log-sum-exp and sums in a fixed order |
//! | [`chart`] | maps of constrained variables onto the real line |
//! | [`gram`] | weighted Gram matrices of column-major blocks |
//! | [`halton`] | randomised quasi-Monte-Carlo points |
//! | [`linalg`] | inverses of small symmetric matrices |
//! | [`optimize`] | roots and minima, with stop reasons as data |
//! | [`parallel`] | threads, or the same calls without them |
//! | [`quadrature`] | adaptive tensor quadrature of log-integrands |
//! | [`random`] | independent random streams, one per block |
//! | [`triangular`] | triangular matrices times many vectors at once |

pub mod chart;
pub mod gram;
pub mod halton;
pub mod kernels;
pub mod linalg;
pub mod optimize;
pub mod parallel;
pub mod quadrature;
pub mod random;
pub mod sobol;
pub mod special;
pub mod summation;
pub mod triangular;
