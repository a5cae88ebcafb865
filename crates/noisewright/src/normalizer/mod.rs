//! Normalizing constants: ratios of many states, and a path between two that are far apart.

pub mod states;
