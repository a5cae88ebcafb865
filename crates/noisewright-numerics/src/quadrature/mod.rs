//! Adaptive quadrature over a line, a plane or space, of positive integrands given by their logarithms.
//!
//! Several integrands share the nodes: the result is a set of weighted points good for all of them. The
//! tolerance is relative to each integral, never absolute, so an integral of e⁻⁵⁰⁰ is as accurate as one of 1.

mod axis;
mod kronrod;
mod landscape;
mod tensor;
#[cfg(test)]
mod tests;
mod trapezoid;

pub use axis::{Axis, End};
pub use kronrod::panel;
pub use landscape::{Lookout, peaks};
pub use tensor::{Divergence, LogIntegrands, Options, Quadrature, QuadratureError, integrate};
pub use trapezoid::{Span, integrate_smooth, smooth_grid};
