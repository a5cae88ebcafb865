//! How numbers and calls are written in noise words.

/// A number as noise words read it back, to the last bit.
pub(super) fn number(x: f64) -> String {
    let plain = x == 0.0 || !x.is_finite() || (1e-5..1e16).contains(&x.abs());
    if plain { x.to_string() } else { format!("{x:e}") }
}

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
    values.iter().map(|x| number(*x)).collect::<Vec<_>>().join(", ")
}
