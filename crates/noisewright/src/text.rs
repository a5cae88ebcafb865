//! Numbers and names in sentences.

/// A number in a sentence as it was given: infinity as its sign, and without hundreds of digits where it is huge.
pub(crate) fn number(x: f64) -> String {
    if x == f64::INFINITY {
        "∞".into()
    } else if x == f64::NEG_INFINITY {
        "−∞".into()
    } else if x.abs() >= 1e16 {
        format!("{x:e}")
    } else {
        x.to_string()
    }
}

/// A number that was computed, with as many digits as one reads: four, and powers of ten far from one.
pub(crate) fn digits(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return number(x);
    }
    if x.abs() < 1e-4 || x.abs() >= 1e6 {
        return format!("{x:.2e}");
    }
    let places = (3.0 - x.abs().log10().floor()).clamp(0.0, 8.0) as usize;
    let text = format!("{x:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
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
