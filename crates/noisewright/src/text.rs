//! Numbers and names in sentences.

pub(crate) use noisewright_report::format_given as number;

/// A number that was computed, with as many digits as one reads.
pub(crate) fn digits(x: f64) -> String {
    noisewright_report::format_number(x, 4)
}

/// A number to so many significant digits.
pub(crate) fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits.saturating_sub(1)).parse().unwrap_or(x)
}

/// A number as noise words read it back, to the last bit.
pub(crate) fn literal(x: f64) -> String {
    let plain = x == 0.0 || !x.is_finite() || (1e-5..1e16).contains(&x.abs());
    if plain { x.to_string() } else { format!("{x:e}") }
}

/// A combination of features: `x + 2*y is`.
pub(crate) fn combination(terms: &[(f64, String)]) -> String {
    let mut text = String::new();
    for (i, (factor, name)) in terms.iter().enumerate() {
        let sign = match (i, *factor < 0.0) {
            (0, false) => "",
            (0, true) => "−",
            (_, false) => " + ",
            (_, true) => " − ",
        };
        let size = factor.abs();
        text += sign;
        text += &if (size - 1.0).abs() < 1e-6 { format!("`{name}`") } else { format!("{size:.4}·`{name}`") };
    }
    text + " is"
}

/// Names: `a`, `b` and `c`.
pub(crate) fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// A number of bytes, `1.5 GB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes = bytes as f64;
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{:.1} {name}", bytes / unit))
}
