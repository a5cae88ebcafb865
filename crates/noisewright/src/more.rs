//! A mark on structs of options that they may grow.

/// More fields may come: write `..FitOptions::default()`, and they break nothing.
///
/// `#[non_exhaustive]` would forbid struct literals with that ending outside of this crate.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More;
