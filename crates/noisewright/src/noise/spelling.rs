//! How calls are written in noise words.

use crate::text::literal;

/// `name(a, b, …)`.
pub(super) fn call(name: &str, arguments: &[f64]) -> String {
    format!("{name}({})", joined(arguments))
}

/// `[a, b, …]`.
pub(super) fn list(values: &[f64]) -> String {
    format!("[{}]", joined(values))
}

/// `[[a, b], [c, d]]`.
pub(super) fn matrix(dimension: usize, values: &[f64]) -> String {
    let rows: Vec<String> = values.chunks(dimension).map(list).collect();
    format!("[{}]", rows.join(", "))
}

fn joined(values: &[f64]) -> String {
    values.iter().map(|x| literal(*x)).collect::<Vec<_>>().join(", ")
}
