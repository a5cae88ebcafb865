//! The formula language of Noisewright: parse, print, differentiate, and evaluate over columns of points.
//!
//! The principal type is [`Formula`]. It is read from text against the names in [`Symbols`], prints back as text,
//! gives its derivatives in the parameters, tells whether it is linear in them, and compiles to a [`Tape`] that
//! evaluates it over many points.
//!
//! ```
//! use noisewright_formula::{Formula, Order, Symbols};
//!
//! let symbols = Symbols::new(&["x"], &["a", "b"])?;
//! let quartic = Formula::parse("-a*x^2/2 - b*x^4", &symbols)?;
//! assert_eq!(quartic.derivative(1).to_string(), "-x^4");
//! assert!(quartic.linear().is_some());
//!
//! let mut value = [0.0; 3];
//! quartic.compile(Order::Value).evaluate(&[1.0, 0.5], &[&[0.0, 1.0, 2.0]], &mut [&mut value]);
//! assert_eq!(value, [0.0, -1.0, -10.0]);
//! # Ok::<(), noisewright_formula::FormulaError>(())
//! ```
//!
//! # The language
//! Numbers (`1`, `.5`, `1e-3`), `+ - * / ^` (powers from right to left, `-x^2` is `-(x^2)`), parentheses, variables,
//! parameters, `pi`, and the functions exp, log, log1p, expm1, sqrt, abs, sin, cos, tan, tanh, atan, sigmoid,
//! softplus, logcosh, lgamma, erf, min and max (of two or more). Derivatives may also contain, and formulas may use:
//! `digamma`, `trigamma`, `polygamma(n, u)`, `sign` (0 at 0), `step` (0 below 0, 1/2 at 0, 1 above) and `mul0(u, v)`,
//! the product that is 0 where either factor is 0, even if the other is infinite.
//!
//! Values follow IEEE arithmetic: `log(0)` is −∞, `log(-1)` and `0*log(0)` are NaN, `lgamma` is +∞ at its poles;
//! `min` and `max` are NaN if any argument is. A compiled formula computes `log(1 + u)` as `log1p(u)` and
//! `exp(u) - 1` as `expm1(u)`.

mod assemble;
mod derive;
mod error;
mod formula;
mod function;
mod graph;
mod lexer;
mod linear;
mod log_sum_exp;
mod lower;
mod near_one;
mod operations;
#[cfg(test)]
mod oracle;
mod parser;
mod print;
mod simplify;
mod symbols;
mod tape;

pub use error::FormulaError;
pub use formula::{Formula, Linear};
pub use symbols::Symbols;
pub use tape::{Order, Tape};
