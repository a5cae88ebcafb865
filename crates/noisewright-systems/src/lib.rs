//! Reference systems with known answers, shared by tests, benches, examples and docs.
//!
//! The principal type is [`System`]: a model at its true parameters with the exact log Z, the exact mean and
//! covariance of `∇u`, and the noise that equals the data where the library has it. Everything here is
//! computed from closed forms or plain sums, with nothing of the library's own numerics.
//!
//! ```
//! let system = noisewright_systems::gaussian_mean(0.0, true)?;
//! assert_eq!(system.error_noise_equals_data(1.0), 4.0);
//! # Ok::<(), noisewright::Error>(())
//! ```

mod directions;
mod gaussian;
mod ising;
mod line;
mod pair;
mod sums;
mod system;

pub use directions::{von_mises, von_mises_fisher};
pub use gaussian::{gaussian, gaussian_correlation, gaussian_mean, gaussian_moments, gaussian_variance};
pub use ising::ising;
pub use line::{com_poisson, exponential_polynomial, gamma, quartic, student, truncated_gaussian};
pub use pair::GaussianPair;
pub use system::System;

use noisewright::Result;

/// Every system at a few parameter values, normalized where that is possible and with a free constant.
///
/// # Errors
/// Never, unless the library refuses one of its own families.
pub fn all() -> Result<Vec<System>> {
    let mut systems = Vec::new();
    for normalized in [true, false] {
        for mean in [0.0, -1.3] {
            systems.push(gaussian_mean(mean, normalized)?);
        }
        for variance in [1.0, 0.3] {
            systems.push(gaussian_variance(variance, normalized)?);
            systems.push(gaussian_moments(0.4, variance, normalized)?);
        }
        for correlation in [0.3, -0.8] {
            systems.push(gaussian_correlation(correlation, normalized)?);
        }
        systems.push(gaussian(&[0.5], &[2.0], normalized)?);
        systems.push(gaussian(&[0.5, -1.0], &[1.0, 0.4, 2.0], normalized)?);
        for (shape, rate) in [(0.4, 3.0), (0.8, 0.3), (1.0, 1.0), (3.5, 2.0), (20.0, 0.1)] {
            systems.push(gamma(shape, rate, normalized)?);
        }
        for (dof, location, scale) in [(5.0, 0.0, 1.0), (2.5, 3.0, 0.2)] {
            systems.push(student(dof, location, scale, normalized)?);
        }
        for (h, p) in [(0.0, 1.0), (1.5, 4.0), (-2.0, 0.5)] {
            systems.push(truncated_gaussian(-1.0, 2.0, h, p, normalized)?);
        }
        for (a, b) in [(0.7, -0.4), (2.0, 6.0)] {
            systems.push(von_mises(a, b, normalized)?);
        }
        for direction in [[0.5, -1.0, 0.25], [0.0, 3.0, 4.0]] {
            systems.push(von_mises_fisher(direction, normalized)?);
        }
        systems.push(ising(&[0.3, -0.5, 0.1], &[], normalized)?);
    }
    systems.push(ising(
        &[0.2, -0.1, 0.0, 0.4],
        &[(0, 1, 0.5), (1, 2, -0.3), (2, 3, 0.8), (0, 3, 0.1)],
        false,
    )?);
    for (log_rate, dispersion) in [(0.7, 1.0), (1.2, 1.7), (0.5, 0.6)] {
        systems.push(com_poisson(log_rate, dispersion)?);
    }
    systems.push(quartic()?);
    systems.push(exponential_polynomial()?);
    Ok(systems)
}

/// The book's chapter on extending, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/extending.md")]
struct ExtendingChapter;

/// The book's chapter on Rust, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/rust.md")]
struct RustChapter;

/// The README's Rust, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
