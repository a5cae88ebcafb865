//! The tolerances that more than one room uses: what counts as accurate, as converged, as trusted, and as the same.
//!
//! A number that means the same thing is the same constant, here; a limit that belongs to one algorithm alone stands beside it
//! and says where its value comes from. Three kinds are kept apart:
//!
//! - **defaults** that a caller may change: how accurate an integral, how converged a search;
//! - **trust**: how much a sample must hold before anything is said about it (refusals and warnings of fits, log Z and paths);
//! - **rounding**: what double precision cannot tell from zero, or from one.

/// Default relative accuracy of integrals: errors of designs are differences of integrals that may agree to four digits, and are
/// shown with six.
pub(crate) const INTEGRAL_ACCURACY: f64 = 1e-10;

/// Default length of a step, in standard errors, below which a search has converged: Newton's error after it is its square.
pub(crate) const STEP_IN_STANDARD_ERRORS: f64 = 1e-6;

/// Largest Pareto shape of weights whose mean can be trusted (Vehtari, Simpson, Gelman, Yao and Gabry 2024).
pub(crate) const HEAVY_TAIL: f64 = 0.7;

/// Pareto shape from which on weights have no variance, and their mean no standard error.
pub(crate) const NO_VARIANCE: f64 = 0.5;

/// Share of the draws that weights are worth which hardly vary: few of them show too little of a tail to be judged by.
pub(crate) const EVEN_WEIGHTS: f64 = 0.9;

/// Expected crossings between two samples, or confusions of a classifier, below which nothing can be said: the least expected
/// count for which a normal approximation is usually trusted (Cochran 1954).
pub(crate) const FEWEST_CROSSINGS: f64 = 5.0;

/// Overlap from which on few crossings do no harm: there are few draws, but they look alike.
pub(crate) const AMPLE_OVERLAP: f64 = 0.5;

/// Independent draws that a chain must be worth: below, its autocorrelation time and the variance of its mean, which has then
/// fewer than about three degrees of freedom, are not known (MATH §15).
pub(crate) const FEWEST_EFFECTIVE_ROWS: f64 = 20.0;

/// Share of the effective rows of a chain that are degrees of freedom of its long-run variance: a sum of autocovariances up to the lag m
/// has the relative variance 2(2m + 1)/n (Bartlett), the initial sequence ends at about three autocorrelation times, and
/// n over such a time is the effective rows.
pub(crate) const FREEDOM_PER_EFFECTIVE_ROW: f64 = 1.0 / 6.0;

/// Effective draws below which averages of weights are too skewed for a standard error.
pub(crate) const FEWEST_EFFECTIVE_WEIGHTS: f64 = 30.0;

/// Standard errors beyond which two estimates of one number disagree: once in 16,000 by chance.
pub(crate) const DISAGREE: f64 = 4.0;

/// Share of the largest pivot, eigenvalue or singular value below which a direction is rounding: of matrices whose entries are
/// sums of some thousand products of doubles, 10⁻¹⁶ each, with three digits to spare.
pub(crate) const RANK: f64 = 1e-10;

/// How far probabilities that were written down may be from summing to one: nine digits of each.
pub(crate) const SUM_OF_PROBABILITIES: f64 = 1e-9;
