//! Text made safe for XML and HTML, and fields made safe for CSV.

use std::borrow::Cow;

/// Escapes text for element content and quoted attributes; characters that XML forbids become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(character),
            '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

/// Escapes text in which a pair of backticks marks code, the only markup that our paragraphs know.
pub(crate) fn escape_with_code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, tail)) = after.split_once('`') else { break };
        out.push_str(&escape(before));
        out.push_str("<code>");
        out.push_str(&escape(code));
        out.push_str("</code>");
        rest = tail;
    }
    out.push_str(&escape(rest));
    out
}

/// One CSV field, quoted as RFC 4180 asks when it holds a separator, a quote or a line break.
pub(crate) fn csv_field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// A number as CSV readers expect it: shortest text that reads back to the same bits, `inf`, `-inf`, `NaN`.
pub(crate) fn csv_number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && magnitude.is_finite() && !(1e-5..1e16).contains(&magnitude) {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_neutralised() {
        assert_eq!(escape("<script>'&\"\u{0}\u{7}"), "&lt;script&gt;&#39;&amp;&quot;\u{fffd}\u{fffd}");
    }

    #[test]
    fn backticks_make_code_only_in_pairs() {
        assert_eq!(escape_with_code("a `b<c` d"), "a <code>b&lt;c</code> d");
        assert_eq!(escape_with_code("a ` b"), "a ` b");
        assert_eq!(escape_with_code("`x` and `"), "<code>x</code> and `");
    }

    #[test]
    fn csv_fields_are_quoted_when_needed() {
        assert_eq!(csv_field("plain"), "plain");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_number(0.1), "0.1");
        assert_eq!(csv_number(1e-300), "1e-300");
        assert_eq!(csv_number(f64::NEG_INFINITY), "-inf");
    }
}
