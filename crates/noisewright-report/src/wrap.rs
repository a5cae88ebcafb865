//! Breaking text into lines, for terminals (in columns) and pictures (in estimated pixels).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Wraps to so many terminal columns; a word longer than the line gets a line of its own.
pub(crate) fn wrap_columns(text: &str, width: usize) -> Vec<String> {
    wrap_by(text, |line| line.width() <= width)
}

/// Wraps to so many pixels at the given font size, by estimate.
pub(crate) fn wrap_pixels(text: &str, size: f64, width: f64) -> Vec<String> {
    wrap_by(text, |line| text_width(line, size) <= width)
}

fn wrap_by(text: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if line.is_empty() || fits(&longer) {
            line = longer;
        } else {
            lines.push(std::mem::replace(&mut line, word.to_owned()));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Estimated width of a text in pixels: no font is at hand, so it errs on the wide side of common sans-serifs.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    size * text.chars().map(character_width).sum::<f64>()
}

fn character_width(character: char) -> f64 {
    match character {
        'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '·' => 0.32,
        ' ' | 'f' | 't' | 'r' | 'I' | '(' | ')' | '[' | ']' | '/' | '-' => 0.38,
        '⁰'..='⁹' | '⁻' | '¹' | '²' | '³' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '—' | '∞' => 0.94,
        '0'..='9' => 0.62,
        'A'..='Z' | '−' | '+' | '=' | '×' | '<' | '>' => 0.72,
        _ => match character.width() {
            Some(0) | None => 0.0,
            Some(1) => 0.6,
            Some(_) => 1.05,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_nothing_is_lost() {
        let text = "the quick brown fox jumps over the lazy dog";
        let lines = wrap_columns(text, 12);
        assert!(lines.iter().all(|line| line.width() <= 12));
        assert_eq!(lines.join(" "), text);
        assert_eq!(wrap_columns("incomprehensibilities", 5), ["incomprehensibilities"]);
        assert!(wrap_columns("  ", 5).is_empty());
    }

    #[test]
    fn wider_text_is_estimated_wider() {
        assert!(text_width("MMMM", 12.0) > text_width("iiii", 12.0));
        assert!((text_width("00", 10.0) - 12.4).abs() < 1e-12);
    }
}
